"""Clusters: barrier.cluster, mapa, getctarank (PTX ISA, "barrier.cluster", "mapa", "getctarank")."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.machine import Cluster
from tessera_tools.sim.mbarrier import MBarrier
from tessera_tools.sim.memory import BASE, REMOTE_SHIFT
from tessera_tools.sim.program import Address, Name
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Outcome, Wait, Warp

_OFFSET = np.uint64((1 << REMOTE_SHIFT) - 1)


@dataclass(slots=True)
class ClusterBarrier:
    """The barrier of a cluster. `arrived` has the lanes of each warp (by rank) that have arrived in this generation."""

    generation: int = 0
    arrived: dict[int, int] = field(default_factory=dict[int, int])
    seen: Array | None = None
    released: Array | None = None
    objects: list[MBarrier] = field(default_factory=list[MBarrier])
    """mbarrier objects that fence.mbarrier_init published before an arrive of this generation."""
    published: list[MBarrier] = field(default_factory=list[MBarrier])

    def complete(self, cluster: Cluster) -> bool:
        """End the generation if every thread that has not exited has arrived."""
        # While a warp waits, this is asked often: most answers need no look at all warps.
        if not self.arrived or len(self.arrived) < len(cluster.warps):
            return False
        if any(warp.live & ~self.arrived.get(warp.rank, 0) for cta in cluster.ctas for warp in cta.warps):
            return False
        self.generation += 1
        self.arrived = {}
        self.released, self.seen = self.seen, None
        self.published, self.objects = self.objects, []
        return True

    def describe(self, cluster: Cluster) -> str:
        missing = [
            f"warp {warp.index} of CTA {cta.index}"
            for cta in cluster.ctas
            for warp in cta.warps
            if warp.live & ~self.arrived.get(warp.rank, 0)
        ]
        few = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
        return f"the cluster barrier, generation {self.generation}: {few} have not arrived"


def _barrier(cluster: Cluster) -> ClusterBarrier:
    return cluster.state.setdefault("barrier.cluster", ClusterBarrier())


def _waits(warp: Warp) -> Array:
    """Per lane: the generation of an arrival without a wait yet; -1 if none."""
    found = warp.state.get("barrier.cluster")
    if found is None:
        found = warp.state["barrier.cluster"] = np.full(32, -1, np.int64)
    return found


@instruction("barrier.cluster.arrive")
def arrive(ctx: Context) -> Execute:
    """barrier.cluster.arrive{.release,.relaxed}{.aligned}: marks the arrival without waiting."""
    relaxed = ctx.choose("release", "relaxed", default="release") == "relaxed"
    if ctx.flag("aligned"):
        ctx.aligned()
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> None:
        cluster = warp.cta.cluster
        barrier = _barrier(cluster)
        waits = _waits(warp)
        if some(waits[mask.array] >= 0):
            warp.report("barrier", "barrier.cluster.arrive twice with no barrier.cluster.wait between", mask)
        waits[mask.array] = barrier.generation
        if not relaxed:
            seen = cluster.clocks.release(warp)
            barrier.seen = seen if barrier.seen is None else np.maximum(barrier.seen, seen)
        if warp.stats is not None:
            warp.stats.arrive("cluster", cluster.ctas[0].number, 0, barrier.generation)
        barrier.objects += warp.state.get("fenced mbarriers", [])
        barrier.arrived[warp.rank] = barrier.arrived.get(warp.rank, 0) | mask.bits
        barrier.complete(cluster)

    return execute


@instruction("barrier.cluster.wait")
def wait(ctx: Context) -> Execute:
    """barrier.cluster.wait{.acquire}{.aligned}: waits until every live thread of the cluster has arrived."""
    ctx.choose("acquire", default="acquire")
    if ctx.flag("aligned"):
        ctx.aligned()
    ctx.blocks()
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> Outcome:
        cluster = warp.cta.cluster
        barrier = _barrier(cluster)
        waits = _waits(warp)
        if some(waits[mask.array] < 0):
            warp.report("barrier", "barrier.cluster.wait without a barrier.cluster.arrive before", mask)
            return None
        generation = int(waits[mask.array].max())
        if warp.stats is not None:
            warp.stats.wait("cluster", cluster.ctas[0].number, 0, generation)

        def ready() -> bool:
            return barrier.generation > generation or barrier.complete(cluster)

        def finish(warp: Warp, mask: Mask) -> None:
            waits[mask.array] = -1
            # Every thread that arrived has started, even if the arrive is relaxed.
            warp.cta.state["cluster started"] = True
            if barrier.released is not None:
                cluster.clocks.acquire(warp, barrier.released)
            for thing in barrier.published:
                thing.visible.add(warp.rank)

        return Wait(ready, lambda: barrier.describe(cluster), finish)

    return execute


@instruction("mapa")
def mapa(ctx: Context) -> Execute:
    """mapa{.shared::cluster}.type d, a, b: the address of the same byte in the CTA of rank b."""
    space = ctx.choose("shared::cluster", default="generic")
    type = ctx.type("u32", "u64")
    target, source, which = ctx.operands(3)
    if isinstance(source, Address):
        raise ctx.error("expects an address without brackets")
    wide = TYPES["u64"]
    if isinstance(source, Name) and ctx.inst.scope.register(source.name) is None:
        a = ctx.read(source, wide)
    else:
        a = ctx.read(source, type)
    rank, destination = ctx.read(which, TYPES["u32"]), ctx.write(target, type)

    def execute(warp: Warp, mask: Mask) -> None:
        wanted = warp.ports[rank].astype(np.uint64)
        ctas = len(warp.cta.cluster.ctas)
        if some(wanted[mask.array] >= ctas):
            warp.report(
                "illegal", f"mapa to CTA {int(wanted[mask.array].max())} in a cluster of {ctas}", mask
            )
            wanted = wanted % np.uint64(ctas)
        row = warp.ports[a].astype(np.uint64)
        base = np.uint64(BASE["shared"]) if space == "generic" else np.uint64(0)
        mapped = base + (wanted << np.uint64(REMOTE_SHIFT)) + (row & _OFFSET)
        put(warp, mask, destination, mapped.astype(type.dtype))

    return execute


@instruction("getctarank")
def getctarank(ctx: Context) -> Execute:
    """getctarank{.shared::cluster}.type d, a: the rank of the CTA whose shared memory holds the address."""
    ctx.choose("shared::cluster", default="generic")
    type = ctx.type("u32", "u64")
    target, source = ctx.operands(2)
    a, destination = ctx.read(source, type), ctx.write(target, TYPES["u32"])

    def execute(warp: Warp, mask: Mask) -> None:
        ranks = (warp.ports[a].astype(np.uint64) & np.uint64((1 << 40) - 1)) >> np.uint64(REMOTE_SHIFT)
        put(warp, mask, destination, ranks.astype(np.uint32))

    return execute
