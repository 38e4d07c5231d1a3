"""A model of binary floating point that shares nothing with the simulator: scalars, exact fractions, one rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Binary:
    """An IEEE format by its exponent and mantissa bits."""

    name: str
    exponent: int
    mantissa: int
    dtype: str
    nan: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    def value(self, pattern: int) -> float:
        """The pattern's value; every format here fits a Python float."""
        sign = -1.0 if pattern >> self.bits - 1 else 1.0
        field = pattern >> self.mantissa & (1 << self.exponent) - 1
        low = pattern & (1 << self.mantissa) - 1
        bias = (1 << self.exponent - 1) - 1
        if field == (1 << self.exponent) - 1:
            return math.nan if low else sign * math.inf
        if field == 0:
            return sign * math.ldexp(low, 1 - bias - self.mantissa)
        return sign * math.ldexp(low | 1 << self.mantissa, field - bias - self.mantissa)

    def pattern(self, value: Fraction | float, mode: str = "rn", zero_sign: float = 1.0) -> int:
        """The pattern next to an exact value in the direction of `mode`."""
        sign_bit = 1 << self.bits - 1
        if isinstance(value, float):
            if math.isnan(value):
                return self.nan
            if math.isinf(value):
                top = ((1 << self.exponent) - 1) << self.mantissa
                return top | (sign_bit if value < 0 else 0)
            zero_sign = math.copysign(1.0, value)
            value = Fraction(value)
        if value == 0:
            return sign_bit if zero_sign < 0 else 0
        negative, magnitude = value < 0, abs(value)
        # The two neighbors by bisection over the patterns, which are ordered as their values are.
        low, high = 0, ((1 << self.exponent) - 1) << self.mantissa
        while high - low > 1:
            middle = (low + high) // 2
            if Fraction(self.value(middle)) <= magnitude:
                low = middle
            else:
                high = middle
        below = Fraction(self.value(low))
        infinite = high == ((1 << self.exponent) - 1) << self.mantissa
        above = 2 * below - Fraction(self.value(low - 1)) if infinite else Fraction(self.value(high))
        if magnitude == below:
            chosen = low
        elif mode in ("rn", "rna"):
            twice = 2 * magnitude - below - above
            chosen = low if twice < 0 else high if twice > 0 else high if mode == "rna" or low & 1 else low
        elif mode == "rz" or (mode == "rp") == negative:
            chosen = low
        else:
            chosen = high
        return chosen | (sign_bit if negative else 0)

    def edges(self) -> list[int]:
        """Zeros, subnormals, powers of two, their neighbors, the largest, infinity, NaN; of both signs."""
        bias = (1 << self.exponent - 1) - 1
        one = bias << self.mantissa
        top = ((1 << self.exponent) - 1) << self.mantissa
        least = 1 << self.mantissa
        found = [
            0,
            1,
            2,
            least - 1,
            least,
            least + 1,
            one - 1,
            one,
            one + 1,
            one + (least >> 1),
            top - 1,
            top - 2,
        ]
        found += [top, self.nan & (1 << self.bits - 1) - 1, one + least, one - least, 3 * (least >> 1) + one]
        found += [one + (self.mantissa + 1) * least, one + self.mantissa * least + 1]
        found = [pattern for pattern in found if 0 <= pattern < 1 << self.bits - 1]
        return sorted({p | s for p in found for s in (0, 1 << self.bits - 1)})

    def samples(self, count: int, seed: int) -> Any:
        """Random patterns, half of them with exponents near one another."""
        generator = np.random.default_rng(seed)
        raw = (
            generator.integers(0, 1 << self.bits, count, np.uint64, endpoint=False)
            if self.bits < 64
            else (generator.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True))
        )
        bias = (1 << self.exponent - 1) - 1
        near = bias + generator.integers(-3, 4, count)
        exponent_mask = np.uint64(((1 << self.exponent) - 1) << self.mantissa)
        close = (raw & ~exponent_mask) | (near.astype(np.uint64) << np.uint64(self.mantissa))
        return np.where(np.arange(count) % 2 == 0, raw, close).astype(self.dtype)


