"""Divisors and bounds of integer and pointer values, from assumptions, constants and arithmetic.

    %k = nv_tileaa.assume %K {divisor = 8 : i64, lower = 0 : i64}      facts.divisor(%k) == 8, facts.lower(%k) == 0
    %o = arith.muli %i, %c64                                           facts.divisor(%o) == 64

Integers are read as signed.  An analysis object remembers what it found: make a new one after a change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tessera_tools.analysis.transfer import RULES, Fact, fact, join, limits, unknown
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.types import IndexType, IntegerType

_DEEPEST_LOOP = 4
"""Loops within loops whose carried values are followed; each level multiplies the work."""
_MOST_ROUNDS = 8
"""Rounds in which a loop's carried values must settle; then nothing is claimed of them."""


def _tracked(type: Type) -> bool:
    return isinstance(type, IntegerType | IndexType) or type.name == "llvm.ptr"


class Facts:
    """What is known of the values of a program."""

    def __init__(self) -> None:
        self._known: dict[Value, Fact] = {}
        self._assumed: list[dict[Value, Fact]] = []

    def divisor(self, value: Value) -> int:
        """The largest known number that divides the value; in bytes for a pointer, a huge one for zero, else 1."""
        return self.fact(value).divisor

    def lower(self, value: Value) -> int | None:
        """The greatest known number that the value is not less than; None if only its type bounds it."""
        found = self.fact(value).lower
        return None if found == limits(value.type)[0] else found

    def upper(self, value: Value) -> int | None:
        """The least known number that the value is not greater than; None if only its type bounds it."""
        found = self.fact(value).upper
        return None if found == limits(value.type)[1] else found

    def fact(self, value: Value) -> Fact:
        """All that is known of a value."""
        found = self._look_up(value)
        if found is None:
            self._evaluate(value)
            found = self._look_up(value)
            assert found is not None
        return found

    def _look_up(self, value: Value) -> Fact | None:
        for layer in reversed(self._assumed):
            found = layer.get(value)
            if found is not None:
                return found
        return self._known.get(value)

    def _record(self, value: Value, found: Fact) -> None:
        # What rests on an assumption goes with it.
        layer = self._assumed[-1] if self._assumed else self._known
        layer[value] = found

    def _evaluate(self, start: Value) -> None:
        """Depth first, with a stack of its own: chains of 100,000 operations are no rarity."""
        stack = [start]
        entered: set[Value] = set()
        while stack:
            value = stack[-1]
            if self._look_up(value) is not None:
                stack.pop()
                continue
            if not _tracked(value.type):
                self._record(value, unknown(value.type))
                stack.pop()
                continue
            missing = [v for v in self._needs(value) if self._look_up(v) is None]
            if missing and value not in entered:
                entered.add(value)
                stack += missing
                continue
            self._record(value, self._compute(value))
            stack.pop()

    # -- what a value depends on

    def _needs(self, value: Value) -> Iterable[Value]:
        if isinstance(value, OpResult):
            op: Any = value.op
            if op.name == "arith.select":
                return op.operands[1:]
            if op.name in RULES:
                return op.operands
            if op.name == "scf.if":
                return [y.operand(value.index) for y in _yields(op)]
            if op.name == "scf.for":
                return op.body.entry.arguments[value.index + 1 : value.index + 2]
            return ()
        if isinstance(value, BlockArgument):
            loop: Any = value.block.parent_op
            if loop is not None and loop.name == "scf.for":
                if value.index == 0:
                    return (loop.lower, loop.upper, loop.step)
                return loop.inits
        return ()

    def _compute(self, value: Value) -> Fact:
        if isinstance(value, OpResult):
            return self._of_result(value, value.op)
        assert isinstance(value, BlockArgument)
        loop: Any = value.block.parent_op
        if loop is None or loop.name != "scf.for":
            return unknown(value.type)
        if value.index == 0:
            return self._of_induction(loop, value.type)
        self._settle(loop)
        return self._look_up(value) or unknown(value.type)

    def _of_result(self, value: OpResult, op: Any) -> Fact:
        rule = RULES.get(op.name)
        if rule is not None:
            operands = [self._look_up(v) or unknown(v.type) for v in op.operands]
            found = rule(op, operands)
            return found if isinstance(found, Fact) else unknown(value.type)
        if op.name == "scf.if":
            sides = [self.fact(y.operand(value.index)) for y in _yields(op)]
            if len(sides) == 2:
                return join(*sides)
        if op.name == "scf.for":
            carried = op.body.entry.arguments
            if value.index + 1 < len(carried):
                return self.fact(carried[value.index + 1])
        return unknown(value.type)

    def _of_induction(self, loop: Any, type: Type) -> Fact:
        """lower + i * step, less than upper: the counting does not wrap."""
        lower, upper, step = (self.fact(v) for v in (loop.lower, loop.upper, loop.step))
        if loop.unsigned_cmp and (lower.lower < 0 or upper.lower < 0):
            divisor = math.gcd(lower.divisor, step.divisor)
            return Fact(divisor & -divisor, *limits(type))
        if lower.lower > upper.upper - 1:
            return lower  # the body never runs
        return fact(type, math.gcd(lower.divisor, step.divisor), lower.lower, upper.upper - 1)

    # -- loops

    def _settle(self, loop: Any) -> None:
        """Find facts of all carried values of a loop that hold on entry and are kept by the body.

        First what holds of the initial values is taken to hold throughout; where the body breaks it, it is weakened,
        until the body keeps what is claimed.
        """
        arguments = loop.body.entry.arguments[1:]
        yielded = _terminator_operands(loop)
        if len(self._assumed) >= _DEEPEST_LOOP or yielded is None or len(yielded) != len(arguments):
            for argument in arguments:
                self._record(argument, unknown(argument.type))
            return
        claims = [self.fact(init) for init in loop.inits]
        for _ in range(_MOST_ROUNDS):
            self._assumed.append(dict(zip(arguments, claims, strict=True)))
            after = [self.fact(value) for value in yielded]
            layer = self._assumed.pop()
            wider = [
                _widen(claim, found, argument.type)
                for claim, found, argument in zip(claims, after, arguments, strict=True)
            ]
            if wider == claims:
                for value, found in layer.items():
                    self._record(value, found)
                return
            claims = wider
        for argument in arguments:
            self._record(argument, unknown(argument.type))


def _widen(claim: Fact, found: Fact, type: Type) -> Fact:
    """The claim weakened to what the body keeps; a bound that moves at all is given up."""
    low, high = limits(type)
    return Fact(
        math.gcd(claim.divisor, found.divisor),
        claim.lower if found.lower >= claim.lower else low,
        claim.upper if found.upper <= claim.upper else high,
    )


def _yields(op: Operation) -> list[Operation]:
    """The terminators of the regions of an op."""
    found = []
    for region in op.regions:
        last = region.blocks[-1].last_op if region.blocks else None
        if last is not None and last.name == "scf.yield":
            found.append(last)
    return found


def _terminator_operands(loop: Operation) -> list[Value] | None:
    yields = _yields(loop)
    return yields[0].operands if len(yields) == 1 else None
