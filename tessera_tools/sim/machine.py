"""The machine: a cluster of CTAs, its warps, and the adversarial scheduler that runs them.

    Cluster.run_some(): pick a warp at random ──▶ run it for a random while ──▶ nothing can run?
        land an asynchronous operation ──▶ else let timed waits expire ──▶ else force a divergence ──▶ else stuck

Every choice comes from the launch's seeded generator, so a seed names one schedule.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tessera_tools.sim.asynchronous import Engine
from tessera_tools.sim.frame import Frame
from tessera_tools.sim.gang import Gang, muster
from tessera_tools.sim.memory import Local, Shared
from tessera_tools.sim.races import Clocks, History
from tessera_tools.sim.warp import CHANGED, CONVERGE, Split, Wait, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.launch import Launch

__all__ = ["CTA_ENDS", "DEADLOCKS", "Cluster", "Cta", "StopLaunch"]

_UNTIL_BLOCKED = 4096
_EXPIRIES = 200
"""Rounds of expired waits without any progress after which the cluster counts as stuck."""
_TOGETHER = 0.75
"""How often warps of a CTA that stand at the same instruction go on together."""
_LAND_ANYWAY = 20_000
"""Warp instructions after which an operation lands though some warp could still run: it may be spinning."""


CTA_ENDS: list[Callable[[Cta], None]] = []
"""What instruction families check when the last thread of a CTA has exited."""
DEADLOCKS: list[Callable[[Cluster], None]] = []
"""What instruction families report before a deadlock: why it came to that."""


class StopLaunch(Exception):
    """Ends the launch at once; the finding that says why is recorded."""


class Cta:
    """One CTA: shared memory, warps, and what instruction families keep per CTA in `state`."""

    def __init__(self, cluster: Cluster, rank: int, place: tuple[int, int, int]) -> None:
        launch = cluster.launch
        self.cluster = cluster
        self.rank = rank
        self.place = place
        x, y, z = (i * c + p for i, c, p in zip(cluster.index, launch.cluster, place, strict=True))
        self.index = (x, y, z)
        self.number = x + launch.grid[0] * (y + launch.grid[1] * z)
        self.shared = Shared(launch.shared_size, launch.shared_variables)
        self.ended = False
        """Whether every thread has exited."""
        self.stats = launch.stats
        self.state: dict[str, Any] = {}
        count = -(-launch.threads // 32)
        self.frame = launch.frames.pop() if launch.frames else Frame(launch)
        self.registers = self.frame.registers
        self.warps = [
            Warp(self, index, rank * count + index, launch.entry.start, launch.threads)
            for index in range(count)
        ]
        for warp in self.warps:
            warp.registers = {bits: rows[:, warp.index] for bits, rows in self.registers.items()}
            warp.local = Local(launch.module.local_size)
        self.frame.bind(self.warps)

    def thread(self, number: int) -> tuple[int, int, int]:
        """The x, y, z of a thread by its number in the CTA."""
        bx, by, _ = self.cluster.launch.block
        return number % bx, number // bx % by, number // (bx * by)

    def coordinates(self, warp: Warp) -> tuple[Any, Any, Any]:
        """The x, y, z of a warp's 32 threads."""
        bx, by, _ = self.cluster.launch.block
        return warp.threads % bx, warp.threads // bx % by, warp.threads // (bx * by)

    @property
    def live_threads(self) -> int:
        """Threads that have not exited; a warp counts all 32 lanes while any lives (its last may be partial)."""
        return sum(32 for warp in self.warps if warp.live)


