"""Views of a buffer by offsets, sizes and strides."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.memref.buffers import ViewLike
from tessera_tools.dialects.memref.lists import ANY_BUFFER, DYNAMIC_INDEX
from tessera_tools.ir.attributes import Type
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


class _Offsets(ViewLike):
    """The base of views by offsets, sizes and strides."""

    def verify_lists(self, *ranks: tuple[str, str, int]) -> None:
        """Check lengths: (field of operands, field of the static list, expected length or -1)."""
        for noun, field, rank in ranks:
            static = getattr(self, f"static_{field}").values
            if rank >= 0 and len(static) != rank:
                raise self.error(f"expected {rank} {noun} values, got {len(static)}")
            dynamic = sum(number == DYNAMIC_INDEX for number in static)
            if dynamic != len(getattr(self, field)):
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
        if source.element is not target.element or source.memory_space is not target.memory_space:
            raise self.error(f"expected result type to have the element type and memory space of '{source}'")
        sizes = list(self.static_sizes.values)
        kept = iter(sizes)
        for extent in target.shape:
            wanted = DYNAMIC_INDEX if extent == DYNAMIC else extent
            if not any(size == wanted for size in kept):
                raise self.error(f"expected result type to have the sizes of the view, got '{target}'")


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

    def read(self, state: Any, node: Any) -> None:
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

    def write(self, p: Any, op: ExtractStridedMetadata) -> None:
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
