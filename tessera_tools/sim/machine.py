"""The machine: a cluster of CTAs, its warps, and the adversarial scheduler that runs them.

    Cluster.run_some(): pick a warp at random ──▶ run it for a random number of steps ──▶ no warp can run?
        complete an asynchronous operation ──▶ else expire timed waits ──▶ else force a divergence ──▶ else deadlock

Every choice comes from the launch's seeded generator, so a seed identifies one schedule.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.asynchronous import Engine
from tessera_tools.sim.blocks import LEAST, Batch, Step
from tessera_tools.sim.frame import Frame
from tessera_tools.sim.gang import Gang, form_gang, gang_of
from tessera_tools.sim.lanes import Lanes
from tessera_tools.sim.races import Clocks, History
from tessera_tools.sim.warp import CHANGED, CONVERGE, FULL, Outcome, Split, Wait, Warp, mask_of
from tessera_tools.sim.watched import Shared

if TYPE_CHECKING:
    from tessera_tools.sim.launch import Launch

__all__ = ["CTA_ENDS", "DEADLOCKS", "Cluster", "Cta", "StopLaunch"]

_UNTIL_BLOCKED = 4096
_EXPIRIES = 200
"""Rounds of expired waits without progress after which the cluster counts as deadlocked."""
_SAME_EXPIRIES = 4
"""Rounds of them, each of which leaves every register and every pc as it was: further ones do the same."""
_TOGETHER = 0.85
"""The probability that warps of a CTA at the same instruction run as a gang."""
_FORCE_AFTER = 20_000
"""Warp instructions after which an operation completes although a warp can still run: that warp may be spinning."""
_NEVER = 1 << 60
"""A pc that no program contains."""


CTA_ENDS: list[Callable[[Cta], None]] = []
"""Checks of instruction families that run when the last thread of a CTA has exited."""
DEADLOCKS: list[Callable[[Cluster], None]] = []
"""Reports of instruction families before a deadlock that explain its cause."""


class StopLaunch(Exception):
    """Ends the launch immediately; the finding with the cause is already recorded."""


class Cta:
    """One CTA: shared memory, warps, and in `state` the per-CTA state of instruction families."""

    def __init__(self, cluster: Cluster, rank: int, place: tuple[int, int, int]) -> None:
        launch = cluster.launch
        self.cluster = cluster
        self.rank = rank
        self.place = place
        x, y, z = (i * c + p for i, c, p in zip(cluster.index, launch.cluster, place, strict=True))
        self.index = (x, y, z)
        self.number = x + launch.grid[0] * (y + launch.grid[1] * z)
        self.shared = Shared(launch.shared_size, launch.shared_variables, rank, reserved=launch.uses_reserved)
        self.ended = False
        """Whether every thread has exited."""
        self.stats = launch.stats
        self.state: dict[str, Any] = {}
        count = -(-launch.threads // 32)
        frames = launch.frames[rank]
        self.frame = frames.pop() if frames else Frame(launch)
        self.registers = self.frame.registers
        self.warps = [
            Warp(self, index, rank * count + index, launch.entry.start, launch.threads)
            for index in range(count)
        ]
        for warp in self.warps:
            warp.registers = {bits: rows[:, warp.index] for bits, rows in self.registers.items()}
        self.frame.bind(self.warps)

    def thread(self, number: int) -> tuple[int, int, int]:
        """The x, y, z of a thread by its number in the CTA."""
        bx, by, _ = self.cluster.launch.block
        return number % bx, number // bx % by, number // (bx * by)

    def coordinates(self, warp: Warp) -> tuple[Array, Array, Array]:
        """The x, y, z of a warp's 32 threads."""
        bx, by, _ = self.cluster.launch.block
        return warp.threads % bx, warp.threads // bx % by, warp.threads // (bx * by)

    @property
    def live_threads(self) -> int:
        """Threads that have not exited; a warp counts all 32 lanes while any lives (its last may be partial)."""
        return sum(32 for warp in self.warps if warp.live)


