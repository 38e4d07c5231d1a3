"""Host functions without in-place modification: each op returns a new tensor.

tile.accumulate %d, %u        ─▶  %d1 = tile.add %d, %u                        later ops use %d1
tile.scale_tensor %d, %x      ─▶  %d1 = tile.apply "arith.mulf"(%d, %x)
tile.scale_accumulator %d, %r ─▶  %d1 = tile.mul_broadcast %d, %r
tile.copy %s, %d              ─▶                                               later ops use %s
"""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects import func, tile
from tessera_tools.ir.builtin_attributes import StringAttr
from tessera_tools.ir.core import BlockArgument, Builder, Operation, Value
from tessera_tools.ir.types import FloatType

__all__ = ["CHANGES", "as_values", "replace_after"]


CHANGES = (tile.Accumulate, tile.ScaleTensor, tile.BroadcastScale, tile.ScaleAccumulator, tile.Copy)
"""In-place ops, and the equivalent ops that return a new tensor."""


def as_values(function: func.Func) -> None:
    """Replace the in-place ops of a straight-line function, except those on arguments, which belong to
    the caller."""
    if len(function.body.blocks) != 1:
        return
    for op in list(function.body.entry):
        if not isinstance(op, CHANGES):
            continue
        if isinstance(op.dest, BlockArgument):
            continue
        new = _new_value(op)
        replace_after(op, op.dest, new)
        if new.name_hint is None:
            new.name_hint = op.dest.name_hint
        op.erase()


def replace_after(op: Operation, old: Value, new: Value) -> None:
    """Replace a value in the ops after `op`."""
    old.replace_all_uses_with(new, lambda use: not op.is_before_in_block(use.owner))


def _new_value(op: Any) -> Value:
    if isinstance(op, tile.Copy):
        return op.source
    before = Builder.before(op)
    before.location = op.location
    made: Any
    if isinstance(op, tile.Accumulate):
        made = tile.ElementAdd(op.dest, op.update, res=op.dest.type)
    elif isinstance(op, tile.ScaleAccumulator):
        made = tile.MulBroadcast(op.dest, op.factors, res=op.dest.type)
    else:
        word = "mulf" if isinstance(op.dest.type.element, FloatType) else "muli"
        made = tile.Apply(StringAttr(f"arith.{word}"), [op.dest, op.factor], res=op.dest.type)
    return before.insert(made).results[0]
