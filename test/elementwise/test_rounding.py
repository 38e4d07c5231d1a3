"""Sums, products, quotients and roots in every rounding mode, against exact rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from elementwise.numbers import FLOATS, floats, rounded
from elementwise.ops import any_target, computed, numbers
from programs import TARGETS, fresh_seed

COUNT = 256
MODES = ("nearest_even", "zero", "negative_inf", "positive_inf")


def _flushed(x: float) -> float:
    return math.copysign(0.0, x) if abs(x) < 2.0**-126 else x


def _sum(x: float, y: float, mode: str) -> Fraction | float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return x + y
    exact = Fraction(x) + Fraction(y)
    if exact:
        return exact
    if x == 0 and math.copysign(1, x) == math.copysign(1, y):
        return x
    return -0.0 if mode == "negative_inf" else 0.0


def _product(x: float, y: float, mode: str) -> Fraction | float:
    special = not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0
    return float(np.multiply(x, y)) if special else Fraction(x) * Fraction(y)


def _quotient(x: float, y: float, mode: str) -> Fraction | float:
    special = not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0
    return float(np.divide(x, y)) if special else Fraction(x) / Fraction(y)


def _root(x: float, mode: str) -> Fraction | float:
    if not math.isfinite(x) or x <= 0:
        return float(np.sqrt(x))
    # Enough digits, and the last one odd where there are more: no rounding is mistaken.
    scale = 1 << 600
    square = Fraction(x) * scale * scale * 4**600
    root = math.isqrt(int(square))
    exact = root * root == square
    return Fraction(root * 2 + (0 if exact else 1), 2 * scale * 2**600)


def _fused(x: float, y: float, z: float, mode: str) -> Fraction | float:
    if not (math.isfinite(x) and math.isfinite(y)):
        return float(np.multiply(x, y)) + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y)
    if exact + Fraction(z):
        return exact + Fraction(z)
    if exact:
        return -0.0 if mode == "negative_inf" else 0.0
    return _sum(math.copysign(0.0, x) * math.copysign(1.0, y), z, mode)


OPS: dict[str, Callable[..., Fraction | float]] = {
    "addf %x, %y": _sum,
    "subf %x, %y": lambda x, y, mode: _sum(x, -y, mode),
    "mulf %x, %y": _product,
    "divf %x, %y": _quotient,
    "fma %x, %y, %w": _fused,
    "sqrt %x": _root,
}


def check(element: str, mode: str, flush: bool, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    given = [floats(element, rng, COUNT) for _ in range(3)]
    modifiers = f" rounding<{mode}>" if mode != "nearest_even" else ""
    modifiers += " flush_to_zero" if flush else ""
    results = computed([op + modifiers for op in OPS], element, given, target)
    rows = list(zip(*(numbers(element, x).tolist() for x in given), strict=True))
    for (op, exact), result in zip(OPS.items(), results, strict=True):
        found, arity = numbers(element, result).tolist(), op.count("%")
        for i, row in enumerate(rows):
            values = [_flushed(x) if flush else x for x in row[:arity]]
            with np.errstate(all="ignore"):
                expected = exact(*values, mode)
            if isinstance(expected, Fraction):
                expected = rounded(expected, element, mode)
            if flush:
                expected = _flushed(expected)
            same = found[i] == expected and math.copysign(1, found[i]) == math.copysign(1, expected)
            assert same or (math.isnan(found[i]) and math.isnan(expected)), (op, values, found[i], expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_results_are_rounded_to_nearest(element: str, target: str) -> None:
    check(element, "nearest_even", False, target)


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("element", FLOATS)
def test_results_are_rounded_by_the_mode(element: str, mode: str) -> None:
    check(element, mode, False, any_target(np.random.default_rng()))


@pytest.mark.parametrize("mode", MODES)
def test_subnormal_numbers_are_flushed(mode: str) -> None:
    check("f32", mode, True, any_target(np.random.default_rng()))
