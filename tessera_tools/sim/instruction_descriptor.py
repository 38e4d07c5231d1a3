"""Instruction descriptors of tcgen05.mma: shape, element types and signs, in 32 bits of a register.

    bits      0-1 sparsity selector, 2 sparse, 3 saturate, 4-5 type of D, 7-9 A, 10-12 B, 13, 14 negate A, B,
              15, 16 A, B are MN-major, 17-22 N / 8, 24-28 M / 16, 30-31 maximum shift of .ws
    scaled    4-5 byte of the scales of B, 23 type of the scales (0 ue4m3, 1 ue8m0), 29-30 byte of the scales of A,
              31 K of 96 instead of 64; M / 16 as above; no D type, which is f32

Source: PTX ISA, "Instruction Descriptor".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["BYTES_OF_K", "SCALED", "Instruction", "decode", "encode"]

BYTES_OF_K = 32
"""K of every kind, in bytes of its packed elements in shared memory."""
_F16 = {0: "f16", 1: "bf16"}
_F8 = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_FORMATS: dict[str, dict[int, str]] = {
    "f16": _F16,
    "tf32": {2: "tf32"},
    "f8f6f4": _F8,
    "i8": {0: "u8", 1: "s8"},
    "mxf8f6f4": _F8,
    "mxf4": {1: "e2m1"},
    "mxf4nvf4": {1: "e2m1"},
}
_RESULTS = {
    "f16": {0: "f16", 1: "f32"},
    "tf32": {1: "f32"},
    "f8f6f4": {0: "f16", 1: "f32"},
    "i8": {2: "s32"},
}
_NARROW = ("e2m3", "e3m2", "e2m1")
SCALED = ("mxf8f6f4", "mxf4", "mxf4nvf4")
"""The kinds with block scales."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One decoded descriptor. `m` is that of all CTAs of the group."""

    kind: str
    m: int
    n: int
    a: str
    b: str
    d: str
    negate: bool = False
    """One of A and B is negated, and not the other."""
    saturate: bool = False
    a_transposed: bool = False
    b_transposed: bool = False
    scale: str = ""
    """Type of the block scales."""
    a_scale: int = 0
    b_scale: int = 0
    """The first byte of the block scales in their column."""
    reuse_shift: int = 0
    """With .ws, by how many columns a product that reuses B may shift them."""

    @property
    def k(self) -> int:
        """Elements along K."""
        if self.kind in ("mxf4", "mxf4nvf4"):
            return 64
        return {"f16": 16, "tf32": 8}.get(self.kind, 32)


@lru_cache(maxsize=1024)
def decode(descriptor: int, kind: str) -> Instruction | str:
    """The instruction, or what is wrong with the descriptor."""
    formats = _FORMATS[kind]
    a, b = formats.get(descriptor >> 7 & 7), formats.get(descriptor >> 10 & 7)
    if a is None or b is None:
        which, code = ("A", descriptor >> 7 & 7) if a is None else ("B", descriptor >> 10 & 7)
        known = ", ".join(f"{number} ({name})" for number, name in formats.items())
        return f"has {code} as the type of {which}; kind::{kind} has {known}"
    if kind == "f16" and a != b:
        return f"multiplies {a} by {b}; kind::f16 needs one type"
    if descriptor >> 2 & 1:
        return "is for a sparse matrix, which the simulated GPU does not multiply; expected bit 2 clear"
    m, n = (descriptor >> 24 & 31) * 16, (descriptor >> 17 & 63) * 8
    negative = bool((descriptor >> 13 ^ descriptor >> 14) & 1)
    transposed = bool(descriptor >> 15 & 1), bool(descriptor >> 16 & 1)
    packed = kind in ("mxf4", "mxf4nvf4")
    if (transposed[0] and (a in _NARROW or packed)) or (transposed[1] and (b in _NARROW or packed)):
        return f"is for an MN-major matrix of {a} and {b}, which needs elements of 8, 16 or 32 bits"
    if kind in SCALED:
        if descriptor >> 31 & 1:
            return "has K of 96, which the simulated GPU does not multiply; expected bit 31 clear"
        scale = "ue8m0" if descriptor >> 23 & 1 else "ue4m3"
        if scale == "ue4m3" and kind != "mxf4nvf4":
            return f"has scales of ue4m3; kind::{kind} needs ue8m0 (bit 23 set)"
        return Instruction(
            kind,
            m,
            n,
            a,
            b,
            "f32",
            negative,
            False,
            *transposed,
            scale,
            descriptor >> 29 & 3,
            descriptor >> 4 & 3,
        )
    d = _RESULTS[kind].get(descriptor >> 4 & 3)
    if d is None:
        known = ", ".join(f"{number} ({name})" for number, name in _RESULTS[kind].items())
        return f"has {descriptor >> 4 & 3} as the type of D; kind::{kind} has {known}"
    saturate = bool(descriptor >> 3 & 1)
    if kind == "i8" and negative:
        return "negates integers"
    if kind != "i8" and saturate:
        return "saturates floats"
    reuse_shift = (0, 8, 16, 32)[descriptor >> 30]
    return Instruction(kind, m, n, a, b, d, negative, saturate, *transposed, reuse_shift=reuse_shift)


def encode(
    kind: str,
    m: int,
    n: int,
    a: str,
    b: str,
    d: str = "f32",
    *,
    negate: tuple[bool, bool] = (False, False),
    transposed: tuple[bool, bool] = (False, False),
    saturate: bool = False,
    scale: str = "ue8m0",
    scale_bytes: tuple[int, int] = (0, 0),
    reuse_shift: int = 0,
) -> int:
    """The descriptor of a dense product."""
    codes = {name: code for code, name in _FORMATS[kind].items()}
    fields = codes[a] << 7 | codes[b] << 10 | negate[0] << 13 | negate[1] << 14
    fields |= transposed[0] << 15 | transposed[1] << 16 | (n // 8) << 17 | (m // 16) << 24
    if kind in SCALED:
        return fields | scale_bytes[1] << 4 | (scale == "ue8m0") << 23 | scale_bytes[0] << 29
    results = {name: code for code, name in _RESULTS[kind].items()}
    return fields | saturate << 3 | results[d] << 4 | (0, 8, 16, 32).index(reuse_shift) << 30
