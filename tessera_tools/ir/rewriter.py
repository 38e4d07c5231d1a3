"""Rewriting: `Rewriter`, which notifies listeners of every change, and `RewritePattern`.

driver ──op──▶ pattern.match_and_rewrite(op, rewriter) ──changes──▶ Rewriter ──notifications──▶ listeners
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from tessera_tools.ir.core import (
    Block,
    Builder,
    InsertionPoint,
    IRMapping,
    Operation,
    OpT,
    Region,
    Value,
)
from tessera_tools.ir.location import UNKNOWN, Location


class Listener:
    """Receives notifications of changes; override the relevant methods."""

    def op_inserted(self, op: Operation) -> None:
        """`op` was inserted into a block (followed by one notification for each nested operation)."""

    def op_replaced(self, op: Operation, values: Sequence[Value]) -> None:
        """The results of `op` are about to be replaced by `values`."""

    def op_modified(self, op: Operation) -> None:
        """The operands, attributes, successors or regions of `op` were changed in place."""

    def op_erased(self, op: Operation) -> None:
        """`op` is about to be erased (nested operations first, last to first)."""


class Rewriter(Builder):
    """A builder that also replaces, erases and moves, and notifies its listeners."""

    __slots__ = ("listeners",)

    def __init__(self, point: InsertionPoint, location: Location = UNKNOWN) -> None:
        super().__init__(point, location)
        self.listeners: list[Listener] = []

    # -- insertion point

    def set_before(self, op: Operation) -> None:
        """Insert before `op` from now on, with its location."""
        assert op.parent is not None
        self.point, self.location = InsertionPoint(op.parent, op), op.location

    @contextmanager
    def saved_point(self) -> Iterator[None]:
        """Restore the insertion point and location at the end of the `with` block."""
        saved = self.point, self.location
        try:
            yield
        finally:
            self.point, self.location = saved

    # -- operations

    def insert(self, op: OpT) -> OpT:
        """Insert a detached operation at the insertion point."""
        super().insert(op)
        self._inserted(op)
        return op

    def _inserted(self, op: Operation) -> None:
        for listener in self.listeners:
            listener.op_inserted(op)
            if op.regions:
                for inner in op.walk():
                    listener.op_inserted(inner)

    def clone(self, op: Operation, mapping: IRMapping | None = None) -> Operation:
        """Insert a copy of `op`."""
        return self.insert(op.clone(mapping))

    def replace_op(self, op: Operation, new: Operation | Sequence[Value]) -> None:
        """Replace the results of `op` by values (or the results of another operation), one for one, and erase it."""
        values: Sequence[Value] = new.results if isinstance(new, Operation) else new
        if len(values) != len(op.results):
            raise ValueError(f"'{op.name}' has {len(op.results)} results, replaced by {len(values)} values")
        for listener in self.listeners:
            listener.op_replaced(op, values)
        for result, value in zip(op.results, values, strict=True):
            self.replace_all_uses(result, value)
        self.erase_op(op)

    def replace_all_uses(self, old: Value, new: Value) -> None:
        """Make every use of `old` refer to `new`."""
        users = list(old.users) if self.listeners else []
        old.replace_all_uses_with(new)
        for user in users:
            self._modified(user)

    def erase_op(self, op: Operation) -> None:
        """Erase an operation whose results are not used."""
        for result in op.results:
            if result.has_uses:
                raise ValueError(f"'{op.name}' cannot be erased: its result #{result.index} has uses")
        if self.listeners:
            doomed = [op, *op.walk()] if op.regions else [op]
            for inner in reversed(doomed):
                for listener in self.listeners:
                    listener.op_erased(inner)
        if self.point.before is op:
            self.point = InsertionPoint(self.point.block, op.next_op)
        op.erase()

    @contextmanager
    def modify(self, op: Operation) -> Iterator[None]:
        """Change `op` in place inside the `with` block."""
        yield
        self._modified(op)

    def _modified(self, op: Operation) -> None:
        for listener in self.listeners:
            listener.op_modified(op)

    def move_before(self, op: Operation, place: Operation) -> None:
        """Move `op` to stand before `place`."""
        op.move_before(place)
        self._modified(op)

    def move_after(self, op: Operation, place: Operation) -> None:
        """Move `op` to stand after `place`."""
        op.move_after(place)
        self._modified(op)

    # -- blocks and regions

    def erase_block(self, block: Block) -> None:
        """Erase a block without predecessors, and its contents."""
        for op in reversed(list(block)):
            for result in op.results:
                if any(user.parent is not block for user in result.users):
                    raise ValueError(f"'{op.name}' cannot be erased: its result #{result.index} has uses")
            for listener in self.listeners:
                for inner in reversed([op, *op.walk()]):
                    listener.op_erased(inner)
        block.erase()

    def inline_block_before(self, block: Block, place: Operation, arguments: Sequence[Value] = ()) -> None:
        """Move the operations of `block` before `place`, with its arguments replaced, and erase the empty block."""
        assert place.parent is not None
        self._inline(block, place.parent, place, arguments)

    def inline_region(
        self, region: Region, op: Operation, ends: type[Operation], arguments: Sequence[Value] = ()
    ) -> None:
        """Put the only block of `region` in the place of `op`.

        The operands of its last op, if that is one of the class `ends`, are the results.  With another last op control
        leaves there, and what follows `op` is erased.
        """
        block = region.block
        last = block.last_op
        self.inline_block_before(block, op, arguments)
        if isinstance(last, ends):
            values = last.operands
            self.erase_op(last)
            self.replace_op(op, values)
            return
        assert op.parent is not None
        for dead in reversed(list(op.parent)):
            self.erase_op(dead)
            if dead is op:
                return

    def inline_block_at_end(self, block: Block, target: Block, arguments: Sequence[Value] = ()) -> None:
        """Move the operations of `block` to the end of `target`, with its arguments replaced, and erase the block."""
        self._inline(block, target, None, arguments)

    def _inline(
        self, block: Block, target: Block, before: Operation | None, arguments: Sequence[Value]
    ) -> None:
        if len(arguments) != len(block.arguments):
            raise ValueError(f"the block has {len(block.arguments)} arguments, got {len(arguments)} values")
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.replace_all_uses(argument, value)
        for op in block.operations:
            op.detach()
            target.insert_before(before, op)
        if block.parent is not None:
            self.erase_block(block)

    def inline_region_before(self, region: Region, target: Region, index: int | None = None) -> None:
        """Move all blocks of `region` into `target`, at position `index` or at the end."""
        at = len(target.blocks) if index is None else index
        moving, region.blocks = region.blocks, []
        for block in moving:
            block.parent = None
            target.insert(at, block)
            at += 1


class Pattern:
    """The base of patterns."""

    op_class: ClassVar[type | None] = None
    """The class or interface of the ops that the pattern matches; None for any."""
    benefit: ClassVar[int] = 1
    """Patterns of greater benefit are tried first."""
    name: ClassVar[str] = ""
    """The name for statistics and debug output; by default the name of the class."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__

    def for_class(self, op_class: type[Operation]) -> Sequence[Pattern]:
        """The patterns to use for ops of a class: itself, unless it is a family of patterns."""
        return [self]

    def applies_to(self, operands: Sequence[type[Operation] | None]) -> bool:
        """True if the pattern may apply to an op whose operands are defined by ops of these classes (None: a block
        argument).

        Override it to skip the pattern early.
        """
        return True


