"""Exact rounding: from a float64 rounded to odd to the pattern of any PTX floating-point format.

    operands ──exact_sum, exact_quotient, …──▶ float64 rounded to odd ──encode(format, mode)──▶ pattern

A float64 *rounded to odd* has its last bit set if it is inexact. Rounding it again, to a format with at most 51 bits of
precision and in any mode, is equal to one rounding of the exact value (Boldo, Melquiond). So every result narrower
than f64 is rounded once; f64 has separate functions (sim/wide.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tessera_tools.sim.arrays import Array, some

__all__ = ["BF16", "F16", "F32", "FORMATS", "Format", "decode", "encode", "odd_integer", "odd_product_sum",
           "odd_quotient", "odd_root", "odd_sum"]  # fmt: skip

_U64 = np.uint64
_SIGN = _U64(1 << 63)
_MAGNITUDE = _U64((1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format. `low` is the lowest bit of its mantissa: tf32 is in the high bits of 32.

    `nan` is the canonical NaN, -1 if it has none; `top` the largest finite pattern.
    """

    name: str
    bits: int
    exponent: int
    mantissa: int
    nan: int
    top: int
    infinity: bool
    low: int = 0
    unsigned: bool = False

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1


def _ieee(name: str, bits: int, exponent: int, mantissa: int, low: int = 0) -> Format:
    top = ((1 << exponent) - 1 << mantissa) - 1
    return Format(name, bits, exponent, mantissa, (1 << exponent + mantissa) - 1, top, True, low)


F16 = _ieee("f16", 16, 5, 10)
BF16 = _ieee("bf16", 16, 8, 7)
F32 = _ieee("f32", 32, 8, 23)
FORMATS: dict[str, Format] = {
    "f16": F16,
    "bf16": BF16,
    "f32": F32,
    "tf32": Format("tf32", 32, 8, 10, (1 << 18) - 1, (255 << 10) - 1, True, 13),
    "e5m2": _ieee("e5m2", 8, 5, 2),
    "e4m3": Format("e4m3", 8, 4, 3, 0x7F, 0x7E, False),
    "e2m3": Format("e2m3", 6, 2, 3, -1, 0x1F, False),
    "e3m2": Format("e3m2", 6, 3, 2, -1, 0x1F, False),
    "e2m1": Format("e2m1", 4, 2, 1, -1, 0x7, False),
    "ue8m0": Format("ue8m0", 8, 8, 0, 0xFF, 0xFE, False, unsigned=True),
}
"""The formats narrower than f64 (PTX ISA, "Fundamental Types", "Alternate Floating-Point Data Formats")."""


_NARROWER: dict[str, tuple[type[np.floating], type[np.unsignedinteger]]] = {
    "f32": (np.float32, np.uint32),
    "f16": (np.float16, np.uint16),
}
"""Formats to which NumPy rounds a float64 to nearest even."""


def encode(values: Array, to: Format, mode: str = "rn", *, finite: bool = False) -> Array:
    """float64 values (rounded to odd where inexact) → patterns of `to` as uint32.

    `mode`: rn (nearest even), rna (nearest, ties away), rz, rm (down), rp (up). Values past the largest finite one
    become infinity or, with `finite` or in formats without one, the largest finite; a NaN the canonical one.
    """
    if mode == "rn" and not finite and to.name in _NARROWER:
        dtype, unsigned = _NARROWER[to.name]
        rounded = np.asarray(values, np.float64).astype(dtype)
        pattern = rounded.view(unsigned).astype(np.uint32, copy=False)
        nan = np.isnan(rounded)
        if some(nan):
            pattern[nan] = to.nan
        return pattern
    bits = np.asarray(values, np.float64).view(_U64)
    sign = bits >= _SIGN
    magnitude = bits & _MAGNITUDE
    if to.unsigned:
        return _powers(magnitude, sign, to, mode)
    field = (magnitude >> _U64(52)).view(np.int64)
    normal = field > 0
    mantissa = (magnitude & _U64((1 << 52) - 1)) | (normal.astype(_U64) << _U64(52))
    least = 1 - to.bias
    exponent = np.maximum(np.where(normal, field, 1) - 1023, least - 60)
    shift = 52 - to.mantissa + np.maximum(least - exponent, 0)
    shift = np.minimum(shift, 60).astype(_U64)
    quotient = mantissa >> shift
    rest = mantissa & ((_U64(1) << shift) - _U64(1))
    if mode == "rn":
        half = _U64(1) << shift - _U64(1)
        up = (rest > half) | ((rest == half) & (quotient & _U64(1) == 1))
    elif mode == "rna":
        up = rest >= _U64(1) << shift - _U64(1)
    elif mode == "rp":
        up = (rest > 0) & ~sign
    elif mode == "rm":
        up = (rest > 0) & sign
    elif mode == "rz":
        up = np.zeros(rest.shape, np.bool_)
    else:
        raise ValueError(f"no rounding '{mode}'")
    scale = (np.maximum(exponent, least) - least).astype(_U64) << _U64(to.mantissa)
    pattern = (scale + quotient + up).astype(np.int64)
    infinite = field == 2047
    over = (pattern > to.top) | infinite
    if some(over):
        past = np.full(pattern.shape, to.top, np.int64)
        if to.infinity and not finite:
            toward = {"rn": True, "rna": True, "rz": False, "rp": ~sign, "rm": sign}[mode]
            past = np.where(infinite | toward, to.top + 1, past)
        pattern = np.where(over, past, pattern)
    nan = magnitude > _U64(0x7FF << 52)
    pattern |= sign.astype(np.int64) << (to.bits - 1 - to.low)
    if to.nan >= 0:
        pattern = np.where(nan, to.nan, pattern)
    else:
        # Formats without a NaN: a NaN becomes the largest positive value (PTX ISA, "cvt", .satfinite).
        pattern = np.where(nan, to.top, pattern)
    return (pattern << to.low).astype(np.uint32)


