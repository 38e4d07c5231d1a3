"""Barriers in nv_tileas: the effects and conflicts of its ops.

Two accesses conflict if one of them writes, and different threads may access the same address: in shared memory, if
their byte intervals overlap; in global memory, if tokens order them (`memory_order.py`).  The write of a `cp.async` is
complete after the wait for its group; until then, only the pipeline may access its buffer.

`analysis/hazards.py` finds and places the barriers.
"""

from __future__ import annotations

from collections.abc import Hashable

from tessera_tools.analysis.divergence import differs, divergent_values
from tessera_tools.analysis.hazards import Access, Conflict, Hazards, Step
from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.effects import Completion, Effect, Kind, Reach, Resource, accesses
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.passes.tileas.memory_order import MemoryOrder, is_ordered
from tessera_tools.planning.shared_memory import Allocation

_ON_PHASE = (Kind.ARRIVE, Kind.WAIT)


def insert_barriers(function: Operation, allocation: Allocation) -> tuple[int, int]:
    """Insert missing and remove redundant barriers of a function; returns the numbers (inserted, removed)."""
    analysis = _Analysis(function, allocation)
    analysis.complete()
    removed = analysis.reduce()
    # Do not count barriers that were inserted and removed again.
    both = min(analysis.inserted, removed)
    return analysis.inserted - both, removed - both


def insert_fences(function: Operation, allocation: Allocation) -> None:
    """Insert a proxy fence before each copy by box_copy to bytes that threads may have written before: TMA writes them
    through another proxy."""
    copies = [op for op in function.walk() if isinstance(op, nv_tileas.BoxCopy)]
    if not copies:
        return
    analysis = _Analysis(function, allocation)
    positions = {op: number for number, op in enumerate(function.walk())}
    writes = [
        access
        for step in analysis.effects.values()
        for access in (*step.accesses, *step.after_barriers)
        if access.kind is Kind.WRITE and not access.is_global and not isinstance(access.op, nv_tileas.BoxCopy)
    ]
    for copy in copies:
        (own,) = (a for a in analysis.effects[copy].accesses if a.kind is Kind.WRITE)
        for access in writes:
            before = positions[access.op] < positions[copy] or _share_a_loop(access.op, copy)
            if before and access.first < own.end and own.first < access.end:
                Builder.before(copy).insert(nv_tileas.FenceProxy(location=copy.location))
                break


def _share_a_loop(a: Operation, b: Operation) -> bool:
    """Whether an iteration of a loop may run one op after the other of an iteration before."""
    around = a.parent_op
    while around is not None:
        if isinstance(around, LoopLike) and around.is_ancestor_of(b):
            return True
        around = around.parent_op
    return False


def missing_barrier(function: Operation, allocation: Allocation) -> Conflict | None:
    """The first op of a function before which a barrier is missing; None if there is none."""
    analysis = _Analysis(function, allocation)
    analysis.walk()
    return analysis.found