class Cluster:
    """The CTAs that are guaranteed to run at once; without clusters, one CTA."""

    def __init__(self, launch: Launch, index: tuple[int, int, int]) -> None:
        self.launch = launch
        self.index = index
        cx, cy, cz = launch.cluster
        places = [(a, b, c) for c in range(cz) for b in range(cy) for a in range(cx)]
        self.random = launch.random
        self.engine = Engine(launch.mode, launch.random)
        self.ctas = [Cta(self, rank, place) for rank, place in enumerate(places)]
        self.warps = [warp for cta in self.ctas for warp in cta.warps]
        self.clocks = Clocks(len(self.warps), launch.clock)
        self.clocks.start(self.warps)
        self.state: dict[str, Any] = {}
        self.histories: dict[int, History] = {}
        """Address of a global allocation → who of this cluster touched it last."""
        self.stuck = False
        self._expired = 0
        self._progress = 0
        self._landed_at = launch.executed

    def run_some(self) -> bool:
        """Run one warp for a while; False when every thread has exited."""
        left = [warp for warp in self.warps if warp.splits]
        if len(left) != len(self.warps):
            self.warps = left
            self._end_ctas()
        if not left:
            return False
        order = self.random.permutation(len(self.warps))
        for index in order:
            warp = self.warps[index]
            split = warp.pick()
            if split is not None:
                self.stuck = False
                patient = self.random.random() < 0.25
                quantum = _UNTIL_BLOCKED if patient else int(self.random.integers(1, 65))
                gang = muster(warp, split.pc) if self.random.random() < _TOGETHER else None
                if gang is not None:
                    self.run_gang(gang, split.pc, _UNTIL_BLOCKED)
                else:
                    self.run(warp, split, quantum)
                if self.engine.pending and self.launch.executed - self._landed_at > _LAND_ANYWAY:
                    self._landed_at = self.launch.executed
                    self.engine.land_one()
                return True
        self._idle()
        return True

    def _end_ctas(self) -> None:
        """Whose last thread has exited: its shared memory is gone, which nobody may still use."""
        for cta in self.ctas:
            if not cta.ended and not any(warp.splits for warp in cta.warps):
                cta.ended = True
                for end in CTA_ENDS:
                    end(cta)
        if not self.warps:
            self.engine.complete(self.engine.pending)

    def run(self, warp: Warp, split: Split, quantum: int) -> None:
        """Run `warp`, first at `split`, for at most `quantum` instructions."""
        launch = self.launch
        code = launch.module.code
        stats = launch.stats
        left = quantum
        while True:
            warp.split = split
            mask, pc = split.mask, split.pc
            alone = len(warp.splits) == 1
            # A diverged warp stops where another split stands, to be merged with it.
            stop = 1 << 60 if alone else min((s.pc for s in warp.splits if s.pc > pc), default=1 << 60)
            while left > 0:
                split.pc = pc
                if stats is not None:
                    stats.instructions[launch.module.program.instructions[pc].opcode] += 1
                following = code[pc](warp, mask)
                left -= 1
                if following is None:
                    pc += 1
                    if pc >= stop:
                        split.pc = pc
                        break
                elif following.__class__ is int:
                    split.pc = pc = following
                    if not alone:
                        break
                else:
                    self._control(split, following)
                    break
            else:
                split.pc = pc
            if left <= 0 or not warp.splits:
                break
            chosen = warp.pick()
            if chosen is None:
                break
            split = chosen
        warp.instructions += quantum - left
        launch.executed += quantum - left
        self._watch_limits(warp)

    def _watch_limits(self, warp: Warp) -> None:
        launch = self.launch
        if launch.executed > launch.max_instructions:
            self._limit(warp, f"reached the limit of {launch.max_instructions} warp instructions")
        if launch.deadline is not None and time.monotonic() > launch.deadline:
            self._limit(warp, f"reached the time limit of {launch.time_limit:g} seconds")

    def run_gang(self, gang: Gang, pc: int, quantum: int) -> None:
        """Run the warps of a gang, which stand at `pc`, until they part, or so many instructions each."""
        launch = self.launch
        module, stats, warps = launch.module, launch.stats, gang.warps
        code, together = module.code, module.together
        done, mask, full = 0, gang.mask, warps[0].splits[0].mask
        while done < quantum:
            execute = together[pc]
            if execute is not None:
                gang.pc = pc
                result = execute(gang, mask)
                if result is not NotImplemented:
                    after = pc + 1 if result is None else result
                    if stats is not None:
                        opcode = module.program.instructions[pc].opcode
                        stats.instructions[opcode] += len(warps) * (after - pc)
                    done += after - pc
                    pc = after
                    continue
            following: list[int] = [0] * len(warps)
            parted = False
            for number in self.random.permutation(len(warps)):
                warp = warps[number]
                warp.split = split = warp.splits[0]
                split.pc = pc
                if stats is not None:
                    stats.instructions[module.program.instructions[pc].opcode] += 1
                result = code[pc](warp, full)
                if result is None or result.__class__ is int:
                    split.pc = following[number] = pc + 1 if result is None else result
                else:
                    self._control(split, result)
                    parted = True
            done += 1
            if parted or any(after != following[0] for after in following):
                break
            pc = following[0]
        else:
            for warp in warps:
                warp.splits[0].pc = pc
        for warp in warps:
            warp.instructions += done
        launch.executed += done * len(warps)
        self._watch_limits(warps[0])

    def end(self) -> None:
        """Every thread has exited: give back what another cluster can use, and end the cycles of references."""
        for base, history in self.histories.items():
            self.launch.histories.setdefault(base, []).append((self.clocks.now, history))
        self.histories.clear()
        for cta in self.ctas:
            self.launch.frames.append(cta.frame)
            for warp in cta.warps:
                warp.ports = []
                warp.state.clear()
            cta.warps.clear()
            cta.state.clear()
        self.ctas.clear()
        self.state.clear()
        self.engine.pending.clear()

    def _control(self, split: Split, result: Any) -> None:
        if result is CHANGED or result is CONVERGE:
            return
        if isinstance(result, Wait):
            split.wait = result
            if self.launch.stats is not None and not result.ready():
                opcode = self.launch.module.program.instructions[split.pc].opcode
                self.launch.stats.waits[opcode] += 1
            return
        raise TypeError(
            f"an instruction returned {result!r}; expected None, a code index, Wait, CHANGED or CONVERGE"
        )

    def _idle(self) -> None:
        """Nothing can run: make something happen, or be stuck."""
        if self.engine.land_one():
            self.launch.progress += 1
            return
        if self.launch.progress == self._progress:
            self._expired += 1
        else:
            self._expired = 0
        timed = [(w, s) for w in self.warps for s in w.splits if s.wait is not None and s.wait.timed]
        if timed and self._expired < _EXPIRIES:
            # A wait that gives up is no progress, of this cluster or of any other.
            before = self.launch.progress
            for warp, split in timed:
                assert split.wait is not None
                split.wait.expired = True
                warp.wake(split)
            self.launch.progress = self._progress = before
            return
        for warp in self.warps:
            for split in warp.splits:
                if split.needed and split.wait is None:
                    warp.split = split
                    missing = split.needed & warp.live & ~split.mask.bits
                    warp.report(
                        "divergence",
                        f"only lanes {split.mask.bits:#010x} of the warp come here; {missing:#010x} do not",
                        split.mask,
                        *[self._where(warp, other) for other in warp.splits if other is not split],
                    )
                    split.forced = True
                    return
        self.stuck = True

    def _where(self, warp: Warp, split: Split) -> str:
        inst = self.launch.module.program.instructions[split.pc]
        location = f" ({inst.location})" if inst.location else ""
        text = f"warp {warp.index} of CTA {warp.cta.index}, lanes {split.mask.bits:#010x}: '{inst.name}' "
        text += f"at PTX line {inst.line}{location}"
        return f"{text} waits for {split.wait.describe()}" if split.wait is not None else text

    def deadlock(self) -> None:
        """Report what every waiting warp waits for."""
        for explain in DEADLOCKS:
            explain(self)
        notes = [self._where(warp, split) for warp in self.warps for split in warp.splits]
        warp = self.warps[0]
        warp.split = warp.splits[0]
        warp.report("deadlock", f"{len(self.warps)} warps wait, and no thread can wake them", None, *notes)

    def _limit(self, warp: Warp, what: str) -> None:
        notes = [self._where(w, s) for w in self.warps for s in w.splits]
        warp.report(
            "limit",
            f"{what}; it spins here",
            warp.split.mask,
            *notes,
        )
        raise StopLaunch
