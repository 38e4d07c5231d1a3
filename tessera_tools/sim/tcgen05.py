"""Asynchronous tcgen05 operations of a cluster: mma, cp and shift in flight, until a commit completes them.

    mma, cp, shift ──issue──▶ in flight ──commit──▶ an arrival at an mbarrier, once the earlier ones are complete

The operations execute in the order of their issue. In `late` mode they execute when a thread waits for the mbarrier of
a later commit, in `early` mode when they are issued. Whether their order is guaranteed is checked at issue, by the
records of sim/tensor_memory.py and sim/races.py, and does not depend on the mode. Source: PTX ISA, "tcgen05.commit",
"Pipelined tcgen05 Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.asynchronous import Operation, Reporter
from tessera_tools.sim.bulk import reporter
from tessera_tools.sim.machine import CTA_ENDS
from tessera_tools.sim.mbarrier import MBarrier
from tessera_tools.sim.memory import SHARED_START
from tessera_tools.sim.proxies import async_read, readable
from tessera_tools.sim.tensor_memory import Issued, Use, implied_of, log_of, pipe_of, tensor_memory
from tessera_tools.sim.warp import Mask, Warp
from tessera_tools.sim.warpgroup import READING, readers_of, unit_bytes

if TYPE_CHECKING:
    from tessera_tools.sim.machine import Cluster, Cta

__all__ = ["Source", "commit", "in_shared", "issue", "pair_of", "same_group", "use_of"]

Source = tuple["Cta", Array]
"""Units of 16 bytes of the shared memory of a CTA."""


@dataclass(eq=False, slots=True)
class _Work:
    """One operation in flight."""

    what: str
    run: Callable[[], None]
    reads: list[Source]
    ctas: tuple[Cta, ...]
    report: Reporter
    agent: int
    committed: bool = False


@dataclass(eq=False, slots=True)
class _Unit:
    """The operations in flight of a cluster, in the order of their issue."""

    pending: list[_Work] = field(default_factory=list[_Work])


def _unit_of(cluster: Cluster) -> _Unit:
    found = cluster.state.get("tcgen05")
    if found is None:
        found = cluster.state["tcgen05"] = _Unit()
    return found


def pair_of(warp: Warp, mask: Mask, group: int) -> tuple[Cta, ...] | None:
    """The CTAs of an operation of the cta_group, the even rank first; None, with a finding, if there is no peer."""
    if group == 1:
        return (warp.cta,)
    ctas, even = warp.cta.cluster.ctas, warp.cta.rank & ~1
    if even + 1 >= len(ctas):
        warp.report(
            "illegal", f"cta_group::2 in CTA {warp.cta.index}, whose cluster has no peer for it", mask
        )
        return None
    return ctas[even], ctas[even + 1]


def same_group(warp: Warp, mask: Mask, group: int) -> None:
    """Report a cta_group other than that of the CTA's other tcgen05 instructions."""
    memory = tensor_memory(warp.cta)
    if memory.group not in (0, group):
        warp.report(
            "illegal",
            f"cta_group::{group}, where other instructions of the kernel have cta_group::{memory.group}",
            mask,
        )
    memory.group = group


def use_of(warp: Warp, mask: Mask, what: str, issued: Issued) -> Use:
    """An operation that the first lane of the mask issues now."""
    agent, _ = pipe_of(warp, mask.first)
    clocks = warp.cta.cluster.clocks
    log_of(warp)[clocks.now] = issued
    record, _ = clocks.act(agent, warp.split.pc)
    return Use(warp, mask, what, issued, record, agent)


def in_shared(use: Use, cta: Cta, units: Array, operand: str) -> bool:
    """Check that a matrix can be read from shared memory; False, with a finding, if it is outside."""
    warp, mask = use.warp, use.mask
    low, high = int(units.min()) * 16, int(units.max()) * 16 + 16
    if low < SHARED_START or high > cta.shared.size:
        warp.report(
            "out-of-bounds",
            f"the descriptor of {operand} covers bytes {low} to {high} of shared memory, which has {cta.shared.size}",
            mask,
        )
        return False
    flat = units.reshape(-1)
    if not readable([warp], cta.shared, flat):
        async_read(warp, mask, cta.shared, unit_bytes(flat), f"{use.what}, as {operand},")
    return True


def issue(use: Use, ctas: tuple[Cta, ...], reads: list[Source], run: Callable[[], None]) -> None:
    """Start an operation that reads the units; `run()` executes it."""
    cluster = use.warp.cta.cluster
    unit = _unit_of(cluster)
    flat = [(cta, units.reshape(-1)) for cta, units in reads]
    work = _Work(use.what, run, flat, ctas, reporter(use.warp, use.mask), use.agent)
    for cta, units in flat:
        if cta.shared.history.grain > 16:
            cta.shared.history.refine(16)
        cta.shared.history.note_read(units, 16, use.record)
    if cluster.engine.early:
        run()
        work.committed = True
        return
    for cta, units in flat:
        readers_of(cta)[units] += 1
        cta.shared.states[16][units] |= READING
    unit.pending.append(work)


def _complete(cluster: Cluster, last: _Work) -> None:
    """Execute the operations up to `last`."""
    unit = _unit_of(cluster)
    count = unit.pending.index(last) + 1
    done, unit.pending = unit.pending[:count], unit.pending[count:]
    for work in done:
        work.run()
        for cta, units in work.reads:
            readers = readers_of(cta)
            readers[units] -= 1
            cta.shared.states[16][units[readers[units] == 0]] &= ~READING


def commit(warp: Warp, mask: Mask, what: str, barriers: list[MBarrier]) -> None:
    """tcgen05.commit by one thread: arrive at the mbarriers once its operations so far are complete."""
    cluster = warp.cta.cluster
    agent, _ = pipe_of(warp, mask.first)
    _, seen = cluster.clocks.act(agent, warp.split.pc)
    # What the operations followed is also ordered before their completion.
    seen = np.maximum(seen, cluster.clocks.known[warp.rank])
    for other, clock in implied_of(warp, agent).items():
        place = cluster.clocks.warps + other
        seen[place] = max(seen[place], clock)
    work = [each for each in _unit_of(cluster).pending if each.agent == agent]
    for each in work:
        each.committed = True
    line = cluster.launch.module.program.instructions[warp.split.pc].line
    report = reporter(warp, mask)

    def finish() -> None:
        if work and work[-1] in _unit_of(cluster).pending:
            _complete(cluster, work[-1])
        for barrier in barriers:
            if barrier.cta.ended and barrier.cta is not warp.cta:
                report(
                    "race",
                    f"an arrival at {barrier.place}, which has exited; let it wait for its barriers before it does",
                )
            if not barrier.arrive_async(seen, f"tcgen05.commit at PTX line {line}"):
                report("mbarrier", f"an arrival at {barrier.place}, whose phase {barrier.phase} awaits none")

    cluster.engine.issue(
        Operation(
            what, finish, wanted=lambda: any(barrier.waiting > 0 for barrier in barriers), report=report
        )
    )


def _end_of_cta(cta: Cta) -> None:
    """Report operations in flight that use the memories of the CTA."""
    unit = cta.cluster.state.get("tcgen05")
    if unit is None:
        return
    for work in unit.pending:
        if cta in work.ctas:
            missing = (
                "wait for its tcgen05.commit first" if work.committed else "no tcgen05.commit follows it"
            )
            work.report(
                "asynchronous",
                f"the threads of CTA {cta.index} exited while {work.what} still uses its memory; {missing}",
            )
            return


CTA_ENDS.append(_end_of_cta)
