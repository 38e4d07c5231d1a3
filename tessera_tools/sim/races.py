"""Happens-before between the warps of a cluster, and the last accesses of each byte.

Every access has a record: the clock, the instruction, and the thread. The clock is the launch's number of
synchronizations at the warp's last synchronization.

    63 ── clock ── 36 ── code index ── 16, 15: strong, 14 ── thread ── 0

`known[u, w]` is the clock up to which a barrier, an mbarrier or bar.warp.sync has ordered the accesses of warp w
before warp u. An access that conflicts with a later record of another thread is a race. Clocks are vectors per warp,
records are scalars per byte (as in FastTrack).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.interfaces import Warps

if TYPE_CHECKING:
    from tessera_tools.sim.warp import Mask, Warp

__all__ = [
    "AGENTS",
    "MOST_CLOCK",
    "Clocks",
    "History",
    "Race",
    "clocks_of",
    "code_bits",
    "describe",
    "late_records",
    "record_at",
    "threads_of",
]

_CLOCK_SHIFT = 36
_CODE_SHIFT = 16
_CODE_MASK = (1 << _CLOCK_SHIFT - _CODE_SHIFT) - 1
MOST_CLOCK = (1 << 64 - _CLOCK_SHIFT) - 1
"""The last clock that a record can hold."""
AGENTS = 128
"""Engines of a cluster that access memory asynchronously; each counts as a warp (`Clocks.agent`)."""
_STRONG = np.uint64(1 << _CODE_SHIFT - 1)
"""Set in the record of an atomic or other strong access; a cluster has at most 2^14 threads."""
_THREAD = (1 << _CODE_SHIFT - 1) - 1
_THREAD_BITS = np.uint64(_THREAD)


class Race(NamedTuple):
    """The racing lanes (positions in the compact order), and the record that the first of them conflicts with."""

    lanes: Array
    record: int


def threads_of(records: Array) -> Array:
    """The threads, numbered within the cluster; from `Clocks.warps * 32` on, agents."""
    return (records & np.uint64(_THREAD)).astype(np.intp)


def clocks_of(records: Array) -> Array:
    return (records >> np.uint64(_CLOCK_SHIFT)).view(np.int64)


_Record = TypeVar("_Record", np.uint64, Array)


def record_at(record: _Record, pc: int) -> _Record:
    """The record or records (uint64) of an access by the instruction `pc`."""
    return record | np.uint64((pc & _CODE_MASK) << _CODE_SHIFT)


def code_bits(pcs: Array) -> Array:
    """The part of a record (uint64) that names the instruction, for each of `pcs`."""
    return (pcs.astype(np.uint64) & np.uint64(_CODE_MASK)) << np.uint64(_CODE_SHIFT)


class Clocks:
    """The vector clocks of a cluster; shared by all its warps."""

    def __init__(self, warps: int, start: int) -> None:
        self.now = start + 1
        self.begin = start
        self.warps = warps
        self.known = np.full((warps, warps + AGENTS), start, np.int64)
        self.horizon = [start] * warps
        """Per warp: every access up to this clock, by any warp or agent, is ordered before it."""
        self.agents = 0
        self.last = np.zeros(AGENTS, np.int64)
        """Per agent: the clock of its last access."""

    def start(self, warps: list[Warp]) -> None:
        for warp in warps:
            self._tick(warp)

    def _tick(self, warp: Warp) -> None:
        warp.records = (warp.records & np.uint64(_THREAD)) | np.uint64(self.now << _CLOCK_SHIFT)
        warp.limit = self.horizon[warp.rank] + 1 << _CLOCK_SHIFT

    def release(self, warp: Warp) -> Array:
        """The accesses that happen before this point in `warp`, for another warp to `acquire`; no later ones."""
        self.known[warp.rank, warp.rank] = self.now
        self.now += 1
        self._tick(warp)
        return self.known[warp.rank].copy()

    def acquire(self, warp: Warp, seen: Array) -> None:
        """Order all accesses of `seen` before `warp`."""
        row = self.known[warp.rank]
        np.maximum(row, seen, out=row)
        self.horizon[warp.rank] = self._ordered(row)
        warp.limit = self.horizon[warp.rank] + 1 << _CLOCK_SHIFT

    def _ordered(self, row: Array) -> int:
        """The clock up to which a warp with the vector clock `row` is ordered after every access."""
        lowest = int(row[: self.warps].min())
        if self.agents:
            unseen = row[self.warps :][row[self.warps :] < self.last]
            if len(unseen):
                lowest = min(lowest, int(unseen.min()))
        return lowest

    def agent(self) -> int:
        """The number of a new agent. Beyond AGENTS, agents share numbers, which can hide but never invent a race."""
        self.agents += 1
        return (self.agents - 1) % AGENTS

    def act(self, agent: int, pc: int) -> tuple[np.uint64, Array]:
        """The record of an agent's access for the instruction `pc`, and what a warp must `acquire` to follow it."""
        now = self.last[agent] = self.now
        seen = self.end(agent)
        return record_at(np.uint64(now << _CLOCK_SHIFT | (self.warps + agent) << 5), pc), seen

    def end(self, agent: int) -> Array:
        """What a warp must `acquire` to follow an agent's work, which has accessed nothing itself."""
        seen = np.full(self.known.shape[1], self.begin, np.int64)
        seen[self.warps + agent] = self.now
        self.now += 1
        return seen

    def synchronize(self, warps: list[Warp], others: Array | None = None) -> None:
        """All of `warps` meet: each is ordered after all of them, and after `others`, the result of `release`.

        With one warp, its lanes meet (bar.warp.sync).
        """
        ranks = [warp.rank for warp in warps]
        now = self.now
        self.known[ranks, ranks] = now
        seen = self.known[ranks].max(axis=0)
        if others is not None:
            seen = np.maximum(seen, others)
        self.now = now + 1
        self.known[ranks] = seen
        horizon = self._ordered(seen)
        for warp in warps:
            self.horizon[warp.rank] = horizon
            self._tick(warp)


