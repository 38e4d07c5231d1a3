"""nv_tileas.cluster_order: the CTAs of a cluster meet between accesses that a token orders.

In an agent, a lane of each warp arrives at the mbarriers of all CTAs and waits for the phase at its own, by the state
that its arrival gives: no parity goes from one iteration to the next.  An arrival releases what the lanes of its warp
have stored, and what TMA has written for them, for which they wait before (nv_tileas.async.store_wait).  PTX ISA,
"mbarrier.arrive", "mbarrier.try_wait", "barrier.cluster", "fence.proxy.async".
"""

from __future__ import annotations

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.types import I64
from tessera_tools.passes.llvm.agents import arrive_in_cluster, wait_for_cluster
from tessera_tools.passes.llvm.clusters import cluster_address, cluster_barrier
from tessera_tools.passes.llvm.fences import fence_global
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM


@lowers("nv_tileas.cluster_order")
def cluster_order(low: Lowering, op: nv_tileas.ClusterOrder) -> None:
    """Arrive at all CTAs and wait for all of them."""
    e = low.e
    if op.mbarrier is None:
        cluster_barrier(low)
    else:
        barrier = e.gep(e.address_of(GLOBAL_SMEM), low.buffer(op.mbarrier).offset)
        others = [cluster_address(low, barrier, peer) for peer in range(1, low.ctas)]
        e.nvvm("bar.warp.sync", [e.constant(-1)])
        with only_where(e, e.is_elected):
            state = e.nvvm("mbarrier.arrive", [barrier], [I64]).results[0]
            arrive_in_cluster(low, others)
            wait_for_cluster(low, barrier, state)
        e.nvvm("bar.warp.sync", [e.constant(-1)])
    if any(isinstance(user, nv_tileas.TiledTmaStore) for user in op.res.users):
        fence_global(low)
    low.define(op.res, None)
