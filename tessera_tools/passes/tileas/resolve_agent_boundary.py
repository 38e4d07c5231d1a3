"""tileas-resolve-agent-boundary: how a value of the whole CTA gets into its agents.

    %x = …; agent_switch { use %x }, { use %x }
      numbers, views, buffers, pipelines            as they are: each thread has them
      what a few ops make of those                  computed again in each agent
      a tile that one agent alone uses              computed in that agent
      any other tile                                store before the agent_switch; load in each agent

    what one agent sends and another receives     through a buffer with a pipeline of its own: agent_channels.py

A tile is spread over the threads that computed it: those of the CTA, not of an agent.  All threads synchronize where
agents begin, so that a store before it is seen in each of them.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32, i64
from tessera_tools.ir.core import Block, Builder, IRMapping, Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT, swizzled
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.agent_channels import resolve_channels
from tessera_tools.passes.tileas.memory_order import writes_memory
from tessera_tools.planning.kernel import kernels
from tessera_tools.planning.shared_memory import ALIGN, narrowest

MOST_RECOMPUTED = 8
"""Ops that are rather computed twice than handed over."""
_CHANGES_PLACE = (nv_tileas.Dot, nv_tileas.AsyncDot)
"""Pure ops that take too long to be computed twice."""


class ResolveAgentBoundary(Pass):
    """Make every value that crosses an agent_switch one that an agent can use."""

    name: ClassVar = "tileas-resolve-agent-boundary"
    summary: ClassVar = "legalize the values that cross an agent_switch"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts, and agents in agent_switch ops"
    ensures: ClassVar = "no agent uses a tile that another execution unit computed"
    statistics: ClassVar = {
        "recomputed": "values computed again in an agent",
        "moved": "ops moved into the agent that uses them",
        "handed-over": "tiles handed over through shared memory",
        "sent": "channels of numbers that an agent sends to another",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            for switch in [inner for inner in function.walk() if isinstance(inner, nv_tileas.AgentSwitch)]:
                channels = resolve_channels(switch)
                context.count("sent", channels)
                boundary = _Boundary(switch, context)
                changed |= boundary.resolve() or channels > 0
        return changed


class _Boundary:
    """The values that one agent_switch takes from around it."""

    def __init__(self, switch: nv_tileas.AgentSwitch, context: PassContext) -> None:
        self.switch, self.context = switch, context

    def resolve(self) -> bool:
        changed = False
        while (value := self.crossing()) is not None:
            changed = True
            slice = self.recomputable(value)
            agents = self.agents(value)
            if slice is not None:
                for agent in agents:
                    self.recompute(value, slice, agent)
                self.context.count("recomputed", len(agents))
            elif not self.move(value, agents):
                self.hand_over(value, agents)
                self.context.count("handed-over")
            self.erase(value)
        return changed

    def crossing(self) -> Value | None:
        """The next tile that an agent takes from around the agent_switch."""
        for op in self.switch.walk():
            for value in op.operands:
                if isinstance(value.type, RankedTensorType) and not self.is_inside(value.owner_block):
                    return value
        return None

    def is_inside(self, block: Block | None) -> bool:
        while block is not None and (owner := block.parent_op) is not None:
            if owner is self.switch:
                return True
            block = owner.parent
        return False

    def agents(self, value: Value) -> list[Block]:
        """The agents that use a value."""
        found = [self.agent(user) for user in value.users]
        return list(dict.fromkeys(agent for agent in found if agent is not None))

    def agent(self, op: Operation) -> Block | None:
        """The agent that an op stands in; None if it stands outside."""
        place: Operation = op
        while (outer := place.parent_op) is not None:
            if outer is self.switch:
                return place.parent
            place = outer
        return None

    # -- computed again

    def recomputable(self, value: Value) -> list[Operation] | None:
        """The ops that make a value of what every thread has, operands first; None if they are too many, or do more
        than compute."""
        found: list[Operation] = []

        def visit(value: Value) -> bool:
            if not isinstance(value.type, RankedTensorType):
                return True
            op = value.defining_op
            if op is None or op.regions or not is_pure(op) or isinstance(op, _CHANGES_PLACE):
                return False
            if op not in found:
                if len(found) >= MOST_RECOMPUTED or not all(visit(operand) for operand in op.operands):
                    return False
                found.append(op)
            return len(found) <= MOST_RECOMPUTED

        return found if visit(value) else None

    def recompute(self, value: Value, slice: list[Operation], agent: Block) -> None:
        builder = Builder.at_start(agent, self.switch.location)
        mapping = IRMapping()
        for op in slice:
            builder.insert(op.clone(mapping))
        self.replace(value, mapping.value(value), agent)

    def replace(self, value: Value, new: Value, agent: Block) -> None:
        for use in list(value.uses):
            if self.agent(use.owner) is agent:
                use.owner.set_operand(use.index, new)

    # -- moved

    def move(self, value: Value, agents: list[Block]) -> bool:
        """Moves the op that makes a value, and is not needed elsewhere, into the one agent that uses it."""
        op = value.defining_op
        if op is None or len(agents) != 1 or op.regions or op.parent is not self.switch.parent:
            return False
        if not is_pure(op) and not self.may_read_later(op):
            return False
        users = [user for result in op.results for user in result.users]
        if any(self.agent(user) is not agents[0] for user in users):
            return False
        first = agents[0].first_op
        assert first is not None
        op.detach()
        agents[0].insert_before(first, op)
        self.context.count("moved")
        return True

    def may_read_later(self, op: Operation) -> bool:
        """True if an op only loads from global memory, and nothing between it and the agents writes."""
        if not isinstance(op, nv_tileas.TiledLoad | nv_tileaa.Load):
            return False
        following = op.next_op
        while following is not None and following is not self.switch:
            if any(writes_memory(inner) for inner in (following, *following.walk())):
                return False
            following = following.next_op
        return following is self.switch

    # -- handed over

    def hand_over(self, value: Value, agents: list[Block]) -> None:
        """A store before the agents, and a load in each, where the agent first needs the tile."""
        type = value.type_as(RankedTensorType)
        bits = padded_bits(type.element)
        swizzle = next((s for s in (128, 64, 32) if type.shape[-1] * bits % (8 * s) == 0), 0)
        layout = SharedAttr(swizzled(type.shape, bits, None, swizzle))
        location = value.location
        before = Builder.before(self.switch)
        alloc = nv_tileas.AllocTensor(res=SmemType((1, *type.shape), type.element, layout), location=location)
        if swizzle:
            alloc.attributes[ALIGN] = i64(SWIZZLE_ALIGNMENT[swizzle])
        buffer = before.insert(alloc).res
        stage = before.insert(arith.Constant(i32(0), location=location)).results[0]
        before.insert(nv_tileas.Store(value, buffer, stage, None, narrowest(type.element), location=location))
        for agent in agents:
            inside = Builder.before(self.first_user(value, agent))
            loaded = nv_tileas.Load(
                buffer,
                stage,
                DenseArrayAttr(I64, (0,) * type.rank),
                narrowest(type.element, "lds"),
                res=type,
                location=location,
            )
            self.replace(value, inside.insert(loaded).res, agent)

    def first_user(self, value: Value, agent: Block) -> Operation:
        """The first op of an agent's block that uses a value, or holds an op that does."""
        users = set(value.users)
        for op in agent:
            if op in users or any(inner in users for inner in op.walk()):
                return op
        raise AssertionError("an agent that uses a value has an op that does")

    def erase(self, value: Value) -> None:
        """Erases what only served the agents."""
        op = value.defining_op
        if op is None or any(result.has_uses for result in op.results) or not is_pure(op):
            return
        operands = op.operands
        op.erase()
        for operand in operands:
            if isinstance(operand.type, RankedTensorType):
                self.erase(operand)
