"""`walk` of operations and blocks; the default order, pre-order, without a generator for each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tessera_tools.ir.core import Block, Operation, OpT, Region, Value

__all__ = ["walk_block", "walk_regions"]

Rest = tuple["Block", "Operation | None", "Operation | None"]
"""A block with operations still to be visited: the one that was yielded last (None for a new block), and the one that
followed it then."""


def walk_regions(regions: Sequence[Region], reverse: bool, post_order: bool) -> Iterator[Operation]:
    """Every operation of the regions, and all nested ones; see `Operation.walk`."""
    if not (reverse or post_order):
        return _walk(list(reversed(regions)))
    return _walk_each(regions, reverse, post_order)


def walk_block(block: Block, reverse: bool, post_order: bool) -> Iterator[Operation]:
    """Every operation of the block, and all nested ones; see `Operation.walk`."""
    if not (reverse or post_order):
        return _walk([(block, None, None)])
    return _walk_in(block, reverse, post_order)


def _walk_each(regions: Sequence[Region], reverse: bool, post_order: bool) -> Iterator[Operation]:
    for region in reversed(regions) if reverse else list(regions):
        for block in reversed(region.blocks) if reverse else list(region.blocks):
            yield from _walk_in(block, reverse, post_order)


def _walk_in(block: Block, reverse: bool, post_order: bool) -> Iterator[Operation]:
    for op in reversed(block) if reverse else block.operations:
        if not op.regions:
            yield op
        elif post_order:
            yield from _walk_each(op.regions, reverse, True)
            yield op
        else:
            yield op
            if op.parent is block:
                yield from _walk_each(op.regions, reverse, False)


def _walk(work: list[Region | Rest]) -> Iterator[Operation]:
    while work:
        here = work.pop()
        if not isinstance(here, tuple):
            work += [(block, None, None) for block in reversed(here.blocks)]
            continue
        block, last, following = here
        if last is None:
            op = block._first
        else:
            op = last._next if last.parent is block else following
        while op is not None:
            following, nested = op._next, bool(op.regions)
            yield op
            if nested and op.parent is block:
                work.append((block, op, following))
                work += reversed(op.regions)
                break
            # As in `Block.operations`: an erased op is followed by the op that was after it.
            op = op._next if op.parent is block else following


def enclosing(op: Operation, kind: type[OpT]) -> OpT | None:
    """The innermost operation of a class around an operation."""
    around = op.parent_op
    while around is not None and not isinstance(around, kind):
        around = around.parent_op
    return around


def values_used(op: Operation) -> Iterator[Value]:
    """The operands of an op and of the ops in its regions."""
    yield from op.operands
    for inner in op.walk():
        yield from inner.operands


def values_taken(op: Operation) -> Iterator[Value]:
    """Those of the values used that are defined outside of the op."""
    for value in values_used(op):
        block = value.owner_block
        source = value.defining_op or (block.parent_op if block is not None else None)
        if source is None or not op.is_ancestor_of(source):
            yield value
