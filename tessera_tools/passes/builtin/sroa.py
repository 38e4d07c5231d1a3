"""`sroa`: scalar replacement of aggregates.

    %m = memref.alloca() : memref<4xi32>              %a = memref.alloca() : memref<i32>
    memref.store %x, %m[%c0]                  ─▶      %b = memref.alloca() : memref<i32>
    %v = memref.load %m[%c2]                          memref.store %x, %a[]
                                                      %v = memref.load %b[]

A variable of several elements becomes a variable for each element that is used.  Every use must name its element by
constants and access no more than it.  `mem2reg` then promotes the new variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tessera_tools.dialects import llvm, memref
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, TypeAttr
from tessera_tools.ir.core import Operation, OpResult, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import I32, MemRefType
from tessera_tools.passes.base import Pass, PassContext

MOST_ELEMENTS = 16
"""Larger aggregates stay whole, as upstream has it: a variable for each element would only make more work."""


class SROA(Pass):
    """Splits variables of `memref` and `llvm` into their elements."""

    name = "sroa"
    title = "SROA"
    summary = "scalar replacement of aggregates"
    ensures = "no alloca of a few elements is only accessed at elements that constants name"
    statistics: ClassVar[Mapping[str, str]] = {"num-split": "Number of variables split"}

    def run(self, op: Operation, context: PassContext) -> bool:
        split = 0
        work = list(op.walk())
        while work:
            slot = work.pop()
            parts: Sequence[Operation] = ()
            if isinstance(slot, memref.Alloca):
                parts = _split_buffer(slot)
            elif isinstance(slot, llvm.Alloca):
                parts = _split_aggregate(slot)
            split += bool(parts)
            work += parts
        context.count("num-split", split)
        return split > 0


def _replace(slot: Operation, parts: Sequence[Operation]) -> Sequence[Operation]:
    """Put the new variables where the old one was."""
    assert slot.parent is not None
    for part in parts:
        slot.parent.insert_before(slot, part)
    slot.erase()
    return parts


# -- buffers


def _split_buffer(slot: memref.Alloca) -> Sequence[Operation]:
    """The new variables; none if a use does not allow it."""
    type = slot.memref.type
    if not type.is_static or not type.shape or type.num_elements > MOST_ELEMENTS or type.layout is not None:
        return ()
    places: dict[Operation, tuple[int, ...]] = {}
    for use in slot.memref.uses:
        op = use.owner
        place = (
            _place(op, type)
            if isinstance(op, memref.Load | memref.Store) and op.memref is use.value
            else None
        )
        if place is None:
            return ()
        places[op] = place
    parts = {
        place: memref.Alloca(
            [], [], memref=MemRefType((), type.element, None, type.memory_space), location=slot.location
        )
        for place in sorted(set(places.values()))
    }
    for op, place in places.items():
        assert isinstance(op, memref.Load | memref.Store)
        stored = [op.value] if isinstance(op, memref.Store) else []
        op.set_operands([*stored, parts[place].memref])
    return _replace(slot, list(parts.values()))


def _place(op: memref.Load | memref.Store, type: MemRefType) -> tuple[int, ...] | None:
    """The element that an access names; None if it is not constant, or does not exist."""
    place: list[int] = []
    for value, extent in zip(op.indices, type.shape, strict=True):
        found = constant_integer(value)
        if found is None or not 0 <= found < extent:
            return None
        place.append(found)
    return tuple(place)


# -- aggregates


def _split_aggregate(slot: llvm.Alloca) -> Sequence[Operation]:
    """The new variables; none if a use does not allow it."""
    type = slot.elem_type.value
    fields = _fields(type)
    if constant_integer(slot.array_size) != 1 or slot.inalloca is not None or not fields:
        return ()
    if not _stays_inside(slot.res, type):
        return ()
    numbers = {use.owner: _field_of(use.owner) for use in slot.res.uses}
    parts = {
        number: llvm.Alloca(
            slot.array_size,
            # Accesses may rely on the alignment of the whole.
            alignment=slot.alignment,
            elem_type=TypeAttr(fields[number]),
            res=slot.res.type,
            location=slot.location,
        )
        for number in sorted(set(numbers.values()))
    }
    for user, number in numbers.items():
        part = parts[number]
        if not isinstance(user, llvm.GEP):
            user.set_operands([part.res if value is slot.res else value for value in user.operands])
            continue
        rest = user.raw_constant_indices.values[2:]
        if rest:
            user.set_operands([part.res])
            user.attributes["elem_type"] = part.elem_type
            user.attributes["rawConstantIndices"] = DenseArrayAttr(I32, (0, *rest))
        else:
            user.res.replace_all_uses_with(part.res)
            user.erase()
    return _replace(slot, list(parts.values()))


def _fields(type: Type) -> Sequence[Type]:
    """The types of the fields; none if there are too many, or the type is not an aggregate."""
    if isinstance(type, llvm.StructType):
        return type.types or ()
    if isinstance(type, llvm.ArrayType) and type.count <= MOST_ELEMENTS:
        return (type.element,) * type.count
    return ()


def _field_of(user: Operation) -> int:
    """The field that a use of the variable is about; a load or store is about what is at the start."""
    return user.raw_constant_indices.values[1] if isinstance(user, llvm.GEP) else 0


def _stays_inside(pointer: OpResult, type: Type) -> bool:
    """True if every use of a pointer to `type`, and of the pointers made from it, accesses one leaf of the type."""
    return all(_use_stays_inside(use.owner, pointer, type) for use in pointer.uses)


def _use_stays_inside(user: Operation, pointer: Value, type: Type) -> bool:
    if isinstance(user, llvm.GEP):
        indices = user.raw_constant_indices.values
        named = user.elem_type.value is type and len(indices) > 1 and indices[0] == 0
        return named and _stays_inside_part(user, type, indices[1:])
    if isinstance(user, llvm.Load):
        accessed = user.res.type
    elif isinstance(user, llvm.Store) and user.value is not pointer:
        accessed = user.value.type
    else:
        return False
    while fields := _fields(type):
        type = fields[0]
    return accessed is type and "volatile_" not in user.attributes


def _stays_inside_part(user: llvm.GEP, type: Type, indices: Sequence[int]) -> bool:
    for index in indices:
        fields = _fields(type)
        if not 0 <= index < len(fields):
            return False
        type = fields[index]
    return _stays_inside(user.res, type)
