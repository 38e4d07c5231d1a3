"""What each op says of the layouts of its tiles: four tables by op name, read by tileas-assign-layouts.

    @tied("nv_tileaa.cat")     values that must have one layout (no entry is needed for elementwise ops, whose tiles all
                               do, and for structured control flow, whose `flow` says what goes together)
    @copying("nv_tileaa.…")    results whose elements are elements of an operand: where in it, and the reverse
    @anchored("nv_tileas.…")   values for which the op has a preference, with its strength
    @demanding("nv_tileas.…")  operands and results that must have a certain layout: conversions are put where needed

A layout maps (register, lane, warp, block) to coordinates of a tile.  For a copy, `seen` maps the layout of the result
to the coordinates of the operand that the same thread needs: reshape, permute and broadcast are linear maps of
coordinates, so that nothing moves between threads where the operand's layout is `seen` (less repeated registers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileaa.packing import packed_bits
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    blocked,
    broadcast,
    cat,
    reshape,
    slice_dim,
    transpose,
)
from tessera_tools.layout.access import contiguous_elements
from tessera_tools.layout.distributed import fit
from tessera_tools.layout.f2 import Elimination
from tessera_tools.layout.neighbors import coarsened, holds_whole, refined
from tessera_tools.layout.reduction import is_scannable
from tessera_tools.planning.dot_layouts import async_layouts, dot_layouts

LOAD, STORE, PRODUCT = 2, 1, 3
"""How strongly memory accesses and matrix products want their layouts; the strongest decides for its class."""

MapLayout = Callable[[LinearLayout], LinearLayout]


@dataclass(frozen=True, slots=True)
class Copy:
    """One operand of an op whose result has its elements in other places.

    `forward` gives the result's layout that moves nothing, for a layout of the operand; `seen` the operand's
    coordinates (with a register for every one of the result), for a layout of the result, or None where that cannot
    be said.  Either may raise LayoutError.
    """

    source: Value
    result: Value
    forward: MapLayout
    seen: MapLayout | None

    def backward(self, layout: LinearLayout) -> LinearLayout | None:
        """The operand's layout that moves nothing, for a layout of the result; None where there is none."""
        if self.seen is None:
            return None
        return without_repeated_registers(self.seen(layout))


TIED: Registry[Callable[[Any], list[list[Value]]]] = Registry("tie")
COPIES: Registry[Callable[[Any], list[Copy]]] = Registry("copy")
ANCHORS: Registry[Callable[[Any, int], list[tuple[Value, int, LinearLayout]]]] = Registry("preference")
DEMANDS: Registry[Callable[[Any, int], list[tuple[Value, LinearLayout]]]] = Registry("demand")

tied = TIED.of
"""Register for op names: op → groups of values that have one layout."""
copying = COPIES.of
"""Register for op names: op → its copies; if there are several, their operands are tied."""
anchored = ANCHORS.of
"""Register for op names: (op, warps) → (value, strength, layout) of each preference."""
demanding = DEMANDS.of
"""Register for op names: (op, warps) → (operand or result, layout that it must have)."""

FREE = frozenset({"arith.constant", "nv_tileaa.splat", "nv_tileaa.iota"})
"""Ops whose tile can be made in any layout at no cost."""


def is_tile(value: Value) -> bool:
    """Whether a value is a tile, which has a layout."""
    return isinstance(value.type, RankedTensorType)


def without_repeated_registers(layout: LinearLayout) -> LinearLayout:
    """The layout without the bits of the register index that repeat what lower ones reach."""
    bases = layout.bases
    found: list[int] = []
    kept = []
    for basis, column in zip(bases["register"], layout.dim_columns("register"), strict=True):
        if not Elimination(found).contains(column):
            found.append(column)
            kept.append(basis)
    bases["register"] = tuple(kept)
    return LinearLayout(bases, layout.outs)


# -- ties


@tied("nv_tileas.async.dot_wait")
def _waited(op: Any) -> list[list[Value]]:
    return [[op.res, op.source]]


@tied("nv_tileas.dot", "nv_tileas.async.dot")
def _accumulator(op: Any) -> list[list[Value]]:
    return [[op.res, op.c]]


