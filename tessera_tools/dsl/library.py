"""The functions of the DSL that are more than one op: views of memory, loads and stores, tiles.

    load(view, (i, j))   store(view, (i, j), tile)   where(mask, x, 0.0)

Python's `min`, `max`, `sum`, `abs` and `print` are these functions in a kernel.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar, overload

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar,
)
from tessera_tools.dsl import ops
from tessera_tools.dsl.emitter import current, number_fits
from tessera_tools.dsl.types import Dtype, TypeLike, type_of
from tessera_tools.dsl.values import (
    Number,
    Operand,
    Tile,
    View,
    as_tile,
    broadcast,
    convert,
    describe,
    multiply,
    select,
    together,
)
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.types import DYNAMIC, I1, I32, I64, FloatType, IntegerType

__all__ = [
    "Array", "absolute", "arange", "assume", "atomic", "axis_of", "cdiv", "constant", "dot", "full", "gather", "load",
    "make_gather_scatter_view", "make_partition_view", "make_strided_view", "make_tensor_view", "maximum", "minimum",
    "mmaf", "num_programs", "num_tiles", "ones", "output", "program_id", "range", "reshape", "static_range", "store",
    "transpose", "where", "zeros",
]  # fmt: skip

Extent: TypeAlias = Tile | int
"""An extent, a stride or an index: a number is known when the kernel is compiled, a tile when it runs."""
Size: TypeAlias = Extent | Sequence[Extent]
Source: TypeAlias = "Tile | View | Array"
"""What is loaded from and stored to: a view, or pointers."""
Shape: TypeAlias = int | Sequence[int]
Numbers: TypeAlias = "Number | Sequence[Numbers]"
"""Numbers that are known when the kernel is compiled, nested as the rows of a tile."""
ScalarT = TypeVar("ScalarT", bound=Number)


class Array:
    """A parameter `array[f16, 2]`: `pointer`, `shape` and `strides`."""

    def __init__(self, pointer: Tile, shape: tuple[Tile, ...], strides: tuple[Extent, ...]) -> None:
        self.pointer = pointer
        self.shape = shape
        self.strides = strides

    @property
    def dtype(self) -> Dtype:
        """The element type."""
        kind = self.pointer.element
        assert isinstance(kind, PointerType)
        return Dtype(kind.pointee)

    def __repr__(self) -> str:
        return f"array[{self.dtype}, {len(self.shape)}]"


def range(*bounds: Extent) -> Sequence[Extent]:
    """The numbers of a loop of the kernel, as Python's `range`; the step is positive."""
    raise Refusal("range() is only supported in 'for … in range(…)'")


def static_range(*bounds: int) -> Sequence[int]:
    """The numbers of a loop that is unrolled when the kernel is compiled; as Python's `range`."""
    return _builtin_range(*bounds)


_builtin_range = builtins.range


def program_id(axis: int = 0) -> Tile:
    """The number of this tile block along an axis of the grid, 0 to 2."""
    return ops.call("get_tile_block_id")[axis_of(axis, 3)]


def num_programs(axis: int = 0) -> Tile:
    """The number of tile blocks along an axis of the grid, 0 to 2."""
    return ops.call("get_num_tile_blocks")[axis_of(axis, 3)]


def axis_of(axis: object, rank: int) -> int:
    """The number of an axis, which counts from the end if it is negative. Raises Refusal."""
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
        raise Refusal(f"found {describe(axis)} as an axis, expected a number from 0 to {rank - 1}")
    return axis % rank


# -- tensors and views


def make_tensor_view(base: Tile | Array, shape: Size | None = None, strides: Size | None = None) -> View:
    """A tensor in global memory: a pointer, extents, and strides in elements, by default row-major ones.

    Numbers are part of the type, tiles are not. base: also an array, which has shape and strides of its own.
    """
    if isinstance(base, Array):
        shape = base.shape if shape is None else shape
        strides = base.strides if strides is None else strides
        base = base.pointer
    if not isinstance(base, Tile) or not isinstance(base.element, PointerType) or base.shape:
        raise _no_base(base)
    if shape is None:
        raise Refusal("a tensor at a pointer has a shape: make_tensor_view(pointer, [m, n])")
    extents = _listed(shape, "shape")
    steps = _row_major(extents) if strides is None else _listed(strides, "strides")
    if len(steps) != len(extents):
        raise Refusal(f"found {len(extents)} extents and {len(steps)} strides, expected as many")
    dynamic = [part for part in (*extents, *steps) if isinstance(part, Tile)]
    if dynamic:
        element = together(*(part.reshape(()) for part in dynamic))[0].element
        extents, steps = (
            [convert(p, element) if isinstance(p, Tile) else p for p in parts] for parts in (extents, steps)
        )
    kind = TensorViewType(_static(extents), base.element.pointee, _static(steps), base.element.kind)
    made = ct.MakeTensorView(
        base.ir,
        [part.ir for part in extents if isinstance(part, Tile)],
        [part.ir for part in steps if isinstance(part, Tile)],
        result=kind,
    )
    return View(current().insert(made).result, base.origin)


