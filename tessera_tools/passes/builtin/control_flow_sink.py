"""`control-flow-sink`: move operations into the branch that alone uses them.

%x = expensive ; scf.if %c { use %x }      ─▶      scf.if %c { %x = expensive ; use %x }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.dominance import DominanceInfo, ancestor_in_region
from tessera_tools.ir.effects import is_pure
from tessera_tools.opdef import ONE_REGION_RUNS
from tessera_tools.passes.base import Pass, PassContext


class ControlFlowSink(Pass):
    """Sinks operations without effects into regions that run at most once."""

    name = "control-flow-sink"
    title = "ControlFlowSink"
    summary = "sink operations into conditional blocks"
    ensures = "no operation before a branch is used in one of its regions only, if it has no effect"
    statistics: ClassVar[Mapping[str, str]] = {"num-sunk": "Number of operations sunk"}

    def run(self, op: Operation, context: PassContext) -> bool:
        sunk = 0
        for branch in list(op.walk(post_order=True)):
            if branch.has_trait(ONE_REGION_RUNS):
                sunk += sum(_sink(region) for region in branch.regions if region.blocks)
        context.count("num-sunk", sunk)
        return sunk > 0


def _sink(region: Region) -> int:
    """Sink the definitions of the operands of a region's ops, and their operands in turn; returns how many."""
    dominance = DominanceInfo()
    sunk = 0
    stack = [op for block in region.blocks for op in block]
    while stack:
        user = stack.pop()
        for value in user.operands:
            op = value.defining_op
            if op is None or op.parent is None or op.parent.parent is region:
                continue
            if _used_inside(op, region, dominance) and is_pure(op):
                entry = region.entry
                op.detach()
                entry.insert_before(entry.first_op, op)
                sunk += 1
                stack.append(op)
    return sunk


def _used_inside(op: Operation, region: Region, dominance: DominanceInfo) -> bool:
    """Whether the entry of the region dominates all users of the op."""
    for result in op.results:
        for user in result.users:
            place = ancestor_in_region(user, region)
            if place is None or place.parent is None:
                return False
            if not dominance.block_dominates(region.entry, place.parent):
                return False
    return True
