"""Part B of the conversion: tokens, pointers, views, and loads and stores through them.

    make_tensor_view %p, shape = [%m, %k], strides = [%s, 1]     nv_tileaa.make_memref %p, …
    make_partition_view                                          nothing: the memref, its axes in the tile's order
    load_view_tko %v[%i, %j]                                     muli by the tile's extents, addptr, tiled_load
    get_index_space_shape                                        (extent + tile - 1) / tile

Copy atoms are chosen when the whole function stands (`choose_copy_atoms`), since what is known of an offset may depend
on the loop around it.
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import lower_of, place_of, storage_bits, upper_of, vector_elements
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.arith.attributes import IntegerOverflowFlagsAttr
from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.dialects.llvm.arith import IntToPtr, PtrToInt
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, DictionaryAttr, i32, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import DYNAMIC, I32, I64, bit_width
from tessera_tools.passes.tileaa.arithmetic import resized
from tessera_tools.passes.tileaa.lowering import GLOBAL_POINTER, Handlers, Lowering, TileView
from tessera_tools.target import Target

HINTS = "nv_tileaa.hints"
"""The discardable attribute in which a function or an access keeps the author's hints for the target."""
_LARGEST_I32 = (1 << 31) - 1


def populate_memory(handlers: Handlers) -> None:
    """Add the handlers of memory, views and the grid."""
    handlers.update(
        {
            ct.MakeToken: _make_token,
            ct.JoinTokens: _join_tokens,
            ct.Assume: _assume,
            ct.GetTileBlockId: _grid(aa.GetProgramId),
            ct.GetNumTileBlocks: _grid(aa.GetNumPrograms),
            ct.IntToPtr: _int_to_pointer,
            ct.PtrToInt: _pointer_to_int,
            ct.PtrToPtr: _pointer_to_pointer,
            ct.MakeTensorView: _tensor_view,
            ct.MakePartitionView: _partition_view,
            ct.GetTensorShape: _tensor_shape,
            ct.GetIndexSpaceShape: _index_space_shape,
            ct.LoadViewTko: _load,
            ct.StoreViewTko: _store,
        }
    )


# -- tokens, the grid, pointers


def _make_token(op: ct.MakeToken, to: Lowering) -> None:
    to.replace(op, to.emit(aa.CreateMemToken()).res)


def _join_tokens(op: ct.JoinTokens, to: Lowering) -> None:
    to.replace(op, to.emit(aa.JoinMemTokens(to.values(op.tokens))).res)


def _grid(kind: Any) -> Any:
    """One query for each coordinate that is used."""

    def handler(op: Any, to: Lowering) -> None:
        for axis, coordinate in enumerate(op.results):
            if coordinate.has_uses:
                to.define(coordinate, to.emit(kind(i32(axis))).res)

    return handler


def _int_to_pointer(op: ct.IntToPtr, to: Lowering) -> None:
    to.replace(op, to.emit(IntToPtr(to[op.source], res=to.type_of(op.result.type, op))).results[0])


def _pointer_to_int(op: ct.PtrToInt, to: Lowering) -> None:
    to.type_of(op.source.type, op)
    to.replace(op, to.emit(PtrToInt(to[op.source], res=I64)).results[0])


def _pointer_to_pointer(op: ct.PtrToPtr, to: Lowering) -> None:
    to.type_of(op.result.type, op)
    to.replace(op, to[op.source])


def _assume(op: ct.Assume, to: Lowering) -> None:
    """Facts of scalars and pointers are kept, and so is the alignment of a view; those of larger tiles, and that
    elements are the same, may be forgotten."""
    value, predicate = to[op.value], op.predicate
    kind = value.type
    facts: dict[str, Any] = {}
    scalar = isinstance(op.value.type, ct.TileType) and not op.value.type.shape
    if scalar and isinstance(predicate, ct.DivByAttr):
        facts["divisor"] = i64(predicate.divisor)
    elif scalar and isinstance(predicate, ct.BoundedAttr):
        facts |= {
            key: i64(bound)
            for key, bound in (("lower", predicate.lower), ("upper", predicate.upper))
            if bound is not None
        }
    elif isinstance(predicate, ct.DivByAttr) and isinstance(op.value.type, ct.TensorViewType):
        view: Any = value.defining_op
        if isinstance(view, aa.MakeMemRef):
            base = to.emit(aa.Assume(view.base, divisor=i64(predicate.divisor), res=GLOBAL_POINTER)).res
            again = to.emit(view.clone())
            again.set_operand(0, base)
            value = again.results[0]
    if facts:
        value = to.emit(aa.Assume(value, **facts, res=kind)).res
    to.replace(op, value)