@tied("nv_tileaa.reduce", "nv_tileaa.scan")
def _along_axis(op: Any) -> list[list[Value]]:
    return (
        [list(op.operands), list(op.results)] if op.name.endswith("reduce") else [[*op.operands, *op.results]]
    )


@tied(
    "nv_tileaa.load",
    "nv_tileaa.store",
    "nv_tileaa.atomic_load",
    "nv_tileaa.atomic_store",
    "nv_tileaa.atomic_rmw",
    "nv_tileaa.atomic_cas",
    "nv_tileaa.multimem_load_reduce",
    "nv_tileaa.multimem_reduce",
    "nv_tileaa.multimem_store",
)
def _through_pointers(op: Any) -> list[list[Value]]:
    return [[*op.operands, *op.results]]


@tied("nv_tileaa.cat")
def _joined(op: Any) -> list[list[Value]]:
    return [[op.lhs, op.rhs]]


@tied("nv_tileas.spill", "nv_tileas.reload")
def _kept(op: Any) -> list[list[Value]]:
    """Threads find in a buffer what they have put there."""
    kept = [u for u in op.buffer.users if isinstance(u, nv_tileas.Spill | nv_tileas.Reload)]
    return [[u.value if isinstance(u, nv_tileas.Spill) else u.res for u in kept]]


@tied("nv_tileaa.print", "nv_tileaa.assert")
def _any_layouts(op: Operation) -> list[list[Value]]:
    return []


@tied("nv_tileaa.insert")
def _inserted(op: Any) -> list[list[Value]]:
    return [[op.dest, op.res]]


def ties(op: Operation) -> list[list[Value]]:
    """The groups of tiles of an op that have one layout."""
    rule = TIED.get(op.name)
    if rule is not None:
        groups = rule(op)
    elif op.regions:
        # What flows together around loops and out of branches.
        groups = [[target, *found] for target, found in flow_of(op)]
    elif is_elementwise(op):
        groups = [[*op.operands, *op.results]]
    else:
        return []
    return [tiles for group in groups if len(tiles := [v for v in group if is_tile(v)]) > 1]


def is_known(op: Operation) -> bool:
    """Whether an op that carries tiles has rules here, or needs none."""
    name = op.name
    return (
        any(name in table for table in (TIED, COPIES, ANCHORS, DEMANDS))
        or name in FREE
        or is_elementwise(op)
        or name in ("nv_tileas.convert_layout", "nv_tileaa.unsplat")
        or op.has_trait(Terminator)
        or hasattr(op, "flow")
    )


# -- copies


@copying("nv_tileaa.permute")
def _permute(op: Any) -> list[Copy]:
    order = op.permutation.values
    inverse = tuple(sorted(range(len(order)), key=order.__getitem__))
    return [Copy(op.source, op.res, lambda x: transpose(x, order), lambda x: transpose(x, inverse))]


@copying("nv_tileaa.reshape")
def _reshape(op: Any) -> list[Copy]:
    old, new = op.source.type.shape, op.res.type.shape
    return [Copy(op.source, op.res, lambda x: reshape(x, new), lambda x: reshape(x, old))]


@copying("nv_tileaa.broadcast")
def _broadcast(op: Any) -> list[Copy]:
    old, new = op.source.type.shape, op.res.type.shape
    return [Copy(op.source, op.res, lambda x: broadcast(x, new), lambda x: within(x, old))]


