"""propagate-execution-unit: a kernel has the warps of its agents.

    agent_switch num_warps = [1, 8] warp_id = [0, 4] agent_strides = [4, 8]  ──▶  kernel_spec<num_warps = 12>

Numbers of warps go up from the agent_switch ops through loops and branches to the function.  The regions of one op must
agree, because its results are values of all warps.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, Region
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.planning.kernel import kernel_spec, kernels

INCONSISTENT = (
    "inconsistent numWarps in the agent switch, maybe it is called in different agents "
    "with different numWarps"
)


class PropagateExecutionUnit(Pass):
    """Give kernels the warps that their agents need."""

    name: ClassVar = "propagate-execution-unit"
    summary: ClassVar = "propagate the numWarps for each agent"
    anchor: ClassVar = "builtin.module"
    ensures: ClassVar = "the kernel_spec of a kernel with agents has as many warps as they take"
    statistics: ClassVar = {"changed": "kernels whose number of warps changed"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = [function for function in kernels(op) if propagate(function)]
        context.count("changed", len(changed))
        return bool(changed)


def propagate(function: nv_tileaa.Func) -> bool:
    """Sets the number of warps of a kernel with agents; whether it changed.  DiagnosticError where agents disagree."""
    warps = _warps(function.body, None)
    if warps is None:
        return False
    spec = kernel_spec(function)
    if spec.num_warps == warps:
        return False
    function.attributes["nv_tileaa.kernel_spec"] = nv_tileaa.KernelSpecAttr(warps, spec.cluster)
    return True


def _warps(region: Region, most: int | None) -> int | None:
    """The warps that the agents in a region take, where at most `most` run it; None without agents."""
    found: list[int] = []
    for block in region.blocks:
        for op in block:
            if isinstance(op, nv_tileas.AgentSwitch):
                own = op.total_warps
                if most is not None and own > most:
                    raise op.error(f"{INCONSISTENT}: it takes {own} warps, in an agent of {most}")
                for number, inner in enumerate(op.regions):
                    _warps(inner, op.num_warps.values[number])
                found.append(own)
            elif op.regions:
                inside = {w for inner in op.regions if (w := _warps(inner, most)) is not None}
                if len(inside) > 1:
                    raise op.error(f"{INCONSISTENT}: its regions take {_listed(inside)} warps")
                found += inside
    return max(found, default=None)


def _listed(numbers: set[int]) -> str:
    return " and ".join(map(str, sorted(numbers)))
