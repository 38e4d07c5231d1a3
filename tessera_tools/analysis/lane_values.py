"""Symbolic evaluation, for each thread, of values computed from thread ids.

    %r = arith.remui %thread_id, 8        0 1 2 … 7 0 1 …                               known for each thread
    %i = arith.addi %r, %k                0 1 2 … 7 0 1 …, plus %k                      known up to a uniform offset
    %x = arith.xori %r, %k                %k: 0, 32, 64 (a loop of constant bounds)     known for each iteration

A value that is uniform but unknown (an induction variable, an extent, a block id) is a *part*: any number, or one of
the values of an induction variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import gcd, prod

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.transfer import ZERO_DIVISOR
from tessera_tools.dialects import scf, tile
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.records import dataclass

WARP = 32
_MOST_CASES = 128
"""The maximum number of combinations of loop iterations to enumerate."""


def _divided(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) is (b < 0) else -quotient


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _divided,
    "arith.divui": lambda a, b: a // b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.remsi": lambda a, b: a - b * _divided(a, b),
    "arith.remui": lambda a, b: a % b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrui": lambda a, b: a >> b,
    "arith.shrsi": lambda a, b: a >> b,
    "arith.minui": min,
    "arith.minsi": min,
    "arith.maxui": max,
    "arith.maxsi": max,
}
_DIVISIONS = ("arith.divsi", "arith.divui", "arith.floordivsi", "arith.remsi", "arith.remui")
_OF_NATURALS = ("arith.divui", "arith.remui", "arith.shrui", "arith.minui", "arith.maxui")
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui")
_SHIFTS = ("arith.shli", "arith.shrui", "arith.shrsi")

Row = tuple[int, ...]
"""A number for each thread of the block."""


@dataclass(frozen=True)
class Sum:
    """A value as a known number for each thread, plus multiples of parts."""

    known: Row
    parts: tuple[tuple[Value, int], ...] = ()
    """(part, factor)."""


class LaneValues:
    """The index values of one function, for blocks of `threads` threads.

    `divergent`: the values that may differ between threads.
    """

    def __init__(self, threads: int, divergent: set[Value]) -> None:
        self.threads = threads
        self.divergent = divergent
        self.facts = Facts()
        self._sums: dict[Value, Sum | None] = {}

    # -- exactly, case by case

    def cases(self, values: Sequence[Value]) -> list[list[Row]] | None:
        """The numbers of several values in every thread, once for each combination of iterations of the loops that
        they depend on; None if they are unknown."""
        parts: dict[Value, None] = {}
        for value in values:
            if not self._collect(value, parts):
                return None
        numbers = [iterations(part) for part in parts]
        if any(n is None for n in numbers) or prod(len(n or ()) for n in numbers) > _MOST_CASES:
            return None
        found: list[list[Row]] = []
        for chosen in itertools.product(*(n or () for n in numbers)):
            environment = dict(zip(parts, chosen, strict=True))
            rows = [self._evaluate(value, environment) for value in values]
            if any(row is None for row in rows):
                return None
            found.append([row for row in rows if row is not None])
        return found

    def _collect(self, value: Value, parts: dict[Value, None]) -> bool:
        """Collect the parts that a value is computed from; False if it depends on anything else."""
        op = value.defining_op
        if constant_integer(value) is not None or self._threads_of(op) is not None:
            return True
        if op is not None and (op.name in _OPERATIONS or op.name in _CASTS):
            return all(self._collect(v, parts) for v in op.operands)
        if value in self.divergent:
            return False
        parts[value] = None
        return True

    def _evaluate(self, value: Value, environment: dict[Value, int]) -> Row | None:
        if value in environment:
            return (environment[value],) * self.threads
        op = value.defining_op
        constant = constant_integer(value)
        if constant is not None:
            return (constant,) * self.threads
        own = self._threads_of(op)
        if own is not None:
            return own
        if op is None:
            return None
        rows = [self._evaluate(v, environment) for v in op.operands]
        if any(row is None for row in rows):
            return None
        if op.name in _CASTS:
            return rows[0]
        return _applied(op.name, rows[0] or (), rows[1] or ())

    def _threads_of(self, op: Operation | None) -> Row | None:
        """The number for each thread of an op that returns a thread id."""
        if isinstance(op, tile.ThreadId):
            return tuple(range(self.threads))
        if isinstance(op, tile.LaneId):
            return tuple(t % WARP for t in range(self.threads))
        if isinstance(op, tile.WarpId):
            return tuple(t // WARP for t in range(self.threads))
        if isinstance(op, tile.NumThreads):
            return (self.threads,) * self.threads
        return None

    # -- up to a uniform offset

    def sum(self, value: Value) -> Sum | None:
        """A value as a sum; None if it has no such form."""
        if value not in self._sums:
            self._sums[value] = self._sum(value)
        return self._sums[value]

    def _sum(self, value: Value) -> Sum | None:
        op = value.defining_op
        constant = constant_integer(value)
        if constant is not None:
            return Sum((constant,) * self.threads)
        own = self._threads_of(op)
        if own is not None:
            return Sum(own)
        if op is not None and op.name in _CASTS:
            return self.sum(op.operand(0))
        if op is not None and op.name in _OPERATIONS:
            a, b = self.sum(op.operand(0)), self.sum(op.operand(1))
            found = _combined(op.name, a, b) if a is not None and b is not None else None
            if found is not None:
                return found
        return Sum((0,) * self.threads, ((value, 1),)) if value not in self.divergent else None

    def step(self, parts: tuple[tuple[Value, int], ...]) -> int:
        """A divisor of the sum of parts; 0 if there are none."""
        step = 0
        for part, factor in parts:
            divisor = self.facts.divisor(part)
            step = gcd(step, abs(factor) * (divisor if divisor < ZERO_DIVISOR else 0))
        return step


def _applied(name: str, a: Row, b: Row) -> Row | None:
    """An operation for each thread; None if it is undefined, or if an unsigned value would be negative."""
    if name in _DIVISIONS and 0 in b:
        return None
    if name in _SHIFTS and any(not 0 <= n < 63 for n in b):
        return None
    if name in _OF_NATURALS and (min(a) < 0 or min(b) < 0):
        return None
    function = _OPERATIONS[name]
    return tuple(function(x, y) for x, y in zip(a, b, strict=True))


def _combined(name: str, a: Sum, b: Sum) -> Sum | None:
    """An operation on sums; None if the result is not a sum."""
    if not a.parts and not b.parts:
        known = _applied(name, a.known, b.known)
        return Sum(known) if known is not None else None
    if name in ("arith.addi", "arith.subi"):
        sign = 1 if name == "arith.addi" else -1
        known = _applied(name, a.known, b.known)
        return None if known is None else Sum(known, a.parts + tuple((p, sign * f) for p, f in b.parts))
    if name == "arith.muli":
        if a.parts and b.parts:
            return None
        whole, factors = (a, b.known) if a.parts else (b, a.known)
        return _times(whole, factors)
    if name == "arith.shli" and not b.parts and all(0 <= n < 63 for n in b.known):
        return _times(a, tuple(1 << n for n in b.known))
    return None


def _times(a: Sum, factors: Row) -> Sum | None:
    if len(set(factors)) > 1:
        return None
    known = tuple(x * factors[0] for x in a.known)
    return Sum(known, tuple((p, f * factors[0]) for p, f in a.parts))


def iterations(value: Value) -> Sequence[int] | None:
    """The values of the induction variable of a loop with constant bounds; None for other values."""
    if not isinstance(value, BlockArgument) or value.index:
        return None
    loop = value.owner_block.parent_op
    if not isinstance(loop, scf.For):
        return None
    return loop.counters


def trips(op: Operation) -> int:
    """Returns the trip count of an op: the product over its enclosing loops, with 8 for each unknown count."""
    count = 1
    for loop in loops_around(op):
        count *= 8 if loop.trip_count is None else loop.trip_count
    return count


def loops_around(op: Operation) -> Iterator[scf.For]:
    """Yields the enclosing loops of an op, innermost first."""
    around = op.parent_op
    while around is not None:
        if isinstance(around, scf.For):
            yield around
        around = around.parent_op
