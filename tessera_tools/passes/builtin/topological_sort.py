"""`topological-sort`: put each operation after the operations that define its operands.

    %b = use %a ; %a = def      ─▶      %a = def ; %b = use %a

Only blocks of graph regions may hold operations in another order.
"""

from __future__ import annotations

from tessera_tools.ir.core import Block, Operation, UnregisteredOp
from tessera_tools.ir.dominance import is_graph_region
from tessera_tools.ir.traits import Terminator
from tessera_tools.passes.base import Pass, PassContext


class TopologicalSort(Pass):
    """Operations that are in order keep their order. In a cycle, the first operation comes first."""

    name = "topological-sort"
    title = "TopologicalSort"
    summary = "sort operations in graph regions so that definitions come before uses"
    ensures = "each operation is after those that define its operands, except in cycles"

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for inner in [op, *op.walk()]:
            for region in inner.regions:
                if is_graph_region(region) and not isinstance(inner, UnregisteredOp):
                    for block in region.blocks:
                        changed |= _sort(block)
        return changed


def _sort(block: Block) -> bool:
    """Sort one block; the terminator stays last. As upstream, sweeps over the block until all ops are placed."""
    ops = list(block)
    last = ops.pop() if ops and ops[-1].has_trait(Terminator) else None
    needs = {op: _definitions(op, block) for op in ops}
    above: set[Operation] = set()
    for op, needed in needs.items():
        if not needed <= above:
            break
        above.add(op)
    else:
        return False
    waiting = dict.fromkeys(ops)
    placed: list[Operation] = []
    done: set[Operation] = set() if last is None else {last}
    while waiting:
        before = len(placed)
        for op in list(waiting):
            if needs[op] <= done:
                del waiting[op]
                done.add(op)
                placed.append(op)
        if len(placed) == before:
            # A cycle: its first operation is placed although it uses later ones.
            op = next(iter(waiting))
            del waiting[op]
            done.add(op)
            placed.append(op)
    for op in placed:
        op.detach()
        block.insert_before(last, op)
    return placed != ops


def _definitions(op: Operation, block: Block) -> set[Operation]:
    """The operations of the block that define what `op`, or an op inside it, uses."""
    found: set[Operation] = set()
    for inner in [op, *op.walk()]:
        for value in inner.operands:
            defining = value.defining_op
            while defining is not None and defining.parent is not block:
                defining = defining.parent_op
            if defining is not None and defining is not op:
                found.add(defining)
    return found
