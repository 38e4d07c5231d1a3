"""Large grids: a few clusters are simulated, one SM is replayed with them, and the grid is a multiple of that.

grid ──choose()──▶ clusters to run: a few over the grid, and the neighbors of the first
traces ──freshness()──▶ the part of each access that no other SM fetches at the same time: it comes from DRAM
traces ──residents()──▶ the traces of all CTAs that one SM holds
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tessera_tools.sim.clock.record import Phase, Step, Trace

__all__ = ["Sample", "choose", "freshness", "residents"]

_REPRESENTATIVES = 3
_APART = np.uint64(1 << 45)
"""Sectors between the data of CTAs that stand for different ones."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Numbers of clusters."""

    representatives: tuple[int, ...]
    """Their mean stands for the grid."""
    neighbors: tuple[int | None, int | None, int | None]
    """Of cluster 0 in x, y and z; None where the grid has no other."""

    @property
    def run(self) -> tuple[int, ...]:
        """The clusters to simulate, in order."""
        return tuple(sorted({0, *self.representatives, *(one for one in self.neighbors if one is not None)}))


def choose(clusters: tuple[int, int, int]) -> Sample:
    """The clusters of a grid of clusters that are simulated."""
    x, y, z = clusters
    count = x * y * z
    # The middle of each of a few equal parts.
    parts = min(_REPRESENTATIVES, count)
    middles = tuple(sorted({(2 * part + 1) * count // (2 * parts) for part in range(parts)}))
    steps = ((x, 1), (y, x), (z, x * y))
    first, second, third = (step if extent > 1 else None for extent, step in steps)
    return Sample(middles, (first, second, third))


Key = tuple[int, int, int, int]
"""Rank of the CTA in its cluster, warp, instruction, and how often the warp had run it before."""


def freshness(
    traces: Sequence[Trace], sample: Sample, clusters: tuple[int, int, int], at_once: int
) -> dict[Key, float]:
    """For each access: the number of different places that `at_once` successive clusters access, by their number.

    An access whose place does not depend on the cluster is fetched once for all of them. Places are taken to depend on
    the indices of the cluster linearly, with the differences between the first one and its neighbors.
    """
    bases = {number: _places(traces, number) for number in (0, *sample.neighbors) if number is not None}
    origin = bases.get(0, {})
    x, y, _ = clusters
    numbers = np.arange(at_once)
    indices = (numbers % x, numbers // x % y, numbers // (x * y))
    found: dict[Key, float] = {}
    known: dict[tuple[int, ...], float] = {}
    for key, place in origin.items():
        deltas = tuple(
            bases[number].get(key, place) - place if number is not None else 0 for number in sample.neighbors
        )
        if deltas not in known:
            offsets = sum(index * delta for index, delta in zip(indices, deltas, strict=True))
            known[deltas] = len(np.unique(offsets)) / at_once
        found[key] = known[deltas]
    return found


def _places(traces: Sequence[Trace], cluster: int) -> dict[Key, int]:
    """The first sector of each access of a cluster."""
    found: dict[Key, int] = {}
    chosen, ranks = _members(traces, cluster)
    for trace in chosen:
        for key, step in _keyed(trace, ranks[trace.cta]):
            if step.sectors is not None and len(step.sectors):
                found[key] = int(step.sectors[0])
    return found


def _members(traces: Sequence[Trace], cluster: int) -> tuple[list[Trace], dict[int, int]]:
    """The traces of a cluster, and the rank of each of its CTAs by its number."""
    chosen = [trace for trace in traces if trace.cluster == cluster]
    return chosen, {number: rank for rank, number in enumerate(sorted({trace.cta for trace in chosen}))}


def _keyed(trace: Trace, rank: int) -> Iterable[tuple[Key, Step]]:
    """The steps of a warp, of the CTA with this rank, by their keys."""
    times: dict[int, int] = {}
    for step in trace.steps:
        time = times[step.pc] = times.get(step.pc, -1) + 1
        yield (rank, trace.warp, step.pc, time), step


def residents(traces: Sequence[Trace], cluster: int, copies: int, fresh: dict[Key, float]) -> list[Trace]:
    """`copies` clusters like one that was simulated, each with data and barriers of its own."""
    chosen, ranks = _members(traces, cluster)
    found: list[Trace] = []
    for copy in range(copies):
        base = copy * len(ranks)
        for trace in chosen:
            rank = ranks[trace.cta]
            steps = [_copied(step, key, copy, ranks, base, fresh) for key, step in _keyed(trace, rank)]
            found.append(Trace(rank + base, copy, trace.warp, steps))
    return found


def _copied(
    step: Step, key: Key, copy: int, ranks: dict[int, int], base: int, fresh: dict[Key, float]
) -> Step:
    """The step in a copy of its cluster, whose CTAs have the numbers from `base`."""
    if step.sectors is None and not step.arrives and step.waits is None:
        return step
    one = Step(step.pc)
    one.count, one.wavefronts, one.bytes = step.count, step.wavefronts, step.bytes
    if step.sectors is not None:
        one.sectors = step.sectors + _APART * np.uint64(copy)
        one.fresh = fresh.get(key, 1.0)
    one.arrives = tuple(_renamed(phase, ranks, base) for phase in step.arrives)
    one.waits = _renamed(step.waits, ranks, base) if step.waits is not None else None
    return one


def _renamed(phase: Phase, ranks: dict[int, int], base: int) -> Phase:
    return phase[0], ranks[phase[1]] + base, phase[2], phase[3]
