"""Tensor memory: 128 lanes of columns of 32 bits, and the registers of warps that load and store it.

    (lane, column) ──accumulator()──▶ (row, column of D)             where tcgen05.mma leaves D
    (part, lane, column) ──operand()──▶ (row, K of A)                where tcgen05.mma reads A; elements share a column
    (part, lane, column) ──scale_factors()──▶ (row, block of K)      factors of blocks, four of a row in a column
    offset ──scale_atoms()──▶ (row, block of K)                      their order in shared memory, from which
                                                                     tcgen05.cp copies them
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


def operand(shape: Sequence[int], m: int, bits: int, step: int = 0) -> LinearLayout:
    """Returns which element of a tile (M, K) of elements of so many bits each (part, lane, column) holds, for
    instructions of `m` rows; part 0 is in the low bits.  The rows of each further instruction follow `step` columns
    after those of the one before, or directly.

    Raises LayoutError unless the tile has whole instructions along M, and whole columns.
    """
    whole = accumulator(shape, m)
    parts = len(_steps(32 // bits))
    along = whole.bases["column"]
    if shape[1] * bits % 32:
        raise LayoutError(f"rows of {shape[1]} elements of {bits} bits are no whole columns of 32 bits")
    inside, rows = along[parts : len(_steps(shape[1]))], along[len(_steps(shape[1])) :]
    gaps = [(0, 0)] * max(0, len(_steps(step)) - len(inside)) if step and rows else []
    bases = {"part": along[:parts], "lane": whole.bases["lane"], "column": [*inside, *gaps, *rows]}
    return LinearLayout(bases, whole.outs)


def scale_factors(shape: Sequence[int], axis: int, width: int) -> LinearLayout:
    """Returns which factor of a tile of 8-bit factors each (part, lane, column) holds; the rows of A or columns of B
    are along `axis`, and an instruction has `width` of them.

    Each 32 lanes hold the same: a lane a row, rows 32 and on in further columns, and up to four blocks in a column (PTX
    ISA, "Scale Factor A Layout").  Factors are repeated where there are fewer than four blocks.
    """
    along, blocks = _powers(shape[axis], axis), _powers(shape[1 - axis], 1 - axis)
    none = (0, 0)
    inside = min(len(along), len(_steps(width)))
    bases = {
        "part": [*blocks[:2], none, none][:2],
        "lane": [*along[:5], *[none] * 7][:7],
        "column": [*along[5:inside], *blocks[2:], *along[max(5, inside) :]],
    }
    return LinearLayout(bases, [("dim0", shape[0]), ("dim1", shape[1])])


ATOM = (128, 4)
"""Rows, and blocks of each, of the factors that tcgen05.cp.32x128b.warpx4 copies."""


def scale_atoms(shape: Sequence[int], axis: int) -> LinearLayout:
    """Returns the order of 8-bit factors in shared memory from which tcgen05.cp.32x128b.warpx4 copies them: atoms of
    128 rows of four blocks each, as 32 rows of 16 bytes with rows 32, 64 and 96 on beside them (cuBLAS, "1D Block
    Scaling Factors Layout").

    Raises LayoutError unless the tile has whole atoms.
    """
    if not has_atoms(shape, axis):
        raise LayoutError(f"a tile of factors of shape {list(shape)} has no whole atoms of {list(ATOM)}")
    along, blocks = _powers(shape[axis], axis), _powers(shape[1 - axis], 1 - axis)
    order = [*blocks[:2], *along[5:7], *along[:5], *blocks[2:], *along[7:]]
    return LinearLayout({"offset": order}, [("dim0", shape[0]), ("dim1", shape[1])])


def has_atoms(shape: Sequence[int], axis: int) -> bool:
    """Whether a tile of factors has whole atoms, with rows of A or columns of B along `axis`."""
    rows, blocks = ATOM
    return shape[axis] % rows == 0 and shape[1 - axis] % blocks == 0


def are_atoms(layout: LinearLayout, axis: int) -> bool:
    """Whether a layout of factors in shared memory has whole atoms, in any order."""
    shape = [size for _, size in layout.outs]
    if len(shape) != 2 or not has_atoms(shape, axis):
        return False
    inside = len(_steps(ATOM[0] * ATOM[1]))
    return layout.bases["offset"][:inside] == scale_atoms(shape, axis).bases["offset"][:inside]


def repeated(layout: LinearLayout, warps: int) -> LinearLayout:
    """Returns the layout of a tile in registers where each warp holds what 32 lanes of tensor memory do."""
    bases = {
        "register": [*layout.bases["part"], *layout.bases["column"]],
        "lane": layout.bases["lane"][:5],
        "warp": [(0, 0)] * len(_steps(warps)),
        "block": [],
    }
    return LinearLayout(bases, layout.outs)


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
