"""Happens-before between the warps of a cluster, and who touched each byte last.

Every access leaves a record: the clock, the instruction, and the thread that made it. The clock is the launch's
count of synchronizations when the warp last synchronized.

    63 ── clock ── 36 ── code index ── 16, 15: strong, 14 ── thread ── 0

`known[u, w]` is the clock up to which warp u has seen the accesses of warp w, because a
barrier, an mbarrier or bar.warp.sync ordered them. An access that conflicts with a record later than that,
of another thread, is a race. Vector clocks per warp, scalar records per byte (as FastTrack does).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tessera_tools.sim.gang import Gang
    from tessera_tools.sim.warp import Mask, Warp

__all__ = [
    "AGENTS",
    "MOST_CLOCK",
    "Clocks",
    "History",
    "Race",
    "clocks_of",
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
"""Engines of a cluster that access memory by themselves, each as if it were a warp (`Clocks.agent`)."""
_STRONG = np.uint64(1 << _CODE_SHIFT - 1)
"""Set in the record of an atomic or otherwise strong access; a cluster has at most 2^14 threads."""
_THREAD = (1 << _CODE_SHIFT - 1) - 1
_THREAD_BITS = np.uint64(_THREAD)
Array = np.ndarray[Any, Any]


class Race(NamedTuple):
    """The lanes (positions in the compact order) that race, and the record of an access that the first races with."""

    lanes: Array
    record: int


def threads_of(records: Array) -> Array:
    """The threads, counted through the cluster; from `Clocks.warps * 32` on, agents."""
    return (records & np.uint64(_THREAD)).astype(np.intp)


def clocks_of(records: Array) -> Array:
    return (records >> np.uint64(_CLOCK_SHIFT)).view(np.int64)


def record_at(record: Any, pc: int) -> Any:
    """The record or records (uint64), of an access by the instruction `pc`."""
    return record | np.uint64((pc & _CODE_MASK) << _CODE_SHIFT)


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
        warp.records = (warp.records & np.uint64(_THREAD)) | np.uint64(self.now << _CLOCK_SHIFT)
        warp.limit = self.horizon[warp.rank] + 1 << _CLOCK_SHIFT

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
        warp.limit = self.horizon[warp.rank] + 1 << _CLOCK_SHIFT

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

    def act(self, agent: int, pc: int) -> tuple[np.uint64, Array]:
        """The record of what an agent does now for the instruction `pc`, and what a warp must `acquire` to follow."""
        now = self.now
        self.now += 1
        self.last[agent] = now
        seen = np.full(self.known.shape[1], self.begin, np.int64)
        seen[self.warps + agent] = now
        return record_at(np.uint64(now << _CLOCK_SHIFT | (self.warps + agent) << 5), pc), seen

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


_CHUNK = 1 << 12


def _spread(records: Array, times: int) -> Array:
    """Each record `times` times; where nobody was, no memory is used."""
    found = np.zeros(len(records) * times, np.uint64)
    for begin in range(0, len(records), _CHUNK):
        part = records[begin : begin + _CHUNK]
        if part.any():
            found[begin * times : (begin + len(part)) * times] = np.repeat(part, times)
    return found


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
        times = self.grain // grain
        self.written, self.read = _spread(self.written, times), _spread(self.read, times)
        self.grain = grain
        self._shape()

    def load(self, warp: Warp, mask: Mask, index: Array, width: int, strong: bool = False) -> Race | None:
        """Note a read of the `width`-byte units `index`; who races, or None.

        `strong` accesses (atomic, volatile, relaxed, acquire) do not race with each other (PTX ISA, "Conflict
        and Data-races").
        """
        if width < self.grain:
            self._refine(width)
        written, read = self._tables[width]
        mine = self._mine(warp, mask, strong)
        found = written.take(index, 0)
        late = None
        if _newest(found) >= warp.limit:
            late = self._late(warp, found, mine, strong)
        read[index] = mine if found.ndim == 1 else mine[:, None]
        return late

    def store(self, warp: Warp, mask: Mask, index: Array, width: int, strong: bool = False) -> Race | None:
        """Note a write; who races with a write or a read, or None."""
        if width < self.grain:
            self._refine(width)
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

    def load_together(self, gang: Gang, index: Array, width: int, mine: Array) -> bool:
        """Note a read of the units `index` by lanes of several warps with the records `mine`; False if some race."""
        if width < self.grain:
            return False
        written, read = self._tables[width]
        if self._races(gang, written.take(index, 0), mine):
            return False
        read[index] = mine if written.ndim == 1 else mine[:, None]
        return True

    def store_together(self, gang: Gang, index: Array, width: int, mine: Array) -> bool:
        """Note a write by lanes of several warps; False, and nothing noted, if some race, also with each other."""
        if width < self.grain:
            return False
        written, read = self._tables[width]
        before = written.take(index, 0)
        if self._races(gang, before, mine) or self._races(gang, read.take(index, 0), mine):
            return False
        rows = mine if written.ndim == 1 else mine[:, None]
        written[index] = rows
        if (written.take(index, 0) != rows).any():
            written[index] = before
            return False
        return True

    def _races(self, gang: Gang, records: Array, mine: Array) -> bool:
        if _newest(records) < gang.limit:
            return False
        records = records.reshape(len(records), -1)
        own, threads = threads_of(mine)[:, None], threads_of(records)
        known = gang.cta.cluster.clocks.known[own >> 5, threads >> 5]
        return bool(((clocks_of(records) > known) & (threads != own)).any())

    def _mine(self, warp: Warp, mask: Mask, strong: bool) -> Array:
        mark = (warp.split.pc & _CODE_MASK) << _CODE_SHIFT | (int(_STRONG) if strong else 0)
        return (warp.records if mask.full else warp.records[mask.array]) | np.uint64(mark)

    def _late(self, warp: Warp, records: Array, mine: Array, strong: bool) -> Race | None:
        # Mostly each lane touched its own last.
        own = mine & _THREAD_BITS
        if not (records & _THREAD_BITS != (own if records.ndim == 1 else own[:, None])).any():
            return None
        clocks = warp.cta.cluster.clocks
        records = records.reshape(len(records), -1)
        threads = threads_of(records)
        late = (clocks_of(records) > clocks.known[warp.rank][threads >> 5]) & (
            threads != threads_of(own)[:, None]
        )
        if strong:
            late &= records & _STRONG == 0
        if not late.any():
            return None
        first = np.flatnonzero(late)[0]
        return Race(np.flatnonzero(late.any(axis=1)), int(records.reshape(-1)[first]))


def late_records(warp: Warp, records: Array, thread: int) -> Array:
    """Which of the records (any shape) are of another thread, and not ordered before what `warp` does now."""
    threads = threads_of(records)
    return (clocks_of(records) > warp.cta.cluster.clocks.known[warp.rank][threads >> 5]) & (threads != thread)


def describe(warp: Warp, record: int) -> tuple[str, Hashable]:
    """Who made the access of a record, in words: the instruction, its place, the thread; and its place alone."""
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
