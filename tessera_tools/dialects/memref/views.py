"""Views of a buffer by offsets, sizes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.memref.buffers import ViewLike
from tessera_tools.dialects.memref.layouts import (
    Strided,
    add,
    dropped_dimensions,
    extents,
    strided,
    subview_type,
    times,
)
from tessera_tools.dialects.memref.lists import ANY_BUFFER, DYNAMIC_INDEX, static_numbers
from tessera_tools.ir.affine import AffineExpr, AffineMap, dim
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import AffineMapAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    DYNAMIC,
    I8,
    INDEX,
    MemRefType,
)
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_MEMREF,
    I64_ARRAY,
    PURE,
    AttrKind,
    CustomDirective,
    Op,
    attribute,
    derived,
    exactly,
    operand,
    result,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class _Offsets(ViewLike):
    """The base of views by offsets, sizes and strides."""

    def verify_lists(self, *ranks: tuple[str, str, int]) -> None:
        """Check lengths: (field of operands, field of the static list, expected length or -1)."""
        for noun, field, rank in ranks:
            static = static_numbers(self, field)
            if rank >= 0 and len(static) != rank:
                raise self.error(f"expected {rank} {noun} values, got {len(static)}")
            dynamic = sum(number == DYNAMIC_INDEX for number in static)
            if dynamic != len(self.values_of(field)):
                raise self.error(f"expected {dynamic} dynamic {noun} values")


class SubView(_Offsets, name="memref.subview"):
    """A rectangular part of a buffer, dimensions of extent 1 possibly dropped."""

    source = operand(ANY_MEMREF)
    offsets = variadic_operand(ANY_INDEX)
    sizes = variadic_operand(ANY_INDEX)
    strides = variadic_operand(ANY_INDEX)
    static_offsets = attribute(I64_ARRAY)
    static_sizes = attribute(I64_ARRAY)
    static_strides = attribute(I64_ARRAY)
    result = result(ANY_MEMREF)
    assembly = (
        "$source `` custom<IndexList>($offsets, $static_offsets) ` ` custom<IndexList>($sizes, $static_sizes) ` ` "
        "custom<IndexList>($strides, $static_strides) attr-dict `:` type($source) `to` type($result)"
    )

    def verify_op(self) -> None:
        rank = len(self.source.type.shape)
        self.verify_lists(("offset", "offsets", rank), ("size", "sizes", rank), ("stride", "strides", rank))
        source, target = self.source.type, self.result.type
        if source.memory_space is not target.memory_space:
            raise self.error(
                f"different memory spaces specified for base memref type {source} and subview memref type {target}"
            )
        if source.element is not target.element:
            raise self.error(f"expected result element type to be '{source.element}', but got '{target}'")
        offsets, sizes, strides = (static_numbers(self, field) for field in ("offsets", "sizes", "strides"))
        self._verify_bounds(offsets, sizes, strides)
        expected = subview_type(source, offsets, sizes, strides)
        if expected is None:
            raise self.error(f"base type '{source}' is not strided")
        if len(target.shape) > rank:
            raise self.error(
                f"expected result rank to be smaller or equal to the source rank, but got '{target}'"
            )
        if dropped_dimensions(expected, target) is None:
            wrong = "layout" if _is_reduced_shape(expected.shape, target.shape) else "sizes"
            raise self.error(
                f"expected result type to be '{expected}' or a rank-reduced version. (mismatch of result {wrong})"
            )

    def _verify_bounds(self, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> None:
        """Check that the static part of the view is inside the buffer."""
        for noun, numbers in (("offsets", offsets), ("sizes", sizes)):
            negative = [n for n in numbers if n < 0 and n != DYNAMIC_INDEX]
            if negative:
                raise self.error(f"expected {noun} to be non-negative, but got {negative[0]}")
        rows = zip(extents(self.source.type.shape), offsets, sizes, strides, strict=True)
        for i, (extent, offset, size, stride) in enumerate(rows):
            if DYNAMIC_INDEX in (extent, offset):
                continue
            if offset >= extent and size != 0:
                raise self.error(f"offset {i} is out-of-bounds: {offset} >= {extent}")
            last = add(offset, times(add(size, -1), stride)) if size != DYNAMIC_INDEX else DYNAMIC_INDEX
            if last != DYNAMIC_INDEX and size and last >= extent:
                raise self.error(f"slice along dimension {i} runs out-of-bounds: {last} >= {extent}")


def _is_reduced_shape(full: tuple[int, ...], reduced: tuple[int, ...]) -> bool:
    """True if `reduced` is `full` without some dimensions of extent 1."""
    at = 0
    for extent in full:
        if at < len(reduced) and reduced[at] == extent:
            at += 1
        elif extent != 1:
            return False
    return at == len(reduced)


class ReinterpretCast(_Offsets, name="memref.reinterpret_cast"):
    """The memory of a buffer with another offset, sizes and strides."""

    source = operand(ANY_BUFFER)
    offsets = variadic_operand(ANY_INDEX)
    sizes = variadic_operand(ANY_INDEX)
    strides = variadic_operand(ANY_INDEX)
    static_offsets = attribute(I64_ARRAY)
    static_sizes = attribute(I64_ARRAY)
    static_strides = attribute(I64_ARRAY)
    result = result(ANY_MEMREF)
    assembly = (
        "$source `to` `offset` `` `:` ` ` custom<IndexList>($offsets, $static_offsets) `` `,` "
        "`sizes` `` `:` ` ` custom<IndexList>($sizes, $static_sizes) `` `,` "
        "`strides` `` `:` ` ` custom<IndexList>($strides, $static_strides) "
        "attr-dict `:` type($source) `to` type($result)"
    )

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        if source.memory_space is not target.memory_space:
            raise self.error(
                f"different memory spaces specified for source type '{source}' and result memref type '{target}'"
            )
        if source.element is not target.element:
            raise self.error(
                f"different element types specified for source type '{source}' and result memref type '{target}'"
            )
        rank = len(target.shape)
        self.verify_lists(("offset", "offsets", 1), ("size", "sizes", rank), ("stride", "strides", rank))
        for i, (size, extent) in enumerate(zip(self.static_sizes.values, target.shape, strict=True)):
            if extent != DYNAMIC and size != extent:
                shown = "dynamic" if size == DYNAMIC_INDEX else size
                raise self.error(f"expected result type with size = {shown} instead of {extent} in dim = {i}")
        found = strided(target)
        if found is None:
            raise self.error(f"expected result type to have strided layout but found '{target}'")
        pairs = [(self.static_offsets.values[0], found.offset, "offset", "")]
        for i, (given, stride) in enumerate(zip(self.static_strides.values, found.strides, strict=True)):
            pairs.append((given, stride, "stride", f" in dim = {i}"))
        for given, number, noun, where in pairs:
            if number not in (DYNAMIC_INDEX, given):
                shown = "dynamic" if given == DYNAMIC_INDEX else given
                raise self.error(f"expected result type with {noun} = {shown} instead of {number}{where}")


def _base_buffer(type: Type) -> Type | None:
    if not isinstance(type, MemRefType):
        return None
    return MemRefType((), type.element, None, type.memory_space)


class ExtractStridedMetadata(Op, name="memref.extract_strided_metadata", traits=(PURE,)):
    """A buffer's base, offset, sizes and strides (both in elements)."""

    source = operand(ANY_MEMREF)
    base_buffer = result(
        derived("a memref of rank 0 with the element type of 'source'", _base_buffer, "source")
    )
    offset = result(exactly(INDEX))
    extents = variadic_result(ANY_INDEX, "the sizes, then the strides")
    assembly = "custom<Metadata>($source, $base_buffer, $offset, $extents) attr-dict"

    @property
    def sizes(self) -> list[Value]:
        """The extents, one result a dimension."""
        return list(self.results[2 : 2 + len(self.source.type.shape)])

    @property
    def strides(self) -> list[Value]:
        """The strides in elements, one result a dimension."""
        return list(self.results[2 + len(self.source.type.shape) :])

    def verify_op(self) -> None:
        rank = len(self.source.type.shape)
        if len(self.results) != 2 + 2 * rank:
            raise self.error(
                f"expects {2 + 2 * rank} results for a memref of rank {rank}, but found {len(self.results)}"
            )


