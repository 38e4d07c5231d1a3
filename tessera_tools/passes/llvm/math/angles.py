"""sin, cos, tan of any finite number, and atan2.

x = q · π/2 + r, |r| ≤ π/4, r as a pair      q mod 4 selects one of ±sin(r), ±cos(r)

Up to a limit, r is x minus q times π/2 in three parts.  Beyond it, where q would not be exact, x is multiplied with the
binary digits of 2/π around its exponent, as an integer (Payne and Hanek), in a branch because it is expensive.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tessera_tools.dialects import llvm
from tessera_tools.ir.builtin_attributes import FALSE
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import IntegerType
from tessera_tools.passes.llvm.instructions import guarded
from tessera_tools.passes.llvm.math import coefficients
from tessera_tools.passes.llvm.math.constants import pi, two_over_pi
from tessera_tools.passes.llvm.math.numbers import (
    Number,
    Pair,
    constant_pair,
    polynomial,
    rounded_to_integer,
    split,
    times,
    two_difference,
    two_product,
    two_sum,
)

_LIMITS = {24: 2.0**16, 53: 2.0**28}
"""By precision: the limit up to which three parts of π/2 give r enough digits, for any distance of x to a multiple of
π/2."""


class Angle(NamedTuple):
    """q · π/2 + r; only the two lowest bits of q, an integer of the format's width, are relevant."""

    q: Number
    r: Pair


def _near(x: Number) -> Angle:
    """The reduction of |x| up to the limit."""
    first, second, third = split(pi() / 2, x.format.precision, 3)
    whole, q = rounded_to_integer(x, 2 / math.pi)
    # The first difference is exact, because the product is within a factor of two of x, or 0.
    product = two_product(whole, first)
    one = two_difference(x - product.high, product.low)
    product = two_product(whole, second)
    two = two_difference(one.high, product.high)
    low = (one.low + two.low - product.low) - whole * third
    return Angle(q, two_sum(two.high, low))


def _far(x: Number) -> Angle:
    """The reduction of a finite |x| beyond the limit.

    |x| = m · 2^(e - W + 1), where m is an integer of W bits and W is the format's width. The digits of 2/π that
    contribute multiples of 4 are omitted, and the next 3 W are used: three words a, so that |x| · 2/π = m · a · 2^(2 -
    3W) mod 4.  The upper 2 W bits of the product have q in their top two bits, and a fraction accurate to 2^(2 - 2W).
    For the number of either format that is nearest to a multiple of π/2, more than `precision` of its bits remain.
    """
    form = x.format
    width = form.integer.width
    bits = abs(x).bits()
    e = bits.shifted(form.mantissa) - form.bias
    m = ((bits & ((1 << form.mantissa) - 1)) | (1 << form.mantissa)) << (width - form.precision)
    # The digits from bit e - 1 of the words on, the first word being 0.
    start = e - 1
    index, offset = start.shifted(width.bit_length() - 1), start & (width - 1)
    most = (form.bias - 1) // width
    table = [x.bits().of(word) for word in (0, *two_over_pi(width, most + 3))]
    for step in reversed(range(most.bit_length())):
        taken = ~(index & (1 << step)).equals(0)
        # The words from `index` on that the remaining steps can reach.
        reach = min(len(table), (1 << step) + 3)
        table = [
            taken.choose(table[i + (1 << step)], table[i]) if i + (1 << step) < len(table) else table[i]
            for i in range(reach)
        ]
    words = [m.make(llvm.FShl, (table[i], table[i + 1], offset)) for i in range(3)]
    double = IntegerType(2 * width)
    wide = m.resized(double)
    high, middle, low = (wide * word.resized(double) for word in words)
    product = (high << width) + middle + low.shifted(width)
    quarter = (product + (1 << 2 * width - 3)).shifted(2 * width - 2)
    fraction = product << 2
    magnitude = abs(fraction)
    zeros = magnitude.make(llvm.CountLeadingZeros, (magnitude,), is_zero_poison=FALSE)
    digits = magnitude << zeros
    top = digits.shifted(2 * width - form.precision).resized(form.integer)
    rest = digits.shifted(2 * width - 2 * form.precision).resized(form.integer) & ((1 << form.precision) - 1)
    unit = ((form.bias - zeros.resized(form.integer)) << form.mantissa).as_float()
    negative = (fraction < 0) ^ (x < 0.0)
    turns = Pair(
        top.to_float(form.type) * unit * 2.0**-form.precision,
        rest.to_float(form.type) * unit * 2.0 ** (-2 * form.precision),
    )
    r = times(turns, constant_pair(pi() / 2, form.precision))
    q = quarter.resized(form.integer)
    return Angle((x < 0.0).choose(-q, q), Pair(*(negative.choose(-part, part) for part in two_sum(*r))))


