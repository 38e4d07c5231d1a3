"""tileas-materialize-tensor-memory: a kernel becomes a producer, a multiplier and a consumer of sums in tensor memory.

    for k { a = load; b = load; acc = dot a, b, acc }; store acc
      ──▶  agent_switch { for k { produce_one: tma_load a, b } }                         one warp
                        { acquire; for k { wait; async.umma; release }; commit }         one warp, one thread issues
                        { wait; acc = tmem_load; release; store acc }                    warpgroups

The consumer is the program without its loads and products.  The producer is that of tileas-materialize-schedule.  The
multiplier has the products, and a copy of the loops and branches around them, with what determines their bounds.  Each
accumulation (umma_products.py) is a stage of a pipeline: it is full when the products are complete that add up in it,
and empty when the consumer has loaded the sums.  A factor that the consumer computes is a stage of a pipeline, too:
it is full when the consumer has stored it, and empty when the product is complete.

    for k { s = dot q, k; p = exp(s); o = dot p, v, o * f }
      ──▶  { for k { umma s } }  { for k { wait p; umma o } }  { for k { wait s; p; hand p over; o = (o + sums) * f } }

Products whose factors are computed from the sums of others in the same iteration have a multiplier of their own, so
that those run ahead.  The consumer takes the sums of such a product where the next iteration uses them, behind what it
hands over there.
"""

from __future__ import annotations

from itertools import accumulate
from typing import ClassVar, cast

from tessera_tools.analysis.implied_waits import implied_waits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas, scf
from tessera_tools.dialects.nv_tileas import TmemType
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr, DenseElementsAttr, i32
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import I64, FloatType, RankedTensorType
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.passes.liveness import erase_dead
from tessera_tools.passes.tileas.agent_control import State, rewritten
from tessera_tools.passes.tileas.box_stages import (
    Brought,
    Pipeline,
    declare,
    drain,
    fill,
    fill_with,
    first,
    following,
)
from tessera_tools.passes.tileas.cta_parts import set_grids
from tessera_tools.passes.tileas.explain_agents import (
    explain_fillers,
    explain_hint,
    explain_pairs,
    explain_refused_umma,
    explain_staged,
    explain_stages,
    explain_sums,
    staged_texts,
)
from tessera_tools.passes.tileas.fills import LOADS, BoxLoad, Filler
from tessera_tools.passes.tileas.materialize_schedule import Kernel
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.packed_factors import unpack_factors
from tessera_tools.passes.tileas.products import FEWEST_STAGES
from tessera_tools.passes.tileas.propagate_execution_unit import propagate
from tessera_tools.passes.tileas.shared_stages import restore_loads
from tessera_tools.passes.tileas.umma_columns import scales_type
from tessera_tools.passes.tileas.umma_corrections import Corrector, hoist
from tessera_tools.passes.tileas.umma_fills import MULTIPLIER_REGISTERS
from tessera_tools.passes.tileas.umma_handovers import before_which, handed_pipelines, last_in
from tessera_tools.passes.tileas.umma_multipliers import Multiplier, Sums, by_op
from tessera_tools.passes.tileas.umma_pairs import CTAS
from tessera_tools.passes.tileas.umma_products import (
    Accumulation,
    Handed,
    UmmaChoice,
    UmmaProduct,
    choose_umma,
)
from tessera_tools.passes.tileas.umma_schedule import assigned_agents, most_stages
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target


