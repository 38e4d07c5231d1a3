"""Operands of products in shared memory: how their fragments are read from there.

    load ─▶ [reshape] ─▶ [permute] ─▶ [cast] ─▶ convert_layout ─▶ dot
      ──▶  buffer ← load;  for each slice along K: nv_tileas.load ─▶ [reshape] ─▶ [permute] ─▶ [cast] ─▶ dot

The ops in between are applied to the fragments instead: reshape and permute rename registers, and a cast there reads
less from memory.  Which operands these are, and the layout of their buffers: dot_sources.py.
"""

from __future__ import annotations

from collections.abc import Hashable

from tessera_tools.analysis.access import storage_bits
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout import (
    LinearLayout,
    reshape,
    transpose,
    vector_access,
)
from tessera_tools.passes.tileas.dot_sources import (
    MOST_FRAGMENT,
    DotSource,
    choose_buffer,
    kept_axes,
    match,
    product_uses,
    words,
)
from tessera_tools.passes.tileas.memory_order import writes_memory
from tessera_tools.passes.tileas.part_indices import part_index
from tessera_tools.planning.accesses import access_vector
from tessera_tools.planning.dot_layouts import dot_layouts, grid_of, operand_layouts, scale_layouts
from tessera_tools.planning.kernel import unit_of
from tessera_tools.planning.shared_memory import (
    access_atom,
    full_tile_registers,
    slice_plan,
    tile_text,
)
from tessera_tools.records import dataclass
from tessera_tools.target import Target


@dataclass
class DirectReads:
    """How the fragments of a load's tile are read from global memory: all `at` one op, or each at its product (None).
    `token` orders the next read."""

    at: Builder | None
    token: Value


