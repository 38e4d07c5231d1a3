"""The boxes of tiles, at the limits of TMA."""

from __future__ import annotations

import pytest

from tessera_tools.planning.boxes import box_of


@pytest.mark.parametrize(
    ("tile", "size", "swizzle", "box"),
    [
        ((128, 256), 2, 128, (128, 64)),
        ((128, 64), 2, 128, (128, 64)),
        ((64, 8), 2, 0, (64, 8)),
        # Rows of less than 16 bytes, and rows that are no multiple of the swizzle.
        ((64, 4), 2, 0, None),
        ((64, 32), 2, 128, None),
        # A second box of 8 rows of 128 bytes begins where the pattern does, one of 4 rows does not.
        ((8, 128), 2, 128, (8, 64)),
        ((4, 128), 2, 128, None),
        ((4, 64), 2, 128, (4, 64)),
        # An axis has 256 elements of a box; the axes around one that is split have one.
        ((256, 64), 2, 128, (256, 64)),
        ((512, 64), 2, 128, (256, 64)),
        ((4, 512, 64), 2, 128, (1, 256, 64)),
        ((4, 256, 64), 2, 128, (4, 256, 64)),
        ((4, 512), 2, 0, (1, 256)),
    ],
)
def test_the_largest_box(tile: tuple[int, ...], size: int, swizzle: int, box: tuple[int, ...] | None) -> None:
    assert box_of(tile, size, swizzle) == box
