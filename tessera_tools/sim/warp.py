"""A warp: 32 lanes as NumPy rows, split into groups of lanes that stand at different instructions.

    Warp ── splits: [(pc, mask, call stack), …]   one split while the warp is converged
         ── ports:  [row, row, …]                 registers, immediates, special registers: all NumPy rows

Independent thread scheduling: the split with the lowest pc runs first, splits that meet are merged, and one
that runs too long hands over to another, so that a lane that spins never starves the lane it waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cta

__all__ = ["CHANGED", "CONVERGE", "FULL", "Mask", "Split", "Wait", "Warp", "mask_of"]

FULL = (1 << 32) - 1
_masks: dict[int, Mask] = {}


class Mask:
    """A set of lanes. `bits` as an integer, `array` as 32 booleans, `lanes` as indices; never changed."""

    __slots__ = ("array", "bits", "count", "first", "full", "lanes")

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.full = bits == FULL
        self.array = np.unpackbits(np.array([bits], "<u4").view(np.uint8), bitorder="little").view(np.bool_)
        self.array.flags.writeable = False
        self.lanes = np.flatnonzero(self.array)
        self.count = len(self.lanes)
        self.first = int(self.lanes[0]) if self.count else 0

    def __repr__(self) -> str:
        return f"Mask({self.bits:#010x})"


def mask_of(lanes: int | np.ndarray[Any, Any]) -> Mask:
    """The mask of a bit pattern or of 32 booleans."""
    if not isinstance(lanes, int):
        lanes = int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")
    mask = _masks.get(lanes)
    if mask is None:
        if len(_masks) > 1 << 15:  # data-dependent divergence must not fill the memory
            _masks.clear()
        mask = _masks[lanes] = Mask(lanes)
    return mask


class _Sentinel:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


CHANGED = _Sentinel("CHANGED")
"""What an instruction returns that has moved the warp's splits itself."""
CONVERGE = _Sentinel("CONVERGE")
"""What `Warp.converge` returns: run this instruction again when more lanes have come."""


class Wait:
    """Why a split stands still; an instruction returns one to block.

    `ready()` is asked until it is true, then `finish(warp, mask)` runs and the split goes on with the next
    instruction. `describe()` is for the deadlock report: what is awaited, and what is missing. With `timed`,
    a split that nobody can wake goes on all the same (mbarrier.try_wait), and `expired` is True in `finish`.
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
    """Lanes of a warp that stand at the same instruction, with the same call stack.

    `needed` is not 0 while the split waits for other lanes to come (a bit pattern of lanes).
    """

    __slots__ = ("forced", "mask", "needed", "pc", "stack", "wait")

    def __init__(self, pc: int, mask: Mask, stack: tuple[Any, ...]) -> None:
        self.pc = pc
        self.mask = mask
        self.stack = stack
        self.wait: Wait | None = None
        self.needed = 0
        self.forced = False


_PATIENCE = 64
"""Jumps that one split of a diverged warp may take before another has its turn."""


class Warp:
    """32 lanes of a CTA. `index` counts in the CTA, `rank` in the cluster; `live` are the lanes not exited."""

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
        self.ports: list[Any] = []
        self.registers: dict[int, np.ndarray[Any, Any]] = {}
        self.state: dict[str, Any] = {}
        """What instruction families keep per warp (groups of asynchronous copies, …), by family name."""
        self.instructions = 0
        self.records = np.arange(32, dtype=np.uint64) + np.uint64(rank * 32)
        """Each lane's access record (sim/races.py): thread in the cluster, and the warp's clock above it."""
        self.limit = 0
        """Records from here on may be unordered with what the warp does now (sim/races.py)."""
        self.threads = np.arange(32 * index, 32 * index + 32)
        self.local: Any = None

    @property
    def stats(self) -> Any:
        """The launch's counters, or None when nobody asked for them."""
        return self.cta.stats

    # -- control flow

    def pick(self) -> Split | None:
        """The split to run next, merged with those that met it; None if all wait."""
        splits = self.splits
        if len(splits) == 1:
            split = splits[0]
            return split if self._awake(split) else None
        self._merge()
        awake = [split for split in self.splits if self._awake(split)]
        if not awake:
            return None
        lowest = min(awake, key=lambda split: split.pc)
        if len(awake) > 1:
            self.turns += 1
            if self.turns > _PATIENCE:
                # Another has its turn, and the same patience.
                self.turns = -_PATIENCE
            if self.turns < 0:
                others = [split for split in awake if split is not lowest]
                lowest = self.split if self.split in others else others[self.instructions % len(others)]
        return lowest

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
        """The split's wait is over: finish it, and go on with the next instruction."""
        wait, split.wait = split.wait, None
        assert wait is not None
        self.split = split
        if wait.finish is not None:
            wait.finish(self, split.mask)
        split.pc += 1
        self.cta.cluster.launch.progress += 1

    def _merge(self) -> None:
        met: dict[tuple[int, tuple[Any, ...]], Split] = {}
        for split in self.splits:
            if split.wait is not None:
                continue
            first = met.setdefault((split.pc, split.stack), split)
            if first is not split:
                first.mask = mask_of(first.mask.bits | split.mask.bits)
                first.needed |= split.needed
                split.mask = mask_of(0)
        self.splits = [split for split in self.splits if split.mask.bits]

    def converge(self, needed: int = FULL) -> Any:
        """For an instruction that the lanes `needed` must run together: wait here until they have come.

        Return what this returns. An instruction that is decoded with `ctx.aligned()` does this by itself.
        """
        self.split.needed = needed
        return CONVERGE

    def branch(self, bits: int, target: int, mask: Mask) -> Any:
        """Send the lanes `bits` of `mask` to `target`, the others to the next instruction; return the result."""
        if bits == mask.bits:
            return target
        if not bits:
            return None
        self.splits.append(Split(target, mask_of(bits), self.split.stack))
        self.split.mask = mask_of(mask.bits & ~bits)
        self.split.pc += 1
        return CHANGED

    def leave(self, mask: Mask) -> Any:
        """The lanes end; return the result."""
        split = self.split
        self.live &= ~mask.bits
        rest = split.mask.bits & ~mask.bits
        split.mask = mask_of(rest)
        split.pc += 1
        if not rest:
            self.splits.remove(split)
        return CHANGED

    # -- values

    def row(self, port: int) -> Any:
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
        """A finding at the instruction that runs; `mask` are the lanes at fault."""
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
