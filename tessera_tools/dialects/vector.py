"""The `vector` dialect: values of several elements, their shapes, and their transfers from and to memory.

Positions, offsets and masks are static lists; where a position is an operand the static list holds memref's marker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects.arith.attributes import fastmath_field
from tessera_tools.dialects.arith.constants import Folded, constant, splat_of
from tessera_tools.dialects.memref import DYNAMIC_INDEX, IndexList  # noqa: F401 (custom<IndexList> in the formats)
from tessera_tools.ir.affine import AffineMap, dim
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    AffineMapAttr,
    ArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    StringAttr,
)
from tessera_tools.ir.types import (
    I1,
    INDEX,
    MemRefType,
    RankedTensorType,
    VectorType,
    bit_width,
)
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_MEMREF,
    ANY_TYPE,
    ANY_VECTOR,
    ARRAY_ATTR,
    BOOL_ATTR,
    FLOAT_LIKE,
    I64_ARRAY,
    I64_ATTR,
    PURE,
    READ,
    WRITE,
    AttrKind,
    CustomDirective,
    Dialect,
    EnumAttr,
    MemoryEffects,
    Op,
    attribute,
    by_word,
    derived,
    enum,
    of,
    operand,
    ops_of,
    optional_operand,
    optional_result,
    result,
    same_as,
    variadic_operand,
    variadic_result,
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
                raise self.error("source and result element types must be the same")
            return
        if source.element is not target.element:
            raise self.error("source and result element types must be the same")
        if len(source.shape) > len(target.shape):
            raise self.error("source rank higher than destination rank")
        lead = len(target.shape) - len(source.shape)
        for a, b in zip(source.shape, target.shape[lead:], strict=True):
            if a not in (1, b):
                raise self.error(f"dimension mismatch ({a} vs. {b})")

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
            raise self.error(f"has different source and result element types: '{source}' and '{target}'")
        if math.prod(source.shape) != math.prod(target.shape):
            raise self.error(f"has different source and result element counts: '{source}' and '{target}'")

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
        if len(source.shape) != len(target.shape) or source.shape[:-1] != target.shape[:-1]:
            raise self.error("dimension size mismatch at: leading dimensions")
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
        if sorted(order) != list(range(len(source))):
            raise self.error(
                f"permutation must be one of {len(source)} dimensions, got [{', '.join(map(str, order))}]"
            )
        if tuple(source[d] for d in order) != target:
            raise self.error(
                f"dimension size mismatch: expected result shape {tuple(source[d] for d in order)}"
            )


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
            if source.static_position is self.static_position:
                return [source.value_to_store]
        # extract[i](from_elements(…)) is element i
        if isinstance(source, FromElements) and not self.dynamic_position:
            position, shape = self.static_position.values, self.source.type.shape
            if len(position) == len(shape):
                number = 0
                for i, extent in zip(position, shape, strict=True):
                    number = number * extent + i
                return [source.elements[number]]
        return None


def _verify_position(op: Any, whole: VectorType, part: Type) -> None:
    """Check a position in `whole`: its length, the operands for its dynamic numbers, its bounds, and what is there."""
    position = op.static_position.values
    if len(position) > len(whole.shape):
        raise op.error("expected position attribute of rank no greater than vector rank")
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
    rest = whole.shape[len(position) :]
    expected = VectorType(rest, whole.element) if rest else whole.element
    if part is not expected and not (not rest and part is VectorType((), whole.element)):
        raise op.error(f"expected a value of type '{expected}' at the position, but got '{part}'")


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
        _verify_position(self, self.dest.type, self.value_to_store.type)

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
            raise self.error(f"expected {count} elements, but got {len(self.elements)}")


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
    """The type of a vector, which gives the types of its elements."""

    grammar = "custom: TYPE"

    def read(self, state: Any, node: Any) -> None:
        (type,) = node
        if not isinstance(type, VectorType):
            raise state.error(None, f"expected a vector type, found '{type}'")
        state.types("source", [type])
        state.types("elements", [type.element] * math.prod(type.shape))

    def write(self, p: Any, op: ToElements) -> None:
        p.write(f" {p.type(op.source.type)}")


_SLICE = AttrKind("64-bit integer array attribute", lambda a: isinstance(a, ArrayAttr))


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
            raise self.error("expected offsets to have rank no greater than vector rank")
        _verify_slice(self, offsets, sizes, strides, shape)
        expected = with_shape(self.source.type, [*sizes, *shape[len(sizes) :]])
        if self.result.type is not expected:
            raise self.error(f"expected result type to be '{expected}'")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.source] if self.source.type is self.result.type else None


def _verify_slice(
    op: Op, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]
):
    """Check that a slice lies inside the leading dimensions of `shape` and has unit strides."""
    if any(stride != 1 for stride in strides):
        raise op.error("expected strides to be confined to [1, 2)")
    for i, (offset, size, extent) in enumerate(zip(offsets, sizes, shape, strict=False)):
        if not 0 <= offset < extent:
            raise op.error(f"expected offsets dimension {i} to be confined to [0, {extent})")
        if not 1 <= size <= extent:
            raise op.error(f"expected sizes dimension {i} to be confined to [1, {extent + 1})")
        if offset + size > extent:
            raise op.error(f"expected sum(offsets, sizes) dimension {i} to be confined to [1, {extent + 1})")


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
        _verify_slice(self, offsets, [1] * lead + list(part.shape), strides, whole.shape)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return [self.value_to_store] if self.value_to_store.type is self.dest.type else None


def _shuffled(mask: Any, v1: Any) -> Type | None:
    return (
        with_shape(v1, [len(mask), *v1.shape[1:]])
        if mask is not None and isinstance(v1, VectorType)
        else None
    )


class Shuffle(Op, name="vector.shuffle", traits=(PURE,)):
    """Elements picked from the concatenation of two vectors; -1 is poison."""

    v1 = operand(ANY_VECTOR)
    v2 = operand(ANY_VECTOR)
    mask = attribute(I64_ARRAY)
    vector = result(derived("as many elements of 'v1' as the mask has", _shuffled, "mask", "v1"))
    assembly = "operands $mask attr-dict `:` type(operands)"

    def verify_op(self) -> None:
        first, second = self.v1.type, self.v2.type
        if first.shape[1:] != second.shape[1:] or first.element is not second.element:
            raise self.error(
                "rank mismatch" if len(first.shape) != len(second.shape) else "dimension mismatch"
            )
        count = (first.shape[0] if first.shape else 1) + (second.shape[0] if second.shape else 1)
        if not len(self.mask):
            raise self.error("invalid mask length")
        for i, number in enumerate(self.mask.values):
            if not -1 <= number < count:
                raise self.error(f"mask index #{i + 1} out of range")


class Interleave(Op, name="vector.interleave", traits=(PURE,)):
    """The elements of two vectors in turn."""

    lhs = operand(ANY_VECTOR)
    rhs = operand(same_as("lhs"))
    result = result(
        derived(
            "twice 'lhs' in its last dimension",
            lambda t: with_shape(t, [*t.shape[:-1], 2 * t.shape[-1]]),
            "lhs",
        )
    )
    assembly = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"


class Deinterleave(Op, name="vector.deinterleave", traits=(PURE,)):
    """The even and the odd elements of a vector."""

    source = operand(ANY_VECTOR)
    res1 = result(
        derived(
            "half 'source' in its last dimension",
            lambda t: with_shape(t, [*t.shape[:-1], t.shape[-1] // 2]),
            "source",
        )
    )
    res2 = result(same_as("res1"))
    assembly = "$source attr-dict `:` type($source) `->` type($res1)"


class Step(Op, name="vector.step", traits=(PURE,)):
    """0, 1, 2, … as a vector."""

    result = result(ANY_VECTOR)
    assembly = "attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        found = constant(self.result.type, list(range(self.result.type.shape[0])))
        return None if found is None else [found]


# -- arithmetic


class Fma(Op, name="vector.fma", traits=(PURE,)):
    """lhs · rhs + acc, elementwise, rounded once."""

    lhs = operand(ANY_VECTOR & FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    acc = operand(same_as("lhs"))
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs)"


class Reduction(Op, name="vector.reduction", traits=(PURE,)):
    """All elements of a vector combined, and an accumulator if there is one."""

    kind = attribute(KIND)
    vector = operand(ANY_VECTOR)
    acc = optional_operand(derived("the type of the result", lambda t: t, "dest"))
    fastmath = fastmath_field()
    dest = result(ANY_TYPE)
    assembly = "` ` $kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($vector) `into` type($dest)"

    def verify_op(self) -> None:
        if len(self.vector.type.shape) > 1:
            raise self.error(f"unsupported reduction rank: {len(self.vector.type.shape)}")
        if self.dest.type is not self.vector.type.element:
            raise self.error(
                f"expected the element type '{self.vector.type.element}' as result, but got '{self.dest.type}'"
            )
        _verify_kind(self, self.kind.value, self.dest.type)


def _verify_kind(op: Op, kind: str, type: Type) -> None:
    element = getattr(type, "element", type)
    is_float = FLOAT_LIKE.accepts(element)
    if kind not in ("add", "mul") and is_float != kind.endswith("f"):
        raise op.error(f"unsupported reduction type '{element}' for kind '{kind}'")


class MultiReduction(Op, name="vector.multi_reduction", traits=(PURE,)):
    """The elements along some dimensions combined."""

    kind = attribute(KIND)
    source = operand(ANY_VECTOR)
    acc = operand(derived("the type of the result", lambda t: t, "dest"))
    reduction_dims = attribute(I64_ARRAY)
    dest = result(ANY_TYPE)
    assembly = "` ` $kind `,` $source `,` $acc attr-dict $reduction_dims `:` type($source) `to` type($dest)"

    def verify_op(self) -> None:
        shape, dims = self.source.type.shape, set(self.reduction_dims.values)
        rest = [extent for i, extent in enumerate(shape) if i not in dims]
        element = self.source.type.element
        expected = VectorType(tuple(rest), element) if rest else element
        if self.dest.type is not expected:
            raise self.error(
                f"destination type '{self.dest.type}' is incompatible with source type '{self.source.type}'"
            )


class OuterProduct(Op, name="vector.outerproduct", traits=(PURE,)):
    """The products of all pairs of elements, combined with an accumulator if there is one."""

    lhs = operand(ANY_VECTOR)
    rhs = operand(ANY_TYPE)
    acc = optional_operand(derived("the type of the result", lambda t: t, "result"))
    kind = attribute(KIND, default=CombiningKindAttr("add"))
    result = result(
        derived(
            "the shapes of 'lhs' and 'rhs' together",
            lambda a, b: with_shape(a, [*a.shape, *getattr(b, "shape", ())]),
            "lhs",
            "rhs",
        )
    )
    assembly = "$lhs `,` $rhs (`,` $acc^)? attr-dict `:` type($lhs) `,` type($rhs)"


class ContractSyntax(CustomDirective, name="Contract"):
    """`{indexing_maps = […], iterator_types = ["parallel", …], kind = …} %a, %b, %c : …, … into …`"""

    grammar = 'custom: ATTR_DICT VALUE "," VALUE "," VALUE ":" TYPE "," TYPE "into" TYPE'

    def read(self, state: Any, node: Any) -> None:
        attributes, lhs, rhs, acc, *types = node
        for key, value in attributes.items():
            if key == "iterator_types" and isinstance(value, ArrayAttr):
                words = (IteratorTypeAttr(a.value) if isinstance(a, StringAttr) else a for a in value)
                value = ArrayAttr(tuple(words))
            state.attribute(key, value)
        for field, token, type in zip(("lhs", "rhs", "acc"), (lhs, rhs, acc), types, strict=True):
            state.operand(field, token)
            state.types(field, [type])
        state.types("result", types[2:])

    def write(self, p: Any, op: Contract) -> None:
        shown = dict(op.attributes)
        iterators = (StringAttr(a.value) for a in op.iterator_types)
        shown["iterator_types"] = ArrayAttr(tuple(iterators))
        shown["kind"] = op.kind
        rest = {k: v for k, v in sorted(shown.items()) if k not in op.inherent_attributes}
        known = {k: shown[k] for k in ("indexing_maps", "iterator_types", "kind")}
        p.write(f" {p.dictionary({**known, **rest})}")
        p.write(f" {p.names([op.lhs, op.rhs, op.acc])} : {p.type(op.lhs.type)}, {p.type(op.rhs.type)}")
        p.write(f" into {p.type(op.result.type)}")


class Contract(Op, name="vector.contract", traits=(PURE,)):
    """Products of elements of two vectors, summed over the reduction dimensions of a nest that the maps index."""

    lhs = operand(ANY_VECTOR)
    rhs = operand(ANY_VECTOR)
    acc = operand(ANY_TYPE)
    indexing_maps = attribute(ARRAY_ATTR)
    iterator_types = attribute(ARRAY_ATTR)
    kind = attribute(KIND, default=CombiningKindAttr("add"))
    result = result(same_as("acc"))
    assembly = "custom<Contract>"

    def verify_op(self) -> None:
        if len(self.indexing_maps) != 3:
            raise self.error("expected an indexing map for each vector operand")
        count = len(self.iterator_types)
        for i, (entry, value) in enumerate(zip(self.indexing_maps, self.operands, strict=True)):
            rank = len(getattr(value.type, "shape", ()))
            if not isinstance(entry, AffineMapAttr) or entry.map.num_dims != count:
                raise self.error(f"expected indexing map {i} to have {count} number of inputs")
            if len(entry.map.results) != rank:
                raise self.error(f"expected indexing map {i} to have {rank} number of outputs")


# -- memory


class _Memory(Op):
    """The base of accesses at indices into a buffer."""

    def verify_op(self) -> None:
        base = self.base.type  # type: ignore[attr-defined]
        count = len(self.indices)  # type: ignore[attr-defined]
        if count != len(base.shape):
            raise self.error(f"requires {len(base.shape)} indices")


class Load(_Memory, name="vector.load", traits=(READ,)):
    """A vector of consecutive elements of a buffer."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    result = result(ANY_VECTOR)
    assembly = "$base `[` $indices `]` attr-dict `:` type($base) `,` type($result)"


