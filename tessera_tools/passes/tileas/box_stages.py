"""Stages of a pipeline that TMA fills: the descriptor and buffer of a load, the code that fills a stage and reads it.

tiled_load %view[%i, %j]  ──▶  declare: make_tiled_tma_desc, alloc_tensor       before whoever fills and reads
                               fill:    acquire, write { tiled_tma_load }, commit
                               view:    the stage as the program sees the tile
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tessera_tools.dialects import arith, nv_tileas
from tessera_tools.dialects.cute_nvgpu import TmaLoadAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType, TmaDescType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import I32, I64
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.tileas.boxes import with_axes
from tessera_tools.passes.tileas.products import AsyncProduct, BoxLoad
from tessera_tools.planning.shared_memory import ALIGN, narrowest


class Brought(NamedTuple):
    """What the copies of a load use."""

    descriptor: Value
    buffer: Value


@dataclass(eq=False)
class Pipeline:
    """Loads that fill the stages of one pipeline together."""

    loads: list[BoxLoad]
    product: AsyncProduct | None = None
    read: bool = False
    """Whether the consumer reads the tile, which then need not stay."""
    stages: int = 1
    brought: dict[BoxLoad, Brought] = field(default_factory=dict[BoxLoad, Brought])
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
    def is_inside(self) -> bool:
        """Whether the product takes the loads as they stand in its own block."""
        return not self.read and self.product is not None and self.block is self.product.dot.parent

    @property
    def user(self) -> Operation:
        """The op that a pipeline is for."""
        return self.loads[0].load if self.product is None else self.product.dot


def first(pipeline: Pipeline, builder: Builder) -> Value:
    """The first stage of a pipeline."""
    return builder.insert(nv_tileas.CreateIterator(pipeline.token, res=nv_tileas.PipelineIterType(I32))).res


def following(iterator: Value, builder: Builder) -> Value:
    """The stage after one."""
    return builder.insert(nv_tileas.IncIter(iterator)).res


def declare(load: BoxLoad, stages: int, builder: Builder) -> Brought:
    """The descriptor of a load's view, and a buffer of so many stages of its tile."""
    source: Any = load.load.view.defining_op
    element = load.load.res.type.element
    location = load.load.location
    view = load.load.view
    if load.boxes.order != tuple(range(len(load.boxes.order))):
        view = builder.insert(with_axes(source, load.boxes.order)).results[0]
    desc = nv_tileas.MakeTiledTmaDesc(
        view,
        DenseArrayAttr(I64, load.boxes.box),
        TmaLoadAtomAttr(len(load.boxes.box), element, load.boxes.swizzle),
        res=TmaDescType(load.boxes.box, element),
        location=location,
    )
    descriptor = builder.insert(desc).res
    alloc = nv_tileas.AllocTensor(
        res=SmemType((stages, *load.boxes.tile), element, SharedAttr(load.boxes.layout)), location=location
    )
    alloc.attributes[ALIGN] = i64(SWIZZLE_ALIGNMENT[load.boxes.swizzle])
    return Brought(descriptor, builder.insert(alloc).res)


def fill(
    pipeline: Value,
    iterator: Value,
    loads: Mapping[BoxLoad, Brought],
    value_of: Callable[[Value], Value],
    builder: Builder,
) -> None:
    """Fill a stage with the tiles of loads; `value_of` gives what an index is where the stage is filled."""
    location = next(iter(loads)).load.location
    one = nv_tileas.ProduceOne.create([pipeline, iterator], [], {}, [Region([Block()])], location=location)
    builder.insert(one)
    inside = Builder.at_end(one.regions[0].entry, location)
    acquired = nv_tileas.ProducerAcquire(pipeline, iterator, res=nv_tileas.ProducerTokenType())
    token = inside.insert(acquired).res
    write = nv_tileas.ProducerWrite.create(
        [token, iterator], [nv_tileas.ProducerTokenType()], {}, [Region([Block()])], location=location
    )
    inside.insert(write)
    copies = Builder.at_end(write.regions[0].entry, location)
    for load, brought in loads.items():
        indices = [value_of(load.load.indices[axis]) for axis in load.boxes.order]
        copies.insert(
            nv_tileas.TiledTmaLoad(
                brought.descriptor, indices, brought.buffer, iterator, location=load.load.location
            )
        )
    copies.insert(nv_tileas.Yield([]))
    inside.insert(nv_tileas.ProducerCommit(write.results[0]))
    inside.insert(nv_tileas.Yield([]))


def view(load: BoxLoad, buffer: Value, iterator: Value, builder: Builder) -> Value:
    """The iterator's stage of a load's buffer, as what uses the tile sees it."""
    seen = load.seen
    shape = tuple(size for _, size in seen.outs)
    type = SmemType((1, *shape), load.load.res.type.element, SharedAttr(seen))
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
