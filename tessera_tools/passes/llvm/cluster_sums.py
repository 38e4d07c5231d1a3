"""nv_tileas.cluster_reduce_scatter: the CTAs of a cluster add what their threads have; each gets a part of the sums.

Each round: a thread stores what it has of the parts of other CTAs; all meet; it reads what the same thread of each of
them has stored for it, and adds; all meet again, before a place is written again, or a CTA ends whose places others
read.  PTX ISA, "mapa", "mbarrier.arrive", "barrier.cluster".
"""

from __future__ import annotations

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import FloatType, VectorType
from tessera_tools.passes.llvm.agents import arrive_by_warp, wait_for_cluster
from tessera_tools.passes.llvm.clusters import cluster_address, cluster_barrier, rank
from tessera_tools.passes.llvm.instructions import only_where, place
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.tiles import from_memory, into_memory, stored
from tessera_tools.planning.scratch import declared_parts, scatter_plan


@lowers("nv_tileas.cluster_reduce_scatter")
def cluster_reduce_scatter(low: Lowering, op: nv_tileas.ClusterReduceScatter) -> None:
    """Store, meet, read and add, meet."""
    e = low.e
    plan = scatter_plan(op, declared_parts(op))
    element = op.source.type.element
    count = len(plan.groups)
    if count != low.ctas:
        raise op.error(f"has {count} parts; the cluster has {low.ctas} CTAs")
    have = low.flatten(op.source)
    own = rank(low)
    sums = [have[register] for register in plan.groups[0]]
    for number, group in enumerate(plan.groups[1:], 1):
        is_mine = e.icmp("eq", own, number)
        sums = [e.either(is_mine, have[register], other) for register, other in zip(group, sums, strict=True)]
    kept = [into_memory(e, value, element) for value in have]
    base = e.gep(e.address_of(GLOBAL_SMEM), low.allocation.offsets[op])
    mine = e.mul(e.thread, plan.bytes)
    type = VectorType((plan.elements,), stored(element)) if plan.elements > 1 else stored(element)
    for first in range(0, len(sums), plan.elements * plan.vectors):
        starts = range(first, first + plan.elements * plan.vectors, plan.elements)
        for number, group in enumerate(plan.groups):
            slot = e.add(e.xor(own, number), -1)
            to = e.gep(base, e.add(e.mul(slot, plan.slot), mine))
            packed = [
                e.vector(
                    [kept[register] for register in group[start : start + plan.elements]], stored(element)
                )
                for start in starts
            ]
            with only_where(e, e.icmp("ne", own, number)):
                for vector, value in enumerate(packed):
                    pointer = e.gep(to, vector * plan.threads * plan.bytes, shared=False)
                    e.emit(llvm.Store(value, pointer, i64(plan.bytes)))
        _meet(low, op, 0)
        for peer in range(1, count):
            start_of_slot = e.gep(cluster_address(low, base, peer), e.add(mine, (peer - 1) * plan.slot))
            for vector, start in enumerate(starts):
                pointer = e.gep(start_of_slot, vector * plan.threads * plan.bytes, shared=False)
                loaded = e.emit(llvm.Load(pointer, i64(plan.bytes), res=type)).results[0]
                for at, part in enumerate(e.elements(loaded, plan.elements, stored(element)), start):
                    sums[at] = _added(low, sums[at], from_memory(e, part, element))
        _meet(low, op, 1)
    low.define_flat(op.res, sums)


def _added(low: Lowering, a: Value, b: Value) -> Value:
    return place(low.e, llvm.FAdd if isinstance(a.type, FloatType) else llvm.Add, (a, b), a.type)


def _meet(low: Lowering, op: nv_tileas.ClusterReduceScatter, phase: int) -> None:
    """All threads that exchange meet, and see what each of them has written before."""
    if op.mbarrier is None:
        cluster_barrier(low)
        return
    e = low.e
    barrier = e.gep(e.address_of(GLOBAL_SMEM), low.buffer(op.mbarrier).offset)
    arrive_by_warp(low, barrier, range(1, low.ctas))
    wait_for_cluster(low, barrier, e.constant(phase))
