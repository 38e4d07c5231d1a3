"""Stages of a pipeline: the buffer of each filler (fills.py), the code that fills a stage and reads it.

tiled_load %view[%i, %j]  ──▶  declare: make_tiled_tma_desc, alloc_tensor       before whoever fills and reads
                               fill:    acquire, write { tiled_tma_load; tiled_copy; store, fence }, commit
                               view:    the stage as the program sees the tile
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.cute_nvgpu import TmaLoadAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType, TmaDescType, peers_of
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DenseElementsAttr, IntegerAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import I32, I64, RankedTensorType
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.tileas.boxes import with_axes
from tessera_tools.passes.tileas.fills import BoxLoad, Filler, ThreadFill
from tessera_tools.passes.tileas.part_indices import part_index
from tessera_tools.passes.tileas.products import AsyncProduct
from tessera_tools.planning.shared_memory import ALIGN, narrowest
from tessera_tools.records import dataclass, field


class Brought(NamedTuple):
    """What a filler uses."""

    descriptor: Value | None
    """For TMA."""
    buffer: Value


@dataclass(eq=False)
class Pipeline:
    """What fills the stages of one pipeline together."""

    loads: list[Filler]
    product: AsyncProduct | None = None
    read: bool = False
    """Whether the consumer reads the tile, which then need not stay."""
    stages: int = 1
    converted: bool = False
    """Whether an agent reads the tile that computes a factor of it (converter.py)."""
    brought: dict[Filler, Brought] = field(default_factory=dict["Filler", Brought])
    token: Any = None

    @property
    def block(self) -> Block:
        """Where the loads stand."""
        block = self.loads[0].load.parent
        assert block is not None
        return block

    @property
    def bytes(self) -> int:
        return sum(load.bytes for load in self.loads)

    @property
    def shared(self) -> dict[BoxLoad, nv_tileas.Dot]:
        """The factors of other products that are in the stages, with these products (shared_stages.py)."""
        return {
            other: dot for load in self.loads if isinstance(load, BoxLoad) for other, dot in load.also.items()
        }

    @property
    def readers(self) -> list[nv_tileas.Dot]:
        """The products that read the stages, in the order of the program."""
        own = [] if self.product is None else [self.product.dot]
        return list(dict.fromkeys((*own, *self.shared.values())))

    def buffer(self, load: Filler) -> Value:
        """The buffer in which a factor is."""
        first = load.stage_of if isinstance(load, BoxLoad) else None
        return self.brought[first or load].buffer

    def arrivals(self, warps: int) -> int:
        """The arrivals that make a stage full, if the producer has so many warps: of one thread for TMA, of each thread
        for cp.async, of each warp for what threads store."""
        threads = [load for load in self.loads if isinstance(load, ThreadFill)]
        copied = any(load.is_copied for load in threads)
        stored = any(not load.is_copied for load in threads)
        return (len(threads) < len(self.loads)) + copied * LANES * warps + stored * warps

    @property
    def peers(self) -> tuple[int, ...]:
        """The CTAs whose stages are filled together with those of this one, by rank xor."""
        return peers_of(load.shared_by for load in self.loads if isinstance(load, BoxLoad))

    @property
    def is_copied(self) -> bool:
        """Whether cp.async fills a part of a stage: its writes are not those of the async proxy, through which wgmma
        reads."""
        return any(isinstance(load, ThreadFill) and load.is_copied for load in self.loads)

    @property
    def is_inside(self) -> bool:
        """Whether the product takes the loads as they stand in its own block."""
        return not self.read and self.product is not None and self.block is self.product.dot.parent

    @property
    def user(self) -> Operation:
        """The op that a pipeline is for."""
        return self.loads[0].load if self.product is None else self.product.dot


LANES = 32


def first(pipeline: Any, builder: Builder) -> Value:
    """The first stage of a pipeline, which has a `token`."""
    return builder.insert(nv_tileas.CreateIterator(pipeline.token, res=nv_tileas.PipelineIterType(I32))).res


def following(iterator: Value, builder: Builder) -> Value:
    """The stage after one."""
    return builder.insert(nv_tileas.IncIter(iterator)).res


def drain(pipeline: Value, iterator: Value, stages: int, builder: Builder) -> None:
    """Wait until all stages are empty, from the one on that would be filled next."""
    for number in range(stages):
        if number:
            iterator = following(iterator, builder)
        builder.insert(nv_tileas.ProducerTail(pipeline, iterator))


def declare(load: Filler, stages: int, builder: Builder) -> Brought:
    """The descriptor of the view of a load by TMA, and a buffer of so many stages of the tile."""
    if isinstance(load, BoxLoad):
        descriptor = _descriptor(load, builder)
    else:
        descriptor = None
    alloc = nv_tileas.AllocTensor(
        res=SmemType((stages, *load.tile), load.type.element, SharedAttr(load.memory)),
        location=load.load.location,
    )
    alloc.attributes[ALIGN] = i64(SWIZZLE_ALIGNMENT[load.swizzle])
    return Brought(descriptor, builder.insert(alloc).res)


def _descriptor(load: BoxLoad, builder: Builder) -> Value:
    source = load.load.view.defining_op
    assert isinstance(source, nv_tileaa.MakeMemRef)
    element = load.load.res.type.element
    location = load.load.location
    view = load.load.view
    if load.boxes.order != tuple(range(len(load.boxes.order))):
        view = builder.insert(with_axes(source, load.boxes.order)).results[0]
    desc = nv_tileas.MakeTiledTmaDesc(
        view,
        DenseArrayAttr(I64, load.boxes.box),
        TmaLoadAtomAttr(len(load.boxes.box), element, load.boxes.swizzle, load.boxes.atomicity),
        res=TmaDescType(load.boxes.box, element),
        location=location,
    )
    return builder.insert(desc).res


def fill(
    pipeline: Value,
    iterator: Value,
    loads: Mapping[Filler, Brought],
    value_of: Callable[[Value], Value],
    builder: Builder,
    warps: int = 1,
) -> None:
    """Fill a stage with tiles; `value_of` gives what an index or a tile is where the stage is filled, by so many warps.

    What threads load first does not wait until the stage is empty.
    """
    location = next(iter(loads)).load.location
    threads = {load: _Parts(load, warps, value_of) for load in loads if isinstance(load, ThreadFill)}
    for parts in threads.values():
        parts.compute(builder)

    def write(copies: Builder) -> None:
        for load, brought in loads.items():
            if isinstance(load, BoxLoad):
                assert brought.descriptor is not None
                begin = _begin(load, value_of, copies)
                indices = [begin[axis] for axis in load.boxes.order]
                copies.insert(
                    nv_tileas.TiledTmaLoad(
                        brought.descriptor,
                        indices,
                        brought.buffer,
                        iterator,
                        i64(load.shared_by) if load.shared_by else None,
                        location=load.load.location,
                    )
                )
        for load, parts in threads.items():
            _bring(load, loads[load].buffer, iterator, parts, copies)
        if not all(load.is_copied for load in threads):
            copies.insert(nv_tileas.FenceProxy(location=location))

    fill_with(pipeline, iterator, write, builder, location)


def _begin(load: BoxLoad, value_of: Callable[[Value], Value], builder: Builder) -> list[Value]:
    """Where the tile of a load begins; for half of a tile, that of this CTA of a pair."""
    indices = [value_of(index) for index in load.load.indices]
    if load.half is not None:
        location, size = load.load.location, load.type.shape[load.half]
        rank = builder.insert(nv_tileas.CtaRank(location=location)).res
        for op, operand in ((arith.AndI, 1), (arith.MulI, size)):
            number = builder.insert(arith.Constant(i32(operand), location=location)).results[0]
            rank = builder.insert(op(rank, number, location=location)).results[0]
        known = load.load.indices[load.half]
        indices[load.half] = part_index(indices[load.half], rank, 2 * size, Facts(), builder, location, known)
    return indices


def fill_with(
    pipeline: Value,
    iterator: Value,
    write: Callable[[Builder], None],
    builder: Builder,
    location: Location,
    part: IntegerAttr | None = None,
) -> None:
    """Acquire a stage, or a part of it, write it, and commit it."""
    one = nv_tileas.ProduceOne.create([pipeline, iterator], [], {}, [Region([Block()])], location=location)
    builder.insert(one)
    inside = Builder.at_end(one.regions[0].entry, location)
    acquired = nv_tileas.ProducerAcquire(pipeline, iterator, part=part, res=nv_tileas.ProducerTokenType())
    token = inside.insert(acquired).res
    written = nv_tileas.ProducerWrite.create(
        [token, iterator], [nv_tileas.ProducerTokenType()], {}, [Region([Block()])], location=location
    )
    inside.insert(written)
    copies = Builder.at_end(written.regions[0].entry, location)
    write(copies)
    copies.insert(nv_tileas.Yield([]))
    inside.insert(nv_tileas.ProducerCommit(written.results[0]))
    inside.insert(nv_tileas.Yield([]))


class _Parts:
    """The parts of a tile that the producer's threads compute, one ahead of the one that they store."""

    def __init__(self, load: ThreadFill, warps: int, value_of: Callable[[Value], Value]) -> None:
        self.load, self.value_of, self.facts = load, value_of, Facts()
        self.left = [] if load.is_copied else load.parts(warps)
        self.made: list[tuple[tuple[int, ...], Value]] = []

    def compute(self, builder: Builder) -> None:
        """The next part, if there is one."""
        if not self.left:
            return
        start, shape = self.left.pop(0)
        load = self.load
        if not load.slices:
            self.made.append((start, self.value_of(load.value)))
            return
        parts: dict[Value, Value] = {}
        for op in load.slices:
            parts[op.results[0]] = self.part(op, parts, start, shape, builder)
        self.made.append((start, parts[load.value]))

    def part(
        self,
        op: Operation,
        parts: dict[Value, Value],
        start: tuple[int, ...],
        shape: tuple[int, ...],
        builder: Builder,
    ) -> Value:
        """The part of what one op computes."""
        copy = of_part(op, shape, parts, builder, self.value_of)
        if isinstance(op, nv_tileas.TiledLoad):
            for number, (index, offset) in enumerate(zip(op.indices, start, strict=True)):
                extent = op.res.type.shape[number]
                at = part_index(self.value_of(index), offset, extent, self.facts, builder, op.location, index)
                copy.set_operand(1 + number, at)
        return builder.insert(copy).results[0]


