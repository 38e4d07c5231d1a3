"""Building IR at an insertion point."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tessera_tools.ir.location import UNKNOWN, Location

if TYPE_CHECKING:
    from tessera_tools.ir.core import Block, Operation

OpT = TypeVar("OpT", bound="Operation")


class InsertionPoint:
    """A place in a block: before an operation, or at the end (`before` is None)."""

    __slots__ = ("before", "block")

    def __init__(self, block: Block, before: Operation | None = None) -> None:
        self.block = block
        self.before = before


class Builder:
    """Inserts operations at an insertion point, with a current location.

    `builder.insert(arith.AddI(a, b))` returns the op; `builder.at_end(block)` and friends make builders.
    """

    __slots__ = ("location", "point")

    def __init__(self, point: InsertionPoint, location: Location = UNKNOWN) -> None:
        self.point = point
        self.location = location

    @classmethod
    def at_end(cls, block: Block, location: Location = UNKNOWN) -> Builder:
        return cls(InsertionPoint(block), location)

    @classmethod
    def at_start(cls, block: Block, location: Location = UNKNOWN) -> Builder:
        return cls(InsertionPoint(block, block.first_op), location)

    @classmethod
    def before(cls, op: Operation) -> Builder:
        assert op.parent is not None
        return cls(InsertionPoint(op.parent, op), op.location)

    @classmethod
    def after(cls, op: Operation) -> Builder:
        assert op.parent is not None
        return cls(InsertionPoint(op.parent, op.next_op), op.location)

    def insert(self, op: OpT) -> OpT:
        """Insert a detached operation; if it has no location, it gets the builder's."""
        if op.location is UNKNOWN:
            op.location = self.location
        self.point.block.insert_before(self.point.before, op)
        return op
