"""Integers as affine functions of a loop's counter, and tiles of them.

    %c = arith.muli %k, %c64;  %o = arith.addi %c, %first            affine_of(%o) = 64 · %k + %first
    %t = splat %o;  %x = arith.addi %t, %iota     (0 … 127)          tile_of(%x)   = 64 · %k + %first + [0, 127]

Arithmetic wraps, so that these are equations modulo 2^width of the type.  What does not depend on the counter is a sum
of values from outside of the loop.
"""

from __future__ import annotations

from collections import Counter

from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.transfer import limits
from tessera_tools.dialects import arith, nv_tileaa, scf
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import IntegerType, RankedTensorType
from tessera_tools.records import dataclass, field

RENAMES = (nv_tileaa.Reshape, nv_tileaa.Broadcast, nv_tileaa.Permute)
"""Ops whose result has the elements of their source, at other places."""
_MOST = 1 << 20
"""The largest factor of the counter: products with a counter of 32 bits fit 64."""


@dataclass(frozen=True, slots=True)
class Affine:
    """`coefficient` · counter + the sum of factor · value of `terms` + `constant`."""

    coefficient: int = 0
    terms: Counter[Value] = field(default_factory=Counter)
    constant: int = 0

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        """The sum, or the difference."""
        terms = Counter(self.terms)
        for value, factor in other.terms.items():
            terms[value] += sign * factor
        return Affine(
            self.coefficient + sign * other.coefficient,
            Counter({value: factor for value, factor in terms.items() if factor}),
            self.constant + sign * other.constant,
        )

    def times(self, factor: int) -> Affine:
        """The product with a number."""
        if not factor:
            return Affine()
        terms = Counter({value: factor * old for value, old in self.terms.items()})
        return Affine(factor * self.coefficient, terms, factor * self.constant)


@dataclass(frozen=True, slots=True)
class Tile:
    """Elements that are `base` plus numbers from `low` to `high`."""

    base: Affine
    low: int
    high: int


class AffineValues:
    """The affine functions of one loop's counter."""

    def __init__(self, loop: scf.For, facts: Facts) -> None:
        self.loop, self.facts = loop, facts
        (self.counter,) = loop.induction

    def is_outside(self, value: Value) -> bool:
        """Whether a value is known before the loop."""
        block = value.owner_block
        return block is not None and block is not self.loop.body.entry and not self._holds(block.parent_op)

    def _holds(self, op: Operation | None) -> bool:
        return op is not None and (op is self.loop or self.loop.is_ancestor_of(op))

    def affine_of(self, value: Value) -> Affine | None:
        """An integer; None if it is not known to be affine."""
        found = self._affine_of(value)
        return found if found is not None and abs(found.coefficient) <= _MOST else None

    def _affine_of(self, value: Value) -> Affine | None:
        if value is self.counter:
            return Affine(coefficient=1)
        number = constant_integer(value)
        if number is not None:
            return Affine(constant=number)
        op = value.defining_op
        if isinstance(op, nv_tileaa.Assume):
            inner = self._affine_of(op.source)
            # What an assume says of a value from outside is worth more than how it is made.
            return inner if inner is not None and not self.is_outside(value) else self._term(value)
        if isinstance(op, arith.AddI | arith.SubI | arith.MulI) and not self.is_outside(value):
            left, right = self._affine_of(op.lhs), self._affine_of(op.rhs)
            if left is None or right is None:
                return None
            if not isinstance(op, arith.MulI):
                return left.plus(right, -1 if isinstance(op, arith.SubI) else 1)
            for one, other in ((left, right), (right, left)):
                if not one.coefficient and not one.terms:
                    return other.times(one.constant)
            return None
        return self._term(value)

    def _term(self, value: Value) -> Affine | None:
        return Affine(terms=Counter({value: 1})) if self.is_outside(value) else None

    def tile_of(self, value: Value) -> Tile | None:
        """A tile of integers; None if it is not known to be one."""
        op = value.defining_op
        if isinstance(op, RENAMES):
            return self.tile_of(op.source)
        if isinstance(op, nv_tileaa.Splat):
            base = self.affine_of(op.source)
            return None if base is None else Tile(base, 0, 0)
        if isinstance(op, arith.AddI | arith.SubI):
            left, right = self.tile_of(op.lhs), self.tile_of(op.rhs)
            if left is None or right is None:
                return None
            if isinstance(op, arith.AddI):
                return Tile(left.base.plus(right.base), left.low + right.low, left.high + right.high)
            return Tile(left.base.plus(right.base, -1), left.low - right.high, left.high - right.low)
        if not isinstance(value.type, RankedTensorType) or not isinstance(value.type.element, IntegerType):
            return None
        fact, (least, most) = self.facts.fact(value), limits(value.type)
        if fact.lower == least or fact.upper == most:
            return None
        return Tile(Affine(), fact.lower, fact.upper)

    def range_of(self, base: Affine, type: Type) -> tuple[int, int]:
        """The least and the greatest value of an affine function's invariant part, as its type wraps."""
        low = high = base.constant
        for value, factor in base.terms.items():
            fact = self.facts.fact(value)
            ends = factor * fact.lower, factor * fact.upper
            low, high = low + min(ends), high + max(ends)
        least, most = limits(type)
        return (low, high) if least <= low and high <= most else (least, most)
