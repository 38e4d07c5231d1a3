"""Decides from facts whether TMA can copy a tile of a view, and with which boxes.

    make_memref %p, shape = [%m, %n], stride = [%s, 1]      order (0, 1): the axis of stride 1 last
    a tile 128x256 of f16, swizzle of 128 bytes             boxes 128x64: as wide as the swizzle, four of them

The base and the other strides must be multiples of 16 bytes, and the tensor map must be computable from parameters.
Otherwise a `Missed` has the reason.
"""

from __future__ import annotations

from math import prod

from tessera_tools.analysis.access import divisor_of
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.hints import hint
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.analysis.tensor_maps import describe, element_word
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileas import shared_axis
from tessera_tools.ir.builtin_attributes import DenseArrayAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I64, RankedTensorType
from tessera_tools.layout import LinearLayout
from tessera_tools.layout.shared import ATOMICITY, SWIZZLE_ALIGNMENT, swizzled
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.planning.boxes import MOST_AXES, TMA_ALIGNMENT, box_of
from tessera_tools.records import dataclass, replace

ENOUGH_BLOCKS = 4
"""CTAs of a multiprocessor that suffice where TMA moves the tiles of all of them at once: buffers may lower the number
to so many, but no further."""

LONGER_ROWS = "use a tile with longer rows"


@dataclass(frozen=True)
class Boxes:
    """The boxes by which TMA copies a tile of a view."""

    order: tuple[int, ...]
    """The axes of the view in the order of the tensor map: the contiguous one is last."""
    tile: tuple[int, ...]
    """The extents of the tile, in that order."""
    box: tuple[int, ...]
    swizzle: int
    bits: int
    """The size of an element in memory."""
    atomicity: int = ATOMICITY
    """The bytes that the swizzle keeps together."""

    @property
    def count(self) -> int:
        """The number of boxes in a tile."""
        found = 1
        for n, m in zip(self.tile, self.box, strict=True):
            found *= n // m
        return found

    @property
    def text(self) -> str:
        """What a remark says of them: `boxes of 128x64 elements, swizzled by 128 bytes`."""
        together = f", {self.atomicity} at a time" if self.atomicity != ATOMICITY else ""
        return f"boxes of {'x'.join(map(str, self.box))} elements, swizzled by {self.swizzle} bytes{together}"

    def cut(self, parts: int) -> Boxes | None:
        """The same tile in boxes of which so many CTAs may each copy as many, those that are next to each other along
        the first axis that has more than one element; None if there are none."""
        axis = shared_axis(self.tile)
        rows, rest = divmod(self.tile[axis], parts)
        inner = self.swizzle or prod(self.tile[axis + 1 :]) * self.bits // 8
        if rest or not rows or rows * inner % SWIZZLE_ALIGNMENT[self.swizzle]:
            return None
        size = min(rows, self.box[axis])
        if rows % size:
            return None
        return replace(self, box=(*self.box[:axis], size, *self.box[axis + 1 :]))

    @property
    def layout(self) -> LinearLayout:
        """The layout of the boxes of a tile in the buffer."""
        return swizzled(self.tile, self.bits, None, self.swizzle, self.atomicity)


