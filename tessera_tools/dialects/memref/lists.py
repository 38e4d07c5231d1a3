"""Mixed lists of static and dynamic indices: `[0, %i]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import (
    DYNAMIC_INDEX,
    I64,
    INDEX,
    MemRefType,
    UnrankedMemRefType,
)
from tessera_tools.opdef import AttrKind, CustomDirective, Op, of

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState, Token

ALIGNMENT: AttrKind[IntegerAttr] = AttrKind(
    "64-bit signless integer attribute whose value is positive and whose value is a power of two > 0",
    lambda a: isinstance(a, IntegerAttr) and a.type is I64 and a.value > 0 and a.value.bit_count() == 1,
)
ANY_BUFFER = of(MemRefType, UnrankedMemRefType, summary="ranked or unranked memref of any type values")


def mixed(static: Sequence[int], dynamic: Sequence[Value]) -> list[int | Value]:
    """A static list with the operands in the place of its markers."""
    rest = iter(dynamic)
    return [next(rest) if number == DYNAMIC_INDEX else number for number in static]


def static_numbers(op: Op, field: str) -> tuple[int, ...]:
    """The static list of the offsets, sizes, strides or extents of an op."""
    found = op.attributes[f"static_{field}"]
    assert isinstance(found, DenseArrayAttr)
    return found.values


def mixed_items(op: Op, field: str) -> list[int | Value]:
    """The offsets, sizes, strides or extents of an op: numbers where they are known."""
    return mixed(static_numbers(op, field), op.values_of(field))


def mixed_text(p: Printer, static: Sequence[int], dynamic: Sequence[Value]) -> str:
    """`[0, %i]`."""
    items = [str(item) if isinstance(item, int) else p.name(item) for item in mixed(static, dynamic)]
    return f"[{', '.join(items)}]"


MIXED_LIST = """custom_list: "[" custom_item ("," custom_item)* "]" | "[" "]"
custom_item: INTEGER -> number | VALUE -> value
"""
"""Grammar rules for a mixed list; `read_mixed` reads what they give."""


def read_mixed(state: OpState, items: Node, field: str, key: str) -> None:
    """Set the dynamic operands `field` and the static list `key` from the node of MIXED_LIST."""
    numbers: list[int] = []
    tokens: list[Token] = []
    for form, (token,) in items:
        if form == "value":
            tokens.append(token)
        numbers.append(integer_of(token[0]) if form == "number" else DYNAMIC_INDEX)
    state.operands(field, tokens)
    state.types(field, [INDEX] * len(tokens))
    state.attribute(key, DenseArrayAttr(I64, tuple(numbers)))


class IndexList(CustomDirective, name="IndexList"):
    """`[0, %i]`: arguments are the operand field and the static list's attribute."""

    grammar = "custom: custom_list\n" + MIXED_LIST

    def read(self, state: OpState, node: Node) -> None:
        field, static = self.arguments
        read_mixed(state, node[0], field, state.definition.attribute(static).key)

    def write(self, p: Printer, op: Op) -> None:
        field, static = self.arguments
        numbers = op.attributes[op.definition.attribute(static).key]
        assert isinstance(numbers, DenseArrayAttr)
        p.write(mixed_text(p, numbers.values, op.values_of(field)))
