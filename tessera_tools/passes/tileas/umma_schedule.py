"""The schedule of a loop whose products use tensor memory: each agent runs its ops in the order of the program.

    multiplier     wait for factors, for empty sums ──▶ start of a product ──▶ tensor cores ──▶ its end
    consumer       wait for the end ──▶ take the sums ──▶ ops on tiles ──▶ hand factors over
    correction     wait for the end, for columns of factors ──▶ load sums ──▶ change them ──▶ store them

An agent waits where its program does, and may be some iterations ahead of another one: as many as there are stages.  A
stage is a dependence of that distance from the op that leaves it to the op that fills it again, so that the columns of
tensor memory limit the interval.  The agents of a kernel are those with the shorter interval.

With parts of the rows (umma_parts.py), each part has ops of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import suppress
from itertools import pairwise
from math import prod

from tessera_tools.analysis.modulo_scheduling import (
    Dependence,
    Schedule,
    SchedulingError,
    delayed,
    resource_bounds,
    schedule,
)
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.analysis.tile_costs import (
    Cost,
    async_product_cost,
    box_load_cost,
    cost_of,
    in_threads,
    staged_read_cost,
)
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import IntegerAttr, StringAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.traversal import values_used
from tessera_tools.passes.base import PassContext
from tessera_tools.passes.tileas.agent_schedule import START_CYCLES
from tessera_tools.passes.tileas.box_stages import Pipeline
from tessera_tools.passes.tileas.fills import BoxLoad, Filler, only_for
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.producer_slice import only_for_indices
from tessera_tools.passes.tileas.products import FEWEST_STAGES
from tessera_tools.passes.tileas.scheduled_loop import AGENT, MOST, ScheduledLoop, is_innermost
from tessera_tools.passes.tileas.umma_columns import fits_once
from tessera_tools.passes.tileas.umma_corrections import AT_ONCE, COLUMN_STAGES, CORRECTION
from tessera_tools.passes.tileas.umma_handovers import before_which, handed_pipelines, last_in
from tessera_tools.passes.tileas.umma_products import (
    Accumulation,
    Handed,
    UmmaChoice,
    UmmaProduct,
    choose_umma,
)
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP, Target
from tessera_tools.target.throughput import throughput

PRODUCER, CONSUMER, MULTIPLIER = "producer", "consumer", "multiplier"
"""Agents beside the correction; with several multipliers, each has its number."""
_TAKE, _LOAD, _STORE, _END = "take sums", "load sums", "store sums", "end"
"""What stands beside ops of the program."""
_EXCLUSIVE = ("tensor", "memory")


@dataclass(eq=False)
class _Step:
    """What an agent does at once for one part of the rows: an op of the loop, or what stands beside it."""

    name: str
    agent: str | None
    resource: str
    """The threads that it occupies."""
    cost: Cost


class TensorLoop(ScheduledLoop):
    """An innermost loop of a kernel with products by tcgen05.mma, each of them in the loop's own block."""

    def __init__(self, loop: scf.For, target: Target, choice: UmmaChoice, most: int = 0) -> None:
        self.choice, self.parts, self.rates = choice, choice.parts, throughput(target)
        block = loop.body.entry
        products = [p for p in choice.products if isinstance(p, UmmaProduct)]
        if any(loop.is_ancestor_of(p.dot) and p.dot.parent is not block for p in products):
            raise SchedulingError("a product is in a branch of the loop")
        self.products: dict[Operation, UmmaProduct] = {p.dot: p for p in products if p.dot.parent is block}
        self.sums: dict[Operation, Accumulation] = {
            p.dot: one for one in choice.accumulations for p in one.products if p.dot.parent is block
        }
        self.boxes: dict[Operation, Filler] = {load.load: load for p in products for load in p.loads}
        self.users: dict[Operation, list[Operation]] = {
            load.load: [p.dot, *(load.also.values() if isinstance(load, BoxLoad) else ())]
            for p in products
            for load in p.loads
        }
        self.shared: dict[Operation, Operation] = {
            load.load: load.stage_of.load for p in products for load in p.shared if load.stage_of is not None
        }
        """Loads of tiles that are in the stages of others, with those."""
        self.reads: dict[Operation, BoxLoad] = {
            load.load: load for p in products for load in p.read if load.load not in self.boxes
        }
        self.changed = {
            op: one for one in choice.accumulations if one.correction for op in one.correction.chain
        }
        """The ops that change sums, by their accumulation."""
        self.deferred = {op: one for one in self.sums.values() if (op := one.used_first) is not None}
        """Sums that are taken in the next iteration, by the op that uses them first."""
        self.signs = {op for p in products for op in p.signs}
        self.indices = only_for_indices(list(block), {*self.boxes, *self.shared}) | self.shared.keys()
        """Ops of the producer alone."""
        self.indices |= {op for load in self.boxes.values() for op in only_for(load)}
        self.handed = [(p, pipeline) for p in products for pipeline in handed_pipelines(p)]
        super().__init__(loop, target, most)

    # -- the graph

    def _graph(self) -> None:
        self.steps: list[_Step] = []
        self.at: dict[tuple[Hashable, int], int] = {}
        """(an op, or what stands beside one; a part of the rows) → its step."""
        self.places: dict[str, list[tuple[tuple[int, int, int], int]]] = {}
        """Agent → (place in the order of the program, step)."""
        for op in self.ops:
            self._step(op, op.name, self._runs(op), 0, self._cost(op))
        for part in range(self.parts):
            for number, op in enumerate(self.ops):
                if part and op not in self.boxes:
                    self._step(op, op.name, self._runs(op), part, self._cost(op))
                self._arrange(number, op, part)
        self.costs = [step.cost for step in self.steps]
        self.dependences = [*self._dependences(), *self._stages(), *self._in_order()]

    def _step(self, key: Hashable, name: str, agent: str | None, part: int, cost: Cost) -> int:
        """Add a step of a part.  The threads of each part are a resource of their own."""
        resource = agent or ""
        if agent in (CONSUMER, CORRECTION):
            resource = CORRECTION if agent == CORRECTION else f"threads{part or ''}"
            cycles = {resource if name == "threads" else name: n for name, n in cost.cycles.items()}
            cost = Cost(cycles, cost.latency, cost.asynchronous)
        self.at[key, part] = len(self.steps)
        self.steps.append(_Step(name, agent, resource, cost))
        return self.at[key, part]

    def _runs(self, op: Operation) -> str | None:
        """The agent of an op; None if it costs nothing."""
        if op in self.boxes:
            return PRODUCER
        if op in self.products:
            return self._multiplier(self.sums[op])
        if op in self.changed:
            return CORRECTION
        return CONSUMER if op in self.reads or self._cost(op).cycles else None

    def _multiplier(self, one: Accumulation) -> str:
        several = len({other.agent for other in self.choice.accumulations}) > 1
        return f"{MULTIPLIER}{one.agent}" if several else MULTIPLIER

    def _cost(self, op: Operation) -> Cost:
        """The cost of an op, or of one part of its rows."""
        if op in self.boxes or op in self.reads:
            load = self.boxes.get(op) or self.reads[op]
            brought, written = box_load_cost(op, self.target), -(-load.bytes // self.rates.shared_bytes)
            if op in self.boxes:
                return Cost({**brought.cycles, "shared": written}, brought.latency, True)
            read = in_threads(staged_read_cost(op, self.target))
            cycles = {**read.cycles, **brought.cycles, "shared": read.cycles["shared"] + written}
            return Cost(cycles, read.latency)
        if op in self.products:
            return self._product_cost(self.products[op])
        if op in self.signs or op in self.indices:
            return Cost()
        return self._of_part(in_threads(cost_of(op, self.target)))

    def _product_cost(self, product: UmmaProduct) -> Cost:
        """The cost of a product, of whose right factor the CTA of a pair reads half."""
        cost = async_product_cost(product.dot, product.atom_n, self.target, "tcgen05")
        if self.choice.in_pairs and product.b is not None:
            steps = -(-product.dot.c.type.shape[0] // product.rows)
            saved = -(-steps * product.b.bytes // self.rates.shared_bytes)
            cost = Cost({**cost.cycles, "shared": cost.cycles["shared"] - saved}, cost.latency, True)
        cost = self._of_part(cost)
        return Cost(
            {**cost.cycles, self._multiplier(self.sums[product.dot]): START_CYCLES}, cost.latency, True
        )

    def _of_part(self, cost: Cost) -> Cost:
        if self.parts == 1 or not cost.cycles:
            return cost
        cycles = {name: -(-amount // self.parts) for name, amount in cost.cycles.items()}
        saved = max(cost.cycles.values()) - max(cycles.values())
        return Cost(cycles, cost.latency - saved, cost.asynchronous)

    def _moves(self, words: int, waits: int = 0) -> Cost:
        """The cost of moving so many words of 32 bits between registers and tensor or shared memory."""
        cycles = -(-words // (32 * self.rates.issue * self.parts))
        return Cost({"threads": cycles, "issue": cycles}, cycles + waits)

    def _arrange(self, number: int, op: Operation, part: int) -> None:
        """Put an op, and what stands beside it, into the order of its agent."""
        if (one := self.deferred.get(op)) is not None:
            self._take(one, (number, 0), part)
        for product, pipeline in self.handed:
            last = last_in(self.loop.body.entry, pipeline)
            if before_which(pipeline) is op and last is None:
                self._hand(product, pipeline, (number, 1), part)
            elif last is op and before_which(pipeline).parent is self.loop.body.entry:
                self._hand(product, pipeline, (number, 3), part)
        agent = self._runs(op)
        if agent is not None and not (part and op in self.boxes):
            self._place(agent, (number, 2), part, self.at[op, part])
        if op in self.products:
            one = self.sums[op]
            # Its sums may be read then, and its factors replaced.
            self._step((_END, op), _END, None, part, Cost())
            if (
                op is one.last
                and one not in self.deferred.values()
                and one.loop is None
                and not one.correction
            ):
                self._take(one, (number, 3), part)
        if (one := self.changed.get(op)) is not None and op is self._chain(one)[-1]:
            self._change(one, part)

    def _place(self, agent: str, place: tuple[int, int], part: int, step: int) -> None:
        """The consumer has a warpgroup for each part; a multiplier does the parts of a product one after the other, and
        the correction all ops of a part."""
        if agent == CONSUMER:
            self.places.setdefault(f"{agent}{part}", []).append(((*place, 0), step))
        elif agent == CORRECTION:
            self.places.setdefault(agent, []).append(((part, *place), step))
        else:
            self.places.setdefault(agent, []).append(((*place, part), step))

    def _take(self, one: Accumulation, place: tuple[int, int], part: int) -> None:
        """The consumer loads sums, whose stage is empty then."""
        cost = self._moves(prod(one.last.c.type.shape), self.rates.shared_latency)
        self._place(CONSUMER, place, part, self._step((_TAKE, one), _TAKE, CONSUMER, part, cost))

    def _hand(self, product: UmmaProduct, pipeline: Pipeline, place: tuple[int, int], part: int) -> None:
        """The consumer stores factors to a stage, which is empty again at the end of the product."""
        handed = [factor for factor in pipeline.loads if isinstance(factor, Handed)]
        words = sum(-(-prod(f.type.shape) * storage_bits(f.type.element) // 32) for f in handed)
        step = self._step(handed[0], "hand a factor over", CONSUMER, part, self._moves(words))
        for factor in handed:
            self.at[factor, part] = step
        self._place(CONSUMER, place, part, step)

    def _change(self, one: Accumulation, part: int) -> None:
        """The correction loads sums before its ops, and stores them behind."""
        chain = self._chain(one)
        words = prod(one.first.c.type.shape)
        times = -(-words // (AT_ONCE[self.parts] * 32 * WARPS_OF_WARPGROUP * self.parts))
        cost = self._moves(words, times * self.rates.shared_latency)
        places = (self.numbers[chain[0]], 0), (self.numbers[chain[-1]], 4)
        for name, place in zip((_LOAD, _STORE), places, strict=True):
            self._place(CORRECTION, place, part, self._step((name, one), name, CORRECTION, part, cost))
        for column in one.correction.columns:  # type: ignore[union-attr]
            made = column.defining_op
            inside = made is not None and made.parent is self.loop.body.entry
            place = (self.numbers[made], 3) if inside else (self.numbers[chain[0]], 0)  # type: ignore[index]
            step = self._step(column, "hand a column over", CONSUMER, part, self._moves(column.type.shape[0]))  # type: ignore[union-attr]
            self._place(CONSUMER, place, part, step)

    def _chain(self, one: Accumulation) -> list[Operation]:
        assert one.correction is not None
        return one.correction.chain

    def _dependences(self) -> Iterator[Dependence]:
        """Between the ops of the program, through what stands beside them."""
        for op in self.ops:
            for value in values_used(op):
                found = self._origin(value)
                for part in range(self.parts if found is not None else 0):
                    source, distance = self.ops[found[0]], found[1]  # type: ignore[index]
                    source = self.shared.get(source, source)
                    yield from self._between(source, op, value, distance, part)
        yield from self._effects()

    def _between(
        self, source: Operation, user: Operation, value: Value, distance: int, part: int
    ) -> Iterator[Dependence]:
        """From the op that makes a value to one that uses it."""
        start = self.at[source, 0 if source in self.boxes else part]
        end = self.at[user, 0 if user in self.boxes else part]
        latency = self.steps[start].cost.latency
        if source in self.products:
            one = self.sums[source]
            if self.sums.get(user) is one:
                # Each fragment of the sums depends only on itself: consecutive products overlap.
                yield Dependence(start, end, self.steps[start].cost.cycles["tensor"], distance)
            elif ((_TAKE, one), part) in self.at:
                taken = self.at[(_TAKE, one), part]
                between = distance - (one in self.deferred.values())
                if between >= 0 and taken != end:
                    yield Dependence(taken, end, self.steps[taken].cost.latency, between)
        elif user in self.products:
            product: UmmaProduct = self.products[user]
            handed = [f for n, f in product.handed.items() if product.dot.operand(n) is value]
            for factor in handed:
                if (factor, part) in self.at:
                    yield Dependence(start, self.at[factor, part], latency, distance)
            if not handed and (source in self.changed or value is not product.dot.c):
                yield Dependence(start, end, latency, distance)
        elif user in self.changed and source not in self.changed:
            if (value, part) in self.at:
                yield Dependence(start, self.at[value, part], latency, distance)
        else:
            yield Dependence(start, end, latency, distance)

    def _stages(self) -> Iterator[Dependence]:
        """From what fills a stage to what waits for it, and from what leaves it to what fills it again."""
        waits = self.rates.mbarrier_latency
        for part in range(self.parts):
            for dot, product in self.products.items():
                start, end = self.at[dot, part], self.at[(_END, dot), part]
                yield Dependence(start, end, self.costs[start].latency)
                for factor in product.handed.values():
                    if (factor, part) not in self.at:
                        continue
                    hand = self.at[factor, part]
                    yield Dependence(hand, start, self.costs[hand].latency + waits)
                    yield Dependence(end, hand, waits, factor.stages)
                    if factor.shares is not None:
                        yield Dependence(end, self.at[factor.shares.first, part], waits, 1)
            for one in dict.fromkeys(self.sums.values()):
                start, end = self.at[one.first, part], self.at[(_END, one.last), part]
                if ((_TAKE, one), part) in self.at:
                    take, late = self.at[(_TAKE, one), part], int(one in self.deferred.values())
                    yield Dependence(end, take, waits, late)
                    yield Dependence(take, start, self.costs[take].latency + waits, one.stages - late)
                if one.correction is not None:
                    load, store = self.at[(_LOAD, one), part], self.at[(_STORE, one), part]
                    yield Dependence(end, load, waits, 1)
                    yield Dependence(store, start, self.costs[store].latency + waits)
                    for column in one.correction.columns:
                        hand = self.at[column, part]
                        yield Dependence(hand, load, self.costs[hand].latency + waits)
                        yield Dependence(store, hand, waits, COLUMN_STAGES)

    def _in_order(self) -> Iterator[Dependence]:
        """The threads of an agent run their instructions in order, and iteration after iteration."""
        for places in self.places.values():
            steps = [step for _, step in sorted(places)]
            for step, following in pairwise((*steps, steps[0])):
                occupied = self.costs[step].cycles.get(self.steps[step].resource, 0)
                yield Dependence(step, following, occupied, int(following == steps[0]))

    # -- the schedule

    def _found(self, least: int) -> Schedule:
        """The tensor cores and memory serve one op after the other, and the threads of an agent do by their order.  The
        threads of several agents share lanes by the instruction: their sum bounds the interval."""
        exclusive = [
            {name: cycles for name, cycles in cost.cycles.items() if name in _EXCLUSIVE}
            for cost in self.costs
        ]
        bounds = resource_bounds([cost.cycles for cost in self.costs])
        least = max(least, *bounds.values())
        found = schedule(exclusive, self.dependences, least, recurrence=self.recurrence)
        loads = [number for number, op in enumerate(self.ops) if op in self.boxes]
        found = delayed(found, exclusive, self.dependences, loads)
        return Schedule(found.interval, found.cycles, bounds, found.recurrence)

    def depths(self, found: Schedule | None = None) -> dict[int, int]:
        """For each load: the number of buffers that its tile needs."""
        found = found or self.schedule
        depths: dict[int, int] = {}
        for number, op in enumerate(self.ops):
            if op in self.reads:
                held = box_load_cost(op, self.target).latency + self.costs[number].cycles["threads"]
            elif op in self.boxes and all(dot in self.products for dot in self.users[op]):
                keys = [((_END, dot), part) for dot in self.users[op] for part in range(self.parts)]
                ends = [found.cycles[self.at[key]] for key in keys]
                held = max(ends) - found.cycles[number]
            else:
                continue
            depths[number] = max(FEWEST_STAGES, -(-held // found.interval))
        return depths

    def _fits(self, found: Schedule) -> bool:
        depths = self.depths(found)
        most = max(depths.values(), default=1)
        if self.most and most > max(self.most, FEWEST_STAGES):
            return False
        loads = {**self.boxes, **self.reads}
        needed = sum(depth * loads[self.ops[number]].bytes for number, depth in depths.items())
        needed += sum(load.bytes for op, load in loads.items() if op not in self.numbers)
        needed += sum(product.staged_bytes for product in self.choice.products)
        return needed <= pipeline_room(self.target) or most <= FEWEST_STAGES

    # -- the result

    def agent(self, number: int) -> str | None:
        return self.steps[number].agent

    def name_of(self, number: int) -> str:
        return self.steps[number].name

    def limit(self) -> str:
        limited = self.schedule.limited_by == "recurrence" and not self.is_limited_by_buffers
        return "waits of agents for each other" if limited else super().limit()

    def chart_rows(self) -> list[int]:
        """Also what stands beside ops, of all parts."""
        return [number for number, step in enumerate(self.steps) if step.cost.cycles]


@dataclass(eq=False)
class TensorSchedule:
    """The schedules of the loops of a kernel with products in tensor memory."""

    loops: list[TensorLoop]
    corrected: Accumulation | None = None
    """The sums that an agent of its own changes between products."""
    other: int = 0
    """The interval of their loop with the other agents; 0 if nothing was compared."""
    is_smaller: bool = False
    """Whether the tiles do not fit in shared memory with the other agents."""

    def interval(self, loop: Operation) -> int:
        """Cycles of an iteration of a loop."""
        return next((one.schedule.interval for one in self.loops if one.loop is loop), 0)


def schedule_tensor_memory(
    function: nv_tileaa.Func, target: Target, agents: str = "auto", most: int = 0
) -> TensorSchedule | None:
    """The agents of a kernel, and the schedules of those of its innermost loops that have products by tcgen05.mma and
    can be scheduled; None if it has no such products.

    agents: `multipliers` leaves the sums of loops to the consumer, `correction` requires an agent that changes them;
    `auto` takes what has the shorter interval, of those whose tiles fit in shared memory.  most: the maximum number of
    iterations of a load in flight, 0 for as many as fit.  Raises Missed if agents are required, and none can be.
    """
    if not any(isinstance(op, nv_tileas.Dot) for op in function.walk()):
        return None
    try:
        choice = choose_umma(function, target)
    except Missed:
        if agents != "auto":
            raise
        return None
    plain = TensorSchedule(_scheduled(choice, target, most))
    # A consumer of one warpgroup leaves registers for other CTAs.
    if agents == "multipliers" or (agents == "auto" and choice.groups == 1):
        return plain
    fits = fits_once(choice.products, target)
    try:
        choice = choose_umma(function, target, "correction")
    except Missed:
        if agents == "correction":
            raise
        return plain
    (sums,) = (one for one in choice.accumulations if one.correction is not None)
    changed = TensorSchedule(_scheduled(choice, target, most), sums)
    assert sums.correction is not None
    loop = sums.correction.loop
    if not fits and fits_once(choice.products, target):
        changed.is_smaller = True
        return changed
    changed.other, plain.other = plain.interval(loop), changed.interval(loop)
    better = 0 < changed.interval(loop) < plain.interval(loop)
    return changed if better or agents == "correction" else plain


def _scheduled(choice: UmmaChoice, target: Target, most: int) -> list[TensorLoop]:
    """The loops whose ops can be scheduled."""
    found: list[TensorLoop] = []
    for loop in dict.fromkeys(product.dot.parent_op for product in choice.products):
        if isinstance(loop, scf.For) and is_innermost(loop):
            with suppress(SchedulingError):
                found.append(TensorLoop(loop, target, choice, most))
    return found


def explain_correction(made: TensorSchedule, function: Operation, context: PassContext) -> None:
    """A remark on which agent changes the sums of a loop, with the intervals of both ways."""
    one, other = made.corrected, made.other
    if one is not None:
        assert one.correction is not None
        own = made.interval(one.correction.loop)
        text = f"an agent changes the sums in tensor memory between products: an iteration takes {own} cycles"
        if made.is_smaller:
            text += (
                "; if the consumer carried the sums in registers, the tiles would not fit in shared memory"
            )
        elif other:
            text += f", and {other} if the consumer carries the sums in registers"
        context.passed(one.first, text, "correction", "tensorcore", function=function)


def assigned_agents(function: Operation) -> str:
    """What changes sums between products, as the schedule of a kernel says: `multipliers` also without a schedule."""
    agents = (op.attributes.get(AGENT) for op in function.walk())
    corrected = any(isinstance(agent, StringAttr) and agent.value == CORRECTION for agent in agents)
    return CORRECTION if corrected else "multipliers"


def most_stages(function: Operation) -> int:
    """The most iterations of a load in flight that the schedules of a kernel's loops allow; 0 for any number."""
    found = (loop.attributes.get(MOST) for loop in function.walk())
    return min((most.value for most in found if isinstance(most, IntegerAttr)), default=0)
