"""The layout rules of each op: four tables by op name, which tileas-assign-layouts reads.

    @tied("nv_tileaa.cat")     values that must have the same layout (elementwise ops and structured control flow need
                               no entry: all tiles of the former are tied, and `flow` gives the ties of the latter)
    @copying("nv_tileaa.…")    results whose elements are elements of an operand, with the map in both directions
    @anchored("nv_tileas.…")   values for which the op prefers a layout, with the strength of the preference
    @demanding("nv_tileas.…")  operands and results that must have a given layout; the pass inserts conversions

A layout maps (register, lane, warp, block) to coordinates of a tile.  For a copy, `seen` maps the layout of the result
to the coordinates of the operand that the same thread needs. Reshape, permute and broadcast are linear maps of
coordinates. No data moves between threads if the operand's layout is `seen` without duplicate registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.nv_tileaa.packing import packed_bits
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.interfaces import HasFlow
from tessera_tools.ir.registry import Registry
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    broadcast,
    cat,
    coalesced,
    reshape,
    slice_dim,
    transpose,
)
from tessera_tools.layout.access import contiguous_elements
from tessera_tools.layout.distributed import fit, inverse
from tessera_tools.layout.f2 import Elimination
from tessera_tools.layout.neighbors import coarsened, holds_whole, refined
from tessera_tools.layout.reduction import is_scannable
from tessera_tools.layout.tensor_memory import loaded, repeated
from tessera_tools.planning.accesses import access_layout
from tessera_tools.planning.dot_layouts import async_layouts, dot_layouts
from tessera_tools.planning.transposition import transposing_layout
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from typing_extensions import TypeIs

LOAD, STORE, PRODUCT, IN_FLIGHT = 2, 1, 3, 4
"""Strengths of the preferences of memory accesses and matrix products. The strongest one of a class decides.

Sums in flight decide over all others: until they are waited for, they cannot be converted.
"""

MapLayout = Callable[[LinearLayout], LinearLayout]


@dataclass(frozen=True, slots=True)
class Copy:
    """An operand whose elements the op copies to other positions of its result.

    `forward` maps a layout of the operand to the layout of the result for which no data moves. `seen` maps a layout of
    the result to the coordinates of the operand, with one register for each register of the result. It returns None if
    they are unknown.  Both may raise LayoutError.
    """

    source: Value
    result: Value
    forward: MapLayout
    seen: MapLayout | None

    def backward(self, layout: LinearLayout) -> LinearLayout | None:
        """Returns the operand's layout for which no data moves, given a layout of the result; None if none exists."""
        if self.seen is None:
            return None
        return without_repeated_registers(self.seen(layout))


TIED: Registry[Callable[[Any], list[list[Value]]]] = Registry("tie")
COPIES: Registry[Callable[[Any], list[Copy]]] = Registry("copy")
ANCHORS: Registry[Callable[[Any, int], list[tuple[Value, int, LinearLayout]]]] = Registry("preference")
DEMANDS: Registry[Callable[[Any, int], list[tuple[Value, LinearLayout]]]] = Registry("demand")

tied = TIED.of
"""Registers a rule for op names: op → groups of values that have the same layout."""
copying = COPIES.of
"""Registers a rule for op names: op → its copies. If there are several, their operands are tied."""
anchored = ANCHORS.of
"""Registers a rule for op names: (op, warps) → (value, strength, layout) of each preference."""
demanding = DEMANDS.of
"""Registers a rule for op names: (op, warps) → (operand or result, required layout)."""

FREE = frozenset({"arith.constant", "nv_tileaa.splat", "nv_tileaa.iota"})
"""Ops that can produce their tile in any layout at no cost."""


def is_tile(value: Value) -> TypeIs[Value[RankedTensorType]]:
    """Returns true if a value is a tile, which has a layout."""
    return isinstance(value.type, RankedTensorType)


def without_repeated_registers(layout: LinearLayout) -> LinearLayout:
    """Returns the layout without redundant bits of the register index."""
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


@tied("nv_tileas.async.dot_result")
def _result(op: nv_tileas.AsyncDotResult) -> list[list[Value]]:
    return [[op.res, op.source]]


@tied("nv_tileas.async.dot_wait")
def _waited(op: nv_tileas.AsyncDotWait) -> list[list[Value]]:
    return [[op.res, op.source]] if op.source is not None and op.res is not None else []


@tied("nv_tileas.dot", "nv_tileas.async.dot")
def _accumulator(op: nv_tileas.Dot | nv_tileas.AsyncDot) -> list[list[Value]]:
    return [[op.res, op.c]]


