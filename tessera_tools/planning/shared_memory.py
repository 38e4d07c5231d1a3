"""Shared memory of a kernel: the offsets of buffers and scratch, and the instructions that access them.

    alloc_tensor, @scratch("op") ──allocate()──▶ a place for each ──record()──▶ {nv_tileas.offset = 1024 : i64}
                                                                  ◀─recorded()─ the lowering to llvm

Buffers and scratch with disjoint live ranges may share bytes. A live range is the span of operations from the first use
to the last, extended over every loop that it enters from outside.  Barriers order the accesses to shared bytes
(`barriers.py`), and no copy is in flight at the end of a live range.  If the scratch of a conversion does not fit, the
conversion is split into parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from math import prod
from typing import Any

from tessera_tools.analysis.concurrency import run_together
from tessera_tools.analysis.hazards import GROUPS, commits, waits
from tessera_tools.analysis.storage import padded_bits
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.atoms import COPIES
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.builtin_attributes import IntegerAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import NO_EFFECT, Completion, accesses
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.types import RankedTensorType, Type
from tessera_tools.layout import (
    Conversion,
    LaneShuffle,
    LayoutError,
    LinearLayout,
    MatrixAccess,
    PartedRoundTrip,
    Refused,
    RegisterMove,
    VectorAccess,
    most_parts,
    parted_round_trip,
    plan_conversion,
)
from tessera_tools.layout.access import MAX_VECTOR_BITS
from tessera_tools.planning.reductions import scratch_bytes
from tessera_tools.planning.scratch import PARTS, declared_parts, effect_bytes, exchange_places, scatter_plan
from tessera_tools.records import dataclass, field
from tessera_tools.target import Feature, Target

ALIGNMENT = 1024
"""Alignment in bytes of the kernel's shared memory as a whole: the largest pattern of a hardware swizzle."""
BUFFER_ALIGNMENT = 16
"""Alignment in bytes: the widest access of one thread (128 bits, ldmatrix rows, cp.async).  Banks need no larger
alignment, because all addresses of an access move by the same number of banks."""
STAGE_ALIGNMENT = 128
"""Alignment in bytes of each stage of a buffer that has several: what TMA requires without a swizzle."""
APART_BYTES = 4096
"""Extra shared memory that a kernel may take to keep its uses apart, so that they need no barrier between them.  It is
too little to reduce the number of CTAs on a multiprocessor."""
OFFSET = "nv_tileas.offset"
"""The attribute of an op that needs shared memory: its byte offset in the CTA's shared memory."""
ALIGN = "nv_tileas.alignment"
"""The attribute of an alloc_tensor whose reader requires a larger alignment than `BUFFER_ALIGNMENT`."""

_SHARE = 4
"""The fraction of shared memory (1/n) that pipelines leave for other buffers."""
_FEWEST_OTHERS = 16 * 1024
"""Bytes for other buffers that pipelines leave in any case: conversions are then done in parts."""


def pipeline_room(target: Target, *, at_most: bool = False) -> int:
    """Returns the bytes of shared memory that the buffers of pipelines may take; `at_most`: if they have no second
    stage otherwise."""
    if at_most:
        return target.max_shared_per_block - _FEWEST_OTHERS
    return target.max_shared_per_block * (_SHARE - 1) // _SHARE


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes of shared memory that an op uses while it runs.

    The op stores to them, waits at its own barrier, and loads from them as its last step.
    """

    bytes: int
    what: str
    """Their purpose, in an error that lists buffers that do not fit: `a conversion of tile 64x64xf16`."""


_SCRATCH: Registry[Callable[[Any, Target], Scratch | None]] = Registry("use of scratch")
scratch = _SCRATCH.of
"""Register what ops of these names need: a function of an op and the target that gives Scratch, or None."""


def scratch_of(op: Operation, target: Target) -> Scratch | None:
    """Returns the scratch that an op needs; None if it needs none."""
    needed = _SCRATCH.get(op.name)
    return needed(op, target) if needed is not None else None


def needed_bytes(op: Operation, target: Target) -> Scratch | None:
    """Returns the shared memory that an op needs as a buffer or as scratch; None if it needs none."""
    if isinstance(op, nv_tileas.AllocTensor):
        type = op.res.type
        what = f"{type.stages} stage{'s' if type.stages > 1 else ''} of {tile_text(type.tile, type.element)}"
        return Scratch(stage_bytes(type) * type.stages, what)
    return scratch_of(op, target)


@dataclass
class Life:
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

    def overlaps(self, other: Life) -> bool:
        """Returns true if both are live at some position, or in regions that run at the same time."""
        return (self.first <= other.last and other.first <= self.last) or run_together(self.op, other.op)


@dataclass
class Allocation:
    """Byte offsets of every buffer and scratch area of a kernel, by the op that needs it."""

    offsets: dict[Operation, int] = field(default_factory=dict)
    sizes: dict[Operation, int] = field(default_factory=dict)
    parts: dict[Operation, int] = field(default_factory=dict)
    """Conversions that are split into more than one part."""
    total: int = 0

    def add(self, op: Operation, offset: int, size: int) -> None:
        """Records the place of an op's bytes."""
        self.offsets[op] = offset
        self.sizes[op] = size
        self.total = max(self.total, offset + size)


