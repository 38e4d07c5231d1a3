"""Shared memory that ops with effects need while they run.

heap_alloc   the address, which one thread passes to all threads
print        a part of the tile, which one thread prints in row-major order
assert       a part of the tile of conditions; one thread reports the false ones
atomic_…     the old values, for threads of other warps that hold the same elements
cluster_reduce   the values that the threads of other CTAs read
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import RankedTensorType

ADDRESS_BYTES = 8
PART_BYTES = 8192
"""Bytes of a tile that one thread reads at a time."""


def part_elements(type: RankedTensorType) -> int:
    """Returns the number of elements of a tile that one thread reads at a time."""
    return min(type.num_elements, PART_BYTES // element_bytes(type.element))


def _seen_bytes(values: Sequence[Value]) -> int:
    """Returns the bytes of the largest part of a tile among `values` that one thread reads."""
    tiles = [value.type for value in values if isinstance(value.type, RankedTensorType)]
    return max((part_elements(type) * element_bytes(type.element) for type in tiles), default=0)


def effect_bytes(op: Any) -> int:
    """Returns the bytes of scratch that an op needs; 0 if it needs none."""
    if isinstance(op, nv_tileaa.HeapAlloc):
        return ADDRESS_BYTES
    if isinstance(op, nv_tileaa.Print | nv_tileaa.Assert):
        return _seen_bytes(op.operands)
    return _returned_bytes(op.res)


def _returned_bytes(result: Value) -> int:
    """Returns the bytes of values that one thread passes to other warps. Within a warp, shuffles pass them."""
    type = result.type
    if not result.has_uses:
        return 0
    if not isinstance(type, RankedTensorType):
        return element_bytes(type)
    is_shared = layout_of(type).free_variable_masks().get("warp", 0)
    return type.num_elements * element_bytes(type.element) if is_shared else 0


class ExchangePlace(NamedTuple):
    """Where the threads of a CTA put what others read: a register at `offset` + thread · bytes, the next `step` after
    it.  A number is the same in all threads, and is there once."""

    offset: int
    registers: int
    step: int


def exchange_places(op: nv_tileas.ClusterReduce) -> list[ExchangePlace]:
    """The places of each operand of an exchange between CTAs, in bytes from the start of its scratch."""
    found: list[ExchangePlace] = []
    offset = 0
    for value in op.sources:
        type: Any = value.type
        if isinstance(type, RankedTensorType):
            layout = layout_of(type)
            threads = layout.in_size("lane") * layout.in_size("warp")
            place = ExchangePlace(offset, layout.in_size("register"), threads * element_bytes(type.element))
        else:
            place = ExchangePlace(offset, 1, 16)
        found.append(place)
        offset += -(-place.registers * place.step // 16) * 16
    return found
