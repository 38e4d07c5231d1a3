"""Tiled accesses to global memory: their vector width, and the axes along which they are provably in bounds.

make_memref %base, shape = [%m, %k], stride = [%s, 1]     contiguous_axis = 1
addptr [%i, %j], tile 64x32 of f16                        vector_elements = 8: 16 bytes at a time
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.transfer import ZERO_DIVISOR
from tessera_tools.dialects.nv_tileaa import AddPtr, MakeMemRef
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType, bit_width

WIDEST_ACCESS = 128
"""The widest load or store of a thread, in bits (PTX ISA, ld and st)."""


def contiguous_axis(view: Operation | None) -> int | None:
    """Returns the axis along which elements are adjacent in memory: the last axis whose stride is the constant 1.

    None if there is none, or if the view is not the result of a make_memref.
    """
    if not isinstance(view, MakeMemRef):
        return None
    strides = view.strides()
    return next((axis for axis in reversed(range(len(strides))) if strides[axis] == 1), None)


def divisor_of(item: int | Value, facts: Facts) -> int:
    """Returns the divisor of an extent, a stride or an offset. Each is a number or a value."""
    return facts.divisor(item) if isinstance(item, Value) else abs(item) or ZERO_DIVISOR


def unsigned_range(item: int | Value, facts: Facts) -> tuple[int, int]:
    """The unsigned range (minimum, maximum) of an extent, a stride or an offset of a view."""
    if not isinstance(item, Value):
        return item, item
    known = facts.fact(item)
    if known.lower >= 0:
        return known.lower, known.upper
    return 0, (1 << bit_width(item.type)) - 1


def vector_elements(
    view: MakeMemRef, offsets: Sequence[int | Value], tile: RankedTensorType, facts: Facts
) -> int:
    """The largest power of two V such that one access can move V adjacent elements along the contiguous axis.

    Every vector is then aligned to its size, and either completely in bounds or completely out of bounds: V divides the
    offset of that axis, its extent (unless the tile is in bounds), and all other strides, and V elements divide the
    base address.  V is at most the tile's extent, and at most 128 bits.
    """
    return min(limit.elements for limit in vector_limits(view, offsets, tile, facts))


class VectorLimit(NamedTuple):
    """The limit that one fact sets on the number of elements of an access, a power of two."""

    elements: int
    why: str
    """The fact, as a clause: "the base is not known to be a multiple of 16 bytes: add an assume"."""


def vector_limits(
    view: MakeMemRef, offsets: Sequence[int | Value], tile: RankedTensorType, facts: Facts
) -> list[VectorLimit]:
    """All limits of `vector_elements`, in the order of a report: the type, then facts."""
    axis = contiguous_axis(view)
    bits = storage_bits(tile.element)
    if bits % 8:
        return [VectorLimit(1, f"elements have {bits} bits, less than 8")]
    if axis is None:
        return [VectorLimit(1, "no dimension of the view is known to have stride 1")]
    extent, size = tile.shape[axis], bits // 8
    most = max(1, WIDEST_ACCESS // bits)
    limits = [
        VectorLimit(most, f"no access moves more than {WIDEST_ACCESS} bits"),
        VectorLimit(
            1 << extent.bit_length() - 1,
            f"the tile has {extent} element{'s' if extent != 1 else ''} along dimension {axis}",
        ),
    ]

    base = facts.divisor(view.base)
    why = f"the base is not known to be a multiple of {most * size} bytes: add an assume"
    limits.append(VectorLimit(max(1, (base & -base) // size), why))

    def divided(item: int | Value, what: str) -> None:
        """Add the limit of a stride, an offset or an extent, which must be a multiple of the vector."""
        divisor = divisor_of(item, facts)
        why = (
            f"{what} is not known to be a multiple of {most}: add an assume"
            if isinstance(item, Value)
            else f"{what} is {item}, which is not a multiple of {most}"
        )
        limits.append(VectorLimit(divisor & -divisor, why))

    for i, stride in enumerate(view.strides()):
        if i != axis:
            divided(stride, f"the stride of dimension {i}")
    divided(offsets[axis], f"the offset along dimension {axis}")
    if not in_bounds(view, offsets, tile.shape, facts)[axis]:
        divided(view.extents()[axis], f"the extent of dimension {axis}")
    return limits


def in_bounds(
    view: Operation | None, offsets: Sequence[int | Value], tile: Sequence[int], facts: Facts
) -> tuple[bool, ...]:
    """Returns, for each axis, true if the tile is inside the view (a `MakeMemRef`) along it, provably or by promise."""
    assert isinstance(view, MakeMemRef)
    axes = zip(view.promised(), view.extents(), offsets, tile, strict=True)
    return tuple(
        promised or unsigned_range(offset, facts)[1] + size <= unsigned_range(extent, facts)[0]
        for promised, extent, offset, size in axes
    )


def place_of(view: Value) -> tuple[MakeMemRef, Sequence[Value | int]] | None:
    """The memref that a view refers to, and its offsets, one value per axis (0 if there is none); None if they are not
    known."""
    op = view.defining_op
    if isinstance(op, AddPtr):
        inner = op.view.defining_op
        return (inner, op.offsets) if isinstance(inner, MakeMemRef) else None
    return (op, [0] * op.res.type.rank) if isinstance(op, MakeMemRef) else None
