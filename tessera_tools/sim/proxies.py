"""The async proxy: checks of its reads and writes, and the fences between it and the generic proxy.

    st (generic) ──UNFENCED──▶ fence.proxy.async ──▶ barrier ──▶ copy, wgmma: `async_read`, `async_write`

A fence covers the stores that are ordered before it: the thread's own, and those that a barrier orders before it
(PTX ISA, "Proxies", "Causality Order": the fence is on the path from one access to the other). When an
operation of the async proxy has completed, its results are visible to the generic proxy without a fence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array, Where, some
from tessera_tools.sim.memory import COPIED, READING, UNFENCED, UNINITIALIZED, WRITING
from tessera_tools.sim.races import History, describe, late_records, threads_of
from tessera_tools.sim.warp import Mask, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.memory import Region

__all__ = [
    "Response",
    "async_read",
    "async_write",
    "check_order",
    "covered",
    "fence_async",
    "history_of",
    "mark",
    "readable",
    "whole",
]


@dataclass(slots=True)
class Response:
    """16 bytes that a cancellation of a cluster writes through the async proxy."""

    content: bytes = b""
    readers: dict[int, int] = field(default_factory=dict[int, int])
    """By rank of a warp that has decoded it: its clock at that time."""
    fences: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """By rank of such a warp and of one with a fence behind that: the clock of the first such fence."""

    def fence(self, warp: Warp) -> None:
        """A fence by a warp, behind what it knows of."""
        clocks = warp.cta.cluster.clocks
        for rank, when in self.readers.items():
            if rank == warp.rank or clocks.known[warp.rank][rank] >= when:
                self.fences.setdefault((rank, warp.rank), int(clocks.now))

    def is_fenced(self, warp: Warp) -> bool:
        """Whether a fence is between each read and what a warp does now."""
        known = warp.cta.cluster.clocks.known[warp.rank]
        ordered = {rank for (rank, by), when in self.fences.items() if by == warp.rank or known[by] >= when}
        return ordered >= self.readers.keys()


def history_of(warp: Warp, memory: Region) -> History | None:
    """The access history of a memory: a CTA's shared memory, or a global allocation in this cluster."""
    own = memory.own_history
    return own if own is not None else warp.cta.cluster.histories.get(memory.base)


def whole(where: Where) -> Where:
    """Distinct byte offsets in any order: as a slice, if they are contiguous."""
    if isinstance(where, slice) or not where.size:
        return where
    first, last = int(where.min()), int(where.max())
    return slice(first, last + 1) if last + 1 - first == where.size else where


