"""Liveness and register pressure of the fragments of a `tile` program.

    tile.fill %a            after: a
    scf.for {               a is live before the loop, and around it
      %s = tile.mma …       a, s
      tile.accumulate %a, %s
    }
    tile.store_global %a    before: a; after: nothing

A fragment is a variable: an op that writes all of it starts a new live range.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tessera_tools.analysis.fragments import is_fragment
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import func, scf, tile
from tessera_tools.dialects.tile.compute import Product, RowReduction
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.effects import Kind, Reach
from tessera_tools.ir.types import MemRefType
from tessera_tools.passes.tile.compute import fused_accumulate
from tessera_tools.passes.tile.lowering import fragment_accesses

Live = frozenset[Value]
_NONE: Live = frozenset()


def registers(value: Value) -> int:
    """The number of 32-bit registers of a fragment in a thread."""
    type = value.type_as(MemRefType)
    return -(-prod(type.shape) * storage_bits(type.element) // 32)


def written_whole(op: Operation) -> list[Value]:
    """The fragments that an op overwrites completely: its results, and operands that it writes without reading."""
    return [*(v for v in op.results if is_fragment(v)), *_overwritten(op)]


def read(op: Operation) -> list[Value]:
    """The fragments that an op reads."""
    overwritten = {id(v) for v in _overwritten(op)}
    return [v for v in op.operands if is_fragment(v) and id(v) not in overwritten]


def _overwritten(op: Operation) -> list[Value]:
    found = fragment_accesses(op)
    # Writes at an index by thread do not overwrite the whole fragment.
    kept = {id(v) for effect, v in found if effect.kind is Kind.READ or effect.reach is Reach.BY_THREAD}
    return [v for effect, v in found if effect.kind is Kind.WRITE and id(v) not in kept]


class Liveness:
    """The live fragments of a function before and after each op."""

    def __init__(self, function: func.Func) -> None:
        self.before: dict[Operation, Live] = {}
        self.after: dict[Operation, Live] = {}
        self._block(function.body.entry, _NONE)

    def _block(self, block: Block, live: Live) -> Live:
        for op in reversed(list(block)):
            self.after[op] = live
            if isinstance(op, scf.For):
                live = self._loop(op, live)
            elif op.regions:
                ends = [self._block(r.blocks[0], live) for r in op.regions if r.blocks]
                live = (live if len(ends) < 2 else _NONE).union(*ends)
            else:
                live = (live - frozenset(written_whole(op))) | frozenset(read(op))
            self.before[op] = live
        return live

    def _loop(self, op: scf.For, after: Live) -> Live:
        head = after
        while True:
            grown = head | self._block(op.body.entry, head)
            if grown == head:
                return head
            head = grown

    def pressure(self, op: Operation) -> int:
        """The number of live fragment registers during an op.  An elementwise op frees the registers of its operands
        incrementally; a product that only accumulates to a fragment has no result registers."""
        before, after = self.before[op], self.after[op]
        if isinstance(op, Product | RowReduction) or op.regions:
            made = frozenset(v for v in op.results if is_fragment(v))
            return self._held(before | made | (after if not op.regions else _NONE))
        return max(self._held(before), self._held(after | frozenset(written_whole(op))))

    def _held(self, values: Iterable[Value]) -> int:
        return sum(registers(v) for v in values if not _is_folded(v))


def _is_folded(value: Value) -> bool:
    """True if a fragment is never materialized as a whole: a product is accumulated directly, or a reload is used
    immediately, element by element."""
    op = value.defining_op
    if isinstance(op, tile.Reload):
        following = op.next_op
        again = following.next_op if following is not None else None
        at_once = {following, again} if isinstance(again, tile.Spill) else {following}
        by_element = not isinstance(following, Product | RowReduction) and not (
            following is not None and following.regions
        )
        return by_element and set(value.users) <= at_once
    return isinstance(op, Product) and fused_accumulate(op) is not None