def allocate(function: Operation, target: Target, without: Collection[Operation] = ()) -> Allocation:
    """Places all buffers and scratch except those of `without`.

    If they do not fit, the error lists the bytes of each of them.
    """
    lives = [life for life in lives_of(function, target) if life.op not in without]
    allocation = _place(lives)
    while allocation.total > target.max_shared_per_block and _split(lives, target):
        allocation = _place(lives)
    if allocation.total > target.max_shared_per_block:
        listed = "; ".join(
            f"{v.bytes} bytes for {v.need.what}" for v in sorted(lives, key=lambda v: -v.bytes)
        )
        raise function.error(
            f"needs {allocation.total} bytes of shared memory, but {target.name} has "
            f"{target.max_shared_per_block} per CTA: {listed}; use smaller tiles"
        )
    return allocation


def record(allocation: Allocation) -> None:
    """Writes the offsets to attributes of the ops."""
    for op, offset in allocation.offsets.items():
        op.attributes[OFFSET] = i64(offset)
    for op, parts in allocation.parts.items():
        op.attributes[PARTS] = i64(parts)


def recorded(function: Operation, target: Target) -> Allocation:
    """Reads the offsets from the ops of a function.

    Reports an error if an offset is missing or beyond the target's memory.
    """
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
                f"{target.max_shared_per_block} bytes of shared memory per CTA"
            )
        allocation.add(op, offset.value, need.bytes)
    return allocation


def overlaps(function: Operation, target: Target, allocation: Allocation) -> Iterator[DiagnosticError]:
    """Yields an error for each op whose bytes are misaligned, or overlap those of another op while both are live."""
    lives = [life for life in lives_of(function, target) if life.op in allocation.offsets]
    for number, life in enumerate(lives):
        life.offset = allocation.offsets[life.op]
        if life.offset % life.alignment:
            yield life.op.error(f"has {OFFSET} = {life.offset}; expected a multiple of {life.alignment}")
        for other in lives[:number]:
            if life.overlaps(other) and life.offset < other.end and other.offset < life.end:
                yield life.op.error(
                    f"has {life.bytes} bytes at {OFFSET} = {life.offset}, which overlap the {other.bytes} bytes at "
                    f"{other.offset} for {other.need.what}, needed at the same time"
                )
                break


def lives_of(function: Operation, target: Target) -> list[Life]:
    """The bytes of shared memory that each op of a function needs, and when; `offset` is not set."""
    positions: dict[Operation, int] = {}
    ends: dict[Operation, int] = {}
    for op in function.walk():
        positions[op] = len(positions)
    for op in function.walk(post_order=True):
        ends[op] = max([positions[op], *(ends[inner] for r in op.regions for b in r.blocks for inner in b)])
    lives: list[Life] = []
    for op, position in positions.items():
        need = needed_bytes(op, target)
        if need is None:
            continue
        spans = [(position, position)]
        if isinstance(op, nv_tileas.AllocTensor):
            users = _users(op.res)
            landings = [_landing(op, user, by) for user in users for by in _completions(user, op)]
            spans = [_span(op, use, positions, ends) for use in (*users, *landings)] or spans
        elif isinstance(op, nv_tileas.CreatePipeline | nv_tileas.AllocTmem):
            # Its barriers are waited for as long as there are iterators; no barrier is behind the read of an address.
            spans = [(position, len(positions) - 1)]
        alignment = op.attributes.get(ALIGN)
        lives.append(
            Life(
                op,
                need,
                min(first for first, _ in spans),
                max(last for _, last in spans),
                alignment.value if isinstance(alignment, IntegerAttr) else BUFFER_ALIGNMENT,
            )
        )
    return lives