class DotOperand:
    """Operand A or B of a product that passes through shared memory."""

    def __init__(self, source: DotSource, warps: int, target: Target) -> None:
        self.source = source
        self.dot = source.dot
        self.position = source.position
        self.tile = source.tile
        self.steps = source.steps
        self.load = source.load
        self.type = source.type
        self.element = source.element
        self.bits = source.bits
        self.warps = warps
        self.memory, self.obstacle = choose_buffer(source, warps, target)
        self.buffer: Value | None = None
        self.stage: Value | None = None
        self.direct: DirectReads | None = None
        self.facts = Facts()

    @property
    def loaded(self) -> nv_tileas.TiledLoad:
        """The op that loads the tile."""
        return self.source.loaded

    @property
    def bytes(self) -> int:
        """Size of one stage, in bytes."""
        return self.type.num_elements * self.bits // 8

    def tile_text(self) -> str:
        """A description of the copied tile, for messages."""
        return tile_text(self.type.shape, self.element)

    # -- the buffer

    @property
    def tile_key(self) -> Hashable:
        """Operands with the same key can have one buffer: a load has one for all its products, another tile one for
        those that read it in the same layout."""
        return self.load if self.load is not None else (self.tile, self.memory)

    def share(self, owner: DotOperand) -> None:
        """Use the buffer of another operand with the same tile."""
        self.memory, self.buffer, self.stage = owner.memory, owner.buffer, owner.stage

    def allocate(self, builder: Builder, stages: int) -> None:
        """Create the buffer."""
        type = SmemType((stages, *self.type.shape), self.element, SharedAttr(self.memory))
        alloc = builder.insert(nv_tileas.AllocTensor(res=type, location=self.tile.location))
        self.buffer = alloc.res
        alloc.res.name_hint = "smem_a" if self.position == 0 else "smem_b"

    def copy(self, builder: Builder, indices: list[Value], stage: Value, when: Value | None) -> None:
        """Start the copy of one tile."""
        load = self.loaded
        atom = CopyAtomAttr.make(80, "cp_async", load.atom.bits, self.element)
        token = first_token(load)
        builder.insert(
            nv_tileas.AsyncTiledCopy(
                load.view, indices, self.buffer, stage, when, atom, token, location=load.location
            )
        )

    def finish_load(self) -> None:
        """Erase the load: its token is replaced by its token operand."""
        self.loaded.out_token.replace_all_uses_with(self.loaded.token)

    def stage_through_registers(self, each_iteration: bool) -> None:
        """Store the tile into a buffer of one stage, which has its bytes throughout the outermost loop, or in each
        iteration from the store to the last product."""
        after = self.load if self.load is not None else self.steps[0]
        builder = Builder.after(after) if self.load is not None else Builder.before(after)
        top: Operation = after
        while isinstance(top.parent_op, scf.For | scf.If | scf.While):
            top = top.parent_op
        self.allocate(builder if each_iteration else Builder.before(top), 1)
        self.stage = builder.insert(arith.Constant(i32(0))).results[0]
        bits = vector_access(nv_tileas.layout_of(self.type), self.memory, self.bits).bits
        atom = CopyAtomAttr.make(80, "sts", bits, self.element)
        builder.insert(nv_tileas.Store(self.tile, self.buffer, self.stage, None, atom))

    def read_directly(self, owner: DotOperand | None) -> None:
        """Read fragments from global memory at their uses, for tiles that do not fit in a buffer.

        If the memory order requires it, all are read at the load.  `owner` is another operand with the same load, if
        any.
        """
        load = self.loaded
        if owner is not None:
            self.direct = owner.direct
            return
        moves, op = not load.out_token.has_uses, load.next_op
        while moves and op is not None and op is not self.dot:
            moves, op = not writes_memory(op), op.next_op
        self.direct = DirectReads(None if moves else Builder.after(load), load.token)

    # -- fragments

    def fragment(self, builder: Builder, start: int, depth: int, target: Target) -> Value:
        """The fragment of the product from `start`, of `depth` elements along K, read from the buffer."""
        wanted, shape, offsets = part(self.dot, self.position, start, depth, self.warps)
        layout, source_shape, place = self.source.in_tile(wanted, shape, offsets)
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
        load, layout = self.loaded, nv_tileas.layout_of(type)
        bits = storage_bits(self.element) * access_vector(load, layout)
        indices = [
            part_index(index, offset, extent, self.facts, builder, load.location)
            for index, offset, extent in zip(load.indices, place, load.res.type.shape, strict=True)
        ]
        read = nv_tileas.TiledLoad(
            load.view,
            indices,
            reads.token,
            CopyAtomAttr.make(80, "ldg", bits, self.element),
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
        load = self.load
        for op in (*reversed(self.steps), *([load] if load is not None else [])):
            if op.parent is not None and not op.results[0].has_uses:
                if load is not None and op is load:
                    before = self.direct.token if self.direct is not None else load.token
                    load.out_token.replace_all_uses_with(before)
                op.erase()


def first_token(load: nv_tileas.TiledLoad) -> Value:
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
            source = match(dot, position, target)
            if source is not None:
                operand = DotOperand(source, unit_of(dot).warps, target)
                by_tile.setdefault(operand.tile, []).append(operand)
    by_block: dict[Block | None, list[DotOperand]] = {}
    for tile, operands in by_tile.items():
        # If one product reads a load from registers, all do.
        if operands[0].load is None or len(operands) == product_uses(tile, operands[0].dot.parent):
            for operand in operands:
                by_block.setdefault(operand.dot.parent, []).append(operand)
    return list(by_block.values())


def _repeated(
    builder: Builder, step: Operation, value: Value, layout: LinearLayout
) -> tuple[Value, LinearLayout]:
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
        axes = kept_axes(step.res.type.shape, step.source.type.shape)
        shape = tuple(1 if axis is None else shape[axis] for axis in axes)
        layout = reshape(layout, shape)
    copy = step.clone(IRMapping({step.operands[0]: value}))
    made = step.results[0].type_as(RankedTensorType)
    copy.results[0].type = nv_tileas.with_layout(RankedTensorType(shape, made.element), layout)
    return builder.insert(copy).results[0], layout


# -- slices of products


def part(
    dot: nv_tileas.Dot, position: int, start: int, depth: int, warps: int
) -> tuple[LinearLayout, tuple[int, ...], tuple[int, ...]]:
    """Layout, shape and offsets of the part of A or B from `start`, of `depth` elements along K."""
    shape = list(dot.operand(position).type_as(RankedTensorType).shape)
    axis = len(shape) - 1 if position == 0 else len(shape) - 2
    offsets = [0] * len(shape)
    shape[axis], offsets[axis] = depth, start
    layouts = operand_layouts(dot.c.type.shape, depth, dot.atom, grid_of(dot, warps))
    return layouts[position], tuple(shape), tuple(offsets)


def slice_dot(dot: nv_tileas.Dot, operands: dict[int, DotOperand], warps: int, target: Target) -> None:
    """Replace a product by one product per slice along K; the fragments are read from the buffers just before each.

    Operands in registers are sliced in registers.  So are scales: a slice has those of its blocks.
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
        scales = _scales(builder, dot, start, depth, warps)
        accumulator = builder.insert(
            nv_tileas.Dot(
                *fragments, accumulator, scales, dot.atom, dot.warps, dot.fast_acc, location=dot.location
            )
        ).res
    accumulator.name_hint = dot.res.name_hint
    dot.res.replace_all_uses_with(accumulator)
    dot.erase()
    for operand in operands.values():
        operand.erase_steps()


def _depth(dot: nv_tileas.Dot, warps: int) -> int:
    """The depth of a slice: that of one instruction, of one block of scales, or limited by registers."""
    k = dot.a.type.shape[-1]
    if dot.scales and not dot.atom.is_scaled:
        return k // dot.scales[0].type.shape[-1]
    if not dot.atom.is_fma:
        return min(k, dot.atom.mnk[2])
    a, b = (
        words(dot.operand(position).type_as(RankedTensorType), dot_layouts(dot, warps)[position])
        for position in (0, 1)
    )
    depth = k
    while depth > 1 and (a + b) * depth > MOST_FRAGMENT * k:
        depth //= 2
    return depth


def _sliced(
    builder: Builder, value: Value, layout: LinearLayout, shape: tuple[int, ...], offsets: tuple[int, ...]
) -> Value:
    type = value.type
    assert isinstance(type, RankedTensorType)
    result = nv_tileas.with_layout(RankedTensorType(shape, type.element), layout)
    if result is type:
        return value
    return builder.insert(nv_tileas.Slice(value, DenseArrayAttr(I64, offsets), res=result)).res


def _scales(builder: Builder, dot: nv_tileas.Dot, start: int, depth: int, warps: int) -> list[Value]:
    """The scales of the blocks along K from element `start`, of `depth` elements."""
    if not dot.scales:
        return []
    found = []
    rank = dot.c.type.rank
    size = dot.a.type.shape[-1] // dot.scales[0].type.shape[-1]
    first, count = start // size, depth // size
    layouts = scale_layouts(
        dot.c.type.shape, count, dot.atom, grid_of(dot, warps), nv_tileas.layout_of(dot.c.type)
    )
    for scale, axis, layout in zip(dot.scales, (rank - 1, rank - 2), layouts, strict=True):
        shape = [count if i == axis else extent for i, extent in enumerate(scale.type.shape)]
        offsets = [first if i == axis else 0 for i in range(rank)]
        found.append(_sliced(builder, scale, layout, tuple(shape), tuple(offsets)))
    return found
