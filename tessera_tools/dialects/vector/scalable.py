"""Vectors whose length is a multiple of a number that the machine determines."""

from __future__ import annotations

from tessera_tools.ir.types import INDEX, VectorType
from tessera_tools.opdef import (
    I64_ATTR,
    PURE,
    Op,
    TypeConstraint,
    attribute,
    exactly,
    operand,
    result,
    same_as,
)

_VECTOR_1D: TypeConstraint[VectorType] = TypeConstraint(
    "vector of any type values of rank 1", lambda t: isinstance(t, VectorType) and len(t.shape) == 1
)
_SCALABLE: TypeConstraint[VectorType] = TypeConstraint(
    "scalable vector of any type values of rank 1",
    lambda t: isinstance(t, VectorType) and len(t.shape) == 1 and any(t.scalable),
)


class VectorScale(Op, name="vector.vscale", traits=(PURE,)):
    """The number that scalable extents are multiplied by."""

    res = result(exactly(INDEX))
    assembly = "attr-dict"


class ScalableInsert(Op, name="vector.scalable.insert", traits=(PURE,)):
    """A scalable vector with another vector from position `pos` on."""

    value_to_store = operand(_VECTOR_1D)
    dest = operand(_SCALABLE)
    pos = attribute(I64_ATTR)
    res = result(same_as("dest"))
    assembly = "$value_to_store `,` $dest `[` $pos `]` attr-dict `:` type($value_to_store) `into` type($res)"

    def verify_op(self) -> None:
        if self.value_to_store.type.element is not self.dest.type.element:
            raise self.error("failed to verify that all of {valueToStore, dest} have same element type")
        if self.pos.value % self.value_to_store.type.shape[0]:
            raise self.error("failed to verify that position is a multiple of the source length.")


class ScalableExtract(Op, name="vector.scalable.extract", traits=(PURE,)):
    """The elements of a scalable vector from position `pos` on."""

    source = operand(_SCALABLE)
    pos = attribute(I64_ATTR)
    res = result(_VECTOR_1D)
    assembly = "$source `[` $pos `]` attr-dict `:` type($res) `from` type($source)"

    def verify_op(self) -> None:
        if self.source.type.element is not self.res.type.element:
            raise self.error("failed to verify that all of {source, res} have same element type")
        if self.pos.value % self.res.type.shape[0]:
            raise self.error("failed to verify that position is a multiple of the result length.")