def within(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """The layout modulo a smaller shape: coordinates within the part of that shape."""
    for axis, size in enumerate(shape):
        layout = layout.resize_out(f"dim{axis}", size)
    return layout


@copying("nv_tileaa.cat")
def _cat(op: Any) -> list[Copy]:
    axis = op.axis.value
    shape = op.lhs.type.shape
    return [
        Copy(source, op.res, lambda x: cat(x, axis), lambda x: _parts_in_registers(x, shape))
        for source in (op.lhs, op.rhs)
    ]


def _parts_in_registers(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """The layout within parts of `shape`; LayoutError unless registers alone choose the part."""
    sizes = dict(layout.outs)
    part = [sizes[f"dim{axis}"] // size for axis, size in enumerate(shape)]
    for name in ("lane", "warp", "block"):
        for basis in layout.bases.get(name, ()):
            if any(c >= size for c, size in zip(basis, shape, strict=True)):
                raise LayoutError(f"parts of shape {list(shape)} lie in different threads: {layout}")
    # Each part must be held by the same registers but for the bits that choose the part.
    high = [b for b in layout.bases["register"] if any(c >= s for c, s in zip(b, shape, strict=True))]
    if len(high) != sum(n.bit_length() - 1 for n in part) or any(
        any(c % s for c, s in zip(b, shape, strict=True)) for b in high
    ):
        raise LayoutError(f"parts of shape {list(shape)} do not lie in registers of their own: {layout}")
    return within(layout, shape)


@copying("nv_tileaa.extract")
def _extract(op: Any) -> list[Copy]:
    whole, part = op.source.type.shape, op.res.type.shape
    return [
        Copy(
            op.source,
            op.res,
            lambda x: without_repeated_registers(_parts_in_registers(x, part)),
            lambda x: fit(x, whole, range(len(whole) - 1, -1, -1)),
        )
    ]


@copying("nv_tileaa.insert")
def _insert(op: Any) -> list[Copy]:
    whole, part = op.dest.type.shape, op.source.type.shape
    return [
        Copy(
            op.source,
            op.res,
            lambda x: fit(x, whole, range(len(whole) - 1, -1, -1)),
            lambda x: _parts_in_registers(x, part),
        )
    ]


@copying("nv_tileaa.pack", "nv_tileaa.unpack")
def _pack(op: Any) -> list[Copy]:
    """A thread makes what it holds the parts, or the whole, of."""
    old, new = packed_bits(op.source.type.element), packed_bits(op.res.type.element)
    if old < new:
        return [Copy(op.source, op.res, lambda x: _whole(x, new // old), lambda x: refined(x, new // old))]
    return [Copy(op.source, op.res, lambda x: refined(x, old // new), lambda x: coarsened(x, old // new))]


def _whole(layout: LinearLayout, parts: int) -> LinearLayout:
    """The layout of the elements whose parts have this layout; LayoutError unless threads hold them whole."""
    if not holds_whole(layout, parts):
        raise LayoutError(f"parts of one element lie in different threads: {layout}")
    return without_repeated_registers(coarsened(layout, parts))


@copying("nv_tileaa.reduce")
def _reduce(op: Any) -> list[Copy]:
    axis = op.axis.value
    return [
        Copy(source, res, lambda x: slice_dim(x, axis), None)
        for source, res in zip(op.sources, op.results, strict=True)
        if is_tile(res)
    ]


def copies(op: Operation) -> list[Copy]:
    """The copies that an op makes of elements of its operands."""
    rule = COPIES.get(op.name)
    return rule(op) if rule is not None else []


# -- preferences and demands


@lru_cache(maxsize=256)
def coalesced(type: RankedTensorType, vector: int, warps: int, axis: int | None = None) -> LinearLayout:
    """Threads along `axis` (the last) first, `vector` elements each, so that a warp touches whole lines."""
    rank = type.rank
    fast = rank - 1 if axis is None else axis
    order = [fast, *(i for i in range(rank - 1, -1, -1) if i != fast)]
    size = [1] * rank
    size[fast] = min(vector, type.shape[fast])
    lanes, warps_left = 32, warps
    threads, per_cta = [1] * rank, [1] * rank
    for i in order:
        room = max(1, type.shape[i] // size[i])
        threads[i] = min(lanes, room)
        lanes //= threads[i]
    threads[order[-1]] *= lanes
    for i in reversed(order):
        room = max(1, type.shape[i] // (size[i] * threads[i]))
        per_cta[i] = min(warps_left, room)
        warps_left //= per_cta[i]
    per_cta[order[-1]] *= warps_left
    return blocked(type.shape, size, threads, per_cta, order)


def default_layout(type: RankedTensorType, warps: int) -> LinearLayout:
    """The layout of a tile that no op has a preference for: up to 16 bytes of neighbors a thread."""
    return coalesced(type, max(1, min(4, 128 // storage_bits(type.element))), warps)


def access_layout(op: Any, type: RankedTensorType, warps: int) -> LinearLayout:
    """The coalesced layout for a tiled access, as wide as its atom says."""
    view = op.view.defining_op
    axis = contiguous_axis(view) if isinstance(view, nv_tileaa.MakeMemRef) else None
    return coalesced(type, max(1, op.atom.bits // storage_bits(type.element)), warps, axis)


@anchored("nv_tileas.dot")
def _product(op: Any, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.res, PRODUCT, dot_layouts(op, warps)[2])]


@anchored("nv_tileas.async.dot")
def _async_product(op: Any, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.res, PRODUCT, async_layouts(op)[1])]


@anchored("nv_tileas.tiled_load")
def _load(op: Any, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.res, LOAD, access_layout(op, op.res.type, warps))]


@anchored("nv_tileas.tiled_store")
def _store(op: Any, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.value, STORE, access_layout(op, op.value.type, warps))]


@anchored("nv_tileaa.load", "nv_tileaa.store")
def _pointers(op: Any, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    """Neighbors along the axis that the op moves several of at a time; the strength of what it moves."""
    loads = isinstance(op, nv_tileaa.Load)
    moved = op.res if loads else op.value
    if not is_tile(moved):
        return []
    axis = op.axis.value if op.axis is not None else None
    vector = max(1, op.copy_atom.bits // storage_bits(moved.type.element))
    return [(moved, LOAD if loads else STORE, coalesced(moved.type, vector, warps, axis))]


def narrow_atom(op: nv_tileaa.Load | nv_tileaa.Store) -> None:
    """Let an access through pointers move at a time what a thread holds side by side, where its atom says more."""
    moved: Any = (op.res if isinstance(op, nv_tileaa.Load) else op.value).type
    if op.axis is None or not isinstance(moved, RankedTensorType):
        return
    bits = storage_bits(moved.element)
    most = max(1, op.copy_atom.bits // bits)
    held = contiguous_elements(layout_of(moved), op.axis.value, most, most, most)
    if held < most:
        op.copy_atom = CopyAtomAttr.make(80, op.copy_atom.primitive, held * bits, op.copy_atom.element)


@anchored("nv_tileaa.atomic_rmw", "nv_tileaa.atomic_cas", "nv_tileaa.atomic_load", "nv_tileaa.atomic_store")
def _one_by_one(op: Any, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    """Neighbors in neighboring threads: as many threads as there are take part."""
    moved = op.res if isinstance(op, nv_tileaa.AtomicLoad) else op.value
    return [(moved, STORE, coalesced(moved.type, 1, warps))] if is_tile(moved) else []


@demanding("nv_tileas.dot")
def _operands(op: Any, warps: int) -> list[tuple[Value, LinearLayout]]:
    layouts = dot_layouts(op, warps)
    return [*zip(op.operands, layouts, strict=True), (op.res, layouts[2])]


@demanding("nv_tileas.async.dot")
def _async_operands(op: Any, warps: int) -> list[tuple[Value, LinearLayout]]:
    a, c = async_layouts(op)
    return [*([(op.a, a)] if is_tile(op.a) else []), (op.c, c), (op.res, c)]


@demanding("nv_tileaa.scan")
def _scanned(op: Any, warps: int) -> list[tuple[Value, LinearLayout]]:
    """A layout whose bits are those of the coordinate."""
    type = op.sources[0].type
    if is_scannable(layout_of(type), op.axis.value):
        return []
    layout = default_layout(RankedTensorType(type.shape, type.element), warps)
    return [(value, layout) for value in (*op.sources, *op.results)]


@demanding("nv_tileas.tiled_load")
def _loaded(op: Any, warps: int) -> list[tuple[Value, LinearLayout]]:
    return [(op.res, access_layout(op, op.res.type, warps))]


@demanding("nv_tileas.tiled_store")
def _stored(op: Any, warps: int) -> list[tuple[Value, LinearLayout]]:
    return [(op.value, access_layout(op, op.value.type, warps))]
