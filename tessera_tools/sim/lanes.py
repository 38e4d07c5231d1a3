"""Sets of the lanes of a warp, and of several warps."""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["FULL", "Lanes", "Mask", "mask_of"]

FULL = (1 << 32) - 1
_masks: dict[int, Mask] = {}
_masks_of_rows: dict[bytes, Mask] = {}
_MOST_MASKS = 1 << 15
"""The caches are bounded, because data-dependent divergence produces many masks."""


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

    def __init__(self, array: Array) -> None:
        self.array = array
        self.full = bool(array.all())


def mask_of(lanes: int | Array) -> Mask:
    """The mask of a bit pattern or of 32 booleans."""
    if not isinstance(lanes, int):
        row = lanes.tobytes()
        mask = _masks_of_rows.get(row)
        if mask is None:
            if len(_masks_of_rows) > _MOST_MASKS:
                _masks_of_rows.clear()
            packed = np.packbits(lanes, bitorder="little").tobytes()
            mask = _masks_of_rows[row] = mask_of(int.from_bytes(packed, "little"))
        return mask
    mask = _masks.get(lanes)
    if mask is None:
        if len(_masks) > _MOST_MASKS:
            _masks.clear()
        mask = _masks[lanes] = Mask(lanes)
    return mask
