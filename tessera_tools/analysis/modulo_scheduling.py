"""Iterative modulo scheduling: start cycles of a loop's operations, so that iterations overlap as much as possible.

    operations with reserved resources ┐
                                       ├─ schedule() ─▶ interval II, a start cycle for each operation
    dependences (latency, distance)    ┘

A new iteration starts every II cycles.  Operation i of iteration n starts at cycle n·II + cycles[i], such that

    cycles[target] + distance·II ≥ cycles[source] + latency      for each dependence
    no two reservations of a resource meet modulo II             for each resource

II is at least the number of cycles for which one iteration occupies any resource (the resource bound), and at least
latency / distance of any cycle of dependences (the recurrence bound).

A resource may be shared by n agents that all execute the loop, each II / n cycles after the one before.  The
reservation table of that resource is folded: no two reservations meet modulo II / n.  The agents then never use it at
once.

Source: B. R. Rau, "Iterative Modulo Scheduling: An Algorithm for Software Pipelining Loops", MICRO-27 (1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import lcm
from types import MappingProxyType

__all__ = [
    "Dependence",
    "Reservations",
    "Schedule",
    "SchedulingError",
    "Sharers",
    "conflicts",
    "delayed",
    "recurrence_bound",
    "resource_bounds",
    "schedule",
]

ATTEMPTS = 24
"""Placements per operation, for one interval, before the next larger interval is tried."""


class SchedulingError(ValueError):
    """No schedule exists: the dependences of one iteration form a cycle, or its tiles fit nowhere."""


Reservations = Mapping[str, int]
"""Resource → cycles for which an operation occupies it, from the operation's start."""
Sharers = Mapping[str, int]
"""Resource → the number of agents that share it, if more than one."""
_NOT_SHARED: Sharers = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Dependence:
    """Operation `target` starts no earlier than `latency` cycles after `source` of `distance` iterations earlier."""

    source: int
    target: int
    latency: int
    distance: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Start cycles of a loop's operations; the earliest is 0."""

    interval: int
    """Cycles from one iteration to the next, II."""
    cycles: tuple[int, ...]
    resources: dict[str, int]
    """Cycles of each resource that one iteration reserves."""
    recurrence: int
    """The recurrence bound; 0 if there is no cycle."""

    @property
    def bound(self) -> int:
        """The smallest interval that the bounds allow, MII."""
        return (
            max(1, self.recurrence, *self.resources.values()) if self.resources else max(1, self.recurrence)
        )

    @property
    def limited_by(self) -> str:
        """The limiting factor: a resource, or "recurrence"."""
        busiest = max(self.resources, key=lambda name: self.resources[name], default="recurrence")
        return busiest if self.resources and self.resources[busiest] >= self.recurrence else "recurrence"

    def stage(self, operation: int) -> int:
        """The stage of an operation: the number of whole intervals between the start of its iteration and its own."""
        return self.cycles[operation] // self.interval

    def slot(self, operation: int) -> int:
        """The cycle within the interval at which an operation starts."""
        return self.cycles[operation] % self.interval

    @property
    def stages(self) -> int:
        """The number of iterations in flight."""
        return max((self.stage(n) for n in range(len(self.cycles))), default=0) + 1

    def depth(self, dependence: Dependence, held: int = 0) -> int:
        """The number of copies of a value that exist at once, if its user holds it for `held` cycles from its start.

        The producer of a later iteration may overwrite a copy once its user has released it.
        """
        released = self.cycles[dependence.target] + dependence.distance * self.interval + held
        return max(1, -(-(released - self.cycles[dependence.source]) // self.interval))


def resource_bounds(operations: Sequence[Reservations]) -> dict[str, int]:
    """Cycles of each resource that one iteration reserves."""
    found: dict[str, int] = {}
    for reservations in operations:
        for resource, cycles in reservations.items():
            found[resource] = found.get(resource, 0) + cycles
    return found


def recurrence_bound(count: int, dependences: Sequence[Dependence]) -> int:
    """The largest latency / distance of any cycle of dependences, rounded up; 0 if there is no cycle.

    Raises SchedulingError for a cycle of distance 0, which no order of execution satisfies.
    """
    if _has_positive_circle(
        count, [(d.source, d.target, int(d.distance == 0)) for d in dependences if not d.distance]
    ):
        raise SchedulingError("the dependences within one iteration form a cycle")
    low, high = 0, sum(max(d.latency, 0) for d in dependences)
    while low < high:
        middle = (low + high) // 2
        if _has_positive_circle(
            count, [(d.source, d.target, d.latency - middle * d.distance) for d in dependences]
        ):
            low = middle + 1
        else:
            high = middle
    return low


def _has_positive_circle(count: int, edges: Sequence[tuple[int, int, int]]) -> bool:
    """True if some cycle has a positive sum of weights (Bellman and Ford)."""
    longest = [0] * count
    for _ in range(count + 1):
        changed = False
        for source, target, weight in edges:
            if longest[source] + weight > longest[target]:
                longest[target], changed = longest[source] + weight, True
        if not changed:
            return False
    return True


def schedule(
    operations: Sequence[Reservations],
    dependences: Sequence[Dependence],
    least: int = 1,
    sharers: Sharers = _NOT_SHARED,
) -> Schedule:
    """Schedule a loop with an interval of at least `least` cycles.

    `operations`: the reservations of each operation.  The interval is a multiple of the numbers of `sharers`, and the
    resources of the result count the cycles of all of them.  Raises SchedulingError if no schedule exists.
    """
    resources = {name: cycles * sharers.get(name, 1) for name, cycles in resource_bounds(operations).items()}
    recurrence = recurrence_bound(len(operations), dependences)
    unit = lcm(*sharers.values())
    interval = max(1, least, recurrence, *resources.values()) if resources else max(1, least, recurrence)
    while True:
        interval += -interval % unit
        cycles = _Attempt(operations, dependences, interval, sharers).run()
        if cycles is not None:
            first = min(cycles, default=0)
            # Subtract whole intervals, so that slots do not change.
            first -= first % interval
            return Schedule(interval, tuple(cycle - first for cycle in cycles), resources, recurrence)
        interval += max(1, interval // 64)


def delayed(
    found: Schedule,
    operations: Sequence[Reservations],
    dependences: Sequence[Dependence],
    movable: Sequence[int],
    sharers: Sharers = _NOT_SHARED,
) -> Schedule:
    """The schedule with operations moved to the latest cycle that their users and resources allow, which minimizes live
    ranges; operations without users are not moved."""
    attempt = _Attempt(operations, dependences, found.interval, sharers)
    attempt.placed = dict(enumerate(found.cycles))
    for number in sorted(movable, key=lambda n: (-found.cycles[n], -n)):
        ends = [
            attempt.placed[one.target] + found.interval * one.distance - one.latency
            for one in attempt.outgoing[number]
            if one.target != number
        ]
        start = attempt.placed.pop(number)
        cycle = min(ends, default=start)
        while cycle > start and (step := attempt.overlap_before(number, cycle)):
            cycle -= step
        attempt.placed[number] = max(cycle, start)
    return Schedule(
        found.interval,
        tuple(attempt.placed[n] for n in range(len(operations))),
        found.resources,
        found.recurrence,
    )


def conflicts(
    found: Schedule,
    operations: Sequence[Reservations],
    among: Sequence[int],
    sharers: Sharers = _NOT_SHARED,
) -> bool:
    """True if a reservation of an operation in `among` conflicts with one of another operation."""
    attempt = _Attempt(operations, (), found.interval, sharers)
    attempt.placed = dict(enumerate(found.cycles))
    for number in among:
        start = attempt.placed.pop(number)
        if attempt.overlap_before(number, start):
            return True
        attempt.placed[number] = start
    return False


class _Attempt:
    """Rau's algorithm for one interval."""

    def __init__(
        self,
        operations: Sequence[Reservations],
        dependences: Sequence[Dependence],
        interval: int,
        sharers: Sharers = _NOT_SHARED,
    ) -> None:
        self.operations, self.dependences, self.interval = operations, dependences, interval
        self.sharers = sharers
        self.placed: dict[int, int] = {}
        self._shared: dict[int, list[tuple[tuple[int, int, int], ...]]] = {}
        self.incoming: list[list[Dependence]] = [[] for _ in operations]
        self.outgoing: list[list[Dependence]] = [[] for _ in operations]
        for one in dependences:
            self.incoming[one.target].append(one)
            self.outgoing[one.source].append(one)

    def run(self) -> list[int] | None:
        """The start cycles; None if the budget is spent before every operation is placed."""
        heights, last = self._heights(), dict[int, int]()
        order = sorted(range(len(self.operations)), key=lambda n: (-heights[n], n))
        rank = {number: place for place, number in enumerate(order)}
        waiting = list(range(len(order)))  # a heap of ranks
        for _ in range(ATTEMPTS * max(len(self.operations), 1)):
            if not waiting:
                return [self.placed[n] for n in range(len(self.operations))]
            operation = order[heappop(waiting)]
            earliest = self._earliest(operation)
            cycle = self._free(operation, earliest)
            evicted: set[int] = set()
            if cycle is None:
                # No slot is free: place it at another slot than last time, and evict.
                cycle = max(earliest, last.get(operation, earliest - 1) + 1)
                evicted = self._in_the_way(operation, cycle)
            for other in evicted | self._too_early(operation, cycle):
                del self.placed[other]
                heappush(waiting, rank[other])
            self.placed[operation] = last[operation] = cycle
        return None if waiting else [self.placed[n] for n in range(len(self.operations))]

    def _heights(self) -> list[int]:
        """The longest path from each operation to the end of the iteration; the highest operation is placed first."""
        heights = [0] * len(self.operations)
        for _ in self.operations:
            changed = False
            for one in self.dependences:
                height = heights[one.target] + one.latency - self.interval * one.distance
                if height > heights[one.source]:
                    heights[one.source], changed = height, True
            if not changed:
                break
        return heights

    def _earliest(self, operation: int) -> int:
        """The first cycle that the placed predecessors allow."""
        return max(
            (
                self.placed[one.source] + one.latency - self.interval * one.distance
                for one in self.incoming[operation]
                if one.source in self.placed and one.source != operation
            ),
            default=0,
        )

    def _free(self, operation: int, earliest: int) -> int | None:
        """The first cycle within one interval without a conflict of reservations; None if there is none."""
        shared = self.shared(operation)
        placed = [(start, *one) for other, start in self.placed.items() for one in shared[other]]
        cycle, end = earliest, earliest + self.interval
        while cycle < end:
            for start, mine, theirs, period in placed:
                # What is in the way ends so many cycles later.
                ahead = (cycle - start) % period
                if ahead < theirs:
                    cycle += theirs - ahead
                    break
                if period - ahead < mine:
                    cycle += period - ahead + theirs
                    break
            else:
                return cycle
        return None

    def shared(self, operation: int) -> list[tuple[tuple[int, int, int], ...]]:
        """For each other operation, the resources that both reserve: (cycles of this one, cycles of the other, the
        period of the resource); those are left out that are free whenever another one is."""
        found = self._shared.get(operation)
        if found is None:
            mine = [
                (name, cycles, self.interval // self.sharers.get(name, 1))
                for name, cycles in self.operations[operation].items()
                if cycles
            ]
            found = self._shared[operation] = [
                _longest(
                    [(cycles, theirs[name], period) for name, cycles, period in mine if theirs.get(name)]
                )
                for theirs in self.operations
            ]
        return found

    def overlap_before(self, operation: int, cycle: int) -> int:
        """0 if the operation fits at `cycle`, otherwise the number of cycles to an earlier start without the
        conflict."""
        shared = self.shared(operation)
        for other, start in self.placed.items():
            for mine, theirs, period in shared[other]:
                ahead = (cycle - start) % period
                if ahead < theirs:
                    return ahead + mine
                if period - ahead < mine:
                    return mine - (period - ahead)
        return 0

    def _in_the_way(self, operation: int, cycle: int) -> set[int]:
        """The placed operations with whose reservations those of `operation` conflict if it starts at `cycle`."""
        shared = self.shared(operation)
        return {
            other
            for other, start in self.placed.items()
            for mine, theirs, period in shared[other]
            if (ahead := (cycle - start) % period) < theirs or period - ahead < mine
        }

    def _too_early(self, operation: int, cycle: int) -> set[int]:
        """The placed operations that depend on `operation` and start too early if it starts at `cycle`."""
        found: set[int] = set()
        for one in self.outgoing[operation]:
            other = self.placed.get(one.target)
            if other is not None and other < cycle + one.latency - self.interval * one.distance:
                found.add(one.target)
        return found


def _longest(found: list[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """The entries of which no other one of the same period is as long in both parts."""
    if len(found) < 2:
        return tuple(found)
    kept: list[tuple[int, int, int]] = []
    for one in sorted(set(found), reverse=True):
        if not any(other[1] >= one[1] and other[2] == one[2] for other in kept):
            kept.append(one)
    return tuple(kept)
