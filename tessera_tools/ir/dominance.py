"""Dominance: which values are always defined when an operation runs.

Within a region, block A dominates block B if every path from the entry to B goes through A.  A value properly
dominates an operation if its definition does, or if the operation is nested in an operation that the
definition dominates.  In a graph region everything dominates everything.

The tree is computed by the iterative algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm"),
on demand and once per region; blocks are then numbered in a walk over the tree, so that a query costs O(1).
"""

from __future__ import annotations

from tessera_tools.ir.core import Block, BlockArgument, Operation, OpResult, Region, UnregisteredOp, Value
from tessera_tools.ir.traits import GraphRegion

GRAPH_REGION_OPS = frozenset({"builtin.module", "gpu.module"})
"""Ops whose regions upstream declares as graph regions, besides those with the trait `GraphRegion`."""


def is_graph_region(region: Region) -> bool:
    """True if uses in the region may come before definitions.

    Nothing is known about the regions of an unregistered op, so no order is required (as upstream).
    """
    op = region.parent
    if op is None:
        return False
    return isinstance(op, UnregisteredOp) or op.name in GRAPH_REGION_OPS or op.has_trait(GraphRegion)


class _Tree:
    """The dominator tree of one region's reachable blocks: block ↦ (number on entry, number on exit)."""

    __slots__ = ("idom", "interval")

    def __init__(self, region: Region) -> None:
        order = reverse_postorder(region)
        number = {block: i for i, block in enumerate(order)}
        preds: list[list[int]] = [[] for _ in order]
        for i, block in enumerate(order):
            for successor in block.successors:
                if successor in number:
                    preds[number[successor]].append(i)
        idom = _immediate_dominators(preds)
        children: list[list[int]] = [[] for _ in order]
        for i in range(1, len(order)):
            children[idom[i]].append(i)
        self.idom: dict[Block, Block | None] = {b: order[idom[i]] if i else None for i, b in enumerate(order)}
        self.interval: dict[Block, tuple[int, int]] = {}
        self._number_tree(order, children)

    def _number_tree(self, order: list[Block], children: list[list[int]]) -> None:
        clock = 0
        entered: dict[int, int] = {}
        stack = [0] if order else []
        while stack:
            i = stack[-1]
            if i not in entered:
                entered[i] = clock
                stack.extend(children[i])
            else:
                stack.pop()
                self.interval[order[i]] = (entered[i], clock)
            clock += 1

    def dominates(self, a: Block, b: Block) -> bool:
        inner = self.interval.get(b)
        if inner is None:
            # Everything is valid in an unreachable block.
            return True
        outer = self.interval.get(a)
        return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def reverse_postorder(region: Region) -> list[Block]:
    """The blocks reachable from the entry, each before its successors except along back edges."""
    if not region.blocks:
        return []
    entry = region.blocks[0]
    seen = {entry}
    out: list[Block] = []
    stack = [(entry, iter(entry.successors))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen and s.parent is region), None)
        if following is None:
            out.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(following.successors)))
    out.reverse()
    return out


def unreachable_blocks(root: Operation) -> set[Block]:
    """The blocks inside `root` that are unreachable from the entry of their region, and all blocks nested in those."""
    found: set[Block] = set()
    work = [(root, False)]
    while work:
        op, lost = work.pop()
        for region in op.regions:
            reachable = (
                set() if lost else set(reverse_postorder(region) if len(region.blocks) > 1 else region.blocks)
            )
            for block in region.blocks:
                if block not in reachable:
                    found.add(block)
                work += [(inner, block not in reachable) for inner in block.operations if inner.regions]
    return found


def _immediate_dominators(preds: list[list[int]]) -> list[int]:
    """Immediate dominators of blocks 0, 1, … given in reverse postorder; block 0's is itself."""
    idom = [-1] * len(preds)
    if preds:
        idom[0] = 0
    changed = True
    while changed:
        changed = False
        for i in range(1, len(preds)):
            best = -1
            # In reverse: if the blocks of a chain all branch to one block, each is then one step from the next.
            for p in reversed(preds[i]):
                if idom[p] < 0:
                    continue
                a, best = (p, p) if best < 0 else (p, best)
                while a != best:
                    if a > best:
                        a = idom[a]
                    else:
                        best = idom[best]
            if best != idom[i]:
                idom[i] = best
                changed = True
    return idom


class DominanceInfo:
    """Answers dominance queries; caches the trees until `invalidate` (not needed when ops are added or removed)."""

    def __init__(self) -> None:
        self._trees: dict[Region, _Tree] = {}

    def invalidate(self, region: Region | None = None) -> None:
        """Discard the tree of a region whose blocks or branches changed, or all trees."""
        if region is None:
            self._trees.clear()
        else:
            self._trees.pop(region, None)

    def _tree(self, region: Region) -> _Tree:
        tree = self._trees.get(region)
        if tree is None:
            tree = self._trees[region] = _Tree(region)
        return tree

    def is_reachable(self, block: Block) -> bool:
        """True if the block is reachable from the region's entry."""
        region = block.parent
        return region is None or block is region.blocks[0] or block in self._tree(region).interval

    def immediate_dominator(self, block: Block) -> Block | None:
        """The nearest block that properly dominates `block`; None for the entry and for unreachable blocks."""
        return self._tree(block.parent).idom.get(block) if block.parent is not None else None

    def block_dominates(self, a: Block, b: Block) -> bool:
        """True if `a` dominates `b`, a block of the same region (a block dominates itself)."""
        if a is b:
            return True
        region = a.parent
        if region is None or region is not b.parent:
            return False
        return self._tree(region).dominates(a, b) or is_graph_region(region)

    def properly_dominates(self, definition: Value | Operation, op: Operation) -> bool:
        """True if a value (or operation) is defined before `op` wherever `op` runs.

        An operation does not properly dominate itself, and its results do not dominate the ops in its regions.
        """
        block = definition.parent if isinstance(definition, Operation) else definition.owner_block
        if block is None or block.parent is None:
            return block is not None and block is op.parent and self._before(definition, op)
        place = ancestor_in_region(op, block.parent)
        if place is None or place.parent is None:
            return False
        if place.parent is block:
            return self._before(definition, place) or is_graph_region(block.parent)
        return self.block_dominates(block, place.parent)

    @staticmethod
    def _before(definition: Value | Operation, op: Operation) -> bool:
        if isinstance(definition, BlockArgument):
            return True
        start = definition.op if isinstance(definition, OpResult) else definition
        return isinstance(start, Operation) and start is not op and start.is_before_in_block(op)


def ancestor_in_region(op: Operation, region: Region) -> Operation | None:
    """`op` or its ancestor that is directly in `region`; None if `op` is not nested in `region`."""
    current: Operation | None = op
    while current is not None and current.parent is not None:
        if current.parent.parent is region:
            return current
        current = current.parent_op
    return None
