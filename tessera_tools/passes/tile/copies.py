"""Buffers in shared memory, matrices in global memory, the copies between them, barriers."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import vector_elements
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, memref, nv_tileaa, nv_tileas, tile
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileas import SharedAttr, SmemType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, i32
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I32, I64, RankedTensorType
from tessera_tools.layout import LayoutError, swizzled
from tessera_tools.passes.tile.control import block_coordinate
from tessera_tools.passes.tile.hints import load_operator, prefetch, store_operator
from tessera_tools.passes.tile.lowering import Lowering, Matrix, Shared, handles

_UNSWIZZLED, _DEFAULT_SWIZZLE = 0, 128


def swizzle_bytes(op: tile.AllocShared) -> int:
    """The bytes of a buffer's swizzle, 0 without one."""
    if op.swizzle is None or op.swizzle.value != "xor":
        return _UNSWIZZLED
    if op.swizzle_size is not None:
        return op.swizzle_size.value
    type = op.res.type
    return min(_DEFAULT_SWIZZLE, type.shape[-1] * type.element.width // 8)


@handles("tile.alloc_shared")
def alloc_shared(low: Lowering, op: tile.AllocShared) -> None:
    """One stage of a tile, laid out by the buffer's swizzle."""
    type = op.res.type
    bits = type.element.width
    size, row = swizzle_bytes(op), type.shape[-1] * bits // 8
    if any(extent & (extent - 1) for extent in type.shape):
        raise op.error(f"has type {type}; extents that are powers of two are supported")
    if size and size not in (32, 64, 128):
        raise op.error(f"has rows of {row} bytes; a swizzle needs 32 or more")
    try:
        layout = swizzled(type.shape, bits, swizzle_bytes=size)
    except LayoutError as problem:
        raise op.error(f"cannot be laid out: {problem}") from None
    shared = SmemType((1, *type.shape), type.element, SharedAttr(layout))
    buffer = low.insert(nv_tileas.AllocTensor(res=shared)).res
    buffer.name_hint = op.res.name_hint
    low.shared[op.res] = Shared(buffer, low.number(0, I32))


_FILLS = (
    "tile.cp_async",
    "tile.cp_async_cg",
    "tile.tma_load",
    "tile.store_shared",
    "tile.store_shared_vector",
)


def check_written(buffer: Value) -> None:
    """Nobody reads a buffer in shared memory that nothing is ever written to."""
    users = list(buffer.users)
    if any(user.name in _FILLS for user in users):
        return
    for user in users:
        if user.name.startswith(("tile.load_shared", "tile.mma", "tile.wgmma", "tile.wmma")):
            raise user.error("reads a buffer in shared memory that nothing is written to")


@handles("tile.alloc_register")
def alloc_register(low: Lowering, op: tile.AllocRegister) -> None:
    """Nothing: a fragment is the tile last written to it."""


@handles("tile.compute_tensor_slice")
def tensor_slice(low: Lowering, op: tile.ComputeTensorSlice) -> None:
    """The matrix at the block's coordinates along axes 1 and 2 of the grid, from a row on."""
    rank = op.source.type.rank
    axes = {3: (1,), 4: (2, 1)}.get(rank, ())
    leading = [block_coordinate(low, axis) for axis in axes]
    made = _matrix(low, op, op.source, leading, [low.scalar(op, op.start), low.number(0)])
    made.sizes = op.res.type.shape[0], None
    low.matrices[op.res] = made


@handles("memref.subview")
def subview(low: Lowering, op: memref.SubView) -> None:
    """A matrix or vector of a tensor: one index in each leading dimension, unit strides."""
    rank, own = op.source.type.rank, op.result.type.rank
    offsets, strides = _mixed(low, op, "offsets"), op.static_strides.values
    sizes = op.static_sizes.values
    if (
        not 1 <= own <= 2
        or own > rank
        or any(s != 1 for s in strides)
        or any(n != 1 for n in sizes[: rank - own])
    ):
        raise op.error(
            "is not a matrix of the last two dimensions, or a vector of the last one, with unit strides, which is what "
            "is supported"
        )
    made = _matrix(low, op, op.source, offsets[: rank - own], offsets[rank - own :])
    given = iter(op.sizes)
    ends: list[int | None] = []
    for axis, size in enumerate(sizes):
        if size == memref.DYNAMIC_INDEX:
            _check_whole(op, axis, next(given))
            ends.append(None)
        else:
            whole = size == op.source.type.shape[axis] and op.static_offsets.values[axis] == 0
            ends.append(None if whole else size)
    made.sizes = tuple(ends[rank - own :])
    low.matrices[op.result] = made


def _check_whole(op: memref.SubView, axis: int, size: Value) -> None:
    """An extent that is a value is that of the tensor, from its beginning."""
    source: Any = size.defining_op
    index: Any = source.index.defining_op if isinstance(source, memref.Dim) else None
    if (
        op.static_offsets.values[axis] != 0
        or index is None
        or source.source is not op.source
        or not isinstance(index, arith.Constant)
        or index.value.value != axis
    ):
        raise op.error(
            f"cuts dimension {axis} by a value; expected a constant, or the tensor's own extent (memref.dim) from 0"
        )


def _mixed(low: Lowering, op: Any, field: str) -> list[Value]:
    dynamic = iter(getattr(op, field))
    static = getattr(op, f"static_{field}").values
    return [low.number(n) if n != memref.DYNAMIC_INDEX else low.scalar(op, next(dynamic)) for n in static]


def _matrix(low: Lowering, op: Any, tensor: Value, leading: list[Value], places: list[Value]) -> Matrix:
    if tensor not in low.tensors:
        raise op.error("cuts a tensor that is no parameter of the kernel")
    for value in op.operands:
        if value in low.divergent:
            raise op.error("cuts at a place that differs by thread")
    return low.matrix(tensor, leading, places, op.location)


def matrix_of(low: Lowering, op: Any, value: Value) -> Matrix:
    """The matrix that a memref in global memory stands for; a parameter of rank 1 or 2 is one itself."""
    found = low.matrices.get(value)
    if found is None and value in low.tensors and 1 <= (rank := value.type.rank) <= 2:  # type: ignore[attr-defined]
        found = low.matrices[value] = low.matrix(value, [], [low.number(0) for _ in range(rank)], op.location)
    if found is None:
        raise op.error("takes a tensor where a matrix is expected; cut it first (tile.compute_tensor_slice)")
    return found


def access_atom(
    low: Lowering, op: Any, primitive: str, matrix: Matrix, type: RankedTensorType
) -> CopyAtomAttr:
    """The widest access of a tile at a matrix's place; an error where the matrix ends in the tile, but not in the
    tensor: what is beyond would be the tensor's."""
    words = ("rows", "columns") if type.rank == 2 else ("elements",)
    for word, size, extent in zip(words, matrix.sizes, type.shape, strict=True):
        if size is not None and size < extent:
            raise op.error(f"moves a tile of {extent} {word} at a slice of {size}; expected as many")
    view: Any = matrix.view.defining_op
    count = vector_elements(view, matrix.offsets, type, Facts())
    return CopyAtomAttr.make(80, primitive, count * type.element.width, type.element)  # type: ignore[attr-defined]


@handles("tile.cp_async", "tile.cp_async_cg", "tile.tma_load")
def copy_async(low: Lowering, op: Any) -> None:
    """cp.async, as wide as alignment allows."""
    matrix = matrix_of(low, op, op.source)
    shared = low.shared[op.dest]
    type = RankedTensorType(op.dest.type.shape, op.dest.type.element)
    atom = access_atom(low, op, "cp_async", matrix, type)
    if atom.bits < 32:
        raise op.error(
            f"copies elements of {atom.bits} bits one by one, and cp.async moves 32 bits or more; state a greater "
            "tessera.alignment"
        )
    if isinstance(op, tile.CpAsyncCg) and atom.bits != 128:
        raise op.error(
            f"copies {atom.bits // 8} bytes at a time, and cp.async.cg moves 16; state a greater tessera.alignment, or "
            "use tile.cp_async"
        )
    low.copies = True
    low.insert(nv_tileas.AsyncTiledCopy(matrix.view, matrix.offsets, shared.buffer, shared.stage, None, atom))
    _prefetch(low, op, matrix, type)


def _prefetch(low: Lowering, op: Any, matrix: Matrix, type: RankedTensorType) -> None:
    """The tile of the next iteration, where the op asks for it."""
    shape = DenseArrayAttr(I64, type.shape)
    prefetch(low, op, [matrix.view, *matrix.offsets], lambda v: nv_tileas.TiledPrefetch(v[0], v[1:], shape))


@handles("tile.cp_commit_group")
def commit(low: Lowering, op: Any) -> None:
    low.insert(nv_tileas.AsyncCommitGroup())


@handles("tile.cp_wait_group", "tile.wait_group")
def wait(low: Lowering, op: Any) -> None:
    low.insert(nv_tileas.AsyncWaitGroup(i32(op.pending.value)))


@handles("tile.async_wait")
def wait_all(low: Lowering, op: Any) -> None:
    """Commit what is under way, and wait for it."""
    low.insert(nv_tileas.AsyncCommitGroup())
    low.insert(nv_tileas.AsyncWaitGroup(i32(0)))


@handles("tile.barrier")
def barrier(low: Lowering, op: Any) -> None:
    low.insert(nv_tileas.Barrier())


@handles("tile.load_global_tile")
def load_tile(low: Lowering, op: tile.LoadGlobalTile) -> None:
    """A tiled load; zeros outside.  A vector is loaded once, and is every row of a tile."""
    from tessera_tools.dialects.nv_tileaa import MEM_TOKEN, PaddingAttr

    matrix = matrix_of(low, op, op.source)
    whole = low.tile_type(op.dest)
    type = RankedTensorType(whole.shape[-len(matrix.offsets) :], whole.element)
    load = nv_tileas.TiledLoad(
        matrix.view, matrix.offsets, low.token, access_atom(low, op, "ldg", matrix, type), PaddingAttr("zero"),
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
    """A tiled store; what is outside is not written."""
    from tessera_tools.dialects.nv_tileaa import MEM_TOKEN

    matrix = matrix_of(low, op, op.dest)
    value = low.tile(op, op.value)
    atom = access_atom(low, op, "stg", matrix, low.tile_type(op.value))
    store = nv_tileas.TiledStore(
        matrix.view, matrix.offsets, value, low.token, atom, store_operator(op), out_token=MEM_TOKEN
    )
    low.token = low.insert(store).out_token
