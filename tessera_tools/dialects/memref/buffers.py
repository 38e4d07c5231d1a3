"""Allocations, accesses and questions about buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.arith.constants import Folded
from tessera_tools.dialects.memref.layouts import can_be_cast
from tessera_tools.dialects.memref.lists import ALIGNMENT, ANY_BUFFER
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    TRUE,
    AffineMapAttr,
    IntegerAttr,
    StridedLayoutAttr,
    index,
)
from tessera_tools.ir.core import Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import (
    DYNAMIC,
    DYNAMIC_INDEX,
    I32,
    INDEX,
    MemRefType,
    UnrankedMemRefType,
)
from tessera_tools.opdef import (
    ALLOCATE,
    ANY_INDEX,
    ANY_MEMREF,
    BOOL_ATTR,
    NO_EFFECT,
    PURE,
    READ_WRITE,
    AttrKind,
    CustomDirective,
    MemoryEffects,
    Op,
    Reach,
    TypeConstraint,
    allocate,
    attribute,
    derived,
    exactly,
    free,
    operand,
    optional_operand,
    read,
    result,
    variadic_operand,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class _Allocation(Op):
    """The base of allocations."""

    dynamic_sizes = variadic_operand(ANY_INDEX)
    symbol_operands = variadic_operand(ANY_INDEX)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    memref = result(ANY_MEMREF)
    assembly = "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        verify_sizes(self, self.memref.type, self.dynamic_sizes, self.symbol_operands)


def verify_sizes(op: Op, type: MemRefType, sizes: Sequence[Value], symbols: Sequence[Value]) -> None:
    """Check that an allocation has a size for each dynamic extent, and an operand for each symbol of the layout."""
    expected = type.shape.count(DYNAMIC)
    if len(sizes) != expected:
        raise op.error(f"incorrect number of dynamic sizes, has {len(sizes)}, expected {expected}")
    count = 0
    if isinstance(type.layout, AffineMapAttr):
        count = type.layout.map.num_symbols
    elif isinstance(type.layout, StridedLayoutAttr):
        count = [*type.layout.strides, type.layout.offset].count(DYNAMIC_INDEX)
    if len(symbols) != count:
        raise op.error(
            f"symbol operand count does not equal memref symbol count: expected {count}, got {len(symbols)}"
        )


def may_have_equal_shapes(a: MemRefType, b: MemRefType) -> bool:
    """True unless the ranks differ, or two extents are known and differ."""
    return len(a.shape) == len(b.shape) and all(
        m == n or DYNAMIC in (m, n) for m, n in zip(a.shape, b.shape, strict=True)
    )


class Alloc(_Allocation, name="memref.alloc", traits=(ALLOCATE,)):
    """Memory until `memref.dealloc`."""


class Alloca(_Allocation, name="memref.alloca", traits=(ALLOCATE,)):
    """Memory until the enclosing function (or allocation scope) ends."""


class Dealloc(Op, name="memref.dealloc", traits=(MemoryEffects(free("memref")),)):
    """Gives back what `memref.alloc` took."""

    memref = operand(ANY_BUFFER)
    assembly = "$memref attr-dict `:` type($memref)"


def element_of(type: Type) -> Type | None:
    """The element type of a buffer."""
    return getattr(type, "element", None)


class Load(Op, name="memref.load", traits=(MemoryEffects(read("memref", reach=Reach.BY_THREAD)),)):
    """One element of a buffer."""

    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result = result(derived("the element type of 'memref'", element_of, "memref"))
    assembly = "$memref `[` $indices `]` attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        rank, found = len(self.memref.type.shape), len(self.indices)
        if rank != found:
            raise self.error(f"incorrect number of indices for load, expected {rank} but got {found}")


class Store(Op, name="memref.store", traits=(MemoryEffects(write("memref", reach=Reach.BY_THREAD)),)):
    """Writes one element of a buffer."""

    value = operand(derived("the element type of 'memref'", element_of, "memref"))
    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    assembly = "$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        if len(self.indices) != len(self.memref.type.shape):
            raise self.error("store index operand count not equal to memref rank")


class Realloc(Op, name="memref.realloc", traits=(MemoryEffects(allocate(), free("source")),)):
    """A buffer of another size with the elements of the old one, which is gone."""

    source = operand(ANY_MEMREF)
    dynamic_result_size = optional_operand(exactly(INDEX))
    alignment = attribute(ALIGNMENT, "in bytes", optional=True)
    result = result(ANY_MEMREF)
    assembly = "$source (`(` $dynamic_result_size^ `)`)? attr-dict `:` type($source) `to` type($result)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.result.type
        for type in (source, target):
            if len(type.shape) != 1:
                raise self.error(f"expected buffers of one dimension, but got '{type}'")
        if source.layout is not None:
            raise self.error(f"unsupported layout for source memref type {source}")
        if target.layout is not None:
            raise self.error(f"unsupported layout for result memref type {target}")
        if source.memory_space is not target.memory_space:
            raise self.error(
                f"different memory spaces specified for source memref type {source} and result memref type {target}"
            )
        if source.element is not target.element:
            raise self.error(
                f"different element types specified for source memref type {source} and result memref type {target}"
            )
        if target.is_static and self.dynamic_result_size is not None:
            raise self.error(f"unnecessary dimension operand for type {target}")
        if not target.is_static and self.dynamic_result_size is None:
            raise self.error(f"missing dimension operand for type {target}")


_LOCALITY: AttrKind[IntegerAttr] = AttrKind(
    "32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3",
    lambda a: isinstance(a, IntegerAttr) and a.type is I32 and 0 <= a.value <= 3,
)


class PrefetchSyntax(CustomDirective, name="Prefetch"):
    """`%m[%i, %j], read, locality<3>, data {…} : memref<…>`"""

    grammar = """custom: VALUE "[" custom_indices "]" "," KEYWORD "," "locality" "<" INTEGER ">" "," KEYWORD custom_end
