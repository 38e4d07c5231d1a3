"""Tensor memory: 128 lanes of columns of 32 bits, and the registers of warps that load and store it.

    (lane, column) ──accumulator()──▶ (row, column of D)             where tcgen05.mma leaves D
    (part, lane, column) ──operand()──▶ (row, K of A)                where tcgen05.mma reads A; elements share a column
    (register, lane, warp) ──loaded()──▶ (row, column of D)          what tcgen05.ld gives the threads, and .st takes

    128 rows    a lane for each row; rows 128 and on follow in further columns
                tcgen05.ld.32x32b: a thread has a row, and its registers are columns
    64 rows     lanes 0 to 15 of each 32; the others are not used
                tcgen05.ld.16x256b: the registers of an accumulator of wgmma

A warp accesses the 32 lanes of its number modulo 4 only.  PTX ISA, "Tensor Memory", "tcgen05.ld", "Data path layout
organization".
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.layout.distributed import wgmma_accumulator
from tessera_tools.layout.linear import LayoutError, LinearLayout

LANES = 128
"""Lanes of tensor memory."""
WARP_LANES = 32
"""Lanes that a warp can access."""


def accumulator(shape: Sequence[int], m: int) -> LinearLayout:
    """Returns which element of a tile (M, N) of 32-bit sums each (lane, column) holds, for instructions of `m` rows.

    Raises LayoutError unless the tile has whole instructions along M.
    """
    rows, columns = _checked(shape, m)
    if m == LANES:
        lanes = _powers(LANES, 0)
    else:
        # Lane 16 is not used.
        lanes = [(1, 0), (2, 0), (4, 0), (8, 0), (0, 0), (16, 0), (32, 0)]
    along = [*_powers(columns, 1), *((step * m, 0) for step in _steps(rows // m))]
    return LinearLayout({"lane": lanes, "column": along}, [("dim0", rows), ("dim1", columns)])


def operand(shape: Sequence[int], m: int, bits: int) -> LinearLayout:
    """Returns which element of a tile (M, K) of elements of so many bits each (part, lane, column) holds, for
    instructions of `m` rows; part 0 is in the low bits.

    Raises LayoutError unless the tile has whole instructions along M, and whole columns.
    """
    whole = accumulator(shape, m)
    parts = len(_steps(32 // bits))
    along = whole.bases["column"]
    if shape[1] * bits % 32:
        raise LayoutError(f"rows of {shape[1]} elements of {bits} bits are no whole columns of 32 bits")
    bases = {"part": along[:parts], "lane": whole.bases["lane"], "column": along[parts:]}
    return LinearLayout(bases, whole.outs)


def loaded(shape: Sequence[int], m: int, warps: Sequence[int]) -> LinearLayout:
    """Returns the layout of a tile (M, N) of sums in the registers of warps; `warps` is (4 · warpgroups along M,
    warpgroups along N).

    Raises LayoutError unless the tile has whole instructions along M, and can be divided among the warps.
    """
    rows, columns = _checked(shape, m)
    if len(warps) != 2 or warps[0] % 4 or rows % (warps[0] // 4 * m) or columns % warps[1]:
        raise LayoutError(
            f"a tile {rows}x{columns} of sums cannot be divided among warps {list(warps)}; expected (4·i, j), with "
            f"{m} rows for each i"
        )
    if m != LANES:
        if warps[0] != 4 or rows != m:
            raise LayoutError(f"a tile of {rows} rows is not one instruction of {m} rows")
        return wgmma_accumulator(shape, warps)
    along_m, along_n = warps[0] // 4, warps[1]
    part = rows // along_m
    registers = [*_powers(columns // along_n, 1), *((step * m, 0) for step in _steps(part // m))]
    groups = [(step * part, 0) for step in _steps(along_m)]
    groups += [(0, step * (columns // along_n)) for step in _steps(along_n)]
    bases = {
        "register": registers,
        "lane": _powers(WARP_LANES, 0),
        "warp": [(32, 0), (64, 0), *groups],
        "block": [],
    }
    return LinearLayout(bases, [("dim0", rows), ("dim1", columns)])


def _checked(shape: Sequence[int], m: int) -> tuple[int, int]:
    if len(shape) != 2 or m not in (64, LANES) or shape[0] % m:
        raise LayoutError(f"a tile of shape {list(shape)} has no whole instructions of {m} rows")
    return shape[0], shape[1]


def _steps(count: int) -> list[int]:
    """1, 2, 4 and so on, below a power of two."""
    return [1 << bit for bit in range(count.bit_length() - 1)]


def _powers(count: int, axis: int) -> list[tuple[int, int]]:
    return [(step, 0) if axis == 0 else (0, step) for step in _steps(count)]
