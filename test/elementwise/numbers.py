"""Exact arithmetic for the tests: special values, rounding of rational numbers, units of the last place."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from programs import Array, encode

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
"""Bits behind the point."""
LEAST = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}
"""Exponent of the least normal number."""
MOST = {"f16": 15, "bf16": 127, "f32": 127, "f64": 1023}
"""Exponent of the greatest numbers."""


def floats(element: str, rng: np.random.Generator, count: int) -> Array:
    """Numbers of every magnitude, sign and kind: special ones first, then random bit patterns and moderate numbers."""
    bits = 16 if element in ("f16", "bf16") else int(element[1:])
    unsigned = {16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    one, tiny, huge = 1.0, 2.0 ** LEAST[element], 2.0 ** MOST[element]
    greatest = huge * (2 - 2.0 ** -MANTISSA[element])
    least = 2.0 ** (max(LEAST[element] - MANTISSA[element], -1074))
    special = [
        0.0,
        one,
        2.0,
        0.5,
        3.0,
        math.pi,
        tiny,
        least,
        3 * least,
        tiny - least,
        greatest,
        huge,
        math.inf,
    ]
    kinds = encode(element, np.array([*special, *(-x for x in special), math.nan]))
    patterns = rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True)
    random = patterns.view(kinds.dtype)
    moderate = encode(element, rng.standard_normal(count) * 4)
    mixed = np.where(rng.integers(0, 2, count) == 0, random, moderate)
    mixed[: len(kinds)] = kinds
    rng.shuffle(mixed)
    return mixed


def rounded(value: Fraction, element: str, mode: str) -> float:
    """An exact number, not zero, rounded to the format; overflow as IEEE 754 says."""
    sign, magnitude = (-1 if value < 0 else 1), abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, LEAST[element]) - MANTISSA[element])
    whole, rest = divmod(magnitude, unit)
    up = {
        "nearest_even": rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1),
        "zero": False,
        "negative_inf": sign < 0 and rest > 0,
        "positive_inf": sign > 0 and rest > 0,
    }[mode]
    result = (whole + up) * unit
    greatest = (2 - Fraction(2) ** -MANTISSA[element]) * Fraction(2) ** MOST[element]
    if result > greatest:
        away = (
            mode == "nearest_even"
            or (mode == "positive_inf" and sign > 0)
            or (mode == "negative_inf" and sign < 0)
        )
        return sign * (math.inf if away else float(greatest))
    return sign * float(result)


def distance(found: Any, expected: Any, element: str) -> Array:
    """How far each number is from the exact one, in units of the last place of the exact one's binade.

    expected: of more precision than the format. Equal infinities, and two NaNs, have no distance; overflow to infinity
    counts as the next number behind the greatest.
    """
    wide = np.longdouble
    x, y = np.asarray(found).astype(wide), np.asarray(expected).astype(wide)
    with np.errstate(all="ignore"):
        limit = wide(2) ** (MOST[element] + 1)
        x = np.where(np.isinf(x) & ~np.isnan(y), np.copysign(limit, x), x)
        y = np.where(np.abs(y) > limit, np.copysign(limit, y), y)
        exponent = np.frexp(np.where(y == 0, wide(1), np.abs(y)))[1] - 1
        exponent = np.clip(np.where(y == 0, LEAST[element], exponent), LEAST[element], MOST[element])
        error = np.abs(x - y) / np.ldexp(wide(1), exponent - MANTISSA[element])
    both = np.isnan(x) & np.isnan(y)
    return np.where(both, 0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)