# -- views


def _mixed(static: tuple[int, ...], dynamic: list[Value]) -> list[int | Value]:
    values = iter(dynamic)
    return [next(values) if extent == DYNAMIC else extent for extent in static]


def _make_memref(base: Value, shape: list[Any], strides: list[Any], element: Type, to: Lowering) -> Value:
    op = aa.MakeMemRef(
        base,
        [v for v in shape if isinstance(v, Value)],
        [v for v in strides if isinstance(v, Value)],
        _static(shape),
        _static(strides),
        aa.GlobalSpaceAttr(),
        res=aa.MemRefType(tuple(DYNAMIC if isinstance(v, Value) else v for v in shape), element),
    )
    return to.emit(op).res


def _static(items: list[Any]) -> DenseArrayAttr:
    return DenseArrayAttr(I64, tuple(aa.DYNAMIC_INDEX if isinstance(v, Value) else v for v in items))


def _tensor_view(op: ct.MakeTensorView, to: Lowering) -> None:
    view = op.result.type
    if not view.shape:
        raise to.refuse(op, "views have one dimension or more")
    shape = _mixed(view.shape, to.values(op.dynamicShape))
    strides = _mixed(view.strides, to.values(op.dynamicStrides))
    to.replace(op, _make_memref(to[op.base], shape, strides, view.element, to))


def _partition_view(op: ct.MakePartitionView, to: Lowering) -> None:
    memref, view = to[op.tensor_view], op.result.type
    if view.dimensions != tuple(range(len(view.tile))):
        source: Any = memref.defining_op
        if not isinstance(source, aa.MakeMemRef):
            raise to.refuse(op, "a dim_map needs the make_tensor_view in the same part of the program")
        shape, strides = source.extents(), source.strides()
        order = view.dimensions
        memref = _make_memref(
            source.base, [shape[i] for i in order], [strides[i] for i in order], source.res.type.element, to
        )
    to.views[op.result] = TileView(memref, view)


def _extents(op: Operation, memref: Value, to: Lowering) -> list[Any]:
    source: Any = memref.defining_op
    if not isinstance(source, aa.MakeMemRef):
        raise to.refuse(op, "its make_tensor_view must stand in the same part of the program")
    return source.extents()


def _tensor_shape(op: ct.GetTensorShape, to: Lowering) -> None:
    for extent, old in zip(_extents(op, to[op.src], to), op.results, strict=True):
        to.define(old, _scalar(extent, to.type_of(old.type, op), to))


def _scalar(item: int | Value, type: Type, to: Lowering) -> Value:
    return to.integer(item, type) if isinstance(item, int) else resized(item, type, to)


