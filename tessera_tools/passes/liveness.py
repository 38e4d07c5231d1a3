"""Dead code elimination: erases unreachable blocks, then everything that no effect depends on.

    ops with effects ─▶ live ─▶ their operands ─▶ the ops and block arguments that define them ─▶ …   the rest is erased

Mark and sweep, so that values that only use each other around a loop are also erased.  One pass over the IR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tessera_tools.ir.core import Block, BlockArgument, Operation, OpResult, Region, Value
from tessera_tools.ir.dominance import reverse_postorder
from tessera_tools.ir.effects import is_needed, is_trivially_dead
from tessera_tools.ir.interfaces import BranchLike
from tessera_tools.ir.traits import Leaves, Terminator

__all__ = ["erase_dead", "erase_unreachable_blocks", "erase_unused", "may_go"]


def erase_unreachable_blocks(root: Operation) -> int:
    """Erase the blocks that are unreachable from their region's entry; returns their number."""
    erased = 0
    work = [root]
    while work:
        op = work.pop()
        for region in op.regions:
            if len(region.blocks) > 1:
                erased += _erase_unreachable(region)
            work += [inner for block in region.blocks for inner in block.operations if inner.regions]
    return erased


def _erase_unreachable(region: Region) -> int:
    reachable = set(reverse_postorder(region))
    doomed = [block for block in region.blocks if block not in reachable]
    if not doomed:
        return 0
    # Unreachable blocks may use each other's values, in any order.
    for block in doomed:
        for op in block.operations:
            op.drop_all_references()
    region.blocks = [block for block in region.blocks if block in reachable]
    for block in doomed:
        block.parent = None
        for op in list(block.operations):
            op.detach()
    return len(doomed)


class _Marker:
    """Marks the live ops and arguments inside `root`."""

    def __init__(self, root: Operation) -> None:
        self.root = root
        self.ops: set[Operation] = {root}
        self.arguments: set[BlockArgument] = set()
        self.work: list[Operation | BlockArgument] = [root]
        self.incoming: dict[Region, dict[Block, list[tuple[Operation, int]]]] = {}
        # Terminators nested in the op that they end, such as a `break` in a loop.
        self.leaving: dict[Operation, list[Operation]] = {}

    def run(self) -> None:
        for op in self.root.walk():
            if not may_go(op):
                self.mark(op)
            for trait in op.traits:
                if isinstance(trait, Leaves):
                    self.leaving.setdefault(self.stops_at(op, trait), []).append(op)
        while self.work:
            item = self.work.pop()
            if isinstance(item, BlockArgument):
                self.argument_is_live(item)
            else:
                self.op_is_live(item)

    def stops_at(self, op: Operation, trait: Leaves) -> Operation:
        """The op that a terminator refers to: the first enclosing op that it does not end."""
        parent = op.parent_op
        while parent is not None and parent is not self.root and parent.name in trait.names:
            parent = parent.parent_op
        return parent or self.root

    def mark(self, op: Operation) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self.work.append(op)

    def mark_value(self, value: Value) -> None:
        if isinstance(value, OpResult):
            self.mark(value.op)
        elif isinstance(value, BlockArgument) and value not in self.arguments:
            self.arguments.add(value)
            self.work.append(value)

    def op_is_live(self, op: Operation) -> None:
        parent = op.parent_op
        if parent is not None and op is not self.root:
            self.mark(parent)
        for region in op.regions:
            for block in region.blocks:
                if block.last_op is not None and block.last_op.has_trait(Terminator):
                    self.mark(block.last_op)
        for terminator in self.leaving.get(op, ()):
            self.mark(terminator)
        forwarded = _forwarded(op)
        for use in op.op_operands:
            if use.index not in forwarded:
                self.mark_value(use.value)

    def argument_is_live(self, argument: BlockArgument) -> None:
        region = argument.block.parent
        if region is None or argument.block is region.entry:
            return
        for terminator, position in self.branches_to(region).get(argument.block, ()):
            operands = _branch_operands(terminator, position)
            if operands is not None:
                self.mark_value(operands[argument.index])

    def branches_to(self, region: Region) -> dict[Block, list[tuple[Operation, int]]]:
        known = self.incoming.get(region)
        if known is None:
            known = self.incoming[region] = {}
            for block in region.blocks:
                last = block.last_op
                for position, successor in enumerate(last.successors if last is not None else ()):
                    assert last is not None
                    known.setdefault(successor, []).append((last, position))
        return known


