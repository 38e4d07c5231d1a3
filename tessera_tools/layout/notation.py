"""Layouts as people write them: the attributes of `nv_tileas`, and CuTe.

text ──read_layout()──▶ LinearLayout ──cute_notation()──▶ text

    #nv_tileas.linear<{register = [[0, 1]], lane = [[1, 0]]}>      a distributed tile
    #nv_tileas.shared<{offset = [[0, 1], [1, 1]]}>                 a buffer
    (8,64):(64,1)                 a buffer in CuTe: coordinates ↦ offset
    Sw<3,3,3> o (8,64):(64,1)     a swizzled one, in elements
    ((4,8),(2,2)):((32,1),(16,8)) with a tile: (thread, value) ↦ index in the tile, first dimension fastest
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from tessera_tools.layout.cute import CuteLayout, IntTuple, Swizzle, flatten
from tessera_tools.layout.distributed import dims_of
from tessera_tools.layout.f2 import log2
from tessera_tools.layout.linear import LayoutError, LinearLayout
from tessera_tools.layout.text import from_braces, from_text

__all__ = ["cute_notation", "read_layout"]

_ATTRIBUTE = re.compile(r"\s*#?(?:\w+\.)*(?:linear|shared)\b(?!\s*=)")
_NAME = re.compile(r"\s*(?P<name>#[\w.]*)")
_SWIZZLED = re.compile(
    r"(?P<swizzle>Sw(?:izzle)?\s*<[^>]*>)\s*(?:o|∘)\s*(?:0\s*(?:o|∘)\s*)?(?P<layout>.*)", re.DOTALL
)
_LANES = 32


def read_layout(text: str, tile: Sequence[int] | None = None) -> LinearLayout:
    """Reads a layout in one of the forms above; the entries of an attribute may also stand alone.

    tile: the shape of the tile of a distributed layout in CuTe notation, which does not contain it.
    Raises LayoutError with the column of an error, or for a CuTe layout with other sizes than powers of two, or one
    that is not one to one in memory.
    """
    found = _ATTRIBUTE.match(text)
    if found is not None:
        return from_braces(text, found.end(), "<{…}>")
    other = _NAME.match(text)
    if other is not None:
        raise LayoutError(
            f"column {other.start('name') + 1}: found '{other['name'][:40]}', expected #nv_tileas.linear<{{…}}> or "
            "#nv_tileas.shared<{…}>"
        )
    if "=" in text:
        return from_braces(text, 0, "{…}") if text.lstrip().startswith("{") else from_text(text)
    text = text.strip()
    swizzled = _SWIZZLED.fullmatch(text)
    swizzle = Swizzle.parse(swizzled["swizzle"]) if swizzled is not None else None
    if not text or (text[0] not in "(0123456789" and swizzled is None):
        raise LayoutError(
            f"found '{text[:40]}', expected a layout such as #nv_tileas.linear<{{register = [[0, 1]], …}}>, "
            "(4,8):(8,1) or Sw<3,3,3> o (8,64):(64,1)"
        )
    cute = CuteLayout.parse(swizzled["layout"] if swizzled is not None else text)
    if tile is not None:
        if swizzle is not None:
            raise LayoutError("a tile is for a layout of threads and values, which has no swizzle")
        return _threads_and_values(cute, tile)
    return _memory(cute, swizzle)


def _memory(cute: CuteLayout, swizzle: Swizzle | None) -> LinearLayout:
    """Coordinates ↦ offset, inverted."""
    modes: tuple[IntTuple, ...] = cute.shape if isinstance(cute.shape, tuple) else (cute.shape,)
    sizes = [prod(flatten(mode)) for mode in modes]
    flat = cute.as_linear("index")
    bits = flat.total_out_bits
    if not flat.is_injective() or bits != flat.total_in_bits:
        raise LayoutError(f"{cute} is not one to one onto its offsets, as a buffer must be")
    columns = flat.columns
    if swizzle is not None:
        if swizzle.base + swizzle.shift + swizzle.bits > bits:
            raise LayoutError(f"{swizzle} moves bits beyond the {1 << bits} elements of {cute}")
        columns = tuple(map(swizzle.apply, columns))
    ins = list(zip(dims_of(len(sizes)), sizes, strict=True))
    return LinearLayout.from_columns(ins, [("offset", 1 << bits)], columns).invert()


def _threads_and_values(cute: CuteLayout, tile: Sequence[int]) -> LinearLayout:
    if not isinstance(cute.shape, tuple) or len(cute.shape) != 2:
        raise LayoutError(f"{cute} has no two modes; expected those of (threads, values)")
    if any(size < 1 or size & (size - 1) for size in tile):
        raise LayoutError(f"the tile {'x'.join(map(str, tile))} has an extent that is not a power of two")
    threads = prod(flatten(cute.shape[0]))
    flat = cute.as_linear("index")
    outs = list(zip(dims_of(len(tile)), tile, strict=True))
    bits = log2(threads)
    own, values = flat.columns[:bits], flat.columns[bits:]
    if any(column >= prod(tile) for column in flat.columns):
        raise LayoutError(f"{cute} reaches outside the tile {'x'.join(map(str, tile))}")
    lanes, warps = own[: log2(_LANES)], own[log2(_LANES) :]
    ins = [("register", 1 << len(values)), ("lane", 1 << len(lanes)), ("warp", 1 << len(warps)), ("block", 1)]
    return LinearLayout.from_columns(ins, outs, [*values, *lanes, *warps])


def cute_notation(layout: LinearLayout) -> str | None:
    """Returns the layout in CuTe notation, in a form that `read_layout` reads; None if it has none.

    A distributed layout is (thread, value) ↦ index in the tile, whose first dimension is the fastest. A buffer is
    coordinates ↦ offset in elements, after a swizzle if there is one. A layout has no such form if its bases have
    several bits that no swizzle explains, or if it spans several CTAs.
    """
    try:
        if layout.in_dims == ("offset",):
            return _memory_text(layout)
        if any(size > 1 for dim, size in layout.ins if dim not in ("register", "lane", "warp")):
            return None
        # The index of CuTe counts the first dimension fastest, which is the order of flattened outputs.
        threads = [layout.dim_columns(dim) for dim in ("lane", "warp") if dim in layout.in_dims]
        values = layout.dim_columns("register") if "register" in layout.in_dims else ()
        modes = [_mode([column for columns in threads for column in columns], layout), _mode(values, layout)]
        used = [column for columns in (*threads, values) for column in columns if column]
        if len(set(used)) != len(used):
            return None
    except LayoutError:
        return None
    return str(CuteLayout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes)))


def _mode(columns: Sequence[int], layout: LinearLayout) -> CuteLayout:
    outs = [("index", 1 << layout.total_out_bits)]
    return CuteLayout.from_linear(LinearLayout.from_columns([("in", 1 << len(columns))], outs, columns))


def _memory_text(layout: LinearLayout) -> str | None:
    if not layout.is_invertible():
        return None
    address = layout.invert()
    bits = address.total_out_bits
    for swizzle in _swizzles(bits):
        columns = address.columns if swizzle is None else tuple(map(swizzle.apply, address.columns))
        if all(column & (column - 1) == 0 for column in columns):
            modes: list[CuteLayout] = []
            at = 0
            for dim, _ in address.ins:
                count = address.in_bits(dim)
                modes.append(_mode(columns[at : at + count], address))
                at += count
            plain = CuteLayout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))
            return str(plain) if swizzle is None else f"{swizzle} o {plain}"
    return None


def _swizzles(bits: int) -> list[Swizzle | None]:
    """No swizzle, and then each that moves bits within an offset, simple ones first."""
    found: list[Swizzle | None] = [None]
    for count in range(1, 6):
        for base in range(bits):
            found += [Swizzle(count, base, shift) for shift in range(count, bits - base - count + 1)]
    return found
