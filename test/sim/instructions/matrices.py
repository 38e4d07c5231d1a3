"""Reference matrices for tests of the tensor-core instructions: element types, and fragments spelled out by hand.

The fragment functions are the sentences of the PTX ISA ("row = groupID for ai where …"), element by element, for
tests to compare with the index arrays of the simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Kind:
    """An element type: bits, how to draw random patterns, and what they are worth."""

    bits: int
    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    value: Callable[[Array], Array]


def _floats(dtype: Any, raw: Any) -> Kind:
    return Kind(
        np.dtype(raw).itemsize * 8,
        lambda rng, shape: rng.standard_normal(shape).astype(dtype).view(raw),
        lambda patterns: patterns.view(dtype).astype(np.float64),
    )


def _truncated(low: int) -> Kind:
    """f32 values whose low bits are zero: bf16 (16 bits, as its upper half) and tf32."""
    if low == 16:
        return Kind(
            16,
            lambda rng, shape: (rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(
                np.uint16
            ),
            lambda patterns: (patterns.astype(np.uint32) << 16).view(np.float32).astype(np.float64),
        )
    return Kind(
        32,
        lambda rng, shape: rng.standard_normal(shape).astype(np.float32).view(np.uint32),
        lambda patterns: (patterns & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64),
    )


def _integers(bits: int, signed: bool) -> Kind:
    def value(patterns: Array) -> Array:
        wide = patterns.astype(np.float64)
        return np.where(wide >= 2 ** (bits - 1), wide - 2**bits, wide) if signed and bits > 1 else wide

    return Kind(bits, lambda rng, shape: rng.integers(0, 2**bits, shape).astype(np.uint8), value)


def small_float(exponent: int, mantissa: int, bias: int, *, shift: int = 0) -> Kind:
    """fp8, fp6 and fp4, read bit by bit; of fp8, only values up to 4 are drawn."""
    width = 1 + exponent + mantissa

    def one(pattern: int) -> float:
        pattern >>= shift
        sign = -1.0 if pattern >> (width - 1) & 1 else 1.0
        field = pattern >> mantissa & (1 << exponent) - 1
        fraction = (pattern & (1 << mantissa) - 1) / (1 << mantissa)
        return sign * (fraction * 2.0 ** (1 - bias) if field == 0 else (1 + fraction) * 2.0 ** (field - bias))

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        top = 1 << width if width < 8 else 0x44  # small enough for sums in f16
        patterns = rng.integers(0, top, shape)
        if width == 8:
            patterns = patterns | rng.integers(0, 2, shape) << 7
        return (patterns << shift).astype(np.uint8)

    table = np.array([one(pattern) for pattern in range(256)])
    return Kind(8, draw, lambda patterns: table[patterns])


KINDS: dict[str, Kind] = {
    "f16": _floats(np.float16, np.uint16),
    "f32": _floats(np.float32, np.uint32),
    "f64": _floats(np.float64, np.uint64),
    "bf16": _truncated(16),
    "tf32": _truncated(13),
    "s8": _integers(8, True),
    "u8": _integers(8, False),
    "s4": _integers(4, True),
    "u4": _integers(4, False),
    "b1": _integers(1, False),
    "e4m3": small_float(4, 3, 7),
    "e5m2": small_float(5, 2, 15),
    "e3m2": small_float(3, 2, 3),
    "e2m3": small_float(2, 3, 1),
    "e2m1": small_float(2, 1, 1, shift=2),
}


def pack(patterns: Array, bits: int) -> Array:
    """Patterns along the last axis → 32-bit words (or 64-bit ones), low elements first."""
    patterns = np.ascontiguousarray(patterns)
    if bits >= 32:
        return patterns.view(f"<u{bits // 8}")
    if bits >= 8:
        return patterns.astype(f"<u{bits // 8}").view(np.uint32)
    each = 8 // bits
    grouped = patterns.reshape(*patterns.shape[:-1], -1, each).astype(np.uint8)
    octets = np.zeros(grouped.shape[:-1], np.uint8)
    for place in range(each):
        octets |= grouped[..., place] << np.uint8(bits * place)
    return octets.view(np.uint32)


def a_place(m: int, bits: int, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element a_i of mma A, from the ISA's sentences."""
    group, thread = lane >> 2, lane % 4
    if bits == 64 or bits == 32:
        return group + 8 * (i % (m // 8)), thread + 4 * (i // (m // 8))
    each = 32 // bits
    block = i // each
    row = group + (8 if m == 16 and block % 2 else 0)
    return row, thread * each + i % each + 4 * each * (block // (m // 8))


def b_place(bits: int, lane: int, i: int) -> tuple[int, int]:
    """Row and column of element b_i of mma B."""
    each = max(1, 32 // bits)
    return (lane % 4) * each + i % each + 4 * each * (i // each), lane >> 2


def c_place(lane: int, i: int) -> tuple[int, int]:
    """Row and column of accumulator c_i of mma; wgmma goes on in steps of eight columns."""
    return (lane >> 2) + (8 if i % 4 >= 2 else 0), (lane % 4) * 2 + (i & 1) + 8 * (i // 4)


def c_place_mma(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), (lane % 4) * 2 + (i & 1)


def distribute(matrix: Array, count: int, bits: int, place: Callable[[int, int], tuple[int, int]]) -> Array:
    """A matrix of patterns → words [registers, 32], `count` elements a lane."""
    lanes = np.array([[matrix[place(lane, i)] for i in range(count)] for lane in range(32)])
    return np.ascontiguousarray(pack(lanes.astype(matrix.dtype), bits).T)


def collect(
    words: Array, shape: tuple[int, int], bits: int, place: Callable[[int, int], tuple[int, int]]
) -> Array:
    """Words [registers, 32] of 16-, 32- or 64-bit elements → the matrix."""
    lanes = np.ascontiguousarray(words.T)
    lanes = lanes.view(f"<u{bits // 8}") if bits < 32 else lanes
    matrix = np.zeros(shape, lanes.dtype)
    for lane in range(32):
        for i in range(lanes.shape[1]):
            matrix[place(lane, i)] = lanes[lane, i]
    return matrix
