"""Turns of warpgroups: a named barrier for each, where it waits and the one before it arrives.

    create_order     the last warpgroup: bar.arrive at the barrier of the first
    order_wait       warpgroup g: bar.sync at its barrier
    order_arrive     warpgroup g: bar.arrive at the barrier of warpgroup g + 1; after the last one, of the first

Where agents take turns, each executes its part without a predicate, and the last one arrives first.

Numbers of barriers are constants: with a number in a register, ptxas reserves all 16.  The instructions have
predicates: branches between products cost moves of the accumulators, and descriptors in vector registers.  The last
turn is given to a warpgroup that does not take it; a barrier has no state beyond the end of its CTA.  PTX ISA, "bar".
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import nv_tileas
from tessera_tools.passes.llvm.fences import fence_global
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.target import WARPS_OF_WARPGROUP

_THREADS = 2 * 32 * WARPS_OF_WARPGROUP
"""Threads at a barrier: those of the warpgroup that waits, and of the one that arrives."""


@lowers("nv_tileas.async.pipeline.create_order")
def create_order(low: Lowering, op: nv_tileas.CreateOrder) -> None:
    """The first turn is given by the last warpgroup, or agent."""
    unit, e = low.unit, low.e
    if agents := op.agents:
        switch = agents[-1].parent
        assert isinstance(switch, nv_tileas.AgentSwitch)
        last = switch.unit(switch.regions.index(agents[-1]))
        number = e.sub(e.uniform_warp, e.constant(last.first_warp))
        own = e.icmp("ult", number, last.warps)
        instruction(e, f"bar.arrive {_barriers(op)[0]}, {2 * last.threads}", [], own)
        low.define(op.res, None)
        return
    if not unit.is_warpgroups or unit.warps != WARPS_OF_WARPGROUP * op.groups.value:
        raise op.error(
            f"has turns of {op.groups.value} warpgroups, but runs in {unit.warps} warps from {unit.first_warp} on"
        )
    numbers = _barriers(op)
    _in_group(low, len(numbers) - 1, "arrive", numbers[0])
    low.define(op.res, None)


@lowers("nv_tileas.async.pipeline.order_wait")
def order_wait(low: Lowering, op: nv_tileas.OrderWait) -> None:
    """Each warpgroup waits at its barrier."""
    order = op.order.defining_op
    if (place := _place(op)) is not None:
        instruction(low.e, f"bar.sync {_barriers(order)[place]}, {2 * low.unit.threads}", [], None)
        if isinstance(order, nv_tileas.CreateOrder) and order.of_accesses:
            fence_global(low)
        return
    for group, number in enumerate(_barriers(order)):
        _in_group(low, group, "sync", number)


@lowers("nv_tileas.async.pipeline.order_arrive")
def order_arrive(low: Lowering, op: nv_tileas.OrderArrive) -> None:
    """Each warpgroup arrives at the barrier of the next one."""
    numbers = _barriers(op.order.defining_op)
    if (place := _place(op)) is not None:
        following = numbers[(place + 1) % len(numbers)]
        instruction(low.e, f"bar.arrive {following}, {2 * low.unit.threads}", [], None)
        return
    for group, number in enumerate([*numbers[1:], numbers[0]]):
        _in_group(low, group, "arrive", number)


def _place(op: Any) -> int | None:
    """The place of an op's agent among those that take turns; None if the warpgroups of the agent do."""
    agents = op.order.defining_op.agents
    return agents.index(nv_tileas.agent_of(op)) if agents else None


def _barriers(op: Any) -> tuple[int, ...]:
    if op.barriers is None:
        raise op.error("has no named barriers; run --tileas-bind-named-barriers first")
    return op.barriers.values


def _in_group(low: Lowering, group: int, what: str, number: int) -> None:
    """A barrier instruction that one warpgroup of the unit executes."""
    e = low.e
    own = e.icmp("eq", e.lshr(e.uniform_warp, WARPS_OF_WARPGROUP.bit_length() - 1), group)
    instruction(e, f"bar.{what} {number}, {_THREADS}", [], own)
