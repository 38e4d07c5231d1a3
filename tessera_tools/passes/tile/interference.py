"""Which fragments of a `tile` program hold different values that are both still read, and so cannot be one.

                                    needed after it
    tile.fill %a, %zero             a
    scf.for … {                     a            what the body reads before it writes it is needed around the loop
      %b = tile.add %a, %a          b            %a is not read again before it is written: %a and %b may be one
      tile.copy %b, %a              a
    }
    tile.store_global %a, %D        –

What counts is not the stretch from a fragment's first to its last use, but from each write to the reads that it reaches
(liveness.py).  A fragment that ops of other dialects pass around is `pinned`: nothing is known of it.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.fragments import is_fragment
from tessera_tools.dialects import scf, tile
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.effects import UNNEEDED, Resource, accesses
from tessera_tools.passes.tile.liveness import Liveness
from tessera_tools.passes.tile.lowering import writes_of


def given(op: Operation) -> list[Value]:
    """The fragments that an op makes or changes, which is all that it does; empty for an op that does more."""
    effects = op.effects()
    if effects is None or any(
        effect.kind not in UNNEEDED and effect.resource is not Resource.REGISTERS
        for effect, _ in accesses(op)
    ):
        return []
    return [*(v for v in op.results if is_fragment(v)), *writes_of(op)]


def _may_write(op: Operation) -> list[Value]:
    """The fragments that an op may give another value."""
    if isinstance(op, tile.AllocRegister):
        return []
    if op.effects() is None and not op.regions:
        return [v for v in (*op.operands, *op.results) if is_fragment(v)]
    return [*(v for v in op.results if is_fragment(v)), *writes_of(op)]


def pinned(function: Any) -> set[Value]:
    """The fragments that something else than an op of the dialect, a loop or a branch of scf around it touches."""
    found: set[Value] = set()
    for op in function.walk():
        for block in (b for region in op.regions for b in region.blocks):
            found.update(v for v in block.arguments if is_fragment(v))
        if not op.name.startswith("tile.") and not op.name.endswith("return"):
            found.update(v for v in (*op.operands, *op.results) if is_fragment(v))
        if op.regions and not isinstance(op, scf.For | scf.If) and op is not function:
            found.update(v for inner in op.walk() for v in inner.operands if is_fragment(v))
    return found


def interferences(liveness: Liveness) -> set[frozenset[Value]]:
    """The pairs of fragments of which one is written where what the other holds is needed.  A copy alone makes no such
    pair of its two: they are equal then."""
    found: set[frozenset[Value]] = set()
    for op, live in liveness.after.items():
        source = op.operand(0) if isinstance(op, tile.Copy) else None
        for value in _may_write(op):
            found.update(frozenset((value, v)) for v in live if v is not value and v is not source)
    return found


def dominates(value: Value, op: Operation) -> bool:
    """True if a value is made before an op, in its block or in one around it."""
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
