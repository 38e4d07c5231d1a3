"""Which CTAs of a grid read the same memory: the first accesses of each, without running the rest of them.

trace of one cluster ──plan()──▶ warps and steps that reach the first access of each load
launch of many clusters ──Surveyor──▶ the first sector of each load, by cluster and CTA
places ──fresh()──▶ the part of each load that comes from DRAM, wave after wave, from the order of the CTAs

A load of one CTA is taken to read as far from its first access as the same load of another CTA does from its own. In a
loop that reads at equal distances, each lap is looked up on its own: windows of neighboring CTAs overlap.

If a CTA reads at places that it has loaded, and passes them from one warp to another, warps that do not wait do not
find them. Some clusters run again then as they would, until all their loads have begun.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.clock.cuts import weights
from tessera_tools.sim.clock.record import Step, Trace
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.program import Instruction
from tessera_tools.sim.warp import CHANGED, CONVERGE, Mask, Outcome, Wait, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Execute

__all__ = ["MOST_SURVEYED", "Load", "Surveyor", "fresh", "plan", "reached", "reads_shared"]

MOST_SURVEYED = 600
"""CTAs that are surveyed."""
_FIRST = 3000
"""Steps of a warp in which first accesses are searched, with the laps that its trace skips: a survey skips none."""
_SECTOR = 32
_MOST_LAPS = 32
"""Laps of a loop that are looked up: some of more, the same of all CTAs."""

Load = tuple[int, int]
"""A load of a cluster: the rank of the CTA, and the instruction."""


def _ranks(traces: Sequence[Trace]) -> dict[int, int]:
    """The rank of each CTA of a cluster, by its number."""
    return {number: rank for rank, number in enumerate(sorted({trace.cta for trace in traces}))}


def reached(traces: Sequence[Trace], loads: frozenset[int]) -> frozenset[Load]:
    """The loads among the first steps of a cluster."""
    ranks = _ranks(traces)
    return frozenset(
        (ranks[trace.cta], step.pc)
        for trace in traces
        for _, step in _first_steps(trace)
        if step.pc in loads and step.sectors is not None
    )


def _first_steps(trace: Trace) -> Iterator[tuple[int, Step]]:
    """The first steps of a warp, and how many it has executed by then if it skips nothing."""
    numbers = np.cumsum(weights(trace)).astype(int)
    return zip(numbers.tolist(), trace.steps[: int(np.searchsorted(numbers, _FIRST, "right"))], strict=False)


def plan(traces: Sequence[Trace], loads: frozenset[int]) -> dict[tuple[int, int], int]:
    """The warps of a cluster, by the rank of their CTA and their number, that together execute all of its `loads`,
    and the number of steps in which they do."""
    ranks = _ranks(traces)
    first: dict[tuple[int, int], dict[int, int]] = {}
    for trace in traces:
        found: dict[int, int] = {}
        for number, step in _first_steps(trace):
            if step.pc in loads and step.sectors is not None:
                found.setdefault(step.pc, number)
        if found:
            first[ranks[trace.cta], trace.warp] = found
    chosen: dict[tuple[int, int], int] = {}
    left = {(key[0], pc) for key, found in first.items() for pc in found}
    while left:
        best = max(sorted(first), key=lambda key: sum((key[0], pc) in left for pc in first[key]))
        new = {(best[0], pc) for pc in first[best]} & left
        chosen[best] = max(first[best][pc] for _, pc in new)
        left -= new
    return chosen


def reads_shared(
    traces: Sequence[Trace], planned: Mapping[tuple[int, int], int], instructions: Sequence[Instruction]
) -> bool:
    """Whether a warp of a survey reads shared memory in its planned steps: maybe where its loads are."""
    ranks = _ranks(traces)
    return any(
        instructions[step.pc].opcode == "ld" and "shared" in instructions[step.pc].modifiers
        for trace in traces
        for step in trace.steps[: planned.get((ranks[trace.cta], trace.warp), 0)]
    )


@dataclass(slots=True)
class Surveyor(Counters):
    """The counters of a survey: it stops each warp after the planned steps, and no warp waits; or, if `whole`, each
    cluster when all loads that are planned have begun."""

    plan: Mapping[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    loads: frozenset[int] = frozenset()
    whole: bool = False
    expected: frozenset[Load] = frozenset()
    """The loads of a cluster."""
    places: dict[int, dict[Load, int]] = field(default_factory=dict[int, dict[Load, int]])
    """By cluster: the first sector of each load."""
    ended: set[int] = field(default_factory=set[int])
    """Clusters of which a planned warp has ended by itself."""
    current: tuple[int, int, int] = (0, 0, 0)
    """Cluster, rank and instruction."""

    @property
    def timed(self) -> bool:
        return True

    @property
    def passing(self) -> bool:
        return not self.whole

    def lacks(self) -> bool:
        """Whether most clusters lack a load."""
        found = Counter(load for places in self.places.values() for load in places)
        return any(2 * found[load] < len(self.places) for load in self.expected)

    def recorded(self, code: list[Execute]) -> list[Execute]:
        """The closures of a module, each of which ends its warp after the planned steps."""
        record = self._whole if self.whole else self._recorded
        return [record(pc, execute) for pc, execute in enumerate(code)]

    def _whole(self, pc: int, execute: Execute) -> Execute:
        def run(warp: Warp, mask: Mask) -> Outcome:
            number = self._cluster(warp)
            if len(self.places.get(number, ())) >= len(self.expected):
                warp.live = 0
                warp.splits.clear()
                return CHANGED
            self.current = (number, warp.cta.rank, pc)
            return execute(warp, mask)

        return run

    @staticmethod
    def _cluster(warp: Warp) -> int:
        x, y, _ = warp.cta.cluster.launch.clusters
        i, j, k = warp.cta.cluster.index
        return i + x * (j + y * k)

    def _recorded(self, pc: int, execute: Execute) -> Execute:
        def run(warp: Warp, mask: Mask) -> Outcome:
            left = warp.state.get("survey")
            if left is None:
                left = self.plan.get((warp.cta.rank, warp.index), 0)
            if not left:
                warp.live = 0
                warp.splits.clear()
                return CHANGED
            self.current = (self._cluster(warp), warp.cta.rank, pc)
            result = execute(warp, mask)
            if result is not CONVERGE:
                warp.state["survey"] = left - 1
                if not warp.live and left > 1:
                    self.ended.add(self.current[0])
            if isinstance(result, Wait):
                if result.finish is not None:
                    result.finish(warp, mask)
                return None
            return result

        return run

    def global_access(self, line: int, addresses: Array, width: int) -> Array:
        found = Counters.global_access(self, line, addresses, width)
        if len(found):
            self._touch(int(found[0]))
        return found

    def bulk(self, what: str, count: int, places: Array | None = None, ctas: tuple[int, ...] = ()) -> None:
        if places is not None and len(places):
            self._touch(int(places[0]) >> 5)

    def _touch(self, sector: int) -> None:
        cluster, rank, pc = self.current
        if pc in self.loads:
            self.places.setdefault(cluster, {}).setdefault((rank, pc), sector)


def fresh(
    traces: Sequence[Trace],
    places: Mapping[int, Mapping[Load, int]],
    waves: Sequence[Sequence[int]],
    capacity: float,
) -> list[dict[Load, float]]:
    """For each wave of clusters and each load: the part that DRAM provides; L2, or a CTA of the same wave, the rest.

    traces: of one cluster. capacity: bytes of L2 that hold what earlier waves have read.
    """
    sizes, laps = _laps(traces)
    held: OrderedDict[tuple[int, int], float] = OrderedDict()
    total = 0.0
    result: list[dict[Load, float]] = []
    for wave in waves:
        seen: set[tuple[int, int]] = set()
        read: Counter[Load] = Counter()
        news: Counter[Load] = Counter()
        for number in wave:
            for load, place in places.get(number, {}).items():
                found = laps[load].of(place) if load in laps else [place]
                size = sizes[load] / len(found)
                read[load] += len(found)
                for one in found:
                    key = load[1], one
                    if key in seen:
                        continue
                    seen.add(key)
                    if key in held:
                        held.move_to_end(key)
                        continue
                    news[load] += 1
                    held[key] = size
                    total += size
        while total > capacity and held:
            total -= held.popitem(last=False)[1]
        result.append({load: news[load] / count for load, count in read.items()})
    return result


class _Laps(NamedTuple):
    """The distance in sectors between the laps of a loop, and how many there are."""

    step: int
    """Negative if the loop reads backward."""
    laps: int

    def of(self, place: int) -> list[int]:
        """The first sectors of the laps from a place on; of more than can be looked up, those at multiples."""
        every = -(-self.laps // _MOST_LAPS)
        first = place // abs(self.step)
        skipped = (-first if self.step > 0 else first) % every if every <= self.laps else 0
        return [place + lap * self.step for lap in range(skipped, self.laps, every)] or [place]


def _laps(traces: Sequence[Trace]) -> tuple[Counter[Load], dict[Load, _Laps]]:
    """The bytes of each load, and the laps of those that read at equal distances."""
    ranks = {number: rank for rank, number in enumerate(sorted({trace.cta for trace in traces}))}
    sizes: Counter[Load] = Counter()
    places: dict[Load, dict[int, list[int]]] = {}
    times: Counter[tuple[Load, int]] = Counter()
    for trace in traces:
        for step, weight in zip(trace.steps, weights(trace), strict=True):
            if step.sectors is not None and len(step.sectors):
                load = ranks[trace.cta], step.pc
                sizes[load] += _SECTOR * len(step.sectors) * int(weight)
                places.setdefault(load, {}).setdefault(trace.warp, []).append(int(step.sectors[0]))
                times[load, trace.warp] += int(weight)
    found: dict[Load, _Laps] = {}
    for load, by_warp in places.items():
        warp, firsts = max(by_warp.items(), key=lambda item: len(item[1]))
        apart = Counter(b - a for a, b in pairwise(firsts))
        (step, often), *_ = apart.most_common(1) or [(0, 0)]
        if step and 2 * often > len(firsts) - 1:
            found[load] = _Laps(step, times[load, warp])
    return sizes, found
