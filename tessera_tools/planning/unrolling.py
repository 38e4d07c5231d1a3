"""Unroll factors of loops: `tessera.unroll_hint = n`, or upstream's `llvm.loop_annotation`.

    tessera.unroll_hint = 4                                            4 iterations per test
    llvm.loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>       the same
    llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>           all, if their number is known
    … <disable = true>, tessera.unroll_hint = 1                        none, by ptxas neither

The conversion to llvm unrolls loops (`passes/llvm/control.py`), so that the iterations share addresses.
"""

from __future__ import annotations

from tessera_tools.diagnostics import Remark, emit
from tessera_tools.dialects import scf
from tessera_tools.dialects.llvm.loops import LoopAnnotationAttr, LoopUnrollAttr
from tessera_tools.ir.builtin_attributes import TRUE, IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import bit_width

UNROLL_HINT = "tessera.unroll_hint"
"""Attribute of a loop: its unroll factor."""
LOOP_ANNOTATION = "llvm.loop_annotation"
MOST_COPIES = 1024
"""The maximum number of copies of a body."""
NOT_UNROLLED = LoopAnnotationAttr(unroll=LoopUnrollAttr(disable=TRUE))
"""`.pragma "nounroll"` for ptxas."""


def copies_of(op: scf.For) -> int | None:
    """Returns the number of iterations per test; None if not specified.  Reports an error for an invalid hint."""
    wanted = _requested(op)
    if wanted is None:
        return None
    trips = op.trip_count
    if wanted == 0 and trips is None:
        _ignored(op, "the loop cannot be fully unrolled: its trip count is not known")
        return None
    copies = max(1, trips) if trips is not None and (wanted == 0 or wanted > trips) else wanted
    if trips is None:
        copies = min(copies, (1 << bit_width(op.lower.type) - 1) - 1)  # a number of the counter's type
    if copies > MOST_COPIES:
        raise op.error(f"has an unroll factor of {copies}; expected at most {MOST_COPIES}")
    return copies


def _requested(op: scf.For) -> int | None:
    """Returns the requested factor: 0 for all iterations, 1 for no unrolling; None if the loop has no hint."""
    hint = op.attributes.get(UNROLL_HINT)
    if hint is not None:
        if not isinstance(hint, IntegerAttr) or hint.value < 1:
            raise op.error(f"has {UNROLL_HINT} = {hint}; expected a positive integer")
        return hint.value
    annotation = op.attributes.get(LOOP_ANNOTATION)
    if annotation is None:
        return None
    unroll = annotation.unroll if isinstance(annotation, LoopAnnotationAttr) else None
    if not isinstance(unroll, LoopUnrollAttr):
        _ignored(op, f"{LOOP_ANNOTATION} has no unroll options; other options are ignored")
        return None
    if unroll.disable is TRUE:
        return 1
    if isinstance(unroll.count, IntegerAttr) and unroll.count.value >= 1:
        return unroll.count.value
    return 0 if unroll.full is TRUE else None


def hint_ignored(op: Operation) -> None:
    """Emits a remark at a loop without a counter that has a hint."""
    if UNROLL_HINT in op.attributes or LOOP_ANNOTATION in op.attributes:
        _ignored(op, "the loop is not unrolled: it has no induction variable, or an iteration may end early")


def _ignored(op: Operation, why: str) -> None:
    remark = Remark("remark", op.location, f"{why}; it stays a loop")
    remark.source, remark.rule, remark.kind = "convert-tileas-to-llvm", "unroll", "failed"
    emit(remark)
