"""Affine expressions, maps, sets (spellings taken from mlir-opt 22)."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera_tools.ir.affine import AffineExpr, AffineMap, IntegerSet, constant, dim, symbol

D0, D1, D2, S0, S1 = dim(0), dim(1), dim(2), symbol(0), symbol(1)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (D0 + S0 * 4, "d0 + s0 * 4"),
        (-D0, "-d0"),
        (D0 - 1, "d0 - 1"),
        (D0 - D1 * 3, "d0 - d1 * 3"),
        (D0 - (D1 + S0), "d0 - (d1 + s0)"),
        ((D0 + 1) * 2, "(d0 + 1) * 2"),
        (4 + D0, "d0 + 4"),
        (4 * D0, "d0 * 4"),
        (D1 + D0, "d0 + d1"),
        (S1 * S0, "s0 * s1"),
        (S0 + D0, "d0 + s0"),
        (D0 + 2 + 3, "d0 + 5"),
        (D0 * 2 + D0 * 3, "d0 * 5"),
        (D0 + D0, "d0 * 2"),
        (D0 + D0 * 3, "d0 * 4"),
        (D0 * 3 + D0, "d0 * 4"),
        (D0 - D0, "0"),
        (D0 + 2 + D1, "d0 + d1 + 2"),
        (D0 - (D0 // 4) * 4, "d0 mod 4"),
        (D0 - (D0 // S0) * S0, "d0 mod s0"),
        ((D1 + S0) - D0 // 2, "d1 + -(d0 floordiv 2) + s0"),
        ((D0 * 128) // 64, "d0 * 2"),
        ((D0 * 4 + D1) // 4, "d0 + d1 floordiv 4"),
        ((D0 * 4 + D1) % 4, "d1 mod 4"),
        ((D0 % 8) % 4, "d0 mod 4"),
        (D0.ceildiv(8), "d0 ceildiv 8"),
        (constant(7).ceildiv(2), "4"),
        (constant(-7) // 2, "-4"),
        (D0 % 0, "d0 mod 0"),
    ],
)
def test_expressions_are_simplified_and_written_as_mlir_does(expr: AffineExpr, text: str) -> None:
    assert str(expr) == text


def test_a_number_may_stand_on_the_left() -> None:
    point = [5]
    assert [(7 + D0).evaluate(point), (7 - D0).evaluate(point), (7 * D0).evaluate(point)] == [12, 2, 35]


def test_equal_expressions_are_one_object() -> None:
    assert D0 + S0 * 4 is dim(0) + symbol(0) * 4
    assert copy.deepcopy(D0 + 1) is D0 + 1


def test_a_product_of_dimensions_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one of the multiply operands"):
        D0 * D1


def test_division_by_a_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="right operand of floordiv"):
        D0 // D1


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 9))
def test_simplification_keeps_the_value(x: int, y: int, c: int) -> None:
    expr = (D0 * 4 + D1 - (D0 // c) * c + (D1 % c)) // c + (D1 * c).ceildiv(3)
    expected = (x * 4 + y - (x // c) * c + y % c) // c + -(-(y * c) // 3)
    assert expr.evaluate([x, y]) == expected


def test_evaluation_refuses_a_divisor_that_is_not_positive() -> None:
    with pytest.raises(ValueError, match="mod by 0"):
        (D0 % S0).evaluate([1], [0])


def test_maps_are_values() -> None:
    assert AffineMap(1, 0, (D0,)) == AffineMap.identity(1)
    assert len({AffineMap(1, 0, (D0,)), AffineMap.identity(1)}) == 1


def test_map_text() -> None:
    assert str(AffineMap(2, 1, (D0 + S0, D1 // 2))) == "(d0, d1)[s0] -> (d0 + s0, d1 floordiv 2)"
    assert str(AffineMap.constant()) == "() -> ()"


def test_identity() -> None:
    assert AffineMap.identity(3).is_identity
    assert not AffineMap(2, 0, (D1, D0)).is_identity
    assert not AffineMap(2, 0, (D0,)).is_identity


def test_map_evaluation_checks_the_number_of_inputs() -> None:
    assert AffineMap(2, 0, (D0 + D1,)).evaluate([2, 3]) == (5,)
    with pytest.raises(ValueError, match="takes 2 dimensions and 0 symbols, got 1 and 0"):
        AffineMap(2, 0, (D0 + D1,)).evaluate([2])


def test_composition_applies_the_inner_map_first() -> None:
    outer = AffineMap(1, 1, (D0 * 2 + S0,))
    inner = AffineMap(2, 1, (D0 + D1 * S0,))
    both = outer.compose(inner)
    assert str(both) == "(d0, d1)[s0, s1] -> ((d0 + d1 * s1) * 2 + s0)"
    assert both.evaluate([3, 4], [5, 6]) == outer.evaluate(inner.evaluate([3, 4], [6]), [5])


def test_symbols_of_a_composition_are_those_of_both_maps() -> None:
    outer = AffineMap(1, 2, (D0 + S0 * S1,))
    inner = AffineMap(1, 2, (D0 * S0 - S1,))
    assert str(outer.compose(inner)).startswith("(d0)[s0, s1, s2, s3] -> ")
    assert outer.compose(inner).evaluate([3], [5, 7, 11, 13]) == (3 * 11 - 13 + 5 * 7,)


def test_composition_checks_the_ranks() -> None:
    with pytest.raises(ValueError, match="takes 2 dimensions"):
        AffineMap.identity(2).compose(AffineMap.identity(1))


def test_substitution() -> None:
    swapped = AffineMap(2, 0, (D0 - D1,)).substitute([D1, D0], [], 2, 0)
    assert str(swapped) == "(d0, d1) -> (d1 - d0)"


def test_sets() -> None:
    triangle = IntegerSet(2, 0, ((D0, False), (D1 - D0, False)))
    assert triangle.contains([1, 2]) and not triangle.contains([2, 1])
    assert str(triangle) == "(d0, d1) : (d0 >= 0, d1 - d0 >= 0)"
    assert str(IntegerSet(1, 1, ((D0 - S0, True),))) == "(d0)[s0] : (d0 - s0 == 0)"
