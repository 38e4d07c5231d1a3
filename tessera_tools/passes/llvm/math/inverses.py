"""Functions that follow from those of the other modules: inverses, expm1, log1p, log10, cbrt.

asin x = atan2(x, √((1-x)(1+x)))         acos x = atan2(√((1-x)(1+x)), x)         atan x = atan2(x, 1)
log1p x = log u · x / (u - 1), u = 1 + x rounded: the rounding error of u cancels (Kahan)
asinh |x| = log1p(|x| + x² / (1 + √(1 + x²)))      acosh x = log1p(t + √(t (t + 2))), t = x - 1
atanh |x| = log1p(2|x| / (1 - |x|)) / 2            cbrt: a power, and a step of Newton's
"""

from __future__ import annotations

import math

from tessera_tools.passes.llvm.math.angles import atan2
from tessera_tools.passes.llvm.math.constants import ln2
from tessera_tools.passes.llvm.math.exponentials import exp
from tessera_tools.passes.llvm.math.logarithms import log, pow
from tessera_tools.passes.llvm.math.numbers import Number


def _other_side(x: Number) -> Number:
    """The other side of a right triangle with a side x and a hypotenuse of 1; a NaN beyond 1."""
    return ((1.0 - x) * (x + 1.0)).sqrt()


def asin(x: Number) -> Number:
    """The inverse sine."""
    return atan2(x, _other_side(x))


def acos(x: Number) -> Number:
    """The inverse cosine."""
    return atan2(_other_side(x), x)


def atan(x: Number) -> Number:
    """The inverse tangent."""
    return atan2(x, x.of(1.0))


def log1p(x: Number) -> Number:
    """log(1 + x)."""
    up = x + 1.0
    added = up - 1.0
    scaled = log(up) * (x / added.equals(0.0).choose(1.0, added))
    result = added.equals(0.0).choose(x, scaled)
    return up.equals(math.inf).choose(up, result)


def expm1(x: Number) -> Number:
    """e^x - 1."""
    power = exp(x)
    less = power - 1.0
    near = less * (x / log(power))
    result = less.equals(-1.0).choose(less, power.equals(math.inf).choose(power, near))
    return power.equals(1.0).choose(x, result)


def log10(x: Number) -> Number:
    """The logarithm to base ten."""
    return log(x) * (1 / math.log(10))


def _logarithm_of_double(x: Number) -> Number:
    """log(2 x), also if 2 x is not finite."""
    return log(x) + float(ln2())


def asinh(x: Number) -> Number:
    """The inverse hyperbolic sine."""
    magnitude = abs(x)
    large = magnitude > 2.0**x.format.precision
    bounded = large.choose(1.0, magnitude)
    square = bounded * bounded
    small = log1p(bounded + square / ((square + 1.0).sqrt() + 1.0))
    result = large.choose(_logarithm_of_double(magnitude), small)
    # Numbers whose square underflows are unchanged.
    return (magnitude < 2.0**-x.format.precision).choose(magnitude, result).with_sign_of(x)


def acosh(x: Number) -> Number:
    """The inverse hyperbolic cosine."""
    large = x > 2.0**x.format.precision
    t = large.choose(1.0, x) - 1.0
    result = large.choose(_logarithm_of_double(x), log1p(t + (t * (t + 2.0)).sqrt()))
    return (x >= 1.0).choose(result, math.nan)


def atanh(x: Number) -> Number:
    """The inverse hyperbolic tangent."""
    magnitude = abs(x)
    result = log1p(magnitude * 2.0 / (1.0 - magnitude)) * 0.5
    return (magnitude < 2.0**-x.format.precision).choose(magnitude, result).with_sign_of(x)


def cbrt(x: Number) -> Number:
    """The cube root."""
    magnitude, form = abs(x), x.format
    # The correction of Newton's step would be subnormal.
    tiny = magnitude < 2.0 ** (2 * form.precision - form.bias)
    scaled = tiny.choose(magnitude * 2.0 ** (3 * form.precision), magnitude)
    rough = pow(scaled, x.of(1 / 3))
    square = rough * rough
    finer = rough - square.fma(rough, -scaled) / (square * 3.0)
    finer = tiny.choose(finer * 2.0**-form.precision, finer)
    whole = magnitude.equals(0.0) | magnitude.equals(math.inf) | x.is_nan()
    return whole.choose(x, finer.with_sign_of(x))


def round_half_away(x: Number) -> Number:
    """The nearest integer, ties away from zero."""
    whole = x.truncated()
    return (abs(x - whole) >= 0.5).choose(whole + x.of(1.0).with_sign_of(x), whole).with_sign_of(x)
