"""Programs of what reads and writes memory: views, pointers, atomics, memory of the program's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from programs import Array, tile
from support.table import on
from support.writer import (
    BITS,
    ELEMENTS,
    HALF_BYTES,
    INTEGERS,
    Writer,
    numbers,
    random_shape,
    spelled,
    storage,
    tile_of,
    whole,
)

from tessera_tools.dialects.cuda_tile.attributes import MultimemReductionAttr

INDICES = ("i8", "i16", "i32", "i64")


def buffer(w: Writer, element: str, count: int) -> Array:
    """Random memory of some elements; two of four bits lie in a byte."""
    if element in HALF_BYTES:
        return w.rng.integers(0, 256, (count + 1) // 2, np.uint8)
    if element == "ptr":
        return np.zeros(count, np.int64)
    return numbers(element, (count,), w.rng)


class Tensor:
    """A tensor in memory that is larger than its tile, or not a multiple of it, and one tile of a view of it."""

    def __init__(self, w: Writer, element: str, kind: str, attributes: str = "", padded: bool = True) -> None:
        rng = w.rng
        # Places along the last axis are named one by one in no gather of elements of less than a byte.
        least = 2 if kind == "gather" and element in HALF_BYTES else 1
        self.element, self.rank = element, int(rng.integers(least, 4 if kind != "partition" else 6))
        most = {1: 10, 2: 5, 3: 3, 4: 2, 5: 2}[self.rank]
        self.tile = [1 << int(rng.integers(0, most + 1)) for _ in range(self.rank)]
        self.extents = [int(rng.integers(1, 2 * n + 2)) for n in self.tile]
        if element in HALF_BYTES:
            # Lines of elements of less than a byte begin at a byte.
            self.tile[-1] = max(2, self.tile[-1])
            self.extents[-1] = 2 * self.tile[-1]
        self.strides = [1]
        for extent in reversed(self.extents[1:]):
            self.strides.insert(0, self.strides[0] * extent)
        self.dynamic = not attributes and element not in HALF_BYTES and bool(rng.integers(2))
        # Instructions on multicast memory take two elements of 16 bits at a time.
        count = int(np.prod(self.extents)) + (2 if attributes else 0)
        self.base = w.memory(element, buffer(w, element, count), attributes)
        shown = ["?"] * self.rank if self.dynamic else list(map(str, self.extents))
        steps = [*(["?"] * (self.rank - 1) if self.dynamic else map(str, self.strides[:-1])), "1"]
        multicast = ", #cuda_tile.ptr_attr<multicast>" if attributes else ""
        self.view_type = (
            f"tensor_view<{'x'.join(shown)}x{spelled(element)}, strides=[{','.join(steps)}]{multicast}>"
        )
        given = [str(n) for n in (*self.extents, *self.strides)]
        if self.dynamic:
            given = [w.scalar("i32", np.int32(n)) for n in (*self.extents, *self.strides[:-1])] + ["1"]
        shape, strides = ", ".join(given[: self.rank]), ", ".join(given[self.rank :])
        spelling = "tile<i32> -> " if self.dynamic else ""
        if attributes:
            spelling = f"tile<ptr<{spelled(element)}{attributes}>> -> "
        self.view = w.define(
            f"make_tensor_view {self.base}, shape = [{shape}], strides = [{strides}] : {spelling}{self.view_type}"
        )
        self.kind = kind
        extents = "x".join(map(str, self.tile))
        padding = f"padding_value = {'nan' if element == 'f8E8M0FNU' else 'zero'}, " if padded else ""
        if kind == "partition":
            self.type = f"partition_view<tile=({extents}), {padding}{self.view_type}>"
            self.tiles = w.define(f"make_partition_view {self.view} : {self.type}")
            self.steps = self.tile
        elif kind == "strided":
            self.steps = [int(rng.integers(n, 2 * n + 1)) for n in self.tile]
            if element in HALF_BYTES:
                self.steps[-1] = 2 * self.tile[-1]
            distances = ",".join(map(str, self.steps))
            self.type = (
                f"strided_view<tile=({extents}), traversal_strides=[{distances}], {padding}{self.view_type}>"
            )
            self.tiles = w.define(f"make_strided_view {self.view} : {self.type}")
        else:
            self.sparse = 0 if element in HALF_BYTES else int(rng.integers(self.rank))
            self.type = (
                f"gather_scatter_view<tile=({extents}), {padding}{self.view_type}, sparse_dim={self.sparse}>"
            )
            self.tiles = w.define(f"make_gather_scatter_view {self.view} : {self.type}")
            self.steps = [1] * self.rank

    def place(self, w: Writer, index: str) -> tuple[str, str]:
        """(indices of a tile that begins inside, their types)."""
        names, types = [], []
        for d in range(self.rank):
            if self.kind == "gather" and d == self.sparse:
                count = self.tile[d]
                rows = w.rng.permutation(max(self.extents[d], count))[:count]
                names.append(w.load(index, (count,), rows.astype(storage(index))))
                types.append(tile(index, (count,)))
                continue
            last = -(-self.extents[d] // self.steps[d])
            if self.element in HALF_BYTES and d == self.rank - 1 and self.kind == "gather":
                at = 0
            else:
                at = int(w.rng.integers(0, min(last, 100)))
            names.append(w.scalar(index, storage(index).type(at)))
            types.append(tile(index, ()))
        return ", ".join(names), ", ".join(types if len(set(types)) > 1 else types[:1])


def _load(w: Writer, tensor: Tensor, index: str, order: str = "weak") -> None:
    at, types = tensor.place(w, index)
    name, type = w.name(), tile_of(tensor.element, tensor.tile)
    w.line(
        f"{name}, {name}T = load_view_tko {order} {tensor.tiles}[{at}] : {tensor.type}, {types} -> {type}, token"
    )
    w.result(name, tensor.element, tensor.tile)


def _store(w: Writer, tensor: Tensor, index: str, order: str = "weak") -> None:
    data = w.input(tensor.element, tensor.tile)
    at, types = tensor.place(w, index)
    type = tile_of(tensor.element, tensor.tile)
    w.define(f"store_view_tko {order} {data}, {tensor.tiles}[{at}] : {type}, {tensor.type}, {types} -> token")


def _kind(w: Writer, element: str) -> str:
    """A kind of view; gathers have no sub-byte elements."""
    kinds = ("partition", "strided") if element in HALF_BYTES else ("partition", "strided", "gather")
    return str(w.rng.choice(kinds))


@on("load_view_tko", ("weak", "relaxed device", "acquire sys"))
def _load_view(w: Writer, element: str, way: str) -> None:
    kind = _kind(w, element)
    _load(w, Tensor(w, element, kind), "i32" if kind != "gather" else "i64", way)


@on("store_view_tko", ("weak", "relaxed device", "release sys"))
def _store_view(w: Writer, element: str, way: str) -> None:
    kind = _kind(w, element)
    _store(w, Tensor(w, element, kind), "i32" if kind != "gather" else "i64", way)


@on("make_tensor_view")
def _tensor_view(w: Writer, element: str, way: str) -> None:
    _load(w, Tensor(w, element, "partition"), "i32")


def _both(w: Writer, element: str, kind: str, way: str) -> None:
    index = str(w.rng.choice(("i16", "i32", "i64")))
    (_load if way == "load" else _store)(w, Tensor(w, element, kind), index)


_WAYS = ("load", "store")


@on("make_partition_view", _WAYS)
def _partition(w: Writer, element: str, way: str) -> None:
    _both(w, element, "partition", way)


@on("make_strided_view", _WAYS)
def _strided(w: Writer, element: str, way: str) -> None:
    _both(w, element, "strided", way)


@on("make_gather_scatter_view", _WAYS)
def _gather(w: Writer, element: str, way: str) -> None:
    _both(w, element, "gather", way)


def _extents(w: Writer, op: str, value: str, type: str, rank: int, kind: str) -> None:
    name = w.name()
    w.line(f"{name}{f':{rank}' if rank > 1 else ''} = {op} {value} : {type} -> tile<{kind}>")
    for d in range(rank):
        w.result(f"{name}#{d}" if rank > 1 else name, kind, ())


@on("get_tensor_shape", INTEGERS)
def _tensor_shape(w: Writer, element: str, way: str) -> None:
    tensor = Tensor(w, element, "partition")
    _extents(w, "get_tensor_shape", tensor.view, tensor.view_type, tensor.rank, way)


@on("get_index_space_shape", INTEGERS)
def _index_space(w: Writer, element: str, way: str) -> None:
    tensor = Tensor(w, element, str(w.rng.choice(("partition", "strided"))))
    _extents(w, "get_index_space_shape", tensor.tiles, tensor.type, tensor.rank, way)


# -- pointers


def places(w: Writer, element: str, count: int) -> tuple[str, tuple[int, ...]]:
    """(a tile of pointers to places of an array, each at most once; its shape)."""
    half = element in HALF_BYTES
    shape: tuple[int, ...] = () if not half and w.rng.integers(8) == 0 else random_shape(w.rng, 10, int(half))
    size = int(np.prod(shape, dtype=np.int64))
    base = w.memory(element, buffer(w, element, max(count, size)))
    order = w.rng.permutation(max(count, size))[:size].astype(np.int32).reshape(shape)
    return w.pointers(element, base, shape, order), shape


def pointer_tile(element: str, shape: Sequence[int]) -> str:
    """`tile<4xptr<f32>>`."""
    return tile(f"ptr<{spelled(element)}>", shape)


@on("load_ptr_tko", ("all", "masked", "padded", "acquire device"))
def _load_pointers(w: Writer, element: str, way: str) -> None:
    pointers, shape = places(w, element, 100)
    order = way if " " in way else "weak"
    operands, types = [pointers], [pointer_tile(element, shape)]
    value = w.input(element, shape)
    if way in ("masked", "padded"):
        operands.append(w.input("i1", shape))
        types.append(tile("i1", shape))
    if way == "padded":
        operands.append(value)
        types.append(tile_of(element, shape))
    name = w.name()
    type = tile_of(element, shape)
    w.line(
        f"{name}, {name}T = load_ptr_tko {order} {', '.join(operands)} : {', '.join(types)} -> {type}, token"
    )
    if way == "masked":
        # What is not loaded is anything.
        name = w.define(f"select {operands[1]}, {name}, {value} : {tile('i1', shape)}, {type}")
    w.result(name, element, shape)


@on("store_ptr_tko", ("all", "masked", "release device"))
def _store_pointers(w: Writer, element: str, way: str) -> None:
    pointers, shape = places(w, element, 100)
    data = w.input(element, shape)
    type, mask = f"{pointer_tile(element, shape)}, {tile_of(element, shape)}", ""
    if way == "masked":
        mask = f", {w.input('i1', shape)}"
        type += f", {tile('i1', shape)}"
    w.define(f"store_ptr_tko {way if ' ' in way else 'weak'} {pointers}, {data}{mask} : {type} -> token")


@on("offset", ("i1", *INDICES))
def _offset(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 10)
    base = w.memory(element, buffer(w, element, 8))
    spread = w.spread(f"ptr<{spelled(element)}>", base, shape)
    by = w.input(way, shape, w.rng.integers(0, 2 if way == "i1" else 8, shape).astype(storage(way)))
    type = pointer_tile(element, shape)
    moved = w.define(f"offset {spread}, {by} : {type}, {tile(way, shape)} -> {type}")
    distance(w, element, moved, spread, shape)


def distance(w: Writer, element: str, a: str, b: str, shape: Sequence[int]) -> None:
    """The bytes between pointers as a result."""
    x, y = (
        w.define(f"ptr_to_int {p} : {pointer_tile(element, shape)} -> {tile('i64', shape)}") for p in (a, b)
    )
    w.result(w.define(f"subi {x}, {y} : {tile('i64', shape)}"), "i64", shape)


@on("ptr_to_int")
def _ptr_to_int(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 10)
    spread = w.spread(f"ptr<{spelled(element)}>", w.memory(element, buffer(w, element, 8)), shape)
    distance(w, element, spread, spread, shape)


@on("int_to_ptr")
def _int_to_ptr(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 10)
    spread = w.spread(f"ptr<{spelled(element)}>", w.memory(element, buffer(w, element, 8)), shape)
    number = w.define(f"ptr_to_int {spread} : {pointer_tile(element, shape)} -> {tile('i64', shape)}")
    back = w.define(f"int_to_ptr {number} : {tile('i64', shape)} -> {pointer_tile(element, shape)}")
    distance(w, element, back, spread, shape)


@on("ptr_to_ptr")
def _ptr_to_ptr(w: Writer, element: str, way: str) -> None:
    other = str(w.rng.choice([e for e in ELEMENTS if e not in (element, "i4", "ptr")]))
    shape = random_shape(w.rng, 8)
    spread = w.spread(f"ptr<{spelled(element)}>", w.memory(element, buffer(w, element, 8)), shape)
    made = w.define(f"ptr_to_ptr {spread} : {pointer_tile(element, shape)} -> {pointer_tile(other, shape)}")
    x = w.define(f"ptr_to_int {made} : {pointer_tile(other, shape)} -> {tile('i64', shape)}")
    y = w.define(f"ptr_to_int {spread} : {pointer_tile(element, shape)} -> {tile('i64', shape)}")
    w.result(w.define(f"subi {x}, {y} : {tile('i64', shape)}"), "i64", shape)


# -- atomics

MODES = ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")


@on("atomic_rmw_tko", MODES)
def _atomic(w: Writer, element: str, way: str) -> None:
    pointers, shape = places(w, element, 100)
    data, mask = w.input(element, shape), w.input("i1", shape)
    name, type = w.name(), tile_of(element, shape)
    w.line(
        f"{name}, {name}T = atomic_rmw_tko relaxed device {pointers}, {way}, {data}, {mask} : "
        f"{pointer_tile(element, shape)}, {type}, {tile('i1', shape)} -> {type}, token"
    )
    zero = w.spread(element, w.constant(element, 0), shape)
    w.result(w.define(f"select {mask}, {name}, {zero} : {tile('i1', shape)}, {type}"), element, shape)


@on("atomic_cas_tko")
def _compare_and_swap(w: Writer, element: str, way: str) -> None:
    """Half of the places have the number that is looked for."""
    shape = random_shape(w.rng, 8, int(element in HALF_BYTES))
    count = int(np.prod(shape))
    data = buffer(w, element, count)
    base = w.memory(element, data)
    pointers = w.pointers(element, base, shape, np.arange(count, dtype=np.int32).reshape(shape))
    wanted = None
    if element not in (*HALF_BYTES, "ptr"):
        wanted = np.where(w.rng.integers(0, 2, count), data, numbers(element, (count,), w.rng))
        wanted = wanted.astype(data.dtype).reshape(shape)
    compare, value = w.input(element, shape, wanted), w.input(element, shape)
    name, type = w.name(), tile_of(element, shape)
    w.line(
        f"{name}, {name}T = atomic_cas_tko acq_rel sys {pointers}, {compare}, {value} : "
        f"{pointer_tile(element, shape)}, {type} -> {type}, token"
    )
    w.result(name, element, shape)


@on("atomic_red_view_tko", MODES)
def _atomic_view(w: Writer, element: str, way: str) -> None:
    tensor = Tensor(w, element, str(w.rng.choice(("partition", "strided"))), padded=False)
    data = w.input(element, tensor.tile)
    at, types = tensor.place(w, "i32")
    type = tile_of(element, tensor.tile)
    w.define(
        f"atomic_red_view_tko relaxed device {tensor.tiles}[{at}], {way}, {data} token = %token : {type}, "
        f"{tensor.type}, {types} -> token"
    )


# -- multicast memory

KINDS = MultimemReductionAttr.cases


def _multimem(w: Writer, element: str, padded: bool = False) -> tuple[Tensor, str, str]:
    tensor = Tensor(w, element, "partition", attributes=", <multicast>", padded=padded)
    return (tensor, *tensor.place(w, "i32"))


def _attribute(way: str) -> str:
    return f" attributes {{reduction = #cuda_tile.multimem_reduction_kind<{way}>}}" if way else ""


@on("multimem_load_reduce_view_tko", KINDS)
def _multimem_load(w: Writer, element: str, way: str) -> None:
    tensor, at, types = _multimem(w, element, padded=True)
    name, type = w.name(), tile_of(element, tensor.tile)
    w.line(
        f"{name}, {name}T = multimem_load_reduce_view_tko relaxed sys {tensor.tiles}[{at}]{_attribute(way)} : "
        f"{tensor.type}, {types} -> {type}, token"
    )
    w.result(name, element, tensor.tile)


@on("multimem_reduce_view_tko", KINDS)
def _multimem_reduce(w: Writer, element: str, way: str) -> None:
    tensor, at, types = _multimem(w, element)
    data, type = w.input(element, tensor.tile), tile_of(element, tensor.tile)
    w.define(
        f"multimem_reduce_view_tko relaxed sys {tensor.tiles}, {data}[{at}] token = %token{_attribute(way)} : "
        f"{tensor.type}, {type}, {types}, token -> token"
    )


@on("multimem_store_view_tko")
def _multimem_store(w: Writer, element: str, way: str) -> None:
    tensor, at, types = _multimem(w, element)
    data, type = w.input(element, tensor.tile), tile_of(element, tensor.tile)
    w.define(
        f"multimem_store_view_tko relaxed sys {tensor.tiles}, {data}[{at}] token = %token : "
        f"{tensor.type}, {type}, {types}, token -> token"
    )


# -- memory of the program's own


@on("alloca")
def _alloca(w: Writer, element: str, way: str) -> None:
    shape = random_shape(w.rng, 8, int(element in HALF_BYTES), (1, 1))
    count = shape[0]
    size = max(1, BITS[element] // 8)
    base = w.define(f"alloca num_elem = {count}, alignment = {max(16, size)} : tile<ptr<{spelled(element)}>>")
    pointers = w.pointers(element, base, shape, np.arange(count, dtype=np.int32))
    data, type = w.input(element, shape), tile_of(element, shape)
    token = w.define(
        f"store_ptr_tko weak {pointers}, {data} : {pointer_tile(element, shape)}, {type} -> token"
    )
    name = w.name()
    w.line(
        f"{name}, {name}T = load_ptr_tko weak {pointers} token={token} : {pointer_tile(element, shape)} -> "
        f"{type}, token"
    )
    w.result(name, element, shape)


def _global(w: Writer, element: str) -> None:
    count = 1 << int(w.rng.integers(1, 7))
    ones = ", ".join(
        ("true" if v else "false")
        if element == "i1"
        else str(int(v))
        if element in (*INTEGERS, "i4")
        else f"{v:e}"
        for v in w.rng.choice((0.5, 1.0, 2.0), count)
    )
    w.before.append(
        f"global @table alignment = 16 <{spelled(element)}: [{ones}]> : {tile_of(element, (count,))}"
    )
    base = w.define(f"get_global @table : tile<ptr<{spelled(element)}>>")
    text, view, part = whole(element, (count,))
    tensor = w.define(f"make_tensor_view {base}, {text} : {view}")
    tiles = w.define(f"make_partition_view {tensor} : {part}")
    name, type = w.name(), tile_of(element, (count,))
    w.line(f"{name}, {name}T = load_view_tko weak {tiles}[%zero] : {part}, tile<i32> -> {type}, token")
    w.result(name, element, (count,))


@on("global")
def _global_row(w: Writer, element: str, way: str) -> None:
    _global(w, element)


@on("get_global")
def _get_global(w: Writer, element: str, way: str) -> None:
    _global(w, element)
