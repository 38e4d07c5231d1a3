"""Constants: how to find, create and unique them.

`fold` hooks return attributes. `ConstantFolder` materializes them as constant operations, with a given function. They
are unique within a region that is isolated from above, and placed at its top.
"""

from __future__ import annotations

from collections.abc import Callable

from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, OpResult, Region, Value
from tessera_tools.ir.traits import ConstantLike, IsolatedFromAbove, OwnsConstants

ConstantMaker = Callable[[Operation, Attribute, Type], Operation | None]
"""Creates a detached constant of a value and type for the use of an op; None if the dialect has no constant op."""


def constant_value(value: Value) -> Attribute | None:
    """The attribute of a value defined by a constant-like operation; None for other values."""
    op = value.defining_op
    return _attribute(op) if op is not None and op.has_trait(ConstantLike) else None


def constant_integer(value: Value) -> int | None:
    """The number of a value defined by a constant integer or index; None for other values."""
    found = constant_value(value)
    return found.value if isinstance(found, IntegerAttr) else None


def _attribute(op: Operation) -> Attribute | None:
    found = op.attributes.get("value")
    # An attribute with its default value may be omitted, as in `ub.poison`.
    return found if found is not None else getattr(op, "value", None)


def insertion_region(op: Operation) -> Region | None:
    """The region that holds the constants for `op`: the nearest enclosing one that is isolated from above, or owns its
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

    def __init__(self, make: ConstantMaker) -> None:
        self._make = make
        self._known: dict[Region, dict[tuple[str, Attribute, Type], Operation]] = {}
        self._keys: dict[Operation, tuple[Region, tuple[str, Attribute, Type]]] = {}
        self.has_moved = False
        """Whether `add` has moved a constant."""

    def add(self, op: Operation) -> Operation:
        """Register an existing constant.  Returns its unique representative: `op` itself (moved to the top of its
        region if necessary) or an older equal constant, which the caller then uses instead."""
        region = insertion_region(op)
        value = _attribute(op)
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
            self.has_moved = True
        known[key] = op
        self._keys[op] = (region, key)
        return op

    def constant(self, attr: Attribute, type: Type, near: Operation) -> OpResult | None:
        """A constant for the use of `near`, an existing one if possible; None if its dialect cannot represent it."""
        region = insertion_region(near)
        if region is None:
            return None
        alias = (near.name.partition(".")[0], attr, type)
        known = self._known.setdefault(region, {})
        found = known.get(alias)
        if found is not None and found in self._keys:
            return found.results[0]
        made = self._make(near, attr, type)
        if made is None:
            return None
        key = (made.name, attr, type)
        older = known.get(key)
        if older is not None:
            made = older
        else:
            made.location = near.location
            region.entry.insert_before(region.entry.first_op, made)
        known[key] = known[alias] = made
        self._keys.setdefault(made, (region, key))
        return made.results[0]

    def forget(self, op: Operation) -> None:
        """Notification: an operation is erased.  If it is a registered constant, it is removed."""
        place = self._keys.pop(op, None)
        if place is not None and self._known[place[0]].get(place[1]) is op:
            del self._known[place[0]][place[1]]
