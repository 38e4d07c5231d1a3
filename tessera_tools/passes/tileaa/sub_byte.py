"""4-bit elements in memory: tiles are loaded and stored as bytes, and unpacked and packed in registers.

    tiled_load tensor<16x64xf4E2M1FN>    ─▶  tiled_load tensor<16x32xi8>, unpack
    tiled_store tensor<16x64xf4E2M1FN>   ─▶  pack, tiled_store tensor<16x32xi8>

Along one axis of unit stride the elements are packed, two per byte, the first in the low bits, and each line starts at
a byte (the public dialect's tensor_view).  The view is converted to bytes: half the extent and offset along that axis,
and half the strides along the others.  Permutes and reshapes around the packing need no data movement.
"""

from __future__ import annotations

from tessera_tools.analysis.access import divisor_of, place_of, storage_bits
from tessera_tools.analysis.facts import Facts
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import arith
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import I8, RankedTensorType
from tessera_tools.passes.repacking import PER_BYTE, repacked
from tessera_tools.passes.tileaa.lowering import refusal
from tessera_tools.passes.tileaa.pointers import atom
from tessera_tools.passes.tileaa.views import make_memref


def access_by_bytes(function: Operation) -> None:
    """Rewrite the tiled accesses of 4-bit elements, before their copy atoms are chosen."""
    accesses = [
        op
        for op in function.walk()
        if isinstance(op, aa.TiledLoad | aa.TiledStore) and storage_bits(op.view.type.element) % 8
    ]
    if not accesses:
        return
    facts = Facts()
    views: dict[tuple[Operation, int], Value] = {}
    for op in accesses:
        _rewrite(op, facts, views)
    for op in function.walk(reverse=True, post_order=True):
        if isinstance(op, aa.AddPtr | aa.MakeMemRef) and not op.res.has_uses:
            op.erase()


def _rewrite(
    op: aa.TiledLoad | aa.TiledStore, facts: Facts, views: dict[tuple[Operation, int], Value]
) -> None:
    place = place_of(op.view)
    if place is None:
        raise _refused(op)
    memref, offsets = place
    tile = op.moved.type
    axis = _packed_axis(memref, tile)
    if axis is None or divisor_of(offsets[axis], facts) % PER_BYTE:
        raise _refused(op)
    if (memref, axis) not in views:
        views[memref, axis] = _view_of_bytes(memref, axis)
    builder = Builder.before(op)
    builder.location = op.location
    view = views[memref, axis]
    if any(isinstance(offset, Value) for offset in offsets):
        halved = [_half(v, builder) if i == axis else v for i, v in enumerate(offsets)]
        view = builder.insert(aa.AddPtr(view, halved)).res
    shape = list(tile.shape)
    shape[axis] //= PER_BYTE
    octets = RankedTensorType(tuple(shape), I8)
    hints = dict(op.discardable_attributes)
    if isinstance(op, aa.TiledLoad):
        if op.padding.value not in ("undef", "zero"):
            raise refusal(
                op, f"no padding with {op.padding.value} for sub-byte elements; only zero is supported"
            )
        load = builder.insert(
            aa.TiledLoad(
                view,
                op.token,
                atom("ldg", I8, 1),
                op.padding,
                res=octets,
                out_token=op.out_token.type,
                attributes=hints,
            )
        )
        whole = repacked(aa.Unpack, load.res, tile, axis, builder)
        op.replace_all_uses_with([whole, load.out_token])
    else:
        packed = repacked(aa.Pack, op.value, octets, axis, builder)
        primitive = atom("stg", I8, 1)
        store = aa.TiledStore(
            view, packed, op.token, primitive, out_token=op.out_token.type, attributes=hints
        )
        op.replace_all_uses_with(builder.insert(store).results)
    op.erase()


def _packed_axis(memref: aa.MakeMemRef, tile: RankedTensorType) -> int | None:
    """The last axis along which a byte holds two elements of the tile; None if there is none, or if a line along it may
    start within a byte."""
    extents, strides = memref.extents(), memref.strides()
    for axis in reversed(range(tile.rank)):
        if strides[axis] == 1 and tile.shape[axis] % PER_BYTE == 0:
            apart = [s for i, s in enumerate(strides) if i != axis and extents[i] != 1]
            return None if any(isinstance(s, int) and s % PER_BYTE for s in apart) else axis
    return None


def _refused(op: Operation) -> DiagnosticError:
    return refusal(
        op,
        "sub-byte elements are supported only where they are contiguous along an axis of static stride 1, with "
        "an even number in the tile, between tiles, and between lines",
    )


def _view_of_bytes(memref: aa.MakeMemRef, axis: int) -> Value:
    """The view with the elements along an axis counted in bytes."""
    builder = Builder.after(memref)
    builder.location = memref.location
    extents = [_half(v, builder) if i == axis else v for i, v in enumerate(memref.extents())]
    strides = [v if i == axis else _half(v, builder) for i, v in enumerate(memref.strides())]
    return make_memref(memref.base, extents, strides, I8, builder, memref.promised())


def _half(item: int | Value, builder: Builder) -> int | Value:
    """Half of an even unsigned number."""
    if isinstance(item, int):
        return item // PER_BYTE
    one = builder.insert(arith.Constant(IntegerAttr(1, item.type))).result
    return builder.insert(arith.ShRUI(item, one)).result
