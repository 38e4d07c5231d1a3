"""Boxes of tensors between global and shared memory: cp.async.bulk.tensor, by one thread.

A tile is copied as the boxes of its descriptor, each to the offset of its first element in the buffer's layout.
PTX ISA, "cp.async.bulk.tensor"; coordinates are elements, innermost first.
"""

from __future__ import annotations

from itertools import product
from math import prod

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import arith, llvm, nv_tileas
from tessera_tools.dialects.cute_nvgpu import TmaAtom
from tessera_tools.dialects.nvvm.attributes import CTAGroupAttr, ProxyKindAttr, SharedSpaceAttr
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import TRUE, UNIT, DenseArrayAttr, i32
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import I32, I64
from tessera_tools.layout import LinearLayout
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT
from tessera_tools.passes.llvm.agents import full_barrier, is_in_pair, wait_for_phase
from tessera_tools.passes.llvm.clusters import in_cluster, leader_address, part_of, receivers
from tessera_tools.passes.llvm.instructions import only_where
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM, memory_offset
from tessera_tools.passes.llvm.tensor_maps import box_bytes, tensor_map_of
from tessera_tools.passes.llvm.tiles import Buffer
from tessera_tools.target import Feature
from tessera_tools.target.grids import MOST_EXTENT


@lowers("nv_tileas.make_tiled_tma_desc")
@emits("tma_load", "tma_store")
def make_tiled_tma_desc(low: Lowering, op: nv_tileas.MakeTiledTmaDesc) -> None:
    """A hidden parameter; equal ones are shared."""
    if not low.target.has(Feature.TMA):
        raise op.error(f"needs TMA, which {low.target.name} does not support; it requires sm_90 or later")
    tensor_map = tensor_map_of(op)
    if tensor_map in low.tensor_maps:
        low.define(op.res, low.hidden[low.tensor_maps.index(tensor_map)])
        return
    low.tensor_maps.append(tensor_map)
    low.define(op.res, low.add_hidden(op))


def check_boxes(atom: TmaAtom, buffer: Buffer, box: tuple[int, ...]) -> None:
    """Raises Refusal unless the boxes of a tile have the layout that TMA writes."""
    bits = 8 * element_bytes(buffer.type.element)
    tile = buffer.type.tile
    rank = len(tile)
    swizzle, memory = atom.swizzle, atom.row.memory
    assert memory is not None, f"the table of atoms has no shared-memory layout for {atom}"
    whole = memory(tile, bits, None, swizzle, atom.atomicity)
    if buffer.layout != whole or (swizzle and box[-1] * bits != 8 * swizzle):
        raise Refusal(
            f"the buffer's layout does not match boxes {list(box)} with a swizzle of {swizzle} bytes"
        )
    part, size = memory(box, bits, None, swizzle, atom.atomicity), prod(box)
    for corner in _corners(tile, box):
        start = memory_offset(whole, corner)
        if start % size or not _has_layout(whole, part, corner, start, rank):
            raise Refusal(
                f"the box at {list(corner)} of the tile {list(tile)} is not contiguous in the buffer"
            )
    alignment = SWIZZLE_ALIGNMENT[swizzle]
    if buffer.offset % alignment or (buffer.type.stages > 1 and buffer.stage_bytes % alignment):
        raise Refusal(
            f"the buffer is not aligned to {alignment} bytes, which TMA requires for a swizzle of {swizzle} bytes"
        )


def _has_layout(
    whole: LinearLayout, part: LinearLayout, corner: tuple[int, ...], start: int, rank: int
) -> bool:
    for bit in range(part.in_bits("offset")):
        inner = part.apply({"offset": 1 << bit})
        outer = whole.apply({"offset": start | 1 << bit})
        if any(outer[f"dim{d}"] != corner[d] ^ inner[f"dim{d}"] for d in range(rank)):
            return False
    return True


def _corners(tile: tuple[int, ...], box: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*(range(0, n, m) for n, m in zip(tile, box, strict=True))))


