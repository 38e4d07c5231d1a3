"""The pass `--toy-expand`."""

from __future__ import annotations

from dataclasses import dataclass

from tessera_tools.dialects.arith import AddI
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_toy.dialect import Twice


@dataclass(frozen=True)
class ToyExpand(Pass):
    """Replaces `toy.twice` by an addition."""

    name = "toy-expand"
    summary = "replace toy operations by arith"
    ensures = "no operation is of the toy dialect"

    keep: bool = option(False, "keep the operations, and only report them")

    def run(self, op: Operation, context: PassContext) -> bool:
        found = [inner for inner in op.walk() if isinstance(inner, Twice)]
        for inner in found:
            context.remark(inner.location, "twice is a sum", rule="expanded", kind="passed")
            if not self.keep:
                assert inner.parent is not None
                added = AddI(lhs=inner.value, rhs=inner.value)
                added.location = inner.location
                inner.parent.insert_before(inner, added)
                inner.replace_all_uses_with(added.results)
                inner.erase()
        return bool(found) and not self.keep
