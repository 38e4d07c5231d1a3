"""Sets of the lanes of a warp, and of several warps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["FULL", "Lanes", "Mask", "mask_of"]

FULL = (1 << 32) - 1
_masks: dict[int, Mask] = {}


class Mask:
    """An immutable set of lanes: `bits` as an integer, `array` as 32 booleans, `lanes` as indices."""

    __slots__ = ("array", "bits", "count", "first", "full", "lanes")

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.full = bits == FULL
        self.array = np.unpackbits(np.array([bits], "<u4").view(np.uint8), bitorder="little").view(np.bool_)
        self.array.flags.writeable = False
        self.lanes = np.flatnonzero(self.array)
        self.count = len(self.lanes)
        self.first = int(self.lanes[0]) if self.count else 0

    def __repr__(self) -> str:
        return f"Mask({self.bits:#010x})"


class Lanes:
    """Lanes of several warps, as `lanewise` instructions use a mask."""

    __slots__ = ("array", "full")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.full = bool(array.all())


def mask_of(lanes: int | Array) -> Mask:
    """The mask of a bit pattern or of 32 booleans."""
    if not isinstance(lanes, int):
        lanes = int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")
    mask = _masks.get(lanes)
    if mask is None:
        if (
            len(_masks) > 1 << 15
        ):  # The cache is bounded, because data-dependent divergence produces many masks.
            _masks.clear()
        mask = _masks[lanes] = Mask(lanes)
    return mask