def _powers(magnitude: Array, sign: Array, to: Format, mode: str) -> Array:
    """ue8m0: powers of two from 2^-127 to 2^127, without a sign; a negative value is converted by its magnitude."""
    field = (magnitude >> _U64(52)).view(np.int64) - 1023
    rest = magnitude & _U64((1 << 52) - 1)
    up = rest > 0 if mode == "rp" else np.zeros(rest.shape, np.bool_)
    pattern = np.clip(np.where(magnitude == 0, -127, field + up) + 127, 0, 254)
    return np.where(magnitude > _U64(0x7FF << 52), to.nan, pattern).astype(np.uint32)


def decode(patterns: Array, source: Format) -> Array:
    """Patterns (any unsigned dtype) → float64, exactly; NaN stays NaN."""
    if source is F32:
        return patterns.astype(np.uint32, copy=False).view(np.float32).astype(np.float64)
    if source is F16:
        return patterns.astype(np.uint16, copy=False).view(np.float16).astype(np.float64)
    if source.low or source is BF16:
        shift = np.uint32(32 - source.bits) if source is BF16 else np.uint32(0)
        wide = patterns.astype(np.uint32) << shift
        if source.low:
            wide &= np.uint32(0xFFFFFFFF << source.low & 0xFFFFFFFF)
        return wide.view(np.float32).astype(np.float64)
    return _table(source)[patterns.astype(np.intp) & ((1 << source.bits) - 1)]


_tables: dict[str, Array] = {}


def _table(source: Format) -> Array:
    """Every value of a small format."""
    table = _tables.get(source.name)
    if table is None:
        table = np.array([_value(pattern, source) for pattern in range(1 << source.bits)], np.float64)
        _tables[source.name] = table
    return table


def _value(pattern: int, source: Format) -> float:
    if source.unsigned:
        return float("nan") if pattern == source.nan else 2.0 ** (pattern - 127)
    sign = -1.0 if pattern >> source.bits - 1 else 1.0
    magnitude = pattern & (1 << source.bits - 1) - 1
    field, mantissa = magnitude >> source.mantissa, magnitude & (1 << source.mantissa) - 1
    if magnitude > source.top:
        is_infinite = source.infinity and mantissa == 0
        return sign * float("inf") if is_infinite else float("nan")
    if field == 0:
        return sign * mantissa * 2.0 ** (1 - source.bias - source.mantissa)
    return sign * (1 + mantissa / (1 << source.mantissa)) * 2.0 ** (field - source.bias)


def _to_odd(value: Array, lost: Array) -> Array:
    """`value`, a float64 rounded to nearest, and the sign of exact - value → rounded to odd."""
    bits = value.view(np.int64)
    inexact = (lost != 0) & np.isfinite(value) & (bits & 1 == 0)
    if not some(inexact):
        return value
    away = np.where((lost > 0) == (value > 0), 1, -1)
    return np.where(inexact, bits + away, bits).view(np.float64)


def odd_sum(x: Array, y: Array) -> Array:
    """x + y of float64 rows (far from overflow), rounded to odd; the error is Knuth's two-sum."""
    total = x + y
    back = total - x
    return _to_odd(total, (x - (total - back)) + (y - back))


def odd_product_sum(x: Array, y: Array, z: Array) -> Array:
    """x·y + z, where x·y is exact in float64 (formats of at most 26 bits of precision)."""
    return odd_sum(x * y, z)


_SPLIT = 134217729.0  # 2^27 + 1


def _product_error(x: Array, y: Array, product: Array) -> Array:
    """x·y - product (Dekker), for factors far from overflow."""
    xh = x * _SPLIT
    xh = xh - (xh - x)
    yh = y * _SPLIT
    yh = yh - (yh - y)
    xl, yl = x - xh, y - yh
    return xl * yl - (((product - xh * yh) - xl * yh) - xh * yl)


def odd_quotient(x: Array, y: Array) -> Array:
    """x / y of values of at most f32's range, rounded to odd."""
    quotient = x / y
    product = quotient * y
    # x - quotient*y, in two exact steps; its sign relative to y's tells the side of the exact quotient.
    rest = (x - product) - _product_error(quotient, y, product)
    return _to_odd(quotient, np.where(np.isfinite(rest), rest * np.sign(y), 0))


def odd_root(x: Array) -> Array:
    """The square root of values of at most f32's range, rounded to odd."""
    root = np.sqrt(x)
    square = root * root
    rest = (x - square) - _product_error(root, root, square)
    return _to_odd(root, np.where(np.isfinite(rest), rest, 0))


def odd_integer(x: Array) -> Array:
    """Integers of any width → float64, rounded to odd where they have more than 53 bits."""
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    negative = x < 0
    magnitude = np.where(negative, -x.view(np.int64), x.view(np.int64)).view(_U64)
    large = magnitude >> _U64(53) != 0
    sticky = (magnitude >> _U64(11)) | (magnitude & _U64(0x7FF) != 0)
    value = np.where(
        large, sticky.astype(np.float64) * 2048.0, (magnitude & _U64((1 << 53) - 1)).astype(np.float64)
    )
    return np.where(negative, -value, value)
