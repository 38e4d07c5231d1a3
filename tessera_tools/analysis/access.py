"""Tiled accesses to global memory: how wide one access may be, and what provably lies inside the view.

make_memref %base, shape = [%m, %k], stride = [%s, 1]     contiguous_axis = 1
addptr [%i, %j], tile 64x32 of f16                        vector_elements = 8: 16 bytes at a time
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.transfer import ZERO_DIVISOR
from tessera_tools.dialects.nv_tileaa import AddPtr, MakeMemRef
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import RankedTensorType, bit_width

WIDEST_ACCESS = 128
"""Bits that one load or store instruction of a thread moves at most (PTX ISA, ld and st)."""


def contiguous_axis(view: MakeMemRef) -> int | None:
    """The axis along which neighbors lie side by side: the last whose stride is the constant 1."""
    strides = view.strides()
    return next((axis for axis in reversed(range(len(strides))) if strides[axis] == 1), None)


def divisor_of(item: int | Value, facts: Facts) -> int:
    """The divisor of an extent, a stride or an offset, each a number or a value."""
    return facts.divisor(item) if isinstance(item, Value) else abs(item) or ZERO_DIVISOR


def unsigned_range(item: int | Value, facts: Facts) -> tuple[int, int]:
    """The least and the greatest number that an item may be, read as unsigned (extents, strides, offsets of views)."""
    if not isinstance(item, Value):
        return item, item
    known = facts.fact(item)
    if known.lower >= 0:
        return known.lower, known.upper
    return 0, (1 << bit_width(item.type)) - 1


def vector_elements(
    view: MakeMemRef, offsets: Sequence[int | Value], tile: RankedTensorType, facts: Facts
) -> int:
    """The largest power of two V such that V neighbors along the contiguous axis may be moved by one access.

    Every vector then starts at a multiple of its own size, and lies wholly inside the view or wholly outside: V
    divides the extent and the offset of that axis (the extent not where the tile lies inside anyway), all other
    strides, and V elements divide the base address.  V is at most the tile's extent, and 128 bits.
    """
    axis = contiguous_axis(view)
    bits = storage_bits(tile.element)
    if axis is None or bits % 8:
        return 1
    inside = in_bounds(view, offsets, tile.shape, facts)[axis]
    divisors = [divisor_of(stride, facts) for i, stride in enumerate(view.strides()) if i != axis]
    divisors.append(divisor_of(offsets[axis], facts))
    if not inside:
        divisors.append(divisor_of(view.extents()[axis], facts))
    size = bits // 8
    base = facts.divisor(view.base)
    count = 1
    while (
        2 * count * bits <= WIDEST_ACCESS
        and 2 * count <= tile.shape[axis]
        and base % (2 * count * size) == 0
        and all(divisor % (2 * count) == 0 for divisor in divisors)
    ):
        count *= 2
    return count


def in_bounds(
    view: MakeMemRef, offsets: Sequence[int | Value], tile: Sequence[int], facts: Facts
) -> tuple[bool, ...]:
    """For each axis, whether the tile provably lies inside the view along it."""
    found = []
    for extent, offset, size in zip(view.extents(), offsets, tile, strict=True):
        first, last = unsigned_range(offset, facts)
        found.append(first >= 0 and last + size <= unsigned_range(extent, facts)[0])
    return tuple(found)


def place_of(view: Value) -> tuple[MakeMemRef, list[Any]] | None:
    """The memref that a view moves about in, and the offsets, one value an axis (0 where it was not moved); None
    where that cannot be seen."""
    op = view.defining_op
    if isinstance(op, AddPtr):
        inner = op.view.defining_op
        return (inner, op.offsets) if isinstance(inner, MakeMemRef) else None
    return (op, [0] * op.res.type.rank) if isinstance(op, MakeMemRef) else None
