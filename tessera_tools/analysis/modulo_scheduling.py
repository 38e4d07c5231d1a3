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

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from math import lcm
from types import MappingProxyType

from tessera_tools.records import dataclass

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
"""Placements per operation, for one interval, before the next larger interval is tried, unless the caller says so."""


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
    recurrence: int | None = None,
    attempts: int = ATTEMPTS,
) -> Schedule:
    """Schedule a loop with an interval of at least `least` cycles.

    `operations`: the reservations of each operation.  The interval is a multiple of the numbers of `sharers`, and the
    resources of the result count the cycles of all of them.  `recurrence`: the recurrence bound, if it is known.
    `attempts`: placements per operation, for one interval, before the next larger interval is tried.
    Raises SchedulingError if no schedule exists.
    """
    resources = {name: cycles * sharers.get(name, 1) for name, cycles in resource_bounds(operations).items()}
    if recurrence is None:
        recurrence = recurrence_bound(len(operations), dependences)
    unit = lcm(*sharers.values())
    interval = max(1, least, recurrence, *resources.values())
    while True:
        interval += -interval % unit
        cycles = _Attempt(operations, dependences, interval, sharers).run(attempts)
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
    cycles = list(found.cycles)
    for number, start in enumerate(cycles):
        attempt.place(number, start)
    for number in sorted(movable, key=lambda n: (-found.cycles[n], -n)):
        start = cycles[number]
        cycle = min((cycles[other] - least for other, least in attempt.after[number]), default=start)
        if cycle <= start:
            continue
        attempt.remove(number)
        while cycle > start and (step := attempt.step_before(number, cycle)):
            cycle -= step
        cycles[number] = max(cycle, start)
        attempt.place(number, cycles[number])
    return Schedule(found.interval, tuple(cycles), found.resources, found.recurrence)


def conflicts(
    found: Schedule,
    operations: Sequence[Reservations],
    among: Sequence[int],
    sharers: Sharers = _NOT_SHARED,
) -> bool:
    """True if a reservation of an operation in `among` conflicts with one of another operation."""
    attempt = _Attempt(operations, (), found.interval, sharers)
    for number, cycle in enumerate(found.cycles):
        attempt.place(number, cycle)
    return any(attempt.takers(number, found.cycles[number]) - {number} for number in among)


def _deciding(operations: Sequence[Reservations], sharers: Sharers) -> list[str]:
    """The resources without those that are free whenever a certain other one is."""
    covers: dict[str, set[str]] = {}
    """Resource → those that each of its operations reserves for at least as long."""
    for reservations in operations:
        for name, cycles in reservations.items():
            if cycles:
                longer = {other for other, others in reservations.items() if others >= cycles}
                covers[name] = covers[name] & longer if name in covers else longer
    kept: list[str] = []
    for name, longer in covers.items():
        period = sharers.get(name, 1)
        if not any(
            other != name and sharers.get(other, 1) == period and (name not in covers[other] or other in kept)
            for other in longer
        ):
            kept.append(name)
    return kept


class _Table:
    """The modulo reservation table of one resource: which cycles of its period are taken, and by which operations."""

    def __init__(self, period: int) -> None:
        self.period = period
        self.taken: list[tuple[int, int, int]] = []
        """(start, end, operation), sorted; what goes around the end of the period has two entries."""

    def reserve(self, operation: int, cycle: int, length: int) -> None:
        """Add the reservation of an operation that starts at `cycle`."""
        start = cycle % self.period
        end = start + length
        if end > self.period:
            insort(self.taken, (0, end - self.period, operation))
            end = self.period
        insort(self.taken, (start, end, operation))

    def release(self, operation: int) -> None:
        """Remove the reservation of an operation."""
        self.taken = [one for one in self.taken if one[2] != operation]

    def first_free(self, cycle: int, length: int) -> int | None:
        """The first cycle from `cycle` on with `length` free ones; None if there is none in the period."""
        taken, period = self.taken, self.period
        if not taken:
            return cycle
        position = at = cycle % period
        last, lap = position + period, 0
        entry = bisect_left(taken, (position,))
        if entry and taken[entry - 1][1] > position:
            entry -= 1
        while at < last:
            if entry == len(taken):
                entry, lap = 0, lap + period
            start, end, _ = taken[entry]
            if start + lap - at >= length:
                return cycle + at - position
            at = max(at, end + lap)
            entry += 1
        return None

    def step_before(self, cycle: int, length: int) -> int:
        """0 if `length` cycles from `cycle` on are free, otherwise how many cycles earlier they end where one begins
        that is taken."""
        for start, end, _ in self.taken:
            ahead = (cycle - start) % self.period
            if ahead < end - start:
                return ahead + length
            if self.period - ahead < length:
                return ahead + length - self.period
        return 0

    def takers(self, cycle: int, length: int) -> set[int]:
        """The operations whose reservations conflict with `length` cycles from `cycle` on."""
        return {
            operation
            for start, end, operation in self.taken
            if (ahead := (cycle - start) % self.period) < end - start or self.period - ahead < length
        }