class Store(_Memory, name="vector.store", traits=(WRITE,)):
    """Writes a vector to consecutive elements of a buffer."""

    value_to_store = operand(ANY_VECTOR)
    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    assembly = (
        "$value_to_store `,` $base `[` $indices `]` attr-dict `:` type($base) `,` type($value_to_store)"
    )


class MaskedLoad(_Memory, name="vector.maskedload", traits=(READ,)):
    """Consecutive elements where a mask is set, else those of another vector."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    mask = operand(ANY_VECTOR)
    pass_thru = operand(ANY_VECTOR)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    result = result(same_as("pass_thru"))
    assembly = (
        "$base `[` $indices `]` `,` $mask `,` $pass_thru attr-dict "
        "`:` type($base) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )


class MaskedStore(_Memory, name="vector.maskedstore", traits=(WRITE,)):
    """Writes the elements where a mask is set."""

    base = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    mask = operand(ANY_VECTOR)
    value_to_store = operand(ANY_VECTOR)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    assembly = (
        "$base `[` $indices `]` `,` $mask `,` $value_to_store attr-dict "
        "`:` type($base) `,` type($mask) `,` type($value_to_store)"
    )


class Gather(Op, name="vector.gather", traits=(READ,)):
    """Elements at the offsets of an index vector, where a mask is set, else those of another vector."""

    base = operand(SHAPED)
    offsets = variadic_operand(ANY_INDEX)
    indices = operand(ANY_VECTOR)
    mask = operand(ANY_VECTOR)
    pass_thru = operand(ANY_VECTOR)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    result = result(same_as("pass_thru"))
    assembly = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict "
        "`:` type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )


class Scatter(Op, name="vector.scatter", traits=(WRITE,)):
    """Writes the elements where a mask is set to the offsets of an index vector."""

    base = operand(ANY_MEMREF)
    offsets = variadic_operand(ANY_INDEX)
    indices = operand(ANY_VECTOR)
    mask = operand(ANY_VECTOR)
    value_to_store = operand(ANY_VECTOR)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    assembly = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $value_to_store attr-dict "
        "`:` type($base) `,` type($indices) `,` type($mask) `,` type($value_to_store)"
    )


def minor_identity(shaped: Any, vector: Any) -> AffineMapAttr:
    """The map that a transfer has when none is written: the vector lies along the last dimensions."""
    lead = len(shaped.shape) - len(vector.shape)
    return AffineMapAttr(
        AffineMap(len(shaped.shape), 0, tuple(dim(lead + i) for i in range(len(vector.shape))))
    )


def _transfer_defaults(state: Any, shaped: Any, vector: Any) -> None:
    """Fill in `permutation_map` and `in_bounds` where the text has none."""
    if isinstance(vector, VectorType) and hasattr(shaped, "shape"):
        if len(shaped.shape) >= len(vector.shape):
            state.attributes.setdefault("permutation_map", minor_identity(shaped, vector))
        state.attributes.setdefault("in_bounds", ArrayAttr((FALSE,) * len(vector.shape)))


def _transfer_elide(op: Any) -> tuple[str, ...]:
    hidden = ["operandSegmentSizes"]
    if op.permutation_map is minor_identity(op.base.type, op.vector.type):
        hidden.append("permutation_map")
    if all(flag is FALSE for flag in op.in_bounds):
        hidden.append("in_bounds")
    return tuple(hidden)


def _verify_transfer(op: Any) -> None:
    shaped, vector, entry = op.base.type, op.vector.type, op.permutation_map
    if len(op.indices) != len(shaped.shape):
        raise op.error(f"requires {len(shaped.shape)} indices")
    if not isinstance(entry, AffineMapAttr) or entry.map.num_symbols:
        raise op.error("requires permutation_map without symbols")
    if entry.map.num_dims != len(shaped.shape):
        raise op.error("requires a permutation_map with input dims of the same rank as the source type")
    if len(entry.map.results) != len(vector.shape):
        raise op.error("requires a permutation_map with result dims of the same rank as the vector type")
    if len(op.in_bounds) != len(vector.shape):
        raise op.error(
            f"expects the in_bounds attr of same rank as permutation_map results: {entry} vs inBounds of size: "
            f"{len(op.in_bounds)}"
        )


_MAP = AttrKind("AffineMap attribute", lambda a: isinstance(a, AffineMapAttr))


class ReadSyntax(CustomDirective, name="TransferRead"):
    """`%m[%i], %pad, %mask {…} : memref<…>, vector<…>`"""

    grammar = """custom: VALUE "[" value_list "]" "," VALUE custom_mask attr_dict ":" TYPE "," TYPE
