"""SSA values and their uses.

A value knows its uses as a doubly linked list of `OpOperand`s; an `OpOperand` knows its owner and its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from tessera_tools.ir.attributes import Type, TypeT_co
from tessera_tools.ir.location import UNKNOWN, Location

if TYPE_CHECKING:
    from tessera_tools.ir.core import Block, Operation


TypeT = TypeVar("TypeT", bound=Type)


class OpOperand:
    """One use of a value: operand number `index` of `owner`.  A node in the value's list of uses."""

    __slots__ = ("_next", "_prev", "index", "owner", "value")

    def __init__(self, owner: Operation, index: int, value: Value) -> None:
        self.owner = owner
        self.index = index
        self.value = value
        self._prev: OpOperand | None = None
        first = value._first_use
        self._next: OpOperand | None = first
        if first is not None:
            first._prev = self
        value._first_use = self

    def set(self, value: Value) -> None:
        """Make the operand refer to another value."""
        self._unlink()
        self.value = value
        first = value._first_use
        self._prev, self._next = None, first
        if first is not None:
            first._prev = self
        value._first_use = self

    def _unlink(self) -> None:
        before, after = self._prev, self._next
        if before is not None:
            before._next = after
        else:
            self.value._first_use = after
        if after is not None:
            after._prev = before


class Value(Generic[TypeT_co]):
    """An SSA value: an `OpResult` or a `BlockArgument`.  `name_hint` is its name in the text.

    `Value[RankedTensorType]` says to the type checker what `type` is; the op that declares the value verifies it.
    """

    __slots__ = ("_first_use", "name_hint", "type")

    def __init__(self, type: TypeT_co, name_hint: str | None = None) -> None:
        self.type = type
        self.name_hint = name_hint
        self._first_use: OpOperand | None = None

    def type_as(self, kind: type[TypeT]) -> TypeT:
        """The type, of a class that the caller knows: MLIR's `cast<RankedTensorType>(value.getType())`."""
        assert isinstance(self.type, kind), f"found {self.type}, expected {kind.name}"
        return self.type

    @property
    def uses(self) -> Iterator[OpOperand]:
        """The uses; the last yielded use may be changed while iterating."""
        use = self._first_use
        while use is not None:
            following = use._next
            yield use
            use = following

    @property
    def users(self) -> Iterator[Operation]:
        """The operations that use the value, once per use."""
        return (use.owner for use in self.uses)

    @property
    def has_uses(self) -> bool:
        return self._first_use is not None

    @property
    def has_one_use(self) -> bool:
        return self._first_use is not None and self._first_use._next is None

    def replace_all_uses_with(self, other: Value, keep: Callable[[OpOperand], bool] | None = None) -> None:
        """Make every use refer to `other`, except uses for which `keep` is true."""
        if other is self:
            return
        for use in self.uses:
            if keep is None or not keep(use):
                use.set(other)

    @property
    def defining_op(self) -> Operation | None:
        """The operation that defines the value; None for a block argument."""
        return None

    @property
    def owner_block(self) -> Block | None:
        """The block in which the value is defined."""
        raise AssertionError("a value is an operation's result or a block's argument")

    @property
    def location(self) -> Location:
        """The source location of the value."""
        return UNKNOWN


class OpResult(Value[TypeT_co]):
    """Result number `index` of `op`."""

    __slots__ = ("index", "op")

    def __init__(self, op: Operation, index: int, type: TypeT_co) -> None:
        self.type = type
        self.name_hint: str | None = None
        self._first_use = None
        self.op = op
        self.index = index

    @property
    def defining_op(self) -> Operation:
        return self.op

    @property
    def owner_block(self) -> Block | None:
        return self.op.parent

    @property
    def location(self) -> Location:
        return self.op.location


class BlockArgument(Value[TypeT_co]):
    """Argument number `index` of `block`."""

    __slots__ = ("_location", "block", "index")

    def __init__(self, block: Block, index: int, type: TypeT_co, location: Location = UNKNOWN) -> None:
        super().__init__(type)
        self.block = block
        self.index = index
        self._location = location

    @property
    def owner_block(self) -> Block:
        return self.block

    @property
    def location(self) -> Location:
        return self._location

    @location.setter
    def location(self, location: Location) -> None:
        self._location = location
