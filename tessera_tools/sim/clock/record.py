"""The trace of a launch: the instructions of each warp in order, with their accesses and the warps that they wait for.

The launch runs with asynchronous operations that complete at once (`early`), so that no warp spins: what a warp waits
for is recorded as the phase of an mbarrier or the generation of a barrier, and the replay decides when that is.

A warp that polls global memory until another one writes it is recorded as one that waits for that write: the trace has
the last lap of its loop only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.counters import Counters
from tessera_tools.sim.program import Instruction
from tessera_tools.sim.warp import CONVERGE, Mask, Outcome, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.clock.cuts import Cut
    from tessera_tools.sim.clock.steady import Steady
    from tessera_tools.sim.clock.tickets import Tickets
    from tessera_tools.sim.decode import Execute

__all__ = ["Recorder", "Step", "Trace", "Umma", "may_poll", "may_write"]

Phase = tuple[str, int, int, int]
"""A phase of an mbarrier ("mbarrier", CTA, shared byte, phase), of a barrier ("barrier", CTA, number, generation), of
the barrier of a cluster ("cluster", its first CTA, 0, generation), or a write to memory that others poll ("write", CTA,
sector, number)."""


class Umma(NamedTuple):
    """What the tensor cores of an SM do for one tcgen05.mma, which may have a CTA of a pair on each of two SMs."""

    work: float
    """Multiply-adds of 16-bit numbers that take as long; 0 for a copy to tensor memory."""
    feed: int
    """Bytes of shared memory that each SM reads."""
    ctas: tuple[int, ...]
    in_tensor_memory: bool
    """A is in tensor memory."""


class Step:
    """One instruction that a warp executed."""

    __slots__ = (
        "arrives", "bytes", "count", "fresh", "pc", "product", "sectors", "targets", "waits", "wavefronts",
    )  # fmt: skip

    def __init__(self, pc: int) -> None:
        self.pc = pc
        self.count = 1
        """The number of instructions that it represents: a run of products executes as one."""
        self.wavefronts = 0
        """Of shared memory."""
        self.sectors: Array | None = None
        """Numbers of the 32-byte sectors of global memory that it reads or writes; None if it does not."""
        self.fresh = 1.0
        """The part of the sectors that comes from DRAM for this access and not for that of another SM."""
        self.bytes = 0
        """That a bulk copy moves."""
        self.targets: tuple[int, ...] = ()
        """The CTAs to whose shared memory it moves them, for each phase that it signals; none if they are those of the
        phases."""
        self.product: Umma | None = None
        """Of tcgen05.mma and tcgen05.cp."""
        self.arrives: tuple[Phase, ...] = ()
        """Phases that it signals."""
        self.waits: Phase | None = None

    def like(self) -> Step:
        """A copy."""
        one = Step(self.pc)
        one.count, one.wavefronts, one.sectors, one.fresh = (
            self.count,
            self.wavefronts,
            self.sectors,
            self.fresh,
        )
        one.bytes, one.arrives, one.waits, one.product = self.bytes, self.arrives, self.waits, self.product
        one.targets = self.targets
        return one


@dataclass(slots=True)
class Trace:
    """One warp's steps."""

    cta: int
    cluster: int
    warp: int
    steps: list[Step] = field(default_factory=list[Step])
    cuts: list[Cut] = field(default_factory=list["Cut"])
    """Where laps of loops are missing, in order."""


