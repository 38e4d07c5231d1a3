"""Linear algebra over F2, against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera_tools.layout.f2 import (
    Elimination,
    apply_columns,
    extend,
    independent,
    intersection,
    is_power_of_two,
    log2,
    rank,
)

columns = st.lists(st.integers(0, 63), max_size=6)


def span(vectors: list[int]) -> set[int]:
    return {apply_columns(vectors, choice) for choice in range(1 << len(vectors))}


@given(columns)
def test_rank_is_log2_of_the_span(vectors: list[int]) -> None:
    assert 1 << rank(vectors) == len(span(vectors))


@given(columns, st.integers(0, 63))
def test_solve_finds_a_solution_exactly_where_one_exists(vectors: list[int], target: int) -> None:
    solution = Elimination(vectors).solve(target)
    assert (solution is not None) == Elimination(vectors).contains(target) == (target in span(vectors))
    if solution is not None:
        assert apply_columns(vectors, solution) == target


@given(columns, st.integers(0, 63))
def test_solve_uses_only_pivot_columns(vectors: list[int], target: int) -> None:
    elimination = Elimination(vectors)
    solution = elimination.solve(target) or 0
    assert not any(solution >> index & 1 for index in elimination.free)


@given(columns)
def test_kernel_spans_exactly_the_zeros(vectors: list[int]) -> None:
    kernel = Elimination(vectors).kernel
    zeros = {choice for choice in range(1 << len(vectors)) if apply_columns(vectors, choice) == 0}
    assert span(kernel) == zeros


@given(columns, columns)
def test_intersection_is_the_intersection_of_the_spans(first: list[int], second: list[int]) -> None:
    common = intersection(first, second)
    assert span(common) == span(first) & span(second)
    assert len(common) == rank(common)


@given(columns, columns)
def test_extend_completes_a_basis(first: list[int], second: list[int]) -> None:
    base = independent(first)
    added = extend(base, second)
    assert span(base + added) == span(first + second)
    assert rank(base + added) == len(base) + len(added)


def test_log2_refuses_what_is_not_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="found 6, expected a power of two"):
        log2(6)


@pytest.mark.parametrize("value", [-4, 0, 3, 12])
def test_not_powers_of_two(value: int) -> None:
    assert not is_power_of_two(value)
