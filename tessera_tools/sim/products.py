"""D = A × B + C on the tensor cores of the simulated GPU, and the rounding of D.

    A [K, …, M], B [K, …, N], C […, M, N], all float64 ──multiply_accumulate──▶ float64 ──Accumulator.pack──▶ D

PTX does not specify the order and the precision of the sum. Here, every product is exact; C and the products for
k = 0, 1, … are added in this order in float64; the sum is rounded to D's type once per instruction, to nearest
even. Sums of integers are exact. f64 is a chain of fused multiply-adds over k, each rounded (PTX ISA, "mma").

A sum in another order differs by a known error at most. Where D is the same for every sum within this error,
`multiply_rounded` uses the matrix product of NumPy; elsewhere it adds in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.elements import ELEMENTS
from tessera_tools.sim.wide import fma

__all__ = [
    "ACCUMULATORS",
    "Accumulator",
    "Product",
    "fma_chain",
    "integer_product",
    "multiply_accumulate",
    "multiply_rounded",
    "patterns_of",
    "saturate_s32",
]

Product = Callable[[Array, Array, Array], Array]
"""A [K, …, M], B [K, …, N], C […, M, N], in float64 → D."""
_LARGE = 1 << 17


def multiply_accumulate(a: Array, b: Array, c: Array) -> Array:
    """Σ over k, in ascending order, on top of C. a: [K, …, M], b: [K, …, N], c: […, M, N]."""
    if _is_exact(a, b, c):
        return integer_product(a, b, c)
    left, right = a[..., :, None], b[..., None, :]
    if c.size * len(a) > _LARGE:
        total = c.astype(np.float64)
        term = np.empty_like(total)
        for k in range(len(a)):
            np.multiply(left[k], right[k], out=term)
            total += term
        return total
    terms = np.empty((len(a) + 1, *c.shape))
    terms[0] = c
    np.multiply(left, right, out=terms[1:])
    # NumPy reduces the outermost axis plane by plane. From 0, its default, a sum of negative zeros would be positive.
    return np.add.reduce(terms, axis=0, initial=-0.0)


_MAGNITUDE = np.uint64((1 << 63) - 1)
_MANTISSA = (1 << 52) - 1
_NEGATIVE_ZERO = -(1 << 63)


def _scale(values: Array) -> tuple[int, int]:
    """Exponents of two: every value is less than the first in magnitude, and a multiple of the second."""
    bits = values.view(np.uint64) & _MAGNITUDE
    most = int(bits.max()) >> 52
    # Zero minus one is the largest unsigned number.
    least = (int((bits - np.uint64(1)).min()) + 1) >> 52
    mantissa = int(np.bitwise_or.reduce(bits, None)) & _MANTISSA
    digits = 52 - ((mantissa & -mantissa).bit_length() - 1) if mantissa else 0
    return most - 1022, max(least, 1) - 1023 - digits


def _is_exact(a: Array, b: Array, c: Array) -> bool:
    """True if the result is independent of the order of the sum: its terms are multiples of a common unit in which
    no partial sum has more than 53 bits, and no zero has a sign."""
    if not a.size or not b.size or not c.size or int(c.view(np.int64).min()) == _NEGATIVE_ZERO:
        return False
    (a_most, a_unit), (b_most, b_unit), (c_most, c_unit) = _scale(a), _scale(b), _scale(c)
    most = max(a_most + b_most + len(a).bit_length(), c_most) + 1
    return most < 1000 and most - min(a_unit + b_unit, c_unit) <= 53


def multiply_rounded(a: Array, b: Array, c: Array, result: Accumulator) -> Array:
    """The patterns of `multiply_accumulate`, rounded to the float type `result`."""
    if not c.size or not len(a) or result.kind is None:
        return result.pack(multiply_accumulate(a, b, c))
    with np.errstate(invalid="ignore", over="ignore"):
        most = _magnitude(a) * _magnitude(b) * len(a) + _magnitude(c)
        # Two sums of n terms in different orders differ by less than 2 n 2**-53 times the sum of the magnitudes.
        error = max(most * (len(a) + 2) * 2.0**-51, _TINY)
        if not np.isfinite(error):
            return result.pack(multiply_accumulate(a, b, c))
        total = integer_product(a, b, c)
        low = (total - error).astype(result.kind).view(result.unsigned)
        total += error
        high = total.astype(result.kind).view(result.unsigned)
    # A zero is in doubt as well, because its sign depends on the order.
    doubt = np.flatnonzero(low != high)
    if doubt.size > c.size // 8:
        return result.pack(multiply_accumulate(a, b, c))
    if doubt.size:
        where = np.unravel_index(doubt, c.shape)
        sums = c[where]
        terms = a[(slice(None), *where[:-1])]
        terms *= b[(slice(None), *where[:-2], where[-1])]
        for term in terms:
            sums += term
        high[where] = result.pack(sums)
    return high


_TINY = 5e-324


def _magnitude(values: Array) -> float:
    return max(float(values.max()), -float(values.min()))


def fma_chain(a: Array, b: Array, c: Array, rounding: str = "rn") -> Array:
    """Like `multiply_accumulate`, with a rounding after each fused multiply-add."""
    total = c
    for k in range(len(a)):
        x, y = np.broadcast_arrays(a[k][..., :, None], b[k][..., None, :])
        total = fma(x, y, total, rounding)
    return total


def integer_product(a: Array, b: Array, c: Array) -> Array:
    """Like `multiply_accumulate` for integers, whose sums are exact in any order."""
    return np.matmul(np.moveaxis(a, 0, -1), np.moveaxis(b, 0, -2)) + c


def _pack_f32(total: Array) -> Array:
    rounded = total.astype(np.float32)
    return np.where(np.isnan(rounded), np.uint32(0x7FFFFFFF), rounded.view(np.uint32))


def _pack_f16(total: Array) -> Array:
    rounded = total.astype(np.float16)
    return np.where(np.isnan(rounded), np.uint16(0x7FFF), rounded.view(np.uint16))


def _pack_s32(total: Array) -> Array:
    return total.astype(np.int64).astype(np.uint32)


def saturate_s32(total: Array) -> Array:
    """Integers clamped to s32 (.satfinite)."""
    return np.clip(total, -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The type of C or D: the conversion of its patterns to float64, and of a sum to patterns."""

    name: str
    bits: int
    values: Callable[[Array], Array]
    pack: Callable[[Array], Array]
    kind: type[np.floating] | None = None
    """The NumPy type, if it is a float type that is narrower than the sums."""

    @property
    def unsigned(self) -> str:
        return f"u{self.bits // 8}"

    @property
    def packed(self) -> int:
        return max(1, 32 // self.bits)


ACCUMULATORS: dict[str, Accumulator] = {
    "f16": Accumulator("f16", 16, ELEMENTS["f16"].values, _pack_f16, np.float16),
    "f32": Accumulator("f32", 32, ELEMENTS["f32"].values, _pack_f32, np.float32),
    "f64": Accumulator("f64", 64, ELEMENTS["f64"].values, lambda total: total.view(np.uint64)),
    "s32": Accumulator("s32", 32, ELEMENTS["s32"].values, _pack_s32),
}
"""The tensor cores return one NaN pattern, 0x7FFFFFFF or 0x7FFF."""


def patterns_of(product: Product, result: Accumulator, *, saturate: bool = False) -> Product:
    """A, B, C → the patterns of D. `product` gives the sums; `saturate` clamps integers."""
    if product is multiply_accumulate:
        return lambda a, b, c: multiply_rounded(a, b, c, result)
    pack = saturate_s32 if saturate else result.pack
    return lambda a, b, c: pack(product(a, b, c))
