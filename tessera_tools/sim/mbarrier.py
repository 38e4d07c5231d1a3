"""mbarrier objects: phases, pending arrivals and transaction bytes (PTX ISA, "mbarrier").

    init(n) ──▶ pending = n, bytes = 0 ── arrive: pending - 1 ── expect_tx: bytes + b ── complete_tx: bytes - b
                                      ──▶ both 0: the phase is complete, the next begins with n pending

The state of an object is stored outside the CTA's shared memory. The object's 8 bytes hold a pattern, so that a store
that overwrites them is detected. Instructions, `cp.async.mbarrier.arrive` and async-proxy copies use this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.access import check_remote
from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.machine import DEADLOCKS
from tessera_tools.sim.memory import REMOTE_SHIFT, SHARED_START, UNINITIALIZED
from tessera_tools.sim.races import describe, late_records, record_at
from tessera_tools.sim.warp import Mask, Wait, Warp, mask_of

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cluster, Cta

__all__ = ["MAXIMUM", "MBarrier", "create", "destroy", "lookup", "resolve"]


MAXIMUM = (1 << 20) - 1
"""Largest count of arrivals, and of bytes (PTX ISA, "Contents of the mbarrier object")."""
_BYTES = b"MBARRIER"
_PATTERN = np.frombuffer(_BYTES, np.uint8)


@dataclass(eq=False, slots=True)
class MBarrier:
    """One live object at `offset` of the shared memory of `cta`. `phase` counts the complete phases."""

    cta: Cta
    offset: int
    count: int
    """The expected arrivals of the next phase."""
    pending: int
    agent: int
    """The agent that writes for the copies that signal this object (sim/races.py)."""
    initializer: tuple[int, int]
    """Rank of the warp that initialized the object, and its clock at that time."""
    code: int
    """The instruction that initialized it."""
    tx: int = 0
    phase: int = 0
    seen: Array | None = None
    """The accesses that happened before the arrivals of this phase."""
    released: Array | None = None
    """The accesses that happened before the arrivals of the last complete phase."""
    waiting: int = 0
    """Splits that are blocked in a wait."""
    polled: int = 0
    """Failed tests since the last progress."""
    fenced: bool = False
    """A fence has made the initialization visible to the async proxy, or to the cluster."""
    visible: set[int] = field(default_factory=set[int])
    """Ranks of warps to which a fence and a relaxed cluster barrier have made the initialization visible."""
    arrivals: list[str] = field(default_factory=list[str])
    """The threads that have arrived in this phase, for the deadlock report."""
    announced: int = 0
    transferred: int = 0
    """Bytes that expect_tx has added in this phase, and bytes that complete_tx has subtracted."""
    announcer: tuple[int, tuple[int, int, int], tuple[int, int, int]] | None = None
    """Instruction, CTA and thread of the last expect_tx of this phase."""

    @property
    def place(self) -> str:
        return f"the mbarrier at shared byte {self.offset} of CTA {self.cta.index}"

    @property
    def key(self) -> tuple[str, int, int, int]:
        """The current phase, as the counters name it."""
        return "mbarrier", self.cta.number, self.offset, self.phase

    def missing(self) -> str:
        """What the current phase still requires."""
        text = f"{self.pending} of {self.count} arrivals"
        if self.tx > 0:
            text += f" and {self.tx} bytes"
        text += " missing"
        if self.tx < 0:
            text += f"; {-self.tx} bytes arrived without an expect_tx"
        if self.arrivals:
            text += f"; arrived: {', '.join(self.arrivals[-4:])}"
        return text

    def describe(self) -> str:
        """Phase, its parity, and what it still requires."""
        return f"{self.place}: phase {self.phase} (parity {self.phase & 1}) is incomplete: {self.missing()}"

    def token(self) -> int:
        """The opaque state that arrive returns: the phase in the high bits, the pending count in the low bits."""
        return (self.phase & 0xFFFFFFFF) << 32 | self.pending

    def arrive(self, warp: Warp, mask: Mask, count: int, seen: Array | None, *, drop: bool = False) -> None:
        """Decrement the pending arrivals; `seen` is what the arriving warp released, None if relaxed."""
        if count > self.pending:
            warp.report(
                "mbarrier",
                f"{count} arrivals at {self.place}, whose phase {self.phase} awaits only {self.pending}",
                mask,
            )
            return
        if drop:
            self.count -= count
        if warp.stats is not None:
            warp.stats.arrive(*self.key)
        self.pending -= count
        line = warp.cta.cluster.launch.module.program.instructions[warp.split.pc].line
        self.arrivals.append(f"warp {warp.index} at PTX line {line}")
        self._see(seen)
        self.advance()

    def arrive_async(self, seen: Array, who: str) -> bool:
        """One arrival by an asynchronous operation; False, without an effect, if the phase awaits none."""
        if not self.pending:
            return False
        if self.cta.stats is not None:
            self.cta.stats.arrive(*self.key)
        self.pending -= 1
        self.arrivals.append(who)
        self._see(seen)
        self.advance()
        return True

    def expect(self, warp: Warp, mask: Mask, amount: int) -> None:
        """expect_tx: increase the pending byte count of the phase."""
        self.tx += amount
        self.announced += amount
        self.announcer = (warp.split.pc, warp.cta.index, warp.cta.thread(32 * warp.index + mask.first))
        if abs(self.tx) > MAXIMUM:
            warp.report(
                "mbarrier", f"{self.place} awaits {self.tx} bytes; at most {MAXIMUM} are allowed", mask
            )

    def complete(self, amount: int, seen: Array | None) -> None:
        """complete_tx: decrease the pending byte count of the phase."""
        if self.cta.stats is not None:
            self.cta.stats.arrive(*self.key)
        self.tx -= amount
        self.transferred += amount
        self._see(seen)
        self.advance()

    def _see(self, seen: Array | None) -> None:
        if seen is not None:
            self.seen = seen if self.seen is None else np.maximum(self.seen, seen)

    def advance(self) -> None:
        """Complete the phase if nothing is pending."""
        if self.pending == 0 and self.tx == 0:
            self.phase += 1
            self.pending = self.count
            self.released, self.seen = self.seen, None
            self.polled = 0
            self.arrivals = []
            self.announced = self.transferred = 0
            self.announcer = None
            self.cta.cluster.launch.progress += 1

    def is_ordered(self, warp: Warp) -> bool:
        """True if the arrivals of the last complete phase happen before this point of `warp`.

        Otherwise the phase is complete in this schedule, and may be incomplete here in another one.
        """
        return self.released is None or not some(self.released > warp.cta.cluster.clocks.known[warp.rank])

    def wait(
        self, ready: Callable[[], bool], finish: Callable[[Warp, Mask], None], text: str, *, timed: bool
    ) -> Wait:
        """A Wait for `ready()`; `text` describes the condition (`parity 1`)."""
        self.waiting += 1

        def done(warp: Warp, mask: Mask) -> None:
            self.waiting -= 1
            finish(warp, mask)

        return Wait(ready, lambda: f"{text} of {self.describe()}", done, timed=timed)


def _of_deadlock(cluster: Cluster) -> None:
    """Report the objects whose phase cannot complete, because expect_tx and complete_tx bytes differ."""
    for barrier in cluster.state.get("mbarrier", {}).values():
        if not barrier.tx or (barrier.pending and barrier.tx > 0):
            continue
        pc, cta, thread = barrier.announcer or (cluster.warps[0].splits[0].pc, barrier.cta.index, (0, 0, 0))
        cluster.launch.report(
            "mbarrier",
            f"expect_tx announced {barrier.announced} bytes for phase {barrier.phase} of {barrier.place}, and copies "
            f"transferred {barrier.transferred}: the phase cannot end",
            pc,
            cta,
            thread,
            cause=("expect_tx", pc),
        )


DEADLOCKS.append(_of_deadlock)


def resolve(warp: Warp, space: str, address: int) -> tuple[Cta, int] | None:
    """The CTA whose shared memory holds the address, and the offset there; None if it is not shared memory."""
    from tessera_tools.sim.memory import BASE, window_of

    if space == "generic":
        if window_of(address) != "shared":
            return None
        address -= BASE["shared"]
        space = "shared::cluster"
    rank, offset = address >> REMOTE_SHIFT, address & ((1 << REMOTE_SHIFT) - 1)
    ctas = warp.cta.cluster.ctas
    if rank >= len(ctas) or (space != "shared::cluster" and rank != warp.cta.rank):
        return None
    return ctas[rank], offset


def _objects(warp: Warp) -> dict[tuple[int, int], MBarrier]:
    return warp.cta.cluster.state.setdefault("mbarrier", {})


def _place(warp: Warp, mask: Mask, space: str, address: int) -> tuple[Cta, int] | None:
    """CTA and offset of an aligned object's address; otherwise a finding, and None."""
    found = resolve(warp, space, address)
    if found is None:
        warp.report("mbarrier", f"{address:#x} is not an address of shared memory of this cluster", mask)
        return None
    cta, offset = found
    if offset % 8:
        warp.report("misaligned", f"an mbarrier at shared byte {offset}; expected a multiple of 8", mask)
        return None
    if not SHARED_START <= offset <= cta.shared.size - 8:
        warp.report(
            "out-of-bounds",
            f"an mbarrier at byte {offset} of shared memory, which has {cta.shared.size}",
            mask,
        )
        return None
    return found