@dataclass(frozen=True)
class MaterializeTensorMemory(Pass):
    """Convert kernels with products to agents with sums in tensor memory."""

    name: ClassVar = "tileas-materialize-tensor-memory"
    summary: ClassVar = (
        "specialize warps: a TMA producer, a thread that multiplies by tcgen05, and consumers of sums"
    )
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, and a kernel_spec on each kernel"
    ensures: ClassVar = (
        "kernels with products that tcgen05.mma can do are an agent_switch; other kernels are unchanged"
    )
    statistics: ClassVar = {"agents": "kernels turned into agents", "products": "products by tcgen05.mma"}

    agents: str = option(
        "auto",
        "what changes sums between products: auto, what the schedule says; multipliers: the consumer, which carries "
        "them in registers; correction: an agent of its own; an error where there can be none",
        choices=("auto", "multipliers", "correction"),
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function, target in kernels_with(op, Feature.TCGEN05, Feature.TMA):
            if not any(isinstance(inner, nv_tileas.Dot) for inner in function.walk()):
                continue
            tell = context.missed
            try:
                agents = assigned_agents(function) if self.agents == "auto" else self.agents
                choice = choose_umma(function, target, agents)
                if most := most_stages(function):
                    choice.stages = max(FEWEST_STAGES, min(choice.stages, most))
                tell = context.failed
                kernel = TensorKernel(function, choice, target)
                staged = staged_texts(choice.products, context)
                kernel.run()
            except Missed as refusal:
                if self.agents != "auto":
                    raise refusal.error(
                        f", so that its kernel has no such agents as agents={self.agents} asks for"
                    ) from None
                unpack_factors(function)
                changed |= restore_loads(function)
                explain_refused_umma(tell, function, refusal)
                continue
            unpack_factors(function)
            restore_loads(function)
            for refusal in kernel.choice.refused.values():
                explain_refused_umma(context.missed, function, refusal)
            context.count("agents")
            context.count("products", len(kernel.choice.products))
            explain_fillers(function, kernel.pipelines, context)
            explain_staged(function, staged, context)
            explain_stages(kernel, context)
            explain_sums(function, context)
            explain_hint(function, kernel, context)
            explain_pairs(function, kernel.not_in_pairs, context)
            changed = True
        return changed


class TensorKernel(Kernel):
    """One kernel in conversion."""

    def __init__(self, function: nv_tileaa.Func, choice: UmmaChoice, target: Target) -> None:
        self.in_pairs, self.not_in_pairs = choice.in_pairs, choice.not_in_pairs
        super().__init__(function, choice, target)
        self.channels = len(self.slice.handed)
        """Channels of numbers that the consumer sends."""
        self.corrector_registers = choice.corrector_registers
        self.parts = choice.parts
        """Parts of the rows with pipelines of their own."""
        self.ctas = CTAS if choice.in_pairs else 1
        """CTAs that do the products together."""
        self.sums = [Sums(one) for one in choice.accumulations]
        self.ends = by_op((one.of.end, one) for one in self.sums)
        for one in self.sums:
            # The loop that adds up carries no iterator of its own sums.
            self.places[one] = one.of.end if one.of.loop is None else _around(one.of.loop)
        self.handed = [
            pipeline
            for product in choice.products
            if isinstance(product, UmmaProduct)
            for pipeline in handed_pipelines(product)
        ]
        """The pipelines of factors that the consumer computes."""
        self.handed_before: dict[Operation, list[Pipeline]] = {}
        for pipeline in self.handed:
            before = before_which(pipeline)
            self.places[pipeline] = _around(before) if before.regions else before
            self.handed_before.setdefault(before, []).append(pipeline)
        self.copies: dict[Filler, Value] = {}
        """The buffers in tensor memory of what the multiplier copies there."""
        self.deferred = {first: one for one in self.sums if (first := one.of.used_first) is not None}
        """Sums that are taken in the next iteration, by the op that uses them first."""
        self.correctors = [Corrector(self, one) for one in self.sums if one.of.correction is not None]
        self.corrected = {one.sums: one for one in self.correctors}
        self.corrected_in = {one.correction.loop.body.entry: one for one in self.correctors}
        agents = sorted({one.of.agent for one in self.sums})
        self.multipliers = [Multiplier(self, [one for one in self.sums if one.of.agent == n]) for n in agents]

    def readers(self, pipeline: Pipeline) -> int:
        """The agents that multiply it, or each warp that reads a tile."""
        return self.warps if pipeline.read else sum(pipeline in one.brought for one in self.multipliers)

    def view(self, pipeline: Pipeline, load: Filler, iterator: Value, builder: Builder) -> Value:
        """The stage as operand of the product; in tensor memory there is one."""
        if isinstance(load, Handed) and load.in_tensor:
            return pipeline.brought[load].buffer
        stage = super().view(pipeline, load, iterator, builder)
        buffer = self.copies.get(load)
        if buffer is None:
            return stage
        type = buffer.type_as(TmemType)
        copy = nv_tileas.TmemCopy(
            stage,
            buffer,
            iterator,
            UNIT if self.in_pairs else None,
            res=TmemType((1, *type.tile), type.element, type.layout),
            location=pipeline.user.location,
        )
        return builder.insert(copy).res

    def pairs(self, pipeline: Pipeline) -> bool:
        """What products read; a tile that the consumer reads is this CTA's own."""
        return self.in_pairs and not pipeline.read

    def share(self) -> None:
        """Let CTAs that need the same factor copy it together.  The CTAs of a pair have other parts of each; another
        pair may need the same ones.  What the consumer reads, each CTA loads."""
        for pipeline in self.pipelines:
            for load in pipeline.loads:
                if isinstance(load, BoxLoad) and not pipeline.read:
                    load.share(among=~(CTAS - 1) if self.in_pairs else ~0)

    def drains(self, pipeline: Pipeline) -> bool:
        """Other CTAs' commits arrive when products are complete, which no thread has waited for."""
        return not pipeline.read and (self.in_pairs or bool(pipeline.peers))

    def run(self) -> None:
        """Rewrite the kernel."""
        handed = (
            factor for pipeline in self.handed for factor in pipeline.loads if isinstance(factor, Handed)
        )
        for value in (
            *(factor.value for factor in handed),
            *(v for one in self.correctors for v in one.handed),
        ):
            hoist(value)
        own, before = self.begin()
        location = self.function.location
        in_tensor: list[Handed] = []
        for pipeline in self.handed:
            for factor in pipeline.loads:
                if isinstance(factor, Handed) and factor.in_tensor:
                    in_tensor.append(factor)
                else:
                    pipeline.brought[factor] = declare(factor, pipeline.stages, before)
            arrivals = pipeline.arrivals(self.warps) // self.parts * self.ctas
            pipeline.token = self.create(
                pipeline.stages,
                arrivals,
                1,
                pipeline.user,
                before,
                parts=self.parts,
            )
        for one in self.sums:
            arrivals = Corrector.warps if one in self.corrected else 1
            parts = 1 if one in self.corrected else self.parts
            one.token = self.create(
                one.of.stages,
                arrivals,
                self.warps // parts * self.ctas,
                one.of.end,
                before,
                parts=parts,
            )
        for corrector in self.correctors:
            corrector.declare(before)
        copied = self.copied()
        types = [one.of.type for one in self.sums] + [factor.tensor_type for factor in in_tensor]
        types += copied.values()
        attributes: dict[str, Attribute] = {"pair": UNIT} if self.in_pairs else {}
        if any(factor.shares is not None for factor in in_tensor):
            numbers = {one.of: number for number, one in enumerate(self.sums)}
            shares = [numbers.get(factor.shares, -1) for factor in in_tensor]
            rest = [-1] * (len(types) - len(self.sums) - len(in_tensor))
            attributes["shares"] = DenseArrayAttr(I64, (*(-1 for _ in self.sums), *shares, *rest))
        alloc = nv_tileas.AllocTmem.create([], types, attributes, [], location=location)
        before.insert(alloc)
        for one, buffer in zip(self.sums, alloc.results[: len(self.sums)], strict=True):
            one.buffer = buffer
        behind = alloc.results[len(self.sums) :]
        stored: dict[Filler, Value] = dict(zip(in_tensor, behind[: len(in_tensor)], strict=True))
        for pipeline in self.handed:
            pipeline.brought.update((f, Brought(None, stored[f])) for f in pipeline.loads if f in stored)
        self.copies = dict(zip(copied, alloc.results[len(types) - len(copied) :], strict=True))
        producer, consumer = Block(), Block()
        multipliers, corrections = (
            [Block() for _ in agents] for agents in (self.multipliers, self.correctors)
        )
        for op in own:
            op.detach()
            consumer.append(op)
        few, many = (self.registers if self.is_hinted else self.choice.registers) or (0, 0)
        others = [(self.producers, few)]
        others += [(1, MULTIPLIER_REGISTERS if self.threads else few) for _ in multipliers]
        others += [(one.warps, self.corrector_registers) for one in self.correctors]
        switch = nv_tileas.AgentSwitch.create(
            [],
            [],
            {
                "num_warps": DenseArrayAttr(I64, (*(warps for warps, _ in others), self.warps)),
                "warp_id": DenseArrayAttr(I64, tuple(accumulate((warps for warps, _ in others), initial=0))),
                **({"registers": DenseArrayAttr(I64, (*(most for _, most in others), many))} if few else {}),
            },
            [Region([block]) for block in (producer, *multipliers, *corrections, consumer)],
            location=location,
        )
        before.insert(switch)
        before.insert(nv_tileas.DeallocTmem.create(list(alloc.results), [], {}, [], location=location))
        self.produce(consumer, producer)
        for multiplier, block in zip(self.multipliers, multipliers, strict=True):
            multiplier.multiply(consumer, block)
        for corrector, block in zip(self.correctors, corrections, strict=True):
            corrector.correct(consumer, block)
        self.consume(consumer)
        set_grids(switch, self.warps)
        for wait in implied_waits(self.function):
            wait.implied = UNIT
        propagate(self.function)

    def copied(self) -> dict[Filler, TmemType]:
        """The factors of blocks that the multiplier copies to tensor memory, where each has as many stages as in shared
        memory: the stage that a copy replaces was read by products that have released it there."""
        handed = [f for pipeline in self.handed for f in pipeline.loads if isinstance(f, Handed)]
        found: dict[Filler, TmemType] = {f: f.tensor_type for f in handed if f.is_copied_on}
        for product in self.choice.products:
            if isinstance(product, UmmaProduct):
                for position, load in product.scales.items():
                    stages = self.by_load[load.load][0].stages
                    found[load] = scales_type(product.dot, position, stages)
        return found

    def create(
        self,
        stages: int,
        producers: int,
        consumers: int,
        user: Operation,
        builder: Builder,
        *,
        parts: int = 1,
    ) -> Value:
        """A pipeline with so many arrivals."""
        made = nv_tileas.CreatePipeline(
            i32(stages),
            i32(producers),
            i32(consumers),
            None,
            UNIT if self.in_pairs else None,
            parts=i32(parts) if parts > 1 else None,
            res=nv_tileas.PipelineTokenType(),
            location=user.location,
        )
        return builder.insert(made).res

    # -- the consumer

    def consume(self, block: Block) -> None:
        """Rewrite the program to the consumer's code, in place."""
        start = Builder.at_start(block, self.function.location)
        read = [p for p in self.pipelines if p.read]
        columns = [pipeline for corrector in self.correctors for pipeline in corrector.handed.values()]
        state: State = {key: first(key, start) for key in (*read, *self.handed, *self.sums, *columns)}
        end = Builder.at_end(block, self.function.location)
        done = end.insert(nv_tileas.Yield([]))
        self.rewrite(block, state)
        if self.in_pairs:
            for pipeline in self.handed:
                drain(pipeline.token, state[pipeline], pipeline.stages, Builder.before(done))
        for one in self.sums:
            for product in reversed(one.of.products):
                signs = product.signs
                product.dot.erase()
                for op in signs:
                    if not any(r.has_uses for r in op.results):
                        op.erase()
        brought = [made for _, made in self.by_load.values()]
        for made in (*brought, *(load for pipeline in self.pipelines for load in pipeline.shared)):
            for step in reversed(made.steps):
                if step.parent is not None:
                    step.erase()
            if isinstance(load := made.load, LOADS):
                load.out_token.replace_all_uses_with(load.token)
                load.erase()
        for load in self.slice.loads:
            if load.parent is not None and not load.res.has_uses:
                load.out_token.replace_all_uses_with(load.token)
        erase_dead(self.function)

    def rewrite(self, block: Block, state: State) -> None:
        """Replace the sums of a block and of the loops in it; read and hand over what products multiply."""
        if block in self.corrected_in:
            self.corrected_in[block].hand_over(block, state)
        for op in list(block):
            for pipeline in self.handed_before.get(op, ()):
                place = Builder.before(op)
                if isinstance(op, nv_tileas.Dot) and (last := last_in(block, pipeline)) is not None:
                    # As soon as it is computed.
                    place = Builder.after(last)
                self.hand_over(pipeline, place, state)
            if (one := self.deferred.get(op)) is not None:
                self.take_deferred(one, op, state)
            ending = self.ends.get(op, ())
            found = self.by_load.get(op)
            if found is not None and found[0].read:
                pipeline, load = found
                assert isinstance(load, BoxLoad)
                self.read(pipeline, load, Builder.before(op), state)
            elif isinstance(op, scf.For | scf.If):
                left = [d for d in self.deferred.values() if d.of.first.parent_op is op]
                made = rewritten(op, state, self.places, self.rewrite)
                for one in ending:
                    one.of.loop = cast(scf.For, made)
                    self.drop_sums(one.of, one.of.loop)
                    self.take_sums(one, made.results[one.of.number], made, state)
                for other in left:
                    self.take_last(other, cast(scf.For, made), state)
            else:
                for one in ending:
                    if one not in self.deferred.values():
                        self.take_sums(one, one.of.last.res, op, state)

    def hand_over(self, pipeline: Pipeline, builder: Builder, state: State) -> None:
        """Store a factor to a stage in shared or tensor memory, from which the multiplier reads it."""
        iterator = state[pipeline]
        factor, brought = next(iter(pipeline.brought.items()))
        location = factor.load.location
        if isinstance(factor, Handed) and factor.in_tensor:

            def store(inside: Builder) -> None:
                inside.insert(nv_tileas.TmemStore(factor.value, brought.buffer, None, location=location))

            fill_with(pipeline.token, iterator, store, builder, location)
        else:
            fill(pipeline.token, iterator, pipeline.brought, lambda value: value, builder, self.warps)
        state[pipeline] = following(iterator, builder)

    def drop_sums(self, one: Accumulation, loop: scf.For) -> None:
        """The loop carries its sums no more."""
        end = loop.body.entry.last_op
        assert end is not None
        end.set_operand(one.number, loop.iter_args[one.number])

    def take_sums(self, one: Sums, sums: Value, op: Operation, state: State) -> None:
        """Load the sums behind the op with which they end, add what they are added to, and let others use that."""
        uses = list(sums.uses)
        type = cast(RankedTensorType, sums.type)
        start = None if one.of.starts_from_zero or one in self.corrected else one.of.start
        value = self.taken(one, op, type, start, Builder.after(op), state)
        for use in uses:
            use.owner.set_operand(use.index, value)

    def taken(
        self,
        one: Sums,
        op: Operation,
        type: RankedTensorType,
        start: Value | None,
        builder: Builder,
        state: State,
        own: Value | None = None,
        *,
        deferred: bool = False,
    ) -> Value:
        """Sums that have ended with an op, added to others; only these unless `own` holds."""
        location = one.of.last.location
        waited = nv_tileas.ConsumerWait(
            one.token,
            state[one],
            i32(0),
            deferred=UNIT if deferred else None,
            res=nv_tileas.ConsumerTokenType(),
            location=location,
        )
        token = builder.insert(waited).res
        value = self.load_sums(one, op, state[one], type, builder)
        builder.insert(nv_tileas.ConsumerRelease(token, None, location=location))
        state[one] = following(state[one], builder)
        if start is None:
            return value
        add = arith.AddF if isinstance(type.element, FloatType) else arith.AddI
        value = builder.insert(add(value, start, location=location)).results[0]
        if own is None:
            return value
        return builder.insert(arith.Select(own, value, start, location=location)).results[0]

    def take_deferred(self, one: Sums, op: Operation, state: State) -> None:
        """Before the op that uses them first, add the sums that the iteration before has left; this iteration leaves
        others."""
        loop = cast(scf.For, op.parent_op)
        last = one.of.last
        builder = Builder.before(op)
        carried = loop.iter_args[one.of.number]
        uses = list(carried.uses)
        compared = arith.CmpI.of("ne", loop.induction[0], loop.lower)
        follows = builder.insert(compared).results[0]
        kept = one.of.kept
        own: Value | None = None
        if kept is not None:
            # The iteration before was one of this CTA's program.
            one.of.kept_until = _end_of(kept)
            own = builder.insert(arith.CmpI.of("sle", loop.induction[0], _end_of(kept))).results[0]
        value = self.taken_if(one, follows, carried, builder, state, own, deferred=True)
        for use in uses:
            if use.owner is not kept:
                use.owner.set_operand(use.index, value)
        if kept is None:
            last.res.replace_all_uses_with(one.of.first.c)
            return
        # Behind the end of this program, nothing changes what the product would add to.
        kept.set_operand(1, one.of.first.c)
        kept.set_operand(2, value)

    def take_last(self, one: Sums, loop: scf.For, state: State) -> None:
        """Behind the loop, add the sums that its last iteration has left."""
        carried = loop.results[one.of.number]
        uses = list(carried.uses)
        builder = Builder.after(loop)
        kept = one.of.kept_until
        own: Value | None = None
        if kept is not None:
            own = builder.insert(arith.CmpI.of("eq", kept, loop.upper)).results[0]
        if loop.runs:
            type = cast(RankedTensorType, carried.type)
            value = self.taken(one, one.of.last, type, carried, builder, state, own)
        else:
            runs = builder.insert(arith.CmpI.of(loop.less_than, loop.lower, loop.upper)).results[0]
            value = self.taken_if(one, runs, carried, builder, state, own)
        for use in uses:
            use.owner.set_operand(use.index, value)

    def taken_if(
        self,
        one: Sums,
        condition: Value,
        start: Value,
        builder: Builder,
        state: State,
        own: Value | None,
        *,
        deferred: bool = False,
    ) -> Value:
        """What sums are added to, with the sums under a condition."""
        type = cast(RankedTensorType, start.type)
        location = one.of.last.location
        branch = scf.If.create(
            [condition],
            [type, state[one].type],
            {},
            [Region([Block()]), Region([Block()])],
            location=location,
        )
        builder.insert(branch)
        then, otherwise = (Builder.at_end(region.entry, location) for region in branch.regions)
        inside = {one: state[one]}
        value = self.taken(one, one.of.last, type, start, then, inside, own, deferred=deferred)
        then.insert(scf.Yield([value, inside[one]]))
        otherwise.insert(scf.Yield([start, state[one]]))
        state[one] = branch.results[1]
        return branch.results[0]

    def load_sums(
        self, one: Sums, op: Operation, iterator: Value, type: RankedTensorType, builder: Builder
    ) -> Value:
        """The sums; zero after a loop without iterations, which has left none."""
        location = one.of.last.location

        def loaded(inside: Builder) -> Value:
            return inside.insert(
                nv_tileas.TmemLoad(one.buffer, iterator, None, res=type, location=location)
            ).res

        if not isinstance(op, scf.For) or op.runs or one in self.corrected:
            return loaded(builder)
        runs = builder.insert(arith.CmpI.of(op.less_than, op.lower, op.upper)).results[0]
        branch = scf.If.create([runs], [type], {}, [Region([Block()]), Region([Block()])], location=location)
        builder.insert(branch)
        then, otherwise = (Builder.at_end(region.entry, location) for region in branch.regions)
        then.insert(scf.Yield([loaded(then)]))
        zero = otherwise.insert(arith.Constant(DenseElementsAttr.of(type, [0]), location=location)).results[0]
        otherwise.insert(scf.Yield([zero]))
        return branch.results[0]


def _end_of(kept: arith.Select) -> Value:
    """The end of this CTA's program, in a loop that other programs run longer."""
    compared = kept.condition.defining_op
    assert isinstance(compared, arith.CmpI)
    return compared.rhs


def _around(op: Operation) -> Operation:
    assert op.parent_op is not None
    return op.parent_op
