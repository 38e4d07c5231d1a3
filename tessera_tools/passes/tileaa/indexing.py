"""Unsigned integers during lowering: constants, scalars, tiles.

Indices, extents and strides of cuda_tile are unsigned.  An op is created only if an operand is not constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.analysis.access import unsigned_range
from tessera_tools.dialects import arith
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.arith.attributes import IntegerOverflowFlagsAttr
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    I32,
    I64,
    IntegerType,
    RankedTensorType,
    bit_width,
    element_type,
    width_of,
    with_element,
)
from tessera_tools.passes.tileaa.constants import splat
from tessera_tools.passes.tileaa.lowering import Lowering

Int = int | Value
"""A constant, or a scalar or tile of integers."""

LARGEST_SIGNED = (1 << 31) - 1
LARGEST_UNSIGNED = (1 << 32) - 1
NO_SIGNED_WRAP = IntegerOverflowFlagsAttr("nsw")
NO_UNSIGNED_WRAP = IntegerOverflowFlagsAttr("nuw")


def most(item: Int, to: Lowering) -> int:
    """The upper bound of an item."""
    return unsigned_range(item, to.facts)[1]


def signed_type(greatest: int) -> IntegerType:
    """i32 if the number fits as signed, otherwise i64."""
    return I32 if greatest <= LARGEST_SIGNED else I64


def resized(value: Value, element: Type, to: Lowering) -> Value:
    """A scalar or tile of integers extended with zeros, or truncated."""
    old, new = width_of(value.type), bit_width(element)
    if old == new:
        return value
    kind = arith.ExtUI if old < new else arith.TruncI
    return to.emit(kind(value, out=with_element(value.type, element))).results[0]


def as_value(item: Int, type: Type, to: Lowering) -> Value:
    """An item as a value of a scalar or tensor type."""
    if isinstance(item, int):
        width = width_of(type)
        return splat([item & ((1 << width) - 1)], type, to)
    value = resized(item, element_type(type), to)
    if isinstance(type, RankedTensorType) and not isinstance(value.type, RankedTensorType):
        return to.emit(aa.Splat(value, res=type)).res
    return value


def times(a: Value, b: Int, type: Type, to: Lowering, flags: IntegerOverflowFlagsAttr | None = None) -> Value:
    """a · b in a type."""
    if b == 1:
        return resized(a, element_type(type), to)
    return to.emit(arith.MulI(as_value(a, type, to), as_value(b, type, to), overflow_flags=flags)).result


def plus(a: Int, b: Value, type: Type, to: Lowering) -> Value:
    """a + b in a type."""
    if a == 0:
        return b
    return to.emit(arith.AddI(as_value(a, type, to), as_value(b, type, to))).result


def below(a: Value, b: Int, to: Lowering) -> Value:
    """True if a < b, read as unsigned, for each element."""
    return to.emit(arith.CmpI.of("ult", a, as_value(b, a.type, to))).result


def rest(extent: Int, place: Value, limit: int, to: Lowering) -> Value:
    """The number of the `limit` elements from `place` that are below `extent`, as an unsigned i32 (or more than
    `limit`); 0 if there are none."""
    type = I32 if max(most(extent, to), most(place, to)) <= LARGEST_UNSIGNED else I64
    end, start = as_value(extent, type, to), resized(place, type, to)
    # max(start, extent) - start is 0 if the start is beyond the end.
    left = to.emit(arith.SubI(to.emit(arith.MaxUI(end, start)).result, start)).result
    if type is I32:
        return left
    bound = as_value(limit, type, to)
    return resized(to.emit(arith.MinUI(left, bound)).result, I32, to)


def indices(size: int, element: Type, to: Lowering) -> Value:
    """0, 1, 2, … as a tile of rank 1."""
    return to.emit(aa.Iota(res=RankedTensorType((size,), element))).res


def along(tile: Value, axis: int, shape: Sequence[int], to: Lowering) -> Value:
    """A tile of rank 1, broadcast along the other axes of a shape."""
    element = element_type(tile.type)
    line = tuple(extent if i == axis else 1 for i, extent in enumerate(shape))
    if len(shape) > 1:
        tile = to.emit(aa.Reshape(tile, res=RankedTensorType(line, element))).res
    if line == tuple(shape):
        return tile
    return to.emit(aa.Broadcast(tile, res=RankedTensorType(tuple(shape), element))).res