class _Attempt:
    """Rau's algorithm for one interval."""

    def __init__(
        self,
        operations: Sequence[Reservations],
        dependences: Sequence[Dependence],
        interval: int,
        sharers: Sharers = _NOT_SHARED,
    ) -> None:
        self.dependences, self.interval = dependences, interval
        self.placed: list[int | None] = [None] * len(operations)
        tables = {name: _Table(interval // sharers.get(name, 1)) for name in _deciding(operations, sharers)}
        self.reserved = [
            [(tables[name], cycles) for name, cycles in reservations.items() if cycles and name in tables]
            for reservations in operations
        ]
        """For each operation, the tables of its resources, and for how many cycles it occupies each."""
        self.before: list[list[tuple[int, int]]] = [[] for _ in operations]
        """For each operation, (another one, the fewest cycles from its start to this one)."""
        self.after: list[list[tuple[int, int]]] = [[] for _ in operations]
        """For each operation, (another one, the fewest cycles from this one to its start)."""
        for one in dependences:
            if one.source != one.target:
                cycles = one.latency - interval * one.distance
                self.before[one.target].append((one.source, cycles))
                self.after[one.source].append((one.target, cycles))

    def place(self, operation: int, cycle: int) -> None:
        """Let an operation start at `cycle`."""
        self.placed[operation] = cycle
        for table, length in self.reserved[operation]:
            table.reserve(operation, cycle, length)

    def remove(self, operation: int) -> None:
        """Take back the start of an operation."""
        self.placed[operation] = None
        for table, _ in self.reserved[operation]:
            table.release(operation)

    def run(self, attempts: int) -> list[int] | None:
        """The start cycles; None if the budget is spent before every operation is placed."""
        heights, last = self._heights(), dict[int, int]()
        count = len(self.placed)
        order = sorted(range(count), key=lambda n: (-heights[n], n))
        rank = {number: place for place, number in enumerate(order)}
        waiting = list(range(count))  # a heap of ranks
        budget = attempts * max(count, 1)
        while waiting and budget:
            budget -= 1
            operation = order[heappop(waiting)]
            earliest = self._earliest(operation)
            cycle = self._free(operation, earliest)
            evicted: set[int] = set()
            if cycle is None:
                # No slot is free: place it at another slot than last time, and evict.
                cycle = max(earliest, last.get(operation, earliest - 1) + 1)
                evicted = self.takers(operation, cycle)
            for other in evicted | self._too_early(operation, cycle):
                self.remove(other)
                heappush(waiting, rank[other])
            self.place(operation, cycle)
            last[operation] = cycle
        return None if waiting else [cycle for cycle in self.placed if cycle is not None]

    def _heights(self) -> list[int]:
        """The longest path from each operation to the end of the iteration; the highest operation is placed first."""
        heights = [0] * len(self.placed)
        edges = [
            (one.source, one.target, one.latency - self.interval * one.distance) for one in self.dependences
        ]
        for _ in heights:
            changed = False
            # Most dependences go forward, so that in reverse one round finds most heights.
            for source, target, cycles in reversed(edges):
                height = heights[target] + cycles
                if height > heights[source]:
                    heights[source], changed = height, True
            if not changed:
                break
        return heights

    def _earliest(self, operation: int) -> int:
        """The first cycle that the placed predecessors allow."""
        placed, earliest = self.placed, None
        for other, cycles in self.before[operation]:
            start = placed[other]
            if start is not None and (earliest is None or start + cycles > earliest):
                earliest = start + cycles
        return 0 if earliest is None else earliest

    def _free(self, operation: int, earliest: int) -> int | None:
        """The first cycle within one interval from `earliest` on at which all resources are free; None if there is
        none."""
        cycle, end = earliest, earliest + self.interval
        reserved = self.reserved[operation]
        while True:
            before = cycle
            for table, length in reserved:
                free = table.first_free(cycle, length)
                if free is None or free >= end:
                    return None
                cycle = free
            if cycle == before or len(reserved) == 1:
                return cycle

    def step_before(self, operation: int, cycle: int) -> int:
        """0 if the operation fits at `cycle`, otherwise the number of cycles to an earlier start without the
        conflict."""
        for table, length in self.reserved[operation]:
            step = table.step_before(cycle, length)
            if step:
                return step
        return 0

    def takers(self, operation: int, cycle: int) -> set[int]:
        """The placed operations with whose reservations those of `operation` conflict if it starts at `cycle`."""
        found: set[int] = set()
        for table, length in self.reserved[operation]:
            found |= table.takers(cycle, length)
        return found

    def _too_early(self, operation: int, cycle: int) -> set[int]:
        """The placed operations that depend on `operation` and start too early if it starts at `cycle`."""
        placed = self.placed
        return {
            other
            for other, cycles in self.after[operation]
            if (start := placed[other]) is not None and start < cycle + cycles
        }
