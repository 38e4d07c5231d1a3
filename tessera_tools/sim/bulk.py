"""Copies of the async proxy in flight: into shared memory with an mbarrier, out of it with bulk groups.

    copy_in ──▶ in flight ──▶ bytes are written to shared memory, complete_tx on the mbarrier
    copy_out ──▶ the source is read (wait_group.read) ──▶ the destination is written (wait_group)

A copy out consists of two operations, so that late mode completes the read and the write separately. Source: PTX ISA,
"Asynchronous copy", "cp.async.bulk".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array, Where, some
from tessera_tools.sim.asynchronous import Operation, Reporter
from tessera_tools.sim.machine import CTA_ENDS
from tessera_tools.sim.mbarrier import MBarrier
from tessera_tools.sim.proxies import async_read, async_write, mark, whole
from tessera_tools.sim.races import clocks_of, describe, threads_of
from tessera_tools.sim.warp import Mask, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.asynchronous import Used
    from tessera_tools.sim.machine import Cta
    from tessera_tools.sim.memory import Buffer

__all__ = ["Groups", "Out", "copy_in", "copy_out", "groups", "reporter"]


def reporter(warp: Warp, mask: Mask) -> Reporter:
    """A function that reports a finding at the current instruction, whenever it is called."""
    launch, pc = warp.cta.cluster.launch, warp.split.pc
    cta, thread = warp.cta.index, warp.cta.thread(32 * warp.index + mask.first)

    def report(kind: str, message: str, *, severity: str = "error") -> None:
        launch.report(kind, message, pc, cta, thread, severity=severity)

    return report


def copy_in(
    warp: Warp,
    mask: Mask,
    what: str,
    cta: Cta,
    where: Where,
    fetch: Callable[[], Array],
    barrier: MBarrier,
    amount: int,
    *,
    source: Used | None = None,
    combine: Callable[[Array, Array], Array] | None = None,
) -> None:
    """Start a copy into the bytes `where` of the shared memory of `cta`; `amount` bytes complete on `barrier`.

    `fetch()` returns the bytes at completion. `source` is the memory that the copy reads until then (memory,
    offsets). With `combine(old, new)` the copy is a reduction.
    """
    cluster, pc = warp.cta.cluster, warp.split.pc
    shared, every = cta.shared, whole(where)
    async_write(warp, mask, shared, every, what, reduces=combine is not None)
    if source is not None:
        async_read(warp, mask, *source, what)

    def finish() -> None:
        record, seen = cluster.clocks.act(barrier.agent, pc)
        content = fetch()
        shared.data[where] = combine(shared.data[where], content) if combine is not None else content
        mark(warp, shared, every, record, write=True)
        if source is not None:
            mark(warp, *source, record, write=False)
        barrier.complete(amount, seen)

    cluster.engine.issue(
        Operation(
            what,
            finish,
            writes=[(shared, every)],
            reads=[source] if source is not None else [],
            wanted=lambda: barrier.waiting > 0,
            poison=combine is None,
            report=reporter(warp, mask),
        )
    )


@dataclass(slots=True, eq=False)
class Out:
    """A copy out of shared memory: its read, its write, and what a thread must acquire to be ordered after each."""

    read: Operation
    write: Operation
    seen: list[Array] = field(default_factory=list[Array])


@dataclass(slots=True)
class Groups:
    """The bulk async-groups of one thread: the committed groups, oldest first, and the open group."""

    committed: list[list[Out]] = field(default_factory=list[list[Out]])
    open: list[Out] = field(default_factory=list[Out])


def groups(warp: Warp, lane: int) -> Groups:
    """The groups of a lane."""
    found = warp.state.setdefault("bulk groups", {})
    if lane not in found:
        found[lane] = Groups()
    return found[lane]


def copy_out(
    warp: Warp,
    mask: Mask,
    what: str,
    source: Used,
    target: tuple[Buffer, Where],
    *,
    combine: Callable[[Array, Array], Array] | None = None,
    pick: Array | None = None,
) -> None:
    """Start a copy from shared memory to a global allocation; it joins the lane's open group.

    `source` and `target` are (memory, byte offsets); `pick` selects the source bytes, in order, that are copied to
    the target (those inside the tensor). With `combine(old, new)` it is a reduction.
    """
    cluster, pc = warp.cta.cluster, warp.split.pc
    shared, taken = source
    region, given = target
    region.flags()
    every = whole(taken)
    async_read(warp, mask, shared, every, what)
    if combine is None:
        async_write(warp, mask, region, given, what)
    agent = warp.state.get("bulk agent")
    if agent is None:
        agent = warp.state["bulk agent"] = cluster.clocks.agent()
    held: list[Array] = []
    out: Out

    def read() -> None:
        content = shared.data[taken].reshape(-1)
        held.append(content[pick] if pick is not None else content.copy())
        record, seen = cluster.clocks.act(agent, pc)
        mark(warp, shared, every, record, write=False)
        out.seen.append(seen)

    def write() -> None:
        cluster.engine.complete([out.read])
        region.data[given] = combine(region.data[given], held[0]) if combine is not None else held[0]
        held.clear()
        record, seen = cluster.clocks.act(agent, pc)
        if combine is None:
            mark(warp, region, given, record, write=True)
        out.seen.append(seen)

    report = reporter(warp, mask)
    out = Out(
        Operation(what, read, reads=[(shared, every)], report=report),
        Operation(what, write, writes=[(region, given)] if combine is None else [], report=report),
    )
    cluster.engine.issue(out.read)
    cluster.engine.issue(out.write)
    groups(warp, mask.first).open.append(out)


def _end_of_cta(cta: Cta) -> None:
    """Report accesses that outlive the CTA's shared memory: operations in flight, and unordered ones of other CTAs."""
    cluster = cta.cluster
    for operation in cluster.engine.pending:
        held = any(memory is cta.shared for memory, _ in operation.reads)
        target = any(memory is cta.shared for memory, _ in operation.writes)
        if (held or target) and operation.report is not None:
            operation.report(
                "asynchronous",
                f"the threads of CTA {cta.index} exited while {operation.what} still "
                f"{'reads' if held else 'writes'} its shared memory; wait for it first",
                # CUTLASS's kernels for Blackwell do not wait for their last stores.
                severity="error" if operation.writes else "warning",
            )
    if len(cluster.ctas) == 1:
        return
    history = cta.shared.history
    ranks = [warp.rank for warp in cta.warps]
    known = cluster.clocks.known[ranks].max(axis=0)
    for records, done in ((history.read, "read"), (history.written, "write")):
        threads = threads_of(records) >> 5
        late = (clocks_of(records) > known[threads]) & ((threads < ranks[0]) | (threads > ranks[-1]))
        late &= threads < cluster.clocks.warps
        if some(late):
            first = np.flatnonzero(late)
            places = [offset for rank, offset in cluster.state.get("mbarrier", {}) if rank == cta.rank]
            barriers = {(offset + byte) // history.grain for offset in places for byte in range(8)}
            # An arrive on an object without waiters is undefined in PTX, but harmless in practice.
            data = [index for index in first if index not in barriers]
            at = int((data or first)[0])
            warp = cta.warps[0]
            warp.split.pc = min(warp.split.pc, len(cluster.launch.module.code)) - 1
            warp.report(
                "race",
                f"the threads of CTA {cta.index} exited, and nothing orders a {done} of "
                f"{cta.shared.place(at * history.grain)} by another CTA before that: use a cluster barrier at the end",
                None,
                describe(warp, int(records[at]))[0],
                severity="error" if data else "warning",
            )
            return


CTA_ENDS.append(_end_of_cta)
