"""Operands of products in shared memory: the choice of operands, their layouts, and the loads of their fragments.

    load ─▶ [reshape] ─▶ [permute] ─▶ [cast] ─▶ convert_layout ─▶ dot
      ──▶  buffer ← load;  for each slice along K: nv_tileas.load ─▶ [reshape] ─▶ [permute] ─▶ [cast] ─▶ dot

The ops in between are applied to the fragments instead: reshape and permute rename registers, and a cast of fragments
reads fewer bytes.  If the tile is not a load, the buffer replaces its layout conversion if fragments of the whole
tile would need too many registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32
from tessera_tools.ir.core import Builder, IRMapping, Operation, Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout import (
    Access,
    LayoutError,
    LinearLayout,
    SharedRoundTrip,
    choose_swizzle,
    contiguous_elements,
    held_operand,
    reshape,
    transpose,
    vector_access,
)
from tessera_tools.passes.tileas.memory_order import writes_memory
from tessera_tools.planning.dot_layouts import dot_layouts, grid_of, operand_layouts
from tessera_tools.planning.kernel import unit_of
from tessera_tools.planning.shared_memory import (
    access_atom,
    conversion_plan,
    full_tile_registers,
    slice_plan,
    tile_text,
)
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


@dataclass
class DirectReads:
    """How the fragments of a load's tile are read from global memory: all `at` one op, or each at its product (None).
    `token` orders the next read."""

    at: Builder | None
    token: Value


class DotOperand:
    """Operand A or B of a product that passes through shared memory.

    `tile` is the tile in the buffer, `load` the op that loads it (None if it is computed), `steps` the ops between the
    tile and the product, in order.
    """

    def __init__(
        self, dot: Any, position: int, tile: Value, steps: list[Any], warps: int, target: Target
    ) -> None:
        self.dot = dot
        self.position = position
        self.tile = tile
        self.steps = steps
        self.warps = warps
        op = tile.defining_op
        self.load: Any = op if isinstance(op, nv_tileas.TiledLoad) else None
        type = tile.type
        assert isinstance(type, RankedTensorType)
        self.type = type
        self.element = type.element
        self.bits = padded_bits(type.element)
        self.tile_layout = nv_tileas.layout_of(type)
        widest = self.load.atom.bits if self.load is not None else 128
        write = Access(self.tile_layout, "vector", min(128, max(8, widest)))
        fragment = dot_layouts(dot, warps)[position]
        read = Access(self.in_tile(fragment, dot.operand(position).type.shape)[0], "matrix")
        fastest = self.copied_axis(target)
        try:
            choice = choose_swizzle(type.shape, self.bits, write, read, modes_only=True, fastest=fastest)
            self.asynchronous = self.copies_alone(target) and (
                vector_access(self.tile_layout, choice.layout, self.bits, widest).bits == widest
            )
        except LayoutError:
            choice = choose_swizzle(type.shape, self.bits, write, read, modes_only=True)
            self.asynchronous = False
        """cp.async can fill the buffer: accesses of 4, 8 or 16 bytes, and zeros out of bounds."""
        self.memory = choice.layout
        self.buffer: Value | None = None
        self.stage: Value | None = None
        self.direct: DirectReads | None = None

    @property
    def bytes(self) -> int:
        """Size of one stage, in bytes."""
        return self.type.num_elements * self.bits // 8

    def tile_text(self) -> str:
        """A description of the copied tile, for messages."""
        return tile_text(self.type.shape, self.element)

    def copies_alone(self, target: Target) -> bool:
        """True if the load may be a cp.async, if the buffer's layout allows it."""
        load = self.load
        return (
            load is not None
            and target.has(Feature.CP_ASYNC)
            and storage_bits(self.element) == self.bits
            and load.atom.bits >= 32
            and load.padding.value in ("undef", "zero")
        )

    def copied_axis(self, target: Target) -> int | None:
        """The axis along which a cp.async moves several elements: they must be contiguous in global memory and in the
        buffer.  None if any order is allowed."""
        if not self.copies_alone(target) or self.load.atom.bits <= self.bits:
            return None
        view = self.load.view.defining_op
        return contiguous_axis(view) if isinstance(view, nv_tileaa.MakeMemRef) else None

    # -- which operands

    @classmethod
    def match(cls, dot: Any, position: int, warps: int, target: Target) -> DotOperand | None:
        """The operand, if a load in the product's block feeds it and only products use the ops in between, or if its
        fragments need too many registers."""
        steps: list[Any] = []
        value = dot.operand(position)
        while isinstance(op := value.defining_op, Operation) and op.parent is dot.parent:
            if isinstance(op, nv_tileas.TiledLoad):
                if not any(isinstance(step, nv_tileas.ConvertLayout) for step in steps):
                    return None
                if _product_uses(value, dot.parent) is None:
                    break
                return cls(dot, position, value, steps[::-1], warps, target)
            if not _follows(op):
                break
            steps.append(op)
            value = op.operands[0]
        convert = dot.operand(position).defining_op
        if (
            isinstance(convert, nv_tileas.ConvertLayout)
            and isinstance(conversion_plan(convert, target), SharedRoundTrip)
            and _words(convert.res.type) > MOST_FRAGMENT
        ):
            return cls(dot, position, convert.source, [convert], warps, target)
        return None

    # -- the buffer

    def share(self, owner: DotOperand) -> None:
        """Use the buffer of another operand with the same load."""
        self.memory, self.buffer, self.stage = owner.memory, owner.buffer, owner.stage

    def allocate(self, builder: Builder, stages: int) -> None:
        """Create the buffer."""
        type = SmemType((stages, *self.type.shape), self.element, SharedAttr(self.memory))
        alloc = builder.insert(nv_tileas.AllocTensor(res=type, location=self.tile.location))
        self.buffer = alloc.res
        alloc.res.name_hint = "smem_a" if self.position == 0 else "smem_b"

    def copy(self, builder: Builder, indices: list[Value], stage: Value, when: Value | None) -> None:
        """Start the copy of one tile."""
        load = self.load
        atom = CopyAtomAttr.make(80, "cp_async", load.atom.bits, self.element)
        token = first_token(load)
        builder.insert(
            nv_tileas.AsyncTiledCopy(
                load.view, indices, self.buffer, stage, when, atom, token, location=load.location
            )
        )

    def finish_load(self) -> None:
        """Erase the load: its token is replaced by its token operand."""
        self.load.out_token.replace_all_uses_with(self.load.token)

    def stage_through_registers(self) -> None:
        """Store the tile into a buffer of one stage."""
        after = self.load if self.load is not None else self.steps[0]
        top: Operation = after
        while isinstance(top.parent_op, scf.For | scf.If | scf.While):
            top = top.parent_op
        self.allocate(Builder.before(top), 1)
        builder = Builder.after(after) if self.load is not None else Builder.before(after)
        self.stage = builder.insert(arith.Constant(i32(0))).results[0]
        bits = vector_access(self.tile_layout, self.memory, self.bits).bits
        atom = CopyAtomAttr.make(80, "sts", bits, self.element)
        builder.insert(nv_tileas.Store(self.tile, self.buffer, self.stage, atom))

    def read_directly(self, owner: DotOperand | None) -> None:
        """Read fragments from global memory at their uses, for tiles that do not fit in a buffer.

        If the memory order requires it, all are read at the load.  `owner` is another operand with the same load, if
        any.
        """
        load = self.load
        if owner is not None:
            self.direct = owner.direct
            return
        moves, op = not load.out_token.has_uses, load.next_op
        while moves and op is not self.dot:
            moves, op = not writes_memory(op), op.next_op
        self.direct = DirectReads(None if moves else Builder.after(load), load.token)

    # -- fragments

    def in_tile(
        self, layout: LinearLayout, shape: tuple[int, ...], offsets: tuple[int, ...] | None = None
    ) -> tuple[LinearLayout, tuple[int, ...], tuple[int, ...]]:
        """Map layout, shape and offsets of a part of the product's operand to a part of the tile."""
        place = offsets if offsets is not None else (0,) * len(shape)
        for step in reversed(self.steps):
            if isinstance(step, nv_tileaa.Permute):
                order = _inverse(step.permutation.values)
                layout = transpose(layout, order)
                shape, place = tuple(shape[i] for i in order), tuple(place[i] for i in order)
            elif isinstance(step, nv_tileaa.Reshape):
                axes = _kept_axes(step.source.type.shape, step.res.type.shape)
                shape = tuple(1 if axis is None else shape[axis] for axis in axes)
                place = tuple(0 if axis is None else place[axis] for axis in axes)
                layout = reshape(layout, shape)
        return layout, shape, place

    def fragment(self, builder: Builder, start: int, depth: int, target: Target) -> Value:
        """The fragment of the product from `start`, of `depth` elements along K, read from the buffer."""
        wanted, shape, offsets = part(self.dot, self.position, start, depth, self.warps)
        layout, source_shape, place = self.in_tile(wanted, shape, offsets)
        type = nv_tileas.with_layout(RankedTensorType(source_shape, self.element), layout)
        if self.direct is not None:
            value = self.from_global(self.direct.at or builder, self.direct, type, place)
        else:
            value = self.from_buffer(builder, type, place, target)
        for step in self.steps:
            value, layout = _repeated(builder, step, value, layout)
        return value

    def from_buffer(
        self, builder: Builder, type: RankedTensorType, place: tuple[int, ...], target: Target
    ) -> Value:
        """A part of the tile, from the buffer."""
        whole = full_tile_registers(nv_tileas.layout_of(type), self.type.shape)
        plan = slice_plan(whole, self.memory, self.bits, target)
        load = nv_tileas.Load(
            self.buffer,
            self.stage,
            DenseArrayAttr(I64, place),
            access_atom(plan, self.element),
            res=type,
            location=self.tile.location,
        )
        return builder.insert(load).res

    def from_global(
        self, builder: Builder, reads: DirectReads, type: RankedTensorType, place: tuple[int, ...]
    ) -> Value:
        """A part of the tile, from global memory, with accesses as wide as its layout allows."""
        load, layout = self.load, nv_tileas.layout_of(type)
        bits = storage_bits(self.element)
        count = max(1, load.atom.bits // bits)
        view = load.view.defining_op
        axis = contiguous_axis(view) if isinstance(view, nv_tileaa.MakeMemRef) else None
        held = contiguous_elements(layout, axis, count, count, count) if axis is not None else 1
        indices = [
            builder.insert(arith.AddI(index, builder.insert(arith.Constant(i32(offset))).results[0])).results[
                0
            ]
            for index, offset in zip(load.indices, place, strict=True)
        ]
        read = nv_tileas.TiledLoad(
            load.view,
            indices,
            reads.token,
            CopyAtomAttr.make(80, "ldg", bits * held, self.element),
            load.padding,
            res=type,
            out_token=load.out_token.type,
            location=load.location,
        )
        builder.insert(read)
        if reads.at is not None:
            reads.token = read.out_token
        return read.res

    def erase_steps(self) -> None:
        """Erase the unused ops between tile and product, and the load."""
        for op in (*reversed(self.steps), *([self.load] if self.load is not None else [])):
            if op.parent is not None and not op.results[0].has_uses:
                for token in op.results[1:]:
                    token.replace_all_uses_with(self.direct.token if self.direct is not None else op.token)
                op.erase()


def first_token(load: Any) -> Value:
    """The token before a load and the loads that it is chained to; loads need no order among each other."""
    token = load.token
    while isinstance(before := token.defining_op, nv_tileas.TiledLoad):
        token = before.token
    return token


def dot_operands(function: nv_tileaa.Func, target: Target) -> list[list[DotOperand]]:
    """The operands that pass through shared memory, grouped by block."""
    by_tile: dict[Value, list[DotOperand]] = {}
    for dot in [o for o in function.walk() if isinstance(o, nv_tileas.Dot)]:
        for position in (0, 1):
            operand = DotOperand.match(dot, position, unit_of(dot).warps, target)
            if operand is not None:
                by_tile.setdefault(operand.tile, []).append(operand)
    by_block: dict[Any, list[DotOperand]] = {}
    for tile, operands in by_tile.items():
        # If one product reads a load from registers, all do.
        if operands[0].load is None or len(operands) == _product_uses(tile, operands[0].dot.parent):
            for operand in operands:
                by_block.setdefault(operand.dot.parent, []).append(operand)
    return list(by_block.values())


def _product_uses(value: Value, block: Any) -> int | None:
    """The number of operands of products in a block that use a tile; None if it has other uses."""
    count = 0
    for use in value.uses:
        op = use.owner
        if op.parent is not block:
            return None
        if isinstance(op, nv_tileas.Dot) and use.value in (op.a, op.b):
            count += 1
        elif _follows(op):
            found = _product_uses(op.results[0], block)
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
        return _solid(op.source.type.shape) == _solid(op.res.type.shape)
    return isinstance(op, nv_tileas.ConvertLayout | nv_tileaa.Permute) or op.name in _CASTS


def _solid(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size > 1)


def _kept_axes(source: tuple[int, ...], result: tuple[int, ...]) -> list[int | None]:
    """For each axis of the source, the corresponding axis of the result; None for an axis of extent 1."""
    axes = iter([axis for axis, size in enumerate(result) if size > 1])
    return [next(axes) if size > 1 else None for size in source]


def _repeated(builder: Builder, step: Any, value: Value, layout: LinearLayout) -> tuple[Value, LinearLayout]:
    """Apply a step to a fragment of its operand in `layout`; returns the result and its layout."""
    if isinstance(step, nv_tileas.ConvertLayout):
        return value, layout
    type = value.type
    assert isinstance(type, RankedTensorType)
    shape = type.shape
    if isinstance(step, nv_tileaa.Permute):
        order = step.permutation.values
        layout, shape = transpose(layout, order), tuple(shape[i] for i in order)
    elif isinstance(step, nv_tileaa.Reshape):
        axes = _kept_axes(step.res.type.shape, step.source.type.shape)
        shape = tuple(1 if axis is None else shape[axis] for axis in axes)
        layout = reshape(layout, shape)
    copy = step.clone(IRMapping({step.operands[0]: value}))
    made: Any = step.results[0].type
    copy.results[0].type = nv_tileas.with_layout(RankedTensorType(shape, made.element), layout)
    return builder.insert(copy).results[0], layout


def _inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


# -- slices of products


def part(
    dot: Any, position: int, start: int, depth: int, warps: int
) -> tuple[LinearLayout, tuple[int, ...], tuple[int, ...]]:
    """Layout, shape and offsets of the part of A or B from `start`, of `depth` elements along K."""
    shape = list(dot.operand(position).type.shape)
    axis = len(shape) - 1 if position == 0 else len(shape) - 2
    offsets = [0] * len(shape)
    shape[axis], offsets[axis] = depth, start
    layouts = operand_layouts(dot.c.type.shape, depth, dot.atom, grid_of(dot, warps))
    return layouts[position], tuple(shape), tuple(offsets)


def slice_dot(dot: Any, operands: dict[int, DotOperand], warps: int, target: Target) -> None:
    """Replace a product by one product per slice along K; the fragments are read from the buffers just before each.

    Operands in registers are sliced in registers.  So are scales: a slice has one for each row or column.
    """
    k, depth = dot.a.type.shape[-1], _depth(dot, warps)
    accumulator = dot.c
    builder = Builder.before(dot)
    for start in range(0, k, depth):
        fragments = [
            operands[position].fragment(builder, start, depth, target)
            if position in operands
            else _sliced(builder, dot.operand(position), *part(dot, position, start, depth, warps))
            for position in (0, 1)
        ]
        scales = _scales(builder, dot, start // depth)
        accumulator = builder.insert(
            nv_tileas.Dot(*fragments, accumulator, scales, dot.atom, dot.warps, location=dot.location)
        ).res
    accumulator.name_hint = dot.res.name_hint
    dot.res.replace_all_uses_with(accumulator)
    dot.erase()
    for operand in operands.values():
        operand.erase_steps()


def _depth(dot: Any, warps: int) -> int:
    """The depth of a slice: that of one instruction, of one block of scales, or limited by registers."""
    k = dot.a.type.shape[-1]
    if dot.scales:
        return k // dot.scales[0].type.shape[-1]
    if not dot.atom.is_fma:
        return min(k, dot.atom.mnk[2])
    a, b = (_words(dot.operand(position).type, dot_layouts(dot, warps)[position]) for position in (0, 1))
    depth = k
    while depth > 1 and (a + b) * depth > MOST_FRAGMENT * k:
        depth //= 2
    return depth


def _words(type: Any, layout: LinearLayout | None = None) -> int:
    """The number of 32-bit registers of a tile in a thread."""
    found = layout if layout is not None else nv_tileas.layout_of(type)
    return found.in_size("register") * padded_bits(type.element) // 32


def _sliced(
    builder: Builder, value: Value, layout: LinearLayout, shape: tuple[int, ...], offsets: tuple[int, ...]
) -> Value:
    type = value.type
    assert isinstance(type, RankedTensorType)
    result = nv_tileas.with_layout(RankedTensorType(shape, type.element), layout)
    if result is type:
        return value
    return builder.insert(nv_tileas.Slice(value, DenseArrayAttr(I64, offsets), res=result)).res


def _scales(builder: Builder, dot: Any, block: int) -> list[Value]:
    """The scales of one block along K."""
    found = []
    rank = dot.c.type.rank
    accumulator = nv_tileas.layout_of(dot.c.type)
    for scale, axis in zip(dot.scales, (rank - 1, rank - 2), strict=False):
        shape = [1 if i == axis else size for i, size in enumerate(scale.type.shape)]
        offsets = [block if i == axis else 0 for i in range(rank)]
        layout = held_operand(accumulator, axis, 1)
        found.append(_sliced(builder, scale, layout, tuple(shape), tuple(offsets)))
    return found
