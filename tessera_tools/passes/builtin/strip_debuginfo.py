"""`strip-debuginfo`: remove all source locations."""

from __future__ import annotations

from tessera_tools.ir.core import Operation
from tessera_tools.ir.location import UNKNOWN
from tessera_tools.passes.base import Pass, PassContext


class StripDebugInfo(Pass):
    """Set the location of every operation and block argument to unknown."""

    name = "strip-debuginfo"
    title = "StripDebugInfo"
    summary = "remove all source locations"
    ensures = "every location is unknown"

    def run(self, op: Operation, context: PassContext) -> bool:
        op.location = UNKNOWN
        work = [op]
        while work:
            outer = work.pop()
            for region in outer.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        argument.location = UNKNOWN
                    for inner in block.operations:
                        inner.location = UNKNOWN
                        if inner.regions:
                            work.append(inner)
        # The verifier does not check locations.
        return False
