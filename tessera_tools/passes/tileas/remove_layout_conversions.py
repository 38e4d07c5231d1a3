"""tileas-remove-layout-conversions: conversions that nothing needs go away.

convert(x) to x's own layout             → x
convert(convert(x))                      → convert(x)
convert(constant), convert(splat)        → the constant in the other layout
convert(load), the load's only use       → the load in the other layout, if that one moves whole sectors
store(convert(x))                        → store(x), likewise
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tessera_tools.analysis.access import contiguous_axis, storage_bits
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.layout import LinearLayout, contiguous_elements
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.kernel import kernels

SECTOR_BYTES = 32
"""Global memory moves in sectors of 32 bytes; an access that fills them wastes nothing."""


@dataclass(frozen=True)
class RemoveLayoutConversions(Pass):
    """Remove and propagate layout conversions."""

    name: ClassVar = "tileas-remove-layout-conversions"
    summary: ClassVar = "propagate layouts so that fewer conversions remain"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "layouts on every tensor"
    ensures: ClassVar = "no conversion between equal layouts, of a conversion, or of a constant"
    statistics: ClassVar = {"removed": "layout conversions removed"}

    def run(self, op: Operation, context: PassContext) -> None:
        for function in kernels(op):
            changed = True
            while changed:
                changed = False
                for inner in function.walk():
                    if isinstance(inner, nv_tileas.ConvertLayout) and _simplify(inner):
                        context.count("removed")
                        changed = True


def _simplify(op: nv_tileas.ConvertLayout) -> bool:
    """Apply the first rule that fits; whether one did."""
    source = op.source.defining_op
    if not op.res.has_uses:
        op.erase()
        return True
    if op.res.type is op.source.type:
        op.replace_all_uses_with([op.source])
        op.erase()
        return True
    if isinstance(source, nv_tileas.ConvertLayout):
        op.set_operand(0, source.source)
        if not source.res.has_uses:
            source.erase()
        return True
    replacement: Any = None
    if isinstance(source, arith.Constant):
        value: Any = source.value
        replacement = arith.Constant(DenseElementsAttr(op.res.type, value.data)) if value.is_splat else None
    elif isinstance(source, nv_tileaa.Splat):
        replacement = nv_tileaa.Splat(source.source, res=op.res.type)
    elif (
        isinstance(source, nv_tileas.TiledLoad)
        and source.res.has_one_use
        and not _feeds_dot(op)
        and fills_sectors(source, nv_tileas.layout_of(op.res.type))
    ):
        source.res.type = op.res.type
        source.atom = _narrowed(source.atom, source, nv_tileas.layout_of(op.res.type))
        op.replace_all_uses_with([source.res])
        op.erase()
        return True
    if replacement is not None:
        replacement.results[0].name_hint = op.res.name_hint
        Builder.before(op).insert(replacement)
        op.replace_all_uses_with(replacement.results)
        op.erase()
        return True
    return _store_directly(op)


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
    """Dot operands go through shared memory, where a warp's fragments are shared by other warps."""
    return any(
        isinstance(user, nv_tileas.Dot) and use_index < 2
        for user, use_index in ((u.owner, u.index) for u in op.res.uses)
    )


def access_vector(access: Any, layout: LinearLayout) -> int:
    """Elements of one access of that layout, no more than the access's atom allows."""
    view = access.view.defining_op
    axis = layout_axis(view, access)
    bits = storage_bits(access.view.type.element)
    most = max(1, access.atom.bits // bits)
    return contiguous_elements(layout, axis, most, most, most)


def layout_axis(view: Any, access: Any) -> int:
    """The axis along which the view's elements are neighbours; the last where none is known to be."""
    axis = contiguous_axis(view) if isinstance(view, nv_tileaa.MakeMemRef) else None
    return access.view.type.rank - 1 if axis is None else axis


def fills_sectors(access: Any, layout: LinearLayout) -> bool:
    """Whether the accesses of a warp cover whole sectors: neighbouring lanes together reach 32 bytes of a row."""
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


def _narrowed(atom: CopyAtomAttr, access: Any, layout: LinearLayout) -> CopyAtomAttr:
    element = access.view.type.element
    bits = access_vector(access, layout) * storage_bits(element)
    return CopyAtomAttr.make(80, atom.primitive, bits, element)
