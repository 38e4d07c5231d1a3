"""Acquire and release by strong accesses to the same location (PTX ISA, "Memory Consistency Model").

    thread A: weak stores, fence, st.relaxed flag  ──▶ Location.seen ──▶  thread B: ld.relaxed flag, fence, weak loads

A release write stores the writer's clock at its location; an acquire read of that location joins it. A fence turns
the strong writes after it into releases, and the strong reads before it into acquires. Clocks are kept per
warp (sim/races.py), so the lanes of one warp count as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.access import parts
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.memory import compact

if TYPE_CHECKING:
    from tessera_tools.sim.warp import Mask, Warp

__all__ = ["fence", "strong_read", "strong_write"]


def _locations(warp: Warp, mask: Mask, space: str, addresses: Array) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for memory, part, own in parts(warp, mask, space, addresses):
        found += [(id(memory), int(address)) for address in np.unique(compact(part, own))]
    return found


def fence(warp: Warp) -> None:
    """fence.acq_rel, fence.sc, membar: orders earlier accesses with later ones, through strong accesses."""
    clocks = warp.cta.cluster.clocks
    pending = warp.state.pop("strong reads", None)
    if pending is not None:
        clocks.acquire(warp, pending)
    warp.state["fence"] = clocks.release(warp)


def strong_write(warp: Warp, mask: Mask, space: str, addresses: Array, release: bool) -> None:
    """A volatile, relaxed, release or atomic write; with `release`, or after a fence, other warps may acquire it."""
    clocks = warp.cta.cluster.clocks
    seen = clocks.release(warp) if release else warp.state.get("fence")
    if seen is None:
        return
    table = warp.cta.cluster.state.setdefault("order", {})
    for place in _locations(warp, mask, space, addresses):
        before = table.get(place)
        table[place] = seen if before is None else np.maximum(before, seen)


def strong_read(warp: Warp, mask: Mask, space: str, addresses: Array, acquire: bool) -> None:
    """A volatile, relaxed, acquire or atomic read; it acquires immediately, or at the next fence."""
    table = warp.cta.cluster.state.get("order")
    if not table:
        return
    for place in _locations(warp, mask, space, addresses):
        seen = table.get(place)
        if seen is None:
            continue
        if acquire:
            warp.cta.cluster.clocks.acquire(warp, seen)
        else:
            before = warp.state.get("strong reads")
            warp.state["strong reads"] = seen if before is None else np.maximum(before, seen)
