"""Operands of products that go through shared memory: which ones, and in what layout they lie there.

    load ─▶ [reshape] ─▶ [permute] ─▶ [cast] ─▶ convert_layout ─▶ dot
    tile    steps …

If a tile is not a load, the buffer replaces its layout conversion if fragments of the whole tile would
take too many registers.
"""

from __future__ import annotations

from typing import NamedTuple

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import (
    Access,
    LayoutError,
    LinearLayout,
    SharedRoundTrip,
    choose_swizzle,
    reshape,
    transpose,
    vector_access,
)
from tessera_tools.layout.distributed import inverse
from tessera_tools.planning.dot_layouts import dot_layouts
from tessera_tools.planning.shared_memory import conversion_plan
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target

MOST_FRAGMENT = 64
"""The maximum number of 32-bit registers per thread for the fragments of a whole operand; larger operands are read in
slices."""
_CASTS = frozenset(
    f"arith.{name}"
    for name in (
        "extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui", "bitcast",
    )
)  # fmt: skip

MOVES_NOTHING = (nv_tileaa.Permute, nv_tileaa.Reshape, arith.NegF)
"""Ops that neither compute nor move an element: what they make is a factor as it was."""


@dataclass(frozen=True, eq=False)
class DotSource:
    """A or B of a product, and what it is made of.

    `tile` is the tile in shared memory, `steps` the ops between the tile and the product, in order.
    """

    dot: nv_tileas.Dot
    position: int
    tile: Value
    steps: list[Operation]

    @property
    def load(self) -> nv_tileas.TiledLoad | None:
        """The op that loads the tile; None if another makes it."""
        op = self.tile.defining_op
        return op if isinstance(op, nv_tileas.TiledLoad) else None

    @property
    def loaded(self) -> nv_tileas.TiledLoad:
        """The op that loads the tile."""
        assert self.load is not None
        return self.load

    @property
    def type(self) -> RankedTensorType:
        """The type of the tile."""
        type = self.tile.type
        assert isinstance(type, RankedTensorType)
        return type

    @property
    def element(self) -> Type:
        """The type of the tile's elements."""
        return self.type.element

    @property
    def bits(self) -> int:
        """The bits of an element in shared memory."""
        return padded_bits(self.type.element)

    def not_copied_alone(self, target: Target) -> str:
        """Why the load may not be a cp.async, whatever the buffer's layout; "" if it may."""
        load = self.load
        if load is None:
            return "no load makes it"
        if not target.has(Feature.CP_ASYNC):
            return f"{target.name} has no cp.async"
        if storage_bits(self.element) != self.bits:
            return f"{self.element} has {storage_bits(self.element)} bits in global and {self.bits} in shared memory"
        if load.atom.bits < 32:
            return f"its accesses are of {load.atom.bits} bits, and cp.async copies 32, 64 or 128"
        if load.rounds:
            return "its elements are rounded as they are loaded"
        if load.padding.value not in ("undef", "zero"):
            return f"it is padded with {load.padding.value}, and cp.async pads with zero"
        return ""

    def copied_axis(self, target: Target) -> int | None:
        """The axis along which a cp.async moves several elements: they must be contiguous in global memory and in the
        buffer.  None if any order is allowed."""
        if self.not_copied_alone(target) or self.loaded.atom.bits <= self.bits:
            return None
        return contiguous_axis(self.loaded.view.defining_op)

    def in_tile(
        self, layout: LinearLayout, shape: tuple[int, ...], offsets: tuple[int, ...] | None = None
    ) -> tuple[LinearLayout, tuple[int, ...], tuple[int, ...]]:
        """Map layout, shape and offsets of a part of the product's operand to a part of the tile."""
        place = offsets if offsets is not None else (0,) * len(shape)
        for step in reversed(self.steps):
            if isinstance(step, nv_tileaa.Permute):
                order = inverse(step.permutation.values)
                layout = transpose(layout, order)
                shape, place = tuple(shape[i] for i in order), tuple(place[i] for i in order)
            elif isinstance(step, nv_tileaa.Reshape):
                axes = kept_axes(step.source.type.shape, step.res.type.shape)
                shape = tuple(1 if axis is None else shape[axis] for axis in axes)
                place = tuple(0 if axis is None else place[axis] for axis in axes)
                layout = reshape(layout, shape)
        return layout, shape, place


