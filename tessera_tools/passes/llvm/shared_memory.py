"""Shared memory: where buffers and scratch lie, loads and stores of tiles, barriers and waits.

The kernel's shared memory is one array, `global_smem`.  Buffers whose lives do not meet may share bytes: a life is the
span of operations from the first use to the last, stretched over every loop that it enters from outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.llvm.types import struct
from tessera_tools.dialects.nvvm.attributes import LdStMatrixEltTypeAttr, LdStMatrixShapeAttr, MMALayoutAttr
from tessera_tools.ir.builtin_attributes import i32, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I32, VectorType, bit_width
from tessera_tools.layout import (
    LinearLayout,
    MatrixAccess,
    SharedRoundTrip,
    VectorAccess,
    XorExpression,
    matrix_access,
    plan_conversion,
    vector_access,
)
from tessera_tools.passes.llvm.tiles import Buffer, Tile
from tessera_tools.target import Feature, Target

if TYPE_CHECKING:
    from tessera_tools.passes.llvm.emitter import Emitter
    from tessera_tools.passes.llvm.lowering import Lowering

GLOBAL_SMEM = "global_smem"
ALIGNMENT = 1024
"""Bytes; the largest pattern of a hardware swizzle (128-byte mode: 8 lines of 128)."""


@dataclass
class _Life:
    op: Operation
    bytes: int
    first: int
    last: int
    what: str
    offset: int = -1


@dataclass
class Allocation:
    """Byte offsets of every buffer and scratch area of a kernel, by the op that needs it."""

    offsets: dict[Operation, int] = field(default_factory=dict)
    plans: dict[Operation, Any] = field(default_factory=dict)
    total: int = 0


def allocate(function: Any, target: Target) -> Allocation:
    """Place all buffers; an error that says what takes how much if they do not fit."""
    positions: dict[Operation, int] = {}
    ends: dict[Operation, int] = {}
    for op in function.walk():
        positions[op] = len(positions)
    for op in function.walk(post_order=True):
        ends[op] = max([positions[op], *(ends[inner] for r in op.regions for b in r.blocks for inner in b)])
    allocation = Allocation()
    lives: list[_Life] = []
    for op in positions:
        if isinstance(op, nv_tileas.AllocTensor):
            buffer = Buffer(0, op.res.type)
            users = list(op.res.users)
            spans = [_span(op, user, positions, ends) for user in users] or [(positions[op], positions[op])]
            what = f"{buffer.type.stages} stages of tile {'x'.join(map(str, buffer.type.tile))}x{buffer.type.element}"
            lives.append(
                _Life(
                    op,
                    buffer.stage_bytes * buffer.type.stages,
                    min(s for s, _ in spans),
                    max(e for _, e in spans),
                    what,
                )
            )
        elif isinstance(op, nv_tileas.ConvertLayout):
            plan = conversion_plan(op, target)
            allocation.plans[op] = plan
            if isinstance(plan, SharedRoundTrip):
                lives.append(
                    _Life(
                        op,
                        plan.scratch_bytes,
                        positions[op],
                        positions[op],
                        f"a conversion of {_tile_text(op)}",
                    )
                )
    _place(lives, allocation)
    if allocation.total > target.max_shared_per_block:
        listed = "; ".join(
            f"{life.bytes} bytes for {life.what}" for life in sorted(lives, key=lambda v: -v.bytes)
        )
        raise function.error(
            f"needs {allocation.total} bytes of shared memory, but {target.name} has {target.max_shared_per_block} a CTA: {listed}"
        )
    return allocation


def _tile_text(op: Any) -> str:
    type = op.res.type
    return f"tile {'x'.join(map(str, type.shape))}x{type.element}"


def _span(
    alloc: Operation, user: Operation, positions: dict[Operation, int], ends: dict[Operation, int]
) -> tuple[int, int]:
    """The positions over which a use keeps a buffer alive: the whole of every loop between the buffer and the use."""
    outermost = user
    while outermost.parent is not alloc.parent and outermost.parent_op is not None:
        outermost = outermost.parent_op
    return positions[outermost], ends[outermost]


def _place(lives: list[_Life], allocation: Allocation) -> None:
    """First fit, largest first, among buffers whose lives meet."""
    placed: list[_Life] = []
    for life in sorted(lives, key=lambda v: (-v.bytes, v.first)):
        offset = 0
        for other in sorted(
            (o for o in placed if o.first <= life.last and life.first <= o.last), key=lambda o: o.offset
        ):
            if offset + life.bytes <= other.offset:
                break
            offset = max(offset, _aligned(other.offset + other.bytes))
        life.offset = offset
        placed.append(life)
        allocation.offsets[life.op] = offset
        allocation.total = max(allocation.total, offset + life.bytes)


def _aligned(offset: int) -> int:
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def conversion_plan(op: Any, target: Target) -> Any:
    """How a layout conversion is done; stmatrix only where the target has it."""
    source, result = nv_tileas.layout_of(op.source.type), nv_tileas.layout_of(op.res.type)
    return plan_conversion(
        source,
        result,
        bit_width(op.res.type.element),
        matrix_store=target.has(Feature.STMATRIX),
        matrix_load=target.has(Feature.LDMATRIX),
    )


# -- addresses


def stage_pointer(
    low: Lowering, buffer: Buffer, stage: Value, address: XorExpression, index: int, slice_offset: int = 0
) -> Value:
    """The pointer to one access of a stage: the thread's part is hoisted, the stage added, the constant an immediate."""
    e = low.e
    scale = bit_width(buffer.type.element) // 8
    pointer, immediate = _thread_pointer(e, buffer.offset, address, index, scale, slice_offset)
    if buffer.type.stages > 1:
        pointer = e.gep(pointer, e.mul(low.scalar(stage), buffer.stage_bytes))
    return e.gep(pointer, immediate, shared=False)


