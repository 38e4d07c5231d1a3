"""The boxes by which TMA copies a tile between global and shared memory.

a tile 128x256 of f16, swizzle of 128 bytes             boxes 128x64: as wide as the swizzle, four of them
"""

from __future__ import annotations

from math import prod

from tessera_tools.dialects import nv_tileas
from tessera_tools.layout.shared import SWIZZLE_ALIGNMENT

TMA_ALIGNMENT = 16
"""Required alignment of the base and strides of a tensor, in bytes (CUDA driver API, `cuTensorMapEncodeTiled`)."""
MOST_AXES = 5
"""The maximum rank of a tensor map."""


def box_of(tile: tuple[int, ...], size: int, swizzle: int) -> tuple[int, ...] | None:
    """The largest box by which TMA copies a tile of elements of `size` bytes, with a swizzle of so many bytes (0 for
    none).  None if its rows are no whole boxes."""
    width = box_width(tile, size, swizzle)
    if tile[-1] % width or width * size % TMA_ALIGNMENT:
        return None
    panel = prod(tile[:-1]) * swizzle
    if swizzle and tile[-1] != width and panel % SWIZZLE_ALIGNMENT[swizzle]:
        # The swizzle follows from the address: each box begins where its pattern does.
        return None
    # If an axis is split, the axes outside of it have one element per box: the box must be contiguous.
    box = [width]
    whole = width == tile[-1] or bool(swizzle)
    for extent in reversed(tile[:-1]):
        box.append(min(extent, nv_tileas.MOST_EXTENT) if whole else 1)
        whole = whole and extent <= nv_tileas.MOST_EXTENT
    return tuple(reversed(box))


def box_width(tile: tuple[int, ...], size: int, swizzle: int) -> int:
    """The elements of a row of a box."""
    return swizzle // size if swizzle else min(tile[-1], nv_tileas.MOST_EXTENT)
