"""Operations, values, blocks and regions: MLIR's model of a program.

    Operation ─ operands ▶ Value ◀ results, block arguments
        │ regions                      a Value knows its uses (OpOperand), an OpOperand its owner
    Region ─ blocks ▶ Block ─ operations ▶ Operation …

The operations of a block are a doubly linked list, and so are the uses of a value: inserting and erasing cost O(1).
`Operation` is also the class of every registered op: subclasses come from `tessera_tools.opdef`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tessera_tools import diagnostics
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builder import Builder, InsertionPoint
from tessera_tools.ir.effects import MemoryEffects, declared
from tessera_tools.ir.location import UNKNOWN, Location
from tessera_tools.ir.mapping import IRMapping
from tessera_tools.ir.traversal import walk_block, walk_regions
from tessera_tools.ir.values import BlockArgument, OpOperand, OpResult, Value

if TYPE_CHECKING:
    from typing import Self

    from tessera_tools.ir.traits import Trait

OpT = TypeVar("OpT", bound="Operation")

__all__ = [
    "Block", "BlockArgument", "Builder", "IRMapping", "InsertionPoint", "OpOperand", "OpResult", "Operation", "Region",
    "UnregisteredOp", "Value",
]  # fmt: skip

_HAS_TRAIT: dict[tuple[type[Operation], type[Trait] | Trait], bool] = {}
"""What `has_trait` has answered: traits of a class do not change."""


class Operation:
    """One operation.  Registered ops are subclasses; the rest are `UnregisteredOp`.

    `attributes` holds inherent attributes (those that the op declares, `inherent_attributes`) and discardable ones.
    Create through a subclass's constructor, `Operation.create`, or a `Builder`.
    """

    __slots__ = (
        "_next", "_operands", "_order", "_prev", "attributes", "location", "parent", "regions", "results", "successors",
    )  # fmt: skip

    name: ClassVar[str] = ""
    traits: ClassVar[tuple[Trait, ...]] = ()
    inherent_attributes: ClassVar[frozenset[str]] = frozenset()
    """Names of the declared attributes; the generic form prints them in `<{…}>`."""

    _operands: list[OpOperand]
    results: list[OpResult]
    attributes: dict[str, Attribute]
    regions: list[Region]
    successors: Sequence[Block]
    """The successors of a terminator; change them through `set_successor`/`set_successors`."""
    location: Location
    parent: Block | None
    """The block that holds the operation, or None for a detached one."""

    @classmethod
    def create(
        cls: type[OpT],
        operands: Sequence[Value] = (),
        result_types: Sequence[Type] = (),
        attributes: dict[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        successors: Sequence[Block] = (),
        location: Location = UNKNOWN,
    ) -> OpT:
        """Create an operation from its generic parts, without verification."""
        self = cls.__new__(cls)
        self._init(operands, result_types, attributes, regions, successors, location)
        return self

    def _init(
        self,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        attributes: dict[str, Attribute] | None,
        regions: Sequence[Region],
        successors: Sequence[Block],
        location: Location,
    ) -> None:
        self._operands = [OpOperand(self, i, value) for i, value in enumerate(operands)]
        self.results = [OpResult(self, i, type) for i, type in enumerate(result_types)]
        self.attributes = {} if attributes is None else attributes
        self.regions = list(regions)
        for region in self.regions:
            region.parent = self
        self.successors = ()
        if successors:
            self.set_successors(successors)
        self.location = location
        self.parent = None
        self._prev: Operation | None = None
        self._next: Operation | None = None
        self._order = 0

    # -- operands and results

    @property
    def operands(self) -> list[Value]:
        """The operand values, as a fresh list; change them through `set_operand`/`set_operands`."""
        return [use.value for use in self._operands]

    @property
    def op_operands(self) -> Sequence[OpOperand]:
        return self._operands

    def operand(self, index: int) -> Value:
        return self._operands[index].value

    def set_operand(self, index: int, value: Value) -> None:
        self._operands[index].set(value)

    def set_operands(self, values: Sequence[Value]) -> None:
        """Replace all operands; the number may change (the caller updates segment sizes)."""
        for use in self._operands:
            use._unlink()
        self._operands = [OpOperand(self, i, value) for i, value in enumerate(values)]

    def set_successors(self, blocks: Sequence[Block]) -> None:
        """Replace all successors."""
        for block in self.successors:
            block._branches.pop(self, None)
        self.successors = tuple(blocks)
        for block in self.successors:
            block._branches[self] = None

    def set_successor(self, index: int, block: Block) -> None:
        """Replace one successor."""
        changed = list(self.successors)
        changed[index] = block
        self.set_successors(changed)

    if not TYPE_CHECKING:

        @property
        def result(self) -> OpResult:
            """The only result."""
            (only,) = self.results
            return only

    @property
    def result_types(self) -> list[Type]:
        return [r.type for r in self.results]

    @property
    def operand_types(self) -> list[Type]:
        return [use.value.type for use in self._operands]

    # -- position

    @property
    def parent_op(self) -> Operation | None:
        """The operation whose region holds this one."""
        block = self.parent
        return block.parent.parent if block is not None and block.parent is not None else None

    @property
    def next_op(self) -> Operation | None:
        return self._next

    @property
    def prev_op(self) -> Operation | None:
        return self._prev

    def is_before_in_block(self, other: Operation) -> bool:
        """True if this op is before `other` in the same block; O(1) while the block does not change."""
        block = self.parent
        assert block is not None and block is other.parent
        if not block._ordered:
            block._renumber()
        return self._order < other._order

    def is_ancestor_of(self, other: Operation | None) -> bool:
        """True if `other` is this operation or nested in it."""
        while other is not None and other is not self:
            other = other.parent_op
        return other is self

    def detach(self) -> None:
        """Take the operation out of its block; it keeps its operands."""
        if self.parent is not None:
            self.parent._unlink(self)

    def erase(self) -> None:
        """Detach and destroy.  ValueError if a result still has uses."""
        for result in self.results:
            if result._first_use is not None:
                raise ValueError(f"'{self.name}' cannot be erased: its result #{result.index} has uses")
        self.detach()
        self.drop_all_references()

    def drop_all_references(self) -> None:
        """Drop the operands of this op and of all nested ops, so that all of them can be erased."""
        for op in [self, *self.walk()] if self.regions else [self]:
            for use in op._operands:
                use._unlink()
            op._operands = []
            op.set_successors(())

    def move_before(self, other: Operation) -> None:
        self.detach()
        assert other.parent is not None
        other.parent.insert_before(other, self)

    def move_after(self, other: Operation) -> None:
        self.detach()
        assert other.parent is not None
        other.parent.insert_after(other, self)

    def replace_all_uses_with(self, values: Sequence[Value]) -> None:
        """Replace every result by the value at its index."""
        assert len(values) == len(self.results)
        for result, value in zip(self.results, values, strict=True):
            result.replace_all_uses_with(value)

    # -- traversal

    def walk(self, *, reverse: bool = False, post_order: bool = False) -> Iterator[Operation]:
        """Yields all nested operations (not this one), blocks in order; pre-order by default.

        The last yielded operation may be erased or replaced (in pre-order, its regions are then not visited).
        `reverse` visits regions, blocks and operations backwards.
        """
        return walk_regions(self.regions, reverse, post_order)

    # -- attributes and traits

    @classmethod
    def has_trait(cls, trait: type[Trait] | Trait) -> bool:
        """Whether the class has this trait, or one of this class of traits."""
        known = _HAS_TRAIT.get((cls, trait))
        if known is None:
            known = any(t is trait or (isinstance(trait, type) and isinstance(t, trait)) for t in cls.traits)
            _HAS_TRAIT[cls, trait] = known
        return known

    def effects(self) -> MemoryEffects | None:
        """The side effects of the op itself (ir/effects.py); None if they are unknown."""
        return declared(type(self))

    def is_speculatable(self) -> bool:
        """True if the op, apart from its regions, may be executed speculatively."""
        return (effects := self.effects()) is not None and effects.speculatable

    @property
    def discardable_attributes(self) -> dict[str, Attribute]:
        return {k: v for k, v in self.attributes.items() if k not in self.inherent_attributes}

    # -- clone

    def clone(self, mapping: IRMapping | None = None) -> Self:
        """A detached deep copy.  Operands and successors are mapped by `mapping` if it has an entry.  The copies of
        results, blocks and block arguments are added to `mapping`."""
        mapping = mapping if mapping is not None else IRMapping()
        copy = type(self).__new__(type(self))
        regions = [Region() for _ in self.regions]
        copy._init(
            [mapping.value(use.value) for use in self._operands],
            [r.type for r in self.results],
            dict(self.attributes),
            regions,
            [mapping.block(b) for b in self.successors],
            self.location,
        )
        if mapping.depth:
            values = mapping.values
            mapping.unmapped += [use for use in copy._operands if use.value not in values]
        self._copy_extra(copy)
        for old, new in zip(self.results, copy.results, strict=True):
            new.name_hint = old.name_hint
            mapping.values[old] = new
        for old_region, new_region in zip(self.regions, regions, strict=True):
            old_region.clone_into(new_region, mapping)
        return copy

    def _copy_extra(self, copy: Operation) -> None:
        """Copy the slots that a subclass adds."""

    # -- hooks that op classes override

    def verify_op(self) -> None:
        """Check what the declared constraints cannot express; raise with `self.error(…)`."""

    def verify_regions(self) -> None:
        """Check what relies on valid nested operations: the verifier calls it if it has found no error."""

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        """Constants or existing values for the results, given the constant operands; None if the op does not fold."""
        return None

    # -- errors

    def error(self, message: str, *notes: str, named: bool = True) -> diagnostics.DiagnosticError:
        """An error at this operation: `raise op.error("…")` says `'dialect.op' op …`; without `named`, `…` alone."""
        if diagnostics.shows_operations():
            from tessera_tools.ir.printing import op_text

            notes = (*notes, f"see current operation: {op_text(self, generic=True)}")
        return diagnostics.error(self.location, f"'{self.name}' op {message}" if named else message, *notes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.name}' at {self.location.body()}>"

    def __str__(self) -> str:
        from tessera_tools.ir.printing import op_text

        return op_text(self)


class UnregisteredOp(Operation):
    """An operation of an unregistered dialect, or an unknown op that was allowed; it has only the generic form."""

    __slots__ = ("name", "properties")  # pyright: ignore[reportIncompatibleVariableOverride]

    name: str
    properties: dict[str, Attribute]
    """The properties, from `<{…}>`."""

    @classmethod
    def named(cls, name: str, *args: Any, properties: dict[str, Attribute] | None = None, **kwargs: Any):
        self = cls.create(*args, **kwargs)
        self.name = name
        self.properties = properties or {}
        return self

    def _copy_extra(self, copy: Any) -> None:
        copy.name = self.name
        copy.properties = dict(self.properties)


class Block:
    """A list of operations with arguments; `parent` is the region that holds it."""

    __slots__ = ("_branches", "_first", "_last", "_ordered", "arguments", "label", "parent")

    def __init__(
        self, argument_types: Iterable[Type] = (), locations: Sequence[Location] | None = None
    ) -> None:
        self.parent: Region | None = None
        self.label: str | None = None
        self.arguments: list[BlockArgument] = []
        for i, type in enumerate(argument_types):
            self.arguments.append(BlockArgument(self, i, type, locations[i] if locations else UNKNOWN))
        self._first: Operation | None = None
        self._last: Operation | None = None
        self._ordered = True
        self._branches: dict[Operation, None] = {}
        """The operations that have this block as a successor."""

    # -- arguments

    def add_argument(
        self, type: Type, location: Location = UNKNOWN, index: int | None = None
    ) -> BlockArgument:
        """Append an argument, or insert it before position `index`."""
        at = len(self.arguments) if index is None else index
        argument = BlockArgument(self, at, type, location)
        self.arguments.insert(at, argument)
        for i in range(at + 1, len(self.arguments)):
            self.arguments[i].index = i
        return argument

    def erase_argument(self, index: int) -> None:
        """Remove an argument without uses."""
        if self.arguments[index].has_uses:
            raise ValueError(f"block argument #{index} cannot be erased: it has uses")
        del self.arguments[index]
        for i in range(index, len(self.arguments)):
            self.arguments[i].index = i

    # -- operations

    @property
    def operations(self) -> Iterator[Operation]:
        """The operations in order; the last yielded one may be erased or moved."""
        op = self._first
        while op is not None:
            following = op._next
            yield op
            # If the op was erased, continue with the op after it, which may be new.
            op = op._next if op.parent is self else following

    def __iter__(self) -> Iterator[Operation]:
        return self.operations

    def __reversed__(self) -> Iterator[Operation]:
        op = self._last
        while op is not None:
            before = op._prev
            yield op
            op = op._prev if op.parent is self else before

    def __len__(self) -> int:
        return sum(1 for _ in self.operations)

    @property
    def first_op(self) -> Operation | None:
        return self._first

    @property
    def last_op(self) -> Operation | None:
        return self._last

    @property
    def terminator(self) -> Operation | None:
        """The last operation if it is a terminator (or unregistered)."""
        from tessera_tools.ir.traits import Terminator

        last = self._last
        return (
            last
            if last is not None and (isinstance(last, UnregisteredOp) or last.has_trait(Terminator))
            else None
        )

    def append(self, op: OpT) -> OpT:
        assert op.parent is None, "the operation is already in a block"
        last = self._last
        op.parent, op._prev, op._next = self, last, None
        if last is None:
            self._first = op
            op._order = 0
        else:
            last._next = op
            op._order = last._order + 1
        self._last = op
        return op

    def insert_before(self, place: Operation | None, op: OpT) -> OpT:
        """Insert before `place`; None means at the end."""
        if place is None:
            return self.append(op)
        assert op.parent is None and place.parent is self
        before = place._prev
        op.parent, op._prev, op._next = self, before, place
        place._prev = op
        if before is None:
            self._first = op
        else:
            before._next = op
        self._ordered = False
        return op

    def insert_after(self, place: Operation, op: OpT) -> OpT:
        return self.insert_before(place._next, op)

    def _unlink(self, op: Operation) -> None:
        before, after = op._prev, op._next
        if before is None:
            self._first = after
        else:
            before._next = after
        if after is None:
            self._last = before
        else:
            after._prev = before
        op.parent = op._prev = op._next = None

    def _renumber(self) -> None:
        for i, op in enumerate(self.operations):
            op._order = i
        self._ordered = True

    def walk(self, *, reverse: bool = False, post_order: bool = False) -> Iterator[Operation]:
        """Every operation of the block, and all nested ones; see `Operation.walk`."""
        return walk_block(self, reverse, post_order)

    # -- control flow

    @property
    def parent_op(self) -> Operation | None:
        return self.parent.parent if self.parent is not None else None

    @property
    def successors(self) -> list[Block]:
        last = self._last
        return list(last.successors) if last is not None else []

    def predecessors(self) -> list[Block]:
        """The blocks of the same region that branch to this one, once each."""
        ends = (op for op in self._branches if op.parent is not None and op is op.parent._last)
        return [op.parent for op in ends if op.parent is not None and op.parent.parent is self.parent]

    def single_predecessor(self) -> Block | None:
        """The block of the same region that branches to this one, if it is the only one."""
        found: Block | None = None
        for op in self._branches:
            block = op.parent
            if block is not None and block is not found and op is block._last and block.parent is self.parent:
                if found is not None:
                    return None
                found = block
        return found

    def split_before(self, op: Operation) -> Block:
        """Move `op` and all that follow into a new block right after this one, and return it."""
        assert op.parent is self and self.parent is not None
        tail = Block()
        self.parent.insert(self.parent.blocks.index(self) + 1, tail)
        moving: Operation | None = op
        while moving is not None:
            following = moving._next
            self._unlink(moving)
            tail.append(moving)
            moving = following
        return tail

    def erase(self) -> None:
        """Erase the operations and remove the block from its region; its values must have no other uses."""
        for op in self.operations:
            op.drop_all_references()
        for op in reversed(self):
            op.erase()
        if self.parent is not None:
            self.parent.blocks.remove(self)
            self.parent = None


class Region:
    """A list of blocks; the first is the entry.  `parent` is the operation that holds the region."""

    __slots__ = ("blocks", "parent")

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self.parent: Operation | None = None
        self.blocks: list[Block] = []
        for block in blocks:
            self.append(block)

    def append(self, block: Block) -> Block:
        return self.insert(len(self.blocks), block)

    def insert(self, index: int, block: Block) -> Block:
        assert block.parent is None
        block.parent = self
        self.blocks.insert(index, block)
        return block

    @property
    def is_empty(self) -> bool:
        return not self.blocks

    @property
    def block(self) -> Block:
        """The only block."""
        (only,) = self.blocks
        return only

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    def take_blocks(self, other: Region) -> None:
        """Move all blocks of `other` to the end of this region."""
        moving, other.blocks = other.blocks, []
        for block in moving:
            block.parent = None
            self.append(block)

    def walk(self, *, reverse: bool = False, post_order: bool = False) -> Iterator[Operation]:
        for block in reversed(self.blocks) if reverse else list(self.blocks):
            yield from block.walk(reverse=reverse, post_order=post_order)

    def clone_into(self, target: Region, mapping: IRMapping) -> None:
        """Append copies of the blocks to `target`; forward references inside are resolved at the end."""
        copies: list[tuple[Block, Block]] = []
        for block in self.blocks:
            copy = Block([a.type for a in block.arguments], [a.location for a in block.arguments])
            copy.label = block.label
            for old, new in zip(block.arguments, copy.arguments, strict=True):
                new.name_hint = old.name_hint
                mapping.values[old] = new
            mapping.blocks[block] = copy
            target.append(copy)
            copies.append((block, copy))
        mapping.depth += 1
        for block, copy in copies:
            for op in block.operations:
                copy.append(op.clone(mapping))
        mapping.depth -= 1
        if mapping.depth == 0:
            mapping.resolve()

    def is_ancestor_of(self, other: Region | None) -> bool:
        while other is not None and other is not self:
            op = other.parent
            block = op.parent if op is not None else None
            other = block.parent if block is not None else None
        return other is self