class _Analysis(Hazards):
    """The accesses of nv_tileas ops, by byte."""

    def __init__(self, function: Operation, allocation: Allocation) -> None:
        self.allocation = allocation
        self.order = MemoryOrder()
        divergent = divergent_values(function)
        self.apart = [
            op for op in function.walk() if differs(op, divergent) or isinstance(op, nv_tileas.ProducerWrite)
        ]
        """Loops and branches that threads take differently, and what one thread does: no barrier may stand there."""
        super().__init__(function)

    def new_barrier(self, place: Operation) -> Operation:
        return nv_tileas.Barrier(location=place.location)

    def barriers(self) -> list[Operation]:
        """Those that may be redundant: accesses do not say what waits on mbarriers need."""
        return [op for op in super().barriers() if not (isinstance(op, nv_tileas.Barrier) and op.phases)]

    def accesses_of(self, op: Operation) -> list[Access]:
        found: dict[Hashable, Access] = {}
        for effect, value in accesses(op):
            access = self._access(op, effect, value)
            if access is None:
                continue
            # An op may arrive at once, and again when copies are complete.
            by = access.completion if access.kind is Kind.ARRIVE else None
            key = (access.first, access.end, access.buffer, by)
            if key not in found or access.writes:
                found[key] = access
        return list(found.values())

    def _access(self, op: Operation, effect: Effect, value: Value | None) -> Access | None:
        """The access of an effect; None if it cannot conflict between threads."""
        if effect.kind is Kind.ALLOCATE:
            return None
        if value is None or effect.resource is Resource.GLOBAL or effect.resource is Resource.MEMORY:
            # An op with only an ordering effect is ordered by tokens, like a write.
            if (value is None and not is_ordered(op)) or effect.reach is Reach.OWN:
                return None
            kind = effect.kind if value is not None else Kind.WRITE
            by = Completion.BULK if effect.completion is Completion.BULK else Completion.AT_ONCE
            return Access(op, kind, completion=by, reach=effect.reach)
        if effect.resource in (Resource.REGISTERS, Resource.TENSOR):
            return None
        buffer = self._allocated(op, value)
        first, size = self.allocation.offsets[buffer], self.allocation.sizes[buffer]
        barrier = self._allocated(op, _signal(op, effect.through)) if effect.through is not None else None
        return Access.of(op, effect, first, first + size, buffer, barrier)

    def _allocated(self, op: Operation, value: Value) -> Operation:
        """The op that allocates the bytes or barriers of a value."""
        found = nv_tileas.storage_of(value)
        if found in self.allocation.offsets:
            return found
        raise op.error(
            "uses shared memory that is not allocated by an nv_tileas.alloc_tensor"
            if isinstance(value.type, nv_tileas.SmemType)
            else nv_tileas.NO_PIPELINE
        )

    def step_of(self, op: Operation) -> Step | None:
        if isinstance(op, nv_tileas.OrderWait):
            made = op.order.defining_op
            if isinstance(made, nv_tileas.CreateOrder) and made.agents:
                # All threads of the agent wait for its turn together.
                return Step(own_barrier=True)
        if (
            isinstance(op, nv_tileas.AllocTensor | nv_tileas.CreatePipeline)
            or op not in self.allocation.offsets
        ):
            return super().step_of(op)
        accesses = self.accesses_of(op)
        first, size = self.allocation.offsets[op], self.allocation.sizes[op]
        store, load = (Access(op, kind, first, first + size) for kind in (Kind.WRITE, Kind.READ))
        # Results that pass through scratch were read from memory before.
        gives = any(result.type is not MEM_TOKEN for result in op.results)
        after = () if gives else tuple(accesses)
        return Step((store, *accesses), own_barrier=True, after_barriers=(*after, load))

    def place(self, op: Operation, reasons: list[Access]) -> Operation:
        place = super().place(op, reasons)
        for around in self.apart:
            if around.is_ancestor_of(place):
                # The outermost is first.
                return super().place(around, reasons)
        return place

    def _only_by_thread(self, earlier: Access, later: Access) -> bool:
        """True if two accesses of single elements are in the same divergent loop or branch, and no path between them
        leaves it: each thread then executes them in program order."""
        if not earlier.reach is later.reach is Reach.BY_THREAD:
            return False
        return any(
            around.is_ancestor_of(earlier.op)
            and around.is_ancestor_of(later.op)
            and not any(loop.is_ancestor_of(around) for loop in earlier.loops if loop is not around)
            for around in self.apart
        )

    def conflict(self, earlier: Access, later: Access) -> bool:
        """True if threads with one access may have to wait for threads with the other."""
        if earlier.is_global != later.is_global or not (earlier.writes or later.writes):
            return False
        if later.kind is Kind.FREE:
            # The access is complete, independent of tokens.
            return True
        if earlier.by_element or later.by_element:
            self.unordered.add((earlier.op, later.op, earlier.loops))
            return False
        if earlier.is_global:
            concerns = self.order.concerns_others(earlier.op, later.op, bool(earlier.loops))
            if concerns and earlier.in_flight:
                raise later.op.error(
                    f"accesses memory that '{earlier.op.name}' may still write; insert an nv_tileas.async.store_wait "
                    "before it"
                )
            return concerns
        if earlier.end <= later.first or later.end <= earlier.first:
            return False
        if self._only_by_thread(earlier, later) or _fill_in_turn(earlier, later):
            return False
        if not earlier.in_flight:
            if earlier.buffer is not later.buffer:
                return True
            # Each thread has its own part of a spill slot; an mbarrier synchronizes by itself.
            own = earlier.reach is later.reach is Reach.OWN
            return not (own or (earlier.kind in _ON_PHASE and later.kind in _ON_PHASE))
        if earlier.buffer is later.buffer and not _has_one_stage(earlier.buffer):
            # The stages of a pipeline: the copy to a stage is complete before it is read, and the reads before it is
            # filled again.
            return False
        raise later.op.error(
            "uses shared memory that a pending copy may still write; insert an nv_tileas.async.wait_group before it"
            if earlier.writes
            else f"writes shared memory that '{earlier.op.name}' may still read; wait for it before"
        )


def _fill_in_turn(earlier: Access, later: Access) -> bool:
    """True if two accesses fill different stages of one pipeline, the same stage in different rounds, or different
    parts of a stage.  A thread acquires a stage only after all threads have filled it in the round before."""
    first, second = _filled(earlier.op), _filled(later.op)
    if first is None or second is None:
        return False
    if first is not second or earlier.loops:
        pipeline = nv_tileas.pipeline_of(first.iter)
        return pipeline is not None and pipeline is nv_tileas.pipeline_of(second.iter)
    a, b = earlier.op, later.op
    if not isinstance(a, nv_tileas.Store) or not isinstance(b, nv_tileas.Store):
        return False
    parts = ((op.start, op.value.type.shape) for op in (a, b))
    (i, n), (j, m) = parts
    return any(x + s <= y or y + t <= x for x, s, y, t in zip(i, n, j, m, strict=True))


def _filled(op: Operation) -> nv_tileas.ProducerWrite | None:
    """The filling of a stage that an op is a part of."""
    outer = op.parent_op
    return outer if isinstance(outer, nv_tileas.ProducerWrite) else None


def _has_one_stage(buffer: Operation | None) -> bool:
    return isinstance(buffer, nv_tileas.AllocTensor) and buffer.res.type.stages == 1


def _signal(op: Operation, field: str) -> Value:
    """The value whose barrier a copy signals: of the op around it if its own field is the number of a stage."""
    if isinstance(op, nv_tileas.TiledTmaLoad | nv_tileas.RequestLaunch) and nv_tileas.is_unwrapped(op):
        return op.parent_op.token  # type: ignore[union-attr]
    return getattr(op, field)
