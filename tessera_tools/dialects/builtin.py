"""The `builtin` dialect: modules, and the cast between two conversions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tessera_tools.ir import casts
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.core import Operation, Value
from tessera_tools.opdef import (
    ISOLATED_FROM_ABOVE,
    NO_TERMINATOR,
    SINGLE_BLOCK,
    STRING_ATTR,
    SYMBOL_NAME,
    SYMBOL_TABLE,
    Dialect,
    Op,
    attribute,
    ops_of,
    region,
    variadic_operand,
    variadic_result,
)

_MODULE_TRAITS = (ISOLATED_FROM_ABOVE, SYMBOL_TABLE, NO_TERMINATOR, SINGLE_BLOCK)


class Module(Op, name="builtin.module", traits=_MODULE_TRAITS):
    """The container of a program: one block of functions and other symbols, without a terminator."""

    sym_name = attribute(SYMBOL_NAME, optional=True)
    sym_visibility = attribute(STRING_ATTR, optional=True)
    body = region()
    assembly = "($sym_name^)? attr-dict-with-keyword $body"
    default_dialect = "builtin"

    def verify_op(self) -> None:
        if self.body.blocks and self.body.entry.arguments:
            raise self.error("region should have no arguments")
        for key in self.attributes:
            if "." not in key and key not in self.inherent_attributes:
                raise self.error(f"can only contain attributes with dialect-prefixed names, found: '{key}'")

    @property
    def operations(self) -> Iterator[Operation]:
        """The operations of the body, in order."""
        return self.body.block.operations if self.body.blocks else iter(())


class UnrealizedConversionCast(casts.UnrealizedConversionCast, Op, name="builtin.unrealized_conversion_cast"):
    """Values of one type system as values of another, between two conversions; none is left at the end."""

    inputs = variadic_operand()
    outputs = variadic_result()
    assembly = "($inputs^ `:` type($inputs))? `to` type($outputs) attr-dict"

    def verify_op(self) -> None:
        if not self.results:
            raise self.error("expected at least one result for cast operation")

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        inputs = self.inputs
        # A : X to X is A
        if [v.type for v in inputs] == self.result_types and inputs:
            return inputs
        # (A : X to Y) to X is A, all values together
        source = inputs[0].defining_op if inputs else None
        if (
            isinstance(source, UnrealizedConversionCast)
            and inputs == source.results
            and source.operand_types == self.result_types
        ):
            return source.operands
        return None


casts.UnrealizedConversionCast.declared = UnrealizedConversionCast

DIALECT = Dialect("builtin", "modules and unrealized casts", ops_of(globals()), is_complete=True)
