"""Values of a kernel that are known only when it runs, with Python's operators.

A `Tile` is a tile, of rank 0 for a number; a `View` is a tensor or a view of one as tiles; a `Token` orders accesses.
Numbers of Python are constants: they get the element type of the tile that they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeGuard

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.cuda_tile.types import (
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar,
    short_text,
)
from tessera_tools.dsl.emitter import ANYWHERE, current, number_fits
from tessera_tools.dsl.types import Dtype, TypeLike, type_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F16, F32, F64, I1, I32, I64, FloatType, IntegerType, bit_width

__all__ = [
    "Number",
    "Operand",
    "Runtime",
    "Tile",
    "Token",
    "View",
    "as_tile",
    "broadcast",
    "convert",
    "describe",
    "together",
    "wrap",
]

SIGNED, UNSIGNED = ct.SignednessAttr("signed"), ct.SignednessAttr("unsigned")
Number: TypeAlias = bool | int | float


def refers(kind: Type) -> bool:
    """Whether values of a type point into memory."""
    if isinstance(kind, TileType):
        return isinstance(kind.element, PointerType)
    return isinstance(kind, TensorViewType | TileViewType)


class Runtime:
    """A value of the kernel. `origin` is the group of memory that it points into, None if it does not point."""

    __slots__ = ("ir", "origin")

    def __init__(self, ir: Value, origin: str | None = None) -> None:
        self.ir = ir
        self.origin = ANYWHERE if origin is None and refers(ir.type) else origin

    def __str__(self) -> str:
        return short_text(self.ir.type)

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise Refusal(f"a {self} has no truth value while the kernel is compiled")

    def __iter__(self) -> Iterator[Runtime]:
        raise Refusal(f"a {self} cannot be iterated or unpacked")


class Token(Runtime):
    """An order between accesses to memory."""

    __slots__ = ()


class View(Runtime):
    """A tensor in global memory, or a view of one as tiles."""

    __slots__ = ()

    @property
    def type(self) -> TensorViewType | TileViewType:
        """The IR type."""
        assert isinstance(self.ir.type, TensorViewType | TileViewType)
        return self.ir.type

    @property
    def shape(self) -> tuple[int, ...] | tuple[Tile, ...]:
        """The extents of a tensor, or of the tiles of a view."""
        kind = self.type
        if isinstance(kind, TileViewType):
            return kind.tile_type.shape
        made = current().insert(ct.GetTensorShape(self.ir, extents=[scalar(I32)] * len(kind.shape)))
        return tuple(Tile(extent) for extent in made.results)

    @property
    def dtype(self) -> Dtype:
        """The element type."""
        kind = self.type
        return Dtype(kind.tile_type.element if isinstance(kind, TileViewType) else kind.element)


class Tile(Runtime):
    """A tile of numbers or pointers."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    def type(self) -> TileType:
        """The IR type."""
        assert isinstance(self.ir.type, TileType)
        return self.ir.type

    @property
    def element(self) -> Type:
        """The element type, of the IR."""
        return self.type.element

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.type.shape

    @property
    def dtype(self) -> Dtype:
        """The element type."""
        return Dtype(self.element)

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return isinstance(self.element, FloatType)

    @property
    def T(self) -> Tile:
        """The transposed matrix; of more dimensions, the last two are exchanged."""
        rank = len(self.shape)
        if rank < 2:
            raise Refusal(f"a {self} has no transpose; expected two dimensions or more")
        return self.permute((*range(rank - 2), rank - 1, rank - 2))

    def to(self, dtype: TypeLike) -> Tile:
        """The elements converted to another type: rounded to nearest, and toward zero to integers."""
        return convert(self, type_of(dtype))

    def reshape(self, *shape: int | Sequence[int]) -> Tile:
        """The same elements in row-major order, in another shape."""
        return reshape(self, _flat(shape))

    def permute(self, *order: int | Sequence[int]) -> Tile:
        """Dimensions in another order: dimension i of the result is dimension `order[i]`."""
        dims = _flat(order)
        if sorted(dims) != list(range(len(self.shape))):
            raise Refusal(f"found the order {dims}, expected each of the {len(self.shape)} dimensions once")
        kind = TileType(tuple(self.shape[dim] for dim in dims), self.element)
        made = ct.Permute(self.ir, DenseArrayAttr(I32, dims), result=kind)
        return Tile(current().insert(made).result, self.origin)

    def __getitem__(self, index: slice | tuple[slice | None, ...] | None) -> Tile:
        parts = index if isinstance(index, tuple) else (index,)
        shape: list[int] = []
        rest = list(self.shape)
        for part in parts:
            if part is None:
                shape.append(1)
            elif isinstance(part, slice) and part == slice(None) and rest:
                shape.append(rest.pop(0))
            else:
                raise Refusal(
                    f"found {describe(part)} as an index of a {self}; only ':' and None are supported, "
                    "and extract() for parts"
                )
        return reshape(self, (*shape, *rest))

    # -- operators

    def __add__(self, other: Operand) -> Tile:
        return _add(self, other)

    def __radd__(self, other: Operand) -> Tile:
        return _add(other, self)

    def __sub__(self, other: Operand) -> Tile:
        if isinstance(self.element, PointerType):
            return _offset(self, -as_tile(other))
        return _arithmetic("-", self, other, ct.SubI, ct.SubF)

    def __rsub__(self, other: Operand) -> Tile:
        return _arithmetic("-", other, self, ct.SubI, ct.SubF)

    def __mul__(self, other: Operand) -> Tile:
        return _arithmetic("*", self, other, ct.MulI, ct.MulF)

    def __rmul__(self, other: Operand) -> Tile:
        return _arithmetic("*", other, self, ct.MulI, ct.MulF)

    def __truediv__(self, other: Operand) -> Tile:
        return _quotient(self, other)

    def __rtruediv__(self, other: Operand) -> Tile:
        return _quotient(other, self)

    def __floordiv__(self, other: Operand) -> Tile:
        return _floor_quotient(self, other)

    def __rfloordiv__(self, other: Operand) -> Tile:
        return _floor_quotient(other, self)

    def __mod__(self, other: Operand) -> Tile:
        return _remainder(self, other)

    def __rmod__(self, other: Operand) -> Tile:
        return _remainder(other, self)

    def __pow__(self, other: Operand) -> Tile:
        return _power(self, other)

    def __rpow__(self, other: Operand) -> Tile:
        return _power(other, self)

    def __matmul__(self, other: Tile) -> Tile:
        return multiply(self, other)

    def __and__(self, other: Operand) -> Tile:
        return _arithmetic("&", self, other, ct.AndI)

    __rand__ = __and__

    def __or__(self, other: Operand) -> Tile:
        return _arithmetic("|", self, other, ct.OrI)

    __ror__ = __or__

    def __xor__(self, other: Operand) -> Tile:
        return _arithmetic("^", self, other, ct.XOrI)

    __rxor__ = __xor__

    def __lshift__(self, other: Operand) -> Tile:
        return _arithmetic("<<", self, other, ct.ShLI)

    def __rlshift__(self, other: Operand) -> Tile:
        return _arithmetic("<<", other, self, ct.ShLI)

    def __rshift__(self, other: Operand) -> Tile:
        return _arithmetic(">>", self, other, lambda a, b: ct.ShRI(a, b, SIGNED))

    def __rrshift__(self, other: Operand) -> Tile:
        return _arithmetic(">>", other, self, lambda a, b: ct.ShRI(a, b, SIGNED))

    def __neg__(self) -> Tile:
        return Tile(current().insert((ct.NegF if self.is_float else ct.NegI)(self.ir)).result)

    def __pos__(self) -> Tile:
        return self

    def __invert__(self) -> Tile:
        return self ^ (True if self.element is I1 else -1)

    def __abs__(self) -> Tile:
        return Tile(current().insert((ct.AbsF if self.is_float else ct.AbsI)(self.ir)).result)

    def __eq__(self, other: object) -> Tile:  # type: ignore[override]
        return _compare("equal", self, other)

    def __ne__(self, other: object) -> Tile:  # type: ignore[override]
        return _compare("not_equal", self, other)

    def __lt__(self, other: Operand) -> Tile:
        return _compare("less_than", self, other)

    def __le__(self, other: Operand) -> Tile:
        return _compare("less_than_or_equal", self, other)

    def __gt__(self, other: Operand) -> Tile:
        return _compare("greater_than", self, other)

    def __ge__(self, other: Operand) -> Tile:
        return _compare("greater_than_or_equal", self, other)


