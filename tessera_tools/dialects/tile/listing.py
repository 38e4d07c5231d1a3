"""Subviews in the listings of `tile`, which omit the layout of the result.

memref.subview %Q[%i, 0] [1, %n] [1, 1] : memref<?x?xbf16> to memref<?xbf16>
  ─▶ … to memref<?xbf16, strided<[1], offset: ?>>
"""

from __future__ import annotations

from tessera_tools.dialects.memref.layouts import dropped_dimensions, reduced_type, subview_type
from tessera_tools.ir.core import Operation

__all__ = ["complete_subviews"]


def complete_subviews(module: Operation) -> None:
    """Add the inferred layout to results of subviews without one, if the module has `tile` ops."""
    ops = list(module.walk())
    if not any(op.name.startswith("tile.") for op in ops):
        return
    from tessera_tools.dialects.memref.views import SubView

    for op in ops:
        if not isinstance(op, SubView) or op.result.type.layout is not None:
            continue
        lists = [op.static_offsets.values, op.static_sizes.values, op.static_strides.values]
        if any(len(numbers) != len(op.source.type.shape) for numbers in lists):
            continue
        full = subview_type(op.source.type, *lists)
        if full is None or dropped_dimensions(full, op.result.type) is not None:
            continue
        type = reduced_type(full, op.result.type.shape)
        if type is not None:
            op.result.type = type
