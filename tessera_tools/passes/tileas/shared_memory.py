"""Shared memory of a kernel: where buffers and scratch lie, and by which instructions it is accessed.

Buffers whose lives do not meet may share bytes: a life is the span of operations from the first use to the last,
stretched over every loop that it enters from outside.  Who writes to bytes that may have been another's puts a barrier
before: a conversion before its store, a pipelined loop before its first copies, a staged load before its store; and a
pipelined loop leaves no copy under way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import Type
from tessera_tools.layout import (
    Conversion,
    LinearLayout,
    MatrixAccess,
    SharedRoundTrip,
    VectorAccess,
    matrix_access,
    plan_conversion,
    vector_access,
)
from tessera_tools.target import Feature, Target

ALIGNMENT = 1024
"""Bytes; the largest pattern of a hardware swizzle (128-byte mode: 8 lines of 128)."""


def memory_bits(element: Type) -> int:
    """Bits that an element takes in shared memory: whole bytes."""
    return max(8, storage_bits(element))


@dataclass
class _Life:
    """The bytes that an op needs from position `first` to position `last` of the walk."""

    op: Operation
    bytes: int
    first: int
    last: int
    what: str
    """What takes the bytes, for the error if they do not fit."""
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
    for op, position in positions.items():
        if isinstance(op, nv_tileas.AllocTensor):
            type = op.res.type
            spans = [_span(op, user, positions, ends) for user in op.res.users] or [(position, position)]
            first, last = min(start for start, _ in spans), max(end for _, end in spans)
            what = f"{type.stages} stages of {tile_text(type.tile, type.element)}"
            lives.append(_Life(op, stage_bytes(type) * type.stages, first, last, what))
        elif isinstance(op, nv_tileas.ConvertLayout):
            plan = allocation.plans[op] = conversion_plan(op, target)
            if isinstance(plan, SharedRoundTrip):
                what = f"a conversion of {tile_text(op.res.type.shape, op.res.type.element)}"
                lives.append(_Life(op, plan.scratch_bytes, position, position, what))
    _place(lives, allocation)
    if allocation.total > target.max_shared_per_block:
        listed = "; ".join(f"{v.bytes} bytes for {v.what}" for v in sorted(lives, key=lambda v: -v.bytes))
        raise function.error(
            f"needs {allocation.total} bytes of shared memory, but {target.name} has "
            f"{target.max_shared_per_block} a CTA: {listed}; use smaller tiles"
        )
    return allocation


def tile_text(shape: tuple[int, ...], element: Type) -> str:
    """`tile 128x64xf16`, for messages."""
    return f"tile {'x'.join(map(str, (*shape, element)))}"


def stage_bytes(type: nv_tileas.SmemType) -> int:
    """Bytes of one stage of a buffer."""
    return prod(type.tile) * memory_bits(type.element) // 8


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


def conversion_plan(op: nv_tileas.ConvertLayout, target: Target) -> Conversion:
    """How a layout conversion is done; stmatrix only where the target has it."""
    return _planned(
        nv_tileas.layout_of(op.source.type),
        nv_tileas.layout_of(op.res.type),
        memory_bits(op.res.type.element),
        target.has(Feature.STMATRIX),
        target.has(Feature.LDMATRIX),
    )


# The same few layouts are planned for again and again: by slice of a dot, by pass, and by kernel of a module.
_planned = lru_cache(maxsize=256)(plan_conversion)


def full_tile_registers(registers: LinearLayout, tile: tuple[int, ...]) -> LinearLayout:
    """A slice's register layout as one into the whole tile (at its origin)."""
    for d, extent in enumerate(tile):
        registers = registers.resize_out(f"dim{d}", extent)
    return registers


def shared_load_plan(op: nv_tileas.Load, target: Target) -> VectorAccess | MatrixAccess:
    """How an nv_tileas.load reads its slice: by ldmatrix where the layouts allow it, else by vector loads."""
    type = op.buffer.type
    if type.layout is None:
        raise op.error(f"reads from a buffer without a layout: {type}")
    registers = full_tile_registers(nv_tileas.layout_of(op.res.type), type.tile)
    return slice_plan(registers, type.layout.layout, memory_bits(type.element), target)


def slice_plan(
    registers: LinearLayout, memory: LinearLayout, bits: int, target: Target
) -> VectorAccess | MatrixAccess:
    """How registers (laid out in the whole tile) are read from a buffer."""
    return _slice_plan(registers, memory, bits, target.has(Feature.LDMATRIX))


@lru_cache(maxsize=256)
def _slice_plan(
    registers: LinearLayout, memory: LinearLayout, bits: int, by_matrix: bool
) -> VectorAccess | MatrixAccess:
    plan = matrix_access(registers, memory, bits) if by_matrix else None
    return plan if isinstance(plan, MatrixAccess) else vector_access(registers, memory, bits)


def access_atom(plan: VectorAccess | MatrixAccess, element: Type) -> CopyAtomAttr:
    """The copy atom that names what a plan does."""
    if isinstance(plan, MatrixAccess):
        return CopyAtomAttr.make(75, "ldmatrix_trans" if plan.trans else "ldmatrix", f"x{plan.num}", element)
    return CopyAtomAttr.make(80, "lds", plan.bits, element)