def _no_base(found: object) -> Refusal:
    return Refusal(f"found {describe(found)} as the base of a tensor, expected a pointer or an array")


def _is_extent(value: object) -> TypeGuard[Extent]:
    if isinstance(value, Tile):
        return not value.shape and isinstance(value.element, IntegerType)
    return isinstance(value, int) and not isinstance(value, bool)


def _listed(values: Size, noun: str) -> list[Extent]:
    found: list[Extent] = []
    for value in values if isinstance(values, tuple | list) else [values]:
        if not _is_extent(value):
            raise Refusal(f"found {describe(value)} in the {noun}, expected an integer")
        found.append(value)
    return found


def _static(values: Sequence[Extent]) -> tuple[int, ...]:
    return tuple(DYNAMIC if isinstance(value, Tile) else value for value in values)


def _row_major(extents: Sequence[Extent]) -> list[Extent]:
    strides: list[Extent] = [1]
    for extent in list(extents)[:0:-1]:
        strides.insert(0, extent if isinstance(strides[0], int) and strides[0] == 1 else extent * strides[0])
    return strides


def make_partition_view(
    base: Source,
    shape: Size | None = None,
    tile: Shape = (),
    dim_map: Sequence[int] | None = None,
    *,
    strides: Size | None = None,
    padding: str | None = "zero",
) -> View:
    """A tensor cut into a grid of tiles, for `load` and `store`.

    base: a pointer with `shape` (and `strides`), an array, or a tensor of `make_tensor_view`.
    tile: the extents of a tile, powers of two.
    dim_map: the dimension of the tensor along which each dimension of the tile runs; by default the same one.
    padding: what loads give for elements out of bounds: `zero`, `neg_zero`, `nan`, `pos_inf`, `neg_inf`; None for
        unspecified values.
    """
    (tensor, type), extents = _tensor(base, shape, strides), _tile(tile)
    mapping = tuple(dim_map) if dim_map is not None else ()
    if mapping == tuple(_builtin_range(len(extents))):
        mapping = ()
    return _tiled(ct.MakePartitionView, tensor, PartitionViewType(extents, type, mapping, _padding(padding)))


def make_strided_view(
    base: Source,
    shape: Size | None = None,
    tile: Shape = (),
    traversal_strides: Sequence[int] = (),
    dim_map: Sequence[int] = (),
    *,
    strides: Size | None = None,
    padding: str | None = "zero",
) -> View:
    """A tensor as tiles that begin `traversal_strides` elements apart, so that they overlap or leave gaps."""
    (tensor, type), extents = _tensor(base, shape, strides), _tile(tile)
    kind = StridedViewType(extents, tuple(traversal_strides), type, tuple(dim_map), _padding(padding))
    return _tiled(ct.MakeStridedView, tensor, kind)


def make_gather_scatter_view(
    base: Source,
    shape: Size | None = None,
    tile: Shape = (),
    sparse_dim: int = 0,
    *,
    strides: Size | None = None,
    padding: str | None = "zero",
) -> View:
    """A tensor as tiles whose indices along `sparse_dim` are given one by one, as a tile of numbers."""
    (tensor, type), extents = _tensor(base, shape, strides), _tile(tile)
    kind = GatherScatterViewType(extents, type, sparse_dim, _padding(padding))
    return _tiled(ct.MakeGatherScatterView, tensor, kind)


def _tensor(base: Source, shape: Size | None, strides: Size | None) -> tuple[View, TensorViewType]:
    """A tensor, and its type."""
    if isinstance(base, View):
        if not isinstance(base.ir.type, TensorViewType):
            raise _no_base(base)
        if shape is not None or strides is not None:
            raise Refusal("a tensor has a shape and strides already")
        return base, base.ir.type
    made = make_tensor_view(base, shape, strides)
    assert isinstance(made.ir.type, TensorViewType)
    return made, made.ir.type


def _tile(extents: Shape) -> tuple[int, ...]:
    found = _numbers(extents, "tile=")
    if not found:
        raise Refusal("found no extents as tile=, expected numbers that are known at compile time")
    return found


