"""Which products of `tile` are wgmma: of factors in buffers with a swizzle of the hardware, or of A in a fragment."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.fragments import Fragments, is_fragment
from tessera_tools.dialects import memref, tile
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F32, FloatType
from tessera_tools.passes.tile.copies import swizzle_bytes
from tessera_tools.passes.tile.instruction_names import ROWS, WARPGROUP, warpgroup_instruction
from tessera_tools.target import Feature, Target

MOST_ACCUMULATOR = 128
"""The most registers of a thread that the sums of wgmma take: with more, a thread has none left for the rest."""
_SWIZZLES = (32, 64, 128)


def by_warpgroups(op: Any, fragments: Fragments, target: Target) -> str | None:
    """The wgmma instruction that a product becomes; None if it becomes mma.sync."""
    if isinstance(op, tile.Wmma) or not target.has(Feature.WGMMA):
        return None
    m, n = fragments.shape(op.res)
    threads, element = fragments.threads, op.lhs.type.element
    if threads % WARPGROUP or m % (ROWS * threads // WARPGROUP) or m * n > MOST_ACCUMULATOR * threads:
        return None
    if isinstance(element, FloatType) and element.width == 8 and op.res.type.element is F32:
        return None  # The tensor cores add such products with about 14 bits.
    if not all(is_fragment(value) or swizzle_of(value) in _SWIZZLES for value in (op.lhs, op.rhs)):
        return None
    return warpgroup_instruction(op, fragments)


def swizzle_of(value: Value) -> int:
    """The bytes of the swizzle of a buffer in shared memory, or of the one that a stage is of; 0 without one."""
    made = value.defining_op
    while isinstance(made, memref.SubView):
        made = made.source.defining_op
    return swizzle_bytes(made) if isinstance(made, tile.AllocShared) else 0
