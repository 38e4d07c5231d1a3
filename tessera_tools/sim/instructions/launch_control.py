"""clusterlaunchcontrol: a cluster takes the place of one that has not begun (PTX ISA, "clusterlaunchcontrol").

    try_cancel ──in flight──▶ 16 bytes in shared memory, complete_tx ──ld.b128──▶ query_cancel: canceled? first CTA

Its bytes are written through the async proxy. A warp that has decoded an earlier one, which it has loaded through the
generic proxy, needs a proxy fence before that (the CUDA C++ Programming Guide, "Cluster Launch Control", has one).

The response holds the x, y and z of the first CTA of the canceled cluster as 32-bit words, and a fourth word: 1 if a
cluster was canceled, 2 if none was left. A program must not rely on this encoding.
"""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.arrays import Array, some
from tessera_tools.sim.bulk import copy_in
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.bulk import destinations
from tessera_tools.sim.instructions.common import lane_by_lane, put
from tessera_tools.sim.program import Vector
from tessera_tools.sim.proxies import Response
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp

_CANCELED, _NONE_LEFT = 1, 2


def response(index: tuple[int, int, int] | None, shape: tuple[int, int, int]) -> Array:
    """The 16 bytes that say which cluster of `shape` was canceled, or that none was left."""
    first = [0, 0, 0] if index is None else [i * c for i, c in zip(index, shape, strict=True)]
    return np.array([*first, _NONE_LEFT if index is None else _CANCELED], np.uint32).view(np.uint8)


@instruction("clusterlaunchcontrol.try_cancel")
def try_cancel(ctx: Context) -> Execute:
    """clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [r], [mbar]."""
    ctx.choose("async")
    space = "shared" if ctx.flag("shared::cta") else "generic"
    ctx.choose("mbarrier::complete_tx::bytes")
    multicast = ctx.flag("multicast::cluster::all")
    ctx.type("b128")
    ctx.module.async_proxy = True
    target, barrier = (ctx.address(operand) for operand in ctx.operands(2))
    what = f"'{ctx.inst.name}' at PTX line {ctx.inst.line}"

    def one(warp: Warp, mask: Mask, lane: int) -> None:
        launch = warp.cta.cluster.launch
        if warp.cta.cluster.state.get("no cluster left"):
            warp.report("illegal", f"{what} after the CTA has learned that no cluster is left", mask)
        every = (1 << len(warp.cta.cluster.ctas)) - 1 if multicast else None
        found = destinations(
            warp, mask, space, int(target(warp)[lane]), int(barrier(warp)[lane]), every, 16, 16, what
        )
        responses: dict[tuple[int, int], Response] = warp.cta.cluster.state.setdefault("responses", {})
        made = [Response() for _ in found]
        held: list[Array] = []

        def fetch() -> Array:
            if not held:
                held.append(response(launch.cancel(warp.cta.cluster), launch.cluster))
                for one in made:
                    one.content = held[0].tobytes()
            return held[0]

        for each, new in zip(found, made, strict=True):
            place = each.cta.rank, each.offset
            if place in responses and not responses[place].is_fenced(warp):
                warp.report(
                    "proxy",
                    f"{what} writes {each.cta.shared.place(each.offset)}, whose response another warp has read through "
                    "the generic proxy with no fence.proxy.async since that orders it",
                    mask,
                    severity="warning",
                )
            responses[place] = new
            copy_in(warp, mask, what, each.cta, slice(each.offset, each.offset + 16), fetch, each.barrier, 16)

    return lane_by_lane(one)


def _note_reader(warp: Warp, content: bytes) -> None:
    """A warp has decoded a response of its CTA. No two are equal."""
    cluster = warp.cta.cluster
    for (rank, _), one in cluster.state.get("responses", {}).items():
        if rank == warp.cta.rank and one.content == content:
            one.readers[warp.rank] = int(cluster.clocks.now)


def _words(row: Array) -> Array:
    """128-bit values [lane, 2] → their four words [lane, 4]."""
    return np.ascontiguousarray(row).view(np.uint32).reshape(len(row), 4)


@instruction("clusterlaunchcontrol.query_cancel.is_canceled")
def is_canceled(ctx: Context) -> Execute:
    """clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response."""
    ctx.choose("pred")
    ctx.type("b128")
    target, source = ctx.operands(2)
    destination, response = ctx.write(target, TYPES["pred"]), ctx.read(source, TYPES["b128"])

    def execute(warp: Warp, mask: Mask) -> None:
        state = _words(warp.ports[response])[:, 3]
        if some(~np.isin(state[mask.array], (_CANCELED, _NONE_LEFT))):
            warp.report("illegal", "a response that clusterlaunchcontrol.try_cancel has not written", mask)
        _note_reader(warp, warp.ports[response][mask.first].tobytes())
        if some(state[mask.array] == _NONE_LEFT):
            warp.cta.cluster.state["no cluster left"] = True
        put(warp, mask, destination, state == _CANCELED)

    return execute


@instruction(
    "clusterlaunchcontrol.query_cancel.get_first_ctaid",
    *(f"clusterlaunchcontrol.query_cancel.get_first_ctaid::{axis}" for axis in "xyz"),
)
def get_first_ctaid(ctx: Context) -> Execute:
    """clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, response; or ::x.b32.b128 r."""
    axis = next((m[-1] for m in ctx.inst.modifiers if m.startswith("get_first_ctaid::")), "")
    if not axis:
        ctx.choose("v4")
    ctx.type("b32")
    ctx.type("b128")
    target, source = ctx.operands(2)
    if not axis and (not isinstance(target, Vector) or len(target.elements) != 4):
        raise ctx.error("needs a vector of four registers")
    destinations_of = ctx.writes(target, TYPES["b32"])
    columns = ["xyz".index(axis)] if axis else [0, 1, 2]
    response = ctx.read(source, TYPES["b128"])

    def execute(warp: Warp, mask: Mask) -> None:
        words = _words(warp.ports[response])
        if some(words[mask.array, 3] != _CANCELED):
            warp.report("illegal", "the first CTA of a cluster that was not canceled", mask)
        for column, destination in zip(columns, destinations_of, strict=False):
            put(warp, mask, destination, words[:, column])

    return execute
