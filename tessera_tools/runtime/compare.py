"""Comparison of a buffer with its expected content: the greatest error, and the index of the first wrong element.

found, expected, tolerances ──compare──▶ Difference(wrong, greatest error, first place)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tessera_tools.runtime.types import Array, Type

__all__ = ["Difference", "compare", "same_bits"]


@dataclass(frozen=True, slots=True)
class Difference:
    """`wrong` elements of `total` are out of tolerance; `error` is the greatest absolute one."""

    wrong: int
    total: int
    error: float
    relative: float
    """The greatest error relative to |expected|, for nonzero expected values."""
    place: tuple[int, ...] = ()
    found: float = 0.0
    expected: float = 0.0

    def text(self, name: str) -> str:
        """One line for the user."""
        close = f"greatest error {self.error:.3g}, relative {self.relative:.3g}"
        if not self.wrong:
            return f"{name}: {self.total:,} elements as expected ({close})"
        where = ", ".join(map(str, self.place))
        return (
            f"{name}: {self.wrong:,} of {self.total:,} elements are wrong ({close}); "
            f"the first is {name}[{where}]: found {self.found:g}, expected {self.expected:g}"
        )


def compare(
    found: Array, found_type: Type, expected: Array, expected_type: Type, rtol: float, atol: float
) -> Difference:
    """Compare values, |found - expected| <= atol + rtol·|expected|; NaN equals NaN. The shapes are the same."""
    integers = found_type.kind != "f" and expected_type.kind != "f"
    x, y = found_type.decode(found), expected_type.decode(expected)
    with np.errstate(all="ignore"):
        if integers and rtol == atol == 0:
            good = x == y
        else:
            x, y = x.astype(np.float64), y.astype(np.float64)
            good = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= atol + rtol * np.abs(y))
        error = np.abs(x.astype(np.float64) - y.astype(np.float64))
        error = np.where(np.isnan(error), np.where(good, 0.0, np.inf), error)
        nonzero = (y != 0) & np.isfinite(y)
        relative = error[nonzero] / np.abs(y[nonzero].astype(np.float64))
    greatest = float(error.max()) if error.size else 0.0
    worst = float(relative.max()) if relative.size else 0.0
    bad = np.argwhere(~good)
    if not len(bad):
        return Difference(0, found.size, greatest, worst)
    place = tuple(map(int, bad[0]))
    return Difference(len(bad), found.size, greatest, worst, place, float(x[place]), float(y[place]))


def same_bits(a: Array, b: Array) -> tuple[bool, int]:
    """True if two arrays have the same bytes; else the index of the first element that differs."""
    left, right = (np.ascontiguousarray(x).reshape(-1) for x in (a, b))
    size = left.dtype.itemsize
    apart = (left.view(np.uint8) != right.view(np.uint8)).reshape(-1, size).any(axis=1)
    return (False, int(np.flatnonzero(apart)[0])) if apart.any() else (True, 0)
