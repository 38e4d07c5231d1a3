"""exp, exp2, sinh, cosh, tanh.

x = n · log 2 + r, |r| ≤ log 2 / 2        e^x = 2^n · (1 + r + r² · EXP(r))
x = (n + r) · log 2, 0 ≤ r < 1            e^x = 2^n · ex2.approx(r), in f32
"""

from __future__ import annotations

import math

from tessera_tools.dialects import llvm
from tessera_tools.ir.types import F32
from tessera_tools.passes.llvm.instructions import intrinsic
from tessera_tools.passes.llvm.math import coefficients
from tessera_tools.passes.llvm.math.constants import ln2
from tessera_tools.passes.llvm.math.numbers import (
    Number,
    constant_pair,
    polynomial,
    rounded_to_integer,
    scaled,
    split,
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


def _instruction(name: str, *operands: Number | float) -> Number:
    """An instruction on numbers of f32, the first of which is not a constant."""
    x = operands[0]
    assert isinstance(x, Number)
    values = [(v if isinstance(v, Number) else x.of(v)).value for v in operands]
    return Number(x.e, intrinsic(x.e, name, values, x.type))


_SPAN = 252
"""The binary exponents of normal numbers of f32 that are within ±126."""


def _exp_f32(x: Number) -> Number:
    """e^x by ex2.approx, in eight instructions.

    n, which is x / log 2 rounded down, is clamped to ±126; the rest is not, so that ex2 and the product with 2^n
    overflow and underflow by themselves.  With `above` added, n + 127 are the low bits: those of the exponent of 2^n.
    ex2.approx of [0, 1) has an error of one unit (CUDA C++ Programming Guide, "Mathematical Functions", expf).
    """
    high, low = split(1 / ln2(), x.format.precision, 2)
    above = x.format.magic + 1
    part = _instruction("llvm.nvvm.fma.rn.sat.f", x, high / _SPAN, 0.5)
    shifted = _instruction("llvm.nvvm.fma.rm.f", part, float(_SPAN), above)
    whole = shifted - (above + _SPAN / 2)
    rest = x.fma(low, x.fma(high, -whole))
    return (
        _instruction("llvm.nvvm.ex2.approx.ftz.f32", rest) * (shifted.bits() << x.format.mantissa).as_float()
    )


def exp(x: Number) -> Number:
    """e to the power of x."""
    if x.type is F32:
        return _exp_f32(x)
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
    if x.type is F32:
        # The quotient is at most half of the result, so that an approximate reciprocal is exact enough.
        inverse = _instruction("llvm.nvvm.rcp.approx.ftz.f", exp(magnitude * 2.0) + 1.0)
        large = inverse.fma(-2.0, 1.0)
    else:
        # Beyond 32 the result is 1.
        power = exp((magnitude > 32.0).choose(32.0, magnitude) * 2.0)
        large = 1.0 - 2.0 / (power + 1.0)
    return (magnitude < TANH_SMALL).choose(_odd(coefficients.TANH, magnitude), large).with_sign_of(x)


def _odd(table: coefficients.Table, x: Number) -> Number:
    """x + x · u · P(u) with u = x²."""
    u = x * x
    return (x * u).fma(polynomial(table, u), x)
