"""The storage size of elements in bits and bytes."""

from __future__ import annotations

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import FloatType, IntegerType, stored_bits


def storage_bits(element: Type) -> int:
    """Returns the bits that an element takes in memory. An i1 takes a byte, a tf32 four bytes, a pointer eight bytes.

    Raises Refusal if the type is neither a number nor a pointer.
    """
    if isinstance(element, IntegerType | FloatType):
        return stored_bits(element)
    if isinstance(element, PointerType):
        return 64
    raise Refusal(f"{element} has no size in memory")


def element_bytes(element: Type) -> int:
    """The size of an element in registers and in shared memory, in whole bytes, even if several elements share a
    byte of global memory."""
    return max(8, storage_bits(element)) // 8


def padded_bits(element: Type) -> int:
    """Returns the bits that a single element takes: whole bytes, also for 4-bit floats."""
    return 8 * element_bytes(element)
