"""Constants: finding them, making them, and keeping one of each at the top of its region.

A dialect says once how its constants are written (`register_materializer`); `fold` hooks then return attributes, and
`ConstantFolder` turns these into constant operations, unique within a region that is isolated from above.
"""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Builder, Operation, OpResult, Region, Value
from tessera_tools.ir.traits import ConstantLike, IsolatedFromAbove, OwnsConstants

Materializer = Callable[[Attribute, Type, Builder], Operation | None]
"""Inserts a constant operation of the attribute's value through the builder; None if it cannot."""

_materializers: dict[str, Materializer] = {}


def register_materializer(dialect: str, materializer: Materializer) -> None:
    """Say how constants are made for ops of a dialect (`arith`, …)."""
    _materializers[dialect] = materializer


def materialize_constant(attr: Attribute, type: Type, builder: Builder, dialect: str) -> Operation | None:
    """Insert a constant for an op of `dialect`; None if the dialect has no constant of that kind."""
    materializer = _materializers.get(dialect)
    return materializer(attr, type, builder) if materializer is not None else None


def dialect_of(op: Operation) -> str:
    """The dialect's part of the op's name."""
    return op.name.partition(".")[0]


def constant_value(value: Value) -> Attribute | None:
    """The attribute of a value that a constant-like operation defines; None for other values."""
    op = value.defining_op
    return op.attributes.get("value") if op is not None and op.has_trait(ConstantLike) else None


def insertion_region(op: Operation) -> Region | None:
    """The region in which constants for `op` are kept: the nearest around it that is isolated from above, or owns its
    constants."""
    block = op.parent
    region = block.parent if block is not None else None
    while region is not None:
        owner = region.parent
        if owner is None or owner.has_trait(IsolatedFromAbove) or owner.has_trait(OwnsConstants):
            return region
        outer = owner.parent.parent if owner.parent is not None else None
        if outer is None:
            return region
        region = outer
    return None


class ConstantFolder:
    """Keeps constants unique, and at the start of the entry block of their region."""

    def __init__(self) -> None:
        self._known: dict[Region, dict[tuple[str, Attribute, Type], Operation]] = {}
        self._keys: dict[Operation, tuple[Region, tuple[str, Attribute, Type]]] = {}

    def add(self, op: Operation) -> Operation:
        """Take in an existing constant: the one that stands for it from now on, `op` itself (moved to the top of its
        region if it must) or an older equal one, which the caller then uses instead."""
        region = insertion_region(op)
        value = op.attributes.get("value")
        if op in self._keys or region is None or value is None or len(op.results) != 1:
            return op
        key = (op.name, value, op.results[0].type)
        known = self._known.setdefault(region, {})
        older = known.get(key)
        if older is not None:
            return older
        entry = region.entry
        if op.parent is not entry or (entry.first_op is not op and op.prev_op not in self._keys):
            first = entry.first_op
            op.detach()
            entry.insert_before(first, op)
        known[key] = op
        self._keys[op] = (region, key)
        return op

    def constant(self, attr: Attribute, type: Type, near: Operation) -> OpResult | None:
        """A constant for the use of `near`, an existing one if possible; None if its dialect cannot write it."""
        region = insertion_region(near)
        if region is None:
            return None
        dialect = dialect_of(near)
        alias = (dialect, attr, type)
        known = self._known.setdefault(region, {})
        found = known.get(alias)
        if found is not None and found in self._keys:
            return found.results[0]
        builder = Builder.at_start(region.entry, near.location)
        made = materialize_constant(attr, type, builder, dialect)
        if made is None:
            return None
        key = (made.name, attr, type)
        older = known.get(key)
        if older is not None and older is not made:
            made.erase()
            made = older
        known[key] = known[alias] = made
        self._keys.setdefault(made, (region, key))
        return made.results[0]

    def forget(self, op: Operation) -> None:
        """An operation is erased: if it was a constant kept here, it serves no more."""
        place = self._keys.pop(op, None)
        if place is not None and self._known[place[0]].get(place[1]) is op:
            del self._known[place[0]][place[1]]
