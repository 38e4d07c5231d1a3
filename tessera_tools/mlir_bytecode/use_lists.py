"""The order of the uses of a value, where it is not that of a parsed text: the last use first.

[values] │ [value] │ count, pairs? │ numbers

`numbers[i]` is the place of use `i` of the parsed order; or they are pairs of a use and its place, for those that move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tessera_tools.bytecode.cursor import malformed
from tessera_tools.ir.core import Operation
from tessera_tools.ir.values import OpOperand, Value
from tessera_tools.mlir_bytecode.cursor import Cursor, Writer


class UseListOrder(NamedTuple):
    """An order read from a file, at byte `at`."""

    at: int
    pairs: bool
    numbers: tuple[int, ...]


CANONICAL = UseListOrder(0, True, ())
"""The order of a parsed text: no use is at another place."""


def read_orders(c: Cursor, size: int) -> dict[int, tuple[bool, tuple[int, ...]]]:
    """The orders for some of `size` values: for each, whether it is pairs, and the numbers."""
    found: dict[int, tuple[bool, tuple[int, ...]]] = {}
    if not size:
        c.fail("an order of uses, but there are no values")
    for _ in range(c.count("orders of uses") if size > 1 else 1):
        number = c.index(size, "value of an order of uses") if size > 1 else 0
        at = c.pos
        count, pairs = c.flagged()
        if count > c.remaining:
            c.fail(f"{count} uses cannot fit in the {c.remaining} remaining bytes", at=at)
        found[number] = pairs, tuple(c.varint() for _ in range(count))
    return found


def operation_numbers(root: Operation) -> dict[Operation, int]:
    """The number of each op, in the order of the text."""
    return {op: number for number, op in enumerate((root, *root.walk()))}


def _use_number(use: OpOperand, numbers: Mapping[Operation, int]) -> tuple[int, int]:
    return numbers[use.owner], use.index


def apply_orders(root: Operation, orders: Mapping[Value, UseListOrder], c: Cursor) -> None:
    """Change the order of the uses of values."""
    numbers = operation_numbers(root)
    for value, order in orders.items():
        uses = sorted(value.uses, key=lambda use: _use_number(use, numbers), reverse=True)
        places = _places(order, len(uses))
        if places is None:
            raise malformed(
                c.file,
                order.at,
                f"not an order of the {len(uses)} uses of a value: {list(order.numbers)[:20]}",
            )
        moved: list[OpOperand | None] = [None] * len(uses)
        for use, place in zip(uses, places, strict=True):
            moved[place] = use
        for use in reversed(moved):
            assert use is not None
            use.set(value)  # the last one that is set is the first use


def _places(order: UseListOrder, size: int) -> Sequence[int] | None:
    """The place of each use; None if the numbers are not an order."""
    places: Sequence[int] = order.numbers
    if order.pairs:
        if len(places) % 2 or len(places) > 2 * size:
            return None
        changed = list(range(size))
        for use, place in zip(places[::2], places[1::2], strict=True):
            if use >= size:
                return None
            changed[use] = place
        places = changed
    if len(places) != size or sorted(places) != list(range(size)):
        return None
    return places


def orders_of(values: Iterable[Value], numbers: Mapping[Operation, int]) -> dict[int, list[int]]:
    """The orders of uses that differ from that of a parsed text, by the index of the value."""
    found: dict[int, list[int]] = {}
    for index, value in enumerate(values):
        keys = [_use_number(use, numbers) for use in value.uses]
        if any(a < b for a, b in pairwise(keys)):
            found[index] = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
    return found


def write_orders(w: Writer, orders: Mapping[int, Sequence[int]], size: int) -> None:
    """Write the orders for some of `size` values."""
    if size > 1:
        w.varint(len(orders))
    for index, order in orders.items():
        if size > 1:
            w.varint(index)
        moved = [(use, place) for use, place in enumerate(order) if use != place]
        pairs = len(moved) < len(order) // 2
        numbers = [number for pair in moved for number in pair] if pairs else order
        w.flagged(len(numbers), pairs)
        for number in numbers:
            w.varint(number)
