"""`loop-invariant-code-motion`: hoist loop-invariant operations out of loops.

    scf.for … {                          %c = arith.muli %a, %b
      %c = arith.muli %a, %b      ──▶    scf.for … {
      use(%c)                              use(%c)
    }                                    }

Only speculatable operations without effects are moved, because the loop may not execute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.ir.core import Operation, Region, Value
from tessera_tools.ir.effects import ends
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import Terminator
from tessera_tools.passes.base import Pass, PassContext

_LARGEST = 4096
"""Ops with more nested operations than this are not moved: examining nested regions repeatedly would be quadratic."""


class LoopInvariantCodeMotion(Pass):
    """Hoist invariant operations, inner loops first, so that they may be hoisted out of several loops."""

    name = "loop-invariant-code-motion"
    title = "LoopInvariantCodeMotion"
    summary = "hoist loop-invariant operations out of loops"
    ensures = "no speculatable operation in a loop has only operands from outside the loop"
    statistics: ClassVar[Mapping[str, str]] = {"num-hoisted": "Number of operations moved out of a loop"}

    def run(self, op: Operation, context: PassContext) -> bool:
        loops = [inner for inner in op.walk(post_order=True) if isinstance(inner, LoopLike)]
        moved = sum(_hoist(loop) for loop in loops if loop.parent is not None)
        context.count("num-hoisted", moved)
        return moved > 0


def _hoist(loop: Operation) -> int:
    moved = 0
    for region in [loop.loop_body] if isinstance(loop, LoopLike) else []:
        # A worklist, because moving an op may make its users invariant.
        work = [op for block in region.blocks for op in block.operations]
        work.reverse()
        queued = set(work)
        while work:
            op = work.pop()
            queued.discard(op)
            if op.parent is None or op.parent.parent is not region or not _may_move(op, region):
                continue
            op.move_before(loop)
            moved += 1
            for result in op.results:
                for user in result.users:
                    if user not in queued and user.parent is not None and user.parent.parent is region:
                        queued.add(user)
                        work.append(user)
    return moved


def _may_move(op: Operation, region: Region) -> bool:
    if op.has_trait(Terminator) or not _is_harmless(op):
        return False
    if not all(_is_outside(value, region) for value in op.operands):
        return False
    return all(
        _is_outside(value, region) or _is_inside(value, op)
        for inner in (op.walk() if op.regions else ())
        for value in inner.operands
    )


def _is_harmless(op: Operation) -> bool:
    """True if the op has no effect and is speculatable.

    A loop is not, because it may not terminate; all nested ops must be, too.
    """
    work = [op]
    for count, current in enumerate(work):
        if count > _LARGEST:
            return False
        if not current.is_speculatable() or isinstance(current, LoopLike):
            return False
        for region in current.regions:
            for block in region.blocks:
                for inner in block:
                    if not inner.has_trait(Terminator):
                        work.append(inner)
                    elif inner.successors or ends(inner, op):
                        return False
    return True


def _is_outside(value: Value, region: Region) -> bool:
    block = value.owner_block
    return block is not None and block.parent is not None and not region.is_ancestor_of(block.parent)


def _is_inside(value: Value, op: Operation) -> bool:
    block = value.owner_block
    return block is not None and op.is_ancestor_of(block.parent_op)
