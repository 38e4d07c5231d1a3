"""π, log 2 and other constants as rational numbers, accurate to 1300 bits: more than any reduction needs."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction  # its import takes milliseconds

BITS = 1300


def _inverse(value: int, one: int, *, alternating: bool) -> int:
    """one · atan(1/value), or atanh if the signs do not alternate."""
    power = total = one // value
    square, n, sign = value * value, 3, -1
    while power:
        power //= square
        total += (sign if alternating else 1) * (power // n)
        n, sign = n + 2, -sign
    return total


def ratio(numerator: int, denominator: int) -> Fraction:
    """A rational number."""
    from fractions import Fraction

    return Fraction(numerator, denominator)


@functools.cache
def pi() -> Fraction:
    """π, by Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    one = 1 << BITS + 20
    return ratio(16 * _inverse(5, one, alternating=True) - 4 * _inverse(239, one, alternating=True), one)


@functools.cache
def ln2() -> Fraction:
    """log 2 = 2 atanh(1/3)."""
    one = 1 << BITS + 20
    return ratio(2 * _inverse(3, one, alternating=False), one)


@functools.cache
def two_over_pi(width: int, count: int) -> tuple[int, ...]:
    """The first words of the binary fraction 2/π, most significant first."""
    bits = width * count
    whole = math.floor(2 / pi() * (1 << bits))
    return tuple(whole >> width * (count - 1 - i) & ((1 << width) - 1) for i in range(count))
