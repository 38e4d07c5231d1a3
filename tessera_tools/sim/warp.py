"""A warp: 32 lanes as NumPy rows, divided into splits, the groups of lanes at the same instruction.

    Warp ── splits: [(pc, mask, call stack), …]   one split while the warp is converged
         ── ports:  [row, row, …]                 registers, immediates, special registers: all NumPy rows

Independent thread scheduling: the split with the lowest pc runs first, and splits at the same pc are merged. A split
that runs too long yields to another, so that a spinning lane never starves the lane that it waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from types import NotImplementedType
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.interfaces import Rows
from tessera_tools.sim.lanes import FULL, Mask, mask_of
from tessera_tools.sim.watched import Local

if TYPE_CHECKING:
    from tessera_tools.sim.counters import Counters
    from tessera_tools.sim.machine import Cta

__all__ = [
    "CHANGED",
    "CONVERGE",
    "FULL",
    "CallStack",
    "JointOutcome",
    "Mask",
    "Outcome",
    "Sentinel",
    "Split",
    "Wait",
    "Warp",
    "mask_of",
]


class Sentinel:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


CHANGED = Sentinel("CHANGED")
"""The result of an instruction that has changed the warp's splits itself."""
CONVERGE = Sentinel("CONVERGE")
"""The result of `Warp.converge`: run this instruction again when more lanes have arrived."""


CallStack = tuple[tuple[int, int, Callable[["Warp", Mask], None]], ...]
"""For each active call: where it returns to, where its function starts, and what copies the results."""


class Wait:
    """The reason why a split is blocked; an instruction returns a Wait to block.

    The scheduler calls `ready()` until it is true. Then `finish(warp, mask)` runs, and the split continues with the
    next instruction. `describe()` returns the awaited event and what is missing, for the deadlock report. With `timed`,
    a split that no other warp can wake continues anyway (mbarrier.try_wait), and `expired` is True in `finish`.
    """

    __slots__ = ("describe", "expired", "finish", "ready", "timed")

    def __init__(
        self,
        ready: Callable[[], bool],
        describe: Callable[[], str],
        finish: Callable[[Warp, Mask], None] | None = None,
        *,
        timed: bool = False,
    ) -> None:
        self.ready = ready
        self.describe = describe
        self.finish = finish
        self.timed = timed
        self.expired = False


class Split:
    """Lanes of a warp at the same instruction, with the same call stack.

    `needed` is not 0 while the split waits for other lanes to arrive (a bit pattern of lanes).
    """

    __slots__ = ("forced", "laps", "mask", "needed", "pc", "stack", "wait")

    def __init__(self, pc: int, mask: Mask, stack: CallStack) -> None:
        self.pc = pc
        self.mask = mask
        self.stack = stack
        self.wait: Wait | None = None
        self.needed = 0
        self.forced = False
        self.laps = 0
        """Backward branches since the warp has diverged, if the launch is timed."""


Outcome = int | Wait | Sentinel | None
"""What an instruction returns: None to continue, the index of the next instruction, or why it has not ended."""
JointOutcome = int | NotImplementedType | None
"""What an instruction returns that several warps run at once (`decode.Context.together`)."""

_SPLIT_LIMIT = 64
"""The number of consecutive branches of one split of a diverged warp before another split runs."""


