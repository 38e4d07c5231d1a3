"""By how many elements at a time, and along which axis, a tile of global memory is accessed in a layout."""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.dialects import nv_tileaa
from tessera_tools.layout import LinearLayout, contiguous_elements

SECTOR_BYTES = 32
"""Global memory moves in sectors of 32 bytes; an access that fills them wastes nothing."""


def access_vector(access: Any, layout: LinearLayout) -> int:
    """Elements of one access of that layout, no more than the access's atom allows."""
    view = access.view.defining_op
    axis = layout_axis(view, access)
    bits = storage_bits(access.view.type.element)
    most = max(1, access.atom.bits // bits)
    return contiguous_elements(layout, axis, most, most, most)


def layout_axis(view: Any, access: Any) -> int:
    """The axis along which the view's elements are neighbors; the last where none is known to be."""
    axis = contiguous_axis(view) if isinstance(view, nv_tileaa.MakeMemRef) else None
    return access.view.type.rank - 1 if axis is None else axis


def fills_sectors(access: Any, layout: LinearLayout) -> bool:
    """Whether the accesses of a warp cover whole sectors: neighboring lanes together reach 32 bytes of a row."""
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
