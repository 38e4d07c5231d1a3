"""Element types of buffers and scalars: their names, NumPy representation, and values ⇄ bits.

    values (float64 or integers) ──Type.encode──▶ an array of `storage` ──Type.decode──▶ values

NumPy has no bf16, tf32 or fp8: their arrays contain the patterns, as uint16, float32 (tf32 is an f32 with a short
mantissa) and uint8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tessera_tools.diagnostics import error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["TYPES", "Type", "lookup_type", "type_of_array"]

Array: TypeAlias = np.ndarray[Any, Any]
"""An array whose shape and element type are known only when it is there."""


@dataclass(frozen=True, slots=True)
class Type:
    """An element type. `kind` is `f` (float), `i` (signed or signless) or `u`."""

    name: str
    kind: str
    bits: int
    storage: np.dtype[np.generic]
    patterns: bool = False
    """Whether the array contains bit patterns of a type that NumPy lacks."""

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.storage.itemsize

    def encode(self, values: ArrayLike) -> Array:
        """The nearest elements (ties to even); integers must be in range. Raises DiagnosticError."""
        given = np.asarray(values)
        if self.kind != "f":
            if given.dtype.kind == "f":
                if not np.all(given == np.rint(given)):
                    raise error(None, f"{self.name} expects integers")
                given = given.astype(np.int64)
            lowest = 0 if self.kind == "u" else -(1 << self.bits - 1)
            highest = (1 << self.bits) - 1
            if given.size and not lowest <= int(given.min()) <= int(given.max()) <= highest:
                bad = given.min() if int(given.min()) < lowest else given.max()
                raise error(None, f"{bad} does not fit {self.name}")
            return (given & given.dtype.type(highest) if self.bits < 8 else given).astype(self.storage)
        if self.patterns:
            from tessera_tools.sim.rounding import FORMATS, encode

            found = encode(given.astype(np.float64), FORMATS[_PTX_NAMES.get(self.name, self.name)])
            return found.view(np.float32) if self.name == "tf32" else found.astype(self.storage)
        with np.errstate(over="ignore"):
            return given.astype(self.storage)

    def decode(self, array: Array) -> Array:
        """The values: floats as float64, integers unchanged."""
        if self.kind != "f":
            return array
        if self.patterns and self.name != "tf32":
            from tessera_tools.sim.rounding import FORMATS, decode

            with np.errstate(invalid="ignore"):  # Signaling NaNs.
                return decode(array, FORMATS[_PTX_NAMES.get(self.name, self.name)])
        return array.astype(np.float64)


_PTX_NAMES = {"f8e4m3": "e4m3", "f8e5m2": "e5m2", "f8e8m0": "ue8m0"}


def _table() -> dict[str, Type]:
    found = [Type("i1", "u", 1, np.dtype("|u1"))]
    found += [Type(f"i{n}", "i", n, np.dtype(f"<i{n // 8}")) for n in (8, 16, 32, 64)]
    found += [Type(f"u{n}", "u", n, np.dtype(f"<u{n // 8}")) for n in (8, 16, 32, 64)]
    found += [Type(f"f{n}", "f", n, np.dtype(f"<f{n // 8}")) for n in (16, 32, 64)]
    found += [
        Type("bf16", "f", 16, np.dtype("<u2"), patterns=True),
        Type("tf32", "f", 32, np.dtype("<f4"), patterns=True),
        Type("f8e4m3", "f", 8, np.dtype("|u1"), patterns=True),
        Type("f8e5m2", "f", 8, np.dtype("|u1"), patterns=True),
        Type("f8e8m0", "f", 8, np.dtype("|u1"), patterns=True),
    ]
    return {type.name: type for type in found}


TYPES: dict[str, Type] = _table()
"""Every element type by name."""

_ALIASES = {
    "f8e4m3fn": "f8e4m3",
    "e4m3": "f8e4m3",
    "e5m2": "f8e5m2",
    "f8e8m0fnu": "f8e8m0",
    "ue8m0": "f8e8m0",
    "bool": "i1",
    "s8": "i8",
    "s16": "i16",
    "s32": "i32",
    "s64": "i64",
}
"""MLIR's and PTX's names of the same types."""


def lookup_type(name: str) -> Type | None:
    """The type with an MLIR or PTX name; None if there is none."""
    low = name.lower()
    return TYPES.get(_ALIASES.get(low, low))


def type_of_array(array: Array) -> Type | None:
    """The type whose arrays have this dtype; None for text, complex numbers and the like."""
    if array.dtype.kind == "b":
        return TYPES["i1"]
    return TYPES.get(f"{array.dtype.kind}{8 * array.dtype.itemsize}") if array.dtype.kind in "iuf" else None
