"""Tiles that a program reads or writes as the bits of another type: memory is accessed as the type of the numbers.

    tiled_load tensor<64x64xi16>, bitcast to bf16     ─▶  tiled_load tensor<64x64xbf16>
    bitcast of bf16 to i16, tiled_store               ─▶  tiled_store tensor<64x64xbf16>

A library without bf16 or fp8 keeps such numbers in arrays of integers, and its kernels start and end with bitcasts.
Between a load and a product, a bitcast would be a computation in registers: TMA and cp.async could not bring the
operand to where the product reads it.  Permutes and reshapes between the load and its bitcasts become those of the
numbers.
"""

from __future__ import annotations

from tessera_tools.analysis.access import place_of, storage_bits
from tessera_tools.dialects import arith
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import FloatType, IntegerType, RankedTensorType, element_type, with_element
from tessera_tools.passes.tileaa.views import make_memref

_SHAPES = (aa.Permute, aa.Reshape)
_BITS_KEPT = ("undef", "zero")
"""The paddings that are the same bits in every type."""
_Views = dict[tuple[Operation, Type], Value]


def access_as_numbers(function: Operation) -> None:
    """Rewrite the accesses of tiles whose elements are read, or were computed, as another type of the same width,
    before their copy atoms are chosen."""
    views: _Views = {}
    replaced: list[Operation] = []
    for op in list(function.walk()):
        if isinstance(op, aa.TiledLoad | aa.Load) and isinstance(op.res.type, RankedTensorType):
            element = _read_as(op.res)
            if element is not None and _is_plain(op.res.type.element) and _is_plain(element):
                _load_as(op, element, views, replaced)
        elif isinstance(op, aa.TiledStore | aa.Store):
            _store_as_computed(op, views, replaced)
    for op in replaced:
        _erase_unused(op)


def _erase_unused(op: Operation | None) -> None:
    """Erase a bitcast or a view that nothing uses, and the view from which it is made."""
    if isinstance(op, arith.Bitcast | aa.AddPtr | aa.MakeMemRef) and op.parent and not op.results[0].has_uses:
        source = op.operands[0].defining_op
        op.erase()
        _erase_unused(source)


def _is_plain(element: Type) -> bool:
    """True for the elements that have whole bytes in memory, all of them bits of the number."""
    return (
        isinstance(element, IntegerType | FloatType)
        and storage_bits(element) == element.width
        and element.width % 8 == 0
    )


def _read_as(tile: Value) -> Type | None:
    """The element type as which all uses of a tile read its bits; None if there is none, or more than one."""
    found: set[Type] = set()
    waiting = [tile]
    while waiting:
        value = waiting.pop()
        if not value.has_uses:
            return None
        for use in value.uses:
            if isinstance(use.owner, arith.Bitcast):
                found.add(element_type(use.owner.out.type))
            elif isinstance(use.owner, _SHAPES):
                waiting.append(use.owner.res)
            else:
                return None
    return found.pop() if len(found) == 1 else None


def _load_as(op: aa.TiledLoad | aa.Load, element: Type, views: _Views, replaced: list[Operation]) -> None:
    """Load elements of another type, which the bitcasts of the tile are replaced with."""
    if isinstance(op, aa.TiledLoad):
        view = _view(op, element, views) if op.padding.value in _BITS_KEPT else None
        if view is None:
            return
        replaced += [source] if (source := op.view.defining_op) is not None else []
        op.set_field("view", [view])
    elif op.padding is not None:
        padding = _padding_as(op, op.padding, element)
        if padding is None:
            return
        op.set_field("padding", [padding])
    waiting: list[Value] = [op.res]
    while waiting:
        value = waiting.pop()
        value.type = with_element(value.type, element)
        for user in [use.owner for use in value.uses]:
            if isinstance(user, arith.Bitcast):
                user.out.replace_all_uses_with(value)
                replaced.append(user)
            else:
                waiting.append(user.results[0])


def _store_as_computed(op: aa.TiledStore | aa.Store, views: _Views, replaced: list[Operation]) -> None:
    """Store the operand of a bitcast instead of its result."""
    cast = op.value.defining_op
    if not isinstance(cast, arith.Bitcast) or not isinstance(type := cast.in_.type, RankedTensorType):
        return
    if not _is_plain(type.element) or not _is_plain(element_type(op.value.type)):
        return
    if isinstance(op, aa.TiledStore):
        view = _view(op, type.element, views)
        if view is None:
            return
        replaced += [source] if (source := op.view.defining_op) is not None else []
        op.set_field("view", [view])
    op.set_field("value", [cast.in_])
    replaced.append(cast)


def _padding_as(op: aa.Load, padding: Value, element: Type) -> Value | None:
    """Padding of the same bits as an element type, if it is constant."""
    constant = padding.defining_op
    if not isinstance(constant, aa.ConstantTensor) or not isinstance(constant.value, DenseElementsAttr):
        return None
    type = with_element(padding.type, element)
    builder = Builder.before(op)
    builder.location = op.location
    return builder.insert(aa.ConstantTensor(DenseElementsAttr(type, constant.value.data), res=type)).res


def _view(op: aa.TiledLoad | aa.TiledStore, element: Type, views: _Views) -> Value | None:
    """The view of an access, of elements of another type; None if it is not known where its tile is."""
    place = place_of(op.view)
    if place is None:
        return None
    memref, offsets = place
    if (memref, element) not in views:
        builder = Builder.after(memref)
        builder.location = memref.location
        views[memref, element] = make_memref(
            memref.base, memref.extents(), memref.strides(), element, builder, memref.promised()
        )
    view = views[memref, element]
    if not isinstance(op.view.defining_op, aa.AddPtr):
        return view
    builder = Builder.before(op)
    builder.location = op.location
    return builder.insert(aa.AddPtr(view, list(offsets))).res
