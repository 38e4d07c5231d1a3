"""CTA layouts: which part of a tile each CTA of a cluster has, as the `block` dimension of a linear layout.

    tensor<256x64xf16>, rank bit 0 ▶ rows        block = [[128, 0]]      each CTA has 128 rows
    tensor<64x256xf16>, the same bit             block = [[0, 0]]        both have the whole tile

A layout at this stage knows no threads: the elements of a CTA are all in `register`, the same in each lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import arith
from tessera_tools.dialects.nv_tileas import LinearAttr
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LinearLayout

Blocks = tuple[tuple[int, ...], ...]
"""For each bit of the rank, the coordinates by which the parts of two CTAs that differ in it are apart; zeros if they
have the same part."""


def replicated(rank: int, bits: int) -> Blocks:
    """The same tile, of so many axes, in all CTAs of a cluster."""
    return ((0,) * rank,) * bits


def split(shape: Sequence[int], counts: Sequence[int], first: int, bits: int) -> Blocks:
    """A tile in equal parts, so many along each axis; the first axis in the bits of the rank from `first` on.

    Example: `split((256, 128), (2, 2), 0, 2)` is ((128, 0), (0, 64)).
    """
    found = list(replicated(len(shape), bits))
    bit = first
    for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
        part = size // count
        while part < size:
            found[bit] = tuple(part * (other == axis) for other in range(len(shape)))
            part, bit = 2 * part, bit + 1
    return tuple(found)


def part_shape(shape: Sequence[int], blocks: Blocks) -> tuple[int, ...] | None:
    """The extents of the part of a CTA; None if parts are not boxes that lie side by side along the axes."""
    found = list(shape)
    steps: list[list[int]] = [[] for _ in shape]
    for basis in blocks:
        axes = [axis for axis, step in enumerate(basis) if step]
        if len(axes) > 1:
            return None
        for axis in axes:
            steps[axis].append(basis[axis])
    for axis, own in enumerate(steps):
        found[axis] >>= len(own)
        if not found[axis] or sorted(own) != [found[axis] << number for number in range(len(own))]:
            return None
    return tuple(found)


def shared_bits(blocks: Blocks) -> int:
    """The bits of the rank in which CTAs differ that have the same part."""
    return sum(1 << bit for bit, basis in enumerate(blocks) if not any(basis))


def layout_for(shape: Sequence[int], blocks: Blocks) -> LinearLayout:
    """The layout of a tile with these parts; the last axis is the fastest in `register`."""
    part = part_shape(shape, blocks)
    assert part is not None
    register: list[tuple[int, ...]] = []
    for axis in reversed(range(len(shape))):
        step = 1
        while step < part[axis]:
            register.append(tuple(step * (other == axis) for other in range(len(shape))))
            step *= 2
    outs = tuple((f"dim{axis}", size) for axis, size in enumerate(shape))
    lanes = replicated(len(shape), 5)
    return LinearLayout({"register": tuple(register), "lane": lanes, "warp": (), "block": blocks}, outs)


def blocks_of(layout: LinearLayout) -> Blocks:
    """The parts in a layout."""
    return tuple(tuple(basis) for basis in layout.bases["block"])


def given_blocks(value: Value, bits: int) -> Blocks | None:
    """The parts that the type of a tile says; None if it has no layout, or one of another cluster."""
    encoding = value.type.encoding if isinstance(value.type, RankedTensorType) else None
    if not isinstance(encoding, LinearAttr):
        return None
    found = blocks_of(encoding.layout)
    return found if len(found) == bits else None


def retype(value: Value, type: RankedTensorType) -> None:
    """Change the type of a tile, and of the elements of a constant that is one."""
    made = value.defining_op
    if isinstance(made, arith.Constant) and isinstance(made.value, DenseElementsAttr):
        made.value = DenseElementsAttr(type, made.value.data)
    value.type = type


def with_blocks(type: RankedTensorType, blocks: Blocks) -> RankedTensorType:
    """The tile with a CTA layout."""
    return RankedTensorType(type.shape, type.element, LinearAttr(layout_for(type.shape, blocks)))