def create(warp: Warp, mask: Mask, space: str, address: int, count: int) -> None:
    """mbarrier.init."""
    found = _place(warp, mask, space, address)
    if found is None:
        return
    cta, offset = found
    objects = _objects(warp)
    if not 1 <= count <= MAXIMUM:
        warp.report("mbarrier", f"mbarrier.init with a count of {count}; expected 1 to {MAXIMUM}", mask)
        return
    if (cta.rank, offset) in objects:
        warp.report(
            "mbarrier", f"mbarrier.init of a live object at shared byte {offset}; mbarrier.inval first", mask
        )
    one = mask_of(1 << mask.first)
    cta.shared.store(warp, one, cta.shared.addresses(np.full(32, offset)), 8, _PATTERN.view(np.uint64))
    cta.shared.state[offset : offset + 8] = 0
    clocks = warp.cta.cluster.clocks
    objects[cta.rank, offset] = MBarrier(
        cta, offset, count, count, clocks.agent(), (warp.rank, int(clocks.now)), warp.split.pc
    )


def destroy(warp: Warp, mask: Mask, space: str, address: int) -> None:
    """mbarrier.inval: the bytes may be reused."""
    barrier = lookup(warp, mask, space, address)
    if barrier is not None:
        if barrier.waiting:
            warp.report("mbarrier", f"mbarrier.inval of {barrier.place}, where {barrier.waiting} wait", mask)
        del _objects(warp)[barrier.cta.rank, barrier.offset]
        shared = barrier.cta.shared
        at = slice(barrier.offset, barrier.offset + 8)
        shared.data[at], shared.state[at] = 0xFF, UNINITIALIZED


