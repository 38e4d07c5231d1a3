"""Layouts of the operands and the accumulator of a product.

    the atom's row (dialects/atoms.py)  ──layouts (layout/products.py)──▶  A, B, accumulator  ──cut to the tile──▶

A tile smaller than the instruction is enlarged to its shape. Rows and columns outside the tile repeat those of the
tile, so that every thread computes an element of the tile. Elements outside the tile along K count as zero
(passes/llvm/dots.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects.atoms import MmaAtom
from tessera_tools.ir.types import bit_width
from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    fit,
    held_operand,
    mma_scales,
)

if TYPE_CHECKING:
    from tessera_tools.dialects import nv_tileas
    from tessera_tools.layout.products import ProductLayouts

Layouts = tuple[LinearLayout, LinearLayout, LinearLayout]
"""The layouts of A (…, M, K), B (…, K, N) and the accumulator (…, M, N)."""


def warp_grid(
    shape: Sequence[int], warps: int, piece: tuple[int, int] = (16, 8), along_rows: bool = False
) -> tuple[int, ...]:
    """Returns the number of warps along each axis of an accumulator (…, M, N).

    Batches come first. Each warp then computes a part of MxN that is as square as its pieces allow. Alternatively, all
    warps lie along M, if there are enough rows.
    `piece` is the smallest part that a warp computes, rows and columns.
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
            # The data that a warp reads in each k step is proportional to half the perimeter of its tile.
            if best == (left, 1) or m / along_m + n / along_n < m / best[0] + n / best[1]:
                best = (along_m, along_n)
    return (*(batch,) * len(batches), *best)


def grid_of(dot: nv_tileas.Dot | nv_tileas.AsyncDot, warps: int) -> tuple[int, ...]:
    """Returns the grid of warps over a product's accumulator. By default, it is the grid with the least traffic."""
    if dot.warps is not None:
        grid = tuple(dot.warps.values)
        if prod(grid) != warps:
            raise dot.error(f"has a grid of warps {list(grid)}, but the kernel has {warps} warps")
        return grid
    return warp_grid(dot.c.type.shape, warps, piece_of(dot.atom))


def piece_of(atom: MmaAtom) -> tuple[int, int]:
    """Returns the rows and columns of the smallest part that one warp computes."""
    m, n, _ = atom.mnk
    return (m, n) if not atom.is_fma else (8, 16)


def dot_layouts(dot: nv_tileas.Dot, warps: int) -> tuple[LinearLayout, ...]:
    """Returns the layouts of a product's operands in order: A, B, the accumulator, and the scales, if any.

    Reports an error if no instruction has the shape of the atom.
    """
    grid = grid_of(dot, warps)
    try:
        a, b, c = operand_layouts(dot.c.type.shape, dot.a.type.shape[-1], dot.atom, grid)
    except LayoutError as problem:
        raise dot.error(f"has no layout for its tiles: {problem}") from None
    if not dot.scales:
        return (a, b, c)
    return (a, b, c, *scale_layouts(dot.c.type.shape, dot.scales[0].type.shape[-1], dot.atom, grid, c))


def scale_layouts(
    shape: tuple[int, ...], blocks: int, atom: MmaAtom, grid: tuple[int, ...], accumulator: LinearLayout
) -> tuple[LinearLayout, LinearLayout]:
    """Returns the layouts of the scales of A and B, of `blocks` along K.

    They are as the instruction reads them, if it multiplies by them; otherwise, a thread has those of its sums.
    """
    *batches, m, n = shape
    if not atom.is_scaled:
        rank = len(shape)
        return (held_operand(accumulator, rank - 1, blocks), held_operand(accumulator, rank - 2, blocks))
    rows, columns, _ = atom.mnk
    whole = mma_scales((*batches, max(m, rows), max(n, columns)), blocks, grid)
    order = range(len(shape) - 1, -1, -1)
    shapes = ((*batches, m, blocks), (*batches, blocks, n))
    a, b = (fit(layout, part, order) for layout, part in zip(whole, shapes, strict=True))
    return (a, b)


def async_layouts(dot: nv_tileas.AsyncDot) -> tuple[LinearLayout, LinearLayout]:
    """Returns the layouts of A, if it is in registers, and of the accumulator of an asynchronous product.

    Reports an error if the tiles are not multiples of the instruction's shape.
    """
    grid = tuple(dot.warps.values)
    shape, k = dot.c.type.shape, dot.b.type.tile[0]
    try:
        a, _, c = layouts_of(shape, k, dot.atom, grid)
        assert a is not None
        return a, c
    except LayoutError as problem:
        raise dot.error(f"has no layout for its tiles: {problem}") from None


@lru_cache(maxsize=128)
def layouts_of(shape: tuple[int, ...], k: int, atom: MmaAtom, grid: tuple[int, ...]) -> ProductLayouts:
    """Returns the layouts of A, B and the accumulator of an instruction; None for what is in shared memory."""
    # Two elements of 4 bits are a byte of the instruction with scales.
    bits = bit_width(atom.a) if atom.is_scaled else padded_bits(atom.a)
    return atom.row.layouts(shape, k, bits, atom.mnk, grid)


@lru_cache(maxsize=128)
def operand_layouts(shape: tuple[int, ...], k: int, atom: MmaAtom, grid: tuple[int, ...]) -> Layouts:
    """Returns the layouts for an accumulator of `shape` (…, M, N) with a contracted axis of size `k`.

    If the tile is smaller than the instruction, the layouts are cut to the tile, and threads hold duplicates.
    """
    *batches, m, n = shape
    whole = fragments(shape, k, atom, grid)
    shapes = ((*batches, m, k), (*batches, k, n), shape)
    order = range(len(shape) - 1, -1, -1)
    a, b, c = (fit(layout, tile, order) for layout, tile in zip(whole, shapes, strict=True))
    return (a, b, c)


def fragments(shape: tuple[int, ...], k: int, atom: MmaAtom, grid: tuple[int, ...]) -> Layouts:
    """Same as `operand_layouts`, but a tile smaller than the instruction is enlarged to the instruction's shape."""
    a, b, c = layouts_of(shape, k, atom, grid)
    if a is None or b is None:
        raise LayoutError(f"{atom} reads an operand from shared memory")
    return (a, b, c)
