"""Attributes of `vector`, and helpers for types."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import MemRefType, RankedTensorType, VectorType, element_type
from tessera_tools.opdef import (
    EnumAttr,
    enum,
    of,
)

SHAPED = of(MemRefType, RankedTensorType, summary="shaped of any type values")


class CombiningKindAttr(EnumAttr, name="vector.kind"):
    """`#vector.kind<add>`: how elements are combined."""

    cases = (
        "add", "mul", "minui", "minsi", "minnumf", "maxui", "maxsi", "maxnumf", "and", "or", "xor", "minimumf",
        "maximumf",
    )  # fmt: skip


class IteratorTypeAttr(EnumAttr, name="vector.iterator_type"):
    """`#vector.iterator_type<parallel>`: what a dimension of a contraction is."""

    cases = ("parallel", "reduction")


class PunctuationAttr(EnumAttr, name="vector.punctuation"):
    """`#vector.punctuation<newline>`: what is printed after a value."""

    cases = ("no_punctuation", "newline", "comma", "open", "close", "str")


KIND = enum(CombiningKindAttr, angled=True)


Dims = list[tuple[int, bool]]
"""Extents of a vector, each with whether it is scalable."""


def dims_of(type: Type) -> Dims:
    """The dimensions of a vector; none of a scalar."""
    if not isinstance(type, VectorType):
        return []
    return list(zip(type.shape, type.scalable or (False,) * len(type.shape), strict=True))


def vector_of(dims: Dims, element: Type) -> VectorType:
    """The vector of these dimensions."""
    flags = tuple(scalable for _, scalable in dims)
    return VectorType(tuple(extent for extent, _ in dims), element, flags if any(flags) else ())


def with_shape(type: Type, shape: Sequence[int]) -> Type:
    """The vector of a shape with the elements of `type`."""
    return VectorType(tuple(shape), element_type(type))
