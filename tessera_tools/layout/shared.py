"""Layouts of tiles in shared memory, and the choice of a swizzle.

Why swizzle: a row of 64 16-bit elements takes 128 bytes, which is each of the 32 banks once. In a row-major tile of
such rows, every column of 16-byte chunks is in one group of four banks. A read of a row has no bank conflict. A read
of eight rows at one column takes eight wavefronts:

    chunk      0  1  2  3  4  5  6  7             after chunk ^= row
    row 0      0  1  2  3  4  5  6  7             0  1  2  3  4  5  6  7
    row 1      0  1  2  3  4  5  6  7   banks     1  0  3  2  5  4  7  6
    row 2      0  1  2  3  4  5  6  7   ÷ 4       2  3  0  1  6  7  4  5
     …         (a column: one bank group)          … (a column: all eight)

A memory layout maps `offset` (in elements) to the tile's dimensions. A staged layout also maps `stage` to `stage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tessera_tools.layout.access import (
    MAX_VECTOR_BITS,
    BankCount,
    MatrixAccess,
    VectorAccess,
    matrix_access,
    vector_access,
    vector_cost,
)
from tessera_tools.layout.cute import Swizzle
from tessera_tools.layout.distributed import dims_of
from tessera_tools.layout.f2 import Elimination, extend, independent, intersection, log2
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.records import dataclass

WAVEFRONT_BITS = 32 * 32
"""What a wavefront moves at most: a word of each bank."""

# The swizzle modes of TMA tensor maps and of wgmma's and tcgen05's matrix descriptors, on byte addresses: 16-byte
# chunks (M = 4), xored with the number of the 128-byte line (S = 3); of 32 bytes (M = 5) with an atomicity of 32 bytes,
# which 128 bytes may have. Source: PTX ISA, Tensor Swizzling Modes.
SWIZZLE_NONE = Swizzle(0, 4, 3)
SWIZZLE_32B = Swizzle(1, 4, 3)
SWIZZLE_64B = Swizzle(2, 4, 3)
SWIZZLE_128B = Swizzle(3, 4, 3)
SWIZZLE_128B_ATOM_32B = Swizzle(2, 5, 2)
ATOMICITY, WIDE_ATOMICITY = 16, 32
"""Bytes of a chunk, in all modes and in the one of 128 bytes alone."""
SWIZZLE_MODES = {0: SWIZZLE_NONE, 32: SWIZZLE_32B, 64: SWIZZLE_64B, 128: SWIZZLE_128B}
LINE_BITS = 1024  # one line of all banks: 32 × 4 bytes
# Byte addresses of a swizzled buffer are aligned to its pattern: 8 lines of the mode's width. TMA requires 128 bytes
# without a swizzle (PTX ISA, "cp.async.bulk.tensor").
SWIZZLE_ALIGNMENT = {0: 128, 32: 256, 64: 512, 128: 1024}


def row_major(shape: Sequence[int], order: Sequence[int] | None = None) -> LinearLayout:
    """Returns `offset` → tile without padding or swizzle. `order` lists the axes, fastest first (default: the last)."""
    return _row_major(tuple(shape), _axes(shape, order))


def _axes(shape: Sequence[int], order: Sequence[int] | None) -> tuple[int, ...]:
    return tuple(order) if order is not None else tuple(range(len(shape) - 1, -1, -1))


@lru_cache(maxsize=512)
def _row_major(shape: tuple[int, ...], axes: tuple[int, ...]) -> LinearLayout:
    if sorted(axes) != list(range(len(shape))):
        raise LayoutError(f"order {list(axes)} is not a permutation of the axes of {list(shape)}")
    result = LinearLayout({"offset": []}, {})
    for axis in axes:
        result *= LinearLayout.identity_1d(shape[axis], "offset", f"dim{axis}")
    return result.transpose_outs(dims_of(len(shape)))


def swizzled(
    shape: Sequence[int],
    element_bits: int,
    order: Sequence[int] | None = None,
    swizzle_bytes: int = 128,
    atomicity: int = ATOMICITY,
) -> LinearLayout:
    """Returns `offset` → tile in one of the hardware's swizzle modes: 0, 32, 64 or 128 bytes, the last one also with an
    atomicity of 32 bytes.

    Rows (along `order[0]`) longer than the mode's width are split. The tile is then a sequence of panels, each as wide
    as the mode and as high as the tile, as in TMA boxes and wgmma descriptors. Within a panel, the index of the chunk
    of `atomicity` bytes is xored with the 128-byte line. Mode 0 is row-major without swizzle. Raises `LayoutError` for
    other modes, and if a row is narrower than the mode.
    """
    if swizzle_bytes not in SWIZZLE_MODES:
        raise LayoutError(f"swizzle of {swizzle_bytes} bytes, expected one of {sorted(SWIZZLE_MODES)}")
    if atomicity != ATOMICITY and (atomicity, swizzle_bytes) != (WIDE_ATOMICITY, 128):
        raise LayoutError(
            f"swizzle of {swizzle_bytes} bytes with an atomicity of {atomicity} bytes, expected {ATOMICITY} bytes"
        )
    return _swizzled(tuple(shape), element_bits, _axes(shape, order), swizzle_bytes, atomicity)


@lru_cache(maxsize=512)
def _swizzled(
    shape: tuple[int, ...], element_bits: int, axes: tuple[int, ...], swizzle_bytes: int, atomicity: int
) -> LinearLayout:
    plain = _row_major(shape, axes)
    if swizzle_bytes == 0:
        return plain
    width = swizzle_bytes * 8 // element_bits
    if shape[axes[0]] < width:
        raise LayoutError(
            f"swizzle of {swizzle_bytes} bytes needs rows of at least {width} elements, found {shape[axes[0]]}"
        )
    panel_shape = [width if axis == axes[0] else size for axis, size in enumerate(shape)]
    panels = LinearLayout.identity_1d(shape[axes[0]] // width, "offset", f"dim{axes[0]}")
    panel = row_major(panel_shape, axes) * panels
    mode = SWIZZLE_128B_ATOM_32B if atomicity == WIDE_ATOMICITY else SWIZZLE_MODES[swizzle_bytes]
    swizzle = mode.in_elements(element_bits)
    return swizzle.as_layout(panel.in_bits("offset")).compose(panel)


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a transfer: the registers and the kind of access, `vector` or `matrix` (ldmatrix, stmatrix).

    A matrix access falls back to vectors if the memory layout does not support it. `max_bits` limits vectors.
    """

    registers: LinearLayout
    form: str = "vector"
    max_bits: int = MAX_VECTOR_BITS

    def plan(self, memory: LinearLayout, element_bits: int) -> VectorAccess | MatrixAccess:
        """Returns the instructions that this side uses with the given memory layout."""
        if self.form == "matrix":
            served = matrix_access(self.registers, memory, element_bits)
            if isinstance(served, MatrixAccess):
                return served
        elif self.form != "vector":
            raise LayoutError(f"access form '{self.form}', expected 'vector' or 'matrix'")
        return vector_access(self.registers, memory, element_bits, self.max_bits)

    def cost(self, memory: LinearLayout, element_bits: int) -> BankCount:
        """The cost of `plan`."""
        return _cost(self, memory, element_bits)

    def least(self, element_bits: int) -> int:
        """The fewest wavefronts of a warp with any memory layout: those of the bytes that its lanes hold."""
        registers = self.registers
        held = Elimination([*registers.dim_columns("register"), *registers.dim_columns("lane")]).rank
        return max(1, (element_bits << held) // WAVEFRONT_BITS)


# The two sides of a conversion have two forms each, which meet in all combinations.
@lru_cache(maxsize=256)
def _cost(access: Access, memory: LinearLayout, element_bits: int) -> BankCount:
    if access.form == "vector":
        return vector_cost(access.registers, memory, element_bits, access.max_bits)
    return access.plan(memory, element_bits).banks


@dataclass(frozen=True, slots=True)
class SwizzleChoice:
    """A memory layout with the exact cost of both sides. `mode` is None for a layout that `conflict_free` derived."""

    layout: LinearLayout
    mode: int | None
    order: tuple[int, ...] | None
    write: BankCount
    read: BankCount

    @property
    def is_conflict_free(self) -> bool:
        """True if neither side has a bank conflict."""
        return self.write.is_conflict_free and self.read.is_conflict_free


def choose_swizzle(
    shape: Sequence[int],
    element_bits: int,
    write: Access,
    read: Access,
    modes_only: bool = False,
    fastest: int | None = None,
) -> SwizzleChoice:
    """Returns the memory layout for which write and read together take the fewest wavefronts, counted exactly.

    Candidates are the hardware's modes in both orders of the last two axes and, unless `modes_only`, the layout that
    `conflict_free` derives for the two accesses. Ties go to fewer instructions, then to the simpler layout.
    `fastest` is the axis whose elements must be adjacent in memory, for copies that move several elements at once. It
    must be one of the last two axes; otherwise raises LayoutError.
    """
    return _choose(tuple(shape), element_bits, write, read, modes_only, fastest)


@lru_cache(maxsize=256)
def _choose(
    shape: tuple[int, ...],
    element_bits: int,
    write: Access,
    read: Access,
    modes_only: bool,
    fastest: int | None,
) -> SwizzleChoice:
    rank = len(shape)
    orders = [tuple(range(rank - 1, -1, -1))]
    if rank > 1:
        orders.append((rank - 2, rank - 1, *range(rank - 3, -1, -1)))
    candidates: list[tuple[LinearLayout, int | None, tuple[int, ...] | None]] = []
    for order in orders:
        if fastest not in (None, order[0]):
            continue
        for mode in (0, 128, 64, 32):
            if mode == 0 or shape[order[0]] * element_bits >= mode * 8:
                candidates.append((swizzled(shape, element_bits, order, mode), mode, order))
    if not modes_only:
        candidates += [(layout, None, None) for layout in _derived(shape, element_bits, write, read)]
    best: SwizzleChoice | None = None
    best_cost: tuple[int, int] = (0, 0)
    least = read.least(element_bits)
    for layout, mode, order in candidates:
        writes = write.cost(layout, element_bits)
        if best is not None and writes.total + least > best_cost[0]:
            continue
        choice = SwizzleChoice(layout, mode, order, writes, read.cost(layout, element_bits))
        cost = (
            choice.write.total + choice.read.total,
            choice.write.instructions + choice.read.instructions,
        )
        if best is None or cost < best_cost:
            best, best_cost = choice, cost
    if best is None:
        raise LayoutError(f"no memory layout for a tile of shape {list(shape)}")
    return best


def _derived(shape: Sequence[int], element_bits: int, write: Access, read: Access) -> list[LinearLayout]:
    """Returns layouts of `conflict_free`, for the common vectors of both sides and the rows of each matrix access."""
    sides = {"write": _columns(write.registers, shape), "read": _columns(read.registers, shape)}
    most = log2(max(1, min(write.max_bits, read.max_bits, MAX_VECTOR_BITS) // element_bits))
    common = intersection(independent(sides["write"]["register"]), independent(sides["read"]["register"]))[
        :most
    ]
    lanes = [
        side["lane"][: _lanes_bits(len(common), element_bits)] for side in (sides["write"], sides["read"])
    ]
    layouts = [conflict_free(shape, element_bits, common, lanes[0], lanes[1])]
    for access, mine, other in (
        (write, sides["write"], sides["read"]),
        (read, sides["read"], sides["write"]),
    ):
        if access.form != "matrix":
            continue
        for row, rows in _matrix_rows(mine, element_bits):
            held = Elimination(other["register"])
            width = 0
            while width < len(row) and held.contains(row[width]):
                width += 1
            others = other["lane"][: _lanes_bits(width, element_bits)]
            layouts.append(conflict_free(shape, element_bits, row, rows, others))
    return layouts


def _matrix_rows(columns: dict[str, tuple[int, ...]], element_bits: int) -> list[tuple[list[int], list[int]]]:
    """Returns (bases along a 16-byte row, bases across the rows) for ldmatrix and for ldmatrix.trans."""
    register, lane = list(columns["register"]), list(columns["lane"])
    if element_bits not in (8, 16, 32) or len(lane) != 5:
        return []
    packed = log2(32 // element_bits)
    forms = [([*register[:packed], *lane[:2]], lane[2:])]
    if element_bits == 16 and register:
        forms.append((lane[2:], [register[0], *lane[:2]]))
    wanted = log2(MAX_VECTOR_BITS // element_bits)
    return [(row, rows) for row, rows in forms if len(independent(row)) == len(row) == wanted]


def _lanes_bits(vector_bits: int, element_bits: int) -> int:
    """Returns log2 of the number of lanes that one wavefront serves, for vectors of 2^vector_bits elements."""
    return 5 - max(0, vector_bits + log2(element_bits) - 5)


def _columns(layout: LinearLayout, shape: Sequence[int]) -> dict[str, tuple[int, ...]]:
    ordered = layout.transpose_outs(dims_of(len(shape)))
    return {name: ordered.dim_columns(name) for name in ("register", "lane")}


def conflict_free(
    shape: Sequence[int],
    element_bits: int,
    vector: Sequence[int],
    first_lanes: Sequence[int],
    second_lanes: Sequence[int],
) -> LinearLayout:
    """Returns a memory layout with `vector` in the low bits, without bank conflicts for either set of lanes.

    `first_lanes` and `second_lanes` are the bases of the lanes that one wavefront serves.

    Vectors here are flattened coordinates of the tile. An offset has three parts: within a vector (V), the bank, and
    the line (S). Two lanes of L conflict if their difference is in V + S but not in V. The intersection of S and
    span(V + L) must therefore be 0 for both L. Let P and Q be the two spans, and let E and F complete P ∩ Q to P and to
    Q. The sums e + f of pairs are in neither span, and neither are the vectors that complete P + Q to the tile. These
    are enough for S, because P and Q are no larger than a line. Compare the optimal swizzling of "Linear Layouts:
    Robust Code Generation of Efficient Tensor Computation Using F2" (arXiv 2505.23819).
    """
    outs = list(zip(dims_of(len(shape)), shape, strict=True))
    total = sum(log2(size) for size in shape)
    units = [1 << bit for bit in range(total)]
    inside = independent(vector)
    line = min(total, log2(LINE_BITS // element_bits))
    word = log2(max(1, 32 // element_bits))
    while len(inside) < min(word, total):
        # Lanes in one word do not conflict. Fill the word with the common vectors first, then with any others.
        both = intersection([*inside, *first_lanes], [*inside, *second_lanes])
        inside += extend(inside, [*both, *units])[:1]
    first = independent([*inside, *first_lanes])
    second = independent([*inside, *second_lanes])
    shared = independent([*inside, *intersection(first, second)])
    only_first = extend(shared, first)
    only_second = extend(shared, second)
    rest = extend([*first, *second], units)
    paired = [left ^ right for left, right in zip(only_first, only_second, strict=False)]
    lines = extend(inside, [*rest, *paired, *only_first, *only_second, *shared])[: max(0, total - line)]
    banks = extend([*inside, *lines], [*first, *second, *units])
    columns = [*inside, *banks, *lines]
    return LinearLayout.from_columns([("offset", 1 << total)], outs, columns)