_CHUNK = 1 << 12


def _spread(records: Array, times: int) -> Array:
    """Each record `times` times; without accesses, no memory is used."""
    found = np.zeros(len(records) * times, np.uint64)
    for begin in range(0, len(records), _CHUNK):
        part = records[begin : begin + _CHUNK]
        if part.any():
            found[begin * times : (begin + len(part)) * times] = np.repeat(part, times)
    return found


class History:
    """The last writer and reader of each grain of a memory: 16 bytes, or fewer after a narrower access.

    Accesses are aligned to their width, so an access of at least a grain covers whole grains. `written` and `read` are
    indexed by byte offset divided by `grain`.
    """

    def __init__(self, size: int) -> None:
        self.size = -(-size // 64) * 64
        self.grain = 16
        # numpy's zeros are mapped at the first access: the history of a large, sparsely used memory costs nothing.
        self.written = np.zeros(self.size // 16, np.uint64)
        self.read = np.zeros(self.size // 16, np.uint64)
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

    def refine(self, grain: int) -> None:
        """Refine the history to grains of `grain` bytes."""
        times = self.grain // grain
        self.written, self.read = _spread(self.written, times), _spread(self.read, times)
        self.grain = grain
        self._shape()

    def load(self, warp: Warp, mask: Mask, index: Array, width: int, strong: bool = False) -> Race | None:
        """Record a read of the `width`-byte units `index`; returns the race, or None."""
        if width < self.grain:
            self.refine(width)
        written, read = self._tables[width]
        mine = self._mine(warp, mask, strong)
        found = written.take(index, 0)
        late = None
        if _newest(found) >= warp.limit:
            late = self._late(warp, found, mine, strong)
        read[index] = mine if found.ndim == 1 else mine[:, None]
        return late

    def store(self, warp: Warp, mask: Mask, index: Array, width: int, strong: bool = False) -> Race | None:
        """Record a write; returns the race with a write or a read, or None."""
        if width < self.grain:
            self.refine(width)
        written, read = self._tables[width]
        mine = self._mine(warp, mask, strong)
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

    def store_quietly(self, warp: Warp, index: Array, width: int) -> bool:
        """Record several writes by all lanes of a warp, of at least a grain; False, recording nothing, if one races."""
        written, read = self._tables[width]
        mark = np.uint64((warp.split.pc & _CODE_MASK) << _CODE_SHIFT)
        mine = np.tile(warp.records | mark, len(index) // 32)
        found = written.take(index, 0)
        for records in (found, read.take(index, 0)):
            if _newest(records) >= warp.limit and self._late(warp, records, mine, False) is not None:
                return False
        written[index] = mine if found.ndim == 1 else mine[:, None]
        return True

    def note_read(self, index: Array, width: int, record: np.uint64) -> None:
        """Record a read of the `width`-byte units `index`, of at least a grain; the record names the thread."""
        self._tables[width][1][index] = record

    def is_ordered(self, warps: list[Warp], index: Array, width: int) -> bool:
        """True if the warps are ordered after the last writes of the units `index`, which are at least a grain."""
        found = self._tables[width][0].take(index, 0)
        newest = _newest(found)
        # All bytes that one copy has written have the same record.
        records = found if int(found.min()) != newest else found.reshape(-1)[:1]
        if all(newest < warp.limit for warp in warps):
            return True
        ranks = np.array([warp.rank for warp in warps])[:, None]
        records = records.reshape(-1)
        known = warps[0].cta.cluster.clocks.known[ranks, threads_of(records) >> 5]
        return not some(clocks_of(records) > known)

    def load_together(self, gang: Warps, index: Array, width: int, mine: Array) -> bool:
        """Record a read of the units `index` by lanes of several warps with the records `mine`; False on a race."""
        if width < self.grain:
            self.refine(width)
        written, read = self._tables[width]
        if self._races(gang, written.take(index, 0), mine):
            return False
        read[index] = mine if written.ndim == 1 else mine[:, None]
        return True

    def store_together(self, gang: Warps, index: Array, width: int, mine: Array) -> bool:
        """Record a write by lanes of several warps; False, with nothing recorded, on a race, including between them."""
        if width < self.grain:
            self.refine(width)
        written, read = self._tables[width]
        before = written.take(index, 0)
        if self._races(gang, before, mine) or self._races(gang, read.take(index, 0), mine):
            return False
        rows = mine if written.ndim == 1 else mine[:, None]
        written[index] = rows
        if some(written.take(index, 0) != rows):
            written[index] = before
            return False
        return True

    def _races(self, gang: Warps, records: Array, mine: Array) -> bool:
        if _newest(records) < gang.limit:
            return False
        records = records.reshape(len(records), -1)
        own, threads = threads_of(mine)[:, None], threads_of(records)
        known = gang.cta.cluster.clocks.known[own >> 5, threads >> 5]
        return some((clocks_of(records) > known) & (threads != own))

    def _mine(self, warp: Warp, mask: Mask, strong: bool) -> Array:
        mark = (warp.split.pc & _CODE_MASK) << _CODE_SHIFT | (int(_STRONG) if strong else 0)
        return (warp.records if mask.full else warp.records[mask.array]) | np.uint64(mark)

    def _late(self, warp: Warp, records: Array, mine: Array, strong: bool) -> Race | None:
        # In the common case each lane was the last to access its own units.
        own = mine & _THREAD_BITS
        if not some(records & _THREAD_BITS != (own if records.ndim == 1 else own[:, None])):
            return None
        clocks = warp.cta.cluster.clocks
        records = records.reshape(len(records), -1)
        threads = threads_of(records)
        late = (clocks_of(records) > clocks.known[warp.rank][threads >> 5]) & (
            threads != threads_of(own)[:, None]
        )
        if strong:
            late &= records & _STRONG == 0
        if not some(late):
            return None
        first = np.flatnonzero(late)[0]
        return Race(np.flatnonzero(late.any(axis=1)), int(records.reshape(-1)[first]))


def late_records(warp: Warp, records: Array, thread: int) -> Array:
    """Which of the records (any shape) belong to another thread and are not ordered before `warp`'s current point."""
    threads = threads_of(records)
    return (clocks_of(records) > warp.cta.cluster.clocks.known[warp.rank][threads >> 5]) & (threads != thread)


def describe(warp: Warp, record: int) -> tuple[str, Hashable]:
    """The origin of a record as text: the instruction, its location and the thread; and only the location."""
    launch, cluster = warp.cta.cluster.launch, warp.cta.cluster
    pc, thread = record >> _CODE_SHIFT & _CODE_MASK, record & _THREAD
    inst = launch.module.program.instructions[pc]
    text = f"the other access: {inst.name} at PTX line {inst.line}"
    if inst.location is not None:
        text += f" ({', inlined at '.join([str(inst.location), *inst.location.callers])})"
    if thread >> 5 < cluster.clocks.warps:
        count = len(cluster.ctas[0].warps)
        cta = cluster.ctas[(thread >> 5) // count]
        text += f", by CTA {cta.index} thread {cta.thread(thread - 32 * count * cta.rank)}"
    else:
        text += ", by the asynchronous operation that it started"
    return text, (str(inst.location), *inst.location.callers) if inst.location is not None else inst.line


def _newest(records: Array) -> int:
    return int(_maximum(records, None)) if records.size else 0


_maximum = np.maximum.reduce