def _index_space_shape(op: ct.GetIndexSpaceShape, to: Lowering) -> None:
    view = _view(op, op.src, to)
    for extent, tile, old in zip(_extents(op, view.memref, to), view.type.tile, op.results, strict=True):
        if not old.has_uses:
            continue
        kind = to.type_of(old.type, op)
        if isinstance(extent, int):
            to.define(old, to.integer(-(-extent // tile), kind))
        else:
            to.define(old, resized(_tiles(extent, tile, to), kind, to))


def _tiles(extent: Value, tile: int, to: Lowering) -> Value:
    """How many tiles an extent takes."""
    if tile == 1:
        return extent
    if tile >= 1 << (bit_width(extent.type) - 1):
        # The tile's own extent is no number of this type.
        wide = to.emit(arith.ExtSI(extent, out=I64)).out
        return resized(_tiles(wide, tile, to), extent.type, to)
    divisor = to.integer(tile, extent.type)
    lower = lower_of(extent, to.facts)
    if lower is None or lower < 0:
        return to.emit(arith.CeilDivSI(extent, divisor)).result
    # Read as unsigned, the sum does not wrap: each is less than half of what there is.
    most = to.integer(tile - 1, extent.type)
    total = to.emit(arith.AddI(extent, most, overflow_flags=IntegerOverflowFlagsAttr("nuw"))).result
    return to.emit(arith.DivUI(total, divisor)).result


def _view(op: Operation, value: Value, to: Lowering) -> TileView:
    view = to.views.get(value)
    if view is None:
        raise to.refuse(op, f"no view of type '{value.type}'; partition views are supported")
    return view


# -- loads and stores


NO_WRAP = IntegerOverflowFlagsAttr("nsw")


def _moved(op: Any, view: TileView, to: Lowering) -> Value:
    """The view moved to the tile at the op's indices.

    A tile that lies wholly outside the view is undefined behaviour, so that indices are at least 0, and an offset is
    less than the extent: it fits 32 bits where that does.
    """
    for extent in _extents(op, view.memref, to):
        most = upper_of(extent, to.facts)
        if isinstance(extent, Value) and bit_width(extent.type) <= 32:
            continue
        if most is None or most > _LARGEST_I32:
            raise to.refuse(
                op,
                "a dimension may have 2**31 elements or more; use i32 extents, or assume bounded<0, 2147483647>",
            )
    offsets: list[Value] = []
    for index, tile in zip(op.index, view.type.tile, strict=True):
        value = resized(to[index], I32, to)
        if tile != 1:
            value = to.emit(arith.MulI(value, to.integer(tile, I32), overflow_flags=NO_WRAP)).result
        offsets.append(value)
    return to.emit(aa.AddPtr(view.memref, offsets)).res


def _access_attributes(op: Any, to: Lowering) -> dict[str, Attribute]:
    ordering = MEMORY_ORDERING.text(op.memory_ordering_semantics)
    if ordering != "weak":
        raise to.refuse(op, f"{ordering} ordering; weak is supported")
    element = op.tile.type.element
    if storage_bits(element) % 8:
        raise to.refuse(op, f"no elements of less than a byte ('{element}') in memory")
    hints = hints_for(op.optimization_hints, to.target)
    return {HINTS: hints} if hints is not None else {}


def hints_for(hints: ct.OptimizationHintsAttr | None, target: Target) -> DictionaryAttr | None:
    """What the hints say to a target: those for it, and the default ones of which it has none; None if nothing."""
    found: dict[str, Attribute] = {}
    for key in ("default", target.name):
        entry = hints.value.get(key) if hints is not None else None
        if isinstance(entry, DictionaryAttr):
            found |= dict(entry.entries)
    return DictionaryAttr.of(found) if found else None


def _token(op: Any, to: Lowering) -> Value:
    return to[op.token] if op.token is not None else to.start_token()


def _load(op: ct.LoadViewTko, to: Lowering) -> None:
    attributes = _access_attributes(op, to)
    view = _view(op, op.view, to)
    place = _moved(op, view, to)
    padding = aa.PaddingAttr(view.type.padding.value) if view.type.padding is not None else None
    load = aa.TiledLoad(
        place,
        _token(op, to),
        _atom("ldg", view.type.tensor_view.element, 1),
        padding,
        res=to.type_of(op.tile.type, op),
        attributes=attributes,
    )
    to.replace(op, *to.emit(load).results)


def _store(op: ct.StoreViewTko, to: Lowering) -> None:
    attributes = _access_attributes(op, to)
    view = _view(op, op.view, to)
    place = _moved(op, view, to)
    atom = _atom("stg", view.type.tensor_view.element, 1)
    store = aa.TiledStore(place, to[op.tile], _token(op, to), atom, attributes=attributes)
    to.replace(op, *to.emit(store).results)


def _atom(primitive: str, element: Type, count: int) -> CopyAtomAttr:
    # Loads and stores of up to 128 bits are as old as the oldest target.
    return CopyAtomAttr.make(80, primitive, count * storage_bits(element), element)


def choose_copy_atoms(function: Operation) -> None:
    """Give every tiled access the widest copy atom that is provably legal."""
    facts = Facts()
    for op in function.walk():
        if isinstance(op, aa.TiledLoad):
            primitive, tile = "ldg", op.res.type
        elif isinstance(op, aa.TiledStore):
            primitive, tile = "stg", op.value.type
        else:
            continue
        place = place_of(op.view)
        count = vector_elements(*place, tile, facts) if place is not None else 1
        op.attributes["copy_atom"] = _atom(primitive, tile.element, count)