def may_go(op: Operation) -> bool:
    """True if the op is live only because of its results; a terminator is live if the op that it refers to is."""
    if op.has_trait(Terminator):
        return True
    effects = op.effects()
    return effects is not None and not is_needed(op, effects.kinds)


def _branch_operands(op: Operation, position: int) -> list[Value] | None:
    """The operands that a branch passes to its successor; None if unknown."""
    return list(op.branch_operands(position)) if isinstance(op, BranchLike) else None


def _forwarded(op: Operation) -> frozenset[int]:
    """Indices of the operands that a branch only forwards to block arguments."""
    if not op.successors or not isinstance(op, BranchLike):
        return frozenset()
    # Operands of successors are at the end, in the order of the successors (MLIR's BranchOpInterface).
    count = sum(len(_branch_operands(op, i) or ()) for i in range(len(op.successors)))
    return frozenset(range(len(op.op_operands) - count, len(op.op_operands)))


def erase_unused(*ops: Operation | None) -> None:
    """Erase ops if nothing needs them, and then the ops of their operands."""
    work = [*ops]
    while work:
        unused = work.pop()
        if unused is not None and unused.parent is not None and is_trivially_dead(unused):
            work += [operand.defining_op for operand in unused.operands]
            unused.erase()


def erase_dead(root: Operation) -> Counter[str]:
    """Erase the dead ops and block arguments inside `root`; returns their numbers ("ops", "arguments")."""
    marker = _Marker(root)
    marker.run()
    erased: Counter[str] = Counter()
    dead_arguments: list[BlockArgument] = []
    dead_ops: list[Operation] = []
    work = [root]
    while work:
        op = work.pop()
        for region in op.regions:
            for number, block in enumerate(region.blocks):
                if number:
                    dead_arguments += [a for a in block.arguments if a not in marker.arguments]
                for inner in block.operations:
                    if inner not in marker.ops:
                        dead_ops.append(inner)
                    elif inner.regions:
                        work.append(inner)
    for op in dead_ops:
        op.drop_all_references()
    # Arguments may be passed to each other in circles: no branch passes any of them before the first is erased.
    droppable = _droppable(dead_arguments, marker)
    dropped = [argument for argument in reversed(dead_arguments) if argument in droppable]
    for argument in dropped:
        for terminator, position in _incoming(argument, marker):
            operands = _branch_operands(terminator, position) or []
            del operands[argument.index]
            terminator.set_branch_operands(position, operands)  # type: ignore[attr-defined]
    for argument in dropped:
        argument.block.erase_argument(argument.index)
    for op in dead_ops:
        op.detach()
    erased["ops"] += len(dead_ops)
    erased["arguments"] += len(dropped)
    return erased


def _incoming(argument: BlockArgument, marker: _Marker) -> list[tuple[Operation, int]]:
    """The branches to an argument's block, each with the number of the successor."""
    assert argument.block.parent is not None
    return marker.branches_to(argument.block.parent).get(argument.block, [])


def _droppable(arguments: Sequence[BlockArgument], marker: _Marker) -> set[BlockArgument]:
    """The dead arguments that every branch can cease to pass, and that are passed to no argument that remains."""
    found = {
        argument
        for argument in arguments
        if all(_branch_operands(*branch) is not None for branch in _incoming(argument, marker))
    }
    while True:
        passed = {
            value
            for region in {argument.block.parent for argument in found}
            if region is not None
            for block, branches in marker.branches_to(region).items()
            for terminator, position in branches
            for target, value in zip(
                reversed(block.arguments),
                reversed(_branch_operands(terminator, position) or []),
                strict=False,
            )
            if target not in found
        }
        kept = {a for a in found if a not in passed and not _is_read(a, marker)}
        if kept == found:
            return found
        found = kept


def _is_read(argument: BlockArgument, marker: _Marker) -> bool:
    """True if a live op does more with an argument than pass it on."""
    return any(use.owner in marker.ops and use.index not in _forwarded(use.owner) for use in argument.uses)
