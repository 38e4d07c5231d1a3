"""Turns with the tensor cores (ping-pong): who may start products on the tensor cores that all of them share.

The warpgroups of one agent take turns, if the turns are made in it:

    %order = create_order groups = 2              the first turn is warpgroup 0's
    for {
      order_wait %order                           warpgroup g waits for its turn
      async.dot …; async.dot …
      order_arrive %order                         the next turn is warpgroup (g + 1) mod 2's
      …                                           other work, while the other warpgroup has its turn
    }

Agents do, if the turns are made around them; the first turn is that of the first agent that takes any:

    %order = create_order groups = 2
    agent_switch { … }, { order_wait %order; …; order_arrive %order }, { order_wait %order; …; order_arrive %order }

Agents that take iterations in turn also store in turn: `order_arrive %order after %token` gives the turn when the
accesses before the token are complete.

A named barrier belongs to each warpgroup, or agent: it waits there, and the one before it arrives (`barriers`, which
tileas-bind-named-barriers sets).  CUTLASS calls this an ordered sequence barrier.
"""

from __future__ import annotations

from tessera_tools.dialects.nv_tileaa import TOKEN
from tessera_tools.dialects.nv_tileas.agents import AgentSwitch, agent_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.traits import OneRegionRuns
from tessera_tools.opdef import (
    I32_ATTR,
    I64_ARRAY,
    IN_ORDER,
    UNIT_ATTR,
    Op,
    attribute,
    exactly,
    operand,
    result,
    variadic_operand,
)
from tessera_tools.target.unit import NAMED_BARRIERS


class OrderTokenType(Type, name="nv_tileas.order_token"):
    """`!nv_tileas.order_token`: the turns of the warpgroups of an agent, or of agents."""


ORDER = exactly(OrderTokenType())
_NAME = "nv_tileas.async.pipeline"


class CreateOrder(Op, name=f"{_NAME}.create_order", traits=(IN_ORDER,)):
    """The turns of the `groups` warpgroups of an agent; the first one is warpgroup 0's.  In front of an agent_switch,
    the turns of as many of its agents, in their order.

    `barriers` are the numbers of their named barriers.  `required`: the author asks for turns.
    """

    groups = attribute(I32_ATTR)
    barriers = attribute(I64_ARRAY, "one named barrier for each warpgroup", optional=True)
    required = attribute(UNIT_ATTR, "it is an error if there can be no turns", optional=True)
    res = result(ORDER)
    assembly = "`groups` `=` $groups (`barriers` `=` $barriers^)? attr-dict `:` type($res)"

    def verify_op(self) -> None:
        groups = self.groups.value
        if not 2 <= groups < NAMED_BARRIERS:
            raise self.error(f"has turns of {groups} warpgroups; expected 2 to {NAMED_BARRIERS - 1}")
        if self.barriers is not None:
            numbers = self.barriers.values
            if len(numbers) != groups or len(set(numbers)) != groups:
                raise self.error(
                    f"has barriers {list(numbers)}; expected one for each of {groups} warpgroups"
                )
            if not all(1 <= number < NAMED_BARRIERS for number in numbers):
                raise self.error(
                    f"has barriers {list(numbers)}; named barriers are 1 to {NAMED_BARRIERS - 1}"
                )
        assert self.parent is not None
        users = set(self.res.users)
        if agent_of(self) is None and any(agent_of(user) is not None for user in users):
            self._verify_agents()
            return
        for user in users:
            if agent_of(user) is not agent_of(self):
                raise user.error("takes a turn of warpgroups of another agent")
        self._verify_turns(self.parent, users)

    @property
    def of_accesses(self) -> bool:
        """Whether what has a turn sees the accesses to memory of those before."""
        return any(isinstance(user, OrderArrive) and user.tokens for user in self.res.users)

    @property
    def agents(self) -> list[Region]:
        """The agents that take turns, in their order; none if the warpgroups of one do, in which the turns are made.
        DiagnosticError if those of several agent_switch ops do, or the code around them."""
        if agent_of(self) is not None:
            return []
        found = {agent for user in self.res.users if (agent := agent_of(user)) is not None}
        if not found:
            return []
        for user in self.res.users:
            if agent_of(user) is None:
                raise user.error("takes a turn of agents, but stands in none")
        switches = {agent.parent for agent in found}
        if len(switches) > 1:
            raise self.error("has turns of the agents of several agent_switch ops")
        return [agent for switch in switches if switch for agent in switch.regions if agent in found]

    def _verify_agents(self) -> None:
        agents, groups = self.agents, self.groups.value
        if len(agents) != groups:
            raise self.error(f"has turns of {groups} agents, but {len(agents)} take them")
        switch = agents[0].parent
        assert isinstance(switch, AgentSwitch)
        warps = {switch.num_warps.values[switch.regions.index(agent)] for agent in agents}
        if len(warps) > 1:
            raise self.error(
                f"has turns of agents of {' and '.join(map(str, sorted(warps)))} warps; expected as many"
            )
        for agent in agents:
            users = {user for user in self.res.users if agent_of(user) is agent}
            self._verify_turns(agent.entry, users)

    def _verify_turns(self, block: Block, users: set[Operation]) -> None:
        """Each turn that begins in a block ends there."""
        if _after(block, self.res, False):
            last = next(op for op in reversed(list(block)) if users & {op, *op.walk()})
            raise last.error("ends with a turn that is not given to the next warpgroup")


def _after(block: Block, order: Value, held: bool) -> bool:
    """Whether a warpgroup has its turn at the end of a block.  DiagnosticError where it waits for a turn that it has,
    gives one that it does not have, or where this differs by the path."""
    for op in block:
        if isinstance(op, OrderWait | OrderArrive) and op.order is order:
            if held is isinstance(op, OrderWait):
                raise op.error(
                    "waits for a turn that the warpgroup has"
                    if held
                    else "gives a turn that the warpgroup does not have"
                )
            held = not held
        ends = [_after(inner, order, held) for region in op.regions for inner in region.blocks]
        chosen = op.has_trait(OneRegionRuns) and len(op.regions) > 1 and all(r.blocks for r in op.regions)
        if any(end is not (ends[0] if chosen else held) for end in ends):
            raise op.error("has a region that begins a turn and does not end it, or ends one")
        held = ends[0] if ends else held
    return held


def in_turn(block: Block, order: Value) -> set[Operation]:
    """The ops of an agent's block, and of the blocks in it, that are within a turn."""
    found: set[Operation] = set()

    def visit(block: Block, held: bool) -> bool:
        for op in block:
            if held:
                found.add(op)
            if isinstance(op, OrderWait | OrderArrive) and op.order is order:
                held = isinstance(op, OrderWait)
            ends = [visit(inner, held) for region in op.regions for inner in region.blocks]
            held = ends[0] if ends else held
        return held

    visit(block, False)
    return found


class _Turn(Op):
    """The base of the ops on turns."""

    order = operand(ORDER)

    def verify_op(self) -> None:
        if not isinstance(self.order.defining_op, CreateOrder):
            raise self.error("takes a turn that is not of a create_order")


class OrderWait(_Turn, name=f"{_NAME}.order_wait", traits=(IN_ORDER,)):
    """Waits until it is the turn of the warpgroup, or agent."""

    assembly = "$order attr-dict"


class OrderArrive(_Turn, name=f"{_NAME}.order_arrive", traits=(IN_ORDER,)):
    """Gives the turn to the next warpgroup, or agent, without waiting.  What has the turn next sees the accesses before
    the tokens."""

    tokens = variadic_operand(TOKEN)
    assembly = "$order (`after` $tokens^ `:` type($tokens))? attr-dict"
