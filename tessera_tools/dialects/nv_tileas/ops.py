"""The `nv_tileas` dialect (stage 3): tile programs with layouts, buffers and asynchronous copies made explicit.

Every tensor's type carries its layout, `tensor<128x64xf16, #nv_tileas.linear<{register = …, lane = …, warp = …}>>`:
which thread holds which elements.  Shared memory is `!nv_tileas.smem<stages x tile, layout>`.
"""

from __future__ import annotations

from tessera_tools.dialects.atoms import MmaAtom, check_emitter, scale_vector, signless
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileaa import (
    COPY_ATOM,
    TOKEN,
    VIEW,
    MemRefType,
    PaddingAttr,
    verify_access,
    verify_dot,
)
from tessera_tools.dialects.nv_tileas.base import (
    SMEM,
    HasStage,
    SmemType,
    rounds,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.interfaces import TileAccess
from tessera_tools.ir.types import (
    F32,
    I1,
    I32,
    I64,
    FloatType,
    IntegerType,
    RankedTensorType,
    VectorType,
    element_type,
)
from tessera_tools.opdef import (
    ALLOCATE,
    ANY_RANKED_TENSOR,
    I32_ATTR,
    I64_ARRAY,
    IN_ORDER,
    PURE,
    STRING_ATTR,
    SYNCHRONIZES,
    UNIT_ATTR,
    Completion,
    MemoryEffects,
    Op,
    Reach,
    arrive,
    attribute,
    enum,
    exactly,
    of,
    of_class,
    operand,
    optional_operand,
    read,
    result,
    same_as,
    variadic_operand,
    wait,
    write,
)

ELEMENT = of(FloatType, IntegerType, VectorType, summary="number, or vector of numbers")
POINTER = of(PointerType, summary="pointer")


DEFAULT_LOAD, DEFAULT_STORE = "ca", "wb"
LOADS = (DEFAULT_LOAD, "cg", "cs", "lu", "cv", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
STORES = (DEFAULT_STORE, "cg", "cs", "wt", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
"""The cache operators and priorities of ld.global and st.global that ops may name (PTX ISA, "Cache Operators")."""


def _verify_cache(op: TiledLoad | TiledStore | LoadGlobal | StoreGlobal, words: tuple[str, ...]) -> None:
    if op.cache is not None and op.cache.value not in words:
        raise op.error(f'has cache = "{op.cache.value}"; expected one of {", ".join(words)}')


class TiledLoad(TileAccess, Op, name="nv_tileas.tiled_load", traits=(MemoryEffects(read("view")),)):
    """Loads a tile at element offsets of a view from global memory to registers; elements outside the view are
    `padding`.

    Elements of f32 are rounded to nearest even if the tile has elements of tf32: TMA does that on the way.
    """

    word = "ldg"
    view = operand(VIEW)
    indices = variadic_operand(exactly(I32))
    token = operand(TOKEN)
    atom = attribute(COPY_ATOM)
    padding = attribute(enum(PaddingAttr), default=PaddingAttr("undef"))
    cache = attribute(STRING_ATTR, "the cache operator of PTX, where it is not the default", optional=True)
    res = result(ANY_RANKED_TENSOR)
    out_token = result(TOKEN)
    assembly = (
        "$view custom<OlderComma> `[` $indices `]` custom<OlderToken>($token) (`padding` $padding^)? attr-dict `:` "
        "custom<LoadTypes>($view, type($res), type($out_token))"
    )

    @property
    def moved(self) -> Value[RankedTensorType]:
        """The loaded tile."""
        return self.res

    @property
    def rounds(self) -> bool:
        """Whether the elements are rounded from f32 to tf32."""
        return rounds(self.view.type.element, self.res.type.element)

    def verify_op(self) -> None:
        view, tile = self.view.type, self.res.type
        self.atom.check(self, view.element)
        verify_access(self, view, RankedTensorType(tile.shape, F32) if self.rounds else tile)
        _verify_indices(self, self.view.type)
        _verify_cache(self, LOADS)


class TiledStore(TileAccess, Op, name="nv_tileas.tiled_store", traits=(MemoryEffects(write("view")),)):
    """Stores a tile from registers at element offsets of a view; elements outside the view are not written."""

    word = "stg"
    view = operand(VIEW)
    indices = variadic_operand(exactly(I32))
    value = operand(ANY_RANKED_TENSOR)
    token = operand(TOKEN)
    atom = attribute(COPY_ATOM)
    cache = attribute(STRING_ATTR, "the cache operator of PTX, where it is not the default", optional=True)
    out_token = result(TOKEN)
    assembly = (
        "$view `[` $indices `]` `,` $value `,` $token attr-dict `:` type($value) `,` type($view) `,` "
        "type($out_token)"
    )

    @property
    def moved(self) -> Value[RankedTensorType]:
        """The stored tile."""
        return self.value

    def verify_op(self) -> None:
        self.atom.check(self, self.view.type.element)
        verify_access(self, self.view.type, self.value.type)
        _verify_indices(self, self.view.type)
        _verify_cache(self, STORES)


class TiledPrefetch(Op, name="nv_tileas.tiled_prefetch", traits=(IN_ORDER,)):
    """Prefetches a tile of `shape` at element offsets of a view into the L2 cache; elements outside the view are
    skipped."""

    view = operand(VIEW)
    indices = variadic_operand(exactly(I32))
    shape = attribute(I64_ARRAY)
    assembly = "$view `[` $indices `]` attr-dict `:` type($view)"

    def verify_op(self) -> None:
        _verify_indices(self, self.view.type)
        shape = self.shape.values
        if len(shape) != self.view.type.rank or any(n < 1 or n & (n - 1) for n in shape):
            raise self.error(
                f"has shape {list(shape)}; expected a power of two for each axis of {self.view.type}"
            )


class AllocTensor(Op, name="nv_tileas.alloc_tensor", traits=(ALLOCATE,)):
    """A buffer in shared memory.  `nv_tileas.offset`, which tileas-insert-barriers sets, is its byte offset;
    `nv_tileas.alignment` requests an alignment greater than 16 bytes."""

    res = result(SMEM)
    assembly = "attr-dict `:` type($res)"


class AsyncTiledCopy(
    HasStage,
    Op,
    name="nv_tileas.async.tiled_copy",
    traits=(MemoryEffects(read("view"), write("buffer", by=Completion.GROUP)),),
):
    """Start copying a tile from element offsets of a view to one stage of a buffer.

    Elements outside the view arrive as zero; `when` false copies zeros only.  Complete after the group it is
    committed to has been waited for.  It is ordered after the accesses of `token`.
    """

    view = operand(VIEW)
    indices = variadic_operand(exactly(I32))
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    when = optional_operand(exactly(I1))
    atom = attribute(COPY_ATOM)
    token = optional_operand(TOKEN)
    assembly = (
        "$view `[` $indices `]` `,` $buffer `[` $stage `]` (`when` $when^)? (`after` $token^)? attr-dict `:` "
        "type($view) `,` type($buffer)"
    )

    def verify_op(self) -> None:
        self.atom.check(self, self.view.type.element)
        _verify_copy(self, self.view.type, self.buffer.type)
        _verify_indices(self, self.view.type)


def _verify_indices(op: TiledLoad | TiledStore | TiledPrefetch | AsyncTiledCopy, view: MemRefType) -> None:
    if len(op.indices) != view.rank:
        raise op.error(f"expected {view.rank} indices for {view}, got {len(op.indices)}")


def _verify_copy(op: Op, view: MemRefType, buffer: SmemType) -> None:
    if view.element is not buffer.element or view.rank != len(buffer.tile):
        raise op.error(f"copies between {view} and {buffer}: the element types and ranks must match")


class AsyncCommitGroup(
    Op, name="nv_tileas.async.commit_group", traits=(MemoryEffects(arrive(Completion.GROUP)),)
):
    """Commit the copies started since the last commit as one group."""

    assembly = "attr-dict"


class AsyncWaitGroup(Op, name="nv_tileas.async.wait_group", traits=(MemoryEffects(wait(Completion.GROUP)),)):
    """Wait until at most `pending` of this thread's latest groups are incomplete."""

    pending = attribute(I32_ATTR)
    assembly = "$pending attr-dict"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.GROUP, pending=self.pending.value))


class _OnMBarrier(HasStage, Op):
    """The base of ops on an mbarrier: an i64 in shared memory, `!nv_tileas.smem<stages x 1 x i64>`."""

    mbarrier = operand(SMEM)
    stage = operand(exactly(I32))

    def verify_op(self) -> None:
        type = self.mbarrier.type
        if type.element is not I64 or type.tile != (1,):
            raise self.error(
                f"has an operand of type {type}; an mbarrier is !nv_tileas.smem<stages x 1 x i64>"
            )


class MBarrierInit(
    _OnMBarrier, name="nv_tileas.async.mbarrier_init", traits=(MemoryEffects(write("mbarrier")),)
):
    """Initializes an mbarrier whose phases complete after `count` arrivals. One thread executes it, and then it is
    visible to all."""

    count = attribute(I32_ATTR)
    assembly = "$mbarrier `[` $stage `]` `,` $count attr-dict `:` type($mbarrier)"

    def verify_op(self) -> None:
        super().verify_op()
        if not 1 <= self.count.value < 1 << 20:
            raise self.error(f"expects {self.count.value} arrivals; an mbarrier counts from 1 to 1048575")


class MBarrierArrive(
    _OnMBarrier,
    name="nv_tileas.async.mbarrier_arrive",
    traits=(MemoryEffects(arrive(Completion.MBARRIER, "mbarrier")),),
):
    """Every thread arrives; with `copies`, when the copies that it has started are complete."""

    copies = attribute(UNIT_ATTR, optional=True)
    assembly = "$mbarrier `[` $stage `]` (`copies` $copies^)? attr-dict `:` type($mbarrier)"

    def effects(self) -> MemoryEffects | None:
        if self.copies is not None:
            return MemoryEffects(arrive(Completion.GROUP, "mbarrier"))
        return super().effects()


class MBarrierWait(
    _OnMBarrier,
    name="nv_tileas.async.mbarrier_wait",
    traits=(MemoryEffects(wait(Completion.MBARRIER, "mbarrier")),),
):
    """Every thread waits until the phase of a parity (0 or 1) is complete."""

    parity = operand(exactly(I32))
    assembly = "$mbarrier `[` $stage `]` `,` $parity attr-dict `:` type($mbarrier)"


class Barrier(Op, name="nv_tileas.barrier", traits=(SYNCHRONIZES,)):
    """Wait for all threads of the CTA; their accesses of memory before it are then visible.

    With `phases`, it also keeps threads that have still to wait for an mbarrier from missing a phase, which is over
    when the next one completes.
    """

    phases = attribute(UNIT_ATTR, "also for waits on mbarriers", optional=True)
    assembly = "(`phases` $phases^)? attr-dict"


class Load(HasStage, Op, name="nv_tileas.load", traits=(MemoryEffects(read("buffer")),)):
    """Loads a tile at constant offsets within one stage of a buffer from shared memory to registers."""

    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    offsets = attribute(I64_ARRAY)
    atom = attribute(COPY_ATOM)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$buffer `[` $stage `]` `offsets` `=` $offsets attr-dict `:` type($buffer) `->` type($res)"

    def verify_op(self) -> None:
        self.atom.check(self, self.buffer.type.element)
        _verify_part(self, self.offsets.values, "reads", self.buffer.type.tile, self.res.type.shape)


def _verify_part(
    op: Op, offsets: tuple[int, ...], does: str, tile: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    if len(offsets) != len(tile) or len(shape) != len(tile):
        raise op.error(f"expected {len(tile)} offsets and a tile of rank {len(tile)}")
    if any(o < 0 or o + n > t or o % n for o, n, t in zip(offsets, shape, tile, strict=True)):
        raise op.error(
            f"{does} {list(shape)} at {list(offsets)}, outside the tile or not aligned to it: {list(tile)}"
        )


class Store(HasStage, Op, name="nv_tileas.store", traits=(MemoryEffects(write("buffer")),)):
    """Stores a tile from registers to one stage of a buffer in shared memory: the whole tile of the buffer, or, with
    `offsets`, a part of it that starts there."""

    value = operand(ANY_RANKED_TENSOR)
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    offsets = attribute(I64_ARRAY, optional=True)
    atom = attribute(COPY_ATOM)
    assembly = (
        "$value `,` $buffer `[` $stage `]` (`offsets` `=` $offsets^)? attr-dict "
        "`:` type($value) `,` type($buffer)"
    )

    @property
    def start(self) -> tuple[int, ...]:
        """Where in the buffer's tile the stored tile starts."""
        return tuple(self.offsets.values) if self.offsets is not None else (0,) * len(self.buffer.type.tile)

    def verify_op(self) -> None:
        self.atom.check(self, self.buffer.type.element)
        if self.offsets is not None and self.value.type.element is self.buffer.type.element:
            _verify_part(self, self.offsets.values, "stores", self.buffer.type.tile, self.value.type.shape)
        elif (
            self.value.type.shape != self.buffer.type.tile
            or self.value.type.element is not self.buffer.type.element
        ):
            raise self.error(f"stores {self.value.type} into {self.buffer.type}")


class LoadElement(
    HasStage,
    Op,
    name="nv_tileas.load_element",
    traits=(MemoryEffects(read("buffer", reach=Reach.BY_THREAD)),),
):
    """One element of a stage of a buffer, or a vector of neighbors along its last dimension, at indices of each
    thread's own.  Indices outside the tile, and vectors that do not start at a multiple of their length, are undefined.
    """

    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    indices = variadic_operand(exactly(I32))
    res = result(ELEMENT)
    assembly = "$buffer `[` $stage `]` `[` $indices `]` attr-dict `:` type($buffer) `->` type($res)"

    def verify_op(self) -> None:
        _verify_element(self, self.res.type)


class StoreElement(
    HasStage,
    Op,
    name="nv_tileas.store_element",
    traits=(MemoryEffects(write("buffer", reach=Reach.BY_THREAD)),),
):
    """The store counterpart of `nv_tileas.load_element`.  If several threads store to the same element, one of the
    values is stored."""

    value = operand(ELEMENT)
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    indices = variadic_operand(exactly(I32))
    assembly = (
        "$value `,` $buffer `[` $stage `]` `[` $indices `]` attr-dict `:` type($value) `,` type($buffer)"
    )

    def verify_op(self) -> None:
        _verify_element(self, self.value.type)


def _verify_element(op: LoadElement | StoreElement, moved: Type) -> None:
    buffer = op.buffer.type
    if element_type(moved) is not buffer.element:
        raise op.error(f"moves {moved} between a thread and {buffer}: the element types must match")
    if len(op.indices) != len(buffer.tile):
        raise op.error(f"expected {len(buffer.tile)} indices for {buffer}, got {len(op.indices)}")
    if isinstance(moved, VectorType) and (moved.rank != 1 or moved.shape[0] & (moved.shape[0] - 1)):
        raise op.error(f"moves {moved}; expected a vector of a power of two of elements")


class Spill(HasStage, Op, name="nv_tileas.spill", traits=(MemoryEffects(write("buffer", reach=Reach.OWN)),)):
    """Spills a tile to a stage of a buffer, in which each thread has its own slots for its registers."""

    value = operand(ANY_RANKED_TENSOR)
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    assembly = "$value `,` $buffer `[` $stage `]` attr-dict `:` type($value) `,` type($buffer)"

    def verify_op(self) -> None:
        _verify_spilled(self, self.value.type)


class Reload(HasStage, Op, name="nv_tileas.reload", traits=(MemoryEffects(read("buffer", reach=Reach.OWN)),)):
    """Reloads the tile that the threads last spilled to a stage of a buffer. The result has the layout of the spilled
    tile."""

    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    res = result(ANY_RANKED_TENSOR)
    assembly = "$buffer `[` $stage `]` attr-dict `:` type($buffer) `->` type($res)"

    def verify_op(self) -> None:
        _verify_spilled(self, self.res.type)


def _verify_spilled(op: Spill | Reload, tile: RankedTensorType) -> None:
    buffer = op.buffer.type
    if tile.element is not buffer.element:
        raise op.error(f"spills {tile} to {buffer}: the element types must match")


class LoadGlobal(
    Op, name="nv_tileas.load_global", traits=(MemoryEffects(read("pointer", reach=Reach.BY_THREAD)),)
):
    """Loads an element at each thread's own address of global memory, or a vector of contiguous elements, whose address
    must be a multiple of its size."""

    pointer = operand(POINTER)
    cache = attribute(STRING_ATTR, "the cache operator of PTX, where it is not the default", optional=True)
    res = result(ELEMENT)
    assembly = "$pointer attr-dict `:` type($pointer) `->` type($res)"

    def verify_op(self) -> None:
        _verify_cache(self, LOADS)


class StoreGlobal(
    Op, name="nv_tileas.store_global", traits=(MemoryEffects(write("pointer", reach=Reach.BY_THREAD)),)
):
    """The store counterpart of `nv_tileas.load_global`."""

    value = operand(ELEMENT)
    pointer = operand(POINTER)
    cache = attribute(STRING_ATTR, "the cache operator of PTX, where it is not the default", optional=True)
    assembly = "$value `,` $pointer attr-dict `:` type($value) `,` type($pointer)"

    def verify_op(self) -> None:
        _verify_cache(self, STORES)


class Prefetch(Op, name="nv_tileas.prefetch", traits=(IN_ORDER,)):
    """Prefetches the cache line at each thread's own address of global memory into the L2 cache."""

    pointer = operand(POINTER)
    assembly = "$pointer attr-dict `:` type($pointer)"


class ProfileRecord(
    Op, name="nv_tileas.profile_record", traits=(MemoryEffects(write("pointer", reach=Reach.OWN)),)
):
    """Records when the first thread of the block reaches marker `marker`, in the block's row of a buffer with this
    number of records per block (passes/llvm/profiling.py describes the layout)."""

    pointer = operand(POINTER)
    records = operand(exactly(I32))
    marker = attribute(I32_ATTR)
    assembly = "$marker `,` $pointer `,` $records attr-dict `:` type($pointer)"


class Dot(Op, name="nv_tileas.dot", traits=(PURE,)):
    """Computes a · b + c with the instruction that the atom names. The atom and `warps` determine the layouts of all
    operands."""

    a = operand(ANY_RANKED_TENSOR)
    b = operand(ANY_RANKED_TENSOR)
    c = operand(ANY_RANKED_TENSOR)
    scales = variadic_operand(
        ANY_RANKED_TENSOR, "none, or factors of blocks of a (MxS) and of b (SxN) along K"
    )
    atom = attribute(of_class(MmaAtom))
    warps = attribute(
        I64_ARRAY, "the grid of warps over c, where it is not the one of the least traffic", optional=True
    )
    fast_acc = attribute(UNIT_ATTR, "sums may have fewer bits than their type", optional=True)
    res = result(same_as("c"))
    assembly = (
        "$a `,` $b `,` $c (`scales` $scales^)? attr-dict `:` type($a) `,` type($b) `,` type($c) "
        "(`scales` type($scales)^)? custom<OlderResult>"
    )

    @property
    def multiplications(self) -> int:
        """How many numbers it multiplies."""
        return self.c.type.num_elements * self.a.type.shape[-1]

    def verify_op(self) -> None:
        verify_dot(self)
        check_emitter(self, self.atom.row.emitters, self.atom)
        named = (self.atom.a, self.atom.b, self.atom.accumulator)
        types = [v.type.element for v in (self.a, self.b, self.c)]
        if any(t is not signless(n) for t, n in zip(types, named, strict=True)):
            raise self.error(f"multiplies {types[0]} by {types[1]} into {types[2]} with {self.atom}")
        if self.atom.is_scaled and scale_vector(self, self.atom.mnk[2]) is None:
            raise self.error(f"has no scales of blocks that {self.atom} multiplies by")
        grid = self.warps
        if grid is not None and (len(grid.values) != self.c.type.rank or min(grid.values) < 1):
            raise self.error(
                f"expects a count of warps for each axis of {self.c.type}, got {list(grid.values)}"
            )


class Slice(Op, name="nv_tileas.slice", traits=(PURE,)):
    """The part of a tile at constant offsets, if every thread already holds its elements of the part."""

    source = operand(ANY_RANKED_TENSOR)
    offsets = attribute(I64_ARRAY)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source `offsets` `=` $offsets attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if source.element is not res.element:
            raise self.error(f"extracts {res} from {source}: the element types must match")
        _verify_part(self, self.offsets.values, "extracts", source.shape, res.shape)


class ConvertLayout(Op, name="nv_tileas.convert_layout", traits=(PURE,)):
    """The same tile in another layout."""

    source = operand(ANY_RANKED_TENSOR)
    res = result(ANY_RANKED_TENSOR)
    assembly = "$source attr-dict `:` type($source) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if source.shape != res.shape or source.element is not res.element:
            raise self.error(f"converts {source} to {res}: only the layout may differ")
