"""The trace of a launch: the instructions of each warp in order, with their accesses and the warps that they wait for.

The launch runs with asynchronous operations that complete at once (`early`), so that no warp spins: what a warp waits
for is recorded as the phase of an mbarrier or the generation of a barrier, and the replay decides when that is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.warp import CONVERGE, Mask, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Execute

__all__ = ["Recorder", "Step", "Trace"]

Phase = tuple[str, int, int, int]
"""A phase of an mbarrier ("mbarrier", CTA, shared byte, phase) or of a barrier ("barrier", CTA, number, generation)."""


class Step:
    """One instruction that a warp executed."""

    __slots__ = ("arrives", "bytes", "count", "fresh", "pc", "sectors", "waits", "wavefronts")

    def __init__(self, pc: int) -> None:
        self.pc = pc
        self.count = 1
        """The number of instructions that it represents: a run of products executes as one."""
        self.wavefronts = 0
        """Of shared memory."""
        self.sectors: Any = None
        """Numbers of the 32-byte sectors of global memory that it reads or writes; None if it does not."""
        self.fresh = 1.0
        """The part of the sectors that comes from DRAM for this access and not for that of another SM."""
        self.bytes = 0
        """That a bulk copy moves."""
        self.arrives: tuple[Phase, ...] = ()
        """Phases that it signals."""
        self.waits: Phase | None = None


@dataclass(slots=True)
class Trace:
    """One warp's steps."""

    cta: int
    cluster: int
    warp: int
    steps: list[Step] = field(default_factory=list[Step])


@dataclass(slots=True)
class Recorder(Counters):
    """The counters of a launch that is timed; they also record its trace."""

    traces: dict[tuple[int, int], Trace] = field(default_factory=dict[tuple[int, int], Trace])
    """By CTA and warp."""
    step: Step = field(default_factory=lambda: Step(-1))
    """The current one."""

    @property
    def timed(self) -> bool:
        return True

    def recorded(self, code: list[Execute]) -> list[Execute]:
        """The closures of a module, each of which records its instruction first."""
        return [self._recorded(pc, execute) for pc, execute in enumerate(code)]

    def _recorded(self, pc: int, execute: Execute) -> Execute:
        traces = self.traces

        def run(warp: Warp, mask: Mask) -> object:
            key = warp.cta.number, warp.index
            trace = traces.get(key)
            if trace is None:
                x, y, _ = warp.cta.cluster.launch.clusters
                i, j, k = warp.cta.cluster.index
                trace = traces[key] = Trace(key[0], i + x * (j + y * k), key[1])
            step = self.step = Step(pc)
            trace.steps.append(step)
            result = execute(warp, mask)
            if result is CONVERGE:
                # It runs again with the other lanes.
                trace.steps.pop()
            return result

        return run

    def shared_access(self, line: int, addresses: Array, width: int) -> int:
        found = Counters.shared_access(self, line, addresses, width)
        self.step.wavefronts += found
        return found

    def global_access(self, line: int, addresses: Array, width: int) -> Any:
        found = Counters.global_access(self, line, addresses, width)
        self._touch(found)
        return found

    def bulk(self, what: str, count: int, places: Any = None) -> None:
        self.bytes[what] += count
        self.step.bytes += count
        if places is not None and len(places):
            self._touch(np.unique(np.asarray(places, np.uint64) >> np.uint64(5)))

    def _touch(self, found: Any) -> None:
        step = self.step
        step.sectors = found if step.sectors is None else np.union1d(step.sectors, found)

    def repeat(self, count: int) -> None:
        self.step.count = count

    def arrive(self, kind: str, cta: int, place: int, phase: int) -> None:
        self.step.arrives += ((kind, cta, place, phase),)

    def gave_up(self, warp: Warp) -> None:
        trace = self.traces.get((warp.cta.number, warp.index))
        if trace is not None:
            trace.steps[-1].waits = None

    def wait(self, kind: str, cta: int, place: int, phase: int) -> None:
        self.step.waits = (kind, cta, place, phase)


def arrivals(traces: list[Trace]) -> Counter[Phase]:
    """How many signals complete each phase."""
    found: Counter[Phase] = Counter()
    for trace in traces:
        for step in trace.steps:
            found.update(step.arrives)
    return found
