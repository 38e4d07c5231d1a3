"""Shared memory of a kernel: where buffers and scratch lie, and by which instructions it is accessed.

    alloc_tensor, @scratch("op") ──allocate()──▶ a place for each ──record()──▶ {nv_tileas.offset = 1024 : i64}
                                                                  ◀─recorded()─ the lowering to llvm

Buffers and scratch whose lives do not meet may share bytes: a life is the span of operations from the first use to the
last, stretched over every loop that it enters from outside.  Barriers order those who share (`barriers.py`), and no
copy is under way where a life ends.  Where there is no room for the scratch of a conversion, it is done in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

from tessera_tools.analysis.concurrency import run_together
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.builtin_attributes import IntegerAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.types import RankedTensorType, Type
from tessera_tools.layout import (
    Conversion,
    LaneShuffle,
    LinearLayout,
    MatrixAccess,
    PartedRoundTrip,
    RegisterMove,
    VectorAccess,
    matrix_access,
    most_parts,
    parted_round_trip,
    plan_conversion,
    vector_access,
)
from tessera_tools.planning.reductions import scratch_bytes
from tessera_tools.planning.scratch import effect_bytes
from tessera_tools.target import Feature, Target

ALIGNMENT = 1024
"""Bytes; what the kernel's shared memory as a whole is aligned to, the largest pattern of a hardware swizzle."""
BUFFER_ALIGNMENT = 16
"""Bytes; the widest access of one thread (128 bits, ldmatrix rows, cp.async).  Banks need no more: every address of an
access moves by the same number of banks."""
APART_BYTES = 4096
"""Shared memory that a kernel may take only so that its uses lie apart and need no barrier between; too little for a
multiprocessor to run fewer CTAs."""
OFFSET = "nv_tileas.offset"
"""The attribute of an op that needs shared memory: at which byte of the CTA's it has it."""
PARTS = "nv_tileas.parts"
"""The attribute of a convert_layout that is done in so many parts, with scratch for one."""
ALIGN = "nv_tileas.alignment"
"""The attribute of an alloc_tensor whose reader wants more than `BUFFER_ALIGNMENT`."""


def memory_bits(element: Type) -> int:
    """Bits that an element takes in shared memory: whole bytes."""
    return 8 * element_bytes(element)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes of shared memory that an op uses while it runs: it stores to them, waits at a barrier of its own, and loads
    from them, last of all."""

    bytes: int
    what: str
    """What they are for, in an error that lists what does not fit: `a conversion of tile 64x64xf16`."""


_SCRATCH: Registry[Callable[[Any, Target], Scratch | None]] = Registry("use of scratch")
scratch = _SCRATCH.of
"""Register what ops of these names need: a function of an op and the target that gives Scratch, or None."""


def scratch_of(op: Operation, target: Target) -> Scratch | None:
    """The scratch that an op needs; None if it needs none."""
    needed = _SCRATCH.get(op.name)
    return needed(op, target) if needed is not None else None


def needed_bytes(op: Operation, target: Target) -> Scratch | None:
    """What an op needs of shared memory, as a buffer or as scratch; None if nothing."""
    if isinstance(op, nv_tileas.AllocTensor):
        type = op.res.type
        what = f"{type.stages} stages of {tile_text(type.tile, type.element)}"
        return Scratch(stage_bytes(type) * type.stages, what)
    return scratch_of(op, target)


@dataclass
class _Life:
    """The bytes that an op needs from position `first` to position `last` of the walk."""

    op: Operation
    need: Scratch
    first: int
    last: int
    alignment: int
    offset: int = -1
    parts: int = 1

    @property
    def bytes(self) -> int:
        return self.need.bytes

    @property
    def end(self) -> int:
        return self.offset + self.bytes

    def meets(self, other: _Life) -> bool:
        """Whether both are needed at some position, or in regions that run at the same time."""
        return (self.first <= other.last and other.first <= self.last) or run_together(self.op, other.op)


@dataclass
class Allocation:
    """Byte offsets of every buffer and scratch area of a kernel, by the op that needs it."""

    offsets: dict[Operation, int] = field(default_factory=dict)
    sizes: dict[Operation, int] = field(default_factory=dict)
    parts: dict[Operation, int] = field(default_factory=dict)
    """Conversions that are done in more than one part."""
    total: int = 0

    def add(self, op: Operation, offset: int, size: int) -> None:
        """Place an op's bytes."""
        self.offsets[op] = offset
        self.sizes[op] = size
        self.total = max(self.total, offset + size)