def _numbers(given: object, name: str) -> tuple[int, ...]:
    """A number or several, known at compile time."""
    each: Sequence[object] = tuple(given) if isinstance(given, tuple | list) else (given,)
    found = tuple(n for n in each if isinstance(n, int) and not isinstance(n, bool))
    if len(found) != len(each):
        raise Refusal(f"found {describe(given)} as {name}, expected numbers that are known at compile time")
    return found


def _padding(padding: str | None) -> ct.PaddingValueAttr | None:
    return ct.PaddingValueAttr(padding) if padding is not None else None


def _tiled(
    op: type[ct.MakePartitionView | ct.MakeStridedView | ct.MakeGatherScatterView], tensor: View, kind: Type
) -> View:
    return View(current().insert(op(tensor.ir, result=kind)).result, tensor.origin)


def num_tiles(view: View, axis: int = 0) -> Tile:
    """The number of tiles of a view along an axis, partial ones included."""
    if not isinstance(view, View) or not isinstance(view.ir.type, TileViewType):
        raise Refusal(f"found {describe(view)}, expected a view of a tensor as tiles")
    return ops.call("get_index_space_shape", view)[axis_of(axis, view.ir.type.index_rank)]


# -- memory


def load(
    source: Source,
    index: Size | None = None,
    *,
    mask: Operand | None = None,
    other: Operand | None = None,
    **options: object,
) -> Tile:
    """A tile of a view, `load(view, (i, j))`, or the elements at a tile of pointers, `load(pointers, mask=…)`.

    index: the number of the tile along each dimension. Elements out of bounds are the padding of the view.
    mask: which pointers are read; the result has `other` for the rest, or an unspecified value.
    options: those of `load_view_tko` and `load_ptr_tko`.
    """
    if isinstance(source, View):
        if mask is not None or other is not None:
            raise Refusal("the load of a view has no mask=; its padding says what is out of bounds")
        return ops.call("load_view_tko", source, _index(source, index), **options)
    pointers = _pointers(source)
    if index is not None:
        raise Refusal("a load through pointers has no index; add it to the pointers")
    if mask is not None:
        mask = broadcast(as_tile(mask), pointers.shape)
    if other is not None:
        kind = pointers.element.pointee  # type: ignore[attr-defined]
        other = broadcast(convert(as_tile(other, kind), kind), pointers.shape)
    return ops.call("load_ptr_tko", pointers, mask, other, **options)


def store(target: Source, *parts: Operand | Size, mask: Operand | None = None, **options: object) -> None:
    """Write a tile of a view, `store(view, (i, j), tile)`, or elements, `store(pointers, tile, mask=…)`.

    A number is written to every element. Elements out of bounds, or where the mask is false, are not written.
    options: those of `store_view_tko` and `store_ptr_tko`.
    """
    if isinstance(target, View):
        if len(parts) != 2 or mask is not None:
            raise Refusal("expected store(view, index, tile)")
        index, value = parts
        kind = target.type
        if not isinstance(kind, TileViewType):
            raise Refusal(f"found {describe(target)}, expected a view of a tensor as tiles")
        ops.call("store_view_tko", _value(value, kind.tile_type), target, _index(target, index), **options)
        return
    pointers = _pointers(target)
    if len(parts) != 1:
        raise Refusal("expected store(pointers, tile)")
    kind = TileType(pointers.shape, pointers.element.pointee)  # type: ignore[attr-defined]
    if mask is not None:
        mask = broadcast(as_tile(mask), pointers.shape)
    ops.call("store_ptr_tko", pointers, _value(parts[0], kind), mask, **options)


def gather(view: View, index: Size, **options: Any) -> Tile:
    """A tile of a view of `make_gather_scatter_view`: one of the indices is a tile of numbers."""
    return load(view, index, **options)


def _value(value: object, kind: TileType) -> Tile:
    """What is stored as a tile of this type; only numbers are converted."""
    if isinstance(value, bool | int | float):
        return Tile(current().constant(value, kind))
    if not isinstance(value, Tile):
        raise Refusal(f"found {describe(value)}, expected a {kind.short_text()}")
    if value.element is not kind.element:
        raise Refusal(
            f"a {value} cannot be stored as {kind.short_text()}; convert it with .to({kind.element})"
        )
    return broadcast(value, kind.shape)


