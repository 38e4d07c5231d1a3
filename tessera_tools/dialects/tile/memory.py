"""Buffers in shared memory and registers, accesses to them and to global memory, barriers."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.tile.base import (
    ANY_BUFFER,
    FRAGMENT,
    GLOBAL_BUFFER,
    LOADS,
    NUMBER,
    SHARED_BUFFER,
    STORES,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.interfaces import MemoryAccess
from tessera_tools.ir.types import DYNAMIC, INDEX, MemRefType, VectorType, stored_bits
from tessera_tools.opdef import (
    ALLOCATE,
    BOOL_ATTR,
    I64_ATTR,
    IN_ORDER,
    PURE,
    STRING_ATTR,
    SYNCHRONIZES,
    MemoryEffects,
    Op,
    Reach,
    allocate,
    attribute,
    derived,
    exactly,
    operand,
    read,
    result,
    same_as,
    variadic_operand,
    write,
)
from tessera_tools.opdef.fields import AttributeField

CACHE_POLICIES = ("write_back", "write_through", "streaming", "cache_global", "cache_all", "evict_last")
MOST_ALIGNMENT = 1024
"""Bytes to which the shared memory of a block is aligned: the largest hardware swizzle's."""
SWIZZLES = ("none", "xor")


def _element(type: MemRefType) -> Type:
    return type.element


def _vector(type: MemRefType, width: IntegerAttr) -> Type:
    return VectorType((width.value,), type.element)


class AllocShared(Op, name="tile.alloc_shared", traits=(ALLOCATE,)):
    """A buffer in shared memory, for the whole block.

    `swizzle` is `none` or `xor`, on rows of `swizzle_size` bytes (32, 64 or 128; default 128): 16-byte piece c of
    row r is at the position of piece c xor (r mod 8).  `size` (bytes) and `alignment` must agree with the type.
    """

    swizzle = attribute(STRING_ATTR, optional=True)
    swizzle_size = attribute(I64_ATTR, optional=True)
    size = attribute(I64_ATTR, optional=True)
    alignment = attribute(I64_ATTR, optional=True)
    res = result(SHARED_BUFFER)
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        type = self.res.type
        if not type.is_static or not type.rank or type.layout is not None:
            raise self.error(f"has type {type}; a buffer in shared memory has one static extent or more")
        if self.swizzle is not None and self.swizzle.value not in SWIZZLES:
            raise self.error(f'has swizzle "{self.swizzle.value}"; expected "none" or "xor"')
        if self.swizzle_size is not None and self.swizzle_size.value not in (32, 64, 128):
            raise self.error(f"has a swizzle_size of {self.swizzle_size.value} bytes; expected 32, 64 or 128")
        if self.swizzle_size is not None and (self.swizzle is None or self.swizzle.value == "none"):
            raise self.error('has a swizzle_size, but no swizzle; expected swizzle = "xor"')
        size = type.num_elements * stored_bits(type.element) // 8
        if self.size is not None and self.size.value != size:
            raise self.error(f"has size = {self.size.value}, but {type} takes {size} bytes")
        if self.alignment is not None and (
            self.alignment.value < 1 or self.alignment.value & (self.alignment.value - 1)
        ):
            raise self.error(f"has an alignment of {self.alignment.value}; expected a power of two")
        if self.alignment is not None and self.alignment.value > MOST_ALIGNMENT:
            raise self.error(
                f"has an alignment of {self.alignment.value}; shared memory is aligned to {MOST_ALIGNMENT} bytes"
            )


class AllocRegister(Op, name="tile.alloc_register", traits=(ALLOCATE,)):
    """A buffer in registers: each thread's fragment of a tile."""

    layout = attribute(STRING_ATTR, optional=True)
    vector_width = attribute(I64_ATTR, optional=True)
    res = result(FRAGMENT)
    assembly = "attr-dict `:` type($res)"

    def verify_op(self) -> None:
        if not self.res.type.is_static or not 1 <= self.res.type.rank <= 2:
            raise self.error(f"has type {self.res.type}; a fragment has one or two static extents")
        if self.layout is not None and self.layout.value not in ("row_major", "col_major"):
            raise self.error(f'has layout "{self.layout.value}"; expected "row_major" or "col_major"')
        if self.vector_width is not None and (
            self.vector_width.value < 1 or self.res.type.shape[-1] % self.vector_width.value
        ):
            raise self.error(
                f"has a vector_width of {self.vector_width.value}, which does not divide {self.res.type}"
            )


