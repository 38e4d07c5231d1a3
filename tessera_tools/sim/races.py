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

__all__ = ["AGENTS", "THREAD_BITS", "Clocks", "History", "late_records"]

THREAD_BITS = 16
AGENTS = 128
"""Engines of a cluster that access memory by themselves, each as if it were a warp (`Clocks.agent`)."""
_STRONG = np.uint64(1 << THREAD_BITS - 1)
"""Set in the record of an atomic or otherwise strong access; a cluster has at most 2^14 threads."""
_THREAD = (1 << THREAD_BITS - 1) - 1
Array = np.ndarray[Any, Any]


class Clocks:
    """Who has seen whose accesses; one for all warps of a cluster."""

    def __init__(self, warps: int, start: int) -> None:
        self.now = start + 1
        self.begin = start
        self.warps = warps
        self.known = np.full((warps, warps + AGENTS), start, np.int64)
        self.horizon = [start] * warps
        """Per warp: every access up to this clock, of any warp or agent, is ordered before it."""
        self.agents = 0
        self.last = np.zeros(AGENTS, np.int64)
        """Per agent: the clock of its last access."""

    def start(self, warps: list[Warp]) -> None:
        for warp in warps:
            self._tick(warp)

    def _tick(self, warp: Warp) -> None:
        warp.records = (warp.records & np.uint64(_THREAD)) | np.uint64(self.now << THREAD_BITS)
        warp.limit = self.horizon[warp.rank] + 1 << THREAD_BITS

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
        self.horizon[warp.rank] = self._ordered(row)
        warp.limit = self.horizon[warp.rank] + 1 << THREAD_BITS

    def _ordered(self, row: Array) -> int:
        """The clock up to which a warp that knows `row` comes after everything."""
        lowest = int(row[: self.warps].min())
        if self.agents:
            unseen = row[self.warps :][row[self.warps :] < self.last]
            if len(unseen):
                lowest = min(lowest, int(unseen.min()))
        return lowest

    def agent(self) -> int:
        """The number of a new agent; beyond AGENTS they share, which can hide a race and never invents one."""
        self.agents += 1
        return (self.agents - 1) % AGENTS

    def act(self, agent: int) -> tuple[np.uint64, Array]:
        """The record of what an agent does now, and what a warp must `acquire` to come after it."""
        now = self.now
        self.now += 1
        self.last[agent] = now
        seen = np.full(self.known.shape[1], self.begin, np.int64)
        seen[self.warps + agent] = now
        return np.uint64(now << THREAD_BITS | (self.warps + agent) << 5), seen

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
            self.horizon[warp.rank] = self._ordered(seen)
            self._tick(warp)


class History:
    """The last writer and reader of each grain of a memory: 4 bytes, or fewer once a narrower access has come.

    Accesses are aligned to their width, so one of at least a grain covers whole grains. `written` and `read` may
    be indexed by byte offset divided by `grain`.
    """

    def __init__(self, size: int) -> None:
        self.size = -(-size // 64) * 64
        self.grain = 4
        # numpy's zeros are mapped on first touch: the history of a large, little used memory costs nothing.
        self.written = np.zeros(self.size // 4, np.uint64)
        self.read = np.zeros(self.size // 4, np.uint64)
        self._touched = False
        self._shape()

    def _shape(self) -> None:
        self._tables = {
            width: (self._rows(self.written, width), self._rows(self.read, width))
            for width in (1, 2, 4, 8, 16, 32)
            if width >= self.grain
        }

    def _rows(self, records: Array, width: int) -> Array:
        each = width // self.grain
        return records if each == 1 else records.reshape(-1, each)

    def _refine(self, grain: int) -> None:
        if self._touched:
            self.written = np.repeat(self.written, self.grain // grain)
            self.read = np.repeat(self.read, self.grain // grain)
        else:
            self.written = np.zeros(self.size // grain, np.uint64)
            self.read = np.zeros(self.size // grain, np.uint64)
        self.grain = grain
        self._shape()

    def load(self, warp: Warp, mask: Mask, index: Array, width: int, strong: bool = False) -> Array | None:
        """Note a read of the `width`-byte units `index`; the lanes (positions in `index`) that race, or None.

        `strong` accesses (atomic, volatile, relaxed, acquire) do not race with each other (PTX ISA, "Conflict
        and Data-races").
        """
        if width < self.grain:
            self._refine(width)
        self._touched = True
        written, read = self._tables[width]
        mine = warp.records if mask.full else warp.records[mask.array]
        if strong:
            mine = mine | _STRONG
        found = written.take(index, 0)
        late = None
        if _newest(found) >= warp.limit:
            late = self._late(warp, found, mine, strong)
        read[index] = mine if found.ndim == 1 else mine[:, None]
        return late

    def store(self, warp: Warp, mask: Mask, index: Array, width: int, strong: bool = False) -> Array | None:
        """Note a write; the lanes that race with a write or a read, or None."""
        if width < self.grain:
            self._refine(width)
        self._touched = True
        written, read = self._tables[width]
        mine = warp.records if mask.full else warp.records[mask.array]
        if strong:
            mine = mine | _STRONG
        found = written.take(index, 0)
        late = None
        if _newest(found) >= warp.limit:
            late = self._late(warp, found, mine, strong)
        if late is None:
            seen = read.take(index, 0)
            if _newest(seen) >= warp.limit:
                late = self._late(warp, seen, mine, strong)
        written[index] = mine if found.ndim == 1 else mine[:, None]
        return late

    def _late(self, warp: Warp, records: Array, mine: Array, strong: bool) -> Array | None:
        # Mostly each lane touched its own last.
        if records.ndim == 1:
            if records.tobytes() == mine.tobytes():
                return None
        elif (records == mine[:, None]).all():
            return None
        clocks = warp.cta.cluster.clocks
        records = records.reshape(len(records), -1)
        threads = (records & np.uint64(_THREAD)).astype(np.intp)
        when = (records >> np.uint64(THREAD_BITS)).view(np.int64)
        own = (mine & np.uint64(_THREAD)).astype(np.intp)
        late = (when > clocks.known[warp.rank][threads >> 5]) & (threads != own[:, None])
        if strong:
            late &= records & _STRONG == 0
        lanes = np.flatnonzero(late.any(axis=1))
        return lanes if len(lanes) else None


def late_records(warp: Warp, records: Array, thread: int) -> Array:
    """Which of the records (any shape) are of another thread, and not ordered before what `warp` does now."""
    when = (records >> np.uint64(THREAD_BITS)).view(np.int64)
    threads = (records & np.uint64(_THREAD)).astype(np.intp)
    return (when > warp.cta.cluster.clocks.known[warp.rank][threads >> 5]) & (threads != thread)


def _newest(records: Array) -> int:
    return int(_maximum(records, None)) if records.size else 0


_maximum = np.maximum.reduce
