"""How long a launch on the simulated GPU would take on a real one: its trace, replayed by the clock (sim/clock).

launch ──Recorder──▶ traces ┐
PTX ──ptxas, nvdisasm──▶ SASS of each line ──▶ costs ┴──replay──▶ Estimate(cycles, stalls, busy units, bytes)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tessera_tools.diagnostics import error
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.sass_lines import sass_by_line
from tessera_tools.sim.clock.cost import costs
from tessera_tools.sim.clock.record import Recorder
from tessera_tools.sim.clock.replay import Timeline, replay
from tessera_tools.sim.launch import Launch
from tessera_tools.target import Target, occupancy, targets
from tessera_tools.target.timing import Timing, timing

__all__ = ["Estimate", "check_timed", "estimate"]

_L1_SHARED = {"sm_80": 192 << 10, "sm_90": 256 << 10}
"""Bytes of an SM that L1 and shared memory divide (CUDA C++ Programming Guide, "Compute Capability 8.0", "9.0")."""


@dataclass(slots=True)
class Estimate:
    """What the clock says of one launch."""

    target: Target
    table: Timing
    timeline: Timeline
    source: str
    """Where the instruction counts come from: `SASS` or `PTX`."""
    why_not_sass: str
    flops: Counter[str]
    registers: int
    shared: int

    @property
    def seconds(self) -> float:
        """Of the kernel, at the table's clock; without the launch."""
        return self.timeline.cycles / self.table.value("clock_mhz") / 1e6


def check_timed(target: Target | None) -> tuple[Target, Timing]:
    """The target with its table. Raises DiagnosticError for one that the clock does not know."""
    table = timing(target) if target is not None else None
    if target is None or table is None:
        known = ", ".join(one.name for one in targets() if timing(one) is not None)
        name = target.name if target is not None else "the PTX's target"
        raise error(None, f"the clock has no table for {name}; expected one of {known}", "choose with --gpu-name")
    return target, table


def estimate(launch: Launch, recorder: Recorder, ptx: str, target: Target, table: Timing) -> Estimate:
    """The time of a launch that has run with `recorder`. Raises DiagnosticError if it does not fit on an SM."""
    why = ""
    try:
        sass, report = sass_by_line(ptx, target)
        registers = report.functions[launch.entry.name].registers
    except ToolError as failure:
        sass, registers, why = {}, 0, failure.message
    found = costs(launch.module.program, launch.functions, table, sass)
    fits = occupancy(target, threads=launch.threads, registers=registers, shared=launch.shared_size)
    if not fits.blocks:
        raise error(None, f"no CTA of '{launch.entry.name}' fits on an SM of {target.name}")
    left = _L1_SHARED[target.name] - fits.blocks * launch.shared_size
    timeline = replay(
        list(recorder.traces.values()), found, table, resident=fits.blocks, l1_bytes=max(left, 16 << 10)
    )
    return Estimate(
        target, table, timeline, "SASS" if sass else "PTX", why, recorder.flops, registers, launch.shared_size
    )