Operand: TypeAlias = Tile | Number
"""What an operator takes: a number is a constant of the type of the tile that it meets."""


def is_operand(value: object) -> TypeGuard[Operand]:
    """Whether a value is a tile or a number."""
    return isinstance(value, Tile | bool | int | float)


def wrap(value: Value, origin: str | None = None) -> Tile | View | Token:
    """The value of the DSL for a value of the IR."""
    if isinstance(value.type, TileType):
        return Tile(value, origin)
    return View(value, origin) if refers(value.type) else Token(value)


def describe(value: object) -> str:
    """What a value is, for messages."""
    if isinstance(value, Runtime):
        return f"a {value}"
    if isinstance(value, bool | int | float | str | tuple | list | type(None) | slice | Dtype):
        return f"{value!r}"
    return f"a {type(value).__name__}"


def _flat(parts: Sequence[int | Sequence[int]]) -> tuple[int, ...]:
    found: list[int] = []
    for part in parts[0] if len(parts) == 1 and isinstance(parts[0], tuple | list) else parts:
        if isinstance(part, bool) or not isinstance(part, int):
            raise Refusal(f"found {describe(part)}, expected a number that is known at compile time")
        found.append(part)
    return tuple(found)


# -- conversions


def natural_type(value: Number) -> Type:
    """The element type of a number of Python by itself."""
    if isinstance(value, bool):
        return I1
    if isinstance(value, float):
        return F32
    return I32 if -(1 << 31) <= value < 1 << 31 else I64


