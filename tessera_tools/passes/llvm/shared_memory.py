"""Shared memory: addresses in the kernel's one array `global_smem`, loads and stores of tiles by their plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.llvm.types import struct
from tessera_tools.dialects.nvvm.attributes import LdStMatrixEltTypeAttr, LdStMatrixShapeAttr, MMALayoutAttr
from tessera_tools.ir.builtin_attributes import i32, i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, RankedTensorType, VectorType, bit_width
from tessera_tools.layout import (
    LinearLayout,
    MatrixAccess,
    VectorAccess,
    XorExpression,
)
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.tiles import (
    Buffer,
    Tile,
    converted,
    from_memory,
    into_memory,
    stored,
)
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.passes.llvm.emitter import Emitter
    from tessera_tools.passes.llvm.lowering import Lowering

GLOBAL_SMEM = "global_smem"


# -- addresses


def stage_pointer(
    low: Lowering, buffer: Buffer, stage: Value, address: XorExpression, index: int, slice_offset: int = 0
) -> Value:
    """The pointer to one access of a stage: the thread's part is hoisted, the stage is added, and the rest is an
    immediate."""
    e = low.e
    scale = element_bytes(buffer.type.element)
    pointer, immediate = thread_pointer(e, buffer.offset, address, index, scale, slice_offset)
    if buffer.slot is not None:
        pointer = e.gep(pointer, e.mul(buffer.slot, buffer.stage_bytes))
    if buffer.type.stages > 1:
        pointer = e.gep(pointer, e.mul(low.scalar(stage), buffer.stage_bytes))
    return e.gep(pointer, immediate, shared=False)


def thread_pointer(
    e: Emitter, offset: int, address: XorExpression, index: int, scale: int, slice_offset: int = 0
) -> tuple[Value, int]:
    """(pointer of the thread for this access, immediate bytes) in `global_smem`."""
    moving, fixed = e.parts(address, address.constants[index] ^ slice_offset, scale)
    return e.gep(e.address_of(GLOBAL_SMEM), moving), offset + fixed


def pointers(e: Emitter, offset: int, address: XorExpression, scale: int) -> Callable[[int], Value]:
    """The pointer of the thread to each access at a byte offset of `global_smem`."""

    def pointer(index: int) -> Value:
        base, immediate = thread_pointer(e, offset, address, index, scale)
        return e.gep(base, immediate, shared=False)

    return pointer


# -- accesses


def memory_type(type: RankedTensorType) -> RankedTensorType:
    """A tile's type with elements in memory form."""
    return RankedTensorType(type.shape, stored(type.element), type.encoding)


def memory_tile(e: Emitter, tile: Tile, type: RankedTensorType) -> Tile:
    """A tile (of `type`) with elements in memory form."""
    if stored(type.element) is tile.element:
        return tile
    return Tile(memory_type(type), [into_memory(e, v, type.element) for v in tile.elements(e)])


def register_tile(e: Emitter, tile: Tile, type: RankedTensorType) -> Tile:
    """The inverse of `memory_tile`."""
    if tile.element is converted(type.element):
        return tile
    return Tile(type, [from_memory(e, v, type.element) for v in tile.elements(e)])


