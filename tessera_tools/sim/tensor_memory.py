"""Tensor memory: 128 lanes × 512 columns of 32 bits per CTA, and the order of the tcgen05 operations that use it.

    alloc ──▶ columns ──▶ access(Use) checks: allocated? initialized? ordered after the last read and write? ──▶ dealloc

An address has the lane in its high 16 bits, and the column in its low 16 bits. Each cell has the records (sim/races.py)
of its last write and its last read. The operations of a warp have agents: one for its loads, one for its stores, and
one for each thread that issues mma, cp and shift. An access is ordered after the operation of a record if

- its warp has waited for the operation, or has acquired that from another thread and has then executed
  `tcgen05.fence::after_thread_sync` (`Order.row`), or
- the two form a pipelined pair (`PIPELINED`), and one thread has issued both, or fences order their issue.

Source: PTX ISA, "Tensor Memory", "Memory Consistency Model for 5th generation of TensorCore operations".
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.machine import CTA_ENDS
from tessera_tools.sim.races import AGENTS, clocks_of, describe, threads_of
from tessera_tools.sim.warp import Mask, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cta

__all__ = [
    "COLUMNS",
    "LANES",
    "LEAST_COLUMNS",
    "Issued",
    "Order",
    "Place",
    "TensorMemory",
    "Use",
    "implied_of",
    "log_of",
    "order_of",
    "pipe_of",
    "relaxed_arrival",
    "relaxed_wait",
    "tensor_memory",
]

LANES, COLUMNS = 128, 512
LEAST_COLUMNS = 32
"""The smallest allocation; larger ones are powers of two."""

Place = tuple[Array, Array]
"""Lanes and columns as two index arrays that broadcast."""

PIPELINED = {
    ("mma", "mma"): "same",
    ("cp", "mma"): "",
    ("shift", "mma"): "",
    ("shift", "cp.4x256b"): "",
    ("mma", "shift"): "",
}
"""Pairs that execute in the order of their issue. `same`: if their accumulator, shape and kind are the same."""


@dataclass(frozen=True, slots=True)
class Issued:
    """An operation as later ones see it: `mma`, `cp`, `cp.4x256b`, `shift`, `ld` or `st`."""

    kind: str
    group: int
    """cta_group."""
    key: Hashable = None
    """The accumulator, shape and kind of an mma."""

    def precedes(self, other: Issued) -> bool:
        """Whether this operation and `other`, issued later, are a pipelined pair."""
        kind = "cp" if self.kind.startswith("cp") else self.kind
        rule = PIPELINED.get((kind, "cp.4x256b" if other.kind == "cp.4x256b" else other.kind))
        return rule is not None and self.group == other.group and (rule != "same" or self.key == other.key)


@dataclass(slots=True)
class Order:
    """What a warp knows of tcgen05 operations. Agents are numbers of `Clocks.agent`."""

    row: Array
    """By agent: the clock up to which its operations are ordered before later tcgen05 operations of this warp."""
    load: int
    store: int
    fence: int
    """Marks the warp's `fence::before_thread_sync`."""
    pipes: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By lane: the agent of its mma, cp and shift; and the agent that marks its fences after their issue."""


def order_of(warp: Warp) -> Order:
    """The warp's knowledge, created at its first tcgen05 instruction."""
    found = warp.state.get("tcgen05")
    if found is None:
        clocks = warp.cta.cluster.clocks
        row = np.full(clocks.known.shape[1], clocks.begin, np.int64)
        found = warp.state["tcgen05"] = Order(row, clocks.agent(), clocks.agent(), clocks.agent())
        owners = _shared(warp)
        for agent in (found.load, found.store):
            owners[agent] = found.fence
    return found


def _shared(warp: Warp) -> dict[int, int]:
    """In the cluster: the agent of loads or stores → the agent that marks the fences of their warp."""
    return warp.cta.cluster.state.setdefault("tcgen05 fences", {})


def pipe_of(warp: Warp, lane: int) -> tuple[int, int]:
    """The agent of the mma, cp and shift of a thread, and the agent that marks its fences after their issue."""
    order = order_of(warp)
    found = order.pipes.get(lane)
    if found is None:
        clocks = warp.cta.cluster.clocks
        found = order.pipes[lane] = clocks.agent(), clocks.agent()
        warp.cta.cluster.state.setdefault("tcgen05 issue marks", {})[found[0]] = found[1]
    return found


def implied_of(warp: Warp, agent: int) -> dict[int, int]:
    """The operations of other threads that one of the agent's operations follows in a pipeline: agent → clock.

    The commit of the later operation covers them.
    """
    return warp.cta.cluster.state.setdefault("tcgen05 implied", {}).setdefault(agent, {})


