"""Buffers in shared memory that a `tile` program cuts into equal parts: the stages of a ring.

%ring = tile.alloc_shared : memref<3x64x32xf16, 3>
memref.subview %ring[%i, 0, 0] [1, 64, 32] [1, 1, 1]      stage %i, of 64x32

%ring = tile.alloc_shared : memref<192x32xf16, 3>
memref.subview %ring[%row, 0] [64, 32] [1, 1]             stage %row / 64, where facts say that 64 divides %row
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import memref, tile
from tessera_tools.ir.core import Value
from tessera_tools.passes.tile.slices import mixed


@dataclass(frozen=True)
class Ring:
    """A buffer as stages of one tile."""

    shape: tuple[int, ...]
    """The extents of the buffer."""
    axis: int
    """The axis along which a stage is a part of the buffer; in those before, it has one index."""
    tile: tuple[int, ...]
    """The extents of a stage, from `axis` on."""

    @property
    def stages(self) -> int:
        return prod(self.shape) // prod(self.tile)


def ring_of(op: tile.AllocShared) -> Ring:
    """The stages of a buffer, one where nothing cuts it.  Errors at views that are no stages, and at one that cuts
    otherwise than another."""
    shape = op.res.type.shape
    found: Ring | None = None
    first: Any = None
    for view in op.res.users:
        if not isinstance(view, memref.SubView):
            continue
        ring = _cut(view)
        if found is not None and ring != found:
            failure = view.error(
                f"cuts stages of {_text(ring.tile)} from a buffer with stages of {_text(found.tile)}; expected one size"
            )
            failure.diagnostics[0].note("the other stages are cut here", first.location)
            raise failure
        found, first = ring, view
    return found if found is not None else Ring(shape, 0, shape)


def stage_of(view: memref.SubView, ring: Ring) -> list[Value | int]:
    """The number of a stage as digits, the last of them in elements of `ring.axis`.  An error where it may not begin at
    a stage."""
    offsets = mixed(view, "offsets")
    height = ring.tile[0]
    last = offsets[ring.axis]
    divisor = Facts().divisor(last) if isinstance(last, Value) else last or height
    if divisor % height:
        raise view.error(
            f"cuts {height} elements along dimension {ring.axis} at a place that may be no multiple of {height}"
        )
    return list(offsets[: ring.axis + 1])


def _cut(view: memref.SubView) -> Ring:
    """The stages that a view is one of: one index, then a part that divides an axis, then whole axes."""
    shape, sizes, offsets = view.source.type.shape, mixed(view, "sizes"), mixed(view, "offsets")
    static = [n for n in sizes if isinstance(n, int)]
    if len(static) == len(sizes) and all(n == 1 for n in view.static_strides.values):
        axis = next((number for number, size in enumerate(static) if size != 1), len(static) - 1)
        following = range(axis + 1, len(static))
        if shape[axis] % static[axis] == 0 and all(
            static[a] == shape[a] and offsets[a] == 0 for a in following
        ):
            return Ring(shape, axis, tuple(static[axis:]))
    raise view.error(
        f"cuts {_text(tuple(sizes))} from {view.source.type}; expected a stage of it: one index, or a part that "
        "divides an extent, and the following dimensions whole"
    )


def _text(shape: tuple[Value | int, ...]) -> str:
    return "x".join(str(n) if isinstance(n, int) else "?" for n in shape)
