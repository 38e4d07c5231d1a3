"""The vector width and the axis of accesses to a tile of global memory, for a given layout."""

from __future__ import annotations

from typing import TypeAlias

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.dialects import nv_tileas
from tessera_tools.layout import LinearLayout, contiguous_elements

TiledAccess: TypeAlias = nv_tileas.TiledLoad | nv_tileas.TiledStore | nv_tileas.AsyncTiledCopy
"""The accesses to a tile of a view."""

SECTOR_BYTES = 32
"""Bytes of a sector, the unit of transfer of global memory. An access that fills its sectors wastes no bandwidth."""

MANY_ROWS = 8
"""So many rows of a tile that a thread of an agent loads have hoisted addresses that take as many registers as the tile
needs. The address of each row is then computed from that of the row before."""
MANY_STORED_ROWS = 16
"""The same for the rows of a tile that a thread stores, whose registers are free behind it."""


def access_vector(access: TiledAccess, layout: LinearLayout) -> int:
    """Returns the number of elements of one access in the layout, at most the number that the atom allows."""
    most = _atom_elements(access)
    return contiguous_elements(layout, layout_axis(access), most, most, most)


def access_layout(access: TiledAccess, shape: tuple[int, ...], warps: int) -> LinearLayout:
    """Returns the coalesced layout of a tile for an access, with the width of its atom."""
    layout = access.atom.row.threads
    assert layout is not None
    return layout(shape, _atom_elements(access), warps, layout_axis(access))


def _atom_elements(access: TiledAccess) -> int:
    return max(1, access.atom.bits // storage_bits(access.view.type.element))


def layout_axis(access: TiledAccess | nv_tileas.TiledPrefetch) -> int:
    """Returns the axis along which the view's elements are adjacent in memory; the last axis if none is known."""
    axis = contiguous_axis(access.view.defining_op)
    return access.view.type.rank - 1 if axis is None else axis


def fills_sectors(access: TiledAccess, layout: LinearLayout) -> bool:
    """Returns true if a warp accesses whole sectors: adjacent lanes together access 32 bytes of a row."""
    axis = layout_axis(access)
    vector = access_vector(access, layout)
    bits = storage_bits(access.view.type.element)
    name = f"dim{axis}"
    position = [n for n, _ in layout.outs].index(name)
    run = vector
    for basis in layout.bases["lane"]:
        others = [b for i, b in enumerate(basis) if i != position]
        if basis[position] == run and not any(others):
            run *= 2
    return run * bits >= SECTOR_BYTES * 8
