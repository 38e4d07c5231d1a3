"""Buffers in shared memory, matrices in global memory, the copies between them, barriers."""

from __future__ import annotations

from tessera_tools.analysis.access import vector_elements
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import arith, memref, nv_tileaa, nv_tileas, tile
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.cute_nvgpu import TmaLoadAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.dialects.tile.asynchronous import CopyLike
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr, StringAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I32, I64, RankedTensorType
from tessera_tools.layout import LayoutError, swizzled
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.tile.control import block_coordinate
from tessera_tools.passes.tile.hints import load_operator, prefetch, store_operator
from tessera_tools.passes.tile.ignored import remark_ignored
from tessera_tools.passes.tile.lowering import Lowering, Matrix, Shared, handles
from tessera_tools.passes.tile.rings import Ring, ring_of, stage_of
from tessera_tools.passes.tile.slices import slice_of
from tessera_tools.passes.tile.swizzles import buffer_of, swizzle_bytes, swizzle_of
from tessera_tools.planning.shared_memory import ALIGN, BUFFER_ALIGNMENT
from tessera_tools.records import replace


@handles("tile.alloc_shared")
def alloc_shared(low: Lowering, op: tile.AllocShared) -> None:
    """One stage of a tile, or as many as the program uses, in the layout of the buffer's swizzle."""
    type, ring = op.res.type, ring_of(op)
    bits = storage_bits(type.element)
    size, row = swizzle_bytes(op), type.shape[-1] * bits // 8
    if any(extent & (extent - 1) for extent in ring.tile):
        raise op.error(f"has type {type}; extents must be powers of two")
    if size and size not in (32, 64, 128):
        raise op.error(f"has rows of {row} bytes; a swizzle needs 32 or more")
    try:
        layout = swizzled(ring.tile, bits, swizzle_bytes=size)
    except LayoutError as problem:
        raise op.error(f"has no layout: {problem}") from None
    shared = SmemType((ring.stages, *ring.tile), type.element, SharedAttr(layout))
    alloc = low.insert(nv_tileas.AllocTensor(res=shared))
    if op.alignment is not None and op.alignment.value > BUFFER_ALIGNMENT:
        alloc.attributes[ALIGN] = i64(op.alignment.value)
    buffer = alloc.res
    buffer.name_hint = op.res.name_hint
    whole = ring.tile == type.shape
    low.shared[op.res] = Shared(buffer, low.number(0, I32), None if whole else ring)


def _cut_stage(low: Lowering, op: memref.SubView) -> None:
    """A stage of a buffer in shared memory."""
    whole = low.shared.get(op.source)
    if whole is None or not isinstance(op.source.defining_op, tile.AllocShared):
        raise op.error("uses a view of memory that was not allocated by tile.alloc_shared")
    if any(value in low.divergent for value in op.operands):
        raise op.error("has a thread-dependent offset")
    ring = whole.ring or ring_of(op.source.defining_op)
    low.shared[op.result] = Shared(whole.buffer, stage_number(low, op, ring, stage_of(op, ring)))


def stage_number(low: Lowering, op: Operation, ring: Ring, digits: list[Value | int]) -> Value:
    """The stage number (i32) at a position in a buffer: digits[i] along axis i, the last in elements of a stage."""
    numbers = [low.narrow(_number(low, op, digit)) for digit in digits]
    height = ring.tile[0]
    numbers[-1] = low.insert(arith.DivUI(numbers[-1], low.number(height, I32))).result
    total = numbers[0]
    for axis, number in enumerate(numbers[1:], 1):
        extent = ring.shape[axis] // (height if axis == ring.axis else 1)
        total = low.insert(
            arith.AddI(low.insert(arith.MulI(total, low.number(extent, I32))).result, number)
        ).result
    return total


_FILLS = (
    "tile.cp_async",
    "tile.cp_async_cg",
    "tile.tma_load",
    "tile.store_shared",
    "tile.store_shared_vector",
)


def fills_of(buffer: Value) -> list[Operation]:
    """The ops that write a buffer in shared memory, or a stage of it."""
    return [user for user in _users(buffer) if user.name in _FILLS]


def _users(buffer: Value) -> list[Operation]:
    users = list(buffer.users)
    return users + [user for view in users if isinstance(view, memref.SubView) for user in view.result.users]


def check_written(buffer: Value) -> None:
    """Check that no buffer in shared memory is read without ever being written."""
    if fills_of(buffer):
        return
    for user in _users(buffer):
        if user.name.startswith(("tile.load_shared", "tile.mma", "tile.wgmma", "tile.wmma")):
            raise user.error("reads a buffer in shared memory that is never written")


@handles("tile.alloc_register")
def alloc_register(low: Lowering, op: tile.AllocRegister) -> None:
    """No op: a fragment is represented by the last tile written to it."""
    remark_ignored(op)