def _grains(history: History, where: Where) -> Where:
    """The grains of the bytes; the grain size is reduced if the bytes require it."""
    if isinstance(where, slice):
        edges = where.start | where.stop
        while edges & (history.grain - 1):
            history.refine(history.grain // 2)
        return slice(where.start // history.grain, where.stop // history.grain)
    while history.grain > 1 and len(where):
        found = where // history.grain
        # The bytes of one grain are adjacent.
        found = found[np.concatenate(([True], found[1:] != found[:-1]))]
        if len(found) * history.grain == len(where):
            return found
        history.refine(history.grain // 2)
    return where


def mark(warp: Warp, memory: Region, where: Where, record: np.uint64, *, write: bool) -> None:
    """Record an access of the async proxy for the race detector."""
    history = history_of(warp, memory)
    if history is not None:
        (history.written if write else history.read)[_grains(history, where)] = record


def _first(where: Where, bad: Array) -> int:
    at = int(np.flatnonzero(bad)[0])
    return where.start + at if isinstance(where, slice) else int(where[at])


_UNREADABLE = 0x0101010101010101 * (UNINITIALIZED | WRITING | UNFENCED)


def readable(warps: list[Warp], memory: Region, units: Array) -> bool:
    """True if `async_read` of 16-byte units, by their number in the memory, finds no error for any warp."""
    if memory.states:
        flags = int(np.bitwise_or.reduce(memory.states[16].take(units, 0), None))
        if flags & _UNREADABLE:
            return False
    history = history_of(warps[0], memory)
    return history is None or history.is_ordered(warps, units, 16)


def async_read(warp: Warp, mask: Mask, memory: Region, where: Where, what: str) -> None:
    """Check the bytes that the operation will read: initialized, fenced, ordered, and not in flight."""
    state = memory.states.get(1)
    if state is not None:
        states = state[where]
        seen = int(np.bitwise_or.reduce(states, axis=None)) if states.size else 0
        for flag, kind, text in (
            (UNINITIALIZED, "uninitialized", "which was never written"),
            (WRITING, "in-flight", "which an asynchronous operation still writes"),
        ):
            if seen & flag:
                at = _first(where, states & flag != 0)
                warp.report(kind, f"{what} reads {memory.place(at)}, {text}", mask)
        if seen & UNFENCED:
            _report_unfenced(warp, mask, memory, where, what, states)
    check_order(warp, mask, memory, where, what, writes=False)


def _report_unfenced(warp: Warp, mask: Mask, memory: Region, where: Where, what: str, states: Array) -> None:
    """Report bytes of the generic proxy that an operation reads.

    cp.async also writes through the generic proxy. Kernels of CUTLASS and Triton multiply what it has copied without
    a fence, so this is a warning.
    """
    unfenced = states & UNFENCED != 0
    stored = unfenced & (states & COPIED == 0) if what == "wgmma" else unfenced
    copied = not stored.any()
    at = _first(where, unfenced if copied else stored)
    how = "written by cp.async" if copied else "stored"
    warp.report(
        "proxy",
        f"{what} reads {memory.place(at)}, which was {how} through the generic proxy with no fence.proxy.async since "
        "that orders it",
        mask,
        severity="warning" if copied else "error",
    )


def async_write(
    warp: Warp, mask: Mask, memory: Region, where: Where, what: str, *, reduces: bool = False
) -> None:
    """Check the bytes that the operation will write: no other access may still use them.

    With `reduces`, it reads them first; other reductions of the same bytes may be in flight.
    """
    state = memory.states.get(1)
    if state is not None:
        states = state[where]
        seen = int(np.bitwise_or.reduce(states, axis=None)) if states.size else 0
        flags = READING if reduces else WRITING | READING
        if seen & flags:
            at = _first(where, states & flags != 0)
            done = "written" if seen & WRITING and not reduces else "read"
            warp.report(
                "in-flight",
                f"{what} writes {memory.place(at)}, still being {done} by an asynchronous operation that "
                "was not waited for",
                mask,
            )
        if seen & UNFENCED:
            at = _first(where, states & UNFENCED != 0)
            warp.report(
                "proxy",
                f"{what} writes {memory.place(at)}, which was stored through the generic proxy with no "
                "fence.proxy.async since that orders it",
                mask,
                # Triton's kernels load tiles to where they have built tensor maps.
                severity="error" if reduces else "warning",
            )
        if reduces and seen & UNINITIALIZED:
            at = _first(where, states & UNINITIALIZED != 0)
            warp.report("uninitialized", f"{what} reads {memory.place(at)}, which was never written", mask)
    if not reduces:
        check_order(warp, mask, memory, where, what, writes=True)


def check_order(warp: Warp, mask: Mask, memory: Region, where: Where, what: str, *, writes: bool) -> None:
    """Report an access to the bytes that no barrier orders after another thread's access."""
    history = history_of(warp, memory)
    if history is None:
        return
    grains = _grains(history, where)
    thread = int(warp.records[mask.first]) & 0x7FFF
    for records, other in ((history.written, "write"), (history.read, "read"))[: 1 + writes]:
        found = records[grains]
        if not found.size or int(found.max()) < warp.limit:
            continue
        late = late_records(warp, found, thread)
        if some(late):
            first = int(np.flatnonzero(late)[0])
            at = (grains.start + first if isinstance(grains, slice) else int(grains[first])) * history.grain
            who, place = describe(warp, int(found.reshape(-1)[first]))
            warp.report(
                "race",
                f"{what} {'writes' if writes else 'reads'} {memory.place(at)}: no barrier orders it after "
                f"another thread's {other}",
                mask,
                who,
                cause=(memory.place_name(at), what, place),
            )
            return


def covered(warp: Warp, mask: Mask, history: History, where: Array) -> Array:
    """The bytes whose last store is ordered before a fence by the lanes, including their own stores."""
    return where[_is_covered(warp, mask, history.written[where // history.grain])]


def _is_covered(warp: Warp, mask: Mask, records: Array) -> Array:
    """Which of the last stores are ordered before a fence by the lanes, or their own."""
    own = threads_of(records)
    mine = (own >> 5 == warp.rank) & mask.array[own & 31]
    return ~late_records(warp, records, -1) | mine


_UNFENCED_OCTET = np.uint64(int.from_bytes(bytes([UNFENCED]) * 8, "little"))


def fence_async(warp: Warp, mask: Mask, spaces: tuple[str, ...]) -> None:
    """fence.proxy.async by the lanes: stores ordered before it become visible to the async proxy."""
    cluster = warp.cta.cluster
    memories: list[Region] = []
    if "shared" in spaces:
        memories += [cta.shared for cta in cluster.ctas]
        for one in cluster.state.get("responses", {}).values():
            one.fence(warp)
        for barrier in cluster.state.get("mbarrier", {}).values():
            rank, when = barrier.initializer
            if rank == warp.rank or cluster.clocks.known[warp.rank][rank] >= when:
                barrier.fenced = True
    if "global" in spaces:
        memories += [region for region in cluster.launch.memory.regions if region.state is not None]
    for memory in memories:
        history = history_of(warp, memory)
        octets = np.flatnonzero(memory.states[8] & _UNFENCED_OCTET)
        if not len(octets):
            continue
        if history is not None and history.grain >= 8:
            # The bytes of a grain have one last store.
            grains = octets // (history.grain // 8)
            grains = grains[np.concatenate(([True], grains[1:] != grains[:-1]))]
            grains = grains[_is_covered(warp, mask, history.written[grains])]
            memory.states[1].reshape(-1, history.grain)[grains] &= ~np.uint8(UNFENCED)
            continue
        dirty = (octets[:, None] * 8 + np.arange(8)).reshape(-1)
        dirty = dirty[memory.states[1][dirty] & UNFENCED != 0]
        if history is not None:
            dirty = dirty[_is_covered(warp, mask, history.written[dirty // history.grain])]
        memory.states[1][dirty] &= ~np.uint8(UNFENCED)
