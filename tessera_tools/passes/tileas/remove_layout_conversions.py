"""tileas-remove-layout-conversions: removes redundant layout conversions.

convert(x) to x's own layout             → x
convert(convert(x))                      → convert(x)
convert(f(constant, splat, iota, …))     → f of these in the other layout, for a few cheap ops f
convert(load), the load's only use       → the load in the other layout, if that one moves whole sectors
store(convert(x))                        → store(x), likewise
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.analysis.access import storage_bits
from tessera_tools.dialects import arith, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Builder, IRMapping, Operation, OpResult, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LayoutError, LinearLayout
from tessera_tools.layout.conversion import register_move
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.liveness import erase_unused
from tessera_tools.planning.accesses import access_vector, fills_sectors
from tessera_tools.planning.kernel import kernels
from tessera_tools.planning.layout_rules import FREE, copies, is_tile

MOST_REMATERIALIZED = 8
"""The maximum number of ops to recompute in place of one conversion."""
_EXPENSIVE = ("arith.divf", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.remf")


class RemoveLayoutConversions(Pass):
    """Remove and propagate layout conversions."""

    name: ClassVar = "tileas-remove-layout-conversions"
    summary: ClassVar = "propagate layouts to remove conversions"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "layouts on every tensor"
    ensures: ClassVar = "no conversion between equal layouts, of a conversion, or of a constant"
    statistics: ClassVar = {"removed": "layout conversions removed"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in kernels(op):
            waiting = {o: None for o in function.walk() if isinstance(o, nv_tileas.ConvertLayout)}
            while waiting:
                conversion, _ = waiting.popitem()
                again = _simplify(conversion)
                if again is not None:
                    changed = True
                    context.count("removed")
                    waiting.update(dict.fromkeys(again))
        return changed


def _simplify(op: nv_tileas.ConvertLayout) -> list[nv_tileas.ConvertLayout] | None:
    """Apply the first rule that matches; returns the conversions to revisit, or None if no rule matches."""
    source = op.source.defining_op
    near = [user for user in op.res.users if isinstance(user, nv_tileas.ConvertLayout)]
    if not op.res.has_uses:
        op.erase()
        return [source] if isinstance(source, nv_tileas.ConvertLayout) else []
    if op.res.type is op.source.type:
        op.replace_all_uses_with([op.source])
        op.erase()
        return near
    if isinstance(source, nv_tileas.ConvertLayout):
        op.set_operand(0, source.source)
        return [op, source]
    if (
        isinstance(source, nv_tileas.TiledLoad)
        and source.res.has_one_use
        and not _feeds_dot(op)
        and fills_sectors(source, nv_tileas.layout_of(op.res.type))
    ):
        source.res.type = op.res.type
        source.atom = _narrowed(source.atom, source, nv_tileas.layout_of(op.res.type))
        op.replace_all_uses_with([source.res])
        op.erase()
        return near
    again = _rematerialize(op)
    if again is not None:
        return again
    return near if _store_directly(op) else None


def _rematerialize(op: nv_tileas.ConvertLayout) -> list[nv_tileas.ConvertLayout] | None:
    """Recompute the tile in the other layout, if a few cheap ops compute it from tiles available in any layout.
    None if that is not possible, or if a conversion costs less."""
    given, wanted_layout = (nv_tileas.layout_of(v.type) for v in (op.source, op.res))
    if not _is_free(op.source) and register_move(given, wanted_layout) is not None:
        return None
    planned: dict[tuple[Value, LinearLayout], list[tuple[Value, LinearLayout]]] = {}
    wanted = (op.source, wanted_layout)
    work = [wanted]
    while work:
        value, layout = work.pop()
        if (value, layout) in planned:
            continue
        needed = _operand_layouts(value.defining_op, layout)
        if needed is None or len(planned) == MOST_REMATERIALIZED:
            return None
        planned[value, layout] = needed
        work += needed
    builder = Builder.before(op)
    made: dict[tuple[Value, LinearLayout], Value] = {}

    def make(key: tuple[Value, LinearLayout]) -> Value:
        found = made.get(key)
        if found is None:
            value, layout = key
            operands = {v: make((v, needed)) for v, needed in planned[key]}
            maker = value.defining_op
            assert isinstance(value, OpResult) and maker is not None
            copy = builder.insert(maker.clone(IRMapping(operands)))
            found = made[key] = copy.results[value.index]
            for each in copy.results:
                if isinstance(each.type, RankedTensorType):
                    each.type = nv_tileas.with_layout(each.type, layout)
            if isinstance(copy, arith.Constant) and isinstance(copy.value, DenseElementsAttr):
                copy.attributes["value"] = DenseElementsAttr(found.type, copy.value.data)
        return found

    result = make(wanted)
    result.name_hint = op.res.name_hint
    op.replace_all_uses_with([result])
    source = op.source.defining_op
    op.erase()
    erase_unused(source)
    return []


def _is_free(value: Value) -> bool:
    maker = value.defining_op
    return maker is not None and maker.name in FREE


def _operand_layouts(op: Operation | None, layout: LinearLayout) -> list[tuple[Value, LinearLayout]] | None:
    """The operand tiles of a cheap op, with the layouts needed for a result layout; None if the op is not cheap."""
    if op is None:
        return None
    if op.name in FREE:
        return []
    tiles = [v for v in op.operands if is_tile(v)]
    if op.name.startswith("arith.") and op.name not in _EXPENSIVE:
        return [(v, layout) for v in tiles]
    try:
        needed = [(c.source, c.backward(layout)) for c in copies(op)]
    except LayoutError:
        return None
    if not needed or len(needed) < len(tiles):
        return None
    return [(v, found) for v, found in needed if found is not None and found.is_surjective()] or None


def _store_directly(op: nv_tileas.ConvertLayout) -> bool:
    if not op.res.has_one_use:
        return False
    store = next(op.res.users)
    if not isinstance(store, nv_tileas.TiledStore):
        return False
    layout = nv_tileas.layout_of(op.source.type)
    if not fills_sectors(store, layout):
        return False
    store.set_field("value", [op.source])
    store.atom = _narrowed(store.atom, store, layout)
    op.erase()
    return True


def _feeds_dot(op: nv_tileas.ConvertLayout) -> bool:
    """True for operands of dots: they pass through shared memory, where warps share fragments."""
    return any(
        isinstance(user, nv_tileas.Dot) and use_index < 2
        for user, use_index in ((u.owner, u.index) for u in op.res.uses)
    )


def _narrowed(atom: CopyAtomAttr, access: Any, layout: LinearLayout) -> CopyAtomAttr:
    element = access.view.type.element
    bits = access_vector(access, layout) * storage_bits(element)
    return CopyAtomAttr.make(80, atom.primitive, bits, element)