def relaxed_arrival(warp: Warp) -> Array | None:
    """What a relaxed arrival releases: the warp's tcgen05 operations that are complete, and those before a fence.

    PTX orders tcgen05 operations by fences and execution, for which a relaxed synchronization is sufficient.
    """
    order = warp.state.get("tcgen05")
    if order is None:
        return None
    clocks = warp.cta.cluster.clocks
    seen = np.full(clocks.known.shape[1], clocks.begin, np.int64)
    agents = [
        order.load,
        order.store,
        order.fence,
        *(agent for pipe in order.pipes.values() for agent in pipe),
    ]
    places = [clocks.warps + agent for agent in agents]
    seen[places] = clocks.known[warp.rank, places]
    return seen


def relaxed_wait(warp: Warp, released: Array) -> None:
    """A relaxed wait for `released`: `tcgen05.fence::after_thread_sync` orders tcgen05 operations after it."""
    held = warp.state.get("relaxed wait")
    warp.state["relaxed wait"] = released if held is None else np.maximum(held, released)


def log_of(warp: Warp) -> dict[int, Issued]:
    """In the cluster: clock of a record → the operation that left it."""
    return warp.cta.cluster.state.setdefault("tcgen05 log", {})


@dataclass(frozen=True, slots=True)
class Use:
    """One operation while it is issued: who issues it, and how findings name it."""

    warp: Warp
    mask: Mask
    what: str
    issued: Issued
    record: np.uint64
    agent: int


