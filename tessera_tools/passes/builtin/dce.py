"""`dce`: eliminate dead code, unreachable blocks, and dead block arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.liveness import erase_dead, erase_unreachable_blocks


@dataclass(frozen=True)
class DCE(Pass):
    """Dead code elimination by mark and sweep.

    Needed are ops with effects other than reading, what their operands depend on, and what surrounds them.
    An op with unknown effects is needed; so is every symbol (see `symbol-dce`).
    """

    name = "dce"
    title = "DCE"
    summary = "eliminate dead code"
    ensures = "every remaining operation has an effect, or an operation with an effect depends on it"
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
