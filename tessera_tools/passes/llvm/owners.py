"""Elements that several threads hold: the owner, one of them, executes effects that must happen once, and shares the
result with the others.

    a register for each element   ──owner()──▶ true if this thread is the owner
    results in the owners         ──shared_by_owners()──▶ the same in all threads that hold the element
"""

from __future__ import annotations

from collections.abc import Hashable

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import VectorAccess, vector_access
from tessera_tools.layout.shared import row_major
from tessera_tools.passes.llvm.emitter import Int
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering
from tessera_tools.passes.llvm.shared_memory import (
    GLOBAL_SMEM,
    Trip,
    memory_tile,
    pointers,
    through_memory,
)
from tessera_tools.passes.llvm.shuffles import BY_INDEX, exchange
from tessera_tools.passes.llvm.tiles import Tile, from_memory, into_memory, stored


def owner(low: Lowering, type: Type) -> Value | None:
    """True if this thread is the owner of its elements of a tile or scalar; None if no other thread holds them."""
    e = low.e
    if isinstance(type, RankedTensorType):
        return e.no_bit_set(nv_tileas.layout_of(type).free_variable_masks())
    return e.is_first_thread


def owned_registers(type: Type) -> list[int]:
    """The registers of a tile or scalar that do not repeat another's element."""
    if not isinstance(type, RankedTensorType):
        return [0]
    layout = nv_tileas.layout_of(type)
    repeated = layout.free_variable_masks().get("register", 0)
    return [register for register in range(layout.in_size("register")) if not register & repeated]


def shared_by_owners(low: Lowering, op: Operation, type: Type, values: list[Value]) -> list[Value]:
    """The owners' values, by register, in every thread that holds the elements.

    Through the op's scratch if it has any (planning/scratch.py: none if the result is unused),
    otherwise by shuffles if only lanes hold the same elements.
    """
    e = low.e
    if op in low.allocation.offsets:
        return _through_memory(low, low.allocation.offsets[op], type, values)
    if not isinstance(type, RankedTensorType):
        return values
    lanes = nv_tileas.layout_of(type).free_variable_masks().get("lane", 0)
    return exchange(e, values, BY_INDEX, e.and_(e.lane, ~lanes & 31)) if lanes else values


def _through_memory(low: Lowering, offset: int, type: Type, values: list[Value]) -> list[Value]:
    e = low.e
    if isinstance(type, RankedTensorType):
        plan = _plan(type)
        trip = Trip(plan, plan, offset, Tile(type, values), type, type)
        (found,) = through_memory(e, nv_tileas.layout_of(type).free_variable_masks(), [trip])
        return found.elements(e)
    place = e.gep(e.address_of(GLOBAL_SMEM), offset)
    alignment = i64(element_bytes(type))
    with only_where(e, owner(low, type)):
        e.emit(llvm.Store(into_memory(e, values[0], type), place, alignment))
    e.barrier()
    loaded = e.emit(llvm.Load(place, alignment, res=stored(type))).results[0]
    return [from_memory(e, loaded, type)]


def store_rows(
    low: Lowering, tile: Tile, type: RankedTensorType, offset: int, part: tuple[Int, int] | None = None
) -> None:
    """Store a tile at a byte offset of shared memory in row-major order, each element by its owner.

    part: (number, size) stores only the part of that number, of parts of `size` elements, a power of two.
    """
    e = low.e
    plan = _plan(type)
    values = memory_tile(e, tile, type).elements(e)
    size = element_bytes(type.element)
    conditions: dict[Hashable, tuple[Value | None, list[int]]] = {}
    for i in range(len(plan.groups)):
        condition = owner(low, type)
        if part is not None:
            index = e.xor(e.thread_part(plan.address), plan.address.constants[i])
            mine = e.icmp("eq", e.lshr(index, part[1].bit_length() - 1), part[0])
            condition = e.both([condition, mine])
        conditions.setdefault(condition, (condition, []))[1].append(i)

    whole = pointers(e, offset, plan.address, size)

    def pointer(i: int) -> Value:
        if part is None:
            return whole(i)
        index = e.xor(e.thread_part(plan.address), plan.address.constants[i])
        place = e.mul(e.and_(index, part[1] - 1), size)
        return e.gep(e.gep(e.address_of(GLOBAL_SMEM), place), offset, shared=False)

    for condition, accesses in conditions.values():
        with only_where(e, condition):
            for i in accesses:
                packed = e.vector([values[r] for r in plan.groups[i]], stored(type.element))
                e.emit(llvm.Store(packed, pointer(i), i64(plan.bits // 8)))


def _plan(type: RankedTensorType) -> VectorAccess:
    """The accesses of a thread to its elements of a row-major tile."""
    return vector_access(nv_tileas.layout_of(type), row_major(type.shape), 8 * element_bytes(type.element))
