"""Agents: parts of a kernel that run concurrently, each in its own warps.

agent_switch num_warps = 4, 4 warp_id = 0, 4 { a producer }, { a consumer }
"""

from __future__ import annotations

from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Operation, Region
from tessera_tools.opdef import (
    I64_ARRAY,
    OWNS_CONSTANTS,
    PURE,
    REGIONS_RUN_TOGETHER,
    RETURN_LIKE,
    SINGLE_BLOCK,
    HasParent,
    ImplicitTerminator,
    MemoryEffects,
    Op,
    arrive,
    attribute,
    variadic_operand,
    variadic_region,
    wait,
)
from tessera_tools.target import ExecutionUnit

NAME = "nv_tileas.async.pipeline"
"""What the names of the ops of pipelines begin with."""


class Yield(
    Op,
    name="nv_tileas.async.pipeline.yield",
    traits=(
        RETURN_LIKE,
        OWNS_CONSTANTS,
        PURE,
        HasParent(
            *(
                f"{NAME}.{word}"
                for word in ("produce_one", "producer_write", "consume_one", "consumer_read", "agent_switch")
            )
        ),
    ),
):
    """Terminates a region of a pipeline op and passes its values."""

    values = variadic_operand()
    assembly = "attr-dict ($values^ `:` type($values))?"


class AgentSwitch(
    Op,
    name="nv_tileas.async.pipeline.agent_switch",
    traits=(
        SINGLE_BLOCK,
        OWNS_CONSTANTS,
        REGIONS_RUN_TOGETHER,
        ImplicitTerminator(Yield),
        MemoryEffects(arrive(), wait(), recursive=True),
    ),
):
    """Runs the regions concurrently, each in its own warps: region i in `num_warps[i]` warps starting at `warp_id[i]`.

    `registers`, if given, is the number of registers of each agent's threads (setmaxnreg); 0 leaves it unchanged.
    `agent_strides`, if given, is the number of warps from the first warp of each agent to that of the next: those that
    the agent does not need do nothing.  All threads of the CTA synchronize first.
    """

    num_warps = attribute(I64_ARRAY)
    warp_id = attribute(I64_ARRAY)
    agent_strides = attribute(I64_ARRAY, optional=True)
    registers = attribute(I64_ARRAY, optional=True)
    agents = variadic_region()
    assembly = (
        "`num_warps` `=` $num_warps `warp_id` `=` $warp_id (`agent_strides` `=` $agent_strides^)? "
        "(`registers` `=` $registers^)? $agents attr-dict"
    )

    def unit(self, number: int) -> ExecutionUnit:
        """The execution unit of a region.  Raises ValueError if there is no such unit."""
        registers = self.registers.values[number] if self.registers is not None else 0
        return ExecutionUnit(
            self.num_warps.values[number], self.warp_id.values[number], number + 1, registers or None
        )

    @property
    def total_warps(self) -> int:
        """The warps up to the last one that an agent has, with its stride."""
        widths = self.agent_strides if self.agent_strides is not None else self.num_warps
        return max((f + w for f, w in zip(self.warp_id.values, widths.values, strict=True)), default=0)

    def verify_op(self) -> None:
        count = len(self.regions)
        for word in ("num_warps", "warp_id", "agent_strides", "registers"):
            given = self.attributes.get(word)
            if isinstance(given, DenseArrayAttr) and len(given.values) != count:
                raise self.error(f"has {count} agents, but {len(given.values)} entries in '{word}'")
        units: list[ExecutionUnit] = []
        for number in range(count):
            try:
                unit = self.unit(number)
            except ValueError as problem:
                raise self.error(f"agent {number} {problem}") from None
            for earlier, other in enumerate(units):
                if unit.overlaps(other):
                    raise self.error(f"agents {earlier} and {number} share warps")
            units.append(unit)
            if self.agent_strides is not None:
                self._verify_stride(number, unit)
            end = self.regions[number].entry.last_op
            if not isinstance(end, Yield) or end.operands:
                raise self.error("has an agent that does not end in a yield without operands")

    def _verify_stride(self, number: int, unit: ExecutionUnit) -> None:
        assert self.agent_strides is not None
        stride = self.agent_strides.values[number]
        if stride < unit.warps:
            raise self.error(f"agent {number} has {unit.warps} warps, more than its stride of {stride}")
        last = unit.first_warp + stride
        for other, first in enumerate(self.warp_id.values):
            if unit.first_warp < first < last:
                raise self.error(
                    f"agent {other} starts at warp {first}, within the stride of agent {number}, warps "
                    f"{unit.first_warp} to {last - 1}"
                )


def agent_of(op: Operation) -> Region | None:
    """The region of the innermost enclosing agent_switch of an op; None outside of agents."""
    inner: Operation = op
    while (outer := inner.parent_op) is not None:
        if isinstance(outer, AgentSwitch):
            return next(r for r in outer.regions if any(b is inner.parent for b in r.blocks))
        inner = outer
    return None