class Fill(Op, name="tile.fill", traits=(MemoryEffects(write("dest")),)):
    """Sets every element of a fragment to a number."""

    dest = operand(FRAGMENT)
    value = operand(derived("element type", _element, "dest"))
    assembly = "$dest `,` $value attr-dict `:` type($dest)"


class MaskFill(Op, name="tile.mask_fill", traits=(MemoryEffects(write("dest")),)):
    """Sets every element of this thread's fragment to a number, under a thread-dependent condition."""

    dest = operand(FRAGMENT)
    value = operand(NUMBER)
    assembly = "$dest `,` $value attr-dict `:` type($dest) `,` type($value)"

    def verify_op(self) -> None:
        if self.value.type is not self.dest.type.element:
            raise self.error(f"fills {self.dest.type} with {self.value.type}")


class Copy(Op, name="tile.copy", traits=(MemoryEffects(read("source"), write("dest")),)):
    """Copies the elements of one buffer to another.  `%dest = %source : memref<8xf32, 5>` is the same."""

    source = operand(same_as("dest"))
    dest = operand(ANY_BUFFER)
    assembly = "$source `,` $dest attr-dict `:` type($dest)"


class Barrier(Op, name="tile.barrier", traits=(SYNCHRONIZES,)):
    """Wait for all threads of the block; their accesses before it are then visible."""

    assembly = "attr-dict"


class ComputeTensorSlice(Op, name="tile.compute_tensor_slice", traits=(PURE,)):
    """Rows of a matrix in global memory, from row `start`; the matrix is the last two dimensions of the tensor, at the
    block's coordinates along axes 1 and 2 of the grid in the dimensions before (the last of them along axis 1)."""

    source = operand(GLOBAL_BUFFER)
    start = operand(exactly(INDEX))
    res = result(GLOBAL_BUFFER)
    assembly = "$source `,` $start attr-dict `:` type($source) `,` type($start) `->` type($res)"

    def verify_op(self) -> None:
        source, res = self.source.type, self.res.type
        if not 2 <= source.rank <= 4 or res.rank != 2 or source.element is not res.element:
            raise self.error(
                f"slices {source} to {res}; expected a tensor of rank 2 to 4, and a matrix of it"
            )
        if res.shape[0] == DYNAMIC:
            raise self.error(f"returns {res}; the number of rows must be static")
        if res.shape[1] not in (DYNAMIC, source.shape[-1]) and source.shape[-1] != DYNAMIC:
            raise self.error(f"returns {res}, whose columns differ from those of {source}")


class _Indexed(MemoryAccess, Op):
    """The base of accesses to single elements (or vectors of neighbors) by indices.  Indices outside the buffer are
    undefined: bounds are not checked."""

    @classmethod
    def check(cls, op: _Indexed, buffer: MemRefType) -> None:
        if len(op.indices) != buffer.rank:
            raise op.error(f"expected {buffer.rank} indices for {buffer}, got {len(op.indices)}")