def as_tile(value: object, element: Type | None = None) -> Tile:
    """A tile from a tile or a number; a number gets the element type, if given. Raises Refusal."""
    if isinstance(value, Tile):
        return value
    if isinstance(value, bool | int | float):
        chosen = element if element is not None else natural_type(value)
        return Tile(current().constant(value, scalar(chosen)))
    raise Refusal(f"found {describe(value)}, expected a tile or a number")


def reshape(tile: Tile, shape: Sequence[int]) -> Tile:
    """The same elements in another shape."""
    if tuple(shape) == tile.shape:
        return tile
    kind = TileType(tuple(shape), tile.element)
    return Tile(current().insert(ct.Reshape(tile.ir, result=kind)).result, tile.origin)


def broadcast(tile: Tile, shape: Sequence[int]) -> Tile:
    """Repeat a tile by the rules of NumPy: dimensions of extent 1, and missing ones in front."""
    shape = tuple(shape)
    if tile.shape == shape:
        return tile
    ones = (1,) * (len(shape) - len(tile.shape)) + tile.shape
    if len(ones) != len(shape) or any(a not in (1, b) for a, b in zip(ones, shape, strict=True)):
        raise Refusal(f"a {tile} cannot be broadcast to the shape {shape}")
    widened = reshape(tile, ones)
    if ones == shape:
        return widened
    kind = TileType(shape, tile.element)
    return Tile(current().insert(ct.Broadcast(widened.ir, result=kind)).result, tile.origin)


def convert(tile: Tile, element: Type) -> Tile:
    """The elements in another type."""
    old = tile.element
    if old is element:
        return tile
    if isinstance(old, PointerType) or isinstance(element, PointerType):
        raise Refusal(f"a {tile} cannot be converted to {short_text(element)}; use ptr_to_ptr or ptr_to_int")
    kind = TileType(tile.shape, element)
    sign = UNSIGNED if old is I1 else SIGNED
    if element is I1:
        return tile != 0
    if isinstance(old, FloatType):
        made = (
            ct.FToF(tile.ir, to=kind) if isinstance(element, FloatType) else ct.FToI(tile.ir, SIGNED, to=kind)
        )
    elif isinstance(element, FloatType):
        made = ct.IToF(tile.ir, sign, to=kind)
    elif bit_width(element) > bit_width(old):
        made = ct.ExtI(tile.ir, sign, to=kind)
    else:
        made = ct.TruncI(tile.ir, to=kind)
    return Tile(current().insert(made).results[0])