@tied("nv_tileaa.reduce", "nv_tileaa.scan")
def _along_axis(op: nv_tileaa.Reduce | nv_tileaa.Scan) -> list[list[Value]]:
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
def _through_pointers(op: Operation) -> list[list[Value]]:
    return [[*op.operands, *op.results]]


@tied("nv_tileas.cluster_reduce")
def _of_several_ctas(op: nv_tileas.ClusterReduce) -> list[list[Value]]:
    """A thread reads what the same thread of other CTAs has."""
    return [[*op.operands, *op.results]]


@tied("nv_tileaa.cat")
def _joined(op: nv_tileaa.Cat) -> list[list[Value]]:
    return [[op.lhs, op.rhs]]


@tied("nv_tileas.spill", "nv_tileas.reload")
def _kept(op: nv_tileas.Spill | nv_tileas.Reload) -> list[list[Value]]:
    """A thread reads from a buffer the elements that it wrote."""
    kept = [u for u in op.buffer.users if isinstance(u, nv_tileas.Spill | nv_tileas.Reload)]
    return [[u.value if isinstance(u, nv_tileas.Spill) else u.res for u in kept]]


@tied("nv_tileaa.print", "nv_tileaa.assert", "nv_tileas.store", "nv_tileas.load")
def _any_layouts(op: Operation) -> list[list[Value]]:
    return []


@tied("nv_tileaa.insert")
def _inserted(op: nv_tileaa.Insert) -> list[list[Value]]:
    return [[op.dest, op.res]]


def ties(op: Operation) -> list[list[Value[RankedTensorType]]]:
    """Returns the groups of tiles of an op that have the same layout."""
    rule = TIED.get(op.name)
    if rule is not None:
        groups = rule(op)
    elif op.regions:
        # Values that flow together around loops and out of branches.
        groups = [[target, *found] for target, found in flow_of(op)]
    elif is_elementwise(op):
        groups = [[*op.operands, *op.results]]
    else:
        return []
    return [tiles for group in groups if len(tiles := [v for v in group if is_tile(v)]) > 1]


def is_known(op: Operation) -> bool:
    """Returns true if an op on tiles has layout rules or needs none."""
    name = op.name
    return (
        name in TIED
        or name in COPIES
        or name in ANCHORS
        or name in DEMANDS
        or name in FREE
        or name in _OTHERS
        or isinstance(op, HasFlow)
        or op.has_trait(Terminator)
        or is_elementwise(op)
    )


_OTHERS = ("nv_tileas.convert_layout", "nv_tileaa.unsplat")
"""Ops on tiles that need no rule."""


# -- copies


@copying("nv_tileaa.permute")
def _permute(op: nv_tileaa.Permute) -> list[Copy]:
    order = op.permutation.values
    return [Copy(op.source, op.res, lambda x: transpose(x, order), lambda x: transpose(x, inverse(order)))]


@copying("nv_tileaa.reshape")
def _reshape(op: nv_tileaa.Reshape) -> list[Copy]:
    old, new = op.source.type.shape, op.res.type.shape
    return [Copy(op.source, op.res, lambda x: reshape(x, new), lambda x: reshape(x, old))]


@copying("nv_tileaa.broadcast")
def _broadcast(op: nv_tileaa.Broadcast) -> list[Copy]:
    old, new = op.source.type.shape, op.res.type.shape
    return [Copy(op.source, op.res, lambda x: broadcast(x, new), lambda x: within(x, old))]


