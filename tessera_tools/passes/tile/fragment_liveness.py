"""Which fragments of a `tile` program hold a value that is still read, after each op; which cannot share registers.

                                    live after it
    tile.fill %a, %zero             a
    scf.for … {                     a            what the body reads before it writes it is live around the loop
      %b = tile.add %a, %a          b            (a, b may share registers: a is not read again)
      tile.copy %b, %a              a
    }
    tile.store_global %a, %D        –

A fragment is a buffer, so what counts is not from its first to its last use, but from each write to the reads that it
reaches.  Loops and branches of scf are followed; a fragment that anything else touches is `pinned`: always live.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tessera_tools.analysis.fragments import is_fragment
from tessera_tools.dialects import scf, tile
from tessera_tools.ir.core import Block, BlockArgument, Operation, Value
from tessera_tools.ir.effects import own_effects
from tessera_tools.passes.tile.lowering import writes_of

_OVERWRITES = (tile.Fill, tile.MaskFill, tile.Copy, tile.LoadGlobalTile)
"""Ops in place that do not read what was there."""
_ONLY_READ = (tile.StoreGlobal,)
"""Ops that write somewhere else."""


def written(op: Operation) -> list[Value]:
    """The fragments that an op gives a value, or changes."""
    made = [] if isinstance(op, tile.AllocRegister) else [v for v in op.results if is_fragment(v)]
    changed = writes_of(op)
    if not changed and not isinstance(op, _ONLY_READ) and op.name.startswith("tile."):
        effects = own_effects(op)[0]
        if effects is None or "write" in effects:
            changed = [v for v in op.operands if is_fragment(v)]
    return [*made, *changed]


def overwritten(op: Operation) -> list[Value]:
    """The fragments whose value before an op is of no matter to it."""
    fresh = [v for v in op.results if is_fragment(v)]
    return [*fresh, *(writes_of(op) if isinstance(op, _OVERWRITES) else ())]


def read(op: Operation) -> list[Value]:
    """The fragments that an op reads."""
    kills = set(writes_of(op)) if isinstance(op, _OVERWRITES) else set()
    sources = [op.operand(0)] if isinstance(op, tile.Copy) else op.operands
    return [v for v in sources if is_fragment(v) and (v not in kills or isinstance(op, tile.Copy))]


class FragmentLiveness:
    """The liveness of the fragments of a function of one block.  Make a new one after a change."""

    def __init__(self, function: Any) -> None:
        self.after: dict[Operation, frozenset[Value]] = {}
        """The fragments whose value is read after an op, before it is written anew."""
        self.pinned: set[Value] = set()
        body: Block = function.body.entry
        for op in function.walk():
            self._pin(op)
        self._block(body, set(self.pinned))

    def _pin(self, op: Operation) -> None:
        """What is passed around other than by ops of the dialect."""
        for block in (b for region in op.regions for b in region.blocks):
            self.pinned.update(v for v in block.arguments if is_fragment(v))
        known = op.name.startswith("tile.") or op.name.endswith("return")
        if not known:
            self.pinned.update(v for v in (*op.operands, *op.results) if is_fragment(v))
        if op.regions and not isinstance(op, scf.For | scf.If) and not op.name.startswith("func."):
            self.pinned.update(v for inner in op.walk() for v in inner.operands if is_fragment(v))

    def _block(self, block: Block, live: set[Value]) -> set[Value]:
        for op in reversed(block):
            live = self._op(op, live)
        return live

    def _op(self, op: Any, out: set[Value]) -> set[Value]:
        self.after[op] = frozenset(out)
        if isinstance(op, scf.For):
            # What is live at the head of an iteration is so at the end of the one before.
            head = set(out)
            while True:
                found = out | self._block(op.body.entry, head)
                if found == head:
                    return head
                head = found
        if isinstance(op, scf.If):
            sides = [self._block(r.entry, set(out)) if r.blocks else set(out) for r in op.regions]
            return set().union(*sides)
        for region in op.regions:
            for block in region.blocks:
                self._block(block, set(self.pinned))
        return (out - set(overwritten(op)) | set(read(op))) | self.pinned

    def interferences(self) -> set[frozenset[Value]]:
        """The pairs of fragments that hold different values at one time: one is written where the other is live.  A
        copy alone makes no such pair of its two: they are equal then."""
        found: set[frozenset[Value]] = set()
        for op, live in self.after.items():
            for value in written(op):
                source = op.operand(0) if isinstance(op, tile.Copy) else None
                found.update(_pairs(value, (v for v in live if v is not value and v is not source)))
        return found


def _pairs(value: Value, others: Iterable[Value]) -> Iterable[frozenset[Value]]:
    return (frozenset((value, other)) for other in others)


def dominates(value: Value, op: Operation) -> bool:
    """Whether a value is made before an op, in its block or in one around it."""
    block = value.block if isinstance(value, BlockArgument) else None
    maker = value.defining_op
    place: Operation | None = op
    while place is not None:
        if block is not None and place.parent is block:
            return True
        if maker is not None and place.parent is maker.parent:
            return maker.is_before_in_block(place)
        place = place.parent_op
    return False
