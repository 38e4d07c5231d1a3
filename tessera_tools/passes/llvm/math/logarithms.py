"""log, log2, and powers by a logarithm in twice the precision.

x = 2^k · (1 + f)        log x = k · log 2 + f + f² · LOG(f)

s = f / (2 + f)          log(1 + f) = 2 · atanh(s) = 2 s · (1 + s²/3 + s⁴ · ATANH(s²))
"""

from __future__ import annotations

import math

from tessera_tools.ir.types import FloatType, IntegerType
from tessera_tools.passes.llvm.math import coefficients
from tessera_tools.passes.llvm.math.constants import ln2, ratio
from tessera_tools.passes.llvm.math.exponentials import near_one
from tessera_tools.passes.llvm.math.numbers import (
    FORMATS,
    Number,
    Pair,
    constant_pair,
    polynomial,
    rounded_to_integer,
    scaled,
    times,
    two_product,
    two_sum,
)


def _normalized(x: Number, least: float) -> tuple[Number, Number]:
    """(k, f): a positive x is 2^k · (1 + f), and 1 + f is between `least` and its double; k is an integer."""
    form = x.format
    subnormal = x < 2.0 ** (1 - form.bias)
    bits = subnormal.choose(x * 2.0**form.precision, x).bits()
    k = (bits - x.of(least).bits()) >> form.mantissa
    f = (bits - (k << form.mantissa)).as_float() - 1.0
    return subnormal.choose(k - form.precision, k), f


def _special(x: Number, result: Number) -> Number:
    """The special cases of a logarithm: non-positive numbers and infinity."""
    result = x.equals(math.inf).choose(x, result)
    return (x > 0.0).choose(result, x.equals(0.0).choose(-math.inf, x.of(math.nan)))


def log(x: Number) -> Number:
    """The natural logarithm."""
    k, f = _normalized(x, 2 / 3)
    high, low = constant_pair(ln2(), x.format.precision)
    whole = k.to_float(x.type)
    tail = whole.fma(low, (f * f) * polynomial(coefficients.LOG, f))
    return _special(x, whole.fma(high, f + tail))


def log2(x: Number) -> Number:
    """The logarithm to base two: exact for powers of two."""
    k, f = _normalized(x, 2 / 3)
    high, low = constant_pair(1 / ln2(), x.format.precision)
    tail = f.fma(low, ((f * f) * polynomial(coefficients.LOG, f)) * high)
    return _special(x, k.to_float(x.type) + f.fma(high, tail))


def _log2_pair(x: Number) -> Pair:
    """The logarithm to base two of a positive number, in nearly twice the precision."""
    precision = x.format.precision
    k, f = _normalized(x, math.sqrt(0.5))
    # s = f / (2 + f): the divisor and the quotient as pairs.
    divisor, missing = two_sum(f.of(2.0), f)
    reciprocal = 1.0 / divisor
    s = f * reciprocal
    rest = (-s).fma(missing, (-s).fma(divisor, f))
    s_low = rest * reciprocal
    # u = s²; series = u / 3 + u² · ATANH(u)
    u, u_low = two_product(s, s)
    u_low = (s + s).fma(s_low, u_low)
    third = times(Pair(u, u_low), constant_pair(ratio(1, 3), precision))
    series = two_sum(third.high, (u * u).fma(polynomial(coefficients.ATANH, u), third.low))
    # atanh(s) = s + s · series
    product, product_low = two_product(s, series.high)
    product_low = s.fma(series.low, s_low.fma(series.high, product_low))
    total = two_sum(s, product)
    total = two_sum(total.high, total.low + (s_low + product_low))
    scaled_total = times(total, constant_pair(2 / ln2(), precision))
    result = two_sum(k.to_float(x.type), scaled_total.high)
    return two_sum(result.high, result.low + scaled_total.low)


def _exp2_pair(x: Pair) -> Number:
    """Two to the power of a pair."""
    form = x.high.format
    high, low = constant_pair(ln2(), form.precision)
    limit = 1.5 * form.bias
    beyond = abs(x.high) > limit
    head = beyond.choose(x.high.of(limit).with_sign_of(x.high), x.high)
    tail = beyond.choose(0.0, x.low)
    whole, n = rounded_to_integer(head)
    rest = two_sum(head - whole, tail)
    r, error = two_product(rest.high, high)
    return scaled(near_one(r, rest.low.fma(high, rest.high.fma(low, error))), n)


def _power(x: Number, y: Pair, odd: Number, whole: Number | None) -> Number:
    """|x|^y with C's special cases, and the sign of x if y is odd; `whole` is true if y is an integer, None if
    it always is."""
    magnitude = abs(x)
    logarithm = _log2_pair(magnitude)
    product = two_product(y.high, logarithm.high)
    low = y.high.fma(logarithm.low, y.low.fma(logarithm.high, product.low))
    result = _exp2_pair(Pair(product.high, low))
    # Zero and infinity to a power are zero or infinity.
    zero, infinite = magnitude.equals(0.0), magnitude.equals(math.inf)
    to_zero = zero ^ (y.high < 0.0)
    result = (zero | infinite).choose(to_zero.choose(0.0, x.of(math.inf)), result)
    negative = x.sign_bit()
    result = (negative & odd).choose(-result, result)
    if whole is not None:
        undefined = (x < 0.0) & (x > -math.inf) & ~whole
        result = undefined.choose(math.nan, result)
    result = (x.is_nan() | y.high.is_nan()).choose(math.nan, result)
    result = (magnitude.equals(1.0) & abs(y.high).equals(math.inf)).choose(1.0, result)
    return (x.equals(1.0) | y.high.equals(0.0)).choose(1.0, result)


def pow(x: Number, y: Number) -> Number:
    """x to the power of y, with the special cases of C's pow."""
    half = y * 0.5
    whole = y.truncated().equals(y)
    odd = whole & ~half.truncated().equals(half)
    return _power(x, Pair(y, y.of(0.0)), odd, whole)


def powi(x: Number, n: Number) -> Number:
    """x to the power of a signed integer; as pow of the exact exponent."""
    odd = ~(n & 1).equals(0)
    return _power(x, _integer_pair(n, x.type), odd, None)


def _integer_pair(n: Number, type: FloatType) -> Pair:
    """A signed integer as a pair of floats: its magnitude in pieces that are floats each, added from the top."""
    precision = FORMATS[type].precision
    integer: IntegerType = n.type
    magnitude = abs(n)
    negative = n < 0
    pieces: list[Number] = []
    for low in range(0, integer.width, precision):
        piece = magnitude.shifted(low) if low else magnitude
        if low + precision < integer.width:
            piece = piece & ((1 << precision) - 1)
        value = piece.unsigned_to_float(type)
        pieces.insert(0, value * 2.0**low)
    total = Pair(pieces[0], pieces[0].of(0.0))
    for piece in pieces[1:]:
        head = two_sum(total.high, piece)
        total = two_sum(head.high, total.low + head.low)
    return Pair(*(negative.choose(-part, part) for part in total))