def lookup(warp: Warp, mask: Mask, space: str, address: int, *, engine: bool = False) -> MBarrier | None:
    """The live object at an address, if the warp may use it; otherwise a finding, and None.

    With `engine`, an operation of the async proxy will signal the object, which requires a fence after the init.
    """
    found = _place(warp, mask, space, address)
    if found is None:
        return None
    cta, offset = found
    barrier = _objects(warp).get((cta.rank, offset))
    if barrier is None:
        warp.report("mbarrier", f"shared byte {offset} of CTA {cta.index} has no initialized mbarrier", mask)
        return None
    if cta.shared.data[offset : offset + 8].tobytes() != _BYTES:
        warp.report("mbarrier", f"{barrier.place} was overwritten", mask)
        cta.shared.data[offset : offset + 8] = _PATTERN
    if cta is not warp.cta:
        check_remote(warp, mask, cta, arrives=True)
        if not engine:
            # A thread that waits here also waits for the copies that signal the object.
            history = cta.shared.history
            history.read[offset // history.grain] = record_at(warp.records[mask.first], warp.split.pc)
    if warp.rank not in barrier.visible:
        history = cta.shared.history
        record = history.written[offset // history.grain]
        thread = int(warp.records[mask.first]) & 0x7FFF
        if late_records(warp, record[None], thread)[0]:
            warp.report(
                "race",
                f"{barrier.place}: nothing orders its initialization by another thread before this use",
                mask,
                describe(warp, int(record))[0],
            )
        else:
            # Once ordered, always ordered; a new object at this offset is another MBarrier.
            barrier.visible.add(warp.rank)
    if engine and not barrier.fenced:
        barrier.fenced = True
        program = warp.cta.cluster.launch.module.program.instructions
        warp.report(
            "proxy",
            f"{barrier.place} was initialized through the generic proxy; an operation of the async proxy needs "
            "fence.mbarrier_init or fence.proxy.async in between",
            mask,
            f"initialized by {program[barrier.code].name} at PTX line {program[barrier.code].line}",
            severity="warning",
            cause="mbarrier.init",
        )
    return barrier
