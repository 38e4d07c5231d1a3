"""`cse`: eliminate common subexpressions.

    %0 = arith.addi %a, %b          %0 = arith.addi %a, %b
    %1 = arith.addi %b, %a    ──▶
    use(%1)                         use(%0)

An op is replaced by an equal one that dominates it.  An op that only reads memory is replaced by an equal read in the
same block without a write in between.  The time is linear in the size of the IR: known ops are in one dictionary, and
the entries of a block are removed after the blocks that it dominates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

from tessera_tools.ir.core import Block, Operation, Region
from tessera_tools.ir.dominance import DominanceInfo, is_graph_region, reverse_postorder
from tessera_tools.ir.effects import EffectsOf, Kind, Kinds, is_needed
from tessera_tools.ir.op_keys import op_key
from tessera_tools.ir.traits import IsolatedFromAbove, Terminator
from tessera_tools.passes.base import Pass, PassContext

_READS = frozenset((Kind.READ,))


class CSE(Pass):
    """Common subexpression elimination, with MLIR's rules."""

    name = "cse"
    title = "CSE"
    summary = "eliminate common subexpressions"
    ensures = "no operation without effects is dominated by an equal one"
    statistics: ClassVar[Mapping[str, str]] = {
        "num-cse'd": "Number of operations CSE'd",
        "num-dce'd": "Number of operations DCE'd",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        work = _Work()
        work.regions(op, _Known())
        context.count("num-cse'd", work.merged)
        context.count("num-dce'd", work.dead)
        return work.changed


class _Known:
    """Known ops of the open scopes: one dictionary, and the entries that each scope replaced."""

    __slots__ = ("_entries", "_scopes")

    def __init__(self) -> None:
        self._entries: dict[Hashable, tuple[Operation, Block, int]] = {}
        self._scopes: list[list[tuple[Hashable, tuple[Operation, Block, int] | None]]] = []

    def enter(self) -> None:
        """Begin a scope."""
        self._scopes.append([])

    def leave(self) -> None:
        """Remove the entries of the current scope."""
        for key, older in reversed(self._scopes.pop()):
            if older is None:
                del self._entries[key]
            else:
                self._entries[key] = older

    def find(self, key: Hashable) -> tuple[Operation, Block, int] | None:
        """The op with that key, its block, and the number of writes before it in the block."""
        return self._entries.get(key)

    def add(self, key: Hashable, op: Operation, block: Block, writes: int) -> None:
        """Add an op until its scope ends."""
        self._scopes[-1].append((key, self._entries.get(key)))
        self._entries[key] = (op, block, writes)


class _Work:
    def __init__(self) -> None:
        self.merged = 0
        self.dead = 0
        self.changed = False
        self.dominance = DominanceInfo()
        self.effects_of = EffectsOf()
        self.compared: set[Operation] = set()

    def regions(self, op: Operation, known: _Known) -> None:
        inner = _Known() if op.has_trait(IsolatedFromAbove) else known
        for region in op.regions:
            self.region(region, inner)

    def region(self, region: Region, known: _Known) -> None:
        if not region.blocks:
            return
        graph = is_graph_region(region)
        children: dict[Block, list[Block]] = {}
        if len(region.blocks) > 1:
            for block in reverse_postorder(region):
                dominator = self.dominance.immediate_dominator(block)
                if dominator is not None:
                    children.setdefault(dominator, []).append(block)
        # A block sees the ops of its dominators: walk the dominator tree, with a scope for each block.
        work: list[Block | None] = [region.blocks[0]]
        while work:
            block = work.pop()
            if block is None:
                known.leave()
                continue
            known.enter()
            self.block(block, known, graph)
            work.append(None)
            work += reversed(children.get(block, ()))

    def block(self, block: Block, known: _Known, graph: bool) -> None:
        # The number of possible writes so far; equal reads are merged if the number is the same.
        writes = 0
        for op in block.operations:
            if op.regions:
                self.regions(op, known)
            effects = self.effects_of(op)
            if not self.operation(op, effects, known, writes, graph):
                if effects is None:
                    writes += not op.has_trait(Terminator)
                elif not effects <= _READS:
                    writes += 1

    def operation(self, op: Operation, effects: Kinds, known: _Known, writes: int, graph: bool) -> bool:
        """Erase `op` if it is dead or known; returns true if it was erased."""
        if effects is None or is_needed(op, effects):
            return False
        if not any(r.has_uses for r in op.results):
            self.erase(op)
            self.dead += 1
            return True
        if not effects <= _READS or not op.results:
            return False
        key = op_key(op)
        if key is None:
            return False
        found = known.find(key)
        if found is not None:
            older, block, count = found
            if not effects or (block is op.parent and count == writes):
                return self.replace(op, older, graph)
        assert op.parent is not None
        known.add(key, op, op.parent, writes)
        if graph:
            self.compared.add(op)
        return False

    def replace(self, op: Operation, older: Operation, graph: bool) -> bool:
        self.changed = True
        for old, new in zip(op.results, older.results, strict=True):
            # In a graph region, users may come first; the operands of those that later ops are compared with stay.
            old.replace_all_uses_with(new, (lambda use: use.owner in self.compared) if graph else None)
            if new.name_hint is None:
                new.name_hint = old.name_hint
        if any(r.has_uses for r in op.results):
            return False
        self.erase(op)
        self.merged += 1
        return True

    def erase(self, op: Operation) -> None:
        self.changed = True
        self.effects_of.forget(op)
        op.erase()
