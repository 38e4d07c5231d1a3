"""Which thread holds which element of a product's operands and accumulator.

    tensor cores: the instruction's fragments (layout/atoms.py) × the grid of warps × repeats in registers
    fma:          a box of the accumulator for each thread, and of the operands what the box needs (held_operand)

A tile smaller than the instruction takes part in a larger product: rows and columns beyond it repeat those of the tile,
so that every thread computes an element of the tile; along K, what is beyond counts as zero (passes/llvm/dots.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects.atoms import MmaAtom
from tessera_tools.ir.types import Type
from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    blocked,
    fit,
    held_operand,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
    wgmma_operand_a,
)

Layouts = tuple[LinearLayout, LinearLayout, LinearLayout]
"""Of A (…, M, K), B (…, K, N) and the accumulator (…, M, N)."""
_BOX = 4
"""Rows and columns of the box of neighbors that a thread computes without tensor cores: 2 · 4 loads for 16 terms."""


def register_bits(element: Type) -> int:
    """Bits of a register that hold an operand's element: floats of 4 bits live in bytes."""
    return 8 * element_bytes(element)


def warp_grid(
    shape: Sequence[int], warps: int, piece: tuple[int, int] = (16, 8), along_rows: bool = False
) -> tuple[int, ...]:
    """Warps along each axis of an accumulator (…, M, N): over batches first, then as square a part of MxN for each warp
    as its pieces allow; or all along M, if there are rows enough.

    `piece` is the least that a warp computes, rows and columns.
    """
    *batches, m, n = shape
    batch = min(warps, prod(batches))
    left = warps // batch
    best = (left, 1)
    if not along_rows or left * piece[0] > m:
        for along_m in (1 << i for i in range(left.bit_length())):
            along_n = left // along_m
            if along_m * piece[0] > max(m, piece[0]) or along_n * piece[1] > max(n, piece[1]):
                continue
            # What a warp reads each k step is proportional to the half perimeter of its tile.
            if best == (left, 1) or m / along_m + n / along_n < m / best[0] + n / best[1]:
                best = (along_m, along_n)
    return (*(batch,) * len(batches), *best)


def grid_of(dot: Any, warps: int) -> tuple[int, ...]:
    """The grid of warps over a product's accumulator: the one that it names, else that of the least traffic."""
    if dot.warps is not None:
        grid = tuple(dot.warps.values)
        if prod(grid) != warps:
            raise dot.error(f"has a grid of warps {list(grid)}, but the kernel has {warps} warps")
        return grid
    return warp_grid(dot.c.type.shape, warps, piece_of(dot.atom))


def piece_of(atom: MmaAtom) -> tuple[int, int]:
    """Rows and columns of the least that one warp computes."""
    m, n, _ = atom.mnk
    return (m, n) if not atom.is_fma else (8, 16)


def dot_layouts(dot: Any, warps: int) -> tuple[LinearLayout, ...]:
    """The layouts of a product's operands, in their order: A, B, the accumulator, and of the scales, if any.

    An error where the atom is of no instruction's shape.
    """
    grid = grid_of(dot, warps)
    try:
        a, b, c = operand_layouts(dot.c.type.shape, dot.a.type.shape[-1], dot.atom, grid)
    except LayoutError as problem:
        raise dot.error(f"has no layout for its tiles: {problem}") from None
    if not dot.scales:
        return (a, b, c)
    rank, blocks = dot.c.type.rank, dot.scales[0].type.shape[-1]
    return (a, b, c, held_operand(c, rank - 1, blocks), held_operand(c, rank - 2, blocks))


def async_layouts(dot: Any) -> tuple[LinearLayout, LinearLayout]:
    """The layouts of A, where it is in registers, and of the accumulator of an asynchronous product.

    An error where the tiles are not made of whole instructions.
    """
    grid = tuple(dot.warps.values)
    shape, k = dot.c.type.shape, dot.b.type.tile[0]
    try:
        return (
            wgmma_operand_a((shape[0], k), register_bits(dot.atom.a), grid),
            wgmma_accumulator(shape, grid, dot.atom.mnk[1]),
        )
    except LayoutError as problem:
        raise dot.error(f"has no layout for its tiles: {problem}") from None


@lru_cache(maxsize=128)
def operand_layouts(shape: tuple[int, ...], k: int, atom: MmaAtom, grid: tuple[int, ...]) -> Layouts:
    """The layouts for an accumulator of `shape` (…, M, N) and `k` terms, cut to the tile where it is smaller than the
    instruction: threads then repeat elements."""
    if atom.is_fma:
        c = _boxes(shape, grid)
        return (held_operand(c, len(shape) - 1, k), held_operand(c, len(shape) - 2, k), c)
    *batches, m, n = shape
    whole = fragments(shape, k, atom, grid)
    shapes = ((*batches, m, k), (*batches, k, n), shape)
    order = range(len(shape) - 1, -1, -1)
    a, b, c = (fit(layout, tile, order) for layout, tile in zip(whole, shapes, strict=True))
    return (a, b, c)


@lru_cache(maxsize=128)
def fragments(shape: tuple[int, ...], k: int, atom: MmaAtom, grid: tuple[int, ...]) -> Layouts:
    """As `operand_layouts`, of the tile enlarged to the instruction where it is smaller."""
    *batches, m, n = shape
    rows, columns, depth = atom.mnk
    m, n, k = max(m, rows), max(n, columns), max(k, depth)
    bits = register_bits(atom.a)
    return (
        mma_operand_a((*batches, m, k), bits, grid, depth, rows),
        mma_operand_b((*batches, k, n), bits, grid, depth),
        mma_m16n8_accumulator((*batches, m, n), grid, rows),
    )


def _boxes(shape: tuple[int, ...], grid: tuple[int, ...]) -> LinearLayout:
    """An accumulator over threads without tensor cores: boxes of neighbors, lanes along N first."""
    *batches, m, n = shape
    each = max(1, prod(shape) // (32 * prod(grid)))
    columns = min(_BOX, n, each)
    rows = min(_BOX, m, max(1, each // columns))
    along_n = min(8, max(1, n // columns))
    along_m = min(32 // along_n, max(1, m // rows))
    along_n = 32 // along_m
    ones = [1] * len(batches)
    order = list(range(len(shape) - 1, -1, -1))
    return blocked(shape, [*ones, rows, columns], [*ones, along_m, along_n], grid, order)