def of_part(
    op: Operation,
    shape: tuple[int, ...],
    parts: Mapping[Value, Value],
    builder: Builder,
    value_of: Callable[[Value], Value],
) -> Operation:
    """A copy of an op that computes a part of its result, which is not inserted yet.

    parts: of its operands; a constant tile becomes a smaller one, and other operands are those of `value_of`.
    """
    mapping = IRMapping()
    for value in op.operands:
        constant = constant_value(value)
        if value in parts:
            mapping.values[value] = parts[value]
        elif isinstance(value.type, RankedTensorType) and isinstance(constant, DenseElementsAttr):
            type = RankedTensorType(shape, value.type.element)
            splat = arith.Constant(DenseElementsAttr(type, constant.data), location=op.location)
            mapping.values[value] = builder.insert(splat).results[0]
        else:
            mapping.values[value] = value_of(value)
    copy = op.clone(mapping)
    result = copy.results[0]
    result.type = RankedTensorType(shape, result.type_as(RankedTensorType).element)
    return copy


def _bring(load: ThreadFill, buffer: Value, iterator: Value, parts: _Parts, builder: Builder) -> None:
    """The part of the producer's threads in filling a stage."""
    location, op = load.load.location, load.load
    element = load.type.element
    type = SmemType((1, *load.tile), element, SharedAttr(load.memory))
    stage = builder.insert(nv_tileas.View(buffer, iterator, res=type, location=location)).res
    zero = builder.insert(arith.Constant(i32(0), location=location)).results[0]
    if load.is_copied:
        atom = CopyAtomAttr.make(80, "cp_async", op.atom.bits, element)
        indices = [parts.value_of(index) for index in op.indices]
        view = parts.value_of(op.view)
        builder.insert(
            nv_tileas.AsyncTiledCopy(view, indices, stage, zero, None, atom, None, location=location)
        )
        return
    while parts.made:
        parts.compute(builder)
        start, value = parts.made.pop(0)
        whole = len(parts.left) == 0 and not any(start) and not parts.made
        offsets = None if whole else DenseArrayAttr(I64, start)
        builder.insert(nv_tileas.Store(value, stage, zero, offsets, narrowest(element), location=location))


def view(load: Filler, buffer: Value, iterator: Value, builder: Builder) -> Value:
    """The iterator's stage of a load's buffer, as what uses the tile sees it."""
    seen = load.seen
    shape = tuple(size for _, size in seen.outs)
    type = SmemType((1, *shape), load.type.element, SharedAttr(seen))
    return builder.insert(nv_tileas.View(buffer, iterator, res=type, location=load.load.location)).res


def read(load: BoxLoad, stage: Value, builder: Builder) -> Value:
    """The tile of a load in registers, from a view of its stage."""
    type = load.load.res.type
    location = load.load.location
    zero = builder.insert(arith.Constant(i32(0), location=location)).results[0]
    made = nv_tileas.Load(
        stage,
        zero,
        DenseArrayAttr(I64, (0,) * type.rank),
        narrowest(type.element, "lds"),
        res=type,
        location=location,
    )
    return builder.insert(made).res
