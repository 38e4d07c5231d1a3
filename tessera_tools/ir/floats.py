"""Floating-point formats: Python float ⇄ the bits of an MLIR float type ⇄ MLIR's text.

    1.5 ──encode──▶ 0x3FC00000 ──to_text──▶ "1.500000e+00" ──parse──▶ 0x3FC00000 ──decode──▶ 1.5

A format is sign, exponent and fraction fields (the x87 `f80` has an explicit integer bit besides).  The narrow
formats differ in the top of their range: the IEEE ones end in infinities and NaNs, the `FN` ones in a
single NaN or in nothing but numbers, and the `FNUZ` ones put their NaN where the negative zero would be
(OCP 8-bit and microscaling formats specifications; LLVM's APFloat for the `FNUZ` ones).
"""

from __future__ import annotations

import math
import re
import struct
from functools import lru_cache

from tessera_tools.records import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The fields of a format.  `top` defines the highest codes:

    "ieee": infinity and NaNs; "nan": the all-ones code is NaN; "negative zero": the code of -0 is NaN and nothing
    else is special; "finite": only numbers.  `fraction` does not count the implicit (or, in f80, explicit) 1.
    """

    exponent: int
    fraction: int
    bias: int
    top: str = "ieee"
    signed: bool = True
    explicit_one: bool = False
    has_zero: bool = True

    @property
    def width(self) -> int:
        return self.signed + self.exponent + self.fraction + self.explicit_one

    @property
    def least_exponent(self) -> int:
        """The exponent of the smallest normal number."""
        return 1 - self.bias if self.has_zero else -self.bias

    @property
    def largest(self) -> int:
        """The code (without sign and explicit one) of the largest finite number."""
        ones = (1 << self.exponent + self.fraction) - 1
        if self.top == "ieee":
            return (((1 << self.exponent) - 1) << self.fraction) - 1
        return ones - 1 if self.top == "nan" else ones


FORMATS = {
    "f16": FloatFormat(5, 10, 15),
    "bf16": FloatFormat(8, 7, 127),
    "f32": FloatFormat(8, 23, 127),
    "tf32": FloatFormat(8, 10, 127),
    "f64": FloatFormat(11, 52, 1023),
    "f80": FloatFormat(15, 63, 16383, explicit_one=True),
    "f128": FloatFormat(15, 112, 16383),
    "f8E5M2": FloatFormat(5, 2, 15),
    "f8E4M3": FloatFormat(4, 3, 7),
    "f8E3M4": FloatFormat(3, 4, 3),
    "f8E4M3FN": FloatFormat(4, 3, 7, "nan"),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, "negative zero"),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, "negative zero"),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, "negative zero"),
    "f8E8M0FNU": FloatFormat(8, 0, 127, "nan", signed=False, has_zero=False),
    "fnv8E5M3FNU": FloatFormat(5, 3, 15, "nan", signed=False),
    "f6E3M2FN": FloatFormat(3, 2, 3, "finite"),
    "f6E2M3FN": FloatFormat(2, 3, 1, "finite"),
    "f4E2M1FN": FloatFormat(2, 1, 1, "finite"),
}
"""The formats by MLIR keyword."""


def has_every_number(wide: FloatFormat, narrow: FloatFormat) -> bool:
    """True if a format represents each number of another, possibly as a subnormal number."""
    return (
        narrow.fraction <= wide.fraction
        and (narrow.largest >> narrow.fraction) - narrow.bias <= (wide.largest >> wide.fraction) - wide.bias
        and narrow.least_exponent - narrow.fraction >= wide.least_exponent - wide.fraction
    )


def has_normal_range(wide: FloatFormat, narrow: FloatFormat) -> bool:
    """True if a format represents each number of another, and the normal ones as normal numbers."""
    return has_every_number(wide, narrow) and narrow.least_exponent >= wide.least_exponent


# -- numbers to bits


def encode(value: float, keyword: str) -> int:
    """The bits of the nearest number of the format, ties to even.

    A value out of range gives infinity, or NaN if the format has no infinity, or the largest number if it
    has neither.  Raises ValueError if the format has no code for the value (a NaN in f4E2M1FN, a zero or a negative
    number in f8E8M0FNU).
    """
    if keyword == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    form = FORMATS[keyword]
    negative = math.copysign(1.0, value) < 0
    if math.isnan(value):
        return _pack(form, negative and form.top == "ieee", _nan(form))
    if math.isinf(value):
        return _pack(form, negative, _overflow(form))
    if value == 0:
        if not form.has_zero:
            raise ValueError(f"{keyword} has no zero")
        return _pack(form, negative, 0)
    numerator, denominator = abs(value).as_integer_ratio()
    return _round(form, keyword, negative, numerator, 1 - denominator.bit_length())


def _round(form: FloatFormat, keyword: str, negative: bool, significand: int, exponent: int) -> int:
    """The bits of ±significand·2^exponent; the lowest bit of a long significand may be a sticky bit."""
    if negative and not form.signed:
        raise ValueError(f"{keyword} has no negative numbers")
    top = max(significand.bit_length() - 1 + exponent, form.least_exponent)
    shift = top - form.fraction - exponent
    if shift <= 0:
        kept = significand << -shift
    else:
        kept = significand >> shift
        rest, half = significand - (kept << shift), 1 << (shift - 1)
        kept += rest > half or (rest == half and kept & 1)
    if kept >> form.fraction:
        # A carry out of the fraction increments the exponent.
        field = top + form.bias
        code = (field << form.fraction) + kept - (1 << form.fraction)
    else:
        code = kept
    if code > form.largest:
        code = _overflow(form)
    return _pack(form, negative, code)


def _overflow(form: FloatFormat) -> int:
    if form.top == "ieee":
        return form.largest + 1
    return form.largest if form.top == "finite" else _nan(form)


def _nan(form: FloatFormat) -> int:
    """The code of the canonical (quiet) NaN; -1 for the code of the negative zero."""
    if form.top == "ieee":
        return form.largest + 1 + (1 << form.fraction >> 1)
    if form.top == "nan":
        return form.largest + 1
    if form.top == "negative zero":
        return -1
    raise ValueError("the format has no NaN")


def _pack(form: FloatFormat, negative: bool, code: int) -> int:
    if code < 0:
        return 1 << (form.width - 1)
    if code == 0 and form.top == "negative zero":
        negative = False
    if form.explicit_one:
        field, fraction = code >> form.fraction, code & ((1 << form.fraction) - 1)
        code = (field << 1 | (field != 0)) << form.fraction | fraction
    return (negative and form.signed) << (form.width - 1) | code


# -- bits to numbers


def is_nan(bits: int, keyword: str) -> bool:
    """True if the bits encode a NaN."""
    return _parts(bits, keyword)[3] == "nan"


def is_inf(bits: int, keyword: str) -> bool:
    """True if the bits encode an infinity."""
    return _parts(bits, keyword)[3] == "inf"


def _parts(bits: int, keyword: str) -> tuple[bool, int, int, str]:
    """(negative, significand, exponent, kind): the number is ±significand·2^exponent if the kind is "number"."""
    form = FORMATS[keyword]
    negative = form.signed and bool(bits >> (form.width - 1) & 1)
    code = bits & ((1 << (form.width - form.signed)) - 1)
    if form.top == "negative zero" and negative and code == 0:
        return negative, 0, 0, "nan"
    one = 0
    if form.explicit_one:
        one = code >> form.fraction & 1
        code = code >> (form.fraction + 1) << form.fraction | code & ((1 << form.fraction) - 1)
    field, fraction = code >> form.fraction, code & ((1 << form.fraction) - 1)
    if code > form.largest:
        return negative, 0, 0, "inf" if form.top == "ieee" and not fraction else "nan"
    if not form.explicit_one:
        one = int(field != 0 or not form.has_zero)
    exponent = max(field, int(form.has_zero)) - form.bias - form.fraction
    return negative, one << form.fraction | fraction, exponent, "number"


def decode(bits: int, keyword: str) -> float:
    """The number as a Python float (f80 and f128 are rounded, to infinity beyond its range)."""
    if keyword == "f64":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if keyword == "f32":
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    negative, significand, exponent, kind = _parts(bits, keyword)
    if kind == "number":
        if significand.bit_length() > 53:
            # ldexp takes a float: round once, before the call.
            wide = _round(FORMATS["f64"], "f64", negative, significand, exponent)
            return decode(wide, "f64")
        magnitude = math.ldexp(significand, exponent)
    else:
        magnitude = math.inf if kind == "inf" else math.nan
    return -magnitude if negative else magnitude


# -- text


@lru_cache(maxsize=65536)
def to_text(bits: int, keyword: str) -> str:
    """The number as MLIR prints it in a float attribute.

    `1.500000e+00` if these digits are parsed to the same bits; otherwise enough digits to distinguish all numbers
    of the format (`3.1415926535897931`).  Infinities, NaNs, and numbers that would look like an integer are printed
    as hexadecimal bits.
    """
    negative, significand, exponent, kind = _parts(bits, keyword)
    if kind == "number":
        sign = "-" if negative else ""
        if significand == 0:
            return f"{sign}0.000000e+00"
        short, power = _digits(significand, exponent, 6)
        if _from_decimal(negative, int(short), power, keyword) == bits:
            return f"{sign}{short[0]}.{short[1:]:0<6}e{power + len(short) - 1:+03d}"
        precision = 2 + (FORMATS[keyword].fraction + 1) * 59 // 196
        digits, power = _digits(significand, exponent, precision)
        text = _plain(digits, power, precision)
        if "." in text:
            return sign + text
    return f"0x{bits:X}"


def _digits(significand: int, exponent: int, count: int) -> tuple[str, int]:
    """At most `count` significant decimal digits d and a power p of ten with d·10^p ≈ significand·2^exponent.

    As APFloat: excess digits are first truncated by an estimate from the number of bits, which may leave exactly
    `count` of them.  A longer remainder is rounded half up.
    """
    trailing = (significand & -significand).bit_length() - 1
    significand >>= trailing
    exponent += trailing
    power = min(exponent, 0)
    significand = significand << exponent if exponent > 0 else significand * 5**-exponent
    excess = significand.bit_length() - (count * 196 + 58) // 59
    if excess > 0:
        removable = excess * 59 // 196
        significand //= 10**removable
        power += removable
    text = str(significand)
    if len(text) > count:
        cut = len(text) - count
        text = str(int(text[:count]) + (text[count] >= "5"))
        power += cut
    kept = text.rstrip("0")
    return kept, power + len(text) - len(kept)


def _plain(digits: str, power: int, precision: int) -> str:
    """Digits·10^power without an exponent if at most three zeros are padded, otherwise as `1.5E+20`."""
    leading = power + len(digits) - 1
    if power >= 0:
        scientific = power > 3 or len(digits) + power > precision
    else:
        scientific = leading < -3
    if scientific:
        return f"{digits[0]}.{digits[1:] or '0'}E{leading:+d}"
    if power >= 0:
        return digits + "0" * power
    if leading >= 0:
        return f"{digits[: leading + 1]}.{digits[leading + 1 :]}"
    return f"0.{'0' * (-leading - 1)}{digits}"


def _from_decimal(negative: bool, digits: int, power: int, keyword: str) -> int:
    """The bits of the number of the format nearest to ±digits·10^power (digits > 0)."""
    form = FORMATS[keyword]
    if power >= 0:
        return _round(form, keyword, negative, digits * 10**power, 0)
    divisor = 10**-power
    # Enough quotient bits for the lowest to be a sticky bit.
    shift = max(0, divisor.bit_length() - digits.bit_length()) + form.fraction + 4
    quotient, rest = divmod(digits << shift, divisor)
    return _round(form, keyword, negative, quotient << 1 | (rest != 0), -shift - 1)


_DECIMAL = re.compile(r"[-+]?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?)?")
_HEX = re.compile(r"0x[0-9a-fA-F]+")


def parse(text: str, keyword: str) -> int:
    """The bits of a float literal: decimal (`1.5`, `-2.0e-3`), or the bits themselves in hex.

    Decimals are read as f64 and then rounded to the format, as MLIR does.  Raises ValueError
    with MLIR's message for other text, and for hex that does not fit.
    """
    if _HEX.fullmatch(text):
        bits = int(text, 16)
        if bits >> FORMATS[keyword].width:
            raise ValueError(f"hexadecimal float constant out of range for type {keyword}")
        return bits
    if text.startswith("-0x"):
        raise ValueError("hexadecimal float literal should not have a leading minus")
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"expected a floating point literal, found '{text}'")
    return encode(float(text), keyword)