class TensorMemory:
    """The tensor memory of one CTA."""

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.data = np.full((LANES, COLUMNS), 0xFFFFFFFF, np.uint32)
        self.ready = np.zeros((LANES, COLUMNS), np.bool_)
        """Cells that an operation has written, or will write."""
        self.live = np.zeros(COLUMNS, np.bool_)
        """Allocated columns."""
        self.written = np.zeros((LANES, COLUMNS), np.uint64)
        self.read = np.zeros((LANES, COLUMNS), np.uint64)
        self.allocations: dict[int, int] = {}
        """First column → number of columns."""
        self.released: dict[int, tuple[int, int]] = {}
        """Number of columns and PTX line of the last `dealloc`, by first column."""
        self.relinquished = 0
        """PTX line of the CTA's relinquish_alloc_permit."""
        self.group = 0
        """The cta_group that the CTA's instructions use."""

    def find(self, columns: int, *, high: bool) -> int | None:
        """The first column of free ones, from the low or the high end; None if there are not enough together."""
        starts = range(0, COLUMNS, columns)
        for start in reversed(starts) if high else starts:
            if not self.live[start : start + columns].any():
                return start
        return None

    def allocate(self, start: int, columns: int) -> None:
        where = slice(start, start + columns)
        self.live[where] = True
        self.allocations[start] = columns
        self.ready[:, where] = False
        self.data[:, where] = 0xFFFFFFFF
        self.written[:, where] = self.read[:, where] = 0

    def free(self, start: int) -> None:
        self.live[start : start + self.allocations.pop(start)] = False

    def check_allocated(self, use: Use, place: Place) -> bool:
        """Report a place outside the CTA's allocation; True if it is inside."""
        lanes, columns = place
        if int(np.max(lanes)) >= LANES or int(np.max(columns)) >= COLUMNS:
            use.warp.report(
                "out-of-bounds",
                f"{use.what} uses lane {int(np.max(lanes))} and column {int(np.max(columns))} of tensor memory, which "
                f"has {LANES} lanes and {COLUMNS} columns",
                use.mask,
            )
            return False
        live = self.live[columns]
        if not live.all():
            column = int(np.asarray(columns).reshape(-1)[np.flatnonzero(~live.reshape(-1))[0]])
            freed = (
                line for first, (count, line) in self.released.items() if first <= column < first + count
            )
            line = next(freed, 0)
            after = f"; tcgen05.dealloc at PTX line {line} has freed it" if line else ""
            use.warp.report(
                "out-of-bounds",
                f"{use.what} uses column {column} of the tensor memory of CTA {self.cta.index}, which is not "
                f"allocated{after}",
                use.mask,
            )
            return False
        return True

    def reads(self, use: Use, place: Place) -> bool:
        """Check and record a read; False if the place cannot be read."""
        if not self.check_allocated(use, place):
            return False
        ready = np.broadcast_to(self.ready[place], np.broadcast_shapes(*map(np.shape, place)))
        if not ready.all():
            at = np.unravel_index(int(np.flatnonzero(~ready.reshape(-1))[0]), ready.shape)
            lane, column = (int(np.broadcast_to(part, ready.shape)[at]) for part in place)
            use.warp.report(
                "uninitialized",
                f"{use.what} reads lane {lane}, column {column} of tensor memory: never written",
                use.mask,
            )
        self._check_order(use, self.written[place], place, "writes")
        self.read[place] = use.record
        return True

    def writes(self, use: Use, place: Place) -> bool:
        """Check and record a write; False if the place cannot be written."""
        if not self.check_allocated(use, place):
            return False
        self._check_order(use, self.written[place], place, "writes")
        self._check_order(use, self.read[place], place, "reads")
        self.written[place] = use.record
        self.ready[place] = True
        return True

    def has_sums(self, use: Use, place: Place) -> bool:
        """Whether a product has written a cell last."""
        log, records = log_of(use.warp), np.unique(self.written[place])
        issued = (log.get(int(clock)) for clock in clocks_of(records[records != 0]))
        return any(one is not None and one.kind == "mma" for one in issued)

    def check_free(self, warp: Warp, mask: Mask, start: int, columns: int) -> None:
        """Report operations on the columns that `warp`, which frees them, is not ordered after."""
        known = warp.cta.cluster.clocks.known[warp.rank]
        for records, done in ((self.written, "writes"), (self.read, "reads")):
            found = np.unique(records[:, start : start + columns])
            found = found[found != 0]
            for record in found[clocks_of(found) > known[threads_of(found) >> 5]]:
                warp.report(
                    "in-flight",
                    f"tcgen05.dealloc of column {start}, which an operation still {done}: nothing orders the end "
                    "of that operation before",
                    mask,
                    describe(warp, int(record))[0],
                )
                return

    def _check_order(self, use: Use, records: Array, place: Place, done: str) -> None:
        low, high = int(records.min()), int(records.max())
        if not high:
            return
        for record in (high,) if low == high else map(int, np.unique(records)):
            if record and record != int(use.record):
                self._check_record(use, record, done, place, records)

    def _check_record(self, use: Use, record: int, done: str, place: Place, records: Array) -> None:
        warp = use.warp
        cluster, order = warp.cta.cluster, order_of(warp)
        warps = cluster.clocks.warps
        single = np.array([record], np.uint64)
        agent, clock = (int(threads_of(single)[0]) >> 5) - warps, int(clocks_of(single)[0])
        before = log_of(warp).get(clock)
        known, row = cluster.clocks.known[warp.rank][warps:], order.row[warps:]
        own = agent in (order.load, order.store, use.agent)
        if row[agent] >= clock:
            fence = _shared(warp).get(agent)
            if own or fence is None or row[fence] >= clock:
                return
            self._warn(use, record, "before_thread_sync by the other thread")
            return
        mark = cluster.state.get("tcgen05 issue marks", {}).get(agent)
        pipelined = before is not None and before.precedes(use.issued)
        if pipelined and agent == use.agent:
            return
        if pipelined and mark is not None and row[mark] >= clock:
            implied = implied_of(warp, use.agent)
            implied[agent] = max(implied.get(agent, 0), clock)
            return
        if known[agent] >= clock or (pipelined and mark is not None and known[mark] >= clock):
            self._warn(use, record, "after_thread_sync")
            return
        if before is not None and before.kind == use.issued.kind == "st" and own:
            # Stores of one warp to the same cells have the order of the program in practice.
            return
        # CUTLASS copies new scale factors over those of earlier products of the thread.
        same_thread = agent == use.agent and before is not None and before.group == use.issued.group
        relied_on = same_thread and use.issued.kind.startswith("cp")
        at = np.unravel_index(int(np.flatnonzero(records.reshape(-1) == record)[0]), records.shape)
        lane, column = (int(np.broadcast_to(part, records.shape)[at]) for part in place)
        other = before.kind if before is not None else "another operation"
        remedy = {"ld": "tcgen05.wait::ld", "st": "tcgen05.wait::st"}.get(
            other, "tcgen05.commit and its mbarrier"
        )
        warp.report(
            "in-flight" if own else "race",
            f"{use.what} uses lane {lane}, column {column} of tensor memory, which tcgen05.{other} still {done}: "
            f"nothing orders it after {remedy}",
            use.mask,
            describe(warp, record)[0],
            severity="warning" if relied_on else "error",
            cause=("tensor memory", use.what, record >> 16 & 0xFFFFF),
        )

    def _warn(self, use: Use, record: int, fence: str) -> None:
        if use.warp.cta.cluster.clocks.agents > AGENTS:
            # Agents share numbers: the mark of a fence may be that of another warp.
            return
        use.warp.report(
            "asynchronous",
            f"{use.what} follows a tcgen05 operation through a synchronization of threads, with no "
            f"tcgen05.fence::{fence}",
            use.mask,
            describe(use.warp, record)[0],
            severity="warning",
            cause=("tcgen05.fence", use.what, fence),
        )


def tensor_memory(cta: Cta) -> TensorMemory:
    """The tensor memory of a CTA, created at its first use."""
    found = cta.state.get("tensor memory")
    if found is None:
        found = cta.state["tensor memory"] = TensorMemory(cta)
    return found


def _end_of_cta(cta: Cta) -> None:
    """Report columns that are still allocated."""
    memory = cta.state.get("tensor memory")
    if memory is None or not memory.allocations:
        return
    warp = cta.warps[0]
    warp.split.pc = min(warp.split.pc, len(cta.cluster.launch.module.code)) - 1
    start, columns = next(iter(memory.allocations.items()))
    warp.report(
        "illegal",
        f"the threads of CTA {cta.index} exited, and {columns} columns of tensor memory from {start} on are still "
        "allocated; expected tcgen05.dealloc",
        None,
    )


CTA_ENDS.append(_end_of_cta)