custom_end: attr_dict ":" TYPE
custom_indices: values -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        buffer, (form, children), access, locality, cache, (attributes, type) = node
        tokens = list(children[0]) if form == "present" else []
        state.operand("memref", buffer)
        state.types("memref", [type])
        state.operands("indices", tokens)
        state.types("indices", [INDEX] * len(tokens))
        if access.text not in ("read", "write"):
            raise state.error(access, f"rw specifier has to be 'read' or 'write', found '{access.text}'")
        if cache.text not in ("data", "instr"):
            raise state.error(cache, f"cache type has to be 'data' or 'instr', found '{cache.text}'")
        state.attribute("isWrite", TRUE if access.text == "write" else FALSE)
        state.attribute("isDataCache", TRUE if cache.text == "data" else FALSE)
        state.attribute("localityHint", IntegerAttr(integer_of(locality.text), I32))
        for key, value in attributes.items():
            state.attribute(key, value)

    def write(self, p: Printer, op: Prefetch) -> None:
        access = "write" if op.is_write.value else "read"
        cache = "data" if op.is_data_cache.value else "instr"
        p.write(
            f" {p.name(op.memref)}[{p.names(op.indices)}], {access}, locality<{op.locality_hint.value}>, {cache}"
        )
        p.attr_dict(op, ("isWrite", "isDataCache", "localityHint"))
        p.write(f" : {p.type(op.memref.type)}")


class Prefetch(Op, name="memref.prefetch", traits=(READ_WRITE,)):
    """Hints that an element will be used; locality 3 is to be kept longest."""

    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    is_write = attribute(BOOL_ATTR, key="isWrite")
    locality_hint = attribute(_LOCALITY, key="localityHint")
    is_data_cache = attribute(BOOL_ATTR, key="isDataCache")
    assembly = "custom<Prefetch>($memref, $indices, $is_write, $locality_hint, $is_data_cache)"

    def verify_op(self) -> None:
        if len(self.indices) != len(self.memref.type.shape):
            raise self.error("too few indices")


class ViewLike(Op, traits=(PURE,)):
    """The base of ops whose result is another view of a buffer."""


class Cast(ViewLike, name="memref.cast"):
    """The same buffer with more or less of its shape and layout known."""

    source = operand(ANY_BUFFER)
    dest = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.dest.type
        if isinstance(source, MemRefType) and isinstance(target, MemRefType):
            agree = can_be_cast(source, target)
        else:
            agree = (
                (isinstance(source, MemRefType) or isinstance(target, MemRefType))
                and source.element is target.element
                and source.memory_space is target.memory_space
            )
        if not agree:
            raise self.error(f"operand type '{source}' and result type '{target}' are cast incompatible")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # A : T to T is A
        return [self.source] if self.source.type is self.dest.type else None


class MemorySpaceCast(ViewLike, name="memref.memory_space_cast"):
    """The same buffer through another address space."""

    source = operand(ANY_BUFFER)
    dest = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.dest.type
        keys = ("shape", "element", "layout")
        if type(source) is not type(target) or any(
            getattr(source, key, None) != getattr(target, key, None) for key in keys
        ):
            raise self.error(f"operand type '{source}' and result type '{target}' are cast incompatible")


class Copy(Op, name="memref.copy", traits=(MemoryEffects(read("source"), write("target")),)):
    """Copies the elements of one buffer to another of the same shape."""

    source = operand(ANY_BUFFER)
    target = operand(ANY_BUFFER)
    assembly = "$source `,` $target attr-dict `:` type($source) `to` type($target)"

    def verify_op(self) -> None:
        if self.source.type.element is not self.target.type.element:
            raise self.error("requires the same element type for all operands")
        ranked = [b.type for b in (self.source, self.target) if isinstance(b.type, MemRefType)]
        if len(ranked) == 2 and not may_have_equal_shapes(*ranked):
            raise self.error("requires the same shape for all operands")


_WITH_DIMENSIONS: TypeConstraint[MemRefType | UnrankedMemRefType] = TypeConstraint(
    "unranked.memref of any type values or non-0-ranked.memref of any type values",
    lambda t: isinstance(t, UnrankedMemRefType) or (isinstance(t, MemRefType) and bool(t.shape)),
)


class Dim(Op, name="memref.dim", traits=(NO_EFFECT,)):
    """The extent of one dimension; undefined if the buffer has no dimension of that number."""

    source = operand(_WITH_DIMENSIONS)
    index = operand(ANY_INDEX)
    result = result(exactly(INDEX))
    assembly = "attr-dict $source `,` $index `:` type($source)"

    def is_speculatable(self) -> bool:
        """True if the op is speculatable: the index is a constant within the rank."""
        number, type = constant_integer(self.index), self.source.type
        return number is not None and isinstance(type, MemRefType) and 0 <= number < len(type.shape)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        number, type = operands[1], self.source.type
        if not isinstance(number, IntegerAttr) or not isinstance(type, MemRefType):
            return None
        if not 0 <= number.value < len(type.shape):
            return None
        extent = type.shape[number.value]
        return [index(extent)] if extent != DYNAMIC else None


class Rank(Op, name="memref.rank", traits=(PURE,)):
    """The number of dimensions."""

    memref = operand(ANY_BUFFER)
    result = result(exactly(INDEX))
    assembly = "$memref attr-dict `:` type($memref)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        type = self.memref.type
        return [index(len(type.shape))] if isinstance(type, MemRefType) else None