class Metadata(CustomDirective, name="Metadata"):
    """`%m : memref<4xf32> -> memref<f32>, index, index, index`"""

    grammar = 'custom: VALUE ":" TYPE "->" types'

    def read(self, state: OpState, node: Node) -> None:
        token, source, types = node
        rank = len(source.shape) if isinstance(source, MemRefType) else 0
        if len(types) != 2 + 2 * rank:
            raise state.error(
                token, f"expected {2 + 2 * rank} result types for a memref of rank {rank}, found {len(types)}"
            )
        state.operand("source", token)
        state.types("source", [source])
        state.types("base_buffer", types[:1])
        state.types("offset", types[1:2])
        state.types("extents", types[2:])

    def write(self, p: Printer, op: ExtractStridedMetadata) -> None:
        p.write(
            f" {p.name(op.source)} : {p.type(op.source.type)} -> {', '.join(map(p.type, op.result_types))}"
        )


class View(ViewLike, name="memref.view"):
    """Bytes as a buffer of another type, from an offset in bytes."""

    source = operand(ANY_MEMREF)
    byte_shift = operand(exactly(INDEX))
    sizes = variadic_operand(ANY_INDEX)
    result = result(ANY_MEMREF)
    assembly = "$source `[` $byte_shift `]` `` `[` $sizes `]` attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        if source.element is not I8 or len(source.shape) != 1:
            raise self.error(
                f"operand #0 must be 1D memref of 8-bit signless integer values, but got '{source}'"
            )
        if source.layout is not None:
            raise self.error(f"unsupported map for base memref type {source}")
        if target.layout is not None:
            raise self.error(f"unsupported map for result memref type {target}")
        if source.memory_space is not target.memory_space:
            raise self.error(
                f"different memory spaces specified for base memref type {source} and view memref type {target}"
            )
        if len(self.sizes) != target.shape.count(DYNAMIC):
            raise self.error(f"incorrect number of size operands for type {target}")


