"""Elements and parts of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.arith.constants import Folded, constant, splat_of
from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.dialects.vector.attributes import dims_of, vector_of, with_shape
from tessera_tools.dialects.vector.shapes import Broadcast
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import ArrayAttr, DenseArrayAttr, IntegerAttr
from tessera_tools.ir.types import IndexType, VectorType, element_type
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_TYPE,
    ANY_VECTOR,
    I64_ARRAY,
    PURE,
    AttrKind,
    CustomDirective,
    Op,
    TypeConstraint,
    attribute,
    derived,
    operand,
    result,
    same_as,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

# -- elements


class Extract(Op, name="vector.extract", traits=(PURE,)):
    """The element or smaller vector at a position."""

    source = operand(ANY_VECTOR)
    dynamic_position = variadic_operand(ANY_INDEX)
    static_position = attribute(I64_ARRAY)
    result = result(ANY_TYPE)
    assembly = (
        "$source `` custom<IndexList>($dynamic_position, $static_position) attr-dict "
        "`:` type($result) `from` type($source)"
    )

    def verify_op(self) -> None:
        _verify_scalar(self, self.result.type, "result type")
        if len(self.static_position.values) > len(self.source.type.shape):
            raise self.error("expected position attribute of rank no greater than vector rank")
        _verify_position(self, self.source.type, self.result.type)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # extract[] of x is x; an element of a splat constant is the splat's
        if self.source.type is self.result.type:
            return [self.source]
        bits = splat_of(operands[0])
        found = constant(self.result.type, [bits]) if bits is not None else None
        if found is not None:
            return [found]
        source = self.source.defining_op
        # extract(broadcast(x : T)) to T is x
        if isinstance(source, Broadcast) and source.source.type is self.result.type:
            return [source.source]
        # extract[i](insert(x)[i]) is x
        if isinstance(source, Insert) and not self.dynamic_position and not source.dynamic_position:
            return [source.value_to_store] if source.static_position is self.static_position else None
        # extract[i](from_elements(…)) is element i
        if isinstance(source, FromElements) and not self.dynamic_position:
            position, shape = self.static_position.values, self.source.type.shape
            if len(position) == len(shape):
                number = 0
                for i, extent in zip(position, shape, strict=True):
                    number = number * extent + i
                return [source.elements[number]]
        return None


def _verify_scalar(op: Op, type: Type, what: str) -> None:
    """Refuse a vector without dimensions in place of its element."""
    if isinstance(type, VectorType) and not type.shape:
        raise op.error(f"expected a scalar instead of a 0-d vector as the {what}")


def _verify_position(op: Extract | Insert, whole: VectorType, part: Type) -> None:
    """Check a position in `whole`: the operands for its dynamic numbers, its bounds, and what is there."""
    position = op.static_position.values
    if position.count(DYNAMIC_INDEX) != len(op.dynamic_position):
        raise op.error(
            f"expected {position.count(DYNAMIC_INDEX)} dynamic positions, got {len(op.dynamic_position)}"
        )
    for i, (number, extent) in enumerate(zip(position, whole.shape, strict=False)):
        if number not in (DYNAMIC_INDEX, -1) and not 0 <= number < extent:
            raise op.error(
                f"expected position attribute #{i + 1} to be a non-negative integer smaller than the corresponding "
                "vector dimension or poison (-1)"
            )
    rest = dims_of(whole)[len(position) :]
    expected = vector_of(rest, whole.element) if rest else whole.element
    if part is not expected and not (not rest and part is VectorType((), whole.element)):
        raise op.error(
            f"inferred type(s) '{expected}' are incompatible with return type(s) of operation '{part}'"
            if isinstance(op, Extract)
            else f"expected a value of type '{expected}' at the position, but got '{part}'"
        )


class Insert(Op, name="vector.insert", traits=(PURE,)):
    """A vector with the element or smaller vector at a position replaced."""

    value_to_store = operand(ANY_TYPE)
    dest = operand(ANY_VECTOR)
    dynamic_position = variadic_operand(ANY_INDEX)
    static_position = attribute(I64_ARRAY)
    result = result(same_as("dest"))
    assembly = (
        "$value_to_store `,` $dest ` ` custom<IndexList>($dynamic_position, $static_position) attr-dict "
        "`:` type($value_to_store) `into` type($dest)"
    )

    def verify_op(self) -> None:
        part, whole = self.value_to_store.type, self.dest.type
        vector = part if isinstance(part, VectorType) else None
        if (vector.element if vector else part) is not whole.element:
            raise self.error("failed to verify that source operand and result have same element type")
        _verify_scalar(self, part, "source operand")
        rank = len(self.static_position.values)
        if rank > len(whole.shape):
            raise self.error("expected position attribute of rank no greater than dest vector rank")
        if rank + (len(vector.shape) if vector else 0) != len(whole.shape):
            found = "position attribute rank + source rank" if vector else "position attribute rank"
            raise self.error(f"expected {found} to match {'' if vector else 'the '}dest vector rank")
        _verify_position(self, whole, part)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # insert(x : T) into y : T is x
        return [self.value_to_store] if self.value_to_store.type is self.dest.type else None


class FromElements(Op, name="vector.from_elements", traits=(PURE,)):
    """A vector of its elements, in row-major order."""

    elements = variadic_operand(derived("the element type of 'dest'", lambda t: t.element, "dest"))
    dest = result(ANY_VECTOR)
    assembly = "$elements attr-dict `:` type($dest)"

    def verify_op(self) -> None:
        count = math.prod(self.dest.type.shape)
        if len(self.elements) != count:
            raise self.error(
                "failed to verify that shaped type 'dest' matches 'elements' element count and types"
            )


class ToElements(Op, name="vector.to_elements", traits=(PURE,)):
    """The elements of a vector, in row-major order."""

    source = operand(ANY_VECTOR)
    elements = variadic_result(ANY_TYPE)
    assembly = "$source attr-dict `:` custom<ElementTypes>(type($source), type($elements))"

    def verify_op(self) -> None:
        type = self.source.type
        if self.result_types != [type.element] * math.prod(type.shape):
            raise self.error(f"expected {math.prod(type.shape)} results of type '{type.element}'")


class ElementTypes(CustomDirective, name="ElementTypes"):
    """The type of a vector, from which the types of its elements follow."""

    grammar = "custom: TYPE"

    def read(self, state: OpState, node: Node) -> None:
        (type,) = node
        if not isinstance(type, VectorType):
            raise state.error(None, f"expected a vector type, found '{type}'")
        state.types("source", [type])
        state.types("elements", [type.element] * math.prod(type.shape))

    def write(self, p: Printer, op: ToElements) -> None:
        p.write(f" {p.type(op.source.type)}")


_SLICE: AttrKind[ArrayAttr] = AttrKind("64-bit integer array attribute", lambda a: isinstance(a, ArrayAttr))


def _numbers(attribute: ArrayAttr) -> list[int]:
    return [a.value for a in attribute if isinstance(a, IntegerAttr)]


class ExtractStridedSlice(Op, name="vector.extract_strided_slice", traits=(PURE,)):
    """A rectangular part, by offsets, sizes and strides (1) of the leading dimensions."""

    source = operand(ANY_VECTOR)
    offsets = attribute(_SLICE)
    sizes = attribute(_SLICE)
    strides = attribute(_SLICE)
    result = result(ANY_VECTOR)
    assembly = "$source attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        offsets, sizes, strides = map(_numbers, (self.offsets, self.sizes, self.strides))
        shape = self.source.type.shape
        if not len(offsets) == len(sizes) == len(strides):
            raise self.error("expected offsets, sizes and strides attributes of same size")
        if len(offsets) > len(shape):
            raise self.error("expected offsets attribute of rank no greater than vector rank")
        _verify_slice(self, offsets, sizes, strides, shape, "sizes")
        dims = dims_of(self.source.type)
        leading = dims[: len(sizes)]
        for i, (size, (extent, scalable)) in enumerate(zip(sizes, leading, strict=True)):
            if scalable and size != extent:
                raise self.error(
                    f"expected size at idx={i} to match the corresponding base size from the input vector "
                    f"({size} vs {extent})"
                )
        part = [(size, scalable) for size, (_, scalable) in zip(sizes, leading, strict=True)]
        expected = vector_of([*part, *dims[len(sizes) :]], self.source.type.element)
        if self.result.type is not expected:
            raise self.error(f"expected result type to be '{expected}'")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.source] if self.source.type is self.result.type else None


def _verify_slice(
    op: Op,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    shape: Sequence[int],
    noun: str,
) -> None:
    """Check that a slice is inside the leading dimensions of `shape` and has unit strides.

    `noun` names where the sizes come from; only those of the attribute `sizes` are bounded alone.
    """
    if any(stride != 1 for stride in strides):
        raise op.error("expected strides to be confined to [1, 2)")
    for i, (offset, size, extent) in enumerate(zip(offsets, sizes, shape, strict=False)):
        if not 0 <= offset < extent:
            raise op.error(f"expected offsets dimension {i} to be confined to [0, {extent})")
        if noun == "sizes" and not 1 <= size <= extent:
            raise op.error(f"expected sizes dimension {i} to be confined to [1, {extent + 1})")
        if offset + size > extent:
            raise op.error(f"expected sum(offsets, {noun}) dimension {i} to be confined to [1, {extent + 1})")


class InsertStridedSlice(Op, name="vector.insert_strided_slice", traits=(PURE,)):
    """A vector with a rectangular part replaced."""

    value_to_store = operand(ANY_VECTOR)
    dest = operand(ANY_VECTOR)
    offsets = attribute(_SLICE)
    strides = attribute(_SLICE)
    result = result(same_as("dest"))
    assembly = "$value_to_store `,` $dest attr-dict `:` type($value_to_store) `into` type($dest)"

    def verify_op(self) -> None:
        part, whole = self.value_to_store.type, self.dest.type
        offsets, strides = _numbers(self.offsets), _numbers(self.strides)
        if len(offsets) != len(whole.shape):
            raise self.error("expected offsets of same size as destination vector rank")
        if len(strides) != len(part.shape):
            raise self.error("expected strides of same size as source vector rank")
        lead = len(whole.shape) - len(part.shape)
        if lead < 0:
            raise self.error("expected source rank to be no greater than destination rank")
        extents = [1] * lead + list(part.shape)
        _verify_slice(self, offsets, extents, strides, whole.shape, "source vector shape")
        for i, ((size, flag), (extent, scalable)) in enumerate(
            zip(dims_of(part), dims_of(whole)[lead:], strict=True)
        ):
            if flag != scalable:
                raise self.error(f"mismatching scalable flags (at source vector idx={i})")
            if scalable and size != extent:
                raise self.error(
                    f"expected size at idx={i} to match the corresponding base size from the input vector "
                    f"({size} vs {extent})"
                )

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.value_to_store] if self.value_to_store.type is self.dest.type else None


def _shuffled(mask: DenseArrayAttr | None, v1: Type) -> Type | None:
    return with_shape(v1, [len(mask), *v1.shape[1:]]) if mask and isinstance(v1, VectorType) else None


class Shuffle(Op, name="vector.shuffle", traits=(PURE,)):
    """Elements picked from the concatenation of two vectors; -1 is poison."""

    v1 = operand(ANY_VECTOR)
    v2 = operand(ANY_VECTOR)
    mask = attribute(I64_ARRAY)
    vector = result(derived("as many elements of 'v1' as the mask has", _shuffled, "mask", "v1"))
    assembly = "operands $mask attr-dict `:` type(operands)"

    def verify_op(self) -> None:
        first, second = self.v1.type, self.v2.type
        for number, type in enumerate((first, second)):
            if type.scalable:
                raise self.error(
                    f"operand #{number} must be fixed-length vector of any type values, but got '{type}'"
                )
        if len(first.shape) != len(second.shape):
            raise self.error("rank mismatch")
        if first.element is not second.element:
            raise self.error("failed to verify that second operand v2 and result have same element type")
        if first.shape[1:] != second.shape[1:]:
            raise self.error("dimension mismatch")
        count = (first.shape[0] if first.shape else 1) + (second.shape[0] if second.shape else 1)
        for i, number in enumerate(self.mask.values):
            if not -1 <= number < count:
                raise self.error(f"mask index #{i + 1} out of range")


def _last_dimension(type: Type, change: Callable[[int], int]) -> Type | None:
    """A vector with another last extent; None if there is none."""
    dims = dims_of(type)
    if not dims or not change(dims[-1][0]):
        return None
    return vector_of([*dims[:-1], (change(dims[-1][0]), dims[-1][1])], element_type(type))


def _interleaved(type: Type) -> Type | None:
    """A vector of twice as many elements; that of single elements has a dimension."""
    if isinstance(type, VectorType) and not type.shape:
        return VectorType((2,), type.element)
    return _last_dimension(type, lambda n: 2 * n)


class Interleave(Op, name="vector.interleave", traits=(PURE,)):
    """The elements of two vectors in turn."""

    lhs = operand(ANY_VECTOR)
    rhs = operand(same_as("lhs"))
    result = result(derived("twice 'lhs' in its last dimension", _interleaved, "lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"


class Deinterleave(Op, name="vector.deinterleave", traits=(PURE,)):
    """The even and the odd elements of a vector."""

    source = operand(ANY_VECTOR)
    res1 = result(
        derived(
            "half 'source' in its last dimension",
            lambda t: _last_dimension(t, lambda n: max(n // 2, 1)),
            "source",
            rule="the trailing dimension of the results is half the width of source trailing dimension",
        )
    )
    res2 = result(same_as("res1"))
    assembly = "$source attr-dict `:` type($source) `->` type($res1)"

    def verify_op(self) -> None:
        if self.source.type.shape[-1] % 2:
            raise self.error(
                "failed to verify that the trailing dimension of the source vector has an even number of elements"
            )


INDEX_VECTOR: TypeConstraint[VectorType] = TypeConstraint(
    "vector of index values of ranks 1",
    lambda t: isinstance(t, VectorType) and len(t.shape) == 1 and isinstance(t.element, IndexType),
)


class Step(Op, name="vector.step", traits=(PURE,)):
    """0, 1, 2, … as a vector."""

    result = result(INDEX_VECTOR)
    assembly = "attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        found = constant(self.result.type, list(range(self.result.type.shape[0])))
        return None if found is None else [found]
