"""The grid, tokens, messages, memory and views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from reference.machine import Machine, TiledView, View, element_of, on
from reference.numbers import (
    Array,
    UnsupportedError,
    element_size,
    is_half_byte,
    kind_of,
    rounded,
    to_bytes,
    unsigned,
    wrapped,
)

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.memory import ATOMIC_MODE
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import DYNAMIC, I1, I8, FloatType

# -- the grid, tokens, messages


@on(ct.GetTileBlockId)
def _block_id(m: Machine, op: Any) -> None:
    m.set(op, *(np.asarray(i, np.int64) for i in m.place))


@on(ct.GetNumTileBlocks)
def _grid_size(m: Machine, op: Any) -> None:
    m.set(op, *(np.asarray(i, np.int64) for i in m.grid))


@on(
    ct.MakeToken, ct.JoinTokens, ct.GdcWaitTko, ct.GdcLaunchDependentsTko, ct.MemoryFenceAliasTko, ct.PrintTko
)
def _token(m: Machine, op: Any) -> None:
    m.set(op, *([None] * len(op.results)))


@on(ct.Assert)
def _assert(m: Machine, op: Any) -> None:
    if not np.all(m.get(op.condition)):
        raise AssertionError(op.message.value)


@on(ct.GetGlobal)
def _get_global(m: Machine, op: Any) -> None:
    m.set(op, np.asarray(m.globals[op.attributes["name"].root], np.int64))


@on(ct.Alloca)
def _alloca(m: Machine, op: Any) -> None:
    size = element_size(op.result.type.element.pointee)
    m.set(op, np.asarray(m.memory.add(np.full(op.num_elem.value * size, 0xA5, np.uint8)), np.int64))


# -- memory


@on(ct.Offset)
def _offset(m: Machine, op: Any) -> None:
    pointee: Any = element_of(op.result).pointee
    by = np.asarray(m.get(op.offset))
    by = -by if element_of(op.offset) is I1 else by
    half = is_half_byte(pointee)
    m.set(op, np.asarray(m.get(op.ptr)) + (by // 2 if half else by * element_size(pointee)))


@on(ct.LoadPtrTko)
def _load_pointers(m: Machine, op: Any) -> None:
    element = element_of(op.result)
    addresses = np.broadcast_to(m.get(op.source), op.result.type.shape)
    mask = np.broadcast_to(m.get(op.mask) != 0 if op.mask is not None else True, addresses.shape)
    dtype = np.float64 if isinstance(element, FloatType) else np.int64
    found = np.array(
        np.broadcast_to(
            m.get(op.paddingValue) if op.paddingValue is not None else np.zeros((), dtype), addresses.shape
        )
    )
    found[mask] = m.memory.load(addresses[mask], element)
    m.set(op, found, None)


@on(ct.StorePtrTko)
def _store_pointers(m: Machine, op: Any) -> None:
    addresses = np.asarray(m.get(op.destination))
    mask = np.broadcast_to(m.get(op.mask) != 0 if op.mask is not None else True, addresses.shape)
    m.memory.store(addresses[mask], np.asarray(m.get(op.value))[mask], element_of(op.value))
    m.set(op, None)


@on(ct.AtomicRmwTko)
def _atomic(m: Machine, op: Any) -> None:
    addresses = np.asarray(m.get(op.pointers))
    mask = np.broadcast_to(m.get(op.mask) != 0 if op.mask is not None else True, addresses.shape)
    found = _modify(
        m, addresses, mask, np.asarray(m.get(op.arg)), ATOMIC_MODE.text(op.mode), element_of(op.arg)
    )
    m.set(op, found, None)


def _modify(m: Machine, addresses: Array, mask: Array, values: Array, mode: str, element: Type) -> Array:
    found = np.zeros(addresses.shape, values.dtype)
    for at in np.ndindex(addresses.shape):
        if not mask[at]:
            continue
        old = m.memory.load(addresses[at], element)
        new = _RMW[mode](old, values[at], element)
        if isinstance(element, FloatType):
            new = rounded(np.asarray(new), element)
        else:
            new = wrapped(np.asarray(new), element)
        m.memory.store(np.asarray(addresses[at]), new, element)
        found[at] = old
    return found


def _unsigned_extremum(function: Any) -> Callable[[Any, Any, Type], Any]:
    return lambda a, b, t: function(unsigned(a, t), unsigned(b, t)).astype(np.int64)


_RMW: dict[str, Callable[[Any, Any, Type], Any]] = {
    "and": lambda a, b, t: a & b, "or": lambda a, b, t: a | b, "xor": lambda a, b, t: a ^ b,
    "add": lambda a, b, t: a + b, "addf": lambda a, b, t: a + b, "max": lambda a, b, t: np.maximum(a, b),
    "min": lambda a, b, t: np.minimum(a, b), "umax": _unsigned_extremum(np.maximum),
    "umin": _unsigned_extremum(np.minimum), "xchg": lambda a, b, t: b,
}  # fmt: skip


@on(ct.AtomicCasTko)
def _compare_and_swap(m: Machine, op: Any) -> None:
    element = element_of(op.val)
    addresses = np.asarray(m.get(op.pointers))
    mask = np.broadcast_to(m.get(op.mask) != 0 if op.mask is not None else True, addresses.shape)
    wanted, values = np.asarray(m.get(op.cmp)), np.asarray(m.get(op.val))
    found = np.zeros(addresses.shape, values.dtype)
    for at in np.ndindex(addresses.shape):
        if mask[at]:
            old = m.memory.load(addresses[at], element)
            if np.array_equal(to_bytes(old, element), to_bytes(wanted[at], element)):
                m.memory.store(np.asarray(addresses[at]), values[at], element)
            found[at] = old
    m.set(op, found, None)


# -- views


@on(ct.MakeTensorView)
def _tensor_view(m: Machine, op: Any) -> None:
    type = op.result.type
    shape, strides = iter(m.all(op.dynamicShape)), iter(m.all(op.dynamicStrides))
    m.set(
        op,
        View(
            int(m.get(op.base)),
            [int(next(shape)) if n == DYNAMIC else n for n in type.shape],
            [int(next(strides)) if n == DYNAMIC else n for n in type.strides],
            type.element,
        ),
    )


@on(ct.MakePartitionView, ct.MakeStridedView, ct.MakeGatherScatterView)
def _tiled_view(m: Machine, op: Any) -> None:
    m.set(op, TiledView(m.get(op.operands[0]), op.result.type))


@on(ct.GetTensorShape)
def _tensor_shape(m: Machine, op: Any) -> None:
    m.set(op, *(wrapped(n, element_of(op.results[0])) for n in m.get(op.src).shape))


@on(ct.GetIndexSpaceShape)
def _index_space(m: Machine, op: Any) -> None:
    view = m.get(op.src)
    type = view.type
    if isinstance(type, ct.GatherScatterViewType):
        raise UnsupportedError("the index space of a gather_scatter_view")
    steps = _steps(type)
    m.set(
        op,
        *(
            wrapped(-(-view.tensor.shape[d] // step), element_of(op.results[0]))
            for d, step in zip(_dimensions(type), steps, strict=True)
        ),
    )


def _steps(type: Any) -> Sequence[int]:
    return type.traversal_strides if isinstance(type, ct.StridedViewType) else type.tile


def _dimensions(type: Any) -> Sequence[int]:
    dim_map = getattr(type, "dim_map", ())
    return dim_map or tuple(range(len(type.tile)))


def _reach(m: Machine, view: TiledView, indices: Sequence[Array]) -> tuple[Array, Array]:
    """(places, which of them lie in the tensor) of the tile at some indices; places are counted in elements."""
    type, tensor = view.type, view.tensor
    rank = len(type.tile)
    places = np.zeros(type.tile, np.int64)
    inside = np.ones(type.tile, bool)
    for axis, (dim, index) in enumerate(zip(_dimensions(type), indices, strict=True)):
        if isinstance(type, ct.GatherScatterViewType):
            along = np.asarray(index) if axis == type.sparse_dim else int(index) + np.arange(type.tile[axis])
        else:
            along = int(index) * _steps(type)[axis] + np.arange(type.tile[axis])
        along = along.reshape([-1 if i == axis else 1 for i in range(rank)])
        places = places + along * tensor.strides[dim]
        inside = inside & (along >= 0) & (along < tensor.shape[dim])
    return places, inside


def _addresses(view: TiledView, places: Array) -> Array:
    return view.tensor.base + places * element_size(view.tensor.element)


def _load_places(m: Machine, view: TiledView, places: Array) -> Array:
    element = view.tensor.element
    if not is_half_byte(element):
        return m.memory.load(_addresses(view, places), element)
    data = m.memory.load(view.tensor.base + places // 2, I8)
    kind = kind_of(element)
    return kind.decode((data >> 4 * (places % 2) & 15).astype(kind.storage))


def _store_places(m: Machine, view: TiledView, places: Array, values: Array) -> None:
    element = view.tensor.element
    if not is_half_byte(element):
        m.memory.store(_addresses(view, places), values, element)
        return
    for place, value in zip(places.reshape(-1), kind_of(element).encode(values).reshape(-1), strict=True):
        address = np.asarray(view.tensor.base + place // 2)
        old = int(m.memory.load(address, I8)) & 0xFF
        shift = 4 * int(place % 2)
        new = old & ~(15 << shift) | (int(value) & 15) << shift
        m.memory.store(address, wrapped(np.asarray(new), I8), I8)


_PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}


@on(ct.LoadViewTko)
def _load_view(m: Machine, op: Any) -> None:
    view = m.get(op.view)
    places, inside = _reach(m, view, m.all(op.index))
    element = view.tensor.element
    dtype = np.float64 if isinstance(element, FloatType) else np.int64
    padding = _PADDING[view.type.padding.value] if view.type.padding is not None else 0
    found = np.full(places.shape, padding, dtype)
    found[inside] = _load_places(m, view, places[inside])
    m.set(op, found, None)


@on(ct.MultimemLoadReduceViewTko)
def _multimem_load(m: Machine, op: Any) -> None:
    """Multicast memory of one GPU: there is one copy, and nothing to combine."""
    _load_view(m, op)


@on(ct.MultimemReduceViewTko)
def _multimem_reduce(m: Machine, op: Any) -> None:
    view = m.get(op.view)
    places, inside = _reach(m, view, m.all(op.index))
    element = view.tensor.element
    mode = op.reduction.value
    if isinstance(element, FloatType):
        mode = {"add": "addf"}[mode]
    _modify(m, _addresses(view, places), inside, np.asarray(m.get(op.tile)), mode, element)
    m.set(op, None)


@on(ct.StoreViewTko, ct.MultimemStoreViewTko)
def _store_view(m: Machine, op: Any) -> None:
    view = m.get(op.view)
    places, inside = _reach(m, view, m.all(op.index))
    _store_places(m, view, places[inside], np.asarray(m.get(op.tile))[inside])
    m.set(op, None)


@on(ct.AtomicRedViewTko)
def _atomic_view(m: Machine, op: Any) -> None:
    view = m.get(op.view)
    places, inside = _reach(m, view, m.all(op.index))
    addresses = _addresses(view, places)
    mode = ATOMIC_MODE.text(op.mode)
    _modify(m, addresses, inside, np.asarray(m.get(op.value)), mode, view.tensor.element)
    m.set(op, None)
