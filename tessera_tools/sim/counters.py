"""Counters of a launch (`stats=True`): executed instructions, and the memory transactions that they caused.

Instruction families update them if `warp.stats` is not None. Some counters are kept per PTX line.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array

if TYPE_CHECKING:
    from tessera_tools.sim.decode import Execute
    from tessera_tools.sim.warp import Warp

__all__ = ["Counters", "sectors", "wavefronts"]

_BANKS = 32
_SECTOR = np.uint64(5)


@dataclass(slots=True)
class Counters:
    """Totals over all warps of a launch; instructions are warp instructions."""

    instructions: Counter[str] = field(default_factory=Counter[str])
    """By opcode."""
    bytes: Counter[str] = field(default_factory=Counter[str])
    """By the instruction that moved them: `ld.global`, `cp.async`, …"""
    wavefronts: Counter[int] = field(default_factory=Counter[int])
    """Shared-memory wavefronts by PTX line."""
    ideal_wavefronts: Counter[int] = field(default_factory=Counter[int])
    """The wavefronts without bank conflicts."""
    sectors: Counter[int] = field(default_factory=Counter[int])
    """32-byte sectors of global memory by PTX line."""
    used: Counter[int] = field(default_factory=Counter[int])
    """Bytes of global memory that a request's lanes access, each byte once, by PTX line."""
    requests: Counter[int] = field(default_factory=Counter[int])
    """Global memory requests by PTX line."""
    waits: Counter[str] = field(default_factory=Counter[str])
    """Times that a warp stalled, by kind of wait."""
    flops: Counter[str] = field(default_factory=Counter[str])
    """Floating-point operations by unit: `fma`, `mma.sync`, `wgmma`."""

    @property
    def timed(self) -> bool:
        """True if the trace of the launch is recorded (sim/clock)."""
        return False

    @property
    def passing(self) -> bool:
        """True if the warps of the launch pass every mbarrier (sim/clock/survey.py)."""
        return False

    @property
    def polling(self) -> bool:
        """True if the launch is timed, and some of its warps may poll global memory."""
        return False

    def parity(self, warp: Warp, pc: int, address: int, wanted: int) -> int:
        """The parity that a warp waits for, in place of `wanted`, if it has skipped laps (sim/clock/steady.py)."""
        return wanted

    def counted(self, warp: Warp, place: int, seen: Array, amount: Array) -> Array:
        """What an atomic addition of one thread returns, in place of `seen`, if only a part of the grid runs."""
        return seen

    def recorded(self, code: list[Execute]) -> list[Execute]:
        """The closures of a module as the launch runs them."""
        return code

    def shared_access(self, line: int, addresses: Array, width: int) -> int:
        """Count a shared-memory request of the active lanes' byte addresses; returns its wavefronts."""
        found, ideal = wavefronts(addresses, width)
        self.wavefronts[line] += found
        self.ideal_wavefronts[line] += ideal
        return found

    def bulk(self, what: str, count: int, places: Array | None = None, ctas: tuple[int, ...] = ()) -> None:
        """Count `count` bytes of a bulk copy; `places` are addresses of global memory, at least one of each sector.

        ctas: the numbers of those to whose shared memory it moves them, if their mbarriers are elsewhere.
        """
        self.bytes[what] += count

    def umma(self, work: float, feed: int, ctas: tuple[int, ...], *, in_tensor_memory: bool) -> None:
        """The current instruction starts a tcgen05.mma or tcgen05.cp of the CTAs (sim/clock)."""

    def tensor_memory(self, what: str, count: int) -> None:
        """Count `count` bytes that a warp moves between registers and tensor memory."""
        self.bytes[what] += count

    def repeat(self, count: int) -> None:
        """The current instruction executes `count` successive ones."""

    def arrive(self, kind: str, cta: int, place: int, phase: int) -> None:
        """The current instruction, or an operation that it starts, signals a phase of a barrier (sim/clock)."""

    def wait(self, kind: str, cta: int, place: int, phase: int) -> None:
        """The current instruction waits for a phase of a barrier (sim/clock)."""

    def gave_up(self, warp: Warp) -> None:
        """The last wait of the warp has ended without the phase (sim/clock)."""

    def global_access(self, line: int, addresses: Array, width: int) -> Array:
        """Count a request of global memory by the active lanes' byte addresses; returns its sectors."""
        found = sectors(addresses, width)
        self.sectors[line] += len(found)
        self.requests[line] += 1
        self.used[line] += len(np.unique(addresses)) * width  # Every access is aligned to its width.
        return found


def wavefronts(addresses: Array, width: int) -> tuple[int, int]:
    """Wavefronts of a shared-memory request, and the minimum for its bytes.

    Accesses of 8 bytes are processed per half-warp, accesses of 16 bytes per quarter-warp. In each part, words of the
    same bank with different addresses take one wavefront each.
    """
    lanes = 32 * 4 // max(width, 4)
    total = ideal = 0
    for start in range(0, len(addresses), lanes):
        part = addresses[start : start + lanes].astype(np.int64) >> 2
        words = np.unique(part[:, None] + np.arange(max(width // 4, 1)))
        total += int(np.bincount(words % _BANKS).max())
        ideal += -(-len(words) // _BANKS)
    return total, ideal


def sectors(addresses: Array, width: int) -> Array:
    """The numbers of the 32-byte sectors that the lanes access, each once, in order."""
    first = addresses >> _SECTOR
    last = (addresses + np.uint64(width - 1)) >> _SECTOR
    return np.unique(np.concatenate([first, last]))