class Warp:
    """32 lanes of a CTA. `index` is the number in the CTA, `rank` in the cluster; `live` are the lanes not exited."""

    def __init__(self, cta: Cta, index: int, rank: int, pc: int, threads: int) -> None:
        self.cta = cta
        self.index = index
        self.rank = rank
        bits = (1 << min(32, threads - 32 * index)) - 1
        self.live = bits
        self.split = Split(pc, mask_of(bits), ())
        """The split that runs, or ran last."""
        self.splits = [self.split]
        self.turns = 0
        self.ports: Rows = {}
        """Rows of 32 lanes (sim/frame.py)."""
        self.registers: dict[int, Array] = {}
        self.state: dict[str, Any] = {}
        """State of instruction families per warp (groups of asynchronous copies, …), by family name."""
        self.instructions = 0
        self.records = np.arange(32, dtype=np.uint64) + np.uint64(rank * 32)
        """Each lane's access record (sim/races.py): thread in the cluster, and the warp's clock above it."""
        self.limit = 0
        """Records from this one on may be unordered with the warp's current accesses (sim/races.py)."""
        self.threads = np.arange(32 * index, 32 * index + 32)

    @cached_property
    def local(self) -> Local:
        """The local memory of the warp's lanes."""
        return Local(self.cta.cluster.launch.module.local_size)

    @property
    def stats(self) -> Counters | None:
        """The launch's counters, or None if they were not requested."""
        return self.cta.stats

    # -- control flow

    def pick(self) -> Split | None:
        """The split to run next, merged with the splits at the same pc; None if all wait."""
        splits = self.splits
        if len(splits) == 1:
            split = splits[0]
            return split if self._awake(split) else None
        self._merge()
        if self.cta.cluster.launch.timed:
            return self._behind()
        awake = [split for split in self.splits if self._awake(split)]
        if not awake:
            return None
        lowest = min(awake, key=lambda split: split.pc)
        if len(awake) > 1:
            self.turns += 1
            if self.turns > _SPLIT_LIMIT:
                # Another split runs next, with the same limit.
                self.turns = -_SPLIT_LIMIT
            if self.turns < 0:
                others = [split for split in awake if split is not lowest]
                lowest = self.split if self.split in others else others[self.instructions % len(others)]
        return lowest

    def _behind(self) -> Split | None:
        """The split that runs next on a GPU, which lets lanes meet again before a loop's next iteration."""
        if len(self.splits) == 1:
            self.splits[0].laps = 0
        awake = [split for split in self.splits if self._awake(split)]
        return min(awake, key=lambda split: (split.laps, split.pc), default=None)

    def _awake(self, split: Split) -> bool:
        if split.wait is not None:
            if not split.wait.ready():
                return False
            self.wake(split)
        if split.needed:
            if split.needed & self.live & ~split.mask.bits and not split.forced:
                return False
            split.needed = 0
        return True

    def wake(self, split: Split) -> None:
        """The split's wait is over: finish it, and continue with the next instruction."""
        wait, split.wait = split.wait, None
        assert wait is not None
        self.split = split
        if wait.finish is not None:
            wait.finish(self, split.mask)
        split.pc += 1
        self.cta.cluster.launch.progress += 1

    def _merge(self) -> None:
        running = [split for split in self.splits if split.wait is None]
        if len(running) < 2:
            return
        met: dict[tuple[int, CallStack], Split] = {}
        for split in running:
            first = met.setdefault((split.pc, split.stack), split)
            if first is not split:
                first.mask = mask_of(first.mask.bits | split.mask.bits)
                first.needed |= split.needed
                split.mask = mask_of(0)
        self.splits = [split for split in self.splits if split.mask.bits]

    def converge(self, needed: int = FULL) -> Sentinel:
        """Wait until all lanes of `needed` have reached this instruction, which they must run together.

        Return the result of this function. An instruction that is decoded with `ctx.aligned()` calls it automatically.
        """
        self.split.needed = needed
        return CONVERGE

    def branch(self, bits: int, target: int, mask: Mask) -> Outcome:
        """Branch: the lanes `bits` of `mask` go to `target`, the others to the next instruction; return the result."""
        if bits == mask.bits:
            return target
        if not bits:
            return None
        parted = Split(target, mask_of(bits), self.split.stack)
        parted.laps = self.split.laps + (target <= self.split.pc)
        self.splits.append(parted)
        self.split.mask = mask_of(mask.bits & ~bits)
        self.split.pc += 1
        return CHANGED

    def leave(self, mask: Mask) -> Sentinel:
        """Exit the lanes; return the result."""
        split = self.split
        self.live &= ~mask.bits
        rest = split.mask.bits & ~mask.bits
        split.mask = mask_of(rest)
        split.pc += 1
        if not rest:
            self.splits.remove(split)
        return CHANGED

    # -- values

    def row(self, port: int) -> Array:
        return self.ports[port]

    # -- findings

    def report(
        self,
        kind: str,
        message: str,
        mask: Mask | None = None,
        *notes: str,
        severity: str = "error",
        cause: Hashable = None,
    ) -> None:
        """Report a finding at the current instruction; `mask` contains the lanes at fault."""
        mask = mask or self.split.mask
        thread = self.cta.thread(32 * self.index + mask.first)
        self.cta.cluster.launch.report(
            kind,
            message,
            self.split.pc,
            self.cta.index,
            thread,
            notes,
            count=max(mask.count, 1),
            severity=severity,
            cause=cause,
        )