def allocate(function: Any, target: Target) -> Allocation:
    """Place all buffers and scratch; an error that says what takes how much if they do not fit."""
    lives = _lives(function, target)
    allocation = _place(lives)
    while allocation.total > target.max_shared_per_block and _split(lives, target):
        allocation = _place(lives)
    if allocation.total > target.max_shared_per_block:
        listed = "; ".join(
            f"{v.bytes} bytes for {v.need.what}" for v in sorted(lives, key=lambda v: -v.bytes)
        )
        raise function.error(
            f"needs {allocation.total} bytes of shared memory, but {target.name} has "
            f"{target.max_shared_per_block} a CTA: {listed}; use smaller tiles"
        )
    return allocation


def record(allocation: Allocation) -> None:
    """Write the places on the ops."""
    for op, offset in allocation.offsets.items():
        op.attributes[OFFSET] = i64(offset)
    for op, parts in allocation.parts.items():
        op.attributes[PARTS] = i64(parts)


def recorded(function: Any, target: Target) -> Allocation:
    """The places written on the ops of a function; an error where one is missing, or beyond the target's memory."""
    allocation = Allocation()
    for op in function.walk():
        need = needed_bytes(op, target)
        if need is None:
            continue
        offset = op.attributes.get(OFFSET)
        if not isinstance(offset, IntegerAttr):
            raise op.error("has no place in shared memory; run --tileas-insert-barriers first")
        if not 0 <= offset.value <= target.max_shared_per_block - need.bytes:
            raise op.error(
                f"has {need.bytes} bytes at {OFFSET} = {offset.value}, but {target.name} has "
                f"{target.max_shared_per_block} bytes of shared memory a CTA"
            )
        allocation.add(op, offset.value, need.bytes)
    return allocation


def overlaps(function: Any, target: Target, allocation: Allocation) -> Iterator[DiagnosticError]:
    """An error for each op whose bytes are not aligned, or are those of another op while both are needed."""
    lives = [life for life in _lives(function, target) if life.op in allocation.offsets]
    for number, life in enumerate(lives):
        life.offset = allocation.offsets[life.op]
        if life.offset % life.alignment:
            yield life.op.error(f"has {OFFSET} = {life.offset}; expected a multiple of {life.alignment}")
        for other in lives[:number]:
            if life.meets(other) and life.offset < other.end and other.offset < life.end:
                yield life.op.error(
                    f"has {life.bytes} bytes at {OFFSET} = {life.offset}, which overlap the {other.bytes} bytes at "
                    f"{other.offset} for {other.need.what}, needed at the same time"
                )
                break


def _lives(function: Any, target: Target) -> list[_Life]:
    positions: dict[Operation, int] = {}
    ends: dict[Operation, int] = {}
    for op in function.walk():
        positions[op] = len(positions)
    for op in function.walk(post_order=True):
        ends[op] = max([positions[op], *(ends[inner] for r in op.regions for b in r.blocks for inner in b)])
    lives: list[_Life] = []
    for op, position in positions.items():
        need = needed_bytes(op, target)
        if need is None:
            continue
        spans = [(position, position)]
        if isinstance(op, nv_tileas.AllocTensor):
            users = _users(op.res)
            landings = [_landing(op, user) for user in users if isinstance(user, nv_tileas.AsyncTiledCopy)]
            spans = [_span(op, use, positions, ends) for use in (*users, *landings)] or spans
        elif isinstance(op, nv_tileas.CreatePipeline):
            # Its barriers are waited for as long as there are iterators.
            spans = [(position, len(positions))]
        switch = _outermost_switch(op)
        if switch is not None:
            # Agents run at the same time.
            spans.append((positions[switch], ends[switch]))
        alignment = op.attributes.get(ALIGN)
        lives.append(
            _Life(
                op,
                need,
                min(first for first, _ in spans),
                max(last for _, last in spans),
                alignment.value if isinstance(alignment, IntegerAttr) else BUFFER_ALIGNMENT,
            )
        )
    return lives


