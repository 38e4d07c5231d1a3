"""tileas-insert-barriers: buffers get their place in shared memory, and threads wait where they would meet.

alloc_tensor, convert_layout, …  → the same with {nv_tileas.offset = …}: bytes whose lives do not meet are shared
store; load of the same bytes    → store; barrier; load
store %t; load after %t          → store; barrier; load
barrier; barrier                 → barrier
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tessera_tools.dialects import nv_tileaa
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.barriers import insert_barriers
from tessera_tools.planning.kernel import kernels, target_of
from tessera_tools.planning.shared_memory import allocate, record
from tessera_tools.target import Target


@dataclass(frozen=True)
class InsertBarriers(Pass):
    """Place buffers in shared memory, and barriers where threads would meet."""

    name: ClassVar = "tileas-insert-barriers"
    summary: ClassVar = "place buffers in shared memory, and barriers where threads would meet"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "layouts, buffers and copies explicit"
    ensures: ClassVar = (
        "every buffer and scratch area has an nv_tileas.offset; barriers stand where tokens or shared bytes ask for "
        "one, and nowhere else"
    )
    statistics: ClassVar = {
        "inserted": "barriers inserted",
        "removed": "barriers removed",
        "bytes": "bytes of shared memory",
    }

    def run(self, op: Operation, context: PassContext) -> None:
        functions = kernels(op)
        if not functions:
            return
        target = target_of(op)
        for function in functions:
            self.run_on_kernel(function, target, context)

    def run_on_kernel(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
        """Place what one kernel needs, and make its barriers those that it needs."""
        allocation = allocate(function, target)
        record(allocation)
        inserted, removed = insert_barriers(function, allocation)
        context.count("inserted", inserted)
        context.count("removed", removed)
        context.count("bytes", allocation.total)
