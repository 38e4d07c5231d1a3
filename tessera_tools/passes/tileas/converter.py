"""The agent that computes factors of wgmma from tiles that TMA brings (conversions.py): ahead of the products, as the
producer.

    for k { b = load; x = extf b; dot a, x }  ──▶  for k { wait b; produce_one { store part (extf (part b)) …; fence };
                                                           release b }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32
from tessera_tools.ir.core import Block, Builder, IRMapping, Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.passes.tileas.agent_control import State, copied
from tessera_tools.passes.tileas.agent_registers import ConverterPlan
from tessera_tools.passes.tileas.box_stages import Pipeline, fill_with, first, following, of_part
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.producer_slice import Slice
from tessera_tools.planning.shared_memory import narrowest
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.materialize_schedule import Kernel


@dataclass(eq=False)
class Converter:
    """The agent, for the pipelines of a kernel that it fills."""

    kernel: Kernel
    plan: ConverterPlan
    fills: dict[ConvertedFill, Pipeline]

    def __post_init__(self) -> None:
        self.warps = self.plan.warps
        self.counts = {fill: fill.count(self.plan.warps, self.plan.words) for fill in self.fills}
        self.by_root = {fill.load: fill for fill in self.fills}
        self.raw = {
            load.load: self.kernel.by_load[load.load][0] for fill in self.fills for load in fill.reads
        }
        """The pipelines of the tiles that it reads."""
        self.slice = Slice([])
        for fill in self.fills:
            for op in fill.slices:
                self.slice.around(op, op)
                if isinstance(op, nv_tileas.TiledLoad):
                    continue
                for value in op.operands:
                    if not isinstance(value.type, RankedTensorType):
                        self.slice.need(value, op)
        if self.slice.handed:
            # Without TMA for its tile, the producer or the consumer computes the factor.
            op = next(iter(self.fills)).reads[0].load
            raise Missed(
                op,
                "is in a loop or branch that depends on what the consumer computes, which the agent that computes the "
                "factor does not know in this version",
            )

    def convert(self, source: Block, target: Block) -> None:
        """The agent's code."""
        builder = Builder.at_end(target, self.kernel.function.location)
        state: State = {p: first(p, builder) for p in (*self.raw.values(), *self.fills.values())}
        mapping = IRMapping()
        if self.slice.loads:
            none = builder.insert(nv_tileaa.CreateMemToken(res=nv_tileaa.MemTokenType())).results[0]
            mapping.values.update((op.token, none) for op in self.slice.loads)
        self.copy(source, builder, mapping, state)
        builder.insert(nv_tileas.Yield([]))

    def copy(self, source: Block, builder: Builder, mapping: IRMapping, state: State) -> None:
        """Copy the needed ops of a block, and fill the stages of the factors that are computed in it."""
        for op in source:
            if op in self.slice.ops:
                builder.insert(op.clone(mapping))
            if op in self.by_root:
                self.fill(self.by_root[op], builder, mapping, state)
            elif isinstance(op, scf.For | scf.If) and op in self.slice.control:
                copied(op, self.slice, builder, mapping, state, self.kernel.places, self.copy)

    def fill(self, fill: ConvertedFill, builder: Builder, mapping: IRMapping, state: State) -> None:
        """Fill one stage."""
        pipeline = self.fills[fill]
        iterator = state[pipeline]
        raw = [self.raw[load.load] for load in fill.reads]
        tokens = [self.kernel.wait(p, builder, state) for p in raw]

        def write(inside: Builder) -> None:
            buffer = pipeline.brought[fill].buffer
            element = fill.type.element
            type = SmemType((1, *fill.tile), element, SharedAttr(fill.memory))
            location = fill.load.location
            stage = inside.insert(nv_tileas.View(buffer, iterator, res=type, location=location)).res
            zero = inside.insert(arith.Constant(i32(0), location=location)).results[0]
            # One part ahead, if there are registers for it: its loads take as long as the work on another one.
            ahead = 1 if self.plan.has_warpgroup else 0
            count = self.counts[fill]
            loaded = [self.load(fill, number, zero, inside) for number in range(min(ahead, count))]
            for number in range(count):
                if number + ahead < count:
                    loaded.append(self.load(fill, number + ahead, zero, inside))
                value = self.compute(fill, loaded.pop(0), inside, mapping)
                start = self._start(fill, fill.value, number)
                offsets = DenseArrayAttr(I64, start) if count > 1 else None
                inside.insert(
                    nv_tileas.Store(value, stage, zero, offsets, narrowest(element), location=location)
                )
            inside.insert(nv_tileas.FenceProxy(location=location))

        fill_with(pipeline.token, iterator, write, builder, fill.load.location)
        state[pipeline] = following(iterator, builder)
        for token in tokens:
            builder.insert(nv_tileas.ConsumerRelease(token, location=fill.load.location))

    def erase(self) -> None:
        """Erase what the agent computes from the consumer."""
        for fill in self.fills:
            for op in (*reversed(fill.steps), *reversed(fill.slices)):
                if isinstance(op, nv_tileas.TiledLoad):
                    op.out_token.replace_all_uses_with(op.token)
                op.erase()

    def _start(self, fill: ConvertedFill, value: Value, number: int) -> tuple[int, ...]:
        """Where a part of a tile begins."""
        type = value.type_as(RankedTensorType)
        axis = fill.cut[value]
        return tuple(
            number * (size // self.counts[fill]) if i == axis else 0 for i, size in enumerate(type.shape)
        )

    def _shape(self, fill: ConvertedFill, value: Value) -> tuple[int, ...]:
        """The shape of a part of a tile."""
        type = value.type_as(RankedTensorType)
        axis = fill.cut[value]
        return tuple(size // self.counts[fill] if i == axis else size for i, size in enumerate(type.shape))

    def load(self, fill: ConvertedFill, number: int, zero: Value, builder: Builder) -> dict[Value, Value]:
        """The parts of tiles from which a part of a factor is computed."""
        made: dict[Value, Value] = {}
        for load in fill.reads:
            tile = load.load.res
            read = nv_tileas.Load(
                self.kernel.views[load],
                zero,
                DenseArrayAttr(I64, self._start(fill, tile, number)),
                narrowest(load.type.element, "lds"),
                res=RankedTensorType(self._shape(fill, tile), load.type.element),
                location=load.load.location,
            )
            made[tile] = builder.insert(read).res
        return made

    def compute(
        self, fill: ConvertedFill, made: dict[Value, Value], builder: Builder, mapping: IRMapping
    ) -> Value:
        """A part of a factor, from those of the tiles."""
        for op in fill.slices:
            result = op.results[0]
            if result not in made:
                copy = of_part(op, self._shape(fill, result), made, builder, mapping.value)
                made[result] = builder.insert(copy).results[0]
        return made[fill.value]