def _users(buffer: Value) -> list[Operation]:
    """The ops that use a buffer, or a stage of it."""
    found: list[Operation] = []
    for user in buffer.users:
        found.append(user)
        if isinstance(user, nv_tileas.View):
            found += _users(user.res)
    return found


def _outermost_switch(op: Operation) -> Operation | None:
    found = None
    while (outer := op.parent_op) is not None:
        found = outer if isinstance(outer, nv_tileas.AgentSwitch) else found
        op = outer
    return found


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


def _landing(alloc: Operation, copy: Operation) -> Operation:
    """The wait behind which a copy no longer fills a buffer: the first that leaves fewer groups than have been
    committed since the copy; the last op of the buffer's block if there is none.  Only commits and waits that the
    copy is certain to come to count."""
    groups = 0
    here = copy
    while True:
        block = here.parent
        assert block is not None
        op = here.next_op
        while op is not None:
            if isinstance(op, nv_tileas.AsyncCommitGroup):
                groups += 1
            elif isinstance(op, nv_tileas.AsyncWaitGroup) and op.pending.value < groups:
                return op
            op = op.next_op
        if block is alloc.parent or here.parent_op is None:
            return block.last_op or copy
        here = here.parent_op


def _place(lives: list[_Life]) -> Allocation:
    """Place all lives: apart where that takes no more bytes, or few, else on bytes of others that they do not meet."""
    shared = _first_fit(lives, 0)
    room = max(shared.total, APART_BYTES)
    apart = _first_fit(lives, room)
    return apart if apart.total <= room else _first_fit(lives, 0)


def _first_fit(lives: list[_Life], room: int) -> Allocation:
    """First fit, largest first: apart from all others if that ends within `room`, else from those whose lives meet."""
    allocation = Allocation()
    placed: list[_Life] = []
    for life in sorted(lives, key=lambda v: (-v.bytes, v.first)):
        life.offset = _fit(life, placed)
        if life.end > room:
            life.offset = _fit(life, [other for other in placed if life.meets(other)])
        placed.append(life)
        allocation.add(life.op, life.offset, life.bytes)
        if life.parts > 1:
            allocation.parts[life.op] = life.parts
    return allocation


