"""The fragment layout of each instruction: the element that each register of each lane holds.

Nearly all fragments have the same structure (PTX ISA, "Matrix Fragments for mma.m16n8kX"). A group of four lanes
holds a row. Each lane has one 32-bit register of adjacent elements. With 16-bit elements, it holds two of them:

    row 0    T0 T0 | T1 T1 | T2 T2 | T3 T3        lane bits 0, 1: along the row (threadID_in_group)
    row 1    T4 T4 | T5 T5 | T6 T6 | T7 T7        lane bits 2, 3, 4: the row (groupID)
     …
    row 7    T28T28| T29T29| T30T30| T31T31

Every function returns the fragment of one instruction for one warp (wgmma: one warpgroup). The inputs are `register`,
`lane` (and `warp`); the outputs are `row` and `col`. `distributed` repeats fragments over a tile.
A register index counts elements in PTX order a0, a1, …. Elements that share a 32-bit register are adjacent.
"""

from __future__ import annotations

from tessera_tools.layout.f2 import is_power_of_two, log2
from tessera_tools.layout.linear import Basis, LayoutError, LinearLayout

ROW, COL = "row", "col"


def _packed(element_bits: int) -> int:
    """Returns the number of elements in a 32-bit register; 1 for wider elements."""
    if element_bits not in (4, 8, 16, 32, 64):
        raise LayoutError(f"an mma fragment of {element_bits}-bit elements, expected 4, 8, 16, 32 or 64 bits")
    return max(1, 32 // element_bits)


def _fragment_k(element_bits: int, k: int | None) -> int:
    default = 4 * _packed(element_bits) * (1 if element_bits == 64 else 2)
    chosen = default if k is None else k
    if not is_power_of_two(chosen) or chosen < 4 * _packed(element_bits):
        raise LayoutError(
            f"mma with k = {chosen} for {element_bits}-bit elements, expected a power of two from "
            f"{4 * _packed(element_bits)} up"
        )
    return chosen


def _rows(rows: int) -> list[Basis]:
    """Returns the register bit that selects row groupID or groupID + 8, if the instruction has both."""
    if rows not in (8, 16):
        raise LayoutError(f"mma with {rows} rows, expected 8 or 16")
    return [(8, 0)] if rows == 16 else []


def mma_a(element_bits: int, k: int | None = None, rows: int = 16) -> LinearLayout:
    """Operand A of mma.sync m`rows`n8k`k`, rows × k, row = m, col = k.

    The default k is 64, 32, 16, 8, 4 for 4-, 8-, 16-, 32-, 64-bit elements. Instructions also exist for half of it,
    and for f64 for twice and four times it. With 8 rows, they are m8n8k4 for f64, m8n8k16 for 8 bits and m8n8k32 for
    4 bits.
    Source: PTX ISA, Matrix Fragments for mma.m8n8k4 with .f64, mma.m16n8k4/k8/k16/k32/k64.
    """
    packed, k = _packed(element_bits), _fragment_k(element_bits, k)
    register: list[Basis] = [(0, 1 << bit) for bit in range(log2(packed))]
    register += _rows(rows)
    register += [(0, 4 * packed << bit) for bit in range(log2(k // (4 * packed)))]
    lane: list[Basis] = [(0, packed), (0, 2 * packed), (1, 0), (2, 0), (4, 0)]
    return LinearLayout({"register": register, "lane": lane}, {ROW: rows, COL: k})


def mma_b(element_bits: int, k: int | None = None) -> LinearLayout:
    """Operand B of mma.sync m8n8k`k` and m16n8k`k`, k × 8, row = k, col = n. `k` and source as for `mma_a`."""
    packed, k = _packed(element_bits), _fragment_k(element_bits, k)
    register: list[Basis] = [(1 << bit, 0) for bit in range(log2(packed))]
    register += [(4 * packed << bit, 0) for bit in range(log2(k // (4 * packed)))]
    lane: list[Basis] = [(packed, 0), (2 * packed, 0), (0, 1), (0, 2), (0, 4)]
    return LinearLayout({"register": register, "lane": lane}, {ROW: k, COL: 8})


def mma_scale_a(count: int) -> LinearLayout:
    """Scales of A of mma.sync m16n8k*, 16 × count, of thread-id-a 0; `count` blocks along K are bytes of a register.

    Two lanes of a quad hold those of rows groupID and groupID + 8. The others hold the same, and are not read.
    Source: PTX ISA, "Block Scaling for mma.sync".
    """
    register: list[Basis] = [(0, 1 << bit) for bit in range(log2(count))]
    lane: list[Basis] = [(8, 0), (0, 0), (1, 0), (2, 0), (4, 0)]
    return LinearLayout({"register": register, "lane": lane}, {ROW: 16, COL: count})


def mma_scale_b(count: int) -> LinearLayout:
    """Scales of B of mma.sync m16n8k*, count × 8, of thread-id-b 0: the first lane of a quad holds those of column
    groupID, and the others the same. Source as for `mma_scale_a`."""
    register: list[Basis] = [(1 << bit, 0) for bit in range(log2(count))]
    lane: list[Basis] = [(0, 0), (0, 0), (0, 1), (0, 2), (0, 4)]
    return LinearLayout({"register": register, "lane": lane}, {ROW: count, COL: 8})


def mma_accumulator(rows: int = 16) -> LinearLayout:
    """C and D of mma.sync m`rows`n8k*: c0, c1 in row groupID, c2, c3 in row groupID + 8, for any element width."""
    return LinearLayout(
        {"register": [(0, 1), *_rows(rows)], "lane": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]},
        {ROW: rows, COL: 8},
    )


def wgmma_accumulator_atom(n: int) -> LinearLayout:
    """D of wgmma.mma_async m64n`n`k*, 64 × n over the four warps of a warpgroup.

    Warp w holds rows 16w to 16w + 15. Every eight columns are one m16n8 accumulator. Source: PTX ISA, Register
    Fragments, accumulator D of wgmma.mma_async.m64nNk16. Requires n to be a power of two from 8 to 256. The
    instruction also has other multiples of 8, but they cannot form a tile with a power-of-two shape.
    """
    if not is_power_of_two(n) or not 8 <= n <= 256:
        raise LayoutError(f"wgmma with n = {n}, expected a power of two from 8 to 256")
    columns = LinearLayout.identity_1d(n // 8, "register", COL)
    return mma_accumulator() * columns * LinearLayout.identity_1d(4, "warp", ROW)


def wgmma_a(element_bits: int) -> LinearLayout:
    """Operand A of wgmma.mma_async from registers, 64 × (256 / element_bits): `mma_a` for each of four warps."""
    if element_bits not in (8, 16, 32):
        raise LayoutError(f"wgmma on {element_bits}-bit elements, expected 8, 16 or 32 bits")
    return mma_a(element_bits) * LinearLayout.identity_1d(4, "warp", ROW)
