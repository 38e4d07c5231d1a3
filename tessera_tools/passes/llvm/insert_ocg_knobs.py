"""tileas-insert-OCG-knobs: pragmas for OCG, the compiler behind ptxas, as inline assembly.

    .pragma "global knob SchedResBusyXU64=1";    at the entry of a function with products, on targets that have it
    .pragma "next knob FenceCode";               before each fence, mbarrier and cluster barrier

The assembly has side effects, so that nothing removes or moves it.  The releases of ptxas that the project knows report
the pragmas as unsupported and ignore them: the pass is in no pipeline.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import llvm
from tessera_tools.ir.builtin_attributes import UNIT, StringAttr
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.planning.kernel import target_of
from tessera_tools.target import Feature

BUSY = '.pragma "global knob SchedResBusyXU64=1";\n'
FENCE = '.pragma "next knob FenceCode";\n'
_PRODUCTS = ("nvvm.mma.sync", "nvvm.wgmma.mma_async", "nvvm.tcgen05.mma")
_PRODUCT_TEXTS = ("mma.sync", "wgmma.mma_async", "tcgen05.mma")
_FENCES = ("nvvm.fence.", "nvvm.mbarrier.", "nvvm.cp.async.mbarrier.", "nvvm.cluster.")


class InsertOCGKnobs(Pass):
    """Insert the pragmas."""

    name: ClassVar = "tileas-insert-OCG-knobs"
    summary: ClassVar = (
        "this pass emits OCG knobs as specific optimization hints for the backend OCG compiler"
    )
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "llvm and nvvm ops, in their final form"
    ensures: ClassVar = (
        "each fence and mbarrier op follows its pragma, each function with products has its own"
    )
    statistics: ClassVar = {"knobs": "pragmas inserted"}

    def run(self, op: Operation, context: PassContext) -> bool:
        functions = [f for f in op.walk() if isinstance(f, llvm.LLVMFunc) and f.body.blocks]
        if not functions:
            return False
        busy = target_of(op).has(Feature.KNOB_BUSY_XU64)
        before = context.counters["knobs"]
        for function in functions:
            if busy and any(_is_product(inner) for inner in function.walk()):
                first = function.body.entry.first_op
                assert first is not None
                _insert(first, BUSY, context)
            for inner in list(function.walk()):
                if inner.name.startswith(_FENCES):
                    _insert(inner, FENCE, context)
        return context.counters["knobs"] != before


def _is_product(op: Operation) -> bool:
    if isinstance(op, llvm.InlineAsm):
        return op.asm_string.value.startswith(_PRODUCT_TEXTS)
    return op.name.startswith(_PRODUCTS)


def _insert(op: Operation, text: str, context: PassContext) -> None:
    """Puts a pragma before an op, unless it is there."""
    last = op.prev_op
    if isinstance(last, llvm.InlineAsm) and last.asm_string.value == text:
        return
    if isinstance(op, llvm.InlineAsm) and op.asm_string.value == text:
        return
    made = llvm.InlineAsm([], StringAttr(text), StringAttr(""), UNIT, location=op.location)
    Builder.before(op).insert(made)
    context.count("knobs")