@handles("tile.compute_tensor_slice", "memref.subview")
def cut(low: Lowering, op: tile.ComputeTensorSlice | memref.SubView) -> None:
    """A matrix or vector of a tensor.  tile.compute_tensor_slice takes the coordinates along axes 1 and 2
    of the grid from the block."""
    if isinstance(op, memref.SubView) and tile.SHARED_BUFFER.accepts(op.source.type):
        _cut_stage(low, op)
        return
    found = slice_of(op.results[0])
    if found is None:
        raise op.error(
            "is not supported; expected a matrix of the last two dimensions, or a vector of the last one, with unit "
            "strides"
        )
    if found.tensor not in low.tensors:
        raise op.error("takes a slice of a tensor that is not a kernel parameter")
    if any(value in low.divergent for value in op.operands):
        raise op.error("has a thread-dependent offset")
    leading = [_number(low, op, n) for n in found.leading]
    if isinstance(op, tile.ComputeTensorSlice):
        leading = [block_coordinate(low, axis) for axis in {3: (1,), 4: (2, 1)}.get(op.source.type.rank, ())]
    made = low.matrix(found.tensor, leading, [_number(low, op, n) for n in found.start], op.location)
    made.slice = found
    for axis, size in enumerate(found.sizes):
        if isinstance(size, Value):
            if low.by_thread:
                raise op.error(
                    "has a dynamic size in divergent control flow, where it cannot be checked; move it out"
                )
            _check_inside(low, op, made, axis, low.narrow(low.scalar(op, size)))
    low.matrices[op.results[0]] = made


def _number(low: Lowering, op: Operation, number: Value | int) -> Value:
    return low.scalar(op, number) if isinstance(number, Value) else low.number(number)


def _check_inside(
    low: Lowering, op: tile.ComputeTensorSlice | memref.SubView, matrix: Matrix, axis: int, size: Value
) -> None:
    """A run-time check that a slice of dynamic extent ends inside the tensor."""
    end = low.insert(arith.AddI(matrix.offsets[axis], size)).result
    inside = low.insert(arith.CmpI.of("ule", end, _extent_of(low, matrix, axis))).result
    dimension = op.source.type.rank - len(matrix.offsets) + axis
    low.insert(
        nv_tileaa.Assert(
            inside, StringAttr(f"the slice is out of bounds in dimension {dimension} of its tensor")
        )
    )


def _extent_of(low: Lowering, matrix: Matrix, axis: int) -> Value:
    extent = matrix.made.extents()[axis]
    return extent if isinstance(extent, Value) else low.number(extent, I32)


def _within(
    low: Lowering,
    op: tile.CpAsync | tile.CpAsyncCg | tile.TmaLoad | tile.LoadGlobalTile | tile.StoreGlobal,
    matrix: Matrix,
    shape: tuple[int, ...],
) -> Matrix:
    """The matrix with a view bounded by its slice, if the slice may end inside a tile of this shape."""
    ends = matrix.slice.ends_within(shape) if matrix.slice is not None else ()
    if not any(ends):
        return matrix
    assert matrix.slice is not None
    view = matrix.made
    extents: list[Value | int] = list(view.extents())
    for axis, size in enumerate(matrix.slice.sizes):
        if ends[axis] and size is not None:
            count = low.narrow(low.scalar(op, size)) if isinstance(size, Value) else low.number(size, I32)
            end = low.insert(arith.AddI(matrix.offsets[axis], count)).result
            extents[axis] = low.insert(arith.MinUI(end, _extent_of(low, matrix, axis))).result
    return replace(matrix, view=low.view(view.base, extents, view.stride, view.res.type.element))


def matrix_of(low: Lowering, op: Operation, value: Value) -> Matrix:
    """The matrix of a memref in global memory; a parameter of rank 1 or 2 is itself a matrix."""
    found = low.matrices.get(value)
    if found is None and value in low.tensors and 1 <= (rank := value.type.rank) <= 2:  # type: ignore[attr-defined]
        found = low.matrices[value] = low.matrix(value, [], [low.number(0) for _ in range(rank)], op.location)
    if found is None:
        raise op.error("uses a tensor as a matrix; slice it with tile.compute_tensor_slice")
    return found


def access_atom(primitive: str, matrix: Matrix, type: RankedTensorType) -> CopyAtomAttr:
    """The widest access of a tile of a matrix."""
    count = vector_elements(matrix.made, matrix.offsets, type, Facts())
    return CopyAtomAttr.make(80, primitive, count * storage_bits(type.element), type.element)