def _users(buffer: Value) -> list[Operation]:
    """Returns the ops that use a buffer or a stage of it."""
    found: list[Operation] = []
    for user in buffer.users:
        found.append(user)
        if isinstance(user, nv_tileas.View):
            found += _users(user.res)
    return found


def _completions(user: Operation, buffer: Operation) -> set[Completion]:
    """The kinds of groups by which an op's accesses of a buffer complete; empty if they complete with the op."""
    return {
        effect.completion
        for effect, value in accesses(user)
        if effect.completion in GROUPS and value is not None and nv_tileas.storage_of(value) is buffer
    }


def tile_text(shape: tuple[int, ...], element: Type) -> str:
    """`tile 128x64xf16`, for messages."""
    return f"tile {'x'.join(map(str, (*shape, element)))}"


def stage_bytes(type: nv_tileas.SmemType) -> int:
    """Returns the bytes from one stage of a buffer to the next; of a single stage, its bytes."""
    size = prod(type.tile) * padded_bits(type.element) // 8
    return stage_stride(size) if type.stages > 1 else size


def stage_stride(size: int) -> int:
    """Returns the bytes from one stage of `size` bytes to the next."""
    return -(-size // STAGE_ALIGNMENT) * STAGE_ALIGNMENT


def _span(
    alloc: Operation, user: Operation, positions: dict[Operation, int], ends: dict[Operation, int]
) -> tuple[int, int]:
    """The positions over which a use keeps a buffer alive: the whole of every loop between the buffer and the use."""
    outermost = user
    while outermost.parent is not alloc.parent and outermost.parent_op is not None:
        outermost = outermost.parent_op
    return positions[outermost], ends[outermost]


def _landing(alloc: Operation, copy: Operation, by: Completion) -> Operation:
    """Returns the wait after which a copy or product no longer accesses a buffer.

    It is the first wait that leaves fewer groups pending than were committed since the copy began. If there is none, it
    is the last op of the buffer's block.  Only commits and waits that are certain to run count.
    """
    groups = int(by in commits(copy.effects() or NO_EFFECT))
    here = copy
    while True:
        block = here.parent
        assert block is not None
        op = here.next_op
        while op is not None:
            effects = op.effects() or NO_EFFECT
            groups += by in commits(effects)
            if waits(effects).get(by, groups) < groups:
                return op
            op = op.next_op
        if block is alloc.parent or here.parent_op is None:
            return block.last_op or copy
        here = here.parent_op


def _place(lives: list[Life]) -> Allocation:
    """Places all live ranges: apart if that takes few or no extra bytes, else on bytes of disjoint live ranges."""
    shared = _first_fit(lives, 0)
    room = max(shared.total, APART_BYTES)
    apart = _first_fit(lives, room)
    return apart if apart.total <= room else _first_fit(lives, 0)


def _first_fit(lives: list[Life], room: int) -> Allocation:
    """First fit, largest first: apart from all others if that fits in `room`, else only from overlapping ranges."""
    allocation = Allocation()
    placed: list[Life] = []
    for life in sorted(lives, key=lambda v: (-v.bytes, v.first)):
        life.offset = _fit(life, placed)
        if life.end > room:
            life.offset = _fit(life, [other for other in placed if life.overlaps(other)])
        placed.append(life)
        allocation.add(life.op, life.offset, life.bytes)
        if life.parts > 1:
            allocation.parts[life.op] = life.parts
    return allocation


def _fit(life: Life, others: list[Life]) -> int:
    """Returns the first offset at which a live range shares no bytes with the others."""
    offset = 0
    for other in sorted(others, key=lambda o: o.offset):
        if offset + life.bytes <= other.offset:
            break
        offset = max(offset, -(-other.end // life.alignment) * life.alignment)
    return offset


def _split(lives: list[Life], target: Target) -> bool:
    """Halves the scratch of the largest conversion or exchange that conflicts with what does not fit.

    Returns false if there is none.
    """
    beyond = [life for life in lives if life.end > target.max_shared_per_block]
    for life in sorted(lives, key=lambda v: -v.bytes):
        op = life.op
        if not any(map(life.overlaps, beyond)):
            continue
        if isinstance(op, nv_tileas.ClusterReduceScatter) and 2 * life.parts <= scatter_plan(op).vectors:
            life.parts *= 2
            life.need = _rounds(op, life.parts)
            return True
        if not isinstance(op, nv_tileas.ConvertLayout):
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
    return Scratch(16 * op.barriers, f"the barriers of {op.stages.value} stages")


@scratch("nv_tileas.alloc_tmem")
def _address_scratch(op: nv_tileas.AllocTmem, target: Target) -> Scratch | None:
    """tcgen05.alloc writes the address to shared memory."""
    return Scratch(4, "the address of tensor memory")


@scratch("nv_tileaa.reduce", "nv_tileaa.scan")
def _combining_scratch(op: nv_tileaa.Reduce | nv_tileaa.Scan, target: Target) -> Scratch | None:
    needed = scratch_bytes(op)
    type = op.sources[0].type
    what = f"a {op.name.partition('.')[2]} of {tile_text(type.shape, type.element)}"
    return Scratch(needed, what) if needed else None


@scratch("nv_tileas.cluster_reduce")
def _exchange_scratch(op: nv_tileas.ClusterReduce, target: Target) -> Scratch | None:
    last = exchange_places(op)[-1]
    return Scratch(last.offset + last.registers * last.step, "an exchange with other CTAs")


@scratch("nv_tileas.cluster_reduce_scatter")
def _scatter_scratch(op: nv_tileas.ClusterReduceScatter, target: Target) -> Scratch | None:
    return _rounds(op, declared_parts(op))


def _rounds(op: nv_tileas.ClusterReduceScatter, rounds: int) -> Scratch:
    return Scratch(scatter_plan(op, rounds).scratch, "an exchange of sums with other CTAs")


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
    tiles = [v.type for v in op.operands if isinstance(v.type, RankedTensorType)]
    of = f" of {', '.join(tile_text(type.shape, type.element) for type in tiles)}" if tiles else ""
    return Scratch(needed, f"a {op.name.partition('.')[2]}{of}") if needed else None


def conversion_plan(
    op: nv_tileas.ConvertLayout, target: Target, parts: int | None = None
) -> Conversion | PartedRoundTrip:
    """Returns the plan of a layout conversion. It uses stmatrix only if the target has it.

    `parts` is the number of parts; None uses the op's.  Raises LayoutError if it cannot be split so often.
    """
    if parts is None:
        parts = declared_parts(op)
    return _planned(
        nv_tileas.layout_of(op.source.type),
        nv_tileas.layout_of(op.res.type),
        parts,
        padded_bits(op.res.type.element),
        target.has(Feature.STMATRIX),
        target.has(Feature.LDMATRIX),
    )


# Slices of a dot, passes and kernels of a module request plans for the same few layouts many times.
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
    """Returns the plan by which an nv_tileas.load reads its slice.

    It follows the atom, or uses vector loads if the target or the layouts do not allow the atom.
    """
    type = op.buffer.type
    if type.layout is None:
        raise op.error(f"reads from a buffer without a layout: {type}")
    registers = full_tile_registers(nv_tileas.layout_of(op.res.type), type.tile)
    words = dict.fromkeys((op.atom.primitive, "lds"))
    bits = padded_bits(type.element)
    return access_plan(tuple(words), registers, type.layout.layout, bits, target, op.atom.bits)


def shared_store_plan(op: nv_tileas.Store) -> VectorAccess | MatrixAccess:
    """Returns the plan by which an nv_tileas.store writes its tile.

    It uses stmatrix if the atom specifies it and the layouts allow it. Otherwise, it uses vector stores of at most the
    atom's width.
    """
    type = op.buffer.type
    if type.layout is None:
        raise op.error(f"writes to a buffer without a layout: {type}")
    registers, bits = (
        full_tile_registers(nv_tileas.layout_of(op.value.type), type.tile),
        padded_bits(type.element),
    )
    words = dict.fromkeys((op.atom.primitive, "sts"))
    return _access_plan(tuple(words), registers, type.layout.layout, bits, op.atom.bits or MAX_VECTOR_BITS)


def store_atom(plan: VectorAccess | MatrixAccess, element: Type) -> CopyAtomAttr:
    """Returns the copy atom for the plan of a store."""
    if isinstance(plan, MatrixAccess):
        return CopyAtomAttr.make(90, "stmatrix_trans" if plan.trans else "stmatrix", plan.num, element)
    return CopyAtomAttr.make(80, "sts", plan.bits, element)


def narrowest(element: Type, word: str = "sts") -> CopyAtomAttr:
    """The atom of a store to shared memory, or of a load (`lds`), before layouts are known."""
    return CopyAtomAttr.make(80, word, padded_bits(element), element)


def fit_access(op: nv_tileas.Store | nv_tileas.Load, target: Target | None) -> None:
    """Sets the atom of an access to shared memory to the one that takes the fewest cycles for its layouts."""
    layout = op.buffer.type.layout
    if layout is None:
        return
    if isinstance(op, nv_tileas.Load):
        registers = full_tile_registers(nv_tileas.layout_of(op.res.type), op.buffer.type.tile)
        bits = padded_bits(op.res.type.element)
        words = ("ldmatrix", "lds") if target is not None and target.has(Feature.LDMATRIX) else ("lds",)
        op.atom = access_atom(
            _access_plan(words, registers, layout.layout, bits, MAX_VECTOR_BITS), op.res.type.element
        )
        return
    registers = full_tile_registers(nv_tileas.layout_of(op.value.type), op.buffer.type.tile)
    bits = padded_bits(op.value.type.element)
    plan = best_store(registers, layout.layout, bits, target)
    op.atom = store_atom(plan, op.value.type.element)


def best_store(
    registers: LinearLayout, memory: LinearLayout, bits: int, target: Target | None
) -> VectorAccess | MatrixAccess:
    """Returns the plan to write a tile to a buffer: stmatrix if it takes no more cycles than vector stores."""
    vector = _access_plan(("sts",), registers, memory, bits, MAX_VECTOR_BITS)
    if target is None or not target.has(Feature.STMATRIX):
        return vector
    matrix = _access_plan(("stmatrix", "stmatrix_trans", "sts"), registers, memory, bits, MAX_VECTOR_BITS)
    return matrix if matrix.banks.total <= vector.banks.total else vector


def slice_plan(
    registers: LinearLayout, memory: LinearLayout, bits: int, target: Target
) -> VectorAccess | MatrixAccess:
    """Returns the plan to read registers (laid out in the whole tile) from a buffer."""
    return access_plan(("ldmatrix", "lds"), registers, memory, bits, target)


def access_plan(
    primitives: tuple[str, ...],
    registers: LinearLayout,
    memory: LinearLayout,
    bits: int,
    target: Target,
    width: int = 0,
) -> VectorAccess | MatrixAccess:
    """Returns the plan to move data between registers and shared memory.

    It uses the first primitive (dialects/atoms.py) that the target has and the layouts allow. `width` is the width of
    one access in bits; 0 selects the widest.
    """
    needs = {word: COPIES[word].feature for word in primitives}
    known = (word for word, feature in needs.items() if feature is None or target.has(feature))
    return _access_plan(tuple(known), registers, memory, bits, width or MAX_VECTOR_BITS)


@lru_cache(maxsize=512)
def _access_plan(
    primitives: tuple[str, ...], registers: LinearLayout, memory: LinearLayout, bits: int, width: int
) -> VectorAccess | MatrixAccess:
    for word in primitives:
        access = COPIES[word].access
        assert access is not None, f"the table of atoms has no shared-memory access for {word}"
        plan = access(registers, memory, bits, width)
        if not isinstance(plan, Refused):
            return plan
    raise LayoutError(f"none of {', '.join(primitives)} moves between {registers} and {memory}")


def access_atom(plan: VectorAccess | MatrixAccess, element: Type) -> CopyAtomAttr:
    """Returns the copy atom for a plan."""
    if isinstance(plan, MatrixAccess):
        return CopyAtomAttr.make(75, "ldmatrix_trans" if plan.trans else "ldmatrix", plan.num, element)
    return CopyAtomAttr.make(80, "lds", plan.bits, element)
