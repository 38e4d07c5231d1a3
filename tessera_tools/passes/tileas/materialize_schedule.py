"""tileas-materialize-schedule: a kernel becomes a producer and a consumer, with pipelines between them.

    for k { a = load; b = load; acc = dot a, b, acc }; store acc
      ──▶  agent_switch { for k { produce_one: tma_load a, b } }
                        { for k { acc = consume_one: async.dot; wait }; store acc }

The consumer is the program without its loads.  The producer has the loads, and a copy of everything that determines
their addresses: the enclosing loops, their bounds, and the scalars of the indices.  Loads of one product in the same
block share a pipeline, which TMA fills, or the threads of the producer, or both.  A load before the loop of its product
has a separate pipeline, whose stage is released at the end of the load's block.  In a kernel without products, each
load has a pipeline of its own, and the consumer reads its tile.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Any, ClassVar

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT, swizzled
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.liveness import erase_dead
from tessera_tools.passes.tileas.agent_control import copied, rewritten
from tessera_tools.passes.tileas.box_stages import (
    Pipeline,
    declare,
    drain,
    fill,
    first,
    following,
    read,
    view,
)
from tessera_tools.passes.tileas.conversions import ConvertedFill
from tessera_tools.passes.tileas.converter import Converter
from tessera_tools.passes.tileas.cta_parts import set_grids
from tessera_tools.passes.tileas.explain_agents import (
    explain_banned,
    explain_fillers,
    explain_hint,
    explain_refusal,
    explain_refused_load,
    explain_registers,
    explain_staged,
    explain_stages,
    staged_texts,
)
from tessera_tools.passes.tileas.fills import (
    LOADS,
    BoxLoad,
    Filler,
    staged_layout,
)
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.pipeline_plan import PipelinePlan
from tessera_tools.passes.tileas.precision import MOST_TERMS
from tessera_tools.passes.tileas.producer_slice import Slice
from tessera_tools.passes.tileas.products import (
    AsyncProduct,
    Choice,
    check_exchanges,
    choose,
    is_by_threads,
)
from tessera_tools.passes.tileas.propagate_execution_unit import propagate
from tessera_tools.passes.tileas.scheduled_block import reorder
from tessera_tools.passes.tileas.shared_stages import restore_loads
from tessera_tools.passes.tileas.streams import choose_streams, has_loads_in_loops
from tessera_tools.planning.kernel import OCCUPANCY, kernels_with, occupancy_of
from tessera_tools.planning.shared_memory import ALIGN, narrowest
from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP, Feature, Target


@dataclass(frozen=True)
class MaterializeSchedule(Pass):
    """Convert kernels with products to agents with pipelines."""

    name: ClassVar = "tileas-materialize-schedule"
    summary: ClassVar = (
        "specialize warps: a TMA producer, and consumers that multiply by wgmma or read the tiles"
    )
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, and a kernel_spec on each kernel"
    ensures: ClassVar = (
        "kernels with products that wgmma can do, or with loads in loops that TMA makes for less, are an agent_switch; "
        "other kernels are unchanged"
    )
    statistics: ClassVar = {"agents": "kernels turned into agents"}

    agents: str = option(
        "auto",
        "auto: where it is cheaper; producer: wherever there can be one, and otherwise an error",
        choices=("auto", "producer"),
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        begun: set[Operation] = set()
        merged = False
        for function, target in kernels_with(op, Feature.WGMMA, Feature.TMA):
            reorder(function)
            multiplies = any(isinstance(inner, nv_tileas.Dot) for inner in function.walk())
            if not multiplies and not has_loads_in_loops(function):
                continue
            explain = explain_refusal if multiplies else explain_refused_load
            try:
                kernel, banned = _specialized(function, target, multiplies, begun, self.agents == "auto")
                staged = staged_texts(kernel.choice.products, context)
                kernel.run()
            except Missed as refusal:
                if self.agents == "producer":
                    raise refusal.error(
                        ", so that its kernel has no producer, for which agents=producer asks"
                    ) from None
                merged |= restore_loads(function)
                explain(context.failed if function in begun else context.missed, function, refusal)
                continue
            restore_loads(function)
            for refusal in kernel.choice.refused.values():
                explain(context.missed, function, refusal)
            if multiplies:
                others = [
                    load.why
                    for pipeline in kernel.pipelines
                    for load in pipeline.loads
                    if not isinstance(load, BoxLoad)
                ]
                explain_banned(
                    function,
                    [one for one in banned if one not in (*kernel.choice.refused.values(), *others)],
                    context,
                )
            context.count("agents")
            explain_fillers(function, kernel.pipelines, context)
            explain_staged(function, staged, context)
            explain_stages(kernel, context)
            explain_registers(function, kernel.resident, kernel.registers, context)
            explain_hint(function, kernel, context)
        return bool(begun) or merged


def _specialized(
    function: nv_tileaa.Func, target: Target, multiplies: bool, begun: set[Operation], by_price: bool
) -> tuple[Kernel, list[Missed]]:
    """The kernel with as many asynchronous products as there can be, or, if it does not multiply, loads by TMA.

    With it, why TMA does not load other tiles. Missed if there is no such product or load; the function is added to
    `begun` if something may have changed by then.
    """
    banned: dict[Operation, Missed] = {}
    check_exchanges(function)
    while True:
        try:
            choice = (
                choose(function, banned) if multiplies else choose_streams(function, target, banned, by_price)
            )
            begun.add(function)
            return Kernel(function, choice, target), list(banned.values())
        except Missed as refusal:
            if not isinstance(refusal.op, nv_tileas.TiledLoad) or refusal.op in banned:
                raise
            # A load that only the consumer can execute.
            banned[refusal.op] = refusal


class Kernel(PipelinePlan):
    """One kernel in conversion."""

    def __init__(self, function: nv_tileaa.Func, choice: Choice, target: Target) -> None:
        self.function, self.choice, self.target = function, choice, target
        self.deepened = False
        self.resident, self.registers = 1, choice.registers if choice.products else None
        """CTAs on a multiprocessor, and how they share its registers."""
        self.hinted, self.is_hinted, self.not_followed = occupancy_of(function), False, ""
        self.pipelines = self.group()
        self.share()
        spec = function.kernel_spec
        assert spec is not None
        self.warps = WARPS_OF_WARPGROUP * choice.groups if choice.products else spec.num_warps
        self.top = function.body.entry
        self.by_load = {
            load.load: (pipeline, load)
            for pipeline in self.pipelines
            for load in pipeline.loads
            # A tile that an agent only transposes has the same op as what TMA brings.
            if not self.is_converted(pipeline)
        }
        fillers = [load for pipeline in self.pipelines for load in pipeline.loads]
        converted = {p.loads[0]: p for p in self.pipelines if isinstance(p.loads[0], ConvertedFill)}
        self.slice = Slice(load for load in fillers if load not in converted)
        self.places: dict[Any, Operation] = {p: p.loads[0].load for p in self.pipelines}
        """Where each pipeline is used."""
        self.threads = [load for load in fillers if is_by_threads(load)]
        self.producers = WARPS_OF_WARPGROUP if self.threads else 1
        """Warps of the producer."""
        plan = choice.converter
        self.converter = Converter(self, plan, converted) if plan is not None else None
        self.views: dict[Filler, Value] = {}
        self.last_read = {p: p.readers[-1] for p in self.pipelines if p.is_inside}
        """The product that is the last one to read a stage of its block."""
        self.held: dict[Pipeline, Value] = {}
        """The stages of a block that products still read: the tokens for their releases."""
        self.staged: dict[tuple[AsyncProduct, int], Value] = {}
        """The buffers of operands that the consumer computes."""

    def share(self) -> None:
        """Let the CTAs of a cluster that need the same tile copy it together."""
        for pipeline in self.pipelines:
            for load in pipeline.loads:
                if isinstance(load, BoxLoad):
                    load.share()

    def readers(self, pipeline: Pipeline) -> int:
        """Arrivals that release a stage: of each warp that reads it."""
        return self.converter.warps if self.converter is not None and pipeline.converted else self.warps

    def fillers(self, pipeline: Pipeline) -> int:
        """Warps that fill a stage."""
        return self.converter.warps if self.converter and self.is_converted(pipeline) else self.producers

    def pairs(self, pipeline: Pipeline) -> bool:
        """Whether products of a pair of CTAs use the stages."""
        return False

    def is_converted(self, pipeline: Pipeline) -> bool:
        """Whether an agent of its own computes what fills the stages."""
        return isinstance(pipeline.loads[0], ConvertedFill)

    def drains(self, pipeline: Pipeline) -> bool:
        """Whether the producer waits at its end until all stages are empty, because other CTAs may still arrive at
        their barriers then."""
        return False

    def begin(self) -> tuple[list[Operation], Builder]:
        """Split the kernel and declare its pipelines; what is not the producer's, and a builder before the end."""
        self.function.attributes.pop(OCCUPANCY, None)
        if self.resident > 1:
            self.function.attributes[OCCUPANCY] = i32(self.resident)
        end = self.top.last_op
        assert end is not None
        own = self.split()
        before = Builder.before(end)
        for pipeline in self.pipelines:
            self.declare(pipeline, before)
        self.declare_meetings(before)
        return own, before

    def run(self) -> None:
        """Rewrite the kernel."""
        own, before = self.begin()
        producer, consumer, converter = Block(), Block(), Block()
        for op in own:
            op.detach()
            consumer.append(op)
        few, many = self.registers or (0, 0)
        agents = [(producer, self.producers, few)]
        if self.converter is not None:
            agents.append((converter, self.converter.warps, self.converter.plan.registers[2]))
        agents.append((consumer, self.warps, many))
        warps = [one[1] for one in agents]
        switch = nv_tileas.AgentSwitch.create(
            [],
            [],
            {
                "num_warps": DenseArrayAttr(I64, tuple(warps)),
                "warp_id": DenseArrayAttr(I64, (0, *accumulate(warps[:-1]))),
                **({"registers": DenseArrayAttr(I64, tuple(one[2] for one in agents))} if few else {}),
            },
            [Region([one[0]]) for one in agents],
            location=self.function.location,
        )
        before.insert(switch)
        self.produce(consumer, producer)
        if self.converter is not None:
            self.converter.convert(consumer, converter)
        self.consume(consumer)
        set_grids(switch, self.warps)
        propagate(self.function)

    def split(self) -> list[Operation]:
        """The ops of the function's block that the consumer runs; the others are scalars that both agents may use."""
        kept: set[Value] = set(self.top.arguments)
        own: list[Operation] = []
        for op in self.top:
            if isinstance(op, nv_tileaa.Return):
                continue
            shared = (
                not op.regions
                and is_pure(op)
                and not any(isinstance(r.type, RankedTensorType) for r in op.results)
                and all(v in kept for v in op.operands)
            )
            if shared:
                kept.update(op.results)
            else:
                own.append(op)
        return own

    def declare(self, pipeline: Pipeline, builder: Builder) -> None:
        """Descriptors, buffers and the pipeline, before the agents."""
        for load in pipeline.loads:
            pipeline.brought[load] = declare(load, pipeline.stages, builder)
        made = nv_tileas.CreatePipeline(
            i32(pipeline.stages),
            i32(pipeline.arrivals(self.fillers(pipeline))),
            i32(self.readers(pipeline) * (1 + len(pipeline.peers))),
            DenseArrayAttr(I64, pipeline.peers) if pipeline.peers else None,
            UNIT if self.pairs(pipeline) else None,
            res=nv_tileas.PipelineTokenType(),
            location=pipeline.user.location,
        )
        pipeline.token = builder.insert(made).res

    def declare_meetings(self, builder: Builder) -> None:
        """The mbarriers at which the consumers of a cluster meet: each of their warps arrives at that of each CTA."""
        spec = self.function.kernel_spec
        assert spec is not None
        for op in list(self.function.walk()):
            if not isinstance(op, nv_tileas.MEETINGS):
                continue
            layout = SharedAttr(swizzled((1,), I64.width, None, 0))
            made = nv_tileas.AllocTensor(res=SmemType((1, 1), I64, layout), location=op.location)
            made.attributes[ALIGN] = i64(8)
            buffer = builder.insert(made).res
            zero = builder.insert(arith.Constant(i32(0), location=op.location)).results[0]
            arrivals = i32(self.warps * prod(spec.cluster))
            builder.insert(nv_tileas.MBarrierInit(buffer, zero, arrivals, location=op.location))
            op.set_field("mbarrier", [buffer])

    # -- the producer

    def produce(self, source: Block, target: Block) -> None:
        """The producer's code: a copy of the needed ops, with loads to stages."""
        builder = Builder.at_end(target, self.function.location)
        state = {p: first(p, builder) for p in self.pipelines if not self.is_converted(p)}
        mapping = IRMapping()
        if self.slice.loads:
            none = builder.insert(nv_tileaa.CreateMemToken(res=nv_tileaa.MemTokenType())).results[0]
            mapping.values.update((op.token, none) for op in self.slice.loads)
        self.copy(source, builder, mapping, state)
        for pipeline in self.pipelines:
            if self.drains(pipeline):
                drain(pipeline.token, state[pipeline], pipeline.stages, builder)
        builder.insert(nv_tileas.Yield([]))

    def copy(self, source: Block, builder: Builder, mapping: IRMapping, state: dict[Pipeline, Value]) -> None:
        """Copy the needed ops of a block; `state` holds the current iterators."""
        left = {p: list(p.loads) for p in self.pipelines if p.block is source}
        for op in source:
            found = self.by_load.get(op)
            if op in self.slice.ops:
                builder.insert(op.clone(mapping))
            if found is not None:
                pipeline, load = found
                left[pipeline].remove(load)
                if not left[pipeline]:
                    self.fill(pipeline, builder, mapping, state)
            elif isinstance(op, scf.For | scf.If) and op in self.slice.control:
                copied(op, self.slice, builder, mapping, state, self.places, self.copy)
            else:
                self.slice.receive(op, builder, mapping)

    def fill(
        self, pipeline: Pipeline, builder: Builder, mapping: IRMapping, state: dict[Pipeline, Value]
    ) -> None:
        """One stage: acquire, write, commit."""
        iterator = state[pipeline]
        fill(pipeline.token, iterator, pipeline.brought, mapping.value, builder, self.producers)
        state[pipeline] = following(iterator, builder)

    # -- the consumer

    def consume(self, block: Block) -> None:
        """Rewrite the program to the consumer's code, in place."""
        start = Builder.at_start(block, self.function.location)
        state = {p: first(p, start) for p in self.pipelines if not p.converted}
        Builder.at_end(block, self.function.location).insert(nv_tileas.Yield([]))
        self.rewrite(block, state)
        if self.converter is not None:
            self.converter.erase()
        brought = [made for pipeline, made in self.by_load.values() if not pipeline.converted]
        for made in (*brought, *(load for pipeline in self.pipelines for load in pipeline.shared)):
            for step in reversed(made.steps):
                step.erase()
            if isinstance(load := made.load, LOADS):
                load.out_token.replace_all_uses_with(load.token)
                load.erase()
        for load in self.slice.loads:
            if load.parent is not None and not load.res.has_uses:
                load.out_token.replace_all_uses_with(load.token)
        if self.slice.loads or self.converter is not None:
            # The other agents alone need what they have read.
            erase_dead(self.function)
        self.schedules.overlap()

    def rewrite(self, block: Block, state: dict[Pipeline, Value]) -> None:
        """Replace the loads and products of a block and of the loops in it."""
        held: list[tuple[Pipeline, Value]] = []
        left = {p: list(p.loads) for p in self.pipelines if p.block is block}
        for op in list(block):
            found = self.by_load.get(op)
            if found is not None:
                pipeline, load = found
                left[pipeline].remove(load)
                if pipeline.converted:
                    continue
                if pipeline.read:
                    assert isinstance(load, BoxLoad)
                    self.read(pipeline, load, Builder.before(op), state)
                elif not left[pipeline] and not pipeline.is_inside:
                    held.append((pipeline, self.wait(pipeline, Builder.before(op), state)))
            elif isinstance(op, scf.For | scf.If):
                rewritten(op, state, self.places, self.rewrite)
            elif isinstance(op, nv_tileas.Dot):
                product = next((p for p in self.choice.products if p.dot is op), None)
                if product is not None:
                    self.multiply(product, state)
        end = block.last_op
        assert end is not None
        for _, token in held:
            Builder.before(end).insert(nv_tileas.ConsumerRelease(token))

    def wait(self, pipeline: Pipeline, builder: Builder, state: dict[Pipeline, Value]) -> Value:
        """Wait for the stage of loads before the loop of their product; returns the token for its release."""
        iterator = state[pipeline]
        waited = nv_tileas.ConsumerWait(pipeline.token, iterator, i32(0), res=nv_tileas.ConsumerTokenType())
        token = builder.insert(waited).res
        self.fence(pipeline, builder)
        self.see(pipeline, iterator, builder)
        state[pipeline] = following(iterator, builder)
        return token

    def see(self, pipeline: Pipeline, iterator: Value, builder: Builder) -> None:
        """Let the products see their factors in a stage."""
        for load in (*pipeline.loads, *pipeline.shared):
            self.views[load] = self.view(pipeline, load, iterator, builder)

    def fence(self, pipeline: Pipeline, builder: Builder) -> nv_tileas.FenceProxy | None:
        """What cp.async has written becomes visible to wgmma; None if it has written nothing."""
        if not pipeline.is_copied:
            return None
        return builder.insert(nv_tileas.FenceProxy(location=pipeline.user.location))

    def read(self, pipeline: Pipeline, load: BoxLoad, builder: Builder, state: dict[Pipeline, Value]) -> None:
        """Read the tile of a load from its stage, and release the stage."""
        token = self.wait(pipeline, builder, state)
        tile = read(load, self.views[load], builder)
        load.load.res.replace_all_uses_with(tile)
        release = builder.insert(nv_tileas.ConsumerRelease(token, location=load.load.location))
        made = [op for op in (token.defining_op, tile.defining_op, release) if op is not None]
        self.schedules.place(load.load, made)

    def view(self, pipeline: Pipeline, load: Filler, iterator: Value, builder: Builder) -> Value:
        """A view of the stage, as operand of the product."""
        return view(load, pipeline.buffer(load), iterator, builder)

    def multiply(self, product: AsyncProduct, state: dict[Pipeline, Value]) -> None:
        """Replace a product by an asynchronous one."""
        dot = product.dot
        inside = [p for p in self.pipelines if p.product is product and p.is_inside]
        ended = [p for p, last in self.last_read.items() if last is dot]
        own = inside[0] if len(inside) == 1 and inside == ended else None
        builder = Builder.before(dot)
        self.stage(product, builder)
        if self.schedules.has(dot):
            result = self.start(product, inside, ended, builder, state)
        elif own is None:
            self.held.update((p, self.wait(p, builder, state)) for p in inside)
            result = self.dot(product, builder)
            for pipeline in ended:
                builder.insert(nv_tileas.ConsumerRelease(self.held.pop(pipeline), location=dot.location))
        else:
            iterator = state[own]
            location = dot.location
            one = nv_tileas.ConsumeOne.create(
                [own.token, iterator],
                [dot.res.type],
                {"consumer_idx": i32(0)},
                [Region([Block()])],
                location=location,
            )
            builder.insert(one)
            inside = Builder.at_end(one.regions[0].entry, location)
            waited = nv_tileas.ConsumerWait(own.token, iterator, i32(0), res=nv_tileas.ConsumerTokenType())
            token = inside.insert(waited).res
            read = nv_tileas.ConsumerRead.create(
                [token, iterator],
                [nv_tileas.ConsumerTokenType(), dot.res.type],
                {},
                [Region([Block()])],
                location=location,
            )
            inside.insert(read)
            within = Builder.at_end(read.regions[0].entry, location)
            self.fence(own, within)
            self.see(own, iterator, within)
            within.insert(nv_tileas.Yield([self.dot(product, within)]))
            inside.insert(nv_tileas.ConsumerRelease(read.results[0]))
            inside.insert(nv_tileas.Yield([read.results[1]]))
            result = one.results[0]
            state[own] = following(iterator, builder)
        dot.res.replace_all_uses_with(result)
        signs = product.signs
        dot.erase()
        for op in signs:
            if not any(r.has_uses for r in op.results):
                op.erase()

    def stage(self, product: AsyncProduct, builder: Builder) -> None:
        """Write the computed operands that do not stay in registers to shared memory."""
        for position in product.staged:
            location = product.dot.location
            value = product.factor(position)
            type = value.type_as(RankedTensorType)
            element = type.element
            layout, swizzle = staged_layout(product.dot, position)
            alloc = nv_tileas.AllocTensor(
                res=SmemType((1, *type.shape), element, SharedAttr(layout)), location=location
            )
            alloc.attributes[ALIGN] = i64(SWIZZLE_ALIGNMENT[swizzle])
            buffer = Builder.at_start(self.top, location).insert(alloc).res
            zero = builder.insert(arith.Constant(i32(0), location=location)).results[0]
            builder.insert(nv_tileas.Store(value, buffer, zero, None, narrowest(element), location=location))
            builder.insert(nv_tileas.FenceProxy(location=location))
            self.staged[product, position] = buffer

    def start(
        self,
        product: AsyncProduct,
        own: list[Pipeline],
        ended: list[Pipeline],
        builder: Builder,
        state: dict[Pipeline, Value],
    ) -> Value:
        """The product of a loop with a schedule, with separate start and end, and the pipelines that it is the first
        and the last one to read; see overlap.py."""
        location = product.dot.location
        stages: list[tuple[nv_tileas.ConsumerWait, nv_tileas.FenceProxy | None]] = []
        for pipeline in own:
            iterator = state[pipeline]
            waited = nv_tileas.ConsumerWait(
                pipeline.token, iterator, i32(0), res=nv_tileas.ConsumerTokenType(), location=location
            )
            stages.append((builder.insert(waited), self.fence(pipeline, builder)))
            self.held[pipeline] = waited.res
            self.see(pipeline, iterator, builder)
            state[pipeline] = following(iterator, builder)
        tokens = [self.held.pop(pipeline) for pipeline in ended]
        return self.schedules.split(product.dot, self.started(product, builder), stages, tokens, builder)

    def dot(self, product: AsyncProduct, builder: Builder) -> Value:
        """The product, and the wait for it, unless it waits itself."""
        started = self.started(product, builder)
        if product.sliced:
            return started.res
        made = nv_tileas.AsyncDotWait(started.res, i32(0), res=started.res.type, location=started.location)
        return builder.insert(made).results[0]

    def started(self, product: AsyncProduct, builder: Builder) -> nv_tileas.AsyncDot:
        """The started product."""
        old = product.dot
        a, b = (
            self.views[load]
            if load is not None
            else self.staged.get((product, position)) or product.factor(position)
            for position, load in enumerate((product.a, product.b))
        )
        c = old.c
        if isinstance(made := c.defining_op, arith.Constant) and not c.has_one_use:
            # Another product of the same constant may want it in another layout.
            c = builder.insert(made.clone()).results[0]
        started = nv_tileas.AsyncDot(
            a,
            b,
            c,
            product.atom(),
            DenseArrayAttr(I64, product.grid),
            negate_a=UNIT if product.negates(0) else None,
            negate_b=UNIT if product.negates(1) else None,
            promoted=i64(MOST_TERMS) if product.sliced else None,
            location=old.location,
        )
        return builder.insert(started)