def _pointers(source: Source) -> Tile:
    if isinstance(source, Array):
        source = source.pointer
    if not isinstance(source, Tile) or not isinstance(source.element, PointerType):
        raise Refusal(f"found {describe(source)}, expected a view or a tile of pointers")
    return source


def _index(view: View, index: Operand | Size | None) -> list[Tile]:
    kind = view.type
    if not isinstance(kind, TileViewType):
        raise Refusal(f"found {describe(view)}, expected a view of it as tiles, as make_partition_view makes")
    given = list(index) if isinstance(index, tuple | list) else [index]
    if len(given) != kind.index_rank:
        raise Refusal(f"found {len(given)} indices of a tile, expected {kind.index_rank}")
    tiles = [as_tile(part) for part in given]
    element = together(*(tile.reshape(()) if not tile.shape else 0 for tile in tiles))[0].element
    return [convert(tile, element) if not tile.shape else tile for tile in tiles]


def atomic(
    mode: str,
    target: Source,
    value: Operand,
    index: Size | None = None,
    *,
    mask: Operand | None = None,
    **options: object,
) -> Tile | None:
    """Read, modify and write each element in one step; returns what was there before.

    mode: `add`, `max`, `min`, `and`, `or`, `xor`, `umax`, `umin`, `xchg`.
    target: a tile of pointers; or a view with the index of a tile, whose previous elements are not returned.
    """
    if isinstance(target, View):
        kind = target.type
        assert isinstance(kind, TileViewType)
        made = _value(value, kind.tile_type)
        word = "addf" if mode == "add" and made.is_float else mode
        return ops.call("atomic_red_view_tko", target, _index(target, index), made, word, **options)
    pointers = _pointers(target)
    kind = TileType(pointers.shape, pointers.element.pointee)  # type: ignore[attr-defined]
    made = _value(value, kind)
    word = "addf" if mode == "add" and made.is_float else mode
    if mask is not None:
        mask = broadcast(as_tile(mask), pointers.shape)
    return ops.call("atomic_rmw_tko", pointers, made, word, mask, **options)


# -- tiles


def full(type: TypeLike | Shape, value: Operand, dtype: TypeLike | None = None) -> Tile:
    """A tile whose elements are all `value`. type: `tile[128, 64, f32]`, or a shape with `dtype`."""
    kind = _tile_type(type, dtype)
    if isinstance(value, bool | int | float):
        return Tile(current().constant(value, kind))
    return broadcast(convert(as_tile(value), kind.element), kind.shape)


def zeros(type: TypeLike | Shape, dtype: TypeLike | None = None) -> Tile:
    """A tile of zeros, as `full`."""
    return full(type, 0, dtype)


def ones(type: TypeLike | Shape, dtype: TypeLike | None = None) -> Tile:
    """A tile of ones, as `full`."""
    return full(type, 1, dtype)


def _tile_type(type: TypeLike | Shape, dtype: TypeLike | None) -> TileType:
    if dtype is not None:
        return TileType(_numbers(type, "the shape"), type_of(dtype))
    if isinstance(type, tuple | list | int):
        raise Refusal(f"found the shape {type!r}, expected a dtype too, as in zeros((128, 64), f32)")
    kind = type_of(type)
    return kind if isinstance(kind, TileType) else scalar(kind)


def constant(values: Numbers, type: TypeLike) -> Tile:
    """A tile of given numbers, in row-major order or nested."""
    kind = _tile_type(type, None)
    flat = _flattened(values)
    if len(flat) not in (1, kind.num_elements):
        raise Refusal(
            f"found {len(flat)} numbers, expected 1 or {kind.num_elements} for a {kind.short_text()}"
        )
    element = kind.element
    if isinstance(element, FloatType):
        bits = [floats.encode(float(value), element.keyword) for value in flat]
    else:
        wrong = [value for value in flat if not number_fits(value, element)]
        if wrong:
            raise Refusal(f"{wrong[0]!r} is not a number of the type {element}")
        bits = [int(value) & ((1 << element.width) - 1) for value in flat]  # type: ignore[attr-defined]
    return Tile(current().insert(ct.Constant(DenseElementsAttr.of(kind, bits), result=kind)).result)


def _flattened(values: Numbers) -> list[Number]:
    if isinstance(values, tuple | list):
        return [one for part in values for one in _flattened(part)]
    if isinstance(values, bool | int | float):
        return [values]
    raise Refusal(f"found {describe(values)}, expected numbers that are known at compile time")