def _fit(life: _Life, others: list[_Life]) -> int:
    """The first offset at which a life overlaps none of the others."""
    offset = 0
    for other in sorted(others, key=lambda o: o.offset):
        if offset + life.bytes <= other.offset:
            break
        offset = max(offset, -(-other.end // life.alignment) * life.alignment)
    return offset


def _split(lives: list[_Life], target: Target) -> bool:
    """Halve the scratch of the largest conversion in the way of what does not fit; whether there was one."""
    beyond = [life for life in lives if life.end > target.max_shared_per_block]
    for life in sorted(lives, key=lambda v: -v.bytes):
        op = life.op
        if not isinstance(op, nv_tileas.ConvertLayout) or not any(map(life.meets, beyond)):
            continue
        if 2 * life.parts <= most_parts(
            nv_tileas.layout_of(op.source.type), nv_tileas.layout_of(op.res.type)
        ):
            life.parts *= 2
            plan = conversion_plan(op, target, life.parts)
            assert isinstance(plan, PartedRoundTrip)
            life.need = _conversion(op, plan.scratch_bytes)
            return True
    return False


@scratch("nv_tileas.convert_layout")
def _conversion_scratch(op: nv_tileas.ConvertLayout, target: Target) -> Scratch | None:
    plan = conversion_plan(op, target)
    return None if isinstance(plan, RegisterMove | LaneShuffle) else _conversion(op, plan.scratch_bytes)


def _conversion(op: nv_tileas.ConvertLayout, size: int) -> Scratch:
    return Scratch(size, f"a conversion of {tile_text(op.res.type.shape, op.res.type.element)}")


@scratch("nv_tileas.async.pipeline.create_pipeline")
def _barrier_scratch(op: nv_tileas.CreatePipeline, target: Target) -> Scratch | None:
    """Two mbarriers of 8 bytes a stage."""
    return Scratch(16 * op.stages.value, f"the barriers of {op.stages.value} stages")


@scratch("nv_tileaa.reduce", "nv_tileaa.scan")
def _combining_scratch(op: nv_tileaa.Reduce | nv_tileaa.Scan, target: Target) -> Scratch | None:
    needed = scratch_bytes(op)
    type: Any = op.sources[0].type
    what = f"a {op.name.partition('.')[2]} of {tile_text(type.shape, type.element)}"
    return Scratch(needed, what) if needed else None


@scratch(
    "nv_tileaa.heap_alloc",
    "nv_tileaa.print",
    "nv_tileaa.assert",
    "nv_tileaa.atomic_rmw",
    "nv_tileaa.atomic_cas",
    "nv_tileaa.atomic_load",
    "nv_tileaa.multimem_load_reduce",
)
def _effect_scratch(op: Operation, target: Target) -> Scratch | None:
    needed = effect_bytes(op)
    tiles: list[Any] = [v.type for v in op.operands if isinstance(v.type, RankedTensorType)]
    of = f" of {', '.join(tile_text(type.shape, type.element) for type in tiles)}" if tiles else ""
    return Scratch(needed, f"a {op.name.partition('.')[2]}{of}") if needed else None


def conversion_plan(
    op: nv_tileas.ConvertLayout, target: Target, parts: int | None = None
) -> Conversion | PartedRoundTrip:
    """How a layout conversion is done; stmatrix only where the target has it.

    `parts`: in how many; None for as many as the op says.  LayoutError if there cannot be so many.
    """
    if parts is None:
        said = op.attributes.get(PARTS)
        parts = said.value if isinstance(said, IntegerAttr) else 1
    return _planned(
        nv_tileas.layout_of(op.source.type),
        nv_tileas.layout_of(op.res.type),
        parts,
        memory_bits(op.res.type.element),
        target.has(Feature.STMATRIX),
        target.has(Feature.LDMATRIX),
    )


# The same few layouts are planned for again and again: by slice of a dot, by pass, and by kernel of a module.
@lru_cache(maxsize=256)
def _planned(
    src: LinearLayout, dst: LinearLayout, parts: int, bits: int, matrix_store: bool, matrix_load: bool
) -> Conversion | PartedRoundTrip:
    plan = plan_conversion(src, dst, bits, matrix_store, matrix_load)
    if parts == 1 or isinstance(plan, RegisterMove | LaneShuffle):
        return plan
    return parted_round_trip(src, dst, parts, bits, matrix_store, matrix_load)


def full_tile_registers(registers: LinearLayout, tile: tuple[int, ...]) -> LinearLayout:
    """A slice's register layout as one into the whole tile (at its origin)."""
    for d, extent in enumerate(tile):
        registers = registers.resize_out(f"dim{d}", extent)
    return registers


def shared_load_plan(op: nv_tileas.Load, target: Target) -> VectorAccess | MatrixAccess:
    """How an nv_tileas.load reads its slice: by vector loads of the width that its atom says, or by ldmatrix where the
    layouts allow that."""
    type = op.buffer.type
    if type.layout is None:
        raise op.error(f"reads from a buffer without a layout: {type}")
    registers = full_tile_registers(nv_tileas.layout_of(op.res.type), type.tile)
    bits = memory_bits(type.element)
    if op.atom.primitive == "lds":
        return vector_access(registers, type.layout.layout, bits, op.atom.bits)
    return slice_plan(registers, type.layout.layout, bits, target)


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
        return CopyAtomAttr.make(75, "ldmatrix_trans" if plan.trans else "ldmatrix", plan.num, element)
    return CopyAtomAttr.make(80, "lds", plan.bits, element)