KindT = TypeVar("KindT")


class RewritePattern(Pattern, Generic[KindT]):
    """A rewrite of one operation: `RewritePattern[For]` of those of a class or with an interface, `RewritePattern` of
    any."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__dict__.get("__orig_bases__", ()):
            kind = get_args(base)[0] if get_origin(base) is RewritePattern else Operation
            if "op_class" not in cls.__dict__ and isinstance(kind, type) and kind is not Operation:
                cls.op_class = kind

    def match_and_rewrite(self, op: KindT, rewriter: Rewriter) -> bool | str | None:
        """Rewrite `op` through `rewriter`, which inserts before it, and return True.

        Otherwise the pattern does not apply and must have changed nothing: return False, None, or a sentence with
        the reason.  With `greedy.CHECKS_CLAIMS`, as in tests, the driver raises ValueError if that is not so.
        """
        raise AssertionError(f"pattern {self.name} has no match_and_rewrite")


class PatternSet:
    """Patterns, found by the class of the operation, best first."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        seen: set[tuple[str, type[Operation] | None]] = set()
        for pattern in patterns:
            key = pattern.name, pattern.op_class
            if key in seen:
                of = pattern.op_class.name if pattern.op_class is not None else "any op"
                raise ValueError(f"the pattern {pattern.name} of {of} is listed twice")
            seen.add(key)
        # A stable sort keeps the given order among equals.
        self._patterns = sorted(patterns, key=lambda p: -p.benefit)
        self._by_class: dict[type[Operation], tuple[bool, list[Pattern]]] = {}
        self._by_operands: dict[tuple[type[Operation] | None, ...], list[Pattern]] = {}

    def for_op(self, op: Operation) -> list[Pattern]:
        """The patterns to try on `op`, in order."""
        cls = type(op)
        known = self._by_class.get(cls)
        if known is None:
            given = [p for p in self._patterns if p.op_class is None or issubclass(cls, p.op_class)]
            found = [pattern for p in given for pattern in p.for_class(cls)]
            asks = any(type(p).applies_to is not Pattern.applies_to for p in found)
            known = self._by_class[cls] = (asks, found)
        asks, found = known
        if not asks:
            return found
        operands = [type(made) if (made := v.defining_op) is not None else None for v in op.operands]
        key = (cls, *operands)
        few = self._by_operands.get(key)
        if few is None:
            few = self._by_operands[key] = [p for p in found if p.applies_to(operands)]
        return few
