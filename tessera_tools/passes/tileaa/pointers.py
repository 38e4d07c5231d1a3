"""Part B of the conversion: pointers, tiles of pointers, and loads and stores through them.

offset %p, %o                      nv_tileaa.offset
load_ptr_tko weak %p, %mask        nv_tileaa.load %p mask %mask
"""

from __future__ import annotations

from typing import Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.analysis.hints import HINTS
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.cuda_tile.attributes import MEMORY_ORDERING, MEMORY_SCOPE
from tessera_tools.dialects.cuda_tile.constraints import pointee_of
from tessera_tools.dialects.cute import CopyAtomAttr
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DictionaryAttr, TypeAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import with_element
from tessera_tools.passes.tileaa.lowering import Lowering, handles
from tessera_tools.target import Target

SCOPES = {"tl_blk": "cta", "device": "gpu", "sys": "sys"}
"""The scopes of cuda_tile → those of nv_tileaa."""


@handles(ct.Offset)
def _offset(op: ct.Offset, to: Lowering) -> None:
    pointee = TypeAttr(pointee_of(op.ptr))
    to.replace(op, to.emit(aa.Offset(to[op.ptr], to[op.offset], pointee)).res)


# -- common parts of accesses


def ordering_of(op: Any) -> tuple[aa.OrderingAttr, aa.ScopeAttr | None]:
    """The ordering of a memory op of cuda_tile, and its scope, None if it is weak."""
    ordering = aa.OrderingAttr(MEMORY_ORDERING.text(op.memory_ordering_semantics))
    scope = aa.ScopeAttr(SCOPES[MEMORY_SCOPE.text(op.memory_scope)]) if op.memory_scope is not None else None
    return ordering, scope


def token_of(op: Any, to: Lowering) -> Value:
    """The token operand of an op of cuda_tile; by default the function's first token."""
    return to[op.token] if op.token is not None else to.start_token()


def hints_for(hints: ct.OptimizationHintsAttr | None, target: Target) -> DictionaryAttr | None:
    """The hints for a target: its own, and the default ones that it does not override; None if there are none."""
    found: dict[str, Attribute] = {}
    for key in ("default", target.name):
        entry = hints.value.get(key) if hints is not None else None
        if isinstance(entry, DictionaryAttr):
            found |= dict(entry.entries)
    return DictionaryAttr.of(found) if found else None


def hint_attributes(op: Any, to: Lowering) -> dict[str, Attribute]:
    """The discardable attributes of an access: the hints for the target."""
    hints = hints_for(op.optimization_hints, to.target)
    return {HINTS: hints} if hints is not None else {}


def atom(primitive: str, element: Type, count: int) -> CopyAtomAttr:
    """The atom of `primitive` for `count` elements; every target supports accesses of up to 128 bits."""
    return CopyAtomAttr.make(80, primitive, count * storage_bits(element), element)


def load_elements(
    op: Operation, pointers: Value, mask: Value | None, padding: Value | None, to: Lowering
) -> tuple[Value, Value]:
    """Load the elements of a load of cuda_tile from pointers; returns (the elements, the token after)."""
    element = _whole_bytes(op, to)
    result = with_element(pointers.type, element)
    ordering, scope = ordering_of(op)
    token, attributes = token_of(op, to), hint_attributes(op, to)
    if scope is None:
        primitive = atom("ldg", element, 1)
        load = aa.Load(pointers, mask, padding, token, primitive, res=result, attributes=attributes)
    else:
        load = aa.AtomicLoad(
            ordering, scope, pointers, mask, padding, token, res=result, attributes=attributes
        )
    return tuple(to.emit(load).results)  # type: ignore[return-value]


def store_elements(op: Operation, pointers: Value, value: Value, mask: Value | None, to: Lowering) -> Value:
    """Store the elements of a store of cuda_tile to pointers; returns the token after."""
    element = _whole_bytes(op, to)
    ordering, scope = ordering_of(op)
    token, attributes = token_of(op, to), hint_attributes(op, to)
    if scope is None:
        store = aa.Store(pointers, value, mask, token, atom("stg", element, 1), attributes=attributes)
    else:
        store = aa.AtomicStore(ordering, scope, pointers, value, mask, token, attributes=attributes)
    return to.emit(store).results[0]


def _whole_bytes(op: Operation, to: Lowering) -> Type:
    """The element type of the tile that an op moves.  Refuses elements without an address."""
    moved = next(v.type for v in (*op.results, *op.operands) if isinstance(v.type, ct.TileType))
    if isinstance(moved.element, ct.PointerType):
        moved = next(v.type for v in op.operands[1:] if isinstance(v.type, ct.TileType))
    if storage_bits(moved.element) % 8:
        raise to.refuse(
            op,
            f"no accesses of single sub-byte elements ('{moved.element}'); weak accesses through partition "
            "and strided views with a contiguous last axis are supported",
        )
    return moved.element


@handles(ct.LoadPtrTko)
def _load(op: ct.LoadPtrTko, to: Lowering) -> None:
    mask = to[op.mask] if op.mask is not None else None
    padding = to[op.paddingValue] if op.paddingValue is not None else None
    to.replace(op, *load_elements(op, to[op.source], mask, padding, to))


@handles(ct.StorePtrTko)
def _store(op: ct.StorePtrTko, to: Lowering) -> None:
    mask = to[op.mask] if op.mask is not None else None
    to.replace(op, store_elements(op, to[op.destination], to[op.value], mask, to))
