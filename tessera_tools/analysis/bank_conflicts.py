"""Bank conflicts of element accesses to shared memory: the wavefronts of each warp, counted address by address.

    indices of 32 lanes  ──the buffer's layout──▶  byte addresses  ──count_wavefronts──▶  wavefronts, and their ideal

Shared memory is 32 banks of 4 bytes.  8-byte accesses are served by half-warps, 16-byte accesses by quarter-warps; in
each, distinct words in the same bank need separate wavefronts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from tessera_tools.analysis.lane_values import WARP, LaneValues, Row
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.ir.interfaces import MemoryAccess
from tessera_tools.layout import LinearLayout
from tessera_tools.records import dataclass

_BANKS = 32
_PANEL, _PATTERN = 128, 1024
"""The widest panel of a swizzle, and the period of every swizzle (8 lines of 128), in bytes."""
_ROWS = 32
"""Rows after which every swizzle repeats: panels are at least 32 bytes wide."""
_MOST_PLACES = 1 << 14
"""The maximum number of lane positions to enumerate."""


@dataclass(frozen=True, slots=True)
class Wavefronts:
    """Wavefronts of one execution of an access by all warps of a block, and the minimum for its number of bytes."""

    total: int
    ideal: int

    @property
    def conflicts(self) -> int:
        """The number of wavefronts in excess of the minimum."""
        return self.total - self.ideal

    def __add__(self, other: Wavefronts) -> Wavefronts:
        return Wavefronts(self.total + other.total, self.ideal + other.ideal)


NOTHING = Wavefronts(0, 0)


def count_wavefronts(addresses: Sequence[int], width: int) -> Wavefronts:
    """Wavefronts of one access of a warp: `addresses` are the byte addresses of its active lanes, in order,
    and `width` is the access width in bytes."""
    at_once = WARP * 4 // max(width, 4)
    total = ideal = 0
    for start in range(0, len(addresses), at_once):
        words = {
            (address >> 2) + i
            for address in addresses[start : start + at_once]
            for i in range(-(-width // 4))
        }
        banks = [0] * _BANKS
        for word in words:
            banks[word % _BANKS] += 1
        total += max(banks)
        ideal += -(-len(words) // _BANKS)
    return Wavefronts(total, ideal)


class Places:
    """Byte offsets of the elements of a buffer with a layout."""

    def __init__(self, memory: LinearLayout, shape: Sequence[int], element_bits: int) -> None:
        self.bytes = element_bits // 8
        inverse = memory.invert()
        self.tables = [_xors(inverse.dim_columns(f"dim{axis}"), size) for axis, size in enumerate(shape)]

    def address(self, indices: Iterable[int]) -> int:
        """The byte offset of an element."""
        offset = 0
        for table, index in zip(self.tables, indices, strict=True):
            offset ^= table[index]
        return offset * self.bytes


def _xors(columns: Sequence[int], size: int) -> list[int]:
    table = [0]
    for column in columns:
        table += [place ^ column for place in table]
    return table[:size]


@lru_cache(maxsize=64)
def _places(memory: LinearLayout, shape: tuple[int, ...], element_bits: int) -> Places:
    return Places(memory, shape, element_bits)


@dataclass(frozen=True)
class ElementAccess:
    """The elements that the warps of a block may access: for each case, the indices of each warp's lanes."""

    shape: tuple[int, ...]
    element_bits: int
    width: int
    """The access width of a lane, in bytes."""
    cases: tuple[tuple[tuple[Row, ...], ...], ...]

    def wavefronts(self, memory: LinearLayout) -> list[Wavefronts]:
        """Returns the distinct costs of the access for a block, over all cases."""
        places = _places(memory, self.shape, self.element_bits)
        known: dict[tuple[Row, ...], Wavefronts] = {}
        found: dict[Wavefronts, None] = {}
        for case in self.cases:
            total = NOTHING
            for warp in case:
                if warp not in known:
                    addresses = [places.address(index) for index in zip(*warp, strict=True)]
                    known[warp] = count_wavefronts(addresses, self.width)
                total += known[warp]
            found[total] = None
        return list(found)


def element_access(op: MemoryAccess, lanes: LaneValues) -> ElementAccess | None:
    """Returns the indices of an access by element, or None if they are unknown or always out of bounds."""
    shape: Sequence[int] = op.buffer.type.shape
    count = op.width
    width = count * storage_bits(op.buffer.type.element) // 8
    indices = list(op.indices)
    known = lanes.cases(indices)
    if known is not None:
        cases = [tuple(_by_warp(rows)) for rows in known if _inside(rows, shape)]
    else:
        cases = _moved_about(op, lanes, shape)
    if not cases:
        return None
    return ElementAccess(
        tuple(shape), storage_bits(op.buffer.type.element), width, tuple(dict.fromkeys(cases))
    )


def _inside(rows: Sequence[Row], shape: Sequence[int]) -> bool:
    return all(min(row) >= 0 and max(row) < size for row, size in zip(rows, shape, strict=True))


def _by_warp(rows: Sequence[Row]) -> list[tuple[Row, ...]]:
    return [
        tuple(row[start : start + WARP] for row in rows)
        for start in range(0, len(rows[0]) if rows else 0, WARP)
    ]


def _moved_about(
    op: MemoryAccess, lanes: LaneValues, shape: Sequence[int]
) -> list[tuple[tuple[Row, ...], ...]]:
    """The cases of indices that are known up to a uniform offset: one for each offset in the buffer that matters."""
    known: list[Row] = []
    moves: list[Sequence[int]] = []
    bits, rows = storage_bits(op.buffer.type.element), prod(shape[:-1])
    for axis, (index, size) in enumerate(zip(op.indices, shape, strict=True)):
        found = lanes.sum(index)
        if found is None:
            return []
        step = lanes.step(found.parts)
        first, last = -min(found.known), size - 1 - max(found.known)
        if step == 0:
            choices: Sequence[int] = [0] if first <= 0 <= last else []
        else:
            period = _ROWS if axis < len(shape) - 1 else 8 * (_PANEL if rows >= _ROWS else _PATTERN) // bits
            start = -(-first // step) * step
            choices = range(start, last + 1, step)[: max(1, period // step)]
        known.append(found.known)
        moves.append(choices)
    if not 0 < prod(len(m) for m in moves) * (lanes.threads // WARP) <= _MOST_PLACES:
        return []
    cases: dict[tuple[tuple[Row, ...], ...], None] = {}
    for chosen in itertools.product(*moves):
        moved = [tuple(n + move for n in row) for row, move in zip(known, chosen, strict=True)]
        cases[tuple(_by_warp(moved))] = None
    return list(cases)


def touches_neighbors(op: MemoryAccess, lanes: LaneValues) -> bool:
    """True if the lanes of every warp access adjacent elements along the last dimension, each once and without gaps,
    for any value of the uniform parts.

    This applies to an access by element."""
    if not op.indices:
        return False
    width = op.width
    known = lanes.cases(list(op.indices))
    if known is None:
        sums = [lanes.sum(index) for index in op.indices]
        if any(s is None for s in sums):
            return False
        known = [[s.known for s in sums if s is not None]]
    return all(_follow(warp, width) for rows in known for warp in _by_warp(rows))


def _follow(warp: tuple[Row, ...], width: int) -> bool:
    *others, last = warp
    first = min(last)
    return all(len(set(row)) == 1 for row in others) and sorted(last) == list(
        range(first, first + width * len(last), width)
    )
