"""Part B of the conversion, continued: views of tensors in global memory, and loads and stores of tiles through them.

    make_tensor_view %p, shape = [%m, %k], strides = [%s, 1]     nv_tileaa.make_memref %p, …
    make_partition_view, make_strided_view                       no op: the memref, with its axes in the tile's order
    load_view_tko %v[%i, %j]                                     muli by the tile distance, addptr, tiled_load
    load_view_tko %gathered[%rows, %j], or not weak              pointers and a mask (`pointers_of_view`), load
    get_index_space_shape                                        (extent + distance - 1) / distance

Extents, strides and indices are unsigned.  An index is in the index space, so an offset is less than the extent, and
fits 32 bits if the extent does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.analysis.access import in_bounds
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.cuda_tile.types import GatherScatterViewType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, TypeAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import DYNAMIC, I1, I32, I64, RankedTensorType, bit_width, element_type
from tessera_tools.passes.tileaa.constants import splat
from tessera_tools.passes.tileaa.indexing import (
    LARGEST_SIGNED,
    LARGEST_UNSIGNED,
    NO_SIGNED_WRAP,
    NO_UNSIGNED_WRAP,
    Int,
    along,
    as_value,
    below,
    indices,
    most,
    plus,
    resized,
    rest,
    signed_type,
    times,
)
from tessera_tools.passes.tileaa.lowering import Lowering, TileView, handles
from tessera_tools.passes.tileaa.pointers import (
    atom,
    hint_attributes,
    load_elements,
    ordering_of,
    store_elements,
    token_of,
)

# -- creation of views


def _mixed(static: Sequence[int], dynamic: list[Value], to: Lowering) -> list[Int]:
    """Extents or strides, as values of at least 32 bits."""
    values = iter(dynamic)
    return [_at_least_32(next(values), to) if extent == DYNAMIC else extent for extent in static]


def _at_least_32(value: Value, to: Lowering) -> Value:
    return resized(value, I32, to) if bit_width(value.type) < 32 else value


def make_memref(
    base: Value,
    shape: Sequence[Int],
    strides: Sequence[Int],
    element: Type,
    builder: Builder,
    inbounds: Sequence[bool] = (),
) -> Value:
    """A view of global memory; extents and strides are constants or values. `inbounds`: the axes along which all
    accesses are in bounds by promise."""
    op = aa.MakeMemRef(
        base,
        [v for v in shape if isinstance(v, Value)],
        [v for v in strides if isinstance(v, Value)],
        _static(shape),
        _static(strides),
        aa.GlobalSpaceAttr(),
        DenseArrayAttr(I1, tuple(map(int, inbounds))) if any(inbounds) else None,
        res=aa.MemRefType(tuple(DYNAMIC if isinstance(v, Value) else v for v in shape), element),
    )
    return builder.insert(op).res


def _static(items: Sequence[Int]) -> DenseArrayAttr:
    return DenseArrayAttr(I64, tuple(aa.DYNAMIC_INDEX if isinstance(v, Value) else v for v in items))


@handles(ct.MakeTensorView)
def _tensor_view(op: ct.MakeTensorView, to: Lowering) -> None:
    view = op.result.type
    shape = _mixed(view.shape, to.values(op.dynamicShape), to)
    strides = _mixed(view.strides, to.values(op.dynamicStrides), to)
    to.replace(op, make_memref(to[op.base], shape, strides, view.element, to.builder))


@handles(ct.MakePartitionView, ct.MakeStridedView, ct.MakeGatherScatterView)
def _tile_view(
    op: ct.MakePartitionView | ct.MakeStridedView | ct.MakeGatherScatterView, to: Lowering
) -> None:
    """The memref with its axes in the order of the tile's; no op."""
    memref, view = to[op.tensor_view], op.result.type
    mapping = () if isinstance(view, GatherScatterViewType) else view.dim_map
    order = mapping or tuple(range(len(view.tile)))
    if order != tuple(range(len(order))):
        source = _source(op, memref, to)
        shape, strides = source.extents(), source.strides()
        element = source.res.type.element
        memref = make_memref(
            source.base, [shape[i] for i in order], [strides[i] for i in order], element, to.builder
        )
    to.views[op.result] = TileView(memref, view)


def _source(op: Operation, memref: Value, to: Lowering) -> aa.MakeMemRef:
    """The op that defines a view, with its extents and strides."""
    source = memref.defining_op
    if not isinstance(source, aa.MakeMemRef):
        raise to.refuse(op, "its make_tensor_view must be in the same region")
    return source


def _distances(view: ct.TileViewType) -> tuple[int, ...]:
    """The distance of adjacent tiles in elements, along each axis; gathers and scatters index elements."""
    if isinstance(view, ct.StridedViewType):
        return view.traversal_strides
    if isinstance(view, ct.GatherScatterViewType):
        return (1,) * len(view.tile)
    return view.tile_type.shape


def _sparse_axis(view: ct.TileViewType) -> int | None:
    return view.sparse_dim if isinstance(view, ct.GatherScatterViewType) else None


