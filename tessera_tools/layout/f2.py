"""Linear algebra over F2, on Python integers.

A vector is an integer (bit i is coordinate i), a matrix is the sequence of its columns, addition is xor:

    columns ──▶ Elimination ──▶ rank, pivots (leftmost independent columns), kernel, solutions

Everything a linear layout asks (is it onto? which inputs are redundant? what is its inverse?) is one
elimination, written once, here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def is_power_of_two(value: int) -> bool:
    """True for 1, 2, 4, 8, …"""
    return value > 0 and value & (value - 1) == 0


def log2(value: int) -> int:
    """The exponent of a power of two; `ValueError` for anything else."""
    if not is_power_of_two(value):
        raise ValueError(f"found {value}, expected a power of two")
    return value.bit_length() - 1


def apply_columns(columns: Sequence[int], vector: int) -> int:
    """The product of a matrix and a vector: the xor of the columns that `vector` selects."""
    result = 0
    while vector:
        low = vector & -vector
        result ^= columns[low.bit_length() - 1]
        vector ^= low
    return result


class Elimination:
    """The columns of a matrix, eliminated from left to right.

    `pivots` holds the indices of the columns that are independent of those before them; `free` the others.
    A solution found here uses pivot columns only. As pivots are the *leftmost* independent columns, that is
    the solution in which every redundant input bit is 0.
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
        # Leading bits only fall while reducing, but one may have no row: then look below it.
        looking_at = vector
        while looking_at:
            row = rows.get(looking_at.bit_length())
            if row is None:
                looking_at &= ~(1 << (looking_at.bit_length() - 1))
                continue
            vector ^= row[0]
            looking_at ^= row[0]
            combination ^= row[1]
        return vector, combination

    @property
    def rank(self) -> int:
        """The dimension of the span of the columns."""
        return len(self.pivots)

    def solve(self, target: int) -> int | None:
        """The x with `matrix · x == target` that uses pivot columns only, or None where there is none."""
        rest, combination = self._reduce(target)
        return None if rest else combination

    def contains(self, vector: int) -> bool:
        """True if `vector` is in the span of the columns."""
        return self._reduce(vector)[0] == 0


def rank(columns: Iterable[int]) -> int:
    """The dimension of the span of `columns`."""
    return Elimination(columns).rank


def independent(columns: Iterable[int]) -> list[int]:
    """The leftmost independent columns: a basis of the span of `columns`."""
    columns = list(columns)
    return [columns[index] for index in Elimination(columns).pivots]


def extend(basis: Iterable[int], candidates: Iterable[int]) -> list[int]:
    """The candidates, in order, that are independent of `basis` and of those taken before."""
    basis = list(basis)
    candidates = list(candidates)
    start = len(basis)
    pivots = Elimination(basis + candidates).pivots
    return [candidates[index - start] for index in pivots if index >= start]


def intersection(first: Iterable[int], second: Iterable[int]) -> list[int]:
    """A basis of span(first) ∩ span(second).

    Each vector in the kernel of [first | second] says: this xor of `first` equals that xor of `second`.
    """
    left = independent(first)
    right = independent(second)
    mask = (1 << len(left)) - 1
    kernel = Elimination(left + right).kernel
    return independent(apply_columns(left, vector & mask) for vector in kernel)