def within(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Returns the layout modulo a smaller shape: the coordinates within a part of that shape."""
    for axis, size in enumerate(shape):
        layout = layout.resize_out(f"dim{axis}", size)
    return layout


@copying("nv_tileaa.cat")
def _cat(op: nv_tileaa.Cat) -> list[Copy]:
    axis = op.axis.value
    shape = op.lhs.type.shape
    return [
        Copy(source, op.res, lambda x: cat(x, axis), lambda x: _parts_in_registers(x, shape))
        for source in (op.lhs, op.rhs)
    ]


def _parts_in_registers(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Returns the layout within parts of `shape`. Raises LayoutError unless only registers select the part."""
    sizes = dict(layout.outs)
    part = [sizes[f"dim{axis}"] // size for axis, size in enumerate(shape)]
    for name in ("lane", "warp", "block"):
        for basis in layout.bases.get(name, ()):
            if any(c >= size for c, size in zip(basis, shape, strict=True)):
                raise LayoutError(f"parts of shape {list(shape)} are in different threads: {layout}")
    # The registers of all parts must differ only in the bits that select the part.
    high = [b for b in layout.bases["register"] if any(c >= s for c, s in zip(b, shape, strict=True))]
    if len(high) != sum(n.bit_length() - 1 for n in part) or any(
        any(c % s for c, s in zip(b, shape, strict=True)) for b in high
    ):
        raise LayoutError(f"parts of shape {list(shape)} are not in separate registers: {layout}")
    return within(layout, shape)


@copying("nv_tileaa.extract", "nv_tileas.cluster_reduce_scatter")
def _extract(op: nv_tileaa.Extract | nv_tileas.ClusterReduceScatter) -> list[Copy]:
    """Each thread gets elements that it has in registers; of sums over a cluster, whichever part is that of its CTA."""
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
def _insert(op: nv_tileaa.Insert) -> list[Copy]:
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
def _pack(op: nv_tileaa.Pack | nv_tileaa.Unpack) -> list[Copy]:
    """A thread computes the elements whose parts, or whole, it holds."""
    old, new = packed_bits(op.source.type.element), packed_bits(op.res.type.element)
    if old < new:
        return [Copy(op.source, op.res, lambda x: _whole(x, new // old), lambda x: refined(x, new // old))]
    return [Copy(op.source, op.res, lambda x: refined(x, old // new), lambda x: coarsened(x, old // new))]


def _whole(layout: LinearLayout, parts: int) -> LinearLayout:
    """Returns the layout of the elements whose parts have this layout.

    Raises LayoutError unless each thread holds whole elements.
    """
    if not holds_whole(layout, parts):
        raise LayoutError(f"parts of one element are in different threads: {layout}")
    return without_repeated_registers(coarsened(layout, parts))


@copying("nv_tileaa.reduce")
def _reduce(op: nv_tileaa.Reduce) -> list[Copy]:
    axis = op.axis.value
    return [
        Copy(source, res, lambda x: slice_dim(x, axis), None)
        for source, res in zip(op.sources, op.results, strict=True)
        if is_tile(res)
    ]


def copies(op: Operation) -> list[Copy]:
    """Returns the copies that an op makes of elements of its operands."""
    rule = COPIES.get(op.name)
    return rule(op) if rule is not None else []


# -- preferences and demands


def default_layout(type: RankedTensorType, warps: int) -> LinearLayout:
    """Returns the layout of a tile without preferences: up to 16 bytes of adjacent elements in each thread."""
    return coalesced(type.shape, max(1, min(4, 128 // storage_bits(type.element))), warps)


@anchored("nv_tileas.dot")
def _product(op: nv_tileas.Dot, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.res, PRODUCT, dot_layouts(op, warps)[2])]


@anchored("nv_tileas.async.dot")
def _async_product(op: nv_tileas.AsyncDot, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    a, c = async_layouts(op)
    return [(op.res, IN_FLIGHT, c), *([(op.a, STORE, a)] if is_tile(op.a) else [])]


@anchored("nv_tileas.tmem_load")
def _from_tensor_memory(op: nv_tileas.TmemLoad, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.res, PRODUCT, layout) for _, layout in _loaded_sums(op, warps)]


@anchored("nv_tileas.tiled_load")
def _load(op: nv_tileas.TiledLoad, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.res, LOAD, access_layout(op, op.res.type.shape, warps))]


@anchored("nv_tileas.tiled_store")
def _store(op: nv_tileas.TiledStore, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    return [(op.value, STORE, access_layout(op, op.value.type.shape, warps))]


@anchored("nv_tileas.store")
def _stored_across(op: nv_tileas.Store, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    """Prefers words in a thread, of both axes where a tile of bytes changes the axis in shared memory."""
    layout = transposing_layout(op, warps)
    return [(op.value, STORE, layout)] if layout is not None else []


@anchored("nv_tileaa.load", "nv_tileaa.store")
def _pointers(op: nv_tileaa.Load | nv_tileaa.Store, warps: int) -> list[tuple[Value, int, LinearLayout]]:
    """Prefers adjacent elements along the axis of the op's vectors, with the strength of the access."""
    loads = isinstance(op, nv_tileaa.Load)
    moved = op.moved
    if not is_tile(moved):
        return []
    axis = op.axis.value if op.axis is not None else None
    vector = max(1, op.copy_atom.bits // storage_bits(moved.type.element))
    return [(moved, LOAD if loads else STORE, coalesced(moved.type.shape, vector, warps, axis))]


def narrow_atom(op: nv_tileaa.Load | nv_tileaa.Store) -> None:
    """Narrows the atom of an access through pointers to the adjacent elements that a thread holds."""
    moved = op.moved.type
    if op.axis is None or not isinstance(moved, RankedTensorType):
        return
    bits = storage_bits(moved.element)
    most = max(1, op.copy_atom.bits // bits)
    held = contiguous_elements(layout_of(moved), op.axis.value, most, most, most)
    if held < most:
        op.copy_atom = CopyAtomAttr.make(80, op.copy_atom.primitive, held * bits, op.copy_atom.element)


@anchored("nv_tileaa.atomic_rmw", "nv_tileaa.atomic_cas", "nv_tileaa.atomic_load", "nv_tileaa.atomic_store")
def _one_by_one(
    op: nv_tileaa.AtomicRmw | nv_tileaa.AtomicCas | nv_tileaa.AtomicLoad | nv_tileaa.AtomicStore, warps: int
) -> list[tuple[Value, int, LinearLayout]]:
    """Prefers adjacent elements in adjacent threads, so that as many threads as possible take part."""
    moved = op.res if isinstance(op, nv_tileaa.AtomicLoad) else op.value
    return [(moved, STORE, coalesced(moved.type.shape, 1, warps))] if is_tile(moved) else []


@demanding("nv_tileas.dot")
def _operands(op: nv_tileas.Dot, warps: int) -> list[tuple[Value, LinearLayout]]:
    layouts = dot_layouts(op, warps)
    return [*zip(op.operands, layouts, strict=True), (op.res, layouts[2])]


@demanding("nv_tileas.async.dot")
def _async_operands(op: nv_tileas.AsyncDot, warps: int) -> list[tuple[Value, LinearLayout]]:
    a, c = async_layouts(op)
    return [*([(op.a, a)] if is_tile(op.a) else []), (op.c, c), (op.res, c)]


@demanding("nv_tileas.tmem_load")
def _loaded_sums(op: nv_tileas.TmemLoad, warps: int) -> list[tuple[Value, LinearLayout]]:
    return [(op.res, _of_warpgroups(op.source.type, op.res.type.shape, warps))]


@demanding("nv_tileas.tmem_store")
def _stored_factor(op: nv_tileas.TmemStore, warps: int) -> list[tuple[Value, LinearLayout]]:
    type = op.buffer.type
    if type.is_repeated:
        return [(op.value, repeated(type.layout.layout, warps))]
    return [(op.value, _of_warpgroups(type, op.value.type.shape, warps))]


@demanding("nv_tileas.any_in_warp")
def _rows_of_warp(op: nv_tileas.AnyInWarp, warps: int) -> list[tuple[Value, LinearLayout]]:
    return [(op.source, _of_warpgroups(op.buffer.type, op.source.type.shape, warps))]


def _of_warpgroups(type: nv_tileas.TmemType, shape: tuple[int, ...], warps: int) -> LinearLayout:
    """A warpgroup has the lanes; several divide the rows first, then the columns."""
    along_m = min(warps // 4, type.tile[0] // type.rows)
    grid = (4 * max(1, along_m), max(1, warps // 4 // max(1, along_m)))
    return loaded(shape, type.rows, grid)


@demanding("nv_tileas.spill", "nv_tileas.reload")
def _spilled(op: nv_tileas.Spill | nv_tileas.Reload, warps: int) -> list[tuple[Value, LinearLayout]]:
    """A slot has room for each element once: where several threads hold one, each gets its own part of the tile."""
    moved = op.value if isinstance(op, nv_tileas.Spill) else op.res
    registers = layout_of(moved.type).in_size("register")
    if registers * 32 * warps <= prod(op.buffer.type.tile):
        return []
    return [(moved, coalesced(moved.type.shape, 1, warps))]


@demanding("nv_tileaa.scan")
def _scanned(op: nv_tileaa.Scan, warps: int) -> list[tuple[Value, LinearLayout]]:
    """Requires a layout in which each bit of the coordinate is one hardware bit."""
    type = op.sources[0].type
    if is_scannable(layout_of(type), op.axis.value):
        return []
    layout = default_layout(RankedTensorType(type.shape, type.element), warps)
    return [(value, layout) for value in (*op.sources, *op.results)]


@demanding("nv_tileas.tiled_load")
def _loaded(op: nv_tileas.TiledLoad, warps: int) -> list[tuple[Value, LinearLayout]]:
    return [(op.res, access_layout(op, op.res.type.shape, warps))]


@demanding("nv_tileas.tiled_store")
def _stored(op: nv_tileas.TiledStore, warps: int) -> list[tuple[Value, LinearLayout]]:
    return [(op.value, access_layout(op, op.value.type.shape, warps))]
