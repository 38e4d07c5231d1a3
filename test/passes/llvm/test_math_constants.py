"""The numbers from which approximations are made, against other series."""

from __future__ import annotations

from fractions import Fraction

from tessera_tools.passes.llvm.math.constants import BITS, ln2, pi, two_over_pi

ONE = 1 << BITS + 64


def series(argument: int, sign: int) -> int:
    """atan(1/argument) for the sign -1, atanh(1/argument) for 1; of ONE."""
    total, power, n = 0, ONE // argument, 1
    factor = 1
    while power:
        total += factor * (power // n)
        power //= argument * argument
        n, factor = n + 2, factor * sign
    return total


def is_near(found: Fraction, expected: int) -> bool:
    """Whether a number is so close to `expected` of ONE that BITS bits are right."""
    return abs(found - Fraction(expected, ONE)) < Fraction(1, 1 << BITS)


def test_pi_is_that_of_another_formula() -> None:
    """Gauss: π = 48 atan(1/18) + 32 atan(1/57) - 20 atan(1/239)."""
    assert is_near(pi(), 48 * series(18, -1) + 32 * series(57, -1) - 20 * series(239, -1))


def test_the_logarithm_of_two_is_that_of_another_formula() -> None:
    """log 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749)."""
    assert is_near(ln2(), 18 * series(26, 1) - 2 * series(4801, 1) + 8 * series(8749, 1))


def test_the_words_of_two_over_pi() -> None:
    """CUDA's and glibc's tables for the reduction of arguments begin with these."""
    assert two_over_pi(32, 3) == (0xA2F9836E, 0x4E441529, 0xFC2757D1)