def _boxes(
    low: Lowering,
    op: nv_tileas.TiledTmaLoad | nv_tileas.TiledTmaStore | nv_tileas.BoxCopy,
    stage: Value,
    shared_by: int = 0,
) -> list[tuple[Value, list[Value]]]:
    """(address in shared memory, coordinates innermost first) of each box of a copy; if CTAs that differ in the bits
    `shared_by` of their rank share it, of each that this one copies."""
    e = low.e
    buffer = low.buffer(op.buffer)
    made = op.desc.defining_op
    if not isinstance(made, nv_tileas.MakeTiledTmaDesc):
        raise op.error(
            "copies through a descriptor that no nv_tileas.make_tiled_tma_desc in the kernel creates"
        )
    tile = buffer.type.tile
    outer = op.desc.type.rank - len(tile)
    extents = (*(1,) * outer, *tile)
    indices = [_coordinate(low, index, size) for index, size in zip(op.indices, extents, strict=True)]
    leading, indices = indices[:outer], indices[outer:]
    box = op.desc.type.shape[outer:]
    check_boxes(made.atom, buffer, box)
    base = e.gep(e.address_of(GLOBAL_SMEM), e.mul(stage, buffer.stage_bytes))
    size = element_bytes(buffer.type.element)
    found: list[tuple[Value, list[Value]]] = []
    if shared_by:
        axis = nv_tileas.shared_axis(tile)
        rows = tile[axis] >> shared_by.bit_count()
        number = part_of(low, shared_by)
        base = e.gep(base, e.mul(number, _step(buffer, axis, rows) * size))
        moved = e.constant(e.add(indices[axis], e.mul(number, rows)))
        indices = [*indices[:axis], moved, *indices[axis + 1 :]]
        tile = (*tile[:axis], rows, *tile[axis + 1 :])
    for corner in _corners(tile, box):
        place = e.gep(base, buffer.offset + memory_offset(buffer.layout, corner) * size, shared=False)
        coordinates = [e.constant(e.add(index, moved)) for index, moved in zip(indices, corner, strict=True)]
        found.append((place, [*leading, *coordinates][::-1]))
    return found


def _coordinate(low: Lowering, index: Value, size: int) -> Value:
    """The index of a tile of `size` elements along an axis as a coordinate.

    Indices are unsigned, and the hardware reads coordinates as signed. An index of 2^31 or more is behind every tensor
    that has a tensor map, and must not become a coordinate before it, from where a box would reach into the tensor.
    """
    e, start = low.e, low.scalar(index)
    known = low.facts.fact(index)
    if known.lower < 0 and isinstance(index.defining_op, arith.TruncI | arith.IndexCast):
        # Before it was truncated.
        known = low.facts.fact(index.defining_op.operand(0))
    if known.lower >= 0 and known.upper <= (1 << 32) - size:
        return start
    last = e.constant(MOST_EXTENT, I32)
    return e.pure("umin", (start, last), lambda: llvm.UMin(start, last))


@lowers("nv_tileas.async.tiled_tma_load")
@emits("tma_load")
def tiled_tma_load(low: Lowering, op: nv_tileas.TiledTmaLoad) -> None:
    """One instruction per box; the enclosing producer_write selects the thread."""
    e = low.e
    stage, barrier = low.scalar(op.iter), full_barrier(low, op)
    shared_by = op.multicast.value if op.multicast is not None else 0
    mask = [receivers(low, shared_by)] if shared_by else []
    attributes: dict[str, Attribute] = {} if mask else {"isCTAOnly": TRUE}
    if is_in_pair(op):
        # The copies of both CTAs of a pair complete the barrier of the leader.
        address = e.emit(llvm.PtrToInt(leader_address(low, barrier), res=I32)).results[0]
        barrier = e.emit(llvm.IntToPtr(address, res=barrier.type)).results[0]
        attributes = {"group": CTAGroupAttr("cta_2")}
    for place, coordinates in _boxes(low, op, stage, shared_by):
        if "isCTAOnly" not in attributes:
            place = in_cluster(low, place)
        _load_box(low, op.desc, place, coordinates, barrier, mask, attributes)


def _load_box(
    low: Lowering,
    desc: Value,
    place: Value,
    coordinates: list[Value],
    barrier: Value,
    mask: list[Value],
    attributes: dict[str, Attribute],
) -> None:
    low.e.nvvm(
        "cp.async.bulk.tensor.shared.cluster.global",
        [place, low.scalar(desc), *coordinates, barrier, *mask],
        **attributes,
        operandSegmentSizes=_segments(1, 1, len(coordinates), 1, 0, len(mask), 0, 0),
    )


# -- groups of boxes


def _commit_of(op: Operation) -> nv_tileas.BoxCommit | None:
    """The commit directly behind a copy: it announces the bytes of the copy with its arrival."""
    after = op.next_op
    while after is not None and not isinstance(after, nv_tileas.BoxCommit):
        if not isinstance(after, nv_tileas.BoxCopy) and not is_pure(after):
            return None
        after = after.next_op
    return after