F16 = Binary("f16", 5, 10, "u2", 0x7FFF)
BF16 = Binary("bf16", 8, 7, "u2", 0x7FFF)
F32 = Binary("f32", 8, 23, "u4", 0x7FFFFFFF)
F64 = Binary("f64", 11, 52, "u8", 0x7FF8000000000000)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


def tuples(form: Binary, arity: int, count: int = 512, seed: int = 1) -> list[Any]:
    """`arity` arrays of patterns: combinations of edge values, then random ones."""
    edges = np.array(form.edges(), form.dtype)
    generator = np.random.default_rng(seed)
    if arity == 1:
        chosen = [edges]
    elif arity == 2:
        chosen = [np.repeat(edges, len(edges)), np.tile(edges, len(edges))]
    else:
        chosen = [generator.choice(edges, 1500) for _ in range(arity)]
    return [np.concatenate([part, form.samples(count, seed + n)]) for n, part in enumerate(chosen)]


def _special(function: Callable[..., float], values: Iterable[float]) -> float:
    try:
        return function(*values)
    except (ValueError, OverflowError):
        return math.nan


def sums(form: Binary, mode: str, x: int, y: int) -> int:
    a, b = form.value(x), form.value(y)
    if not (math.isfinite(a) and math.isfinite(b)):
        return form.pattern(a + b)
    exact = Fraction(a) + Fraction(b)
    both = math.copysign(1.0, a) + math.copysign(1.0, b)
    zero = both / 2 if both and a == 0 and b == 0 else (-1.0 if mode == "rm" else 1.0)
    return form.pattern(exact, mode, zero)


def products(form: Binary, mode: str, x: int, y: int) -> int:
    a, b = form.value(x), form.value(y)
    if not (math.isfinite(a) and math.isfinite(b)):
        return form.pattern(_special(lambda p, q: p * q, (a, b)))
    return form.pattern(Fraction(a) * Fraction(b), mode, math.copysign(1.0, a) * math.copysign(1.0, b))


def fused(form: Binary, mode: str, x: int, y: int, z: int) -> int:
    a, b, c = form.value(x), form.value(y), form.value(z)
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    if not (math.isfinite(a) and math.isfinite(b)):
        return form.pattern(a * b + c)
    if not math.isfinite(c):
        return form.pattern(c)
    product = Fraction(a) * Fraction(b)
    if product == 0 and c == 0 and sign == math.copysign(1.0, c):
        zero = sign
    else:
        zero = -1.0 if mode == "rm" else 1.0
    return form.pattern(product + Fraction(c), mode, zero)


def quotients(form: Binary, mode: str, x: int, y: int) -> int:
    a, b = form.value(x), form.value(y)
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    if math.isnan(a) or math.isnan(b) or (a == 0 == b) or (math.isinf(a) and math.isinf(b)):
        return form.pattern(math.nan)
    if math.isinf(a) or b == 0:
        return form.pattern(sign * math.inf)
    if math.isinf(b):
        return form.pattern(sign * 0.0)
    return form.pattern(Fraction(a) / Fraction(b), mode, sign)


def roots(form: Binary, mode: str, x: int) -> int:
    """By comparing squares of the neighbors with the exact value."""
    a = form.value(x)
    if math.isnan(a) or a < 0:
        return form.pattern(math.nan)
    if a == 0 or math.isinf(a):
        return x
    exact = Fraction(a)
    scale = 1 << 2 * (form.mantissa + 80)
    shift = Fraction(4) ** (form.exponent and 600)
    whole = math.isqrt((exact * shift * scale * scale).__floor__())
    root = Fraction(whole, scale) / Fraction(2) ** 600
    if root * root != exact:
        root += Fraction(1, 4) / scale / Fraction(2) ** 600
    return form.pattern(root, mode)


def quiet(form: Binary, patterns: Any) -> Any:
    """NaNs made one: f64 keeps payloads, which PTX leaves open."""
    top = ((1 << form.exponent) - 1) << form.mantissa
    magnitude = patterns & np.array((1 << form.bits - 1) - 1, form.dtype)
    return np.where(magnitude > top, np.array(form.nan, form.dtype), patterns)
