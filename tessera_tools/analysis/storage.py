"""How many bits or bytes an element takes in memory."""

from __future__ import annotations

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import FloatType, IntegerType, stored_bits


def storage_bits(element: Type) -> int:
    """Bits that an element takes in memory: an i1 takes a byte, a tf32 four, a pointer eight.

    Refusal for what is no number and no pointer.
    """
    if isinstance(element, IntegerType | FloatType):
        return stored_bits(element)
    if isinstance(element, PointerType):
        return 64
    raise Refusal(f"{element} has no size in memory")


def element_bytes(element: Type) -> int:
    """Bytes that an element takes by itself, in registers and in shared memory: whole ones, also where several share a
    byte of global memory."""
    return max(8, storage_bits(element)) // 8
