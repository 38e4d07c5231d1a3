"""Happens-before between the warps of a cluster, and who touched each byte last.

Every access leaves a record `clock << 16 | thread`; the clock is the launch's count of synchronizations when the
warp last synchronized. `known[u, w]` is the clock up to which warp u has seen the accesses of warp w, because a
barrier, an mbarrier or bar.warp.sync ordered them. An access that conflicts with a record later than that,
of another thread, is a race. Vector clocks per warp, scalar records per byte (as FastTrack does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tessera_tools.sim.warp import Mask, Warp

__all__ = ["Clocks", "History", "THREAD_BITS"]

THREAD_BITS = 16
_THREAD = (1 << THREAD_BITS) - 1
Array = np.ndarray[Any, Any]


class Clocks:
    """Who has seen whose accesses; one for all warps of a cluster."""

    def __init__(self, warps: int, start: int) -> None:
        self.now = start + 1
        self.known = np.full((warps, warps), start, np.int64)
        self.horizon = [start] * warps
        """Per warp: every access up to this clock, of any warp, is ordered before it."""

    def start(self, warps: list[Warp]) -> None:
        for warp in warps:
            self._tick(warp)

    def _tick(self, warp: Warp) -> None:
        warp.records = (warp.records & np.uint64(_THREAD)) | np.uint64(self.now << THREAD_BITS)

    def release(self, warp: Warp) -> Array:
        """What happened before now in `warp`, for another to `acquire`; later accesses are not part of it."""
        self.known[warp.rank, warp.rank] = self.now
        self.now += 1
        self._tick(warp)
        return self.known[warp.rank].copy()

    def acquire(self, warp: Warp, seen: Array) -> None:
        """`warp` now comes after all that `seen` holds."""
        row = self.known[warp.rank]
        np.maximum(row, seen, out=row)
        self.horizon[warp.rank] = int(row.min())

    def synchronize(self, warps: list[Warp], others: Array | None = None) -> None:
        """All of `warps` meet: each comes after all of them, and after `others`, what `release` gave.

        One warp alone: its lanes meet (bar.warp.sync).
        """
        ranks = [warp.rank for warp in warps]
        now = self.now
        self.known[ranks, ranks] = now
        seen = self.known[ranks].max(axis=0)
        if others is not None:
            seen = np.maximum(seen, others)
        self.now = now + 1
        for warp in warps:
            self.known[warp.rank] = seen
            self.horizon[warp.rank] = int(seen.min())
            self._tick(warp)


class History:
    """The last writer and reader of each byte of a memory, with views for accesses of each width."""

    def __init__(self, size: int) -> None:
        self.written = _views(np.zeros(size, np.uint64))
        self.read = _views(np.zeros(size, np.uint64))

    def load(self, warp: Warp, mask: Mask, index: Array, width: int) -> Array | None:
        """Note a read of the `width`-byte units `index`; the lanes (positions in `index`) that race, or None."""
        mine = warp.records if mask.full else warp.records[mask.array]
        late = self._late(warp, self.written[width][index], mine)
        self.read[width][index] = mine[:, None]
        return late

    def store(self, warp: Warp, mask: Mask, index: Array, width: int) -> Array | None:
        """Note a write; the lanes that race with a write or a read, or None."""
        mine = warp.records if mask.full else warp.records[mask.array]
        late = self._late(warp, self.written[width][index], mine)
        if late is None:
            late = self._late(warp, self.read[width][index], mine)
        self.written[width][index] = mine[:, None]
        return late

    def _late(self, warp: Warp, records: Array, mine: Array) -> Array | None:
        clocks = warp.cta.cluster.clocks
        if not records.size or int(records.max()) >> THREAD_BITS <= clocks.horizon[warp.rank]:
            return None
        threads = (records & np.uint64(_THREAD)).astype(np.intp)
        when = (records >> np.uint64(THREAD_BITS)).view(np.int64)
        own = (mine & np.uint64(_THREAD)).astype(np.intp)
        late = (when > clocks.known[warp.rank][threads >> 5]) & (threads != own[:, None])
        lanes = np.flatnonzero(late.any(axis=1))
        return lanes if len(lanes) else None


def _views(records: Array) -> dict[int, Array]:
    return {width: records.reshape(-1, width) for width in (1, 2, 4, 8, 16, 32)}