def _thread_pointer(
    e: Emitter, offset: int, address: XorExpression, index: int, scale: int, slice_offset: int = 0
) -> tuple[Value, int]:
    """(pointer of the thread for this access, immediate bytes) in `global_smem`."""
    constant = address.constants[index] ^ slice_offset
    crossing, apart = constant & address.base_bits, constant & ~address.base_bits
    thread = e.xor(e.thread_part(address, scale), crossing * scale)
    return e.gep(e.address_of(GLOBAL_SMEM), thread), offset + apart * scale


# -- accesses


def store_tile(e: Emitter, tile: Tile, plan: VectorAccess | MatrixAccess, pointer: Any, element: Any) -> None:
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
        packed = e.vector([values[r] for r in group], element)
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


def load_tile(e: Emitter, type: Any, plan: VectorAccess | MatrixAccess, pointer: Any) -> Tile:
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
        vector = VectorType((per,), element)
        for group, word in loaded:
            for register, value in zip(group, e.elements(e.bitcast(word, vector), per, element), strict=True):
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


def full_tile_registers(registers: LinearLayout, tile: tuple[int, ...]) -> LinearLayout:
    """A slice's register layout as one into the whole tile (at its origin)."""
    for d, extent in enumerate(tile):
        registers = registers.resize_out(f"dim{d}", extent)
    return registers


def memory_offset(memory: LinearLayout, coordinates: tuple[int, ...]) -> int:
    """The offset in elements of a place of the tile."""
    place = memory.invert().apply({f"dim{d}": c for d, c in enumerate(coordinates)})
    return place["offset"]


def shared_load_plan(op: Any, target: Target) -> VectorAccess | MatrixAccess:
    """How an nv_tileas.load reads its slice."""
    memory = op.buffer.type.layout.layout
    registers = full_tile_registers(nv_tileas.layout_of(op.res.type), op.buffer.type.tile)
    bits = bit_width(op.res.type.element)
    if target.has(Feature.LDMATRIX):
        plan = matrix_access(registers, memory, bits)
        if isinstance(plan, MatrixAccess):
            return plan
    return vector_access(registers, memory, bits)