@handles("tile.cp_async", "tile.cp_async_cg", "tile.tma_load")
def copy_async(low: Lowering, op: tile.CpAsync | tile.CpAsyncCg | tile.TmaLoad) -> None:
    """Boxes by TMA, or cp.async as wide as the alignment allows."""
    shared = low.stage(op, op.dest)
    type = RankedTensorType(op.dest.type.shape, op.dest.type.element)
    matrix = _within(low, op, matrix_of(low, op, op.source), type.shape)
    box = low.groups.boxes.get(op)
    if box is not None:
        remark_ignored(op, bits=128, box=box)
        _copy_boxes(low, op, shared, matrix, box)
        _prefetch(low, op, matrix, type)
        return
    atom = access_atom("cp_async", matrix, type)
    if atom.bits < 32:
        raise op.error(
            f"copies single elements of {atom.bits} bits, but cp.async copies at least 32 bits; increase "
            "tessera.alignment"
        )
    if isinstance(op, tile.CpAsyncCg) and atom.bits != 128:
        raise op.error(
            f"copies {atom.bits // 8} bytes at a time, and cp.async.cg moves 16; state a greater tessera.alignment, or "
            "use tile.cp_async"
        )
    remark_ignored(op, bits=atom.bits)
    low.copies = True
    low.insert(nv_tileas.AsyncTiledCopy(matrix.view, matrix.offsets, shared.buffer, shared.stage, None, atom))
    _prefetch(low, op, matrix, type)


def _copy_boxes(low: Lowering, op: CopyLike, shared: Shared, matrix: Matrix, box: tuple[int, ...]) -> None:
    """The copy of a tile of a parameter by TMA, through a descriptor of the whole parameter."""
    assert matrix.tensor is not None and low.pipeline is not None
    swizzle = swizzle_of(op.dest) or 0
    alloc = shared.buffer.defining_op
    assert isinstance(alloc, nv_tileas.AllocTensor)
    align(alloc, SWIZZLE_ALIGNMENT[swizzle])
    element = op.dest.type.element
    whole = (*(1 for _ in matrix.leading), *box)
    atom = TmaLoadAtomAttr(len(whole), element, swizzle)
    view = matrix.view
    if matrix.leading:
        view = low.matrix(matrix.tensor, [], [low.number(0) for _ in whole], op.location).view
    desc = nv_tileas.MakeTiledTmaDesc(
        view, DenseArrayAttr(I64, whole), atom, res=nv_tileas.TmaDescType(whole, element)
    )
    indices = [*map(low.narrow, matrix.leading), *matrix.offsets]
    low.insert(
        nv_tileas.BoxCopy(
            low.pipeline, low.filled, low.insert(desc).res, indices, shared.buffer, shared.stage
        )
    )


def align(alloc: nv_tileas.AllocTensor, bytes: int) -> None:
    """Have a buffer begin at a multiple of so many bytes."""
    known = alloc.attributes.get(ALIGN)
    alloc.attributes[ALIGN] = i64(max(bytes, known.value if isinstance(known, IntegerAttr) else 0))


def is_written_by_threads(low: Lowering, value: Value) -> bool:
    """Whether threads or cp.async write a buffer, and not TMA alone."""
    buffer = buffer_of(value)
    return buffer is None or any(op not in low.groups.boxes for op in fills_of(buffer.res))


def _prefetch(low: Lowering, op: Operation, matrix: Matrix, type: RankedTensorType) -> None:
    """Prefetch the tile of the next iteration, if the op requests it."""
    shape = DenseArrayAttr(I64, type.shape)
    prefetch(low, op, [matrix.view, *matrix.offsets], lambda v: nv_tileas.TiledPrefetch(v[0], v[1:], shape))


@handles("tile.load_global_tile")
def load_tile(low: Lowering, op: tile.LoadGlobalTile) -> None:
    """A tiled load; elements out of bounds are zero.  A vector is loaded once, and broadcast to the rows of a tile."""
    from tessera_tools.dialects.nv_tileaa import MEM_TOKEN, PaddingAttr

    remark_ignored(op)
    whole = low.tile_type(op.dest)
    type = RankedTensorType(whole.shape[-op.source.type.rank :], whole.element)
    matrix = _within(low, op, matrix_of(low, op, op.source), type.shape)
    load = nv_tileas.TiledLoad(
        matrix.view, matrix.offsets, low.token, access_atom("ldg", matrix, type), PaddingAttr("zero"),
        load_operator(op), res=type, out_token=MEM_TOKEN,
    )  # fmt: skip
    found = low.insert(load).res
    low.token = load.out_token
    if type.rank < whole.rank:
        row = RankedTensorType((1, *type.shape), type.element)
        found = low.insert(
            nv_tileaa.Broadcast(low.insert(nv_tileaa.Reshape(found, res=row)).res, res=whole)
        ).res
    low.tiles[op.dest] = found
    _prefetch(low, op, matrix, type)


@handles("tile.store_global")
def store_tile(low: Lowering, op: tile.StoreGlobal) -> None:
    """A tiled store; elements out of bounds are not written."""
    from tessera_tools.dialects.nv_tileaa import MEM_TOKEN

    remark_ignored(op)
    value = low.tile(op, op.value)
    type = low.tile_type(op.value)
    matrix = _within(low, op, matrix_of(low, op, op.dest), type.shape)
    atom = access_atom("stg", matrix, type)
    store = nv_tileas.TiledStore(
        matrix.view, matrix.offsets, value, low.token, atom, store_operator(op), out_token=MEM_TOKEN
    )
    low.token = low.insert(store).out_token
