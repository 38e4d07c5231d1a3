"""tile-register-coalescing: merges fragments, removes copies of them, and vectorizes accesses to global memory.

    tile.copy %a, %b                 removed, if %a and %b do not interfere
    tile.fill %x, …                  removed, if %x is not read before it is written again
    %0 = tile.load_global %A[%i]     %v = tile.load_global_vector %A[%i] {vector_width = 2}
    %1 = tile.load_global %A[%i+1]   %0 = vector.extract %v[0]; %1 = vector.extract %v[1]

The pass does not change results, including rounding: the set of products that are fused with their accumulation does
not change.  It does not change the distribution either: an op that determines a fragment's tile is kept.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.fragments import Fragments, fragments_of, is_fragment
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import func, tile
from tessera_tools.dialects.tile.collectives import Collective
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tile.compute import fused_accumulate
from tessera_tools.passes.tile.interference import dominates, given, interferences, pinned
from tessera_tools.passes.tile.liveness import Liveness, written_whole
from tessera_tools.passes.tile.vector_accesses import vectorize


class TileRegisterCoalescing(Pass):
    """Coalesce fragments, remove dead ones, and vectorize accesses of `tile` programs."""

    name: ClassVar = "tile-register-coalescing"
    summary: ClassVar = "merge and remove fragments of the tile dialect, and vectorize its global accesses"
    ensures: ClassVar = "no redundant copy between fragments, and no fragment that is never read"
    statistics: ClassVar = {
        "copies": "copies of fragments removed",
        "dead": "ops removed because their fragment is never read",
        "vectors": "vector accesses formed from scalar accesses",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in [f for f in op.walk() if isinstance(f, func.Func)]:
            if len(function.body.blocks) != 1:
                continue
            while _merge_one(function, context) or _remove_one(function, context):
                changed = True
            vectors = vectorize(function)
            context.count("vectors", vectors)
            changed |= vectors > 0
        return changed


# -- copies


def _merge_one(function: func.Func, context: PassContext) -> bool:
    """Merge the two fragments of a copy; returns true if there was such a copy."""
    copies = [op for op in function.walk() if isinstance(op, tile.Copy) and is_fragment(op.dest)]
    if not copies:
        return False
    fixed = pinned(function)
    apart = interferences(Liveness(function))
    for copy in copies:
        source, dest = copy.source, copy.dest
        if source is dest:
            copy.erase()
            context.count("copies")
            return True
        if frozenset((source, dest)) in apart or source in fixed or dest in fixed:
            continue
        for keep, drop in ((source, dest), (dest, source)):
            if _may_replace(keep, drop, copy) and _replace(function, keep, drop):
                alloc, maker = drop.defining_op, keep.defining_op
                assert alloc is not None
                together = isinstance(maker, tile.AllocRegister) and maker.parent is alloc.parent
                if maker is not None and together and alloc.is_before_in_block(maker):
                    maker.move_before(alloc)
                alloc.erase()
                context.count("copies")
                return True
    return False


def _may_replace(keep: Value, drop: Value, copy: Operation) -> bool:
    """True if a fragment may replace another: the other is an allocation without initial value, and the first one
    dominates all its uses."""
    alloc, maker = drop.defining_op, keep.defining_op
    if not isinstance(alloc, tile.AllocRegister):
        return False
    if alloc.attributes and alloc.attributes != (maker.attributes if maker is not None else {}):
        return False
    if isinstance(maker, tile.AllocRegister) and maker.parent is alloc.parent:
        return True
    return all(user is copy or dominates(keep, user) for user in drop.users)


def _replace(function: Operation, keep: Value, drop: Value) -> bool:
    """Replace one fragment by the other, and remove the copies between them, unless rounding would change."""
    before = _fused(function)
    uses = [(use.owner, use.index) for use in drop.uses]
    for owner, index in uses:
        owner.set_operand(index, keep)
    removed: list[tuple[Operation, Block, Operation | None]] = []
    for op in list(dict.fromkeys(keep.users)):
        if isinstance(op, tile.Copy) and op.source is op.dest:
            assert op.parent is not None
            removed.append((op, op.parent, op.next_op))
            op.detach()
            op.drop_all_references()
    if _fused(function) == before:
        return True
    for op, block, following in reversed(removed):
        op.set_operands([keep, keep])
        block.insert_before(following, op)
    for owner, index in uses:
        owner.set_operand(index, drop)
    return False


def _fused(function: Operation) -> set[tuple[Operation, Operation]]:
    """The accumulators that the conversion to nv_tileas fuses with products."""
    products = (op for op in function.walk() if isinstance(op, Product))
    return {(op, into) for op in products if (into := fused_accumulate(op)) is not None}


# -- dead fragments


def _remove_one(function: func.Func, context: PassContext) -> bool:
    """Remove one op whose fragment is never read; returns true if there was one."""
    liveness: Liveness | None = None
    fixed = pinned(function)
    for op in function.walk(reverse=True, post_order=True):
        if isinstance(op, tile.AllocRegister):
            if not op.res.has_uses:
                op.erase()
                context.count("dead")
                return True
            continue
        if op.regions or not op.name.startswith("tile.") or isinstance(op, Collective):
            continue
        targets = given(op)
        if not targets or any(v.has_uses for v in op.results):
            continue
        liveness = liveness or Liveness(function)
        if any(v in liveness.after[op] or v in fixed for v in targets):
            continue
        if all(_is_written_elsewhere(op, v) for v in written_whole(op) if v not in op.results) and _take(
            function, op
        ):
            context.count("dead")
            return True
    return False


def _is_written_elsewhere(op: Operation, value: Value) -> bool:
    """True if a fragment is written before each loop and branch after an op that writes it: the conversion carries it
    through them, and needs an initial value."""
    return all(user.parent is op.parent or not _follows(user, op) for user in value.users)


def _follows(user: Operation, op: Operation) -> bool:
    """True if an op is nested in one after another op."""
    place: Operation | None = user
    while place is not None and place.parent is not op.parent:
        place = place.parent_op
    return place is not None and op.is_before_in_block(place)


def _take(function: Operation, op: Operation) -> bool:
    """Remove an op unless it determines the distribution of the program, or the rounding of a product."""
    before, sums = _distribution(function), _fused(function)
    operands, block, following = list(op.operands), op.parent, op.next_op
    assert block is not None
    op.detach()
    op.drop_all_references()
    gone = {*op.results}
    after = _distribution(function)
    same = before is None or (
        after is not None
        and after.threads == before.threads
        and all(after.shapes.get(v) == s for v, s in before.shapes.items() if v not in gone)
    )
    if same and _fused(function) == {pair for pair in sums if op not in pair}:
        return True
    op.set_operands(operands)
    block.insert_before(following, op)
    return False


def _distribution(function: Operation) -> Fragments | None:
    """The tiles of the fragments, and the number of threads; None if they cannot be inferred."""
    try:
        return fragments_of(function)
    except DiagnosticError:
        return None
