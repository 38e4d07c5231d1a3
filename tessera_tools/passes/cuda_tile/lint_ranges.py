"""Ranges for the lint: what an author expects of a scalar, without wrap-around.

%i, … = get_tile_block_id               0 …
%j = subi %i, %c1                       -1 …
"""

from __future__ import annotations

from typing import NamedTuple

from tessera_tools.dialects.cuda_tile.attributes import BoundedAttr
from tessera_tools.dialects.cuda_tile.branches import splat
from tessera_tools.dialects.cuda_tile.control_flow import For
from tessera_tools.dialects.cuda_tile.conversion_ops import ExtI
from tessera_tools.dialects.cuda_tile.core_ops import Assume, GetNumTileBlocks, GetTileBlockId, Select
from tessera_tools.dialects.cuda_tile.integer_ops import AddI, DivI, MaxI, MinI, MulI, RemI, SubI
from tessera_tools.dialects.cuda_tile.types import TileType
from tessera_tools.dialects.cuda_tile.views import GetIndexSpaceShape, GetTensorShape
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import IntegerType, element_type

FAR = float("inf")
_DEEPEST = 50
"""The longest chain of ops that is followed."""


class Range(NamedTuple):
    """The bounds of a number, both included; infinite where nothing is known."""

    low: float
    high: float


_ANY = Range(-FAR, FAR)


class Ranges:
    """Computes and caches ranges."""

    def __init__(self) -> None:
        self._known: dict[Value, Range] = {}

    def of(self, value: Value, depth: int = 0) -> Range:
        """The range of a scalar read as signed, as if no op wrapped around."""
        if depth > _DEEPEST or not isinstance(value.type, TileType) or value.type.shape:
            return _ANY
        if value not in self._known:
            self._known[value] = self._compute(value, depth + 1)
        return self._known[value]

    def _compute(self, value: Value, depth: int) -> Range:
        op = value.defining_op
        if op is not None:
            bits, type = splat(value), element_type(value.type)
            return self._of_result(op, depth) if bits is None else _constant(bits, type)
        loop = value.owner_block.parent_op if value.owner_block is not None else None
        if not isinstance(loop, For) or value not in loop.induction:
            return _ANY
        low, high = self.of(loop.lowerBound, depth).low, self.of(loop.upperBound, depth).high
        # A negative bound of an unsigned loop is a large number.
        return _ANY if loop.unsignedCmp is not None and low < 0 else Range(low, high - 1)

    def _of_result(self, op: Operation, depth: int) -> Range:
        if isinstance(op, GetNumTileBlocks | GetTensorShape | GetIndexSpaceShape):
            # A tensor may be empty, but the author of `last = shape - 1` does not expect that.
            return Range(1, FAR)
        if isinstance(op, GetTileBlockId):
            return Range(0, FAR)
        if isinstance(op, ExtI) and op.signedness.value == "signed":
            return self.of(op.from_, depth)
        if isinstance(op, Assume):
            low, high = self.of(op.value, depth)
            if isinstance(op.predicate, BoundedAttr):
                least, most = op.predicate.lower, op.predicate.upper
                low, high = (
                    low if least is None else max(low, least),
                    high if most is None else min(high, most),
                )
            return Range(low, high)
        if not isinstance(op, AddI | SubI | MulI | DivI | RemI | MaxI | MinI | Select):
            return _ANY
        a, b = (self.of(operand, depth) for operand in op.operands[-2:])
        if isinstance(op, Select):
            return Range(min(a.low, b.low), max(a.high, b.high))
        if isinstance(op, AddI):
            return Range(a.low + b.low, a.high + b.high)
        if isinstance(op, SubI):
            return Range(a.low - b.high, a.high - b.low)
        if isinstance(op, MaxI | MinI):
            pick = max if isinstance(op, MaxI) else min
            return (
                Range(pick(a.low, b.low), pick(a.high, b.high)) if op.signedness.value == "signed" else _ANY
            )
        if a.low < 0 or b.low < 0:
            return _ANY
        if isinstance(op, MulI):
            return Range(a.low * b.low, a.high * b.high if a.high and b.high else 0)
        return Range(0, a.high if isinstance(op, DivI) else min(a.high, b.high - 1))


def _constant(bits: int, type: Type) -> Range:
    if not isinstance(type, IntegerType):
        return _ANY
    number = bits - (1 << type.width) if bits >> (type.width - 1) else bits
    return Range(number, number)
