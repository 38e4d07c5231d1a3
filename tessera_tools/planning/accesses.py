"""The vector width and the axis of accesses to a tile of global memory, for a given layout."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.dialects import nv_tileaa
from tessera_tools.layout import LinearLayout, contiguous_elements

SECTOR_BYTES = 32
"""Bytes of a sector, the unit of transfer of global memory. An access that fills its sectors wastes no bandwidth."""


def access_vector(access: Any, layout: LinearLayout) -> int:
    """Returns the number of elements of one access in the layout, at most the number that the atom allows."""
    view = access.view.defining_op
    axis = layout_axis(view, access)
    bits = storage_bits(access.view.type.element)
    most = max(1, access.atom.bits // bits)
    return contiguous_elements(layout, axis, most, most, most)


def layout_axis(view: Any, access: Any) -> int:
    """Returns the axis along which the view's elements are adjacent in memory; the last axis if none is known."""
    axis = contiguous_axis(view) if isinstance(view, nv_tileaa.MakeMemRef) else None
    return access.view.type.rank - 1 if axis is None else axis


def fills_sectors(access: Any, layout: LinearLayout) -> bool:
    """Returns true if a warp accesses whole sectors: adjacent lanes together access 32 bytes of a row."""
    view = access.view.defining_op
    axis = layout_axis(view, access)
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