custom_mask: "," VALUE -> present | -> absent
"""

    def read(self, state: Any, node: Any) -> None:
        base, indices, padding, (form, mask), attributes, shaped, vector = node
        for key, value in attributes.items():
            state.attribute(key, value)
        _transfer_defaults(state, shaped, vector)
        state.operand("base", base)
        state.types("base", [shaped])
        state.operands("indices", indices)
        state.types("indices", [INDEX] * len(indices))
        state.operand("padding", padding)
        state.types("vector", [vector])
        if form == "present":
            state.operand("mask", mask[0])
            state.types("mask", [_mask_type(state, vector)])

    def write(self, p: Any, op: TransferRead) -> None:
        mask = f", {p.name(op.mask)}" if op.mask is not None else ""
        p.write(f" {p.name(op.base)}[{p.names(op.indices)}], {p.name(op.padding)}{mask}")
        p.attr_dict(op, _transfer_elide(op))
        p.write(f" : {p.type(op.base.type)}, {p.type(op.vector.type)}")


def _mask_type(state: Any, vector: Any) -> Type:
    """The mask of a transfer: i1 for each element that is read, before broadcasts and transpositions."""
    entry = state.attributes.get("permutation_map")
    if not isinstance(entry, AffineMapAttr):
        return VectorType(vector.shape, I1)
    pairs = [
        (e.value, extent)
        for e, extent in zip(entry.map.results, vector.shape, strict=False)
        if e.kind == "dim"
    ]
    return VectorType(tuple(extent for _, extent in sorted(pairs)), I1)


class TransferRead(Op, name="vector.transfer_read", traits=(READ,)):
    """A vector from a buffer or tensor; elements outside, or masked out, are the padding value."""

    base = operand(SHAPED)
    indices = variadic_operand(ANY_INDEX)
    padding = operand(ANY_TYPE)
    mask = optional_operand(ANY_VECTOR)
    permutation_map = attribute(_MAP)
    in_bounds = attribute(ARRAY_ATTR)
    vector = result(ANY_VECTOR)
    assembly = "custom<TransferRead>"

    def verify_op(self) -> None:
        _verify_transfer(self)
        if self.padding.type is not self.base.type.element:
            raise self.error("requires formal source and padding type match")


class WriteSyntax(CustomDirective, name="TransferWrite"):
    """`%v, %m[%i], %mask {…} : vector<…>, memref<…>`"""

    grammar = """custom: VALUE "," VALUE "[" value_list "]" custom_mask attr_dict ":" TYPE "," TYPE
