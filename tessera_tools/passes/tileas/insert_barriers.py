"""tileas-insert-barriers: allocates shared memory and inserts barriers between conflicting accesses.

alloc_tensor, convert_layout, …  → the same with {nv_tileas.offset = …}: bytes with disjoint live ranges are shared
store; load of the same bytes    → store; barrier; load
store %t; load after %t          → store; barrier; load
barrier; barrier                 → barrier
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Operation
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.barriers import insert_barriers, insert_fences
from tessera_tools.passes.tileas.explain import explain_stores
from tessera_tools.passes.tileas.hinted_occupancy import limit_occupancy
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.planning.shared_memory import OFFSET, allocate, record
from tessera_tools.records import dataclass
from tessera_tools.target import Target

INSERTED = "nv_tileaa.barriers_inserted"
"""Attribute of a kernel: the pass has run, so its barriers are complete."""


class InsertBarriers(Pass):
    """Allocate shared memory, and insert barriers between conflicting accesses."""

    name: ClassVar = "tileas-insert-barriers"
    summary: ClassVar = "allocate shared memory, and insert barriers between conflicting accesses"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "layouts, buffers and copies explicit"
    ensures: ClassVar = (
        "every buffer and scratch area has an nv_tileas.offset; barriers stand exactly where tokens or "
        "shared bytes require them; the hint occupancy of kernels without agents asks for no more CTAs than fit"
    )
    statistics: ClassVar = {
        "inserted": "barriers inserted",
        "removed": "barriers removed",
        "bytes": "bytes of shared memory",
    }

    def run(self, op: Operation, context: PassContext) -> None:
        for function, target in kernels_with(op):
            if context.explains:
                explain_stores(function, context)
            self.run_on_kernel(function, target, context)

    def run_on_kernel(self, function: nv_tileaa.Func, target: Target, context: PassContext) -> None:
        """Allocate the shared memory of one kernel, and make its barriers complete and minimal."""
        before = _Placed.of(function)
        allocation = allocate(function, target)
        record(allocation)
        limit_occupancy(function, allocation.total, target, context)
        inserted, removed = insert_barriers(function, allocation)
        insert_fences(function, allocation)
        before.compare(_Placed.of(function), context)
        function.attributes[INSERTED] = UNIT
        context.count("inserted", inserted)
        context.count("removed", removed)
        context.count("bytes", allocation.total)
        if allocation.total:
            text = f"{allocation.total} of {target.max_shared_per_block} bytes of shared memory"
            context.analyzed(function, text, "shared-memory", "memory")


@dataclass(frozen=True)
class _Placed:
    """The barriers of a kernel, in order, and the offsets of its ops in shared memory."""

    barriers: dict[Operation, Operation | None]
    """Barrier → the op after it."""
    offsets: dict[Operation, Attribute]
    ran: bool
    """The pass has run on the kernel: its attribute is present, or an offset that the pass sets."""

    @classmethod
    def of(cls, function: Operation) -> _Placed:
        ops = list(function.walk())
        return cls(
            {op: op.next_op for op in ops if isinstance(op, nv_tileas.Barrier)},
            {op: op.attributes[OFFSET] for op in ops if OFFSET in op.attributes},
            INSERTED in function.attributes or any(OFFSET in op.attributes for op in ops),
        )

    def compare(self, now: _Placed, context: PassContext) -> None:
        """Emits a remark for each difference from the input, if this pass has run on the input before."""
        if not self.ran:
            return
        for op, offset in now.offsets.items():
            old = self.offsets.get(op)
            if old is not offset:
                was = "which was missing" if old is None else f"replacing {old}"
                context.remark(
                    op.location, f"'{op.name}' gets {OFFSET} = {offset}, {was}", source=InsertBarriers.name
                )
        for barrier, after in now.barriers.items():
            if barrier not in self.barriers:
                place = (after or barrier).location
                context.remark(place, "inserted a missing barrier", source=InsertBarriers.name)
        for barrier in self.barriers:
            if barrier not in now.barriers:
                message = "removed a barrier that orders no accesses"
                context.remark(barrier.location, message, source=InsertBarriers.name)