def axes_of(
    op: nv_tileas.TiledLoad | nv_tileas.TiledStore, type: RankedTensorType, facts: Facts, verb: str
) -> tuple[int, ...]:
    """The axes of an access's view in the order of its tensor map.  Raises Missed if TMA cannot copy boxes of the
    view. `verb`: "reads" or "writes"."""
    view = op.view.defining_op
    if not isinstance(view, nv_tileaa.MakeMemRef):
        raise Missed(
            op,
            f"{verb} a view that is not made by one op for all executions",
            "make the view of a pointer where no loop or branch gives it",
        )
    if not 1 <= type.rank <= MOST_AXES or element_word(type.element) is None:
        raise Missed(op, f"{verb} a tile of {type}, which TMA does not support")
    if hint(op, "allow_tma") == 0:
        raise Missed(op, "has the hint allow_tma = false", "remove the hint")
    if op.cache is not None:
        raise Missed(op, "has a cache operator, which TMA does not support", "remove the operator")
    fast = [axis for axis, stride in enumerate(view.strides()) if stride == 1]
    if not fast:
        raise Missed(
            op,
            f"{verb} a view without a dimension of known unit stride, and TMA has no stride along the innermost one",
            "make the view with the constant stride 1",
        )
    last = fast[-1]
    axes = (*(axis for axis in range(type.rank) if axis != last), last)
    size = element_bytes(type.element)
    if facts.divisor(view.base) % TMA_ALIGNMENT:
        raise Missed(
            op,
            f"{verb} {'from' if verb == 'reads' else 'to'} a base that is not known to be a multiple of "
            f"{TMA_ALIGNMENT} bytes",
            "add an assume",
        )
    for axis in axes[:-1]:
        if divisor_of(view.strides()[axis], facts) * size % TMA_ALIGNMENT:
            raise Missed(
                op,
                f"{verb} a view whose stride of dimension {axis} is not known to be a multiple of {TMA_ALIGNMENT} "
                "bytes",
                "add an assume",
            )
    return axes


def boxes_of(
    op: nv_tileas.TiledLoad | nv_tileas.TiledStore,
    type: RankedTensorType,
    axes: tuple[int, ...],
    swizzle: int,
    verb: str,
    atomicity: int = ATOMICITY,
) -> Boxes:
    """The boxes of a tile for a swizzle (0 for none) and its atomicity.  Raises Missed if there are none, or no tensor
    map."""
    view = op.view.defining_op
    size = element_bytes(type.element)
    tile = tuple(type.shape[axis] for axis in axes)
    box = box_of(tile, size, swizzle)
    if box is None:
        least = max(swizzle, TMA_ALIGNMENT)
        raise Missed(
            op,
            f"{verb} rows of {tile[-1] * size} bytes, which are not whole boxes of {least} bytes",
            "use a tile with longer rows",
        )
    found = Boxes(axes, tile, box, swizzle, 8 * size, atomicity)
    assert isinstance(view, nv_tileaa.MakeMemRef)  # axes_of refuses others
    turned = with_axes(view, axes)
    problem = describe(turned.res, found.box, swizzle)
    turned.drop_all_references()
    if isinstance(problem, str):
        raise Missed(op, problem.replace("describes", verb))
    return found


def shortest_rows(bytes: int = 32) -> str:
    """What a refusal of short rows says of products."""
    return f"products read rows of at least {bytes} bytes from shared memory"


def boxes_of_factor(
    load: nv_tileas.TiledLoad, type: RankedTensorType, axes: tuple[int, ...], atomicity: int = ATOMICITY
) -> Boxes:
    """The boxes by which TMA brings a tile for a product, in the widest swizzle with this atomicity.  Raises Missed if
    there are none.

    Factors have at least 8 rows, the pattern of a swizzle."""
    size = element_bytes(type.element)
    width = type.shape[axes[-1]] * size
    modes = (128, 64, 32) if atomicity == ATOMICITY else (128,)
    swizzle = next((s for s in modes if width % s == 0), 0)
    if not swizzle:
        raise Missed(load, f"reads rows of {width} bytes; {shortest_rows(modes[-1])}", LONGER_ROWS)
    return boxes_of(load, type, axes, swizzle, "reads", atomicity)


def with_axes(source: nv_tileaa.MakeMemRef, order: tuple[int, ...]) -> nv_tileaa.MakeMemRef:
    """The view with its axes in another order, not yet inserted."""
    extents, strides = ([items[axis] for axis in order] for items in (source.extents(), source.strides()))
    type = source.res.type

    def static(items: list[int | Value]) -> DenseArrayAttr:
        marks = [nv_tileaa.DYNAMIC_INDEX if isinstance(v, Value) else v for v in items]
        return DenseArrayAttr(I64, tuple(marks))

    return nv_tileaa.MakeMemRef(
        source.base,
        [v for v in extents if isinstance(v, Value)],
        [v for v in strides if isinstance(v, Value)],
        static(extents),
        static(strides),
        source.space,
        res=nv_tileaa.MemRefType(tuple(type.shape[axis] for axis in order), type.element),
        location=source.location,
    )
