"""Divisors and bounds of integer and pointer values, from assumptions, constants and arithmetic.

    %k = nv_tileaa.assume %K {divisor = 8 : i64, lower = 0 : i64}      facts.divisor(%k) == 8, facts.lower(%k) == 0
    %o = arith.muli %i, %c64                                           facts.divisor(%o) == 64

Integers are read as signed.  An analysis object remembers what it found: make a new one after a change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from typing import Any

from tessera_tools.analysis.transfer import RULES, Fact, fact, join, limits, unknown
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import BlockArgument, Operation, OpResult, Value
from tessera_tools.ir.flow import flow_of
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
        self._flows: dict[Operation, dict[Value, list[Value]]] = {}

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
            return self._sources(value, op)
        assert isinstance(value, BlockArgument)
        holder: Any = value.block.parent_op
        if _counts(holder) and value.index == 0:
            return (holder.lower, holder.upper, holder.step)
        return [found[0] for found in self._carried(holder).values()] or self._sources(value, holder)

    def _sources(self, value: Value, holder: Any) -> list[Value]:
        """The values that one of the op's results or block arguments may take; none if nothing is known of that."""
        flow = self._flows.get(holder)
        if flow is None:
            flow = self._flows[holder] = dict(flow_of(holder))
        return flow.get(value, [])

    def _carried(self, holder: Any) -> dict[Value, list[Value]]:
        """Of a loop, what its carried values may take, each with the initial value first; else nothing."""
        arguments = holder.iter_args if getattr(holder, "is_loop", False) else ()
        return {argument: found for argument in arguments if (found := self._sources(argument, holder))}

    def _compute(self, value: Value) -> Fact:
        if isinstance(value, OpResult):
            return self._of_result(value, value.op)
        assert isinstance(value, BlockArgument)
        holder: Any = value.block.parent_op
        if _counts(holder) and value.index == 0:
            return self._of_induction(holder, value.type)
        carried = self._carried(holder)
        if value in carried:
            self._settle(carried)
            return self._look_up(value) or unknown(value.type)
        return self._of_sources(value, holder)

    def _of_result(self, value: OpResult, op: Any) -> Fact:
        rule = RULES.get(op.name)
        if rule is not None:
            operands = [self._look_up(v) or unknown(v.type) for v in op.operands]
            found = rule(op, operands)
            return found if isinstance(found, Fact) else unknown(value.type)
        return self._of_sources(value, op)

    def _of_sources(self, value: Value, holder: Any) -> Fact:
        found = [self.fact(source) for source in self._sources(value, holder)]
        return reduce(join, found) if found else unknown(value.type)

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

    def _settle(self, carried: dict[Value, list[Value]]) -> None:
        """Find facts of all carried values of a loop that hold on entry and are kept by the body.

        First what holds of the initial values is taken to hold throughout; where the body breaks it, it is weakened,
        until the body keeps what is claimed.
        """
        if len(self._assumed) >= _DEEPEST_LOOP:
            for argument in carried:
                self._record(argument, unknown(argument.type))
            return
        claims = {argument: self.fact(sources[0]) for argument, sources in carried.items()}
        for _ in range(_MOST_ROUNDS):
            self._assumed.append(dict(claims))
            after = {argument: [self.fact(v) for v in sources[1:]] for argument, sources in carried.items()}
            layer = self._assumed.pop()
            wider = {
                argument: reduce(lambda x, y, t=argument.type: _widen(x, y, t), after[argument], claim)
                for argument, claim in claims.items()
            }
            if wider == claims:
                for value, found in layer.items():
                    self._record(value, found)
                return
            claims = wider
        for argument in carried:
            self._record(argument, unknown(argument.type))


def _widen(claim: Fact, found: Fact, type: Type) -> Fact:
    """The claim weakened to what the body keeps; a bound that moves at all is given up."""
    low, high = limits(type)
    return Fact(
        math.gcd(claim.divisor, found.divisor),
        claim.lower if found.lower >= claim.lower else low,
        claim.upper if found.upper <= claim.upper else high,
    )


def _counts(holder: Operation | None) -> bool:
    """Whether the op's first block argument counts from `lower` to below `upper` by `step`."""
    return holder is not None and holder.name == "scf.for"
