"""Shapes: broadcasts, casts, transposition."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tessera_tools.dialects.arith.constants import Folded, constant, splat_of
from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.dialects.vector.attributes import dims_of
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    DenseElementsAttr,
)
from tessera_tools.ir.types import (
    VectorType,
    bit_width,
)
from tessera_tools.opdef import (
    ANY_TYPE,
    ANY_VECTOR,
    I64_ARRAY,
    PURE,
    Op,
    attribute,
    operand,
    result,
)

# -- shapes


class Broadcast(Op, name="vector.broadcast", traits=(PURE,)):
    """A scalar or vector repeated along leading dimensions and dimensions of extent 1."""

    source = operand(ANY_TYPE)
    vector = result(ANY_VECTOR)
    assembly = "$source attr-dict `:` type($source) `to` type($vector)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.vector.type
        if not isinstance(source, VectorType):
            if source is not target.element:
                raise self.error("failed to verify that source operand and result have same element type")
            return
        if source.element is not target.element:
            raise self.error("failed to verify that source operand and result have same element type")
        if len(source.shape) > len(target.shape):
            raise self.error("source rank higher than destination rank")
        lead = len(target.shape) - len(source.shape)
        for a, b in zip(dims_of(source), dims_of(target)[lead:], strict=True):
            if a not in ((1, False), b):
                found = [f"[{extent}]" if scalable else str(extent) for extent, scalable in (a, b)]
                raise self.error(f"dimension mismatch ({found[0]} vs. {found[1]})")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # broadcast(x : T) to T is x; a broadcast constant is a splat
        if self.source.type is self.vector.type:
            return [self.source]
        bits = splat_of(operands[0])
        splat = constant(self.vector.type, [bits]) if bits is not None else None
        return None if splat is None else [splat]


class ShapeCast(Op, name="vector.shape_cast", traits=(PURE,)):
    """The same elements in row-major order in another shape."""

    source = operand(ANY_VECTOR)
    result = result(ANY_VECTOR)
    assembly = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        if source.element is not target.element:
            raise self.error("has different source and result element types")
        counts = [math.prod(type.shape) for type in (source, target)]
        if counts[0] != counts[1]:
            raise self.error(
                f"has different number of elements at source ({counts[0]}) and result ({counts[1]})"
            )
        counts = [sum(type.scalable or ()) for type in (source, target)]
        if counts[0] != counts[1]:
            raise self.error(
                f"has different number of scalable dims at source ({counts[0]}) and result ({counts[1]})"
            )

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # shape_cast(x : T) to T is x;  shape_cast(shape_cast(x : T)) to T is x
        if self.source.type is self.result.type:
            return [self.source]
        inner = self.source.defining_op
        if isinstance(inner, ShapeCast) and inner.source.type is self.result.type:
            return [inner.source]
        value = operands[0]
        return (
            [DenseElementsAttr(self.result.type, value.data)]
            if isinstance(value, DenseElementsAttr)
            else None
        )


class Bitcast(Op, name="vector.bitcast", traits=(PURE,)):
    """The same bits as elements of another type: the last dimension changes its extent."""

    source = operand(ANY_VECTOR)
    result = result(ANY_VECTOR)
    assembly = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        if len(source.shape) != len(target.shape):
            raise self.error("failed to verify that all of {source, result} have same rank")
        for i, (extent, other) in enumerate(zip(source.shape[:-1], target.shape[:-1], strict=True)):
            if extent != other:
                raise self.error(f"dimension size mismatch at: {i}")
        widths = [bit_width(t.element) * (t.shape[-1] if t.shape else 1) for t in (source, target)]
        if widths[0] != widths[1]:
            raise self.error("source/result bitwidth of the minor 1-D vectors must be equal")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.source] if self.source.type is self.result.type else None


class Transpose(Op, name="vector.transpose", traits=(PURE,)):
    """Dimensions in another order."""

    vector = operand(ANY_VECTOR)
    permutation = attribute(I64_ARRAY)
    result = result(ANY_VECTOR)
    assembly = "$vector `,` $permutation attr-dict `:` type($vector) `to` type($result)"

    def verify_op(self) -> None:
        order, source, target = self.permutation.values, self.vector.type.shape, self.result.type.shape
        if self.vector.type.element is not self.result.type.element:
            raise self.error("failed to verify that operand and result have same element type")
        if len(source) != len(target):
            raise self.error(f"vector result rank mismatch: {len(target)}")
        if len(order) != len(source):
            raise self.error(f"transposition length mismatch: {len(order)}")
        seen: set[int] = set()
        for d, extent in zip(order, target, strict=True):
            if not 0 <= d < len(source):
                raise self.error(f"transposition index out of range: {d}")
            if d in seen:
                raise self.error(f"duplicate position index: {d}")
            seen.add(d)
            if source[d] != extent:
                raise self.error(f"dimension size mismatch at: {d}")
