"""Linear algebra over F2, on Python integers.

A vector is an integer (bit i is coordinate i). A matrix is the sequence of its columns. Addition is xor:

    columns ──▶ Elimination ──▶ rank, pivots (leftmost independent columns), kernel, solutions

Each query on a linear layout (Is it surjective? Which inputs are redundant? What is its inverse?) is one elimination.
This file is the only implementation of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def is_power_of_two(value: int) -> bool:
    """True for 1, 2, 4, 8, …"""
    return value > 0 and value & (value - 1) == 0


def log2(value: int) -> int:
    """Returns the exponent of a power of two. Raises `ValueError` for any other value."""
    if not is_power_of_two(value):
        raise ValueError(f"found {value}, expected a power of two")
    return value.bit_length() - 1


def apply_columns(columns: Sequence[int], vector: int) -> int:
    """Returns the product of a matrix and a vector: the xor of the columns that `vector` selects."""
    result = 0
    while vector:
        low = vector & -vector
        result ^= columns[low.bit_length() - 1]
        vector ^= low
    return result


class Elimination:
    """The columns of a matrix, eliminated from left to right.

    `pivots` holds the indices of the columns that are independent of the columns before them. `free` holds the others.
    A solution uses pivot columns only. Pivots are the *leftmost* independent columns, so every redundant input bit is 0
    in that solution.
    """

    __slots__ = ("_rows", "free", "kernel", "pivots")

    def __init__(self, columns: Iterable[int]) -> None:
        # leading bit → (reduced vector, the set of columns whose xor it is)
        self._rows: dict[int, tuple[int, int]] = {}
        self.pivots: list[int] = []
        self.free: list[int] = []
        self.kernel: list[int] = []
        for index, column in enumerate(columns):
            rest, combination = self._reduce(column)
            combination ^= 1 << index
            if rest:
                self._rows[rest.bit_length()] = (rest, combination)
                self.pivots.append(index)
            else:
                self.free.append(index)
                self.kernel.append(combination)

    def _reduce(self, vector: int) -> tuple[int, int]:
        combination = 0
        rows = self._rows
        # If the leading bit has no row, the vector is not in the span, whatever its other bits are.
        while (row := rows.get(vector.bit_length())) is not None:
            vector ^= row[0]
            combination ^= row[1]
        return vector, combination

    @property
    def rank(self) -> int:
        """The dimension of the span of the columns."""
        return len(self.pivots)

    def solve(self, target: int) -> int | None:
        """Returns the x with `matrix · x == target` that uses pivot columns only, or None if there is no solution."""
        rest, combination = self._reduce(target)
        return None if rest else combination

    def contains(self, vector: int) -> bool:
        """True if `vector` is in the span of the columns."""
        return self._reduce(vector)[0] == 0


def rank(columns: Iterable[int]) -> int:
    """The dimension of the span of `columns`."""
    return Elimination(columns).rank


def independent(columns: Iterable[int]) -> list[int]:
    """Returns the leftmost independent columns, a basis of the span of `columns`."""
    columns = list(columns)
    return [columns[index] for index in Elimination(columns).pivots]


def extend(basis: Iterable[int], candidates: Iterable[int]) -> list[int]:
    """Returns the candidates, in order, that are independent of `basis` and of the candidates taken before."""
    basis = list(basis)
    candidates = list(candidates)
    start = len(basis)
    pivots = Elimination(basis + candidates).pivots
    return [candidates[index - start] for index in pivots if index >= start]


def intersection(first: Iterable[int], second: Iterable[int]) -> list[int]:
    """Returns a basis of span(first) ∩ span(second).

    Each vector in the kernel of [first | second] selects an xor of `first` that equals an xor of `second`.
    """
    left = independent(first)
    right = independent(second)
    mask = (1 << len(left)) - 1
    kernel = Elimination(left + right).kernel
    return independent(apply_columns(left, vector & mask) for vector in kernel)
