"""Allocations, accesses and questions about buffers."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.arith.constants import Folded
from tessera_tools.dialects.memref.lists import ANY_BUFFER
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import (
    AffineMapAttr,
    IntegerAttr,
    index,
)
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    DYNAMIC,
    INDEX,
    MemRefType,
)
from tessera_tools.opdef import (
    ALLOCATE,
    ANY_INDEX,
    ANY_MEMREF,
    BOOL_ATTR,
    I64_ATTR,
    PURE,
    MemoryEffects,
    Op,
    Reach,
    attribute,
    derived,
    exactly,
    free,
    operand,
    read,
    result,
    variadic_operand,
    write,
)


class _Allocation(Op):
    """The base of allocations."""

    dynamic_sizes = variadic_operand(ANY_INDEX)
    symbol_operands = variadic_operand(ANY_INDEX)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    memref = result(ANY_MEMREF)
    assembly = "`(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        type = self.memref.type
        found, expected = len(self.dynamic_sizes), type.shape.count(DYNAMIC)
        if found != expected:
            raise self.error(f"incorrect number of dynamic sizes, has {found}, expected {expected}")
        symbols = type.layout.map.num_symbols if isinstance(type.layout, AffineMapAttr) else 0
        if len(self.symbol_operands) != symbols:
            raise self.error(
                f"symbol operand count does not equal memref symbol count: expected {symbols}, "
                f"got {len(self.symbol_operands)}"
            )
        if self.alignment is not None and (
            self.alignment.value <= 0 or self.alignment.value.bit_count() != 1
        ):
            raise self.error(
                "attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute "
                "whose value is positive and whose value is a power of two > 0"
            )


class Alloc(_Allocation, name="memref.alloc", traits=(ALLOCATE,)):
    """Memory until `memref.dealloc`."""


class Alloca(_Allocation, name="memref.alloca", traits=(ALLOCATE,)):
    """Memory until the enclosing function (or allocation scope) ends."""


class Dealloc(Op, name="memref.dealloc", traits=(MemoryEffects(free("memref")),)):
    """Gives back what `memref.alloc` took."""

    memref = operand(ANY_BUFFER)
    assembly = "$memref attr-dict `:` type($memref)"


def _element(type: Type) -> Type | None:
    return getattr(type, "element", None)


class Load(Op, name="memref.load", traits=(MemoryEffects(read("memref", reach=Reach.BY_THREAD)),)):
    """One element of a buffer."""

    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    result = result(derived("the element type of 'memref'", _element, "memref"))
    assembly = "$memref `[` $indices `]` attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        rank, found = len(self.memref.type.shape), len(self.indices)
        if rank != found:
            raise self.error(f"incorrect number of indices for load, expected {rank} but got {found}")


class Store(Op, name="memref.store", traits=(MemoryEffects(write("memref", reach=Reach.BY_THREAD)),)):
    """Writes one element of a buffer."""

    value = operand(derived("the element type of 'memref'", _element, "memref"))
    memref = operand(ANY_MEMREF)
    indices = variadic_operand(ANY_INDEX)
    nontemporal = attribute(BOOL_ATTR, optional=True)
    alignment = attribute(I64_ATTR, "in bytes", optional=True)
    assembly = "$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        if len(self.indices) != len(self.memref.type.shape):
            raise self.error("store index operand count not equal to memref rank")


class ViewLike(Op, traits=(PURE,)):
    """The base of ops whose result is another view of a buffer."""

    @property
    def view_source(self) -> Value:
        """The buffer that is seen."""
        return self.operand(0)


class Cast(ViewLike, name="memref.cast"):
    """The same buffer with more or less of its shape and layout known."""

    source = operand(ANY_BUFFER)
    dest = result(ANY_BUFFER)
    assembly = "$source attr-dict `:` type($source) `to` type($dest)"

    def verify_op(self) -> None:
        source, target = self.source.type, self.dest.type
        agree = source.element is target.element and source.memory_space is target.memory_space
        if isinstance(source, MemRefType) and isinstance(target, MemRefType):
            pairs = zip(source.shape, target.shape, strict=False)
            agree = agree and len(source.shape) == len(target.shape)
            agree = agree and all(a == b or DYNAMIC in (a, b) for a, b in pairs)
        elif not isinstance(source, MemRefType) and not isinstance(target, MemRefType):
            agree = False
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


class Copy(Op, name="memref.copy", traits=(MemoryEffects(read("source"), write("dest")),)):
    """Copies the elements of one buffer to another of the same shape."""

    source = operand(ANY_BUFFER)
    target = operand(ANY_BUFFER)
    assembly = "$source `,` $target attr-dict `:` type($source) `to` type($target)"

    def verify_op(self) -> None:
        if self.source.type.element is not self.target.type.element:
            raise self.error("requires the same element type for all operands")


class Dim(Op, name="memref.dim", traits=(PURE,)):
    """The extent of one dimension."""

    source = operand(ANY_BUFFER)
    index = operand(ANY_INDEX)
    result = result(exactly(INDEX))
    assembly = "attr-dict $source `,` $index `:` type($source)"

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