# -- queries


@handles(ct.GetTensorShape)
def _tensor_shape(op: ct.GetTensorShape, to: Lowering) -> None:
    if not op.results:
        return
    for extent, old in zip(_source(op, to[op.src], to).extents(), op.results, strict=True):
        if old.has_uses:
            to.define(old, as_value(extent, to.type_of(old.type, op), to))


@handles(ct.GetIndexSpaceShape)
def _index_space_shape(op: ct.GetIndexSpaceShape, to: Lowering) -> None:
    view = to.views[op.src]
    extents = _source(op, view.memref, to).extents()
    for extent, distance, old in zip(extents, _distances(view.type), op.results, strict=True):
        if old.has_uses:
            to.define(old, as_value(_tiles(extent, distance, to), to.type_of(old.type, op), to))


def _tiles(extent: Int, distance: int, to: Lowering) -> Int:
    """The number of tiles that start within an extent."""
    if isinstance(extent, int):
        return -(-extent // distance)
    divisor = as_value(distance, extent.type, to)
    width = bit_width(extent.type)
    if most(extent, to) + distance - 1 >= 1 << width:
        return to.emit(arith.CeilDivUI(extent, divisor)).result
    last = as_value(distance - 1, extent.type, to)
    total = to.emit(arith.AddI(extent, last, overflow_flags=NO_UNSIGNED_WRAP)).result
    return to.emit(arith.DivUI(total, divisor)).result


# -- offsets of tiles


def _promised(op: Operation, view: TileView) -> tuple[bool, ...]:
    """For each index of an access, true if the program declares it in bounds."""
    flags = getattr(op, "inbounds", None)
    return tuple(map(bool, flags)) if flags is not None else (False,) * view.type.index_rank


def _places(op: Any, view: TileView, extents: Sequence[Int], to: Lowering) -> list[Value]:
    """The first element of the tile at the op's indices, along each axis; a tile of them along a sparse axis."""
    places: list[Value] = []
    for index, distance, extent in zip(op.index, _distances(view.type), extents, strict=True):
        greatest = most(extent, to)
        type = I32 if greatest <= LARGEST_UNSIGNED else I64
        value = to[index]
        if isinstance(value.type, RankedTensorType):
            # A sparse index may be out of bounds, and truncation must not make it valid.
            type = I32 if max(bit_width(value.type.element), bit_width(type)) <= 32 else I64
            places.append(resized(value, type, to))
            continue
        flags = NO_UNSIGNED_WRAP if LARGEST_SIGNED < greatest <= LARGEST_UNSIGNED else NO_SIGNED_WRAP
        places.append(times(resized(value, type, to), distance, type, to, flags))
    return places


def _moved(op: Operation, view: TileView, to: Lowering) -> Value:
    """The view moved to the tile at the op's indices.

    If an offset may need more than 32 bits, the base address is moved instead, and the extents are reduced accordingly.
    """
    source = _source(op, view.memref, to)
    extents, promised = source.extents(), _promised(op, view)
    places = _places(op, view, extents, to)
    if all(p.type is I32 for p in places):
        memref = view.memref
        if any(promised):
            # At the view, so that it is hoisted out of the same loops.
            builder = Builder.after(source)
            builder.location = source.location
            element = source.res.type.element
            memref = make_memref(source.base, extents, source.strides(), element, builder, promised)
        return to.emit(aa.AddPtr(memref, places)).res
    shape = [
        size if safe else rest(extent, place, size, to)
        for extent, place, size, safe in zip(
            extents, places, view.type.tile_type.shape, promised, strict=True
        )
    ]
    base = _moved_pointer(source, places, to)
    memref = make_memref(base, shape, source.strides(), source.res.type.element, to.builder)
    return to.emit(aa.AddPtr(memref, [to.integer(0, I32)] * len(shape))).res


def _moved_pointer(source: aa.MakeMemRef, places: Sequence[Value], to: Lowering) -> Value:
    """The address of the element at scalar offsets in a view (offsets that are tiles are omitted)."""
    terms = [
        (place, stride)
        for place, stride in zip(places, source.strides(), strict=True)
        if not isinstance(place.type, RankedTensorType)
    ]
    type = signed_type(sum(most(place, to) * most(stride, to) for place, stride in terms))
    total: Int = 0
    for place, stride in terms:
        total = plus(total, times(place, stride, type, to), type, to)
    return _offset(source.base, total, source, type, to)


def _offset(pointers: Value, total: Int, source: aa.MakeMemRef, type: Type, to: Lowering) -> Value:
    if total == 0:
        return pointers
    shaped = (
        RankedTensorType(pointers.type.shape, type) if isinstance(pointers.type, RankedTensorType) else type
    )
    return to.emit(aa.Offset(pointers, as_value(total, shaped, to), TypeAttr(source.res.type.element))).res


def pointers_of_view(op: Operation, view: TileView, to: Lowering) -> tuple[Value, Value | None]:
    """The addresses of the elements of the tile at the indices of `op`, and the mask of those in bounds.

    op: an access of cuda_tile with `index`, and optionally `inbounds`.
    Returns a tile of pointers of the view's tile shape, and a tile of i1, None if all elements are in bounds.
    """
    source = _source(op, view.memref, to)
    extents, strides = source.extents(), source.strides()
    shape = view.type.tile_type.shape
    sparse = _sparse_axis(view.type)
    places = _places(op, view, extents, to)
    base = _moved_pointer(source, places, to)
    if sparse is None:
        pointers = to.emit(aa.Splat(base, res=RankedTensorType(shape, base.type))).res
    else:
        # One pointer for each index, before they are repeated along the other axes.
        size, stride = shape[sparse], strides[sparse]
        type = signed_type((most(extents[sparse], to) - 1) * most(stride, to))
        line = RankedTensorType((size,), type)
        distances = times(resized(places[sparse], type, to), stride, line, to)
        pointers = to.emit(aa.Splat(base, res=RankedTensorType((size,), base.type))).res
        pointers = along(_offset(pointers, distances, source, type, to), sparse, shape, to)
    dense = [d for d, size in enumerate(shape) if d != sparse and size > 1]
    type = signed_type(sum((shape[d] - 1) * most(strides[d], to) for d in dense))
    total: Int = 0
    for axis in dense:
        line = RankedTensorType((shape[axis],), type)
        distances = times(indices(shape[axis], type, to), strides[axis], line, to)
        total = plus(total, along(distances, axis, shape, to), RankedTensorType(shape, type), to)
    pointers = _offset(pointers, total, source, type, to)
    return pointers, _inside(op, view, source, places, to)


def _inside(
    op: Operation, view: TileView, source: aa.MakeMemRef, places: list[Value], to: Lowering
) -> Value | None:
    """The mask of a tile's elements in bounds; None if all are known or declared to be."""
    shape, sparse = view.type.tile_type.shape, _sparse_axis(view.type)
    known = in_bounds(source, [0 if d == sparse else p for d, p in enumerate(places)], shape, to.facts)
    mask: Value | None = None
    for axis, (extent, safe) in enumerate(zip(source.extents(), _promised(op, view), strict=True)):
        if safe or (known[axis] and axis != sparse):
            continue
        if axis == sparse:
            wide = most(extent, to) > LARGEST_UNSIGNED
            inside = below(resized(places[axis], I64, to) if wide else places[axis], extent, to)
        else:
            inside = below(indices(shape[axis], I32, to), rest(extent, places[axis], shape[axis], to), to)
        inside = along(inside, axis, shape, to)
        mask = inside if mask is None else to.emit(arith.AndI(mask, inside)).result
    return mask


# -- loads and stores


def _is_tiled(op: ct.LoadViewTko | ct.StoreViewTko) -> bool:
    """True if an access moves whole tiles, which later passes may implement in several ways."""
    return ordering_of(op)[1] is None and not isinstance(op.view.type, ct.GatherScatterViewType)


def padding_of(
    op: Operation, view: TileView, element: Type, to: Lowering
) -> tuple[aa.PaddingAttr, int] | None:
    """The padding of a load, and its bits; refused if the format has no such value."""
    padding = view.type.padding  # type: ignore[attr-defined]
    if padding is None:
        return None
    attribute = aa.PaddingAttr(padding.value)
    try:
        bits = attribute.bits(element)
    except Refusal as problem:
        raise to.refuse(op, str(problem)) from None
    assert bits is not None
    return attribute, bits


@handles(ct.LoadViewTko)
def _load(op: ct.LoadViewTko, to: Lowering) -> None:
    view = to.views[op.view]
    result = to.type_of(op.tile.type, op)
    padding = padding_of(op, view, element_type(result), to)
    if _is_tiled(op):
        load = aa.TiledLoad(
            _moved(op, view, to),
            token_of(op, to),
            atom("ldg", element_type(result), 1),
            padding[0] if padding is not None else None,
            res=result,
            attributes=hint_attributes(op, to),
        )
        to.replace(op, *to.emit(load).results)
        return
    pointers, mask = pointers_of_view(op, view, to)
    filler = None
    if mask is not None and padding is not None:
        filler = splat([padding[1]], result, to)
    to.replace(op, *load_elements(op, pointers, mask, filler, to))


@handles(ct.StoreViewTko)
def _store(op: ct.StoreViewTko, to: Lowering) -> None:
    view = to.views[op.view]
    value = to[op.tile]
    if _is_tiled(op):
        primitive = atom("stg", element_type(value.type), 1)
        attributes = hint_attributes(op, to)
        store = aa.TiledStore(_moved(op, view, to), value, token_of(op, to), primitive, attributes=attributes)
        to.replace(op, *to.emit(store).results)
        return
    pointers, mask = pointers_of_view(op, view, to)
    to.replace(op, store_elements(op, pointers, value, mask, to))