class Cluster:
    """The CTAs that are guaranteed to be co-scheduled; without clusters, one CTA."""

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
        """Address of a global allocation → the last accesses of this cluster."""
        self.stuck = False
        self._expired = 0
        self._same = 0
        self._before: object = None
        """What the last round of expired waits left."""
        self._progress = 0
        self._forced_at = launch.executed

    def run_some(self) -> bool:
        """Run one warp for a number of steps; False when every thread has exited."""
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
                if self.random.random() < _TOGETHER:
                    self._run_together(warp.cta)
                else:
                    patient = self.random.random() < 0.25
                    quantum = _UNTIL_BLOCKED if patient else int(self.random.integers(1, 65))
                    gang = form_gang(warp, split.pc) if self.random.random() < _TOGETHER else None
                    part = self._part(gang, warp.index) if gang is not None else None
                    if part is not None:
                        self.run_gang(part, split.pc, quantum)
                    else:
                        self.run(warp, split, quantum)
                if self.engine.pending and self.launch.executed - self._forced_at > _FORCE_AFTER:
                    self._forced_at = self.launch.executed
                    self.engine.complete_one()
                return True
        self._idle()
        return True

    def _run_together(self, cta: Cta) -> None:
        """Run the warps of a CTA with the lowest pc, as a gang if there are several, until they reach others.

        The lowest pc runs first, as among the splits of a warp. A diverged warp takes precedence until it reconverges.
        """
        able = [(split.pc, warp) for warp in cta.warps if warp.splits and (split := warp.pick()) is not None]
        pc, first_warp = min(able, key=lambda one: (one[0], len(one[1].splits) == 1))
        stop = min((other for other, _ in able if other > pc), default=_NEVER)
        gang = form_gang(first_warp, pc)
        if gang is not None:
            self.run_gang(gang, pc, _UNTIL_BLOCKED, stop)
        else:
            split = first_warp.splits[0] if len(first_warp.splits) == 1 else first_warp.pick()
            assert split is not None
            self.run(first_warp, split, _UNTIL_BLOCKED, stop)

    def _part(self, gang: Gang, index: int) -> Gang | None:
        """A subset of a gang's warps that contains the warp `index`; None for only that warp."""
        first, last = gang.first, gang.last
        cut = int(self.random.integers(first + 1, last))
        first, last = (first, cut) if index < cut else (cut, last)
        return gang_of(gang.cta, first, last) if last - first > 1 else None

    def _end_ctas(self) -> None:
        """The last thread of the CTA has exited: its shared memory must not be accessed any more."""
        for cta in self.ctas:
            if not cta.ended and not any(warp.splits for warp in cta.warps):
                cta.ended = True
                for end in CTA_ENDS:
                    end(cta)
        if not self.warps:
            self.engine.complete(self.engine.pending)

    def run(self, warp: Warp, split: Split, quantum: int, until: int | None = None) -> None:
        """Run `warp`, first at `split`, for at most `quantum` instructions.

        With `until`, it stops when it reaches this pc or a higher one, or when it has reconverged.
        """
        launch = self.launch
        code = launch.code
        stats = launch.stats
        left = quantum
        target = _NEVER if until is None else until
        while True:
            warp.split = split
            mask, pc = split.mask, split.pc
            alone = len(warp.splits) == 1
            # A diverged warp stops at the pc of another split, to merge with it.
            stop = target if alone else min((s.pc for s in warp.splits if s.pc > pc), default=_NEVER)
            blocks, tried = launch.module.blocks, 0 if alone and mask.full and stats is None else _NEVER
            while left > 0:
                if pc >= tried:
                    tried = min(blocks.ends[pc], stop, pc + left)
                    if tried - pc >= LEAST and (steps := blocks.steps(pc, tried)) is not None:
                        self._run_block(gang_of(warp.cta, warp.index, warp.index + 1), steps)
                        left -= tried - pc
                        split.pc = pc = tried
                        if pc >= stop:
                            break
                        continue
                split.pc = pc
                if stats is not None:
                    stats.instructions[launch.module.program.instructions[pc].opcode] += 1
                # Its class is compared, which is faster than isinstance, but tells a type checker nothing.
                following: Any = code[pc](warp, mask)
                left -= 1
                if following is None:
                    pc += 1
                    if pc >= stop:
                        split.pc = pc
                        break
                elif following.__class__ is int:
                    split.laps += following <= pc
                    split.pc = pc = following
                    if not alone or pc >= stop:
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
            if until is not None and len(warp.splits) == 1 and (chosen.pc >= until or not alone):
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

    def run_gang(self, gang: Gang, pc: int, quantum: int, until: int = _NEVER) -> None:
        """Run the warps of a gang from `pc` until they diverge or have met, for at most `quantum` instructions each,
        and not beyond `until`."""
        launch = self.launch
        module, stats, warps = launch.module, launch.stats, gang.warps
        code, together = launch.code, launch.together
        done, mask, full = 0, gang.mask, warps[0].splits[0].mask
        parted = False
        blocks, tried = module.blocks, 0
        while done < quantum and pc < until and not parted:
            if pc >= tried and stats is None:
                tried = min(blocks.ends[pc], until, pc + quantum - done)
                if tried - pc >= LEAST and (steps := blocks.steps(pc, tried)) is not None:
                    self._run_block(gang, steps)
                    done += tried - pc
                    pc = tried
                    continue
            execute = together[pc]
            if execute is not None:
                gang.pc = pc
                result = execute(gang, mask)
                if result is None:
                    done += 1
                    if stats is not None:
                        stats.instructions[module.program.instructions[pc].opcode] += len(warps)
                    pc += 1
                    continue
                if result is not NotImplemented:
                    jumps = result < 0
                    count = 1 if jumps else result - pc
                    done += count
                    if stats is not None:
                        stats.instructions[module.program.instructions[pc].opcode] += len(warps) * count
                    pc = ~result if jumps else result
                    if gang.met:
                        gang.met = False
                        break
                    continue
                if pc in blocks.hops and stats is None:
                    target = blocks.hops[pc]
                    reached = self._hop(gang, pc, target)
                    done += 1
                    if reached == target:
                        pc = target
                        continue
                    parted = True
                    break
            following: list[int] = [0] * len(warps)
            for number in self.random.permutation(len(warps)):
                warp = warps[number]
                warp.split = split = warp.splits[0]
                split.pc = pc
                if stats is not None:
                    stats.instructions[module.program.instructions[pc].opcode] += 1
                outcome: Any = code[pc](warp, full)
                if outcome is None or outcome.__class__ is int:
                    split.pc = following[number] = pc + 1 if outcome is None else outcome
                else:
                    self._control(split, outcome)
                    parted = True
            done += 1
            parted = parted or any(after != following[0] for after in following)
            pc = following[0]
        if not parted:
            for warp in warps:
                warp.splits[0].pc = pc
        for warp in warps:
            warp.instructions += done
        launch.executed += done * len(warps)
        self._watch_limits(warps[0])

    def _run_block(self, gang: Gang, steps: list[Step]) -> None:
        """Run the steps of a block, each for all warps of a gang; what cannot run so, instruction by instruction."""
        code, together, mask = self.launch.code, self.launch.together, gang.mask
        for step in steps:
            if len(step.pcs) > 1 and Batch(gang, step).run() is None:
                continue
            for pc in step.pcs:
                gang.pc = pc
                execute = together[pc]
                if execute is not None and execute(gang, mask) is None:
                    continue
                for number in self.random.permutation(len(gang.warps)):
                    warp = gang.warps[number]
                    warp.split = split = warp.splits[0]
                    split.pc = pc
                    code[pc](warp, split.mask)

    def _hop(self, gang: Gang, pc: int, target: int) -> int:
        """Run a branch that some lanes take, and what it skips for the other lanes; return where the warps are then.

        If an instruction in between cannot run for all warps at once, they part there.
        """
        launch = self.launch
        port, negated = launch.module.branches[pc]
        taken = gang.ports[port] ^ negated
        lanes = Lanes(~taken)
        rows = taken.reshape(-1, 32)
        some = int(np.count_nonzero(~rows.all(axis=1)))
        for at in range(pc + 1, target):
            gang.pc = at
            execute = launch.together[at]
            if execute is None or execute(gang, lanes) is NotImplemented:
                for warp, row in zip(gang.warps, rows, strict=True):
                    split = warp.splits[0]
                    jumping = mask_of(row)
                    split.pc = target if jumping.full else at
                    if jumping.bits and not jumping.full:
                        split.mask = mask_of(FULL & ~jumping.bits)
                        warp.splits.append(Split(target, jumping, split.stack))
                return at
            launch.executed += some
        return target

    def end(self) -> None:
        """Every thread has exited: release what another cluster can reuse, and break the reference cycles."""
        for base, history in self.histories.items():
            self.launch.histories.setdefault(base, []).append((self.clocks.now, history))
        self.histories.clear()
        for cta in self.ctas:
            cta.frame.release()
            self.launch.frames[cta.rank].append(cta.frame)
            for warp in cta.warps:
                warp.ports = {}
                warp.state.clear()
            cta.warps.clear()
            cta.state.clear()
        self.ctas.clear()
        self.state.clear()
        self.engine.pending.clear()

    def _control(self, split: Split, result: Outcome) -> None:
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
        """No warp can run: make progress, or report a deadlock."""
        if self.engine.complete_one():
            self.launch.progress += 1
            return
        if self.launch.progress == self._progress:
            self._expired += 1
        else:
            self._expired = self._same = 0
            self._before = None
        timed = [(w, s) for w in self.warps for s in w.splits if s.wait is not None and s.wait.timed]
        if timed and self._expired < _EXPIRIES and self._same < _SAME_EXPIRIES:
            left = self._left()
            self._same = self._same + 1 if left == self._before else 0
            self._before = left
            # A wait that times out is not progress, for this cluster or any other.
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

    def _left(self) -> object:
        """The registers of all threads, and where they are."""
        registers = [rows.tobytes() for cta in self.ctas for rows in cta.registers.values()]
        return registers, [(split.pc, split.mask.bits) for warp in self.warps for split in warp.splits]

    def _where(self, warp: Warp, split: Split) -> str:
        inst = self.launch.module.program.instructions[split.pc]
        location = f" ({inst.location})" if inst.location else ""
        text = f"warp {warp.index} of CTA {warp.cta.index}, lanes {split.mask.bits:#010x}: '{inst.name}' "
        text += f"at PTX line {inst.line}{location}"
        return f"{text} waits for {split.wait.describe()}" if split.wait is not None else text

    def deadlock(self) -> None:
        """Report what each waiting warp waits for."""
        for explain in DEADLOCKS:
            explain(self)
        notes = [self._where(warp, split) for warp in self.warps for split in warp.splits]
        warp = self.warps[0]
        warp.split = warp.splits[0]
        waiting = f"{len(self.warps)} warps wait" if len(self.warps) > 1 else "1 warp waits"
        warp.report("deadlock", f"{waiting}, and no thread can wake them", None, *notes)

    def _limit(self, warp: Warp, what: str) -> None:
        notes = [self._where(w, s) for w in self.warps for s in w.splits]
        # A grid may also be too large for the limit, so this need not be a loop.
        warp.report("limit", f"{what}; the launch was stopped here", warp.split.mask, *notes)
        raise StopLaunch
