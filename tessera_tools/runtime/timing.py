"""How long a launch on the simulated GPU would take on a real one: its trace, replayed by the clock (sim/clock).

launch ──Recorder──▶ traces ┐
PTX ──ptxas, nvdisasm──▶ SASS of each line ──▶ costs ┴──replay──▶ Estimate(cycles, stalls, busy units, bytes)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tessera_tools.diagnostics import error
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.sass_lines import sass_by_line
from tessera_tools.runtime.workers import PartialLaunch
from tessera_tools.sim.clock.cost import Cost, costs
from tessera_tools.sim.clock.record import Recorder, Trace
from tessera_tools.sim.clock.replay import Timeline, replay
from tessera_tools.sim.clock.sample import Sample, choose, freshness, residents
from tessera_tools.target import Target, occupancy, targets
from tessera_tools.target.timing import Timing, timing

__all__ = ["Estimate", "TimedLaunch", "check_timed", "estimate"]

_MOST_CLUSTERS = 16
"""Clusters of a grid that is simulated whole."""
_L1_SHARED = {"sm_80": 192 << 10, "sm_90": 256 << 10}
"""Bytes of an SM that L1 and shared memory divide (CUDA C++ Programming Guide, "Compute Capability 8.0", "9.0")."""


@dataclass(slots=True)
class Estimate:
    """What the clock says of one launch."""

    target: Target
    table: Timing
    timeline: Timeline
    """Of what was replayed: the launch, or one SM of it."""
    source: str
    """Where the instruction counts come from: `SASS` or `PTX`."""
    why_not_sass: str
    flops: Counter[str]
    """Of the whole launch, by unit."""
    registers: int
    ctas: int = 0
    simulated: int = 0
    """CTAs that were simulated; the others are extrapolated."""
    cycles: float = 0.0
    waves: float = 0.0
    scale: float = 1.0
    """How often what was replayed happens in the launch."""

    @property
    def seconds(self) -> float:
        """Of the kernel, at the table's clock; without the launch."""
        return self.cycles / self.table.value("clock_mhz") / 1e6


def check_timed(target: Target | None) -> tuple[Target, Timing]:
    """The target with its table. Raises DiagnosticError for one that the clock does not know."""
    table = timing(target) if target is not None else None
    if target is None or table is None:
        known = ", ".join(one.name for one in targets() if timing(one) is not None)
        name = target.name if target is not None else "the PTX's target"
        raise error(
            None, f"the clock has no table for {name}; expected one of {known}", "choose with --gpu-name"
        )
    return target, table


class TimedLaunch(PartialLaunch):
    """A launch that is timed: all clusters of a small grid, a sample of a large one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.size = self.cluster[0] * self.cluster[1] * self.cluster[2]
        """CTAs of a cluster."""
        self.sample = choose(self.clusters) if self.count > _MOST_CLUSTERS else None

    def _indices(self) -> Iterator[tuple[int, int, int]]:
        for number in self.sample.run if self.sample is not None else range(self.count):
            self.random = np.random.default_rng([self.seed, number])
            self.tally[0] += 1
            yield self.cluster_at(number)
        self.stopped = False


def estimate(launch: TimedLaunch, recorder: Recorder, ptx: str, target: Target, table: Timing) -> Estimate:
    """The time of a launch that has run with `recorder`. Raises DiagnosticError if no CTA fits on an SM."""
    why = ""
    try:
        sass, report = sass_by_line(ptx, target)
        registers = report.functions[launch.entry.name].registers
    except ToolError as failure:
        sass, registers, why = {}, 0, failure.message
    found = costs(launch.module.program, launch.functions, table, sass)
    fits = occupancy(target, threads=launch.threads, registers=registers, shared=launch.shared_size).blocks
    if not fits:
        raise error(None, f"no CTA of '{launch.entry.name}' fits on an SM of {target.name}")
    l1_bytes = max(_L1_SHARED[target.name] - fits * launch.shared_size, 16 << 10)
    traces = list(recorder.traces.values())
    made = Estimate(target, table, Timeline(), "SASS" if sass else "PTX", why, recorder.flops, registers)
    made.ctas = launch.count * launch.size
    if launch.sample is None:
        made.timeline = replay(traces, found, table, resident=fits, l1_bytes=l1_bytes)
        made.cycles, made.waves, made.simulated = made.timeline.cycles, made.timeline.waves, made.ctas
        return made
    return _extrapolated(made, launch, launch.sample, traces, found, fits, l1_bytes)


def _extrapolated(
    made: Estimate,
    launch: TimedLaunch,
    sample: Sample,
    traces: list[Trace],
    found: dict[int, Cost],
    fits: int,
    l1_bytes: int,
) -> Estimate:
    """One SM, or those of a cluster, with as many CTAs as the others; the grid is the mean of a few such."""
    sms = int(made.table.value("sms"))
    groups = max(1, sms // launch.size)
    copies = min(fits, -(-launch.count // groups))
    active = min(groups, launch.count)
    at_once = min(active * copies, launch.count)
    fresh = freshness(traces, sample, launch.clusters, at_once)

    def wave(number: int, copies: int, active: int) -> Timeline:
        held = residents(traces, number, copies, fresh)
        return replay(held, found, made.table, resident=fits, l1_bytes=l1_bytes, share=1 / active)

    timelines = [wave(number, copies, active) for number in sample.representatives]
    mean = sum(one.cycles for one in timelines) / len(timelines)
    waves = launch.count / (active * copies)
    # The last wave has the GPU for itself.
    left = launch.count % (active * copies)
    last = wave(sample.representatives[-1], -(-left // active), min(active, left)).cycles if left else 0.0
    made.timeline = timelines[len(timelines) // 2]
    made.cycles = mean * (launch.count // (active * copies)) + last
    made.waves = waves
    made.simulated = len(sample.run) * launch.size
    made.scale = launch.count / copies
    made.flops = Counter(
        {unit: count * launch.count // len(sample.run) for unit, count in made.flops.items()}
    )
    return made