def store_tile(
    e: Emitter, tile: Tile, plan: VectorAccess | MatrixAccess, pointer: Callable[[int], Value]
) -> None:
    """Store a tile's registers by a plan; `pointer(i)` is the address of access i."""
    if isinstance(plan, MatrixAccess):
        words = _words_by_register(e, tile, plan)
        for i, registers in enumerate(plan.registers):
            e.nvvm(
                "stmatrix",
                [pointer(i), *(words[r] for r in registers)],
                layout=MMALayoutAttr("col" if plan.trans else "row"),
                shape=LdStMatrixShapeAttr(8, 8),
                eltType=LdStMatrixEltTypeAttr("b16"),
            )
        return
    values = tile.elements(e)
    for i, group in enumerate(plan.groups):
        packed = e.vector([values[r] for r in group], tile.element)
        e.emit(llvm.Store(packed, pointer(i), i64(plan.bits // 8)))


def _words_by_register(e: Emitter, tile: Tile, plan: MatrixAccess) -> dict[tuple[int, ...], Value]:
    per = 32 // bit_width(tile.element)
    if all(group == tuple(range(group[0], group[0] + per)) for instr in plan.registers for group in instr):
        words = tile.words(e)
        return {group: words[group[0] // per] for instr in plan.registers for group in instr}
    values = tile.elements(e)
    return {
        group: e.bitcast(e.vector([values[r] for r in group], tile.element), I32)
        for instr in plan.registers
        for group in instr
    }


def load_tile(
    e: Emitter, type: RankedTensorType, plan: VectorAccess | MatrixAccess, pointer: Callable[[int], Value]
) -> Tile:
    """Load a tile's registers by a plan; `pointer(i)` is the address of access i."""
    element = type.element
    count = nv_tileas.layout_of(type).in_size("register")
    if isinstance(plan, MatrixAccess):
        per = 32 // bit_width(element)
        words: list[Any] = [None] * (count // per)
        natural = not plan.copies
        loaded: list[tuple[tuple[int, ...], Value]] = []
        for i, registers in enumerate(plan.registers):
            for group, word in zip(registers, _ldmatrix(e, pointer(i), plan), strict=True):
                loaded.append((group, word))
                natural = natural and group == tuple(range(group[0], group[0] + per)) and group[0] % per == 0
        if natural:
            for group, word in loaded:
                words[group[0] // per] = word
            return Tile(type, None, words)
        elements: list[Any] = [None] * count
        for group, word in loaded:
            for register, value in zip(group, e.unpacked(word, element), strict=True):
                elements[register] = value
    else:
        elements = [None] * count
        for i, group in enumerate(plan.groups):
            loaded_type = VectorType((plan.elements,), element) if plan.elements > 1 else element
            value = e.emit(llvm.Load(pointer(i), i64(plan.bits // 8), res=loaded_type)).results[0]
            for register, part in zip(group, e.elements(value, plan.elements, element), strict=True):
                elements[register] = part
    for register, source in plan.copies:
        elements[register] = elements[source]
    return Tile(type, elements)


def _ldmatrix(e: Emitter, pointer: Value, plan: MatrixAccess) -> list[Value]:
    result = I32 if plan.num == 1 else struct(*[I32] * plan.num)
    op = e.nvvm(
        "ldmatrix",
        [pointer],
        [result],
        num=i32(plan.num),
        layout=MMALayoutAttr("col" if plan.trans else "row"),
        shape=LdStMatrixShapeAttr(8, 8),
        eltType=LdStMatrixEltTypeAttr("b16"),
    )
    return [op.results[0]] if plan.num == 1 else e.fields(op.results[0], [I32] * plan.num)


# -- round trips


@dataclass(frozen=True)
class Trip:
    """A tile that goes through shared memory at a byte offset, with its types before and after."""

    store: VectorAccess | MatrixAccess
    load: VectorAccess | MatrixAccess
    offset: int
    tile: Tile
    source: RankedTensorType
    target: RankedTensorType


def through_memory(e: Emitter, masks: dict[str, int], trips: Sequence[Trip]) -> list[Tile]:
    """The tiles after their way through shared memory: store all, barrier, load all.

    masks: a thread whose lane or warp has any of these bits does not store.
    """
    scales = [element_bytes(stored(trip.source.element)) for trip in trips]
    tiles = [memory_tile(e, trip.tile, trip.source) for trip in trips]
    with only_where(e, e.no_bit_set(masks)):
        for trip, tile, scale in zip(trips, tiles, scales, strict=True):
            store_tile(e, tile, trip.store, pointers(e, trip.offset, trip.store.address, scale))
    e.barrier()
    loaded: list[Tile] = []
    for trip, scale in zip(trips, scales, strict=True):
        found = load_tile(
            e, memory_type(trip.target), trip.load, pointers(e, trip.offset, trip.load.address, scale)
        )
        loaded.append(register_tile(e, found, trip.target))
    return loaded


def memory_offset(memory: LinearLayout, coordinates: tuple[int, ...]) -> int:
    """The offset, in elements, of coordinates in the tile."""
    place = memory.invert().apply({f"dim{d}": c for d, c in enumerate(coordinates)})
    return place["offset"]
