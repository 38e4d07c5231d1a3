"""`dce`: eliminate dead code, unreachable blocks, and dead block arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.liveness import erase_dead, erase_unreachable_blocks


class DCE(Pass):
    """Dead code elimination by mark and sweep.

    Ops with effects other than reads are live, and so are the ops that their operands depend on, and their parents.
    Ops with unknown effects and all symbols are live (see `symbol-dce`).
    """

    name = "dce"
    title = "DCE"
    summary = "eliminate dead code"
    ensures = "every remaining operation has an effect, or is used by an operation with an effect"
    statistics: ClassVar[Mapping[str, str]] = {
        "num-dce'd": "Number of operations erased",
        "num-arguments": "Number of block arguments erased",
        "num-blocks": "Number of unreachable blocks erased",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        blocks = erase_unreachable_blocks(op)
        erased = erase_dead(op)
        context.count("num-blocks", blocks)
        context.count("num-dce'd", erased["ops"])
        context.count("num-arguments", erased["arguments"])
        return bool(blocks or erased.total())