class LoadShared(_Indexed, name="tile.load_shared", traits=(LOADS,)):
    """Each thread loads one element of a buffer in shared memory; an index outside the buffer is undefined behavior."""

    buffer = operand(SHARED_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    res = result(derived("element type", _element, "buffer"))
    assembly = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def verify_op(self) -> None:
        self.check(self, self.buffer.type)


class StoreShared(_Indexed, name="tile.store_shared", traits=(STORES,)):
    """Each thread stores one element to a buffer in shared memory; an index outside the buffer is undefined behavior.
    If several threads store to the same element, one of the values is stored."""

    value = operand(derived("element type", _element, "buffer"))
    buffer = operand(SHARED_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    assembly = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def verify_op(self) -> None:
        self.check(self, self.buffer.type)


class LoadGlobal(_Indexed, name="tile.load_global", traits=(LOADS,)):
    """Each thread loads one element of global memory; an index outside the tensor is undefined behavior: nothing is
    checked."""

    buffer = operand(GLOBAL_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    coalesce = attribute(BOOL_ATTR, optional=True)
    cache_policy = attribute(STRING_ATTR, optional=True)
    res = result(derived("element type", _element, "buffer"))
    assembly = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def verify_op(self) -> None:
        self.check(self, self.buffer.type)
        check_cache_policy(self)


class StoreGlobalElement(_Indexed, name="tile.store_global_element", traits=(STORES,)):
    """Each thread stores one element to global memory; an index outside the tensor is undefined behavior: nothing is
    checked."""

    value = operand(derived("element type", _element, "buffer"))
    buffer = operand(GLOBAL_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    coalesce = attribute(BOOL_ATTR, optional=True)
    cache_policy = attribute(STRING_ATTR, optional=True)
    assembly = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def verify_op(self) -> None:
        self.check(self, self.buffer.type)
        check_cache_policy(self)


class StoreGlobal(Op, name="tile.store_global", traits=(MemoryEffects(read("value"), write("dest")),)):
    """Stores the fragments of all threads to a matrix in global memory; rows and columns beyond it are not written.
    Fragments of rank 1, with one value per row, are stored to a vector."""

    value = operand(FRAGMENT)
    dest = operand(GLOBAL_BUFFER)
    coalesce = attribute(BOOL_ATTR, optional=True)
    cache_policy = attribute(STRING_ATTR, optional=True)
    assembly = "$value `,` $dest attr-dict `:` type($value) `,` type($dest)"

    def verify_op(self) -> None:
        value, dest = self.value.type, self.dest.type
        if value.rank != dest.rank or value.element is not dest.element:
            raise self.error(f"stores {value} to {dest}: ranks and element types must match")
        check_cache_policy(self)


class LoadGlobalTile(
    Op, name="tile.load_global_tile", traits=(MemoryEffects(read("source"), write("dest")),)
):
    """Loads a matrix in global memory into the fragments of all threads; elements beyond it become zero.

    A vector becomes one value per row in fragments of rank 1, and every row of the tile in fragments of rank 2.
    """

    source = operand(GLOBAL_BUFFER)
    dest = operand(FRAGMENT)
    coalesce = attribute(BOOL_ATTR, optional=True)
    cache_policy = attribute(STRING_ATTR, optional=True)
    assembly = "$source `,` $dest attr-dict `:` type($source) `,` type($dest)"

    def verify_op(self) -> None:
        source, dest = self.source.type, self.dest.type
        if source.element is not dest.element or (source.rank, dest.rank) not in ((1, 1), (1, 2), (2, 2)):
            raise self.error(
                f"loads {source} into {dest}: element types and ranks must match, except for a vector in each row"
            )
        check_cache_policy(self)


class _Vector(_Indexed):
    """The base of accesses to neighbors along the last dimension, whose address is a multiple of their size: what
    other addresses do is undefined."""

    vector_width: AttributeField[IntegerAttr]

    @property
    def width(self) -> int:
        """The neighbors."""
        return self.vector_width.value

    def verify_op(self) -> None:
        self.check(self, self.buffer.type)
        if not self.buffer.type.rank:
            raise self.error("accesses vectors of a buffer with one element")
        if "cache_policy" in self.attributes:
            check_cache_policy(self)
        width = self.width
        bits = width * stored_bits(self.buffer.type.element)
        if width < 2 or width & (width - 1) or bits > 128:
            raise self.error(
                f"accesses {bits} bits at a time; expected a power of two of elements, at least 2, and at most 128 bits"
            )
        row = self.buffer.type.shape[-1]
        if row != DYNAMIC and row % width:
            raise self.error(
                f"accesses {width} elements at a time, which does not divide the row length of {row} elements"
            )


class LoadSharedVector(_Vector, name="tile.load_shared_vector", traits=(LOADS,)):
    """Loads `vector_width` contiguous elements of a buffer in shared memory; the index of the first must be a multiple
    of that."""

    buffer = operand(SHARED_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    vector_width = attribute(I64_ATTR)
    res = result(derived("vector", _vector, "buffer", "vector_width"))
    assembly = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"


class StoreSharedVector(_Vector, name="tile.store_shared_vector", traits=(STORES,)):
    """Stores `vector_width` contiguous elements to a buffer in shared memory; the index of the first must be a multiple
    of that."""

    value = operand(derived("vector", _vector, "buffer", "vector_width"))
    buffer = operand(SHARED_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    vector_width = attribute(I64_ATTR)
    assembly = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($buffer)"


class LoadGlobalVector(_Vector, name="tile.load_global_vector", traits=(LOADS,)):
    """Loads `vector_width` contiguous elements of global memory; the address must be a multiple of their size."""

    buffer = operand(GLOBAL_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    vector_width = attribute(I64_ATTR)
    coalesce = attribute(BOOL_ATTR, optional=True)
    cache_policy = attribute(STRING_ATTR, optional=True)
    res = result(derived("vector", _vector, "buffer", "vector_width"))
    assembly = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"


class StoreGlobalVector(_Vector, name="tile.store_global_vector", traits=(STORES,)):
    """Stores `vector_width` contiguous elements to global memory; the address must be a multiple of their size."""

    value = operand(derived("vector", _vector, "buffer", "vector_width"))
    buffer = operand(GLOBAL_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    vector_width = attribute(I64_ATTR)
    coalesce = attribute(BOOL_ATTR, optional=True)
    cache_policy = attribute(STRING_ATTR, optional=True)
    assembly = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($buffer)"


class Prefetch(_Indexed, name="tile.prefetch", traits=(IN_ORDER,)):
    """Prefetches an element of global memory into the L2 cache."""

    buffer = operand(GLOBAL_BUFFER)
    indices = variadic_operand(exactly(INDEX))
    assembly = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def verify_op(self) -> None:
        self.check(self, self.buffer.type)


class _Slot(Op):
    """The base of moves between a fragment and a slot of shared memory with room for all threads' fragments."""

    @staticmethod
    def check(op: Spill | Reload, fragment: MemRefType) -> None:
        slot = op.slot.type
        if (
            slot.element is not fragment.element
            or slot.rank != 1
            or slot.num_elements % fragment.num_elements
        ):
            raise op.error(
                f"has the slot {slot} for {fragment}; expected a rank-1 buffer of {fragment.element} whose length is a "
                "multiple of the fragment's"
            )


class Spill(_Slot, name="tile.spill", traits=(MemoryEffects(read("value"), write("slot", reach=Reach.OWN)),)):
    """Spills a fragment to a slot in shared memory, in which each thread has its own part."""

    value = operand(FRAGMENT)
    slot = operand(SHARED_BUFFER)
    assembly = "$value `,` $slot attr-dict `:` type($value) `,` type($slot)"

    def verify_op(self) -> None:
        self.check(self, self.value.type)


class Reload(_Slot, name="tile.reload", traits=(MemoryEffects(allocate(), read("slot", reach=Reach.OWN)),)):
    """Reloads the fragment that this thread last spilled to a slot."""

    slot = operand(SHARED_BUFFER)
    res = result(FRAGMENT)
    assembly = "$slot attr-dict `:` type($slot) `->` type($res)"

    def verify_op(self) -> None:
        self.check(self, self.res.type)


class ProfileMarker(Op, name="tile.profile_marker", traits=(IN_ORDER,)):
    """Marks a point for profiling: `function_entry`, `function_exit`, `compute_start` or `compute_end`, and its
    subject."""

    kind = attribute(STRING_ATTR)
    subject = attribute(STRING_ATTR)
    assembly = "$kind `,` $subject attr-dict"


def check_cache_policy(op: Any) -> None:
    """A cache policy is one that the hardware has."""
    if op.cache_policy is not None and op.cache_policy.value not in CACHE_POLICIES:
        words = ", ".join(f'"{word}"' for word in CACHE_POLICIES)
        raise op.error(f'has cache_policy "{op.cache_policy.value}"; expected one of {words}')
