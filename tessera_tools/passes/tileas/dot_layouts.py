"""Which thread holds which element of a dot's operands and accumulator."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
)


def warp_grid(m: int, n: int, warps: int) -> tuple[int, int]:
    """Warps along M and N for an MxN accumulator: as square a warp tile as the instruction's 16x8 allows."""
    best = (warps, 1)
    for along_m in (1 << i for i in range(warps.bit_length())):
        along_n = warps // along_m
        if along_m * along_n != warps or along_m * 16 > max(m, 16) or along_n * 8 > max(n, 8):
            continue
        tile_m, tile_n = m / along_m, n / along_n
        old_m, old_n = m / best[0], n / best[1]
        # What a warp reads each k step is proportional to the half perimeter of its tile.
        if best == (warps, 1) or tile_m + tile_n < old_m + old_n:
            best = (along_m, along_n)
    return best


def dot_layouts(dot: Any, warps: int) -> tuple[LinearLayout, LinearLayout, LinearLayout]:
    """The layouts of A, B and the accumulator of a dot."""
    a, b, c = dot.a.type, dot.b.type, dot.c.type
    m, n = c.shape
    if dot.atom.shape == "fma":
        raise dot.error(
            f"multiplies {a.element} tiles of {m}x{a.shape[1]} by {b.shape[0]}x{n}, which no tensor core instruction "
            "of this version serves; use f16, bf16 or tf32 operands with f32 accumulation and tiles of at least 16x8x16"
        )
    try:
        return mma_layouts(m, n, a.shape[1], storage_bits(dot.atom.a), warps)
    except LayoutError as problem:
        raise dot.error(f"has no mma layout for its tiles: {problem}") from None


@lru_cache(maxsize=64)
def mma_layouts(
    m: int, n: int, k: int, bits: int, warps: int
) -> tuple[LinearLayout, LinearLayout, LinearLayout]:
    """The layouts of A (MxK), B (KxN) and the accumulator for m16n8 instructions; `bits` an operand element has.
    LayoutError where a tile is smaller than the instruction."""
    grid = warp_grid(m, n, warps)
    return (
        mma_operand_a((m, k), bits, grid),
        mma_operand_b((k, n), bits, grid),
        mma_m16n8_accumulator((m, n), grid),
    )
