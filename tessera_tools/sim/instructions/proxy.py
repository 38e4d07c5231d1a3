"""fence.proxy.*, fence.mbarrier_init (PTX ISA, "membar, fence": proxy fences)."""

from __future__ import annotations

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.program import Immediate
from tessera_tools.sim.proxies import fence_async
from tessera_tools.sim.warp import Mask, Outcome, Warp

_SCOPES = ("cta", "cluster", "gpu", "sys")


@instruction("fence.proxy.async", "membar.proxy.async")
def proxy_async(ctx: Context) -> Execute:
    """fence.proxy.async{.global, .shared::cta, .shared::cluster}: orders the generic and the async proxy, both ways."""
    space = ctx.choose("global", "shared::cta", "shared::cluster", default="")
    ctx.operands(0)
    spaces = ("shared", "global") if not space else (space.split("::")[0],)
    return lambda warp, mask: fence_async(warp, mask, spaces)


@instruction("fence.proxy.async::generic")
def proxy_async_one_way(ctx: Context) -> Execute:
    """fence.proxy.async::generic.{acquire,release}.sync_restrict::….cluster: for shared memory of a cluster."""
    ctx.choose("acquire", "release")
    ctx.choose("sync_restrict::shared::cta", "sync_restrict::shared::cluster")
    ctx.choose("cluster", default="cluster")
    ctx.operands(0)
    return lambda warp, mask: fence_async(warp, mask, ("shared",))


@instruction("fence.proxy.alias", "membar.proxy.alias")
def proxy_alias(ctx: Context) -> Execute:
    """fence.proxy.alias: an allocation has only one address in the simulator, so the fence has no effect."""
    ctx.operands(0)
    return lambda warp, mask: None


@instruction("fence.mbarrier_init")
def mbarrier_init(ctx: Context) -> Execute:
    """fence.mbarrier_init.release.cluster: orders the thread's mbarrier.init before later accesses in the cluster.

    After the fence, a relaxed arrive at the cluster barrier makes the objects visible to other threads.
    """
    ctx.choose("release")
    ctx.choose("cluster")
    ctx.operands(0)

    def execute(warp: Warp, mask: Mask) -> Outcome:
        fenced = warp.state.setdefault("fenced mbarriers", [])
        for barrier in warp.cta.cluster.state.get("mbarrier", {}).values():
            if barrier.initializer[0] == warp.rank:
                barrier.fenced = True
                fenced.append(barrier)

    return execute


@instruction("fence.proxy.tensormap::generic")
def proxy_tensormap(ctx: Context) -> Execute:
    """fence.proxy.tensormap::generic.release.scope; ….acquire.scope [addr], 128."""
    from tessera_tools.sim.tensormap_proxy import acquire, release

    acquires = ctx.choose("acquire", "release") == "acquire"
    ctx.choose(*_SCOPES)
    if not acquires:
        ctx.operands(0)
        return release
    where, size = ctx.operands(2)
    if not isinstance(size, Immediate) or size.value != 128:
        raise ctx.error("has a size other than 128")
    address = ctx.address(where)

    def execute(warp: Warp, mask: Mask) -> None:
        addresses = address(warp)
        for lane in mask.lanes:
            acquire(warp, int(addresses[lane]))

    return execute
