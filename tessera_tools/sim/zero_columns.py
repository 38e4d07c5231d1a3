"""Zero-column mask descriptors of tcgen05.mma.ws: which columns of B count as zero, and where the columns begin.

    bits      0-31 start counts of the sub-masks, a byte each, 32-35 their first spans, 39 there is a mask,
              40-47 length - 1 of the spans of ones, 48-55 of the spans of zeros, 56-61 column shift

A sub-mask covers the columns of one group of lanes: all N for M of 128, halves for 64, quarters for 32. It is spans of
ones (zero columns) and of zeros (columns of B) in turn. The first span is of ones or of zeros; the start count is left
out at the beginning. The table of the PTX ISA gives the lengths the other way around; this follows its examples.

Source: PTX ISA, "Zero-Column Mask Descriptor".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tessera_tools.sim.arrays import Array

__all__ = ["ZeroColumns", "decode", "encode"]

_RESERVED = 7 << 36 | 3 << 62


@dataclass(frozen=True, eq=False, slots=True)
class ZeroColumns:
    """What a descriptor says of the N columns of a product."""

    zero: Array
    """True where a column counts as zero [N]."""
    shift: int
    """The first column of B that is used."""


@lru_cache(maxsize=256)
def decode(descriptor: int, m: int, n: int) -> ZeroColumns | str:
    """The columns of a product of `m` rows and `n` columns, or what is wrong with the descriptor."""
    if descriptor & _RESERVED:
        return f"has reserved bits {descriptor & _RESERVED:#x}; expected bits 36 to 38, 62 and 63 clear"
    shift, most = descriptor >> 56 & 63, 16 if m == 32 else 32
    if shift > most:
        return f"shifts by {shift} columns; with M of {m} at most {most}"
    parts = 128 // m
    zero = np.zeros((parts, n // parts), np.bool_)
    if descriptor >> 39 & 1:
        ones, zeros = (descriptor >> 40 & 0xFF) + 1, (descriptor >> 48 & 0xFF) + 1
        column = np.arange(n // parts)
        for part in range(parts):
            begins, start = descriptor >> 32 + part & 1, descriptor >> 8 * part & 0xFF
            place = (column + start) % (ones + zeros)
            zero[part] = place < ones if begins else place >= zeros
    zero = zero.reshape(-1)
    zero.flags.writeable = False
    return ZeroColumns(zero, shift)


def encode(
    ones: int = 1,
    zeros: int = 1,
    *,
    starts: tuple[int, ...] = (),
    firsts: tuple[int, ...] = (),
    shift: int = 0,
    masked: bool = True,
) -> int:
    """The descriptor of spans of so many zero columns and columns of B; `starts` and `firsts` for each sub-mask."""
    fields = masked << 39 | (ones - 1) << 40 | (zeros - 1) << 48 | shift << 56
    fields |= sum(start << 8 * part for part, start in enumerate(starts))
    return fields | sum(first << 32 + part for part, first in enumerate(firsts))