def arange(start: int, end: int | None = None, dtype: TypeLike | None = None) -> Tile:
    """The numbers from `start` (or 0) up to `end`, exclusive, as a tile of i32; as many as a power of two."""
    first, last = (0, start) if end is None else (start, end)
    if any(isinstance(n, bool) or not isinstance(n, int) for n in (first, last)):
        wrong = describe(first if not isinstance(first, int) else last)
        raise Refusal(f"found {wrong}, expected a number that is known at compile time")
    element = type_of(dtype) if dtype is not None else I32
    made = ops.call("iota", result=TileType((last - first,), element))
    return made + first if first else made


def reshape(x: Tile, *shape: int | Sequence[int]) -> Tile:
    """The same elements in row-major order, in another shape."""
    return as_tile(x).reshape(*shape)


def transpose(x: Tile) -> Tile:
    """The transposed matrix, `x.T`."""
    return x.T


def where(condition: Operand, x: Operand, y: Operand) -> Tile:
    """Elements of `x` where the condition is true, otherwise of `y`."""
    return select(condition, x, y)


@overload
def cdiv(a: int, b: int) -> int: ...
@overload
def cdiv(a: Tile, b: Operand) -> Tile: ...
@overload
def cdiv(a: Operand, b: Tile) -> Tile: ...
def cdiv(a: Operand, b: Operand) -> Extent:
    """The quotient of integers, rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    x, y = together(a, b)
    rounding = ct.RoundingAttr("positive_inf")
    return Tile(current().insert(ct.DivI(x.ir, y.ir, ct.SignednessAttr("signed"), rounding)).result)


@overload
def assume(x: Tile, *, divisible_by: int = 0, lower: int | None = None, upper: int | None = None) -> Tile: ...
@overload
def assume(
    x: ScalarT, *, divisible_by: int = 0, lower: int | None = None, upper: int | None = None
) -> ScalarT: ...
def assume(
    x: Operand, *, divisible_by: int = 0, lower: int | None = None, upper: int | None = None
) -> Operand:
    """The value, about which the compiler may assume this; the behavior is undefined if it is not so.

    divisible_by: a power of two, in bytes for pointers. lower, upper: inclusive bounds.
    """
    if isinstance(x, int | float):
        return x
    found = x
    if lower is not None or upper is not None:
        found = ops.call("assume", found, ct.BoundedAttr(lower, upper))
    if divisible_by:
        found = ops.call("assume", found, ct.DivByAttr(divisible_by))
    return found


def dot(a: Tile, b: Tile, acc: Tile | None = None) -> Tile:
    """`a @ b + acc`; without `acc`, the sums are f32, f64 of f64, and i32 of integers."""
    return multiply(a, b, acc)


def mmaf(lhs: Tile, rhs: Tile, acc: Tile, **options: object) -> Tile:
    """`lhs · rhs + acc` of matrices MxK, KxN and MxN.

    Where only that fits, `rhs` is taken as NxK and transposed. Write `rhs.T` where both fit, as for square matrices.
    """
    shapes = [tile.shape for tile in (lhs, rhs, acc) if isinstance(tile, Tile)]
    if len(shapes) == 3 and all(len(shape) == 2 for shape in shapes):
        (m, k), (rows, columns), (_, n) = shapes
        if (rows, columns) != (k, n) and (columns, rows) == (k, n) and shapes[2][0] == m:
            rhs = rhs.T
    return ops.call("mmaf", lhs, rhs, acc, **options)


def maximum(x: Operand, y: Operand) -> Tile:
    """The greater value, elementwise; of a number and a NaN, the number."""
    return _extremum(x, y, "max")


def minimum(x: Operand, y: Operand) -> Tile:
    """The lesser value, elementwise; of a number and a NaN, the number."""
    return _extremum(x, y, "min")


def _extremum(x: Operand, y: Operand, word: str) -> Tile:
    a, b = together(x, y)
    return ops.call(f"{word}{'f' if a.is_float else 'i'}", a, b)


def absolute(x: Operand) -> Operand:
    """The absolute value, `abs`."""
    return abs(x)


def output(format: str | Operand, *values: Operand) -> None:
    """Print by a format as printf's, `print("%d %f", i, x)`; without conversions, the values with spaces between."""
    if not isinstance(format, str):
        format, values = "", (format, *values)
    tiles = [as_tile(value) for value in values]
    if "%" not in format:
        words = ["%f" if tile.is_float else "%lld" if tile.element is I64 else "%d" for tile in tiles]
        format = " ".join([format, *words] if format else words)
        tiles = [convert(tile, I32) if tile.element is I1 else tile for tile in tiles]
    ops.call("print_tko", tiles, format + ("" if format.endswith("\n") else "\n"))
