"""Memory spaces of buffers in a `tile` program, and common parts of its ops.

memref<?x?xbf16>          global memory
memref<128x64xbf16, 3>    shared memory
memref<8x8xf32, 5>        registers: one thread's fragment of a tile
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, StridedLayoutAttr
from tessera_tools.ir.types import F32, FloatType, IntegerType, MemRefType
from tessera_tools.opdef import CustomDirective, MemoryEffects, Op, Reach, allocate, of, read, write
from tessera_tools.opdef.constraints import TypeConstraint

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

SHARED = 3
"""The memory space of shared memory, as NVPTX numbers it."""
REGISTERS = 5
"""The memory space of registers: NVPTX's local memory, which a thread's own values would otherwise be in."""


def space_of(type: MemRefType) -> int:
    """The memory space of a memref type: 0 for global memory (also written as 1)."""
    space = type.memory_space
    if space is None:
        return 0
    number = space.value if isinstance(space, IntegerAttr) else -1
    return 0 if number == 1 else number


def _in_space(space: int, summary: str) -> TypeConstraint[MemRefType]:
    """Buffers of numbers; rows are contiguous, except in global memory, where the caller defines the strides.  In
    shared memory they may be a part of another buffer, with an offset."""

    def accepts(type: Type) -> bool:
        return (
            isinstance(type, MemRefType)
            and space_of(type) == space
            and isinstance(type.element, FloatType | IntegerType)
            and (
                space == 0
                or (0 not in type.shape and (type.layout is None or (space == SHARED and _is_part(type))))
            )
        )

    return TypeConstraint(summary, accepts)


def _is_part(type: MemRefType) -> bool:
    """True if the elements of a type with a layout are contiguous."""
    strides = [prod(type.shape[axis + 1 :]) for axis in range(type.rank)]
    return isinstance(type.layout, StridedLayoutAttr) and all(
        extent == 1 or stride == own
        for extent, stride, own in zip(type.shape, type.layout.strides, strides, strict=True)
    )


GLOBAL_BUFFER = _in_space(0, "memref of numbers in global memory")
SHARED_BUFFER = _in_space(SHARED, "memref of one number or more in shared memory (space 3), without strides")
FRAGMENT = _in_space(REGISTERS, "memref of one number or more in registers (space 5), without strides")
ANY_BUFFER = of(MemRefType, summary="memref")
NUMBER = of(FloatType, IntegerType, summary="number")

MAKES = MemoryEffects(allocate(), read())
"""Reads its operands, and gives a new buffer."""
CHANGES_DEST = MemoryEffects(read(), write("dest"))
LOADS = MemoryEffects(read("buffer", reach=Reach.BY_THREAD))
STORES = MemoryEffects(write("buffer", reach=Reach.BY_THREAD))


def rows_of(fragment: MemRefType) -> MemRefType:
    """The type of one number a row of a fragment."""
    return MemRefType(fragment.shape[:1], fragment.element, fragment.layout, fragment.memory_space)


def accumulator_element(a: Type) -> Type:
    """f32 for products of floats, i32 for products of integers."""
    from tessera_tools.ir.types import I32

    return F32 if isinstance(a, FloatType) else I32


class Operands(CustomDirective, name="TileOperands"):
    """`%a, %b`, each a value or a nested op of the dialect: `%a, tile.mul(%b, %c)`, which is inserted before this one
    and has the type of its first operand."""

    grammar = """
custom: custom_item ("," custom_item)*
custom_item: VALUE -> value | KEYWORD "(" VALUE ("," VALUE)* ")" -> nested
"""

    def read(self, state: OpState, node: Node) -> None:
        if len(node) != len(self.arguments):
            raise state.error(None, f"expects {len(self.arguments)} operands, found {len(node)}")
        for field, (form, children) in zip(self.arguments, node, strict=True):
            token = children[0] if form == "value" else state.parser.nested_op(children[0], children[1:])
            state.operand(field, token)

    def write(self, p: Printer, op: Op) -> None:
        p.space()
        p.write(", ".join(p.name(value) for field in self.arguments for value in op.values_of(field)))

    def covers(self) -> tuple[set[str], set[str]]:
        return set(), set()
