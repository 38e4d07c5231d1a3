"""Where the threads of a CTA must wait for each other, in nv_tileas: the effects and conflicts of its ops.

Two accesses conflict if one of them writes, and they may touch the same place through different threads: of shared
memory, if their byte intervals overlap; of global memory, if tokens order them (`memory_order.py`).  A `cp.async`
writes when its group is waited for; until then only what the pipeline does with its own buffer may follow.

How barriers are found and placed from that: `analysis/hazards.py`.
"""

from __future__ import annotations

from tessera_tools.analysis.hazards import Access, Effects, Hazards
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import own_effects
from tessera_tools.passes.tileas.memory_order import MemoryOrder, memory_kinds
from tessera_tools.passes.tileas.shared_memory import Allocation


def insert_barriers(function: Operation, allocation: Allocation) -> tuple[int, int]:
    """Make the barriers of a function those that it needs; how many were (inserted, removed)."""
    analysis = _Analysis(function, allocation)
    analysis.complete()
    removed = analysis.reduce()
    # A barrier that was inserted and then not needed was never there.
    both = min(analysis.inserted, removed)
    return analysis.inserted - both, removed - both


class _Analysis(Hazards):
    """The accesses of nv_tileas ops, by byte."""

    def __init__(self, function: Operation, allocation: Allocation) -> None:
        self.allocation = allocation
        self.order = MemoryOrder()
        super().__init__(function)

    def new_barrier(self, place: Operation) -> Operation:
        return nv_tileas.Barrier(location=place.location)

    def effects_of(self, op: Operation) -> Effects | None:
        if isinstance(op, nv_tileas.Barrier):
            return Effects(is_barrier=True)
        if isinstance(op, nv_tileas.AsyncWaitGroup):
            return Effects(pending=op.pending.value)
        if isinstance(op, nv_tileas.AsyncCommitGroup):
            return Effects(commits=True)
        if isinstance(op, _BY_PIPELINES) or any(_is_stage(v) for v in op.operands):
            return None
        accesses: list[Access] = []
        kinds = memory_kinds(op)
        copies = isinstance(op, nv_tileas.AsyncTiledCopy)
        if isinstance(op, nv_tileas.LoadGlobal | nv_tileas.StoreGlobal):
            accesses.append(Access(op, isinstance(op, nv_tileas.StoreGlobal), by_element=True))
        elif copies and not kinds:
            accesses.append(Access(op, False))
        elif kinds:
            # What a copy writes is shared memory.  It has read global memory before the barrier that its readers need,
            # so that no later access has to wait for it.
            accesses.append(Access(op, "write" in kinds and not copies))
        elif isinstance(op, nv_tileaa.HeapFree):
            accesses.append(Access(op, True))
        buffers = {v.defining_op for v in op.operands if isinstance(v.type, nv_tileas.SmemType)}
        effects = own_effects(op)[0]
        for buffer in buffers:
            if buffer not in self.allocation.offsets:
                raise op.error("uses shared memory that no nv_tileas.alloc_tensor gives")
            first, size = self.allocation.offsets[buffer], self.allocation.sizes[buffer]
            if copies or effects is None or "write" in effects:
                accesses.append(Access(op, True, first, first + size, copies, buffer))
            else:
                accesses.append(Access(op, False, first, first + size, buffer=buffer))
        if not isinstance(op, nv_tileas.AllocTensor) and op in self.allocation.offsets:
            first, size = self.allocation.offsets[op], self.allocation.sizes[op]
            store, load = Access(op, True, first, first + size), Access(op, False, first, first + size)
            # What comes out of scratch was got from memory before.
            gives = any(result.type is not MEM_TOKEN for result in op.results)
            behind = () if gives else tuple(accesses)
            return Effects((store, *accesses), own_barrier=True, behind=(*behind, load))
        return Effects(tuple(accesses)) if accesses else None

    def conflict(self, earlier: Access, later: Access) -> bool:
        """Whether threads that make one access may have to wait for threads that make the other."""
        if earlier.is_global != later.is_global or not (earlier.writes or later.writes):
            return False
        if isinstance(later.op, nv_tileaa.HeapFree):
            # Nobody is still at the memory, whatever tokens say.
            return True
        if earlier.by_element or later.by_element:
            self.unordered.add((earlier.op, later.op, earlier.loops))
            return False
        if earlier.is_global:
            return self.order.concerns_others(earlier.op, later.op, bool(earlier.loops))
        if earlier.end <= later.first or later.end <= earlier.first:
            return False
        if not earlier.under_way:
            # Of a slot for spilled tiles, each thread has its own part.
            slots = nv_tileas.Spill | nv_tileas.Reload
            kept = isinstance(earlier.op, slots) and isinstance(later.op, slots)
            return not (kept and earlier.buffer is later.buffer)
        if earlier.buffer is later.buffer and not _has_one_stage(earlier.buffer):
            # The stages of a pipeline: what is read was waited for, what is filled was read before the last barrier.
            return False
        raise later.op.error(
            "uses shared memory that a copy under way may still fill; an nv_tileas.async.wait_group must stand before"
        )


_BY_PIPELINES = (
    nv_tileas.CreatePipeline,
    nv_tileas.TiledTmaLoad,
    nv_tileas.View,
    nv_tileas.AsyncDot,
    nv_tileas.ProducerWrite,
    nv_tileas.ConsumerRead,
)
"""What the barriers of pipelines order."""


def _is_stage(value: Value) -> bool:
    return isinstance(value.defining_op, nv_tileas.View)


def _has_one_stage(buffer: Operation | None) -> bool:
    return isinstance(buffer, nv_tileas.AllocTensor) and buffer.res.type.stages == 1
