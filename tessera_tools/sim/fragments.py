"""Which lane holds which element of a matrix, instruction by instruction, as index arrays.

All figures of the PTX ISA ("Matrix Fragments for mma.…") follow one pattern: a group of four lanes holds a row.

    row 0   lane 0  lane 1  lane 2  lane 3     each lane: one register of neighboring elements
    row 1   lane 4  lane 5  lane 6  lane 7
     …                                         groupID = lane >> 2, threadID_in_group = lane & 3
    row 7   lane 28 lane 29 lane 30 lane 31

    Fragment.gather[row, col] = place in the registers' flat patterns      registers → matrix
    Fragment.scatter[register, lane, element] = row * columns + col        matrix → registers
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = [
    "Fragment",
    "accumulator",
    "mma_a",
    "mma_b",
    "quad_pair_a",
    "quad_pair_accumulator",
    "quad_pair_b",
    "spread",
    "wgmma_accumulator",
]


Places = tuple[Array, Array]
"""Rows and columns of elements."""


@dataclass(frozen=True, eq=False)
class Fragment:
    """A matrix distributed over the registers of 32 lanes.

    `shape` is (rows, columns), preceded for m8n8k4 by the number of matrices. `scatter` has shape [registers, 32,
    elements per register] and holds linear indices into the matrix.
    """

    shape: tuple[int, ...]
    scatter: Array

    @property
    def registers(self) -> int:
        return self.scatter.shape[0]

    @property
    def gather(self) -> Array:
        """For each element of the matrix, its linear index in the registers (register, lane, element)."""
        places = np.empty(int(np.prod(self.shape)), np.intp)
        places[self.scatter.reshape(-1)[::-1]] = np.arange(self.scatter.size)[::-1]
        return places.reshape(self.shape)


def _fragment(
    shape: tuple[int, int],
    registers: int,
    packed: int,
    where: Callable[[Array, Array, Array], Places],
) -> Fragment:
    """`where(lane, register, element)` returns row and column, for arrays of each."""
    register, lane, element = np.ogrid[:registers, :32, :packed]
    row, col = where(lane, register, element)
    return Fragment(shape, np.broadcast_to(row * shape[1] + col, (registers, 32, packed)).astype(np.intp))


@cache
def mma_a(m: int, k: int, packed: int) -> Fragment:
    """A of mma.mM n8 kK, M × K, `packed` elements to a register.

    Registers alternate between rows groupID and groupID + 8 if M is 16, then advance along K.
    """
    halves = m // 8

    def where(lane: Array, register: Array, element: Array) -> Places:
        row = (lane >> 2) + 8 * (register % halves)
        return row, 4 * packed * (register // halves) + (lane & 3) * packed + element

    return _fragment((m, k), m * k // (32 * packed), packed, where)


@cache
def mma_b(k: int, n: int, packed: int) -> Fragment:
    """B of mma, K × 8: column groupID, registers along K."""

    def where(lane: Array, register: Array, element: Array) -> Places:
        return 4 * packed * register + (lane & 3) * packed + element, lane >> 2

    return _fragment((k, n), k * n // (32 * packed), packed, where)


@cache
def accumulator(m: int, n: int, packed: int) -> Fragment:
    """C and D of mma, M × 8: c0, c1 in row groupID, c2, c3 in row groupID + 8; f16 packs two in a register."""

    def where(lane: Array, register: Array, element: Array) -> Places:
        index = register * packed + element
        return (lane >> 2) + 8 * (index >> 1), 2 * (lane & 3) + (index & 1)

    return _fragment((m, n), m * n // (32 * packed), packed, where)


@cache
def wgmma_accumulator(n: int, packed: int) -> Fragment:
    """The 16 rows of D of wgmma.m64nN that one warp of the warpgroup holds: mma accumulators along N."""

    def where(lane: Array, register: Array, element: Array) -> Places:
        index = register * packed + element
        return (lane >> 2) + 8 * (index >> 1 & 1), 8 * (index >> 2) + 2 * (lane & 3) + (index & 1)

    return _fragment((16, n), 16 * n // (32 * packed), packed, where)


# mma.m8n8k4 of f16 does four products, one per quad pair: lanes 4q … 4q + 3 and 16 + 4q … 19 + 4q.


def _quad_pairs(
    shape: tuple[int, int],
    registers: int,
    packed: int,
    where: Callable[[Array, Array, Array], Places],
) -> Fragment:
    register, lane, element = np.ogrid[:registers, :32, :packed]
    row, col = where(lane, register * packed + element, element)
    flat = ((lane >> 2 & 3) * shape[0] + row) * shape[1] + col
    return Fragment((4, *shape), np.broadcast_to(flat, (registers, 32, packed)).astype(np.intp))


@cache
def quad_pair_a(*, by_rows: bool) -> Fragment:
    """A of mma.m8n8k4 with f16, 8 × 4, row- or column-major."""
    half = 4
    if by_rows:
        return _quad_pairs((8, 4), 2, 2, lambda lane, i, _: ((lane & 3) + half * (lane >> 4), i))
    return _quad_pairs((8, 4), 2, 2, lambda lane, i, _: (i + half * (lane >> 4), lane & 3))


@cache
def quad_pair_b(*, by_rows: bool) -> Fragment:
    """B of mma.m8n8k4 with f16, 4 × 8."""
    half = 4
    if by_rows:
        return _quad_pairs((4, 8), 2, 2, lambda lane, i, _: (lane & 3, i + half * (lane >> 4)))
    return _quad_pairs((4, 8), 2, 2, lambda lane, i, _: (i, (lane & 3) + half * (lane >> 4)))


@cache
def quad_pair_accumulator(packed: int) -> Fragment:
    """C and D of mma.m8n8k4 with f16: `packed` is 2 for f16, 1 for f32, which has a different layout."""
    if packed == 2:
        return _quad_pairs((8, 8), 4, 2, lambda lane, i, _: ((lane & 3) + 4 * (lane >> 4), i))
    return _quad_pairs(
        (8, 8),
        8,
        1,
        lambda lane, i, _: ((lane & 1) + (i & 2) + 4 * (lane >> 4), (i & 4) + (lane & 2) + (i & 1)),
    )


@cache
def spread(rows: int, columns: int, registers: int, packed: int) -> Fragment:
    """A wmma fragment, whose layout PTX does not specify: each lane holds a contiguous row-major run of the matrix.

    If there are more positions than elements (f16 A and B), the run is repeated.
    """
    run = rows * columns // 32

    def where(lane: Array, register: Array, element: Array) -> Places:
        flat = lane * run + (register * packed + element) % run
        return flat // columns, flat % columns

    return _fragment((rows, columns), registers, packed, where)
