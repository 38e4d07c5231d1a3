"""Multi-stage buffers in shared memory: a `tile` program uses equal parts of the buffer as stages of a ring.

%ring = tile.alloc_shared : memref<3x64x32xf16, 3>
memref.subview %ring[%i, 0, 0] [1, 64, 32] [1, 1, 1]      stage %i, of 64x32

%ring = tile.alloc_shared : memref<192x32xf16, 3>
memref.subview %ring[%row, 0] [64, 32] [1, 1]             stage %row / 64, if facts show that 64 divides %row
"""

from __future__ import annotations

from math import prod
from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import memref, tile
from tessera_tools.dialects.memref.lists import mixed_items
from tessera_tools.ir.core import Value
from tessera_tools.records import dataclass


@dataclass(frozen=True)
class Ring:
    """The stages of a buffer."""

    shape: tuple[int, ...]
    """The extents of the buffer."""
    axis: int
    """The axis along which the buffer is split; along the axes before it, a stage has one index."""
    tile: tuple[int, ...]
    """The extents of a stage, from `axis` on."""

    @property
    def stages(self) -> int:
        return prod(self.shape) // prod(self.tile)


def ring_of(op: tile.AllocShared) -> Ring:
    """The stages of a buffer; a single one if it is not split.  Raises errors at views that are not stages, and at
    views with inconsistent stages."""
    shape = op.res.type.shape
    found: Ring | None = None
    first: Any = None
    for view in op.res.users:
        if not isinstance(view, memref.SubView):
            continue
        ring = _cut(view)
        if found is not None and ring != found:
            failure = view.error(
                f"takes a stage of {_text(ring.tile)} from a buffer with stages of {_text(found.tile)}; "
                "expected one size"
            )
            failure.diagnostics[0].note("the other stages are taken here", first.location)
            raise failure
        found, first = ring, view
    return found if found is not None else Ring(shape, 0, shape)


def stage_of(view: memref.SubView, ring: Ring) -> list[Value | int]:
    """The stage number as digits, the last in elements of `ring.axis`.  Raises an error if the view may not begin at
    a stage."""
    offsets = mixed_items(view, "offsets")
    height = ring.tile[0]
    last = offsets[ring.axis]
    divisor = Facts().divisor(last) if isinstance(last, Value) else last or height
    if divisor % height:
        raise view.error(
            f"takes {height} elements along dimension {ring.axis} at an offset that is not known to be "
            f"a multiple of {height}"
        )
    return list(offsets[: ring.axis + 1])


def _cut(view: memref.SubView) -> Ring:
    """The stages of which a view is one: single indices, then a part that divides an axis, then whole axes."""
    shape, sizes, offsets = view.source.type.shape, mixed_items(view, "sizes"), mixed_items(view, "offsets")
    static = [n for n in sizes if isinstance(n, int)]
    if len(static) == len(sizes) and all(n == 1 for n in view.static_strides.values):
        axis = next((number for number, size in enumerate(static) if size != 1), len(static) - 1)
        following = range(axis + 1, len(static))
        if shape[axis] % static[axis] == 0 and all(
            static[a] == shape[a] and offsets[a] == 0 for a in following
        ):
            return Ring(shape, axis, tuple(static[axis:]))
    raise view.error(
        f"takes {_text(tuple(sizes))} from {view.source.type}; expected a stage of it: one index, or a part that "
        "divides an extent, and the following dimensions whole"
    )


def _text(shape: tuple[Value | int, ...]) -> str:
    return "x".join(str(n) if isinstance(n, int) else "?" for n in shape)
