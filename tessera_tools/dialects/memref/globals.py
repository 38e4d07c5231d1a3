"""Buffers with names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.memref.lists import ALIGNMENT
from tessera_tools.ir.builtin_attributes import (
    ELEMENTS,
    UNIT,
    DenseElementsAttr,
    StringAttr,
    TypeAttr,
    UnitAttr,
    symbol_text,
)
from tessera_tools.ir.symbols import lookup_symbol
from tessera_tools.ir.types import (
    MemRefType,
    RankedTensorType,
)
from tessera_tools.opdef import (
    ANY_ATTR,
    ANY_MEMREF,
    PURE,
    STRING_ATTR,
    SYMBOL,
    SYMBOL_NAME,
    SYMBOL_REF,
    TYPE_ATTR,
    UNIT_ATTR,
    CustomDirective,
    Op,
    attribute,
    result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class GlobalSyntax(CustomDirective, name="Global"):
    """`"private" constant @g : memref<2xf32> = dense<…>`"""

    grammar = """custom: custom_visibility custom_constant SYMBOL ":" TYPE custom_value
custom_visibility: STRING -> present | -> absent
custom_constant: "constant" -> present | -> absent
custom_value: "=" "uninitialized" -> uninitialized | "=" ATTRIBUTE -> initial | -> absent
"""

    def covers(self) -> tuple[set[str], set[str]]:
        return {"sym_visibility", "constant", "sym_name", "type", "initial_value"}, set()

    def read(self, state: OpState, node: Node) -> None:
        (form, visibility), constant, symbol, type, (kind, value) = node
        if form == "present":
            state.attribute("sym_visibility", StringAttr(visibility[0][0]))
        if constant[0] == "present":
            state.attribute("constant", UNIT)
        state.attribute("sym_name", StringAttr(symbol[0][0]))
        state.attribute("type", TypeAttr(type))
        if kind == "uninitialized":
            state.attribute("initial_value", UNIT)
        elif kind == "initial":
            state.attribute("initial_value", value[0])

    def write(self, p: Printer, op: Global) -> None:
        if op.sym_visibility is not None:
            p.write(f" {op.sym_visibility}")
        p.write(" constant" if op.constant is not None else "")
        p.write(f" {symbol_text(op.sym_name.value)} : {p.type(op.type.value)}")
        if isinstance(op.initial_value, UnitAttr):
            p.write(" = uninitialized")
        elif isinstance(op.initial_value, DenseElementsAttr):
            p.write(f" = dense<{op.initial_value.body_text()}>")
        elif op.initial_value is not None:
            p.write(f" = {op.initial_value}")


class Global(Op, name="memref.global", traits=(SYMBOL,)):
    """A buffer with a name, one in the whole program."""

    sym_name = attribute(SYMBOL_NAME)
    sym_visibility = attribute(STRING_ATTR, optional=True)
    type = attribute(TYPE_ATTR)
    initial_value = attribute(ANY_ATTR, optional=True)
    constant = attribute(UNIT_ATTR, optional=True)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    assembly = "custom<Global>($sym_name, $sym_visibility, $type, $initial_value, $constant) attr-dict"

    def verify_op(self) -> None:
        type = self.type.value
        if not isinstance(type, MemRefType) or not type.is_static:
            raise self.error(f"type should be static shaped memref, but got '{type}'")
        value = self.initial_value
        if value is None or isinstance(value, UnitAttr):
            return
        if not isinstance(value, ELEMENTS):
            raise self.error(f"initial value should be a unit or elements attribute, but got {value}")
        expected = RankedTensorType(type.shape, type.element)
        if value.type is not expected:
            raise self.error(
                f"initial value expected to be of type '{expected}', but was of type '{value.type}'"
            )


class GetGlobal(Op, name="memref.get_global", traits=(PURE,)):
    """The buffer that a `memref.global` names."""

    name_ = attribute(SYMBOL_REF)
    result = result(ANY_MEMREF)
    assembly = "$name `:` type($result) attr-dict"

    def verify_op(self) -> None:
        found = lookup_symbol(self, self.name_)
        if not isinstance(found, Global):
            raise self.error(f"'{self.name_.root}' does not reference a valid global memref")
        if found.type.value is not self.result.type:
            raise self.error(
                f"result type '{self.result.type}' does not match type '{found.type.value}' of the global memref "
                f"{symbol_text(self.name_.root)}"
            )
