"""The nv_tileas ops on shared memory and layout conversions."""

from __future__ import annotations

from typing import Any

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import (
    LaneShuffle,
    PartedRoundTrip,
    RegisterMove,
    SharedRoundTrip,
    shape_of,
)
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.shapes import picked
from tessera_tools.passes.llvm.shared_memory import (
    Trip,
    load_tile,
    memory_offset,
    memory_tile,
    memory_type,
    register_tile,
    stage_pointer,
    store_tile,
    through_memory,
)
from tessera_tools.passes.llvm.shuffles import BY_INDEX, exchange
from tessera_tools.passes.llvm.tiles import Buffer, Tile
from tessera_tools.planning.shared_memory import (
    access_atom,
    conversion_plan,
    shared_load_plan,
    shared_store_plan,
    store_atom,
)


@lowers("nv_tileas.alloc_tensor")
def alloc_tensor(low: Lowering, op: nv_tileas.AllocTensor) -> None:
    """Bytes at a known offset: nothing is emitted."""
    low.define(op.res, Buffer(low.allocation.offsets[op], op.res.type))


@lowers("nv_tileas.barrier")
def barrier(low: Lowering, op: Operation) -> None:
    """All threads of the CTA (PTX ISA, "bar.sync")."""
    low.e.barrier()


@lowers("nv_tileas.async.commit_group")
def commit_group(low: Lowering, op: Operation) -> None:
    """Each thread's copies (PTX ISA, "cp.async.commit_group")."""
    low.e.nvvm("cp.async.commit.group")


@lowers("nv_tileas.async.wait_group")
def wait_group(low: Lowering, op: nv_tileas.AsyncWaitGroup) -> None:
    """Waits for each thread's copies; a barrier makes them visible to the others (PTX ISA, "cp.async.wait_group")."""
    low.e.nvvm("cp.async.wait.group", n=op.pending)


@lowers("nv_tileas.load")
@emits("lds", "ldmatrix", "ldmatrix_trans")
def load(low: Lowering, op: nv_tileas.Load) -> None:
    """ldmatrix or vector loads, as defined by the atom."""
    plan = shared_load_plan(op, low.target)
    if access_atom(plan, op.buffer.type.element) is not op.atom:
        raise _unfitting(op, access_atom(plan, op.buffer.type.element))
    buffer = low.buffer(op.buffer)
    start = memory_offset(buffer.layout, op.offsets.values)

    def pointer(i: int) -> Value:
        return stage_pointer(low, buffer, op.stage, plan.address, i, start)

    low.define(
        op.res, register_tile(low.e, load_tile(low.e, memory_type(op.res.type), plan, pointer), op.res.type)
    )


def _unfitting(op: nv_tileas.Load | nv_tileas.Store, expected: CopyAtomAttr) -> DiagnosticError:
    return op.error(f"has the atom {op.atom}, which the layouts do not allow; expected {expected}")


@lowers("nv_tileas.store")
@emits("sts", "stmatrix", "stmatrix_trans")
def store(low: Lowering, op: nv_tileas.Store) -> None:
    """stmatrix or vector stores, as defined by the atom; one thread stores an element that several hold."""
    e = low.e
    plan = shared_store_plan(op)
    if store_atom(plan, op.value.type.element) is not op.atom:
        raise _unfitting(op, store_atom(plan, op.value.type.element))
    buffer = low.buffer(op.buffer)
    tile = memory_tile(e, low.tile(op.value), op.value.type)
    start = memory_offset(buffer.layout, op.start)
    with only_where(e, e.no_bit_set(nv_tileas.layout_of(op.value.type).free_variable_masks())):
        store_tile(e, tile, plan, lambda i: stage_pointer(low, buffer, op.stage, plan.address, i, start))


@lowers("nv_tileas.convert_layout")
def convert_layout(low: Lowering, op: nv_tileas.ConvertLayout) -> None:
    """By renaming, by shuffles, or through shared memory."""
    e = low.e
    plan = conversion_plan(op, low.target)
    tile = low.tile(op.source)
    if isinstance(plan, RegisterMove) and plan.is_static:
        values = tile.elements(e)
        low.define(op.res, Tile(op.res.type, [values[c] for c in plan.source.constants]))
    elif isinstance(plan, RegisterMove):
        values = tile.elements(e)
        chosen = e.thread_part(plan.source)
        moved = [picked(e, values, chosen, plan.source.base_bits, c) for c in plan.source.constants]
        low.define(op.res, Tile(op.res.type, moved))
    elif isinstance(plan, LaneShuffle):
        low.define(op.res, _shuffle(low, op, plan, tile))
    elif isinstance(plan, PartedRoundTrip):
        low.define(op.res, _parted_round_trip(low, op, plan, tile))
    else:
        assert isinstance(plan, SharedRoundTrip)
        low.define(op.res, _round_trip(low, op, plan, tile))


def _shuffle(low: Lowering, op: nv_tileas.ConvertLayout, plan: LaneShuffle, tile: Tile) -> Tile:
    """Rounds of shfl.sync.idx, one register each."""
    e = low.e
    values = tile.elements(e)
    received: list[Value] = []
    provided, lanes = e.thread_part(plan.provided), e.thread_part(plan.source_lane)
    for i in range(plan.rounds):
        mine = picked(e, values, provided, plan.provided.base_bits, plan.provided.constants[i])
        received += exchange(e, [mine], BY_INDEX, e.xor(lanes, plan.source_lane.constants[i]))
    # Round i returns register target.evaluate(i).  If that depends on the thread, select by register.  Impossible
    # values of the thread's part may select any value.
    count = nv_tileas.layout_of(op.res.type).in_size("register")
    target = e.thread_part(plan.target)
    ordered = [received[0]] * count
    for constant, value in zip(plan.target.constants, received, strict=True):
        ordered[constant] = value
    elements = [picked(e, ordered, target, plan.target.base_bits, register) for register in range(count)]
    for register, source in plan.copies:
        elements[register] = elements[source]
    return Tile(op.res.type, elements)


def _round_trip(low: Lowering, op: nv_tileas.ConvertLayout, plan: SharedRoundTrip, tile: Tile) -> Tile:
    """Store, barrier, load."""
    trip = Trip(plan.store, plan.load, low.allocation.offsets[op], tile, op.source.type, op.res.type)
    return through_memory(low.e, dict(plan.store_masks), [trip])[0]


def _parted_round_trip(low: Lowering, op: nv_tileas.ConvertLayout, plan: PartedRoundTrip, tile: Tile) -> Tile:
    """A round trip for each part, each after a barrier."""
    e = low.e
    element = memory_type(op.res.type).element
    part = RankedTensorType(shape_of(plan.source), element)
    source, target = (nv_tileas.with_layout(part, layout) for layout in (plan.source, plan.target))
    values = memory_tile(e, tile, op.source.type).elements(e)
    made: list[Any] = [None] * nv_tileas.layout_of(op.res.type).in_size("register")
    for number, (stores, loads) in enumerate(zip(plan.store_registers, plan.load_registers, strict=True)):
        if number:
            e.barrier()
        given = Tile(source, [values[register] for register in stores])
        trip = Trip(plan.trip.store, plan.trip.load, low.allocation.offsets[op], given, source, target)
        (loaded,) = through_memory(e, dict(plan.trip.store_masks), [trip])
        for register, value in zip(loads, loaded.elements(e), strict=True):
            made[register] = value
    return register_tile(e, Tile(memory_type(op.res.type), made), op.res.type)
