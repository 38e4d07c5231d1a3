"""The nv_tileas ops on shared memory and layout conversions."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import llvm, nv_tileas
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
from tessera_tools.passes.llvm.control import guarded
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.shared_memory import (
    load_tile,
    memory_offset,
    memory_tile,
    memory_type,
    register_tile,
    stage_pointer,
    store_tile,
    thread_pointer,
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
def wait_group(low: Lowering, op: Any) -> None:
    """Waits for each thread's copies; a barrier makes them visible to the others (PTX ISA, "cp.async.wait_group")."""
    low.e.nvvm("cp.async.wait.group", n=op.pending)


@lowers("nv_tileas.load")
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
def store(low: Lowering, op: nv_tileas.Store) -> None:
    """stmatrix or vector stores, as defined by the atom; one thread stores an element that several hold."""
    e = low.e
    plan = shared_store_plan(op)
    if store_atom(plan, op.value.type.element) is not op.atom:
        raise _unfitting(op, store_atom(plan, op.value.type.element))
    buffer = low.buffer(op.buffer)
    tile = memory_tile(e, low.tile(op.value), op.value.type)

    def body() -> list[Value]:
        store_tile(e, tile, plan, lambda i: stage_pointer(low, buffer, op.stage, plan.address, i))
        return []

    guarded(low, e.no_bit_set(nv_tileas.layout_of(op.value.type).free_variable_masks()), [], body)


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
        picked = [_pick(low, values, chosen, plan.source.base_bits, c) for c in plan.source.constants]
        low.define(op.res, Tile(op.res.type, picked))
    elif isinstance(plan, LaneShuffle):
        low.define(op.res, _shuffle(low, op, plan, tile))
    elif isinstance(plan, PartedRoundTrip):
        low.define(op.res, _parted_round_trip(low, op, plan, tile))
    else:
        assert isinstance(plan, SharedRoundTrip)
        low.define(op.res, _round_trip(low, op, plan, tile))


def _pick(low: Lowering, values: list[Value], chosen: Any, bits: int, constant: int) -> Value:
    """values[chosen ^ constant], where `chosen` may set `bits`: a tree of selects."""
    candidates = {0: values[constant]}
    for bit in (b for b in range(bits.bit_length()) if bits >> b & 1):
        candidates.update({key | 1 << bit: values[(key | 1 << bit) ^ constant] for key in list(candidates)})
    for bit in (b for b in range(bits.bit_length()) if bits >> b & 1):
        flag = low.e.icmp("ne", low.e.and_(chosen, 1 << bit), 0)
        candidates = {
            key: low.e.emit(llvm.Select(flag, candidates[key | 1 << bit], value, res=value.type)).results[0]
            for key, value in candidates.items()
            if not key >> bit & 1
        }
    return candidates[0]


def _shuffle(low: Lowering, op: Any, plan: LaneShuffle, tile: Tile) -> Tile:
    """Rounds of shfl.sync.idx, one register each."""
    e = low.e
    values = tile.elements(e)
    received: list[Value] = []
    provided, lanes = e.thread_part(plan.provided), e.thread_part(plan.source_lane)
    for i in range(plan.rounds):
        mine = _pick(low, values, provided, plan.provided.base_bits, plan.provided.constants[i])
        received += exchange(e, [mine], BY_INDEX, e.xor(lanes, plan.source_lane.constants[i]))
    # Round i returns register target.evaluate(i).  If that depends on the thread, select by register.  Impossible
    # values of the thread's part may select any value.
    count = nv_tileas.layout_of(op.res.type).in_size("register")
    target = e.thread_part(plan.target)
    ordered = [received[0]] * count
    for constant, value in zip(plan.target.constants, received, strict=True):
        ordered[constant] = value
    elements = [_pick(low, ordered, target, plan.target.base_bits, register) for register in range(count)]
    for register, source in plan.copies:
        elements[register] = elements[source]
    return Tile(op.res.type, elements)


def _round_trip(low: Lowering, op: Any, plan: SharedRoundTrip, tile: Tile) -> Tile:
    """Store, barrier, load."""
    e = low.e
    stored_tile = memory_tile(e, tile, op.source.type)
    loaded = _exchanged(low, op, plan, stored_tile, memory_type(op.res.type))
    return register_tile(e, loaded, op.res.type)


def _parted_round_trip(low: Lowering, op: Any, plan: PartedRoundTrip, tile: Tile) -> Tile:
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
        loaded = _exchanged(low, op, plan.trip, given, target)
        for register, value in zip(loads, loaded.elements(e), strict=True):
            made[register] = value
    return register_tile(e, Tile(memory_type(op.res.type), made), op.res.type)


def _exchanged(low: Lowering, op: Any, plan: SharedRoundTrip, tile: Tile, type: RankedTensorType) -> Tile:
    """The tile with elements in memory form, stored and loaded as `type`."""
    e = low.e
    scale = element_bytes(type.element)
    offset = low.allocation.offsets[op]

    def pointer(address: Any) -> Any:
        def at(i: int) -> Value:
            base, immediate = thread_pointer(e, offset, address, i, scale)
            return e.gep(base, immediate, shared=False)

        return at

    def body() -> list[Value]:
        store_tile(e, tile, plan.store, pointer(plan.store.address))
        return []

    guarded(low, e.no_bit_set(dict(plan.store_masks)), [], body)
    e.barrier()
    return load_tile(e, type, plan.load, pointer(plan.load.address))
