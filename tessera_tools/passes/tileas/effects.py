"""Shared memory that ops with effects need while they run.

heap_alloc   the address that one thread gets, for all threads
print        the tiles that one thread prints, one behind the other, in row-major order
assert       the tile of conditions, of which one thread reports those that are false
atomic_…     what was in memory, for threads of other warps that hold the same elements
"""

from __future__ import annotations

from math import prod
from typing import Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import RankedTensorType, Type

ADDRESS_BYTES = 8
_ALIGNMENT = 16
"""Bytes to which the tiles of a print are aligned, for the widest stores."""


def element_bytes(type: Type) -> int:
    """Bytes that an element takes in shared memory."""
    return ADDRESS_BYTES if isinstance(type, PointerType) else max(8, storage_bits(type)) // 8


def tile_bytes(type: RankedTensorType) -> int:
    """Bytes of a tile in shared memory, so that what follows is aligned."""
    return -(-prod(type.shape) * element_bytes(type.element) // _ALIGNMENT) * _ALIGNMENT


def printed_offsets(op: nv_tileaa.Print) -> tuple[dict[int, int], int]:
    """({number of an argument that is a tile: its byte offset in the scratch}, bytes of all)."""
    offsets: dict[int, int] = {}
    end = 0
    for number, value in enumerate(op.args):
        if isinstance(value.type, RankedTensorType):
            offsets[number] = end
            end += tile_bytes(value.type)
    return offsets, end


def effect_bytes(op: Any) -> int:
    """Bytes of scratch that an op needs; 0 for none."""
    if isinstance(op, nv_tileaa.HeapAlloc):
        return ADDRESS_BYTES
    if isinstance(op, nv_tileaa.Print):
        return printed_offsets(op)[1]
    if isinstance(op, nv_tileaa.Assert):
        type = op.condition.type
        return tile_bytes(type) if isinstance(type, RankedTensorType) else 0
    return _returned_bytes(op.res)


def _returned_bytes(result: Value) -> int:
    """Bytes for what one thread gives to others; within a warp, shuffles do."""
    type = result.type
    if not result.has_uses:
        return 0
    if not isinstance(type, RankedTensorType):
        return element_bytes(type)
    return tile_bytes(type) if layout_of(type).free_variable_masks().get("warp", 0) else 0
