"""f64 arithmetic in every rounding mode: error-free transformations where they are exact, otherwise exact fractions.

fma(a, b, c, mode) ── exponents moderate, nearest even ──▶ two-product, two-sum, round to odd (vectorized)
                   └─ else ──▶ Fraction, lane by lane ──▶ rounded
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tessera_tools.sim.arrays import Array, every

__all__ = ["add", "divide", "fma", "from_integer", "multiply", "root", "round_fraction"]

_SPLIT = 134217729.0
_LEAST = Fraction(1, 1 << 1074)


def round_fraction(value: Fraction, mode: str, zero: float = 0.0) -> float:
    """The float64 adjacent to an exact value; `zero` is the result for an exact 0 (it has the correct sign)."""
    if not value:
        return zero
    negative = value < 0
    magnitude = -value if negative else value
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    step = max(exponent - 52, -1074)
    scaled = magnitude / Fraction(2) ** step
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    half = Fraction(1, 2)
    if mode == "rn":
        up = rest > half or (rest == half and whole & 1)
    else:
        up = bool(rest) and ((mode == "rp" and not negative) or (mode == "rm" and negative))
    whole += up
    if whole.bit_length() + step > 1024:
        toward = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
        result = math.inf if toward else 1.7976931348623157e308
    else:
        result = math.ldexp(whole, step)
    return -result if negative else result


def _exact(
    plain: Array,
    rows: tuple[Array, ...],
    mode: str,
    compute: Callable[..., Fraction],
    chosen: Array | None = None,
) -> Array:
    """`plain`, with the finite lanes of `chosen` computed exactly and rounded by `mode`."""
    out = np.array(plain, np.float64)
    finite = np.ones(out.shape, np.bool_)
    for row in rows:
        finite &= np.isfinite(row)
    if chosen is not None:
        finite &= chosen
    for lane in np.flatnonzero(finite):
        operands = [Fraction(float(row[lane])) for row in rows]
        try:
            value = compute(*operands)
        except ZeroDivisionError:
            continue
        # An exact zero: the result of the plain operation, except that x - x is -0 when rounding down.
        zero = float(plain[lane])
        if value == 0 and compute in (_sum, _fused):
            zero = _zero_sum(rows, int(lane), mode)
        out[lane] = round_fraction(value, mode, zero)
    return out


def _zero_sum(rows: tuple[Array, ...], lane: int, mode: str) -> float:
    """The sign of a sum that is exactly zero: that of both addends if they agree, else + (- when rounding down)."""
    values = [float(row[lane]) for row in rows]
    first = math.copysign(1.0, values[0]) * (math.copysign(1.0, values[1]) if len(values) == 3 else 1.0)
    last = math.copysign(1.0, values[-1])
    addend_is_zero = values[-1] == 0
    if addend_is_zero and first == last:
        return math.copysign(0.0, first)
    return -0.0 if mode == "rm" else 0.0


def _sum(x: Fraction, y: Fraction) -> Fraction:
    return x + y


def _fused(x: Fraction, y: Fraction, z: Fraction) -> Fraction:
    return x * y + z


def add(x: Array, y: Array, mode: str) -> Array:
    """x + y in one rounding."""
    return x + y if mode == "rn" else _exact(x + y, (x, y), mode, _sum)


def multiply(x: Array, y: Array, mode: str) -> Array:
    return x * y if mode == "rn" else _exact(x * y, (x, y), mode, lambda a, b: a * b)


def divide(x: Array, y: Array, mode: str) -> Array:
    return x / y if mode == "rn" else _exact(x / y, (x, y), mode, lambda a, b: a / b)


def fma(x: Array, y: Array, z: Array, mode: str = "rn") -> Array:
    """x·y + z in one rounding, exactly as IEEE 754 defines it."""
    plain = x * y + z
    if mode != "rn":
        return _exact(_infinities(x, y, z, plain), (x, y, z), mode, _fused)
    # Boldo, Melquiond: "Emulation of FMA and correctly rounded sums". Exact away from overflow and underflow.
    product = x * y
    size = np.abs(product)
    moderate = (
        (size < 1e290) & ((size > 1e-250) | (x == 0) | (y == 0)) & (np.abs(x) < 1e290) & (np.abs(y) < 1e290)
    )
    moderate &= (np.abs(z) < 1e290) & ((np.abs(z) > 1e-250) | (z == 0))
    xh = x * _SPLIT
    xh = xh - (xh - x)
    yh = y * _SPLIT
    yh = yh - (yh - y)
    xl, yl = x - xh, y - yh
    error = xl * yl - (((product - xh * yh) - xl * yh) - xh * yl)
    th, tl = _two_sum(z, error)
    vh, vl = _two_sum(product, th)
    low, lost = _two_sum(tl, vl)
    bits = low.view(np.int64)
    away = np.where((lost > 0) == (low > 0), 1, -1)
    odd = np.where((lost != 0) & (bits & 1 == 0), bits + away, bits).view(np.float64)
    result = vh + odd
    # A zero keeps the sign of the plain sum, except if the product underflowed.
    result = np.where((result == 0) & moderate, plain, result)
    if every(moderate):
        return result
    fallback = _exact(_infinities(x, y, z, plain), (x, y, z), mode, _fused, ~moderate)
    return np.where(moderate, result, fallback)


def _infinities(x: Array, y: Array, z: Array, plain: Array) -> Array:
    """If z is infinite and x·y only overflows, the sum is z."""
    return np.where(np.isinf(z) & np.isfinite(x) & np.isfinite(y), z, plain)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def root(x: Array, mode: str) -> Array:
    """The square root, rounded by `mode`."""
    plain = np.sqrt(x)
    if mode == "rn":
        return plain
    out = plain.copy()
    for lane in np.flatnonzero(np.isfinite(plain) & (plain > 0)):
        value = float(plain[lane])
        order = Fraction(value) ** 2 - Fraction(float(x[lane]))
        if order > 0 and mode in ("rz", "rm"):
            out[lane] = math.nextafter(value, 0.0)
        elif order < 0 and mode == "rp":
            out[lane] = math.nextafter(value, math.inf)
    return out


def from_integer(x: Array, mode: str) -> Array:
    """64-bit integers → float64."""
    if mode == "rn" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    return np.array([round_fraction(Fraction(int(value)), mode) for value in x])