def _common(left: Type, right: Type) -> Type:
    """The element type in which two tiles are computed with."""
    if left is right:
        return left
    if isinstance(left, FloatType) != isinstance(right, FloatType):
        return left if isinstance(left, FloatType) else right
    wider = max((left, right), key=bit_width)
    if isinstance(left, IntegerType) and isinstance(right, IntegerType):
        return wider
    plain = (F16, F32, F64)
    if left in plain and right in plain:
        return wider
    if wider in (F32, F64) and bit_width(left) != bit_width(right):
        return wider
    raise Refusal(f"found elements of {left} and {right}, which have no common type; convert one with .to()")


def together(*values: object, element: Type | None = None) -> list[Tile]:
    """Tiles and numbers as tiles of one type: elements in a common type, broadcast to a common shape."""
    given: list[Operand] = []
    for value in values:
        if not is_operand(value):
            raise Refusal(f"found {describe(value)}, expected a tile or a number")
        given.append(value)
    if element is None:
        for value in given:
            if isinstance(value, Tile):
                element = value.element if element is None else _common(element, value.element)
        for value in given:
            if not isinstance(value, Tile):
                element = _with_number(element, value)
    assert element is not None
    made = [convert(v, element) if isinstance(v, Tile) else as_tile(v, element) for v in given]
    shape = _common_shape([tile.shape for tile in made])
    return [broadcast(tile, shape) for tile in made]


def _with_number(element: Type | None, value: Number) -> Type:
    """The common element type of tiles and a number: that of the tiles, unless it cannot be."""
    if element is None or isinstance(element, PointerType):
        return natural_type(value)
    if isinstance(value, float) and isinstance(element, IntegerType):
        return F32
    if isinstance(element, IntegerType) and element is I1 and not isinstance(value, bool):
        return natural_type(value)
    if isinstance(element, IntegerType) and not number_fits(value, element):
        return I64
    return element


def _common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    full = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    found: list[int] = []
    for extents in zip(*full, strict=True):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise Refusal(f"the shapes {' and '.join(map(str, shapes))} cannot be broadcast to one another")
        found.append(wide.pop() if wide else 1)
    return tuple(found)


# -- arithmetic

Make = Callable[[Value, Value], Operation]


def _arithmetic(sign: str, left: Operand, right: Operand, integer: Make, number: Make | None = None) -> Tile:
    if not is_operand(left) or not is_operand(right):
        return NotImplemented
    if any(isinstance(one, Tile) and isinstance(one.element, PointerType) for one in (left, right)):
        raise Refusal(
            f"'{sign}' of {describe(left)} and {describe(right)}; pointers are moved by '+' and '-'"
        )
    a, b = together(left, right)
    make = number if a.is_float else integer
    if make is None:
        raise Refusal(f"'{sign}' of {describe(left)} and {describe(right)}; expected integers")
    return Tile(current().insert(make(a.ir, b.ir)).results[0])


def _add(left: Operand, right: Operand) -> Tile:
    for pointer, other in ((left, right), (right, left)):
        if isinstance(pointer, Tile) and isinstance(pointer.element, PointerType):
            return _offset(pointer, as_tile(other))
    return _arithmetic("+", left, right, ct.AddI, ct.AddF)


def _offset(pointer: Tile, offset: Tile) -> Tile:
    if not isinstance(offset.element, IntegerType):
        raise Refusal(f"a {pointer} is moved by {describe(offset)}; expected integers")
    shape = _common_shape([pointer.shape, offset.shape])
    a, b = broadcast(pointer, shape), broadcast(offset, shape)
    return Tile(current().insert(ct.Offset(a.ir, b.ir)).result, pointer.origin)


def _quotient(left: Operand, right: Operand) -> Tile:
    if not is_operand(left) or not is_operand(right):
        return NotImplemented
    a, b = together(left, right)
    if not a.is_float:
        a, b = convert(a, F32), convert(b, F32)
    return Tile(current().insert(ct.DivF(a.ir, b.ir)).result)


