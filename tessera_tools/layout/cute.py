"""CuTe notation: `(shape):(stride)` with nested tuples, and `Swizzle<B,M,S>`.

    (8,(2,4)):(1,(32,8))        coordinate (i, (j, k)) ↦ i·1 + j·32 + k·8
    Sw<3,4,3>                   xor bits 7-9 of an address into bits 4-6

As in CuTe, the first mode is the most minor (column-major order of coordinates). A linear index is split among the
modes in that order. Sources: CUTLASS documentation, "CuTe Layouts" and "CuTe Layout Algebra".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from tessera_tools.layout.f2 import is_power_of_two, log2
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.records import dataclass

IntTuple = int | tuple["IntTuple", ...]

_TOKEN = re.compile(r"\s*(\d+|[(),:])")
_SWIZZLE = re.compile(r"\s*(?:Sw|Swizzle)\s*<\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*>\s*")


def flatten(value: IntTuple) -> tuple[int, ...]:
    """The leaves of a nested tuple, in order."""
    if isinstance(value, int):
        return (value,)
    return tuple(leaf for part in value for leaf in flatten(part))


def _congruent(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, int) or isinstance(stride, int):
        return isinstance(shape, int) and isinstance(stride, int)
    return len(shape) == len(stride) and all(map(_congruent, shape, stride))


def _text(value: IntTuple) -> str:
    return str(value) if isinstance(value, int) else f"({','.join(map(_text, value))})"


@dataclass(frozen=True, slots=True)
class CuteLayout:
    """A shape and a stride of the same nesting. Raises `LayoutError` if they differ or if a size is not positive."""

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        if not _congruent(self.shape, self.stride):
            raise LayoutError(f"shape {_text(self.shape)} and stride {_text(self.stride)} differ in nesting")
        if any(size < 1 for size in flatten(self.shape)):
            raise LayoutError(f"shape {_text(self.shape)} has a size below 1")

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"

    @classmethod
    def parse(cls, text: str) -> CuteLayout:
        """Reads `8:1`, `(8,4):(4,1)`, `((2,4),8):((1,16),2)`, … Raises `LayoutError` with the column."""
        tokens = _tokens(text)
        shape = _read(text, tokens)
        _expect(text, tokens, ":")
        stride = _read(text, tokens)
        value, column = next(tokens)
        if value:
            raise LayoutError(f"column {column}: found '{value}' after the layout '{text.strip()}'")
        return cls(shape, stride)

    @property
    def modes(self) -> tuple[tuple[int, int], ...]:
        """(size, stride) of each leaf, most minor first."""
        return tuple(zip(flatten(self.shape), flatten(self.stride), strict=True))

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return prod(flatten(self.shape))

    def apply(self, coordinate: IntTuple) -> int:
        """Returns the index of a coordinate: an integer (split among the modes) or a tuple of the same nesting."""
        return _apply(coordinate, self.shape, self.stride)

    def coalesce(self) -> CuteLayout:
        """Returns the flat layout with the fewest modes that is the same function: `(2,4):(1,2)` is `8:1`."""
        merged: list[tuple[int, int]] = []
        for size, stride in self.modes:
            if size == 1:
                continue
            if merged and merged[-1][0] * merged[-1][1] == stride:
                merged[-1] = (merged[-1][0] * size, merged[-1][1])
            else:
                merged.append((size, stride))
        if not merged:
            return CuteLayout(1, 0)
        if len(merged) == 1:
            return CuteLayout(*merged[0])
        return CuteLayout(tuple(size for size, _ in merged), tuple(stride for _, stride in merged))

    def as_linear(self, in_dim: str = "offset", outs: Mapping[str, int] | None = None) -> LinearLayout:
        """Returns the same function as a linear layout from one input to one output (`index`, or split as `outs`).

        Requires sizes and strides to be powers of two (a stride may be 0). No two modes may overlap, so that adding
        indices is the same as xor. Otherwise, raises a `LayoutError` that names the mode.
        """
        columns: list[int] = []
        used = 0
        for size, stride in self.modes:
            if not is_power_of_two(size) or not (stride == 0 or is_power_of_two(stride)):
                raise LayoutError(
                    f"mode {size}:{stride} of {self} has a size or stride that is not a power of two"
                )
            reach = (size - 1) * stride
            if used & reach:
                raise LayoutError(
                    f"mode {size}:{stride} of {self} overlaps an earlier one: it adds, and does not xor"
                )
            used |= reach
            columns += [stride << bit for bit in range(log2(size))]
        sizes = dict(outs) if outs is not None else {"index": 1 << used.bit_length()}
        if used >> sum(log2(size) for size in sizes.values()):
            raise LayoutError(f"{self} reaches index {used}, outside {sizes}")
        return LinearLayout.from_columns([(in_dim, 1 << len(columns))], sizes, columns)

    @classmethod
    def from_linear(cls, layout: LinearLayout) -> CuteLayout:
        """Returns the CuTe layout of a linear layout's flattened matrix.

        Raises `LayoutError` if a basis has two bits or repeats. Such a layout is swizzled and has no strides.
        """
        modes: list[tuple[int, int]] = []
        used = 0
        for column in layout.columns:
            if column and (not is_power_of_two(column) or used & column):
                raise LayoutError(f"column {column} of {layout} has no stride: the layout is swizzled")
            used |= column
            modes.append((2, column))
        if not modes:
            return cls(1, 0)
        return cls(tuple(size for size, _ in modes), tuple(stride for _, stride in modes)).coalesce()


def _apply(coordinate: IntTuple, shape: IntTuple, stride: IntTuple) -> int:
    if isinstance(shape, int) and isinstance(stride, int):
        if not isinstance(coordinate, int):
            raise LayoutError(f"coordinate {_text(coordinate)} for the mode {shape}, expected an integer")
        return coordinate * stride
    if isinstance(shape, int) or isinstance(stride, int):
        raise LayoutError(f"shape {_text(shape)} and stride {_text(stride)} differ in nesting")
    if isinstance(coordinate, int):
        total = 0
        for at, (part, step) in enumerate(zip(shape, stride, strict=True)):
            size = prod(flatten(part))
            # The last mode takes the rest of the index, so that an index past the end continues.
            here = coordinate if at == len(shape) - 1 else coordinate % size
            coordinate //= size
            total += _apply(here, part, step)
        return total
    if len(coordinate) != len(shape):
        raise LayoutError(f"coordinate {_text(coordinate)} for shape {_text(shape)}: the ranks differ")
    return sum(map(_apply, coordinate, shape, stride))


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`Swizzle<B,M,S>`: xor the B bits at position M + S into the B bits at position M.

    `bits` is B, `base` is M, `shift` is S. Requires S ≥ B, so that the swizzle writes no bit that it reads. It is then
    an involution.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or self.shift < self.bits:
            raise LayoutError(f"{self}: expected B ≥ 0, M ≥ 0 and S ≥ B")

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    @classmethod
    def parse(cls, text: str) -> Swizzle:
        """Reads `Sw<3,4,3>` or `Swizzle<3,4,3>`."""
        match = _SWIZZLE.fullmatch(text)
        if match is None:
            raise LayoutError(f"found '{text.strip()}', expected a swizzle such as Sw<3,4,3>")
        return cls(*(int(part) for part in match.groups()))

    def apply(self, index: int) -> int:
        """index ^ ((index >> S) & (2^B - 1) << M)"""
        mask = ((1 << self.bits) - 1) << self.base
        return index ^ (index >> self.shift & mask)

    def in_elements(self, element_bits: int) -> Swizzle:
        """Converts a swizzle of byte addresses to one of element indices. Requires whole elements within 2^M bytes."""
        if element_bits < 8:
            return Swizzle(self.bits, self.base + log2(8 // element_bits), self.shift)
        if log2(element_bits // 8) > self.base:
            raise LayoutError(f"{self} on bytes splits elements of {element_bits} bits")
        return Swizzle(self.bits, self.base - log2(element_bits // 8), self.shift)

    def as_layout(self, index_bits: int, in_dim: str = "offset", out_dim: str = "offset") -> LinearLayout:
        """Returns the swizzle as an invertible linear layout on indices of `index_bits` bits."""
        columns = [self.apply(1 << bit) for bit in range(index_bits)]
        return LinearLayout({in_dim: [(column,) for column in columns]}, {out_dim: 1 << index_bits})


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            start = len(text) - len(text[position:].lstrip())
            raise LayoutError(
                f"column {start + 1}: found '{text[start]}', expected a CuTe layout such as (8,4):(4,1)"
            )
        yield match[1], match.start(1) + 1
        position = match.end()
    while True:
        yield "", len(text) + 1


def _expect(text: str, tokens: Iterator[tuple[str, int]], want: str) -> None:
    value, column = next(tokens)
    if value != want:
        raise LayoutError(
            f"column {column}: found '{value or 'the end'}', expected '{want}' in '{text.strip()}'"
        )


def _read(text: str, tokens: Iterator[tuple[str, int]]) -> IntTuple:
    value, column = next(tokens)
    if value.isdigit():
        return int(value)
    if value != "(":
        found = value or "the end"
        raise LayoutError(f"column {column}: found '{found}', expected a number or '(' in '{text.strip()}'")
    parts: list[IntTuple] = [_read(text, tokens)]
    while True:
        value, column = next(tokens)
        if value == ")":
            return tuple(parts)
        if value != ",":
            raise LayoutError(
                f"column {column}: found '{value or 'the end'}', expected ',' or ')' in '{text.strip()}'"
            )
        parts.append(_read(text, tokens))
