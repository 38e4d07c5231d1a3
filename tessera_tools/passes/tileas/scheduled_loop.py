"""A loop as a graph of costs and dependences, and its schedule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from math import prod

from tessera_tools.analysis.modulo_scheduling import (
    Dependence,
    Schedule,
    SchedulingError,
    recurrence_bound,
    schedule,
)
from tessera_tools.analysis.persistent import DEALT
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.analysis.tile_costs import RESOURCES, Cost, cost_of
from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import StringAttr, i32
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.traversal import values_used
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.target import Target

INTERVAL, STAGES, STAGE, CYCLE, AGENT, DEPTH, MOST = (
    f"nv_tileas.{word}" for word in ("interval", "stages", "stage", "cycle", "agent", "depth", "most_depth")
)
CHART_COLUMNS = 64


class ScheduledLoop:
    """One loop as a graph, and its schedule.

    turns: the number of warpgroups that take turns; 1: all warps run the loop together.
    loop: an innermost counted loop.  most: the maximum number of iterations of a load in flight, 0 for as many as fit.
    """

    turns = 1

    def __init__(self, loop: scf.For, target: Target, most: int = 0) -> None:
        self.loop, self.target, self.most = loop, target, most
        self.ops = [op for op in loop.body.entry if not op.has_trait(Terminator)]
        self.numbers = {op: number for number, op in enumerate(self.ops)}
        self.costs: list[Cost] = []
        self.dependences: list[Dependence] = []
        self._graph()
        self.is_limited_by_buffers = False
        self.schedule = self._fitting()

    # -- the graph

    def _graph(self) -> None:
        """Costs and dependences."""
        self.costs = [cost_of(op, self.target) for op in self.ops]
        self.dependences = list(self._dependences())

    def _dependences(self) -> Iterator[Dependence]:
        for number, op in enumerate(self.ops):
            for value in values_used(op):
                found = self._origin(value)
                if found is not None:
                    source, distance = found
                    yield self._dependence(source, number, op, value, distance)
        yield from self._effects()

    def _effects(self) -> Iterator[Dependence]:
        """Effects without tokens keep their order, also between iterations."""
        ordered = [n for n, op in enumerate(self.ops) if not is_pure(op) and not has_token(op)]
        for first, second in pairwise(ordered):
            yield Dependence(first, second, self._latency(first))
        if len(ordered) > 1:
            yield Dependence(ordered[-1], ordered[0], self._latency(ordered[-1]), 1)

    def _dependence(
        self, source: int, number: int, user: Operation, value: Value, distance: int
    ) -> Dependence:
        return Dependence(source, number, self._latency_between(source, user, value), distance)

    def _origin(self, value: Value) -> tuple[int, int] | None:
        """(the op of the loop that defines a value, distance in iterations); None for a value from outside."""
        distance, seen = 0, set[Value]()
        while isinstance(value, BlockArgument):
            if value.owner_block is not self.loop.body.entry or value.index == 0 or value in seen:
                return None
            seen.add(value)
            value, distance = self.loop.yielded[value.index - 1], distance + 1
        number = self.numbers.get(value.defining_op) if value.defining_op is not None else None
        return None if number is None else (number, distance)

    def _latency(self, number: int) -> int:
        return self.costs[number].latency

    def _latency_between(self, source: int, user: Operation, value: Value) -> int:
        """Cycles from the start of a value's op to that of its user."""
        if (
            isinstance(user, nv_tileas.Dot)
            and value is user.c
            and isinstance(self.ops[source], nv_tileas.Dot)
        ):
            # Each fragment of the accumulator depends only on itself: consecutive products overlap.
            return self.costs[source].cycles["tensor" if "tensor" in self.costs[source].cycles else "fma"]
        return self._latency(source)

    # -- the schedule

    def _fitting(self) -> Schedule:
        """The schedule of the shortest interval whose tiles fit.  Raises SchedulingError if there is none."""
        least = 1
        while True:
            found = self._found(least)
            if self._fits(found):
                return found
            if least > 2 * self._sequential():
                # One iteration after the other: a longer interval needs as many buffers.
                raise SchedulingError("the tiles do not fit in shared memory and registers")
            self.is_limited_by_buffers = True
            least = found.interval + max(1, found.interval // 32)

    @cached_property
    def recurrence(self) -> int:
        """The recurrence bound of the loop.  Raises SchedulingError if the ops of one iteration depend on each
        other."""
        return recurrence_bound(len(self.costs), self.dependences)

    def _sequential(self) -> int:
        """The cycles of one iteration whose ops start one after the other."""
        return 1 + sum(max(cost.latency, *cost.cycles.values(), 1) for cost in self.costs if cost.cycles)

    def _found(self, least: int) -> Schedule:
        return schedule(
            [cost.cycles for cost in self.costs], self.dependences, least, recurrence=self.recurrence
        )

    def _fits(self, found: Schedule) -> bool:
        depths = self.depths(found)
        if self.most and max(depths.values(), default=1) > self.most:
            return False
        needed = sum(depth * _tile_bytes(self.ops[number]) for number, depth in depths.items())
        # Loads with a single buffer do not depend on the schedule.
        return needed <= self.target.max_shared_per_block or max(depths.values(), default=1) == 1

    def depths(self, found: Schedule | None = None) -> dict[int, int]:
        """For each load of a product: the number of buffers that its tile needs."""
        found = found or self.schedule
        depths: dict[int, int] = {}
        for number, op in enumerate(self.ops):
            if not self.costs[number].asynchronous:
                continue
            for one in self._readers(number):
                user = self.costs[one.target]
                depths[number] = max(
                    depths.get(number, 1), found.depth(one, max(user.cycles.values(), default=0))
                )
            if number in depths and not self._feeds_product(op):
                del depths[number]
        return depths

    def _readers(self, number: int) -> list[Dependence]:
        return [one for one in self.dependences if one.source == number and one.target != number]

    def _feeds_product(self, op: Operation) -> bool:
        work, seen = [op], {op}
        while work:
            for result in work.pop().results:
                for use in result.uses:
                    user = use.owner
                    if isinstance(user, nv_tileas.Dot):
                        return True
                    if (
                        user in self.numbers
                        and user not in seen
                        and isinstance(result.type, RankedTensorType)
                    ):
                        seen.add(user)
                        work.append(user)
        return False

    def agent(self, number: int) -> str | None:
        """The agent that runs an op: "producer" for loads, "consumer" for other ops on tiles, None for ops without
        cost."""
        cost = self.costs[number]
        if cost.asynchronous:
            return "producer"
        return "consumer" if cost.cycles else None

    def data_after(self, number: int) -> int | None:
        """Cycles from the start of a load to its data; None for other ops."""
        cost = self.costs[number]
        return cost.latency if cost.asynchronous else None

    def write(self) -> None:
        """Write the schedule to attributes of the loop and its ops, and replace an earlier one."""
        self.loop.attributes[INTERVAL] = i32(self.schedule.interval)
        self.loop.attributes[STAGES] = i32(self.schedule.stages)
        self.loop.attributes.pop(MOST, None)
        if self.most:
            self.loop.attributes[MOST] = i32(self.most)
        depths = self.depths()
        for number, op in enumerate(self.ops):
            for key in (STAGE, CYCLE, AGENT, DEPTH):
                op.attributes.pop(key, None)
            agent = self.agent(number)
            if agent is None:
                continue
            op.attributes[STAGE] = i32(self.schedule.stage(number))
            op.attributes[CYCLE] = i32(self.schedule.cycles[number])
            op.attributes[AGENT] = StringAttr(agent)
            if number in depths:
                op.attributes[DEPTH] = i32(depths[number])

    # -- reports

    def limit(self) -> str:
        """The limiting factor of the interval, as text."""
        found = self.schedule
        if self.is_limited_by_buffers:
            return "the buffers of loads in flight"
        if found.limited_by == "recurrence":
            return "values carried between iterations"
        return RESOURCES.get(found.limited_by.rstrip("0123456789"), found.limited_by)

    def chart_rows(self) -> list[int]:
        """What the chart shows."""
        return [n for n in range(len(self.ops)) if self.agent(n) is not None]

    def name_of(self, number: int) -> str:
        """What the chart calls an op."""
        return self.ops[number].name

    def chart(self) -> list[str]:
        """A row for each op with an agent, in the order of their cycles: `#` marks cycles in which it occupies its
        busiest resource."""
        found = self.schedule
        lines = []
        for number in sorted(self.chart_rows(), key=lambda n: found.cycles[n]):
            cost = self.costs[number]
            busiest = max(cost.cycles, key=lambda name: cost.cycles[name])
            lines.append(
                f"stage {found.stage(number):2} cycle {found.slot(number):6} |{self._bar(number, cost, busiest)}| "
                f"{self.agent(number)} {self.name_of(number)}: {busiest} {cost.cycles[busiest]}"
            )
        used = ", ".join(
            f"{name} {100 * cycles // found.interval} %"
            for name, cycles in sorted(found.resources.items(), key=lambda item: -item[1])
        )
        return [*lines, f"of each interval: {used}"]

    def _bar(self, number: int, cost: Cost, busiest: str) -> str:
        return bar_of(self.schedule.slot(number), cost.cycles[busiest], self.schedule.interval, "#")


def bar_of(start: int, cycles: int, interval: int, mark: str) -> str:
    """A row of a chart of one interval, with marks for `cycles` from `start` on."""
    cells = [" "] * CHART_COLUMNS
    first = start * CHART_COLUMNS // interval
    length = max(1, -(-cycles * CHART_COLUMNS // interval))
    for cell in range(first, first + min(length, CHART_COLUMNS)):
        cells[cell % CHART_COLUMNS] = mark
    return "".join(cells)


def has_token(op: Operation) -> bool:
    """Whether an op is in a chain of tokens."""
    return any(v.type is nv_tileaa.MEM_TOKEN for v in (*op.operands, *op.results))


def _tile_bytes(op: Operation) -> int:
    return sum(
        prod(v.type.shape) * element_bytes(v.type.element)
        for v in op.results
        if isinstance(v.type, RankedTensorType)
    )


def is_innermost(loop: scf.For) -> bool:
    """Whether a loop contains no other one, and its iterations follow each other: of those that CTAs deal out, the next
    one is not known before it begins."""
    return DEALT not in loop.attributes and not any(
        inner is not loop and isinstance(inner, scf.For | scf.While | nv_tileaa.Loop) for inner in loop.walk()
    )
