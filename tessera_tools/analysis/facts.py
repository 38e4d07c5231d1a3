"""Divisors and bounds of integer and pointer values, from assumptions, constants and arithmetic.

    %k = nv_tileaa.assume %K {divisor = 8 : i64, lower = 0 : i64}      facts.divisor(%k) == 8, facts.lower(%k) == 0
    %o = arith.muli %i, %c64                                           facts.divisor(%o) == 64

Integers are read as signed.  A fact of a tile holds for all its elements.  The object caches results:
create a new one after a change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tessera_tools.analysis.forward import Forward
from tessera_tools.analysis.transfer import RULES, Fact, fact, join, limits, unknown
from tessera_tools.dialects import scf
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.core import Operation, OpResult, Value
from tessera_tools.ir.types import IndexType, IntegerType, element_type


class Facts(Forward[Fact]):
    """The facts of a program's values."""

    def divisor(self, value: Value) -> int:
        """The largest known divisor of the value; in bytes for a pointer, very large for zero, 1 if unknown."""
        return self.fact(value).divisor

    def lower(self, value: Value) -> int | None:
        """The greatest known lower bound of the value; None if only its type bounds it."""
        found = self.fact(value).lower
        return None if found == limits(value.type)[0] else found

    def upper(self, value: Value) -> int | None:
        """The least known upper bound of the value, inclusive; None if only its type bounds it."""
        found = self.fact(value).upper
        return None if found == limits(value.type)[1] else found

    def fact(self, value: Value) -> Fact:
        """Returns all known facts of a value."""
        return self.of(value)

    # -- the analysis

    def tracks(self, value: Value) -> bool:
        return isinstance(element_type(value.type), IntegerType | IndexType | PointerType)

    def unknown(self, value: Value) -> Fact:
        return unknown(value.type)

    def has_rule(self, op: Operation) -> bool:
        return op.name in RULES

    def needs(self, op: Operation) -> Sequence[Value]:
        return op.operands[1:] if op.name == "arith.select" else op.operands

    def transfer(self, value: Value, op: Operation, operands: Sequence[Fact | None]) -> Fact | None:
        known = [found or unknown(operand.type) for found, operand in zip(operands, op.operands, strict=True)]
        found = RULES[op.name](op, known)
        if found is None or isinstance(found, Fact):
            return found
        assert isinstance(value, OpResult)
        return found[value.index]

    def join(self, a: Fact, b: Fact) -> Fact:
        return join(a, b)

    def widen(self, claim: Fact, found: Fact, value: Value) -> Fact:
        """Drops any bound that changes."""
        low, high = limits(value.type)
        return Fact(
            math.gcd(claim.divisor, found.divisor),
            claim.lower if found.lower >= claim.lower else low,
            claim.upper if found.upper <= claim.upper else high,
        )

    def counted(self, loop: scf.For, value: Value) -> Fact:
        """lower + i * step, less than upper: the counting does not wrap."""
        type = value.type
        lower, upper, step = (self.fact(v) for v in (loop.lower, loop.upper, loop.step))
        if loop.unsigned_cmp and (lower.lower < 0 or upper.lower < 0):
            divisor = math.gcd(lower.divisor, step.divisor)
            return Fact(divisor & -divisor, *limits(type))
        if lower.lower > upper.upper - 1:
            return lower  # the body never runs
        return fact(type, math.gcd(lower.divisor, step.divisor), lower.lower, upper.upper - 1)
