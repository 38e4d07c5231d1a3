"""Constant attributes as element bits, and back: `dense<[1, 2]> : vector<2xi8>` ⇄ [0x01, 0x02].

Integers are unsigned bits modulo 2**width here (`index` has 64), floating-point numbers their own encodings; a splat
is a single element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects.ub import PoisonAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, FloatAttr, IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import FloatType, IndexType, IntegerType, ShapedType, bit_width, element_type

Folded = Sequence[Attribute | Value] | None
"""What a folder returns: one attribute or value a result, or None."""


def bits_of(attribute: Attribute | None) -> list[int] | None:
    """The element bits of a constant, one for a scalar or splat; None if it is not a numeric constant."""
    if isinstance(attribute, FloatAttr):
        return [attribute.bits]
    if isinstance(attribute, IntegerAttr):
        return [attribute.value & ((1 << bit_width(attribute.type)) - 1)]
    if isinstance(attribute, DenseElementsAttr):
        element = attribute.shaped.element
        if isinstance(element, IntegerType | IndexType):
            mask = (1 << bit_width(element)) - 1
            return [bits & mask for bits in attribute.bits()]
        if isinstance(element, FloatType):
            return attribute.bits()
    return None


def constant(type: Type, bits: Sequence[int]) -> Attribute | None:
    """The constant of a type from element bits (one element for a splat); None if the type can have none."""
    if isinstance(type, FloatType):
        return FloatAttr(bits[0], type)
    if isinstance(type, IntegerType | IndexType):
        return IntegerAttr.wrap(bits[0], type)
    element = element_type(type)
    if (
        isinstance(type, ShapedType)
        and type.is_static
        and isinstance(element, FloatType | IntegerType | IndexType)
    ):
        if not (isinstance(element, FloatType | IndexType) or element.width):
            return None
        return DenseElementsAttr.of(type, list(bits))
    return None


def splat_of(attribute: Attribute | None) -> int | None:
    """The bits of a scalar or splat constant; None for others."""
    bits = bits_of(attribute)
    return bits[0] if bits is not None and len(bits) == 1 else None


def signed(bits: int, width: int) -> int:
    """Bits of two's complement as a number."""
    return bits - (1 << width) if width and bits >> (width - 1) else bits


def elementwise(
    function: Callable[..., int | None], operands: Sequence[Attribute | None], type: Type
) -> Attribute | None:
    """`function` applied to the element bits of constants; None if one is unknown or `function` returns None.

    A poison operand makes the result poison.
    """
    for attribute in operands:
        if isinstance(attribute, PoisonAttr):
            return attribute
    columns: list[list[int]] = []
    for attribute in operands:
        bits = bits_of(attribute)
        if bits is None:
            return None
        columns.append(bits)
    count = max(len(column) for column in columns)
    columns = [column * count if len(column) == 1 else column for column in columns]
    found: list[int] = []
    for row in zip(*columns, strict=True):
        value = function(*row)
        if value is None:
            return None
        found.append(value)
    return constant(type, found)


def one(attribute: Attribute | Value | None) -> list[Any] | None:
    """A folder's answer of one result, or None."""
    return None if attribute is None else [attribute]