def reduced(x: Number, most: float) -> Angle:
    """The angle of a finite x whose magnitude is at most `most`; undefined for infinity and NaN."""
    near = _near(x)
    limit = _LIMITS[x.format.precision]
    if most <= limit:
        return near
    far = (abs(x) > limit) & (abs(x) < math.inf)
    fallback = [near.q.value, near.r.high.value, near.r.low.value]

    def body() -> list[Value]:
        angle = _far(x)
        return [angle.q.value, angle.r.high.value, angle.r.low.value]

    q, high, low = (Number(x.e, value) for value in guarded(x.e, far.value, fallback, body))
    return Angle(q, Pair(high, low))


def _sin(r: Pair, u: Number) -> Number:
    return r.high + (r.high * u).fma(polynomial(coefficients.SIN, u), r.low)


def _cos(r: Pair, u: Number) -> Number:
    """1 - u/2 with its rounding error, and the rest."""
    half = u * 0.5
    head = 1.0 - half
    tail = (u * u).fma(polynomial(coefficients.COS, u), -(r.high * r.low))
    return head + (((1.0 - head) - half) + tail)


def _tiny(x: Number) -> Number:
    """True if x is its own sine and tangent, also for -0 and subnormal numbers."""
    return abs(x) < 2.0 ** (-x.format.precision // 2 - 1)


def _defined(x: Number, result: Number) -> Number:
    return (abs(x) < math.inf).choose(result, math.nan)


def _quarter_turn(angle: Angle, turns: int) -> Number:
    """The sine of the angle plus `turns` quarter turns."""
    q = angle.q + turns if turns else angle.q
    u = angle.r.high * angle.r.high
    result = (q & 1).equals(0).choose(_sin(angle.r, u), _cos(angle.r, u))
    return (q & 2).equals(0).choose(result, -result)


def sin(x: Number, most: float) -> Number:
    """The sine; |x| is at most `most`, or infinite, or x is a NaN."""
    return _tiny(x).choose(x, _defined(x, _quarter_turn(reduced(x, most), 0)))


def cos(x: Number, most: float) -> Number:
    """The cosine, as `sin`."""
    return _defined(x, _quarter_turn(reduced(x, most), 1))


def tan(x: Number, most: float) -> Number:
    """The tangent, as `sin`: tan(r), or -1 / tan(r) a quarter turn on."""
    q, r = reduced(x, most)
    u = r.high * r.high
    rough = r.high * u * polynomial(coefficients.TAN, u)
    first = r.high + rough
    # tan(r + d) = tan(r) + d · (1 + tan²(r))
    tangent = r.high + (rough + r.low.fma(first * first, r.low))
    result = (q & 1).equals(0).choose(tangent, -1.0 / tangent)
    return _tiny(x).choose(x, _defined(x, result))


def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y), with the special cases of C's atan2."""
    high, low = constant_pair(pi(), x.format.precision)
    up, right = abs(y), abs(x)
    steep = up > right
    less, more = steep.choose(right, up), steep.choose(up, right)
    # Both zero: the angle of (1, 0); both infinite: that of (1, 1).
    quotient = less.equals(math.inf).choose(1.0, less / more.equals(0.0).choose(1.0, more))
    u = quotient * quotient
    angle = (quotient * u).fma(polynomial(coefficients.ATAN, u), quotient)
    angle = steep.choose(high / 2 - (angle - low / 2), angle)
    angle = x.sign_bit().choose(high - (angle - low), angle)
    result = angle.with_sign_of(y)
    return (x.is_nan() | y.is_nan()).choose(math.nan, result)
