"""Interference of fragments in a `tile` program: fragments that are live at once with different values.

                                    live after it
    tile.fill %a, %zero             a
    scf.for … {                     a            read in the body before it is written: live around the loop
      %b = tile.add %a, %a          b            %a is not read again before it is written: %a and %b can be merged
      tile.copy %b, %a              a
    }
    tile.store_global %a, %D        –

Live ranges are from each write to the reads that it reaches, not from the first to the last use (liveness.py).  A
fragment that is used by ops of other dialects is `pinned`: nothing is known about it.
"""

from __future__ import annotations

from tessera_tools.analysis.fragments import is_fragment
from tessera_tools.dialects import scf, tile
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.effects import UNNEEDED, Resource, accesses
from tessera_tools.passes.tile.liveness import Liveness
from tessera_tools.passes.tile.lowering import writes_of


def given(op: Operation) -> list[Value]:
    """The fragments that an op defines or modifies, if it has no other effects; otherwise empty."""
    effects = op.effects()
    if effects is None or any(
        effect.kind not in UNNEEDED and effect.resource is not Resource.REGISTERS
        for effect, _ in accesses(op)
    ):
        return []
    return [*(v for v in op.results if is_fragment(v)), *writes_of(op)]


def _may_write(op: Operation) -> list[Value]:
    """The fragments that an op may modify."""
    if isinstance(op, tile.AllocRegister):
        return []
    if op.effects() is None and not op.regions:
        return [v for v in (*op.operands, *op.results) if is_fragment(v)]
    return [*(v for v in op.results if is_fragment(v)), *writes_of(op)]


def pinned(function: Operation) -> set[Value]:
    """The fragments that are used by ops other than those of the dialect and scf loops and branches."""
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
    """The pairs of fragments of which one is written while the other is live.  A copy does not make its operands
    interfere, because they are equal after it."""
    found: set[frozenset[Value]] = set()
    for op, live in liveness.after.items():
        source = op.operand(0) if isinstance(op, tile.Copy) else None
        for value in _may_write(op):
            found.update(frozenset((value, v)) for v in live if v is not value and v is not source)
    return found


def dominates(value: Value, op: Operation) -> bool:
    """True if a value is defined before an op, in its block or an enclosing one."""
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
