"""Facts for the lint: divisors of scalars and pointers, and the base pointers of memory operations.

%p = assume div_by<16>, %base     facts.divisor(%p) == 16 (bytes, for a pointer)
%n = muli %k, %c64                facts.divisor(%n) == 64
"""

from __future__ import annotations

import math

from tessera_tools.dialects.cuda_tile.attributes import DivByAttr
from tessera_tools.dialects.cuda_tile.branches import splat
from tessera_tools.dialects.cuda_tile.constraints import pointee_of
from tessera_tools.dialects.cuda_tile.core_ops import Assume, Broadcast, Offset, Reshape
from tessera_tools.dialects.cuda_tile.integer_ops import AddI, MulI, SubI
from tessera_tools.dialects.cuda_tile.types import PointerType, TileType
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import TF32, FloatType, IntegerType, ShapedType, bit_width

_LARGEST = 1 << 30


def element_bits(element: Type) -> int:
    """The size of an element in a register or in memory, in bits: 8 for i1, 32 for tf32, 64 for a pointer."""
    if isinstance(element, PointerType):
        return 64
    if element is TF32:
        return 32
    return max(8, bit_width(element)) if isinstance(element, IntegerType) else bit_width(element)


def tile_bytes(tile: TileType) -> int:
    """Bytes of all elements of a tile."""
    return math.prod(tile.shape) * element_bits(tile.element) // 8


class LintFacts:
    """Computes and caches divisors."""

    def __init__(self) -> None:
        self._known: dict[Value, int] = {}

    def divisor(self, value: Value) -> int:
        """A known divisor of every element (in bytes for a pointer); 1 if unknown."""
        chain: list[Value] = []
        stack = [value]
        while stack:
            current = stack.pop()
            if current not in self._known:
                # 1 until it is computed, for values that depend on themselves.
                self._known[current] = 1
                chain.append(current)
                op = current.defining_op
                if isinstance(op, Assume | AddI | SubI | MulI | Offset | Broadcast | Reshape):
                    stack += op.operands
        for current in reversed(chain):
            self._known[current] = min(_LARGEST, self._compute(current))
        return self._known[value]

    def base_divisor(self, pointers: Value) -> int:
        """The largest known divisor of the scalar base of a tile of pointers."""
        known, value = 1, pointers
        while True:
            if not (isinstance(value.type, ShapedType) and value.type.shape):
                known = math.lcm(known, self.divisor(value))
            op = value.defining_op
            if not isinstance(op, Assume | Offset | Broadcast | Reshape):
                return known
            value = op.operand(0)

    def _compute(self, value: Value) -> int:
        op = value.defining_op
        if isinstance(op, Assume):
            inner = self._known.get(op.value, 1)
            predicate = op.predicate
            if isinstance(predicate, DivByAttr) and predicate.every is None:
                return math.lcm(inner, predicate.divisor)
            return inner
        if isinstance(op, AddI | SubI):
            return math.gcd(self._known.get(op.lhs, 1), self._known.get(op.rhs, 1))
        if isinstance(op, MulI):
            return self._known.get(op.lhs, 1) * self._known.get(op.rhs, 1)
        if isinstance(op, Offset):
            size = element_bits(pointee_of(op.ptr)) // 8 or 1
            return math.gcd(self._known.get(op.ptr, 1), self._known.get(op.offset, 1) * size)
        if isinstance(op, Broadcast | Reshape):
            return self._known.get(op.source, 1)
        bits = splat(value)
        if (
            bits is not None
            and isinstance(value.type, TileType)
            and not isinstance(value.type.element, FloatType)
        ):
            return bits or _LARGEST
        return 1


def root_of(value: Value) -> Value:
    """The pointer that an address or a view was computed from."""
    while (op := value.defining_op) is not None and op.operands and op.name not in _OPAQUE:
        value = op.operand(0)
    return value


_OPAQUE = ("cuda_tile.if", "cuda_tile.for", "cuda_tile.loop", "cuda_tile.select", "cuda_tile.load_ptr_tko")