custom_mask: "," VALUE -> present | -> absent
"""

    def read(self, state: Any, node: Any) -> None:
        value, base, indices, (form, mask), attributes, vector, shaped = node
        for key, entry in attributes.items():
            state.attribute(key, entry)
        _transfer_defaults(state, shaped, vector)
        state.operand("value_to_store", value)
        state.types("value_to_store", [vector])
        state.operand("base", base)
        state.types("base", [shaped])
        state.operands("indices", indices)
        state.types("indices", [INDEX] * len(indices))
        state.types("result", [shaped] if isinstance(shaped, RankedTensorType) else [])
        if form == "present":
            state.operand("mask", mask[0])
            state.types("mask", [_mask_type(state, vector)])

    def write(self, p: Any, op: TransferWrite) -> None:
        mask = f", {p.name(op.mask)}" if op.mask is not None else ""
        p.write(f" {p.name(op.value_to_store)}, {p.name(op.base)}[{p.names(op.indices)}]{mask}")
        p.attr_dict(op, _transfer_elide(op))
        p.write(f" : {p.type(op.vector.type)}, {p.type(op.base.type)}")


class TransferWrite(Op, name="vector.transfer_write", traits=(WRITE,)):
    """Writes a vector to a buffer, or gives a tensor with it; elements outside, or masked out, are left alone."""

    value_to_store = operand(ANY_VECTOR)
    base = operand(SHAPED)
    indices = variadic_operand(ANY_INDEX)
    mask = optional_operand(ANY_VECTOR)
    permutation_map = attribute(_MAP)
    in_bounds = attribute(ARRAY_ATTR)
    result_ = optional_result(ANY_TYPE)
    assembly = "custom<TransferWrite>"

    @property
    def vector(self) -> Any:
        """The vector that is written."""
        return self.value_to_store

    def verify_op(self) -> None:
        _verify_transfer(self)


# -- masks


class CreateMask(Op, name="vector.create_mask", traits=(PURE,)):
    """i1 that is set below a bound in each dimension."""

    mask_operands = variadic_operand(ANY_INDEX)
    result = result(ANY_VECTOR)
    assembly = "$mask_operands attr-dict `:` type($result)"

    def verify_op(self) -> None:
        if len(self.mask_operands) != len(self.result.type.shape):
            raise self.error("must specify an operand for each result vector dimension")


class ConstantMask(Op, name="vector.constant_mask", traits=(PURE,)):
    """i1 that is set below a constant bound in each dimension."""

    mask_dim_sizes = attribute(I64_ARRAY)
    result = result(ANY_VECTOR)
    assembly = "$mask_dim_sizes attr-dict `:` type($result)"

    def verify_op(self) -> None:
        sizes, shape = self.mask_dim_sizes.values, self.result.type.shape
        if len(sizes) != len(shape):
            raise self.error("must specify array attr of size equal vector result rank")
        if any(not 0 <= size <= extent for size, extent in zip(sizes, shape, strict=True)):
            raise self.error("array attr of size out of bounds of vector result dimension size")


class Print(Op, name="vector.print", traits=(MemoryEffects("write"),)):
    """Prints a value, on the host."""

    source = operand(ANY_TYPE)
    punctuation = attribute(enum(PunctuationAttr), default=PunctuationAttr("newline"))
    assembly = "$source (`punctuation` `<` $punctuation^ `>`)? attr-dict `:` type($source)"


DIALECT = Dialect(
    "vector",
    "values of several elements",
    ops_of(globals()),
    attributes=by_word(CombiningKindAttr, IteratorTypeAttr, PunctuationAttr),
)