class Permutation(CustomDirective, name="Permutation"):
    """`(d0, d1) -> (d1, d0)`"""

    grammar = """custom: "(" custom_names ")" "->" "(" custom_names ")"
custom_names: [KEYWORD ("," KEYWORD)*]
"""

    def read(self, state: OpState, node: Node) -> None:
        inputs, outputs = ([token for token in names if token is not None] for names in node)
        words = [token.text for token in inputs]
        results: list[AffineExpr] = []
        for token in outputs:
            if token.text not in words:
                raise state.error(token, f"expected one of {', '.join(words)}, found '{token.text}'")
            results.append(dim(words.index(token.text)))
        state.attribute("permutation", AffineMapAttr(AffineMap(len(words), 0, tuple(results))))

    def write(self, p: Printer, op: Transpose) -> None:
        p.write(f" {op.permutation.map}")


_MAP: AttrKind[AffineMapAttr] = AttrKind("AffineMap attribute", lambda a: isinstance(a, AffineMapAttr))


class Transpose(ViewLike, name="memref.transpose"):
    """A strided buffer with its dimensions in another order: dimension i is dimension `permutation[i]` of the
    source."""

    source = operand(ANY_MEMREF)
    permutation = attribute(_MAP)
    result = result(ANY_MEMREF)
    assembly = "$source custom<Permutation>($permutation) attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        map, source, target = self.permutation.map, self.source.type, self.result.type
        order = [i for result in map.results for i in range(map.num_dims) if result is dim(i)]
        if len(map.results) != map.num_dims or sorted(order) != list(range(map.num_dims)):
            raise self.error("expected a permutation map")
        if len(order) != len(source.shape):
            raise self.error("expected a permutation map of same rank as the input")
        layout = strided(source)
        if layout is None:
            raise self.error(f"expected a source with strides and an offset, but got '{source}'")
        moved = Strided(tuple(layout.strides[i] for i in order), layout.offset)
        shape = tuple(source.shape[i] for i in order)
        expected = MemRefType(shape, source.element, moved.layout(), source.memory_space)
        same = target.shape == shape and target.element is source.element and strided(target) == moved
        if not same or target.memory_space is not source.memory_space:
            raise self.error(
                f"result type '{target}' is not equivalent to the canonical transposed input type '{expected}'"
            )
