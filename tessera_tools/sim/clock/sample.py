"""Large grids: a few clusters are simulated, one SM is replayed with them, and the grid is a multiple of that.

grid ──representatives()──▶ clusters to run
traces ──residents()──▶ the traces of all CTAs that one SM holds
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tessera_tools.sim.clock.cuts import weights
from tessera_tools.sim.clock.record import Phase, Step, Trace
from tessera_tools.sim.clock.survey import Load

__all__ = ["alike", "in_proportion", "representatives", "residents", "shape", "spaced"]

_APART = np.uint64(1 << 45)
"""Sectors between the data of CTAs that stand for different ones."""
_SPACED = 4
"""Clusters that tell how the work is spread over those of a grid that runs at once."""
_SAME = 0.03
"""The part by which two ratios of counts may differ, and the part of the instructions that may have others."""


def representatives(shape: Sequence[int]) -> tuple[int, ...]:
    """The numbers of the clusters that stand for a grid of `shape` clusters: two that are symmetric in all dimensions.

    Their mean is that of all if the work grows linearly with the coordinates, as in causal attention.
    """
    x, y, _ = shape
    low = [extent // 4 for extent in shape]
    high = [extent - 1 - at for extent, at in zip(shape, low, strict=True)]
    return tuple(sorted({at[0] + x * (at[1] + y * at[2]) for at in (low, high)}))


def spaced(count: int) -> tuple[int, ...]:
    """The numbers of a few clusters at equal distances, of `count` that run at once."""
    return tuple(sorted({count * (2 * at + 1) // (2 * _SPACED) for at in range(_SPACED)}))


def in_proportion(traces: Sequence[Trace], one: int, other: int) -> bool:
    """Whether one of two clusters executes all that is in a loop as many times as often as the other one: the CTAs of a
    persistent kernel run equal programs, some of them one more.  Otherwise their programs differ in work."""
    counts: dict[int, Counter[tuple[int, int, int]]] = {one: Counter(), other: Counter()}
    for trace in traces:
        if trace.cluster in counts:
            first = min(each.cta for each in traces if each.cluster == trace.cluster)
            found = counts[trace.cluster]
            for step, times in zip(trace.steps, weights(trace).tolist(), strict=True):
                found[trace.cta - first, trace.warp, step.pc] += int(times)
    keys = [key for key in counts[one] | counts[other] if max(counts[one][key], counts[other][key]) > 1]
    total, rest = (sum(counts[number][key] for key in keys) for number in (one, other))
    if not rest:
        return not total
    ratio = total / rest
    others = sum(
        counts[other][key]
        for key in keys
        if abs(counts[one][key] - ratio * counts[other][key]) > _SAME * ratio * counts[other][key]
    )
    return others <= _SAME * rest


def alike(traces: Sequence[Trace], clusters: Sequence[int]) -> bool:
    """True if the clusters execute the same instructions."""
    shapes = {
        tuple(
            sorted(
                (trace.warp, len(trace.steps), tuple(cut.times for cut in trace.cuts))
                for trace in traces
                if trace.cluster == number
            )
        )
        for number in clusters
    }
    return len(shapes) == 1


def shape(traces: Sequence[Trace], cluster: int) -> int:
    """Stands for the instructions of a cluster, with the amounts of data that they access."""
    chosen = [trace for trace in traces if trace.cluster == cluster]
    first = min((trace.cta for trace in chosen), default=0)
    return hash(
        tuple(
            (trace.cta - first, trace.warp, step.pc, step.count, step.wavefronts, step.bytes)
            for trace in sorted(chosen, key=lambda one: (one.cta, one.warp))
            for step in trace.steps
        )
    )


def residents(traces: Sequence[Trace], cluster: int, copies: int, fresh: Mapping[Load, float]) -> list[Trace]:
    """`copies` clusters like one that was simulated, each with data and barriers of its own.

    fresh: the part of each load that comes from DRAM.
    """
    chosen = [trace for trace in traces if trace.cluster == cluster]
    ranks = {number: rank for rank, number in enumerate(sorted({trace.cta for trace in chosen}))}
    found: list[Trace] = []
    for copy in range(copies):
        base = copy * len(ranks)
        for trace in chosen:
            rank = ranks[trace.cta]
            steps = [
                _copied(step, copy, ranks, base, fresh.get((rank, step.pc), 1.0)) for step in trace.steps
            ]
            found.append(Trace(rank + base, copy, trace.warp, steps))
    return found


def _copied(step: Step, copy: int, ranks: dict[int, int], base: int, fresh: float) -> Step:
    """The step in a copy of its cluster, whose CTAs have the numbers from `base`."""
    if step.sectors is None and not step.arrives and step.waits is None and step.product is None:
        return step
    one = step.like()
    if step.product is not None:
        one.product = step.product._replace(ctas=tuple(ranks[cta] + base for cta in step.product.ctas))
    if step.sectors is not None:
        one.sectors = step.sectors + _APART * np.uint64(copy)
        one.fresh = fresh
    one.arrives = tuple(_renamed(phase, ranks, base) for phase in step.arrives)
    one.targets = tuple(ranks[cta] + base for cta in step.targets)
    # A write of another cluster is not among the copies.
    known = step.waits is not None and step.waits[1] in ranks
    one.waits = _renamed(step.waits, ranks, base) if step.waits is not None and known else None
    return one


def _renamed(phase: Phase, ranks: dict[int, int], base: int) -> Phase:
    return phase[0], ranks[phase[1]] + base, phase[2], phase[3]
