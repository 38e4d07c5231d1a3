"""Elements of matrices for the tensor-core instructions: bit patterns in registers or memory → float64 values.

    b32 registers, bytes ──split(raw, bits)──▶ one pattern per element ──Element.values──▶ float64, exactly

float64 holds every value of every element type, and every product of two elements, without rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.rounding import FORMATS, decode

__all__ = ["ELEMENTS", "SUB_BYTE", "Element", "matrix_values", "scale_values", "split", "unpacked"]


@dataclass(frozen=True, slots=True)
class Element:
    """One element type. `bits` is its size in a register; `values` maps patterns to float64."""

    name: str
    bits: int
    values: Callable[[Array], Array]

    @property
    def packed(self) -> int:
        """Elements in a 32-bit register (1 for f64, which uses 64-bit registers)."""
        return max(1, 32 // self.bits)


def split(raw: Array, bits: int) -> Array:
    """A contiguous unsigned array as patterns of `bits` bits, low bits first; the last axis grows."""
    if bits >= 8:
        return raw.view(f"<u{bits // 8}")
    octets = raw.view(np.uint8)
    if bits == 1:
        return np.unpackbits(octets, axis=-1, bitorder="little")
    nibbles = np.empty((*octets.shape, 2), np.uint8)
    np.bitwise_and(octets, 15, out=nibbles[..., 0])
    np.right_shift(octets, 4, out=nibbles[..., 1])
    return nibbles.reshape(*octets.shape[:-1], -1)


def _float(name: str, *, shift: int = 0) -> Callable[[Array], Array]:
    """`shift`: number of padding bits below the pattern."""
    source = FORMATS[name]
    if shift:
        return lambda patterns: decode(patterns >> np.uint8(shift), source)
    return lambda patterns: decode(patterns, source)


def _table() -> dict[str, Element]:
    found = [
        Element("f16", 16, _float("f16")),
        Element("bf16", 16, _float("bf16")),
        # The low 13 bits of a tf32 operand are ignored (PTX ISA, "mma").
        Element("tf32", 32, _float("tf32")),
        Element("f32", 32, _float("f32")),
        Element("s32", 32, lambda patterns: patterns.view(np.int32).astype(np.float64)),
        Element("f64", 64, lambda patterns: patterns.view(np.float64)),
        Element("u8", 8, lambda patterns: patterns.astype(np.float64)),
        Element("s8", 8, lambda patterns: patterns.view(np.int8).astype(np.float64)),
        Element("u4", 4, lambda patterns: patterns.astype(np.float64)),
        Element("s4", 4, lambda patterns: (patterns << np.uint8(4)).view(np.int8).astype(np.float64) / 16),
        Element("b1", 1, lambda patterns: patterns.astype(np.float64)),
        Element("e4m3", 8, _float("e4m3")),
        Element("e5m2", 8, _float("e5m2")),
        Element("e3m2", 8, _float("e3m2")),
        Element("e2m3", 8, _float("e2m3")),
        # mma reads e2m1 from the middle of a byte, with two padding bits on each side.
        Element("e2m1", 8, _float("e2m1", shift=2)),
    ]
    return {element.name: element for element in found}


ELEMENTS: dict[str, Element] = _table()
"""Every element type by its PTX name."""

SUB_BYTE = {"e2m3": 6, "e3m2": 6, "e2m1": 4}
"""Bits of the elements that tcgen05 reads from groups of 16 bytes."""


def unpacked(raw: Array, name: str) -> Array:
    """Bytes [rows, …] of 16-byte groups of 16 elements of 6 or 4 bits → one pattern per element."""
    groups = raw.reshape(*raw.shape[:-1], -1, 16)
    if SUB_BYTE[name] == 4:
        return split(np.ascontiguousarray(groups[..., :8]), 4).reshape(*raw.shape[:-1], -1)
    octets = groups[..., :12].reshape(*groups.shape[:-1], 4, 3).astype(np.uint32)
    words = octets[..., 0] | octets[..., 1] << 8 | octets[..., 2] << 16
    patterns = np.stack([words >> shift & 63 for shift in (0, 6, 12, 18)], axis=-1)
    return patterns.astype(np.uint8).reshape(*raw.shape[:-1], -1)


def matrix_values(raw: Array, name: str, *, padded: bool, scaled4: bool) -> Array:
    """Bytes [rows, n] of a matrix → float64 [rows, elements].

    `padded`: elements of 6 and 4 bits have a byte each, as in tensor memory; `scaled4`: two elements of 4 bits a byte.
    """
    if scaled4:
        return decode(split(raw, 4), FORMATS[name])
    if name in SUB_BYTE:
        if not padded:
            return decode(unpacked(raw, name), FORMATS[name])
        return decode(raw >> np.uint8(2) if name == "e2m1" else raw, FORMATS[name])
    element = ELEMENTS[name]
    return element.values(split(raw, element.bits))


def scale_values(patterns: Array, name: str) -> Array:
    """Scale factors (bytes) → float64."""
    if name == "ue8m0":
        return np.where(patterns == 255, np.nan, np.ldexp(1.0, patterns.astype(np.int32) - 127))
    return decode(patterns & np.uint8(0x7F), FORMATS["e4m3"])
