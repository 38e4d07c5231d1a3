"""Layouts of the operands and the accumulator of a matrix product, for each kind of instruction.

    mma     the instruction's fragments (atoms.py) × the grid of warps × repeats in registers
    wgmma   A in registers and the accumulator, a warpgroup for each 64 rows
    umma    the accumulator as warps load it from tensor memory (tensor_memory.py)
    fma     a box of the accumulator for each thread, and the operand elements that the box needs (held_operand)

Each function takes the shape (…, M, N) of the accumulator, the size K of the contracted axis, the bits of an operand's
element, the instruction's (m, n, k), and the grid of warps over the accumulator. It returns the layouts of A (…, M, K),
B (…, K, N) and the accumulator (…, M, N). None is an operand that the instruction reads from shared memory. Tiles
smaller than the instruction are enlarged to its shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.layout.distributed import (
    blocked,
    held_operand,
    mma_m16n8_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
    wgmma_operand_a,
)
from tessera_tools.layout.linear import LinearLayout
from tessera_tools.layout.tensor_memory import loaded

ProductLayouts = tuple[LinearLayout | None, LinearLayout | None, LinearLayout]
"""The layouts of A, B and the accumulator."""
MNK = tuple[int, int, int]
_BOX = 4
"""Rows and columns of the box of neighbors that a thread computes without tensor cores: 2 · 4 loads for 16 terms."""


def mma_layouts(
    shape: Sequence[int], k: int, element_bits: int, mnk: MNK, warps: Sequence[int]
) -> ProductLayouts:
    """Returns the layouts of mma.sync."""
    *batches, m, n = shape
    rows, columns, depth = mnk
    m, n, k = max(m, rows), max(n, columns), max(k, depth)
    return (
        mma_operand_a((*batches, m, k), element_bits, warps, depth, rows),
        mma_operand_b((*batches, k, n), element_bits, warps, depth),
        mma_m16n8_accumulator((*batches, m, n), warps, rows),
    )


def wgmma_layouts(
    shape: Sequence[int], k: int, element_bits: int, mnk: MNK, warps: Sequence[int]
) -> ProductLayouts:
    """Returns the layouts of wgmma.mma_async. A has one if it is in registers; B is in shared memory.

    Raises LayoutError unless the tile is a multiple of the instruction's shape.
    """
    return (
        wgmma_operand_a((shape[0], k), element_bits, warps),
        None,
        wgmma_accumulator(shape, warps, mnk[1]),
    )


def umma_layouts(
    shape: Sequence[int], k: int, element_bits: int, mnk: MNK, warps: Sequence[int]
) -> ProductLayouts:
    """Returns the layouts of tcgen05.mma: the accumulator as registers that a grid of warps loads; A and B are in
    shared memory.

    Raises LayoutError unless the tile is a multiple of the instruction's shape.
    """
    return (None, None, loaded(shape, mnk[0], warps))


def fma_layouts(
    shape: Sequence[int], k: int, element_bits: int, mnk: MNK, warps: Sequence[int]
) -> ProductLayouts:
    """Returns the layouts without tensor cores. A thread has a box of the accumulator; lanes lie along N first."""
    *batches, m, n = shape
    # Within the part of a warp: lanes beyond it would compute what those of another warp do.
    m, n = max(1, m // warps[-2]), max(1, n // warps[-1])
    each = max(1, m * n // 32)
    columns = min(_BOX, n, each)
    rows = min(_BOX, m, max(1, each // columns))
    along_n = min(8, max(1, n // columns))
    along_m = min(32 // along_n, max(1, m // rows))
    along_n = 32 // along_m
    ones = [1] * len(batches)
    order = list(range(len(shape) - 1, -1, -1))
    c = blocked(shape, [*ones, rows, columns], [*ones, along_m, along_n], warps, order)
    return (held_operand(c, len(shape) - 1, k), held_operand(c, len(shape) - 2, k), c)