def _floor_quotient(left: Operand, right: Operand) -> Tile:
    if not is_operand(left) or not is_operand(right):
        return NotImplemented
    a, b = together(left, right)
    if a.is_float:
        return Tile(current().insert(ct.Floor((a / b).ir)).result)
    rounding = ct.RoundingAttr("negative_inf")
    return Tile(current().insert(ct.DivI(a.ir, b.ir, SIGNED, rounding)).result)


def _remainder(left: Operand, right: Operand) -> Tile:
    """With the sign of the divisor, as in Python."""
    if not is_operand(left) or not is_operand(right):
        return NotImplemented
    a, b = together(left, right)
    remainder = ct.RemF(a.ir, b.ir) if a.is_float else ct.RemI(a.ir, b.ir, SIGNED)
    r = Tile(current().insert(remainder).result)
    other_sign = (r != 0) & ((r < 0) ^ (b < 0))
    return select(other_sign, r + b, r)


def _power(left: Operand, right: Operand) -> Tile:
    if isinstance(right, int) and not isinstance(right, bool) and isinstance(left, Tile) and 0 < right <= 4:
        result = left
        for _ in range(right - 1):
            result = result * left
        return result
    a, b = together(left, right)
    if not a.is_float:
        a, b = convert(a, F32), convert(b, F32)
    return Tile(current().insert(ct.FPowF(a.ir, b.ir)).result)


def _compare(predicate: str, left: object, right: object) -> Tile:
    if not is_operand(left) or not is_operand(right):
        raise Refusal(f"found {describe(left)} and {describe(right)}, which cannot be compared")
    a, b = together(left, right)
    kind = ct.ComparisonPredicateAttr(predicate)
    if a.is_float:
        ordering = ct.ComparisonOrderingAttr("unordered" if predicate == "not_equal" else "ordered")
        return Tile(current().insert(ct.CmpF(kind, ordering, a.ir, b.ir)).result)
    sign = ct.SignednessAttr("unsigned") if a.element is I1 else SIGNED
    return Tile(current().insert(ct.CmpI(kind, a.ir, b.ir, sign)).result)


def select(condition: Operand, yes: Operand, no: Operand) -> Tile:
    """Elements of `yes` where the condition is true, otherwise of `no`."""
    chosen = as_tile(condition)
    if chosen.element is not I1:
        raise Refusal(f"found {describe(condition)} as a condition, expected a tile of i1")
    a, b = together(yes, no)
    shape = _common_shape([chosen.shape, a.shape])
    c, a, b = (broadcast(tile, shape) for tile in (chosen, a, b))
    return Tile(current().insert(ct.Select(c.ir, a.ir, b.ir)).result, united(a.origin, b.origin))


def united(*origins: str | None) -> str | None:
    """The group of a value that may be any of several; None if they do not point."""
    known = [origin for origin in origins if origin is not None]
    return current().memory.unite(*known) if known else None


def multiply(left: Tile, right: Tile, acc: Tile | None = None) -> Tile:
    """`left · right + acc`, in f32 (f64 for f64) or i32; the sums of f16 are in f16 if `acc` is."""
    for tile in (left, right):
        if not isinstance(tile, Tile) or len(tile.shape) not in (2, 3):
            raise Refusal(f"found {describe(tile)} as a factor of a product, expected a matrix")
    if len(left.shape) != len(right.shape) or left.shape[-1] != right.shape[-2]:
        raise Refusal(
            f"a {left} cannot be multiplied by a {right}: expected {left.shape[-1]} rows in the second matrix, "
            f"found {right.shape[-2]}"
        )
    if acc is None:
        element = I32 if isinstance(left.element, IntegerType) else F64 if left.element is F64 else F32
        shape = (*left.shape[:-1], right.shape[-1])
        acc = Tile(current().constant(0, TileType(shape, element)))
    if left.is_float:
        return Tile(current().insert(ct.MmaF(left.ir, right.ir, acc.ir)).result)
    return Tile(current().insert(ct.MmaI(left.ir, right.ir, acc.ir, SIGNED, SIGNED)).result)
