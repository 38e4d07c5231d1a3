"""Pointers: address arithmetic, and loads and stores of elements at arbitrary addresses.

A thread holds pointer, mask and element of each of its registers.  Adjacent elements along the op's axis, whose
pointers are contiguous according to its atom, are moved together, with the mask of the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from tessera_tools.analysis.access import storage_bits
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import llvm, nv_tileaa, nv_tileas
from tessera_tools.dialects.llvm.attributes import ORDERINGS
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import StringAttr, i64
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I64, IntegerType, RankedTensorType, VectorType, bit_width, element_type
from tessera_tools.layout import LinearLayout, contiguous_elements
from tessera_tools.passes.llvm.global_memory import Group, fill_copies, groups_along
from tessera_tools.passes.llvm.instructions import guarded, only_where
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.owners import owner, shared_by_owners
from tessera_tools.passes.llvm.tiles import converted, from_memory, into_memory, stored

SYNCSCOPES = {"cta": "block", "gpu": "device", "sys": None}
"""The scopes of nv_tileaa → LLVM's sync scopes for NVPTX; None is LLVM's default."""


@lowers("nv_tileaa.offset")
def offset(low: Lowering, op: nv_tileaa.Offset) -> None:
    """pointer + offset · size, in 64 bits."""
    e = low.e
    bits = storage_bits(op.elem_type.value)
    moved: list[Value] = []
    for pointer, count in zip(low.flatten(op.source), low.flatten(op.offset), strict=True):
        wide = e.resized(count, I64, signed=True)
        distance = e.mul(wide, bits // 8, I64) if bits % 8 == 0 else e.ashr(e.mul(wide, bits, I64), 3, I64)
        moved.append(e.gep(pointer, distance))
    low.define_flat(op.res, moved)


class _Elements:
    """The accesses of one load or store: groups of registers, each under one condition."""

    def __init__(self, low: Lowering, op: Any, pointers: Value, moved: Value) -> None:
        self.e = low.e
        self.op = op
        self.element = element_type(moved.type)
        self.bytes = element_bytes(self.element)
        self.pointers = low.flatten(pointers)
        self.masks = low.flatten(op.mask) if op.mask is not None else None
        self.layout: LinearLayout | None = None
        if isinstance(moved.type, RankedTensorType):
            self.layout = nv_tileas.layout_of(moved.type)
        self.order = _order(op)
        self.groups = self._groups()

    def _groups(self) -> list[Group]:
        layout, op = self.layout, self.op
        if layout is None:
            return [Group((0,), ())]
        if self.order or op.axis is None:
            return groups_along(layout, 0, 1)
        axis = op.axis.value
        wanted = max(1, op.copy_atom.bits // (8 * self.bytes))
        held = contiguous_elements(layout, axis, wanted, wanted, wanted)
        if held < wanted:
            raise op.error(
                f"moves {wanted} elements per access with its atom {op.copy_atom}, but each thread holds "
                f"{held} contiguous elements; choose a narrower atom"
            )
        return groups_along(layout, axis, wanted)

    def by_condition(self, also: Value | None) -> list[tuple[Value | None, list[Group]]]:
        """The groups by the condition under which they are accessed."""
        found: dict[Hashable, tuple[Value | None, list[Group]]] = {}
        for group in self.groups:
            mask = self.masks[group.registers[0]] if self.masks is not None else None
            condition = self.e.both([mask, also])
            found.setdefault(condition, (condition, []))[1].append(group)
        return list(found.values())

    def memory_type(self, count: int) -> Type:
        """The llvm type of an access of `count` elements; an integer if it is atomic."""
        type = stored(self.element)
        if self.order:
            return IntegerType(bit_width(type))
        return VectorType((count,), type) if count > 1 else type


def _order(op: Operation) -> dict[str, Any]:
    """The attributes of an llvm access with the ordering of an atomic op; none if it is weak."""
    if not isinstance(op, nv_tileaa.AtomicLoad | nv_tileaa.AtomicStore):
        return {}
    word, scope = op.ordering.value, SYNCSCOPES[op.scope.value]
    ordering = i64(ORDERINGS["monotonic" if word == "relaxed" else word])
    return {"ordering": ordering} | ({"syncscope": StringAttr(scope)} if scope is not None else {})


@lowers("nv_tileaa.load", "nv_tileaa.atomic_load")
@emits("ldg")
def load(low: Lowering, op: nv_tileaa.Load | nv_tileaa.AtomicLoad) -> None:
    """Masked vector loads; the padding elsewhere.

    An element that other threads may write is loaded once, because all threads that hold it must agree.
    """
    e = low.e
    access = _Elements(low, op, op.source, op.res)
    register_type = converted(access.element)
    count = access.layout.in_size("register") if access.layout is not None else 1
    fillers = low.flatten(op.padding) if op.padding is not None else [e.undefined(register_type)] * count
    elements: list[Any] = [None] * count

    def body(groups: Sequence[Group]) -> list[Value]:
        found: list[Value] = []
        for group in groups:
            n = len(group.registers)
            type = access.memory_type(n)
            pointer = access.pointers[group.registers[0]]
            loaded = e.emit(llvm.Load(pointer, i64(n * access.bytes), res=type, **access.order)).results[0]
            parts = e.elements(loaded, n, stored(access.element))
            found += [from_memory(e, e.bitcast(v, stored(access.element)), access.element) for v in parts]
        return found

    once = isinstance(op, nv_tileaa.AtomicLoad)
    for condition, groups in access.by_condition(owner(low, op.res.type) if once else None):
        others = [fillers[r] for group in groups for r in group.registers]
        values = iter(guarded(e, condition, others, lambda groups=groups: body(groups)))
        for group in groups:
            for register in group.registers:
                elements[register] = next(values)
    if access.layout is not None:
        fill_copies(access.layout, elements)
    if once:
        elements = shared_by_owners(low, op, op.res.type, elements)
    low.define_flat(op.res, elements)
    low.define(op.out_token, None)


@lowers("nv_tileaa.store", "nv_tileaa.atomic_store")
@emits("stg")
def store(low: Lowering, op: nv_tileaa.Store) -> None:
    """Masked vector stores; one thread stores an element that several hold."""
    e = low.e
    access = _Elements(low, op, op.dest, op.value)
    values = low.flatten(op.value)
    for condition, groups in access.by_condition(owner(low, op.value.type)):
        with only_where(e, condition):
            for group in groups:
                n = len(group.registers)
                parts = [into_memory(e, values[r], access.element) for r in group.registers]
                packed = e.vector(parts, stored(access.element))
                if access.order:
                    packed = e.bitcast(packed, access.memory_type(1))
                pointer = access.pointers[group.registers[0]]
                e.emit(llvm.Store(packed, pointer, i64(n * access.bytes), **access.order))
    low.define(op.out_token, None)