@dataclass(slots=True)
class Recorder(Counters):
    """The counters of a launch that is timed; they also record its trace."""

    traces: dict[tuple[int, int], Trace] = field(default_factory=dict[tuple[int, int], Trace])
    """By CTA and warp."""
    step: Step = field(default_factory=lambda: Step(-1))
    """The current one."""
    polls: frozenset[int] = frozenset()
    """The instructions that may poll global memory (`may_poll`)."""
    writes: frozenset[int] = frozenset()
    """The instructions that write global memory, if there is one that may poll it."""
    laps: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])
    """By CTA, warp and backward branch: the length of the trace after the lap before."""
    spun: set[tuple[int, int, int]] = field(default_factory=set[tuple[int, int, int]])
    """CTA, warp and instruction that has polled."""
    written: dict[int, Phase] = field(default_factory=dict[int, Phase])
    """By sector: its last write."""
    steady: Steady | None = None
    """What skips laps of long loops, if anything does."""
    tickets: Tickets | None = None
    """The tiles that clusters take in turn, if only some of them run."""
    operations: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])
    """By instruction: the unit and the number of floating-point operations of one execution."""

    @property
    def timed(self) -> bool:
        return True

    @property
    def polling(self) -> bool:
        return bool(self.polls)

    def recorded(self, code: list[Execute]) -> list[Execute]:
        """The closures of a module, each of which records its instruction first."""
        return [self._recorded(pc, execute) for pc, execute in enumerate(code)]

    def _recorded(self, pc: int, execute: Execute) -> Execute:
        traces = self.traces
        counted = False

        def run(warp: Warp, mask: Mask) -> Outcome:
            nonlocal counted
            key = warp.cta.number, warp.index
            trace = traces.get(key)
            if trace is None:
                x, y, _ = warp.cta.cluster.launch.clusters
                i, j, k = warp.cta.cluster.index
                trace = traces[key] = Trace(key[0], i + x * (j + y * k), key[1])
            steady = self.steady
            if steady is not None and pc in steady.ends:
                steady.arrive(warp, mask, pc, trace)
            step = self.step = Step(pc)
            trace.steps.append(step)
            result: Any
            if counted:
                result = execute(warp, mask)
            else:
                before = self.flops.copy()
                result = execute(warp, mask)
                counted = result is not CONVERGE
                for unit, amount in (self.flops - before).items():
                    self.operations[pc] = unit, amount
            if result is CONVERGE:
                # It runs again with the other lanes.
                trace.steps.pop()
            elif self.tickets is not None and pc in self.tickets.loads:
                self.tickets.loaded(warp, mask, pc, trace)
            elif self.polls:
                if result.__class__ is int and result <= pc:
                    self._lap(trace, pc)
                elif pc in self.writes and step.sectors is not None:
                    self._write(trace, step, step.sectors)
                elif pc in self.polls:
                    self._polled(trace, step)
            return result

        return run

    def _lap(self, trace: Trace, branch: int) -> None:
        """A warp begins another lap of a loop: one that only polls replaces the lap before."""
        key = trace.cta, trace.warp, branch
        steps = trace.steps
        begin = self.laps.get(key)
        self.laps[key] = len(steps)
        if begin is None:
            return
        count = len(steps) - begin
        lap, before = steps[begin:], steps[max(0, begin - count) : begin]
        if [one.pc for one in lap] != [one.pc for one in before]:
            return
        polled = [one for one in lap if one.pc in self.polls]
        if not polled or not all(map(_same, lap, before)):
            return
        del steps[begin - count : begin]
        self.laps[key] = len(steps)
        self.spun.update((trace.cta, trace.warp, one.pc) for one in polled)

    def _polled(self, trace: Trace, step: Step) -> None:
        """A warp that has polled reads once more: it has waited for the last write by another CTA."""
        if step.sectors is not None and (trace.cta, trace.warp, step.pc) in self.spun:
            found = (self.written.get(sector) for sector in step.sectors.tolist())
            step.waits = next((phase for phase in found if phase is not None and phase[1] != trace.cta), None)

    def _write(self, trace: Trace, step: Step, sectors: Array) -> None:
        """Remember the write of each sector, for those who poll it."""
        for sector in sectors.tolist():
            before = self.written.get(sector)
            phase = ("write", trace.cta, sector, before[3] + 1 if before is not None else 0)
            self.written[sector] = phase
            step.arrives += (phase,)

    def parity(self, warp: Warp, pc: int, address: int, wanted: int) -> int:
        return wanted if self.steady is None else self.steady.parity(warp, pc, address, wanted)

    def counted(self, warp: Warp, place: int, seen: Array, amount: Array) -> Array:
        """As if the clusters of the grid had counted in turn: of a sample, each would else take the tiles of many."""
        if self.tickets is None:
            return seen
        x, y, _ = warp.cta.cluster.launch.clusters
        i, j, k = warp.cta.cluster.index
        return self.tickets.counted(i + x * (j + y * k), place, seen, amount)

    def shared_access(self, line: int, addresses: Array, width: int) -> int:
        found = Counters.shared_access(self, line, addresses, width)
        self.step.wavefronts += found
        return found

    def global_access(self, line: int, addresses: Array, width: int) -> Array:
        found = Counters.global_access(self, line, addresses, width)
        self._touch(found)
        return found

    def bulk(self, what: str, count: int, places: Array | None = None, ctas: tuple[int, ...] = ()) -> None:
        self.bytes[what] += count
        self.step.bytes += count
        self.step.targets += ctas
        if places is not None and len(places):
            self._touch(np.unique(np.asarray(places, np.uint64) >> np.uint64(5)))

    def _touch(self, found: Array) -> None:
        step = self.step
        step.sectors = found if step.sectors is None else np.union1d(step.sectors, found)

    def umma(self, work: float, feed: int, ctas: tuple[int, ...], *, in_tensor_memory: bool) -> None:
        self.step.product = Umma(work, feed, ctas, in_tensor_memory)

    def tensor_memory(self, what: str, count: int) -> None:
        Counters.tensor_memory(self, what, count)
        self.step.bytes += count

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


def _same(one: Step, other: Step) -> bool:
    """True if two steps access the same memory, and signal nothing."""
    if one.arrives or one.wavefronts != other.wavefronts:
        return False
    if one.sectors is None or other.sectors is None:
        return one.sectors is other.sectors
    return np.array_equal(one.sectors, other.sectors)


def may_poll(inst: Instruction) -> bool:
    """True for an instruction that a warp may repeat until another one has written what it reads."""
    modifiers = {*inst.modifiers}
    if modifiers & {"shared", "shared::cta", "shared::cluster", "local", "param"}:
        return False
    if inst.opcode == "ld":
        return bool(modifiers & {"volatile", "acquire", "relaxed", "mmio"})
    return inst.opcode == "atom" and "cas" in modifiers


def may_write(inst: Instruction) -> bool:
    """True for an instruction that writes what others poll: a compare-and-swap may fail, and does not count."""
    on_chip = {"shared", "shared::cta", "shared::cluster", "local", "param", "async"}
    return inst.opcode in ("st", "atom", "red") and not (on_chip | {"cas"}) & {*inst.modifiers}


def arrivals(traces: list[Trace]) -> Counter[Phase]:
    """How many signals complete each phase."""
    found: Counter[Phase] = Counter()
    for trace in traces:
        for step in trace.steps:
            found.update(step.arrives)
    return found
