"""Per-thread accesses of single elements in shared and global memory.

buffer: offset → (i, j), linear over F2       its inverse, as_xor_expression      address of [%i, %j]
offset bit 4 ↦ j bit 1 and i bit 0, …    ──▶  (j & 6) << 3 ^ (i & 7) << 4 …   ──▶ global_smem + its value
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import RankedTensorType, VectorType, element_type
from tessera_tools.layout import as_xor_expression
from tessera_tools.passes.llvm.cache import load, store
from tessera_tools.passes.llvm.clusters import address_in
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.inline_asm import instruction
from tessera_tools.passes.llvm.lowering import Lowering, lowers
from tessera_tools.passes.llvm.releases import pipeline_of_op
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM, memory_tile, memory_type, register_tile
from tessera_tools.passes.llvm.tiles import Buffer, Tile, from_memory, into_memory, stored


def element_pointer(low: Lowering, buffer: Buffer, stage: Value, indices: list[Value], count: int) -> Value:
    """The address of `count` adjacent elements along the last dimension of one stage, from given indices.  Raises
    Refusal if the layout does not keep that many contiguous."""
    e = low.e
    scale = element_bytes(buffer.type.element)
    places = buffer.layout.invert()
    last = f"dim{len(indices) - 1}"
    if count > buffer.type.tile[-1] or not _together(places, last, count):
        raise Refusal(
            f"the layout of {buffer.type} does not store {count} neighboring elements of a row contiguously"
        )
    expression = as_xor_expression(places, constant_dim="")
    up = scale.bit_length() - 1
    parts: list[Int] = []
    for shift in expression.shifts():
        axis = int(shift.dim.removeprefix("dim"))
        index: Int = low.scalar(indices[axis])
        if shift.mask != buffer.type.tile[axis] - 1:
            index = e.and_(index, shift.mask)
        distance = shift.shift + up
        parts.append(e.shl(index, distance) if distance >= 0 else e.lshr(index, -distance))
    combine = e.add if expression.terms_are_disjoint else e.xor
    offset: Int = 0
    for part in parts:
        offset = combine(offset, part)
    pointer = e.gep(e.address_of(GLOBAL_SMEM), offset)
    if buffer.type.stages > 1:
        pointer = e.gep(pointer, e.mul(low.scalar(stage), buffer.stage_bytes))
    if buffer.slot is not None:
        pointer = e.gep(pointer, e.mul(buffer.slot, buffer.stage_bytes))
    return e.gep(pointer, buffer.offset, shared=False)


def _together(places: Any, last: str, count: int) -> bool:
    """True if each group of `count` aligned elements along a dimension is contiguous in memory, in order."""
    inside = count.bit_length() - 1
    own = places.dim_columns(last)
    others = [c for dim in places.in_dims if dim != last for c in places.dim_columns(dim)]
    return list(own[:inside]) == [1 << bit for bit in range(inside)] and not any(
        column % count for column in (*own[inside:], *others)
    )


def _load(e: Emitter, pointer: Value, type: Type, cache: str = "") -> Value:
    """Load an element or a vector, in register form."""
    element = element_type(type)
    count = _count(type)
    in_memory = stored(element)
    moved = VectorType((count,), in_memory) if count > 1 else in_memory
    value = load(e, pointer, moved, cache)
    return value if count > 1 else from_memory(e, value, element)


def _store(e: Emitter, value: Value, pointer: Value, type: Type, cache: str = "") -> None:
    """The inverse of `_load`."""
    element = element_type(type)
    count = _count(type)
    held = value if count > 1 else into_memory(e, value, element)
    store(e, held, pointer, cache)


_WIDEST = 16
"""Bytes of the widest access."""


def _kept(
    low: Lowering, op: nv_tileas.Spill | nv_tileas.Reload, type: RankedTensorType
) -> list[tuple[list[int], Value]]:
    """(registers, address) of each access of a spilled tile; the lanes of each phase access contiguous bytes."""
    e, buffer = low.e, low.buffer(op.buffer)
    layout = nv_tileas.layout_of(type)
    for user in op.buffer.users:
        if not isinstance(user, nv_tileas.Spill | nv_tileas.Reload):
            continue
        other = user.value if isinstance(user, nv_tileas.Spill) else user.res
        if nv_tileas.layout_of(other.type) != layout:
            raise Refusal(
                f"{type} shares a buffer with {other.type}, which is distributed differently over threads"
            )
    count = layout.in_size("register")
    size, threads = element_bytes(type.element), low.unit.threads
    if count * size * threads > buffer.stage_bytes:
        raise Refusal(f"{count} registers of {threads} threads do not fit into {buffer.type}")
    each = min(count, _WIDEST // size)
    own = e.mul(e.thread, each * size)
    pointer = e.gep(e.address_of(GLOBAL_SMEM), own)
    if buffer.type.stages > 1:
        pointer = e.gep(pointer, e.mul(low.scalar(op.stage), buffer.stage_bytes))
    return [
        (
            list(range(first, first + each)),
            e.gep(pointer, buffer.offset + first * size * threads, shared=False),
        )
        for first in range(0, count, each)
    ]


@lowers("nv_tileas.spill")
def spill(low: Lowering, op: nv_tileas.Spill) -> None:
    e = low.e
    type = op.value.type
    tile = memory_tile(e, low.tile(op.value), type)
    values = tile.elements(e)
    for own, pointer in _kept(low, op, type):
        packed = e.vector([values[r] for r in own], tile.element)
        store(e, packed, pointer)


@lowers("nv_tileas.reload")
def reload(low: Lowering, op: nv_tileas.Reload) -> None:
    e = low.e
    type = op.res.type
    kept = memory_type(type)
    elements: list[Value] = []
    for own, pointer in _kept(low, op, type):
        moved = VectorType((len(own),), kept.element) if len(own) > 1 else kept.element
        value = load(e, pointer, moved)
        elements += e.elements(value, len(own), kept.element)
    low.define(op.res, register_tile(e, Tile(kept, elements), type))


def _count(type: Type) -> int:
    return type.shape[0] if isinstance(type, VectorType) else 1


@lowers("nv_tileas.load_element")
def load_element(low: Lowering, op: nv_tileas.LoadElement) -> None:
    type = op.res.type
    pointer = element_pointer(low, low.buffer(op.buffer), op.stage, list(op.indices), _count(type))
    low.define(op.res, _load(low.e, pointer, type))


@lowers("nv_tileas.store_element")
def store_element(low: Lowering, op: nv_tileas.StoreElement) -> None:
    type = op.value.type
    pointer = element_pointer(low, low.buffer(op.buffer), op.stage, list(op.indices), _count(type))
    around = op.parent_op
    if isinstance(around, nv_tileas.ProducerWrite) and pipeline_of_op(around).by_first is not None:
        # One thread stores it in each CTA of the cluster.
        for cta in range(low.ctas):
            _store(low.e, low.scalar(op.value), address_in(low, pointer, cta), type)
        return
    _store(low.e, low.scalar(op.value), pointer, type)


@lowers("nv_tileas.load_global")
def load_global(low: Lowering, op: nv_tileas.LoadGlobal) -> None:
    cache = op.cache.value if op.cache is not None else ""
    low.define(op.res, _load(low.e, low.scalar(op.pointer), op.res.type, cache))


@lowers("nv_tileas.store_global")
def store_global(low: Lowering, op: nv_tileas.StoreGlobal) -> None:
    cache = op.cache.value if op.cache is not None else ""
    _store(low.e, low.scalar(op.value), low.scalar(op.pointer), op.value.type, cache)


@lowers("nv_tileas.prefetch")
def prefetch(low: Lowering, op: nv_tileas.Prefetch) -> None:
    """Inline assembly, because LLVM selects its intrinsic only from sm_90 on."""
    instruction(low.e, "prefetch.global.L2 [{0}]", [low.scalar(op.pointer)], None)