class BufferChoice(NamedTuple):
    """The layout of a tile in shared memory."""

    memory: LinearLayout
    obstacle: str
    """Why cp.async cannot fill the buffer (4, 8 or 16 bytes at a time, zeros outside the view); "" if it can."""


def choose_buffer(source: DotSource, warps: int, target: Target) -> BufferChoice:
    """The layout with the fewest bank conflicts among those that cp.async can fill, else among all."""
    dot, layout = source.dot, nv_tileas.layout_of(source.type)
    factor = dot.a if source.position == 0 else dot.b
    widest = source.load.atom.bits if source.load is not None else 128
    write = Access(layout, "vector", min(128, max(8, widest)))
    fragment = dot_layouts(dot, warps)[source.position]
    read = Access(source.in_tile(fragment, factor.type.shape)[0], "matrix")
    shape, bits = source.type.shape, source.bits
    try:
        fastest = source.copied_axis(target)
        memory = choose_swizzle(shape, bits, write, read, modes_only=True, fastest=fastest).layout
        together = vector_access(layout, memory, bits, widest).bits
    except LayoutError:
        memory, together = choose_swizzle(shape, bits, write, read, modes_only=True).layout, 0
    obstacle = source.not_copied_alone(target)
    if not obstacle and together != widest:
        obstacle = f"no layout of the buffer keeps the {widest} bits together that a thread copies at a time"
    return BufferChoice(memory, obstacle)


def match(dot: nv_tileas.Dot, position: int, target: Target) -> DotSource | None:
    """The operand, if a load in the product's block feeds it and only products use the ops in between, or if its
    fragments need too many registers."""
    steps: list[Operation] = []
    value = dot.operand(position)
    while isinstance(op := value.defining_op, Operation) and op.parent is dot.parent:
        if isinstance(op, nv_tileas.TiledLoad):
            if not any(isinstance(step, nv_tileas.ConvertLayout) for step in steps):
                return None
            if product_uses(value, dot.parent) is None:
                break
            return DotSource(dot, position, value, steps[::-1])
        if not _follows(op):
            break
        steps.append(op)
        value = op.operands[0]
    convert = dot.operand(position).defining_op
    if (
        isinstance(convert, nv_tileas.ConvertLayout)
        and isinstance(conversion_plan(convert, target), SharedRoundTrip)
        and words(convert.res.type) > MOST_FRAGMENT
    ):
        return DotSource(dot, position, convert.source, [convert])
    return None


def product_uses(value: Value, block: Block | None) -> int | None:
    """The number of operands of products in a block that use a tile; None if it has other uses."""
    count = 0
    for use in value.uses:
        op = use.owner
        if op.parent is not block:
            return None
        if isinstance(op, nv_tileas.Dot) and use.value in (op.a, op.b):
            count += 1
        elif _follows(op):
            found = product_uses(op.results[0], block)
            if found is None:
                return None
            count += found
        else:
            return None
    return count


def _follows(op: Operation) -> bool:
    """True if an op between a load and a product can be applied to fragments."""
    if isinstance(op, nv_tileaa.Reshape):
        # A part of a reshaped tile is a part of the tile if only axes of extent 1 are added or removed.
        return op.only_renames
    return isinstance(op, nv_tileas.ConvertLayout | nv_tileaa.Permute) or op.name in _CASTS


def kept_axes(source: tuple[int, ...], result: tuple[int, ...]) -> list[int | None]:
    """For each axis of the source, the corresponding axis of the result; None for an axis of extent 1."""
    axes = iter([axis for axis, size in enumerate(result) if size > 1])
    return [next(axes) if size > 1 else None for size in source]


def words(type: RankedTensorType, layout: LinearLayout | None = None) -> int:
    """The number of 32-bit registers of a tile in a thread."""
    found = layout if layout is not None else nv_tileas.layout_of(type)
    return found.in_size("register") * padded_bits(type.element) // 32


def is_factor(user: Operation, value: Value) -> bool:
    """True if a value goes into products as a factor, and nowhere else, at most through ops that move no element."""
    if isinstance(user, nv_tileas.Dot):
        return value is not user.c and value not in user.scales
    if not isinstance(user, MOVES_NOTHING):
        return False
    return all(is_factor(u, user.results[0]) for u in user.results[0].users)
