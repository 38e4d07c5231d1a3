"""Attributes of `vector`, and helpers for types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import (
    MemRefType,
    RankedTensorType,
    VectorType,
)
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
    """`#vector.punctuation<newline>`: what is printed behind a value."""

    cases = ("no_punctuation", "newline", "comma", "open", "close", "str")


KIND = enum(CombiningKindAttr, angled=True)


def with_shape(type: Any, shape: Sequence[int]) -> Type:
    """The vector of a shape with the elements of `type`."""
    return VectorType(tuple(shape), getattr(type, "element", type))
