"""tileas-bind-named-barriers: the named barriers at which the warpgroups of an agent take turns.

    agent_switch of 2 agents, which have barriers 1 and 2
      create_order groups = 2   ──▶   create_order groups = 2 barriers = [3, 4]

Turns are of use only where nothing else makes the warpgroups meet in each iteration, and harm where they meet during a
turn: it would never end.  The pass runs when all barriers of the agent are known, and removes the turns of such loops.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import nv_tileaa, nv_tileas, scf
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I64
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.planning.kernel import kernels
from tessera_tools.planning.shared_memory import OFFSET
from tessera_tools.target.unit import NAMED_BARRIERS

_APART = (
    nv_tileas.OrderWait,
    nv_tileas.OrderArrive,
    nv_tileas.ConsumerWait,
    nv_tileas.ConsumerRead,
    nv_tileas.ConsumerRelease,
    nv_tileas.AsyncDot,
    nv_tileas.AsyncDotWait,
    nv_tileas.AsyncDotResult,
    nv_tileas.Load,
    scf.For,
    scf.If,
    scf.Yield,
)
"""Ops with effects that warpgroups execute without meeting."""


class BindNamedBarriers(Pass):
    """Give the turns of warpgroups their named barriers."""

    name: ClassVar = "tileas-bind-named-barriers"
    summary: ClassVar = "bind the turns of consumer warpgroups to named barriers"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "barriers and places in shared memory, as tileas-insert-barriers leaves them"
    ensures: ClassVar = "the warpgroups that take turns have a named barrier each, and do not meet otherwise"
    statistics: ClassVar = {"bound": "named barriers", "removed": "turns removed"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            for order in [o for o in function.walk() if isinstance(o, nv_tileas.CreateOrder)]:
                changed |= self._bind(order, function, context)
        return changed

    def _bind(self, order: nv_tileas.CreateOrder, function: nv_tileaa.Func, context: PassContext) -> bool:
        # Agents that take turns have barriers of their own to meet at.
        meeting, when = (None, "") if order.agents else _meeting(order, function)
        count = order.groups.value
        taken = _taken(function, order)
        free = [number for number in range(1, NAMED_BARRIERS) if number not in taken]
        if meeting is None and len(free) >= count:
            bound = DenseArrayAttr(I64, tuple(free[:count]))
            if order.barriers is bound:
                return False
            order.attributes["barriers"] = bound
            context.count("bound", count)
            return True
        why = (
            f"they meet at '{meeting.name}' {when}"
            if meeting is not None
            else f"they need {count} named barriers, and {len(free)} are left"
        )
        if order.agents:
            raise order.error(
                f"has turns of {count} agents, which need as many named barriers; {len(free)} are left"
            )
        if order.required is not None:
            raise (meeting or order).error(
                f"keeps the consumer warpgroups from taking turns, for which ping-pong=always asks: {why}"
            )
        text = f"the {count} consumer warpgroups do not take turns with the tensor cores: {why}"
        context.failed(meeting or order, text, "turns", "schedule", function=function)
        for user in set(order.res.users):
            user.erase()
        order.erase()
        context.count("removed")
        return True


def _taken(function: Operation, order: Operation) -> set[int]:
    """The numbers of the barriers that the agents of a kernel and other turns have."""
    found = {0}
    for op in function.walk():
        if isinstance(op, nv_tileas.AgentSwitch):
            found |= {op.unit(number).barrier for number in range(len(op.regions))}
        elif isinstance(op, nv_tileas.CreateOrder) and op is not order and op.barriers is not None:
            found |= set(op.barriers.values)
    return found


def _meeting(order: nv_tileas.CreateOrder, function: nv_tileaa.Func) -> tuple[Operation | None, str]:
    """An op at which all warps of the agent may meet, in a loop around a turn or within a turn; and when they do."""
    for loop in dict.fromkeys(user.parent_op for user in order.res.users):
        for op in loop.walk() if isinstance(loop, scf.For) else ():
            if _may_meet(op):
                return op, "in each iteration"
    agent = nv_tileas.agent_of(order) or function.body
    within = nv_tileas.in_turn(agent.entry, order.res)
    return next((op for op in agent.walk() if op in within and _may_meet(op)), None), "during a turn"


def _may_meet(op: Operation) -> bool:
    return OFFSET in op.attributes or not (is_pure(op) or isinstance(op, _APART))
