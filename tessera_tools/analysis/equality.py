"""Equality of numbers: for example, the bound of a slice and the extent of its tensor.

    %d = memref.dim %Q, %c3                   memref<?x?x?x64xf32>: 64, by its type
    %e = arith.index_cast %d : index to i64   the same number
    llvm.intr.assume %same : i1               %same = arith.cmpi eq, %d, %k: equal from here on, also in nested blocks
    cf.assert %same, "…"                      likewise

Numbers are compared at an op: only assumptions before it, in its block or an enclosing one, are used.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, cf, memref
from tessera_tools.dialects.llvm.intrinsics import Assume
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import DYNAMIC, MemRefType

_EXACT_CASTS = (arith.IndexCast, arith.ExtSI)
"""Casts that preserve a number that fits."""


class Equalities:
    """Equality of the numbers of one function."""

    def __init__(self) -> None:
        self.facts = Facts()

    def is_extent(self, at: Operation, number: Value | int, tensor: Value, axis: int) -> bool:
        """Returns true if a number is a tensor's extent along an axis."""
        wanted, found = _extent(tensor, axis), {self.name(number)}
        pairs = list(self._assumed(at))
        while wanted not in found:
            grown = found.union(*(pair for pair in pairs if pair & found))
            if grown == found:
                return False
            found = grown
        return True

    def name(self, value: Value | int) -> Hashable:
        """A name for a number; unconditionally equal numbers have the same name."""
        if not isinstance(value, Value):
            return value
        op = value.defining_op
        while isinstance(op, _EXACT_CASTS):
            value = op.operand(0)
            op = value.defining_op
        if isinstance(op, memref.Dim):
            axis = constant_integer(op.index)
            if axis is not None:
                return _extent(op.source, axis)
        fact = self.facts.fact(value) if self.facts.tracks(value) else None
        return fact.lower if fact is not None and fact.lower == fact.upper else value

    def _assumed(self, at: Operation) -> Iterator[frozenset[Hashable]]:
        """Yields the pairs of names that are assumed equal at an op."""
        here: Operation | None = at
        while here is not None and here.parent is not None:
            for op in here.parent:
                if op is here:
                    break
                if isinstance(op, Assume | cf.Assert):
                    yield from self._stated(op.operand(0))
            here = here.parent_op

    def _stated(self, condition: Value) -> Iterator[frozenset[Hashable]]:
        op = condition.defining_op
        if isinstance(op, arith.AndI):
            yield from self._stated(op.lhs)
            yield from self._stated(op.rhs)
        elif isinstance(op, arith.CmpI) and op.predicate_name == "eq":
            yield frozenset((self.name(op.lhs), self.name(op.rhs)))


def _extent(tensor: Value, axis: int) -> Hashable:
    type = tensor.type_as(MemRefType)
    known = 0 <= axis < type.rank and type.shape[axis] != DYNAMIC
    return type.shape[axis] if known else ("extent", tensor, axis)
