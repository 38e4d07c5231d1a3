"""PTX types, and their NumPy representation in the 32 lanes of a warp (PTX ISA, "Fundamental Types").

".f32" ──ptx_type()──▶ Type("f32", kind "f", 32 bits, float32)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["SIGNED", "TYPES", "UNSIGNED", "Type", "is_type"]

UNSIGNED: dict[int, type[np.unsignedinteger]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED: dict[int, type[np.signedinteger]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


@dataclass(frozen=True, slots=True)
class Type:
    """One PTX type. `kind` is b, u, s, f, p (predicate), or r: a raw pattern without a NumPy type.

    `dtype` is the type of a lane: types of kind r (bf16, tf32, fp8, packed pairs) are unsigned patterns.
    A `.b128` lane is two uint64, so its rows have shape [32, 2].
    """

    name: str
    kind: str
    bits: int
    dtype: type[np.generic]

    @property
    def bytes(self) -> int:
        return (self.bits + 7) // 8

    @property
    def signed(self) -> bool:
        return self.kind == "s"

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def integer(self) -> type[np.integer]:
        """The NumPy type of integers of this width and sign."""
        return SIGNED[self.bits] if self.signed else UNSIGNED[self.bits]

    def __str__(self) -> str:
        return "." + self.name


def _table() -> dict[str, Type]:
    table = {"pred": Type("pred", "p", 1, np.bool_), "b128": Type("b128", "b", 128, np.uint64)}
    for bits in (8, 16, 32, 64):
        table[f"b{bits}"] = Type(f"b{bits}", "b", bits, UNSIGNED[bits])
        table[f"u{bits}"] = Type(f"u{bits}", "u", bits, UNSIGNED[bits])
        table[f"s{bits}"] = Type(f"s{bits}", "s", bits, SIGNED[bits])
    for bits, dtype in ((16, np.float16), (32, np.float32), (64, np.float64)):
        table[f"f{bits}"] = Type(f"f{bits}", "f", bits, dtype)
    raw = {
        8: "e4m3 e5m2 ue8m0 e2m1x2 e2m3 e3m2 s4x2 u4x2",
        16: "bf16 e4m3x2 e5m2x2 ue8m0x2 e2m3x2 e3m2x2 e2m1x4",
        32: "tf32 f16x2 bf16x2 s16x2 u16x2 e4m3x4 e5m2x4 e2m3x4 e3m2x4",
        64: "f32x2",
    }
    for bits, names in raw.items():
        for name in names.split():
            table[name] = Type(name, "r", bits, UNSIGNED[bits])
    return table


TYPES: dict[str, Type] = _table()
"""Every type by its PTX name, without the dot."""


def is_type(modifier: str) -> bool:
    """True for a modifier such as `u32` that names a type."""
    return modifier in TYPES
