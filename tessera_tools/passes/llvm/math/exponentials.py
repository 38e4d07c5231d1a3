"""exp, exp2, sinh, cosh, tanh.

x = n · log 2 + r, |r| ≤ log 2 / 2        e^x = 2^n · (1 + r + r² · EXP(r))
"""

from __future__ import annotations

import math

from tessera_tools.dialects import llvm
from tessera_tools.ir.types import F32
from tessera_tools.passes.llvm.math import coefficients
from tessera_tools.passes.llvm.math.constants import ln2
from tessera_tools.passes.llvm.math.numbers import (
    Number,
    constant_pair,
    polynomial,
    rounded_to_integer,
    scaled,
    two_product,
)


def clamped(x: Number, limit: float) -> Number:
    """x clamped to -limit and limit; a NaN is preserved."""
    if x.type is F32:
        # One instruction each; f64 has none that preserves a NaN.
        return x.make(llvm.Maximum, (x.make(llvm.Minimum, (x, limit)), -limit))
    x = (x > limit).choose(limit, x)
    return (x < -limit).choose(-limit, x)


def near_one(r: Number, low: Number | None = None) -> Number:
    """e^(r + low) for |r| ≤ 0.36 and a tiny `low`."""
    square, series = r * r, polynomial(coefficients.EXP, r)
    rest = square.fma(series, r) if low is None else r + square.fma(series, low)
    return rest + 1.0


def _reduced(x: Number) -> tuple[Number, Number]:
    """(r, n): x = n · log 2 + r. With fused operations and log 2 in two parts, the error of r is one unit of its last
    place, at most a quarter of a unit of e^r."""
    high, low = constant_pair(ln2(), x.format.precision)
    whole, n = rounded_to_integer(x, 1 / math.log(2))
    return (-whole).fma(low, (-whole).fma(high, x)), n


def _limit(x: Number) -> float:
    """Beyond it, e^x and e^-x are infinite and zero."""
    return (x.format.bias + x.format.precision + 3) * math.log(2)


def exp(x: Number) -> Number:
    """e to the power of x."""
    r, n = _reduced(clamped(x, _limit(x)))
    return scaled(near_one(r), n)


def exp2(x: Number) -> Number:
    """Two to the power of x."""
    high, low = constant_pair(ln2(), x.format.precision)
    x = clamped(x, x.format.bias + x.format.precision + 3)
    whole, n = rounded_to_integer(x)
    rest = x - whole
    r, error = two_product(rest, high)
    return scaled(near_one(r, rest.fma(low, error)), n)


def _halves(x: Number) -> tuple[Number, Number]:
    """e^|x| / 2 and e^-|x| / 2."""
    r, n = _reduced(clamped(abs(x), _limit(x)))
    return scaled(near_one(r), n - 1), scaled(near_one(-r), -1 - n)


def sinh(x: Number) -> Number:
    """The hyperbolic sine: a polynomial below 1, where the difference of the halves would cancel."""
    up, down = _halves(x)
    magnitude = abs(x)
    return (magnitude < 1.0).choose(_odd(coefficients.SINH, magnitude), up - down).with_sign_of(x)


def cosh(x: Number) -> Number:
    """The hyperbolic cosine."""
    up, down = _halves(x)
    return up + down


TANH_SMALL = 0.6


def tanh(x: Number) -> Number:
    """The hyperbolic tangent: 1 - 2 / (e^2|x| + 1), and a polynomial near 0."""
    magnitude = abs(x)
    # Beyond 32 the result is 1 in either format.
    power = exp((magnitude > 32.0).choose(32.0, magnitude) * 2.0)
    large = 1.0 - 2.0 / (power + 1.0)
    return (magnitude < TANH_SMALL).choose(_odd(coefficients.TANH, magnitude), large).with_sign_of(x)


def _odd(table: coefficients.Table, x: Number) -> Number:
    """x + x · u · P(u) with u = x²."""
    u = x * x
    return (x * u).fma(polynomial(table, u), x)