def _start(low: Lowering, op: nv_tileas.BoxCopy, barrier: Value) -> None:
    for place, coordinates in _boxes(low, op, low.scalar(op.stage)):
        _load_box(low, op.desc, place, coordinates, barrier, [], {"isCTAOnly": TRUE})


@lowers("nv_tileas.async.box_copy")
@emits("tma_load")
def box_copy(low: Lowering, op: nv_tileas.BoxCopy) -> None:
    """By one thread: the bytes are announced, and the copies started; with the commit if that is directly behind."""
    if _commit_of(op) is not None:
        return
    e, barrier = low.e, full_barrier(low, op)
    with only_where(e, e.is_first_thread):
        e.nvvm("mbarrier.expect_tx", [barrier, e.constant(box_bytes(op))])
        _start(low, op, barrier)


@lowers("nv_tileas.async.box_commit")
def box_commit(low: Lowering, op: nv_tileas.BoxCommit) -> None:
    """The arrival of the thread that copies."""
    e, barrier = low.e, full_barrier(low, op)
    block = op.parent
    assert block is not None
    copies = [other for other in block if isinstance(other, nv_tileas.BoxCopy) and _commit_of(other) is op]
    with only_where(e, e.is_first_thread):
        if not copies:
            e.nvvm("mbarrier.arrive", [barrier], [I64])
            return
        e.nvvm("mbarrier.arrive.expect_tx", [barrier, e.constant(sum(map(box_bytes, copies)))])
        for copy in copies:
            _start(low, copy, barrier)


@lowers("nv_tileas.async.box_wait")
def box_wait(low: Lowering, op: nv_tileas.BoxWait) -> None:
    """Every thread waits."""
    assert op.phase is not None
    wait_for_phase(low, full_barrier(low, op), low.scalar(op.phase))


def _step(buffer: Buffer, axis: int, rows: int) -> int:
    """The elements from one part of a buffer, `rows` along an axis, to the next. Raises Refusal if parts are not evenly
    apart."""
    tile = buffer.type.tile
    corners = [[row * (other == axis) for other in range(len(tile))] for row in range(0, tile[axis], rows)]
    places = [memory_offset(buffer.layout, tuple(corner)) for corner in corners]
    step = places[1]
    if any(place != number * step for number, place in enumerate(places)):
        raise Refusal(f"parts of {rows} rows are not evenly apart in the buffer")
    return step


@lowers("nv_tileas.async.tiled_tma_store")
@emits("tma_store")
def tiled_tma_store(low: Lowering, op: nv_tileas.TiledTmaStore) -> None:
    """One instruction per box, and one group, by the unit's first thread."""
    e = low.e
    stage = low.scalar(op.stage)
    with only_where(e, e.is_first_thread):
        for place, coordinates in _boxes(low, op, stage):
            e.nvvm(
                "cp.async.bulk.tensor.global.shared.cta",
                [low.scalar(op.desc), place, *coordinates],
                operandSegmentSizes=_segments(1, 1, len(coordinates), 0, 0),
            )
        e.nvvm("cp.async.bulk.commit.group")
    if op.out_token is not None:
        low.define(op.out_token, None)


@lowers("nv_tileas.async.store_wait")
def store_wait(low: Lowering, op: nv_tileas.AsyncStoreWait) -> None:
    """Only the thread that stored has groups to wait for."""
    reads = {"read": UNIT} if op.read is not None else {}
    low.e.nvvm("cp.async.bulk.wait_group", group=i32(op.pending.value), **reads)


@lowers("nv_tileas.fence_proxy")
def fence_proxy(low: Lowering, op: nv_tileas.FenceProxy) -> None:
    """fence.proxy.async.shared::cta, by every thread."""
    low.e.nvvm("fence.proxy", kind=ProxyKindAttr("async.shared"), space=SharedSpaceAttr("cta"))


@lowers("nv_tileas.view")
def view(low: Lowering, op: nv_tileas.View) -> None:
    """The buffer, at the offset of a stage."""
    buffer = low.buffer(op.buffer)
    slot = low.scalar(op.iter) if buffer.type.stages > 1 else buffer.slot
    low.define(op.res, Buffer(buffer.offset, op.res.type, slot))


def _segments(*sizes: int) -> DenseArrayAttr:
    return DenseArrayAttr(I32, sizes)
