"""Float formats by their definitions, in NumPy: every number of a format in a table, and the nearest found there.

Independent of the project's own formats (ir/floats.py, sim/rounding.py): the fields are written down here once more
(OCP 8-bit and microscaling formats specifications; IEEE 754; tf32 as NVIDIA defines it), and rounding compares with
the midpoints of neighbors, which float64 has exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Format:
    """A format: `top` is "infinity" (and NaNs), "nan" (all ones) or "numbers"."""

    exponent: int
    fraction: int
    bias: int
    top: str
    powers: bool = False
    """f8E8M0FNU: no sign, no zero."""

    @property
    def sign(self) -> int:
        """The sign's bit; 0 if there is none."""
        return 0 if self.powers else 1 << self.exponent + self.fraction

    @property
    def finite(self) -> int:
        """How many codes without sign are finite numbers."""
        everything = 1 << self.exponent + self.fraction
        return {"infinity": everything - (1 << self.fraction), "nan": everything - 1, "numbers": everything}[
            self.top
        ]

    @property
    def nan(self) -> int:
        """The code that a NaN becomes: all ones; the largest number where there is no NaN."""
        return (1 << self.exponent + self.fraction) - 1


FORMATS = {
    "f16": Format(5, 10, 15, "infinity"),
    "bf16": Format(8, 7, 127, "infinity"),
    "tf32": Format(8, 10, 127, "infinity"),
    "f8E5M2": Format(5, 2, 15, "infinity"),
    "f8E4M3FN": Format(4, 3, 7, "nan"),
    "f8E8M0FNU": Format(8, 0, 127, "nan", powers=True),
    "f4E2M1FN": Format(2, 1, 1, "numbers"),
}
NARROW = ("f8E5M2", "f8E4M3FN", "f8E8M0FNU", "f4E2M1FN")
FLOATS = ("f16", "bf16", "tf32", "f32", "f64", *NARROW)


@lru_cache
def numbers(name: str, past: int = 0) -> Array:
    """The finite numbers without sign by their codes, and `past` more as if the exponents went on."""
    form = FORMATS[name]
    codes = np.arange(form.finite + past)
    field, fraction = codes >> form.fraction, codes & (1 << form.fraction) - 1
    if form.powers:
        return np.ldexp(1.0, field - form.bias)
    one = np.where(field > 0, 1 << form.fraction, 0)
    return np.ldexp((one + fraction).astype(np.float64), np.maximum(field, 1) - form.bias - form.fraction)


def decode(name: str, codes: Array) -> Array:
    """The float64 values of codes."""
    form = FORMATS[name]
    magnitude = codes & (form.sign - 1 if form.sign else 0xFF)
    table = np.full(1 << form.exponent + form.fraction, np.nan)
    table[: form.finite] = numbers(name)
    if form.top == "infinity":
        table[form.finite] = np.inf
    values = table[magnitude]
    return np.where(codes & form.sign != 0, -values, values) if form.sign else values


def encode(name: str, values: Array, mode: str = "nearest_even", *, saturate: bool = False) -> Array:
    """The codes that float64 values are rounded to; beyond the range the largest number, or as `top` says."""
    form = FORMATS[name]
    table = numbers(name, past=1)
    magnitude = np.abs(values)
    finite = np.where(np.isfinite(magnitude), magnitude, 0.0)
    low = np.clip(np.searchsorted(table, finite, side="right") - 1, 0, form.finite)
    high = np.minimum(low + 1, form.finite)
    exact = table[low] == finite
    if mode == "zero":
        code = low
    elif mode == "positive_inf":
        code = np.where(exact | (finite < table[0]), low, high)
    else:
        middle = (table[low] + table[high]) / 2
        up = (finite > middle) | ((finite == middle) & ((low % 2 == 1) | (mode == "nearest_away")))
        code = np.where(~exact & up, high, low)
    beyond = form.finite - 1 if saturate or form.top == "numbers" else form.finite
    over = code >= form.finite
    if mode == "zero" and not saturate:
        over = np.isinf(values)
        code = np.minimum(code, form.finite - 1)
    code = np.where(over | np.isinf(values), beyond, code)
    if form.sign:
        code = np.where(np.signbit(values), code | form.sign, code)
    return np.where(np.isnan(values), form.nan, code)


def interesting(name: str) -> Array:
    """float64 values at which the rounding to a format changes: its numbers, midpoints, and what is just beside."""
    table = numbers(name, past=2)
    if len(table) > 4096:
        table = table[np.r_[0:64, len(table) - 64 : len(table)]]
    points = np.concatenate([table, (table[1:] + table[:-1]) / 2, table[:1] / 2])
    beside = [points, np.nextafter(points, 0), np.nextafter(points, np.inf)]
    with np.errstate(over="ignore"):
        narrow = points.astype(np.float32)
    beside += [np.nextafter(narrow, np.float32(0)), np.nextafter(narrow, np.float32(np.inf))]
    found = np.concatenate([np.asarray(b, np.float64) for b in beside])
    special = [
        0.0,
        np.inf,
        np.nan,
        1e300,
        1e-300,
        3e38,
        1e-45,
        5e-324,
        2.0**-127,
        2.0**-128,
        1.5 * 2.0**-128,
        65504.0,
        65520.0,
    ]
    both = np.concatenate([found, special])
    return np.concatenate([both, -both])


def storage(name: str) -> np.dtype[Any]:
    """How a launch holds the codes of a format."""
    return np.dtype({"f16": "u2", "bf16": "u2", "tf32": "u4", "f32": "u4", "f64": "u8"}.get(name, "u1"))


def values_of(name: str, codes: Array) -> Array:
    """float64 values of what a launch holds."""
    if name in ("f32", "f64"):
        with np.errstate(invalid="ignore"):  # signaling NaNs
            return codes.view(np.dtype(f"f{codes.itemsize}")).astype(np.float64)
    return decode(name, (codes >> 13 if name == "tf32" else codes).astype(np.int64))


def codes_of(name: str, rng: np.random.Generator, count: int) -> Array:
    """Every code of a source of up to 16 bits; of others random ones, and where some rounding changes."""
    bits = {"f4E2M1FN": 4}.get(name, 8 * storage(name).itemsize)
    if bits <= 16:
        return np.arange(1 << bits).astype(storage(name))
    points = np.concatenate([interesting(target) for target in FORMATS])
    chosen = rng.choice(points, 3 * count)
    with np.errstate(over="ignore"):
        near = chosen.astype(np.float64 if name == "f64" else np.float32).view(storage(name))
    anything = rng.integers(0, 1 << bits, count, dtype=storage(name))
    return np.concatenate([near, anything])


def packed(codes: Array) -> Array:
    """Two codes of four bits a byte, the first in the low bits."""
    return (codes[0::2] | codes[1::2] << 4).astype(np.uint8).view(np.int8)


def held(name: str, codes: Array) -> Array:
    """Codes as a launch takes them."""
    if name in ("f4E2M1FN", "i4"):
        return packed(codes)
    floats = {"f16": "f2", "tf32": "f4", "f32": "f4", "f64": "f8"}
    return codes.view(np.dtype(floats.get(name, codes.dtype.str)))
