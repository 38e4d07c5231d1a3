"""Which products of `tile` are wgmma: of factors in buffers with a swizzle of the hardware, or of A in a fragment."""

from __future__ import annotations

from tessera_tools.analysis.fragments import Fragments, is_fragment
from tessera_tools.dialects import tile
from tessera_tools.dialects.tile.compute import Product
from tessera_tools.ir.types import F32, FloatType
from tessera_tools.passes.tile.instruction_names import ROWS, WARPGROUP, warpgroup_instruction
from tessera_tools.passes.tile.swizzles import swizzle_of
from tessera_tools.target import Feature, Target

MOST_ACCUMULATOR = 96
"""The most registers of a thread that the sums of wgmma take: they stay in place, and two fragments of 128 spill."""
_SWIZZLES = (32, 64, 128)


def by_warpgroups(op: Product, fragments: Fragments, target: Target) -> str | None:
    """The wgmma instruction that a product becomes; None if it becomes mma.sync.

    Buffers that are parameters of a function, which cannot be compiled alone, are taken to be as wgmma needs them.
    """
    if isinstance(op, tile.Wmma) or not target.has(Feature.WGMMA):
        return None
    element = op.lhs.type.element
    if isinstance(element, FloatType) and element.width == 8 and op.res.type.element is F32:
        return None  # The tensor cores add such products with about 14 bits.
    swizzles = [swizzle_of(value) for value in (op.lhs, op.rhs) if not is_fragment(value)]
    if None not in swizzles:
        m, n = fragments.shape(op.res)
        threads = fragments.threads
        if threads % WARPGROUP or m % (ROWS * threads // WARPGROUP) or m * n > MOST_ACCUMULATOR * threads:
            return None
    if not all(swizzle is None or swizzle in _SWIZZLES for swizzle in swizzles):
        return None
    return warpgroup_instruction(op, fragments)
