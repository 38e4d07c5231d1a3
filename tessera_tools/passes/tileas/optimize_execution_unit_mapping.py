"""optimize-execution-unit-mapping: which warps of the CTA each agent has.

    num_warps = [1, 8] warp_id = [0, 1]
        ──▶  num_warps = [1, 8] warp_id = [0, 4] agent_strides = [4, 8]        warps 1 to 3 are a hole

An agent starts at a multiple of its group: of four warps, which execute wgmma and setmaxnreg together, or of its own
number of warps if it has fewer.  An agent with registers of its own has whole groups of four; small agents with equally
many share one.  The warps from the start
of an agent to the next one are its stride; those that it does not need are a hole, and do nothing.  The number of all
warps is a multiple of four.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import I64
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.propagate_execution_unit import propagate
from tessera_tools.planning.kernel import kernels
from tessera_tools.records import dataclass
from tessera_tools.target import MOST_WARPS, WARPS_OF_WARPGROUP


class OptimizeExecutionUnitMapping(Pass):
    """Align the warps of agents to the groups that instructions need."""

    name: ClassVar = "optimize-execution-unit-mapping"
    summary: ClassVar = "optimize the numWarps and warpId alignment for each agent"
    anchor: ClassVar = "builtin.module"
    ensures: ClassVar = (
        "agents start at multiples of their groups; a kernel with agents has a multiple of four warps"
    )
    statistics: ClassVar = {
        "mapped": "agent_switch ops whose mapping changed",
        "idle": "warps that no agent uses",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            for switch in [inner for inner in function.walk() if isinstance(inner, nv_tileas.AgentSwitch)]:
                mapping = Mapping.of(switch)
                if mapping.total > MOST_WARPS:
                    raise switch.error(
                        f"has agents that take {mapping.total} warps with their alignment; a CTA has {MOST_WARPS}"
                    )
                context.count("idle", mapping.total - sum(switch.num_warps.values))
                if mapping.apply(switch):
                    context.count("mapped")
                    changed = True
            changed |= propagate(function)
        return changed


@dataclass(frozen=True, slots=True)
class Mapping:
    """The first warp and the stride of each agent, in the order of the regions."""

    starts: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.strides)

    @classmethod
    def of(cls, switch: nv_tileas.AgentSwitch) -> Mapping:
        """The mapping of the fewest warps: the agents in their present order, or those of whole warpgroups first."""
        agents = range(len(switch.regions))
        present = sorted(agents, key=lambda i: switch.warp_id.values[i])
        whole_first = sorted(present, key=lambda i: switch.num_warps.values[i] % WARPS_OF_WARPGROUP != 0)
        mappings = [cls._in_order(switch, order) for order in (present, whole_first)]
        return min(mappings, key=lambda mapping: mapping.total)

    @classmethod
    def _in_order(cls, switch: nv_tileas.AgentSwitch, order: list[int]) -> Mapping:
        starts = [0] * len(order)
        cursor, shared = 0, 0
        for i in order:
            warps = switch.num_warps.values[i]
            registers = switch.registers.values[i] if switch.registers is not None else 0
            starts[i] = _rounded(
                cursor, WARPS_OF_WARPGROUP if registers != shared else min(warps, WARPS_OF_WARPGROUP)
            )
            cursor = starts[i] + warps
            # A group is shared by agents that do not fill it.
            shared = registers if warps % WARPS_OF_WARPGROUP else 0
        ends = [*(starts[i] for i in order[1:]), _rounded(cursor, WARPS_OF_WARPGROUP)]
        strides = {i: end - starts[i] for i, end in zip(order, ends, strict=True)}
        return cls(tuple(starts), tuple(strides[i] for i in range(len(order))))

    def apply(self, switch: nv_tileas.AgentSwitch) -> bool:
        """Writes the mapping; whether it is another."""
        new = {
            "warp_id": DenseArrayAttr(I64, self.starts),
            "agent_strides": DenseArrayAttr(I64, self.strides),
        }
        if all(switch.attributes.get(name) is value for name, value in new.items()):
            return False
        switch.attributes.update(new)
        return True


def _rounded(number: int, group: int) -> int:
    return -(-number // group) * group
