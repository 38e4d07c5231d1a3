"""Values that a launcher can compute before the kernel runs, as expressions of the kernel's parameters.

%m = nv_tileaa.assume %arg1         arg1
%s = arith.muli %arg2, %c2          2 · arg2
%h = arith.shrui %arg2, %c1         arg2 / 2
%n = arith.addi %arg1, %arg2        none: it depends on two parameters
"""

from __future__ import annotations

from typing import Any

from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import BlockArgument, Value
from tessera_tools.ir.types import bit_width
from tessera_tools.records import dataclass


@dataclass(frozen=True, slots=True)
class Expression:
    """(times · parameter + plus) / over, rounded down; without a parameter, `plus`."""

    parameter: int | None
    times: int
    plus: int
    over: int = 1

    def scaled(self, factor: int) -> Expression | None:
        """The expression times a number; None if it is a quotient, which was rounded before."""
        if factor == 1:
            return self
        return Expression(self.parameter, self.times * factor, self.plus * factor) if self.over == 1 else None

    def moved(self, amount: int) -> Expression:
        """The expression plus a number."""
        return Expression(self.parameter, self.times, self.plus + amount * self.over, self.over)

    def halved(self, bits: int) -> Expression:
        """The expression without its low bits."""
        if self.parameter is None:
            return Expression(None, 0, self.plus >> bits)
        return Expression(self.parameter, self.times, self.plus, self.over << bits)


def expression_of(value: Value | int) -> Expression | None:
    """Returns a number as an expression of a parameter of the enclosing function; None if it is not one."""
    if isinstance(value, int):
        return Expression(None, 0, value)
    if isinstance(value, BlockArgument):
        function = value.block.parent_op
        if function is None or function.name not in ("nv_tileaa.func", "func.func"):
            return None
        return Expression(value.index, 1, 0)
    op: Any = value.defining_op
    if op.name == "nv_tileaa.assume":
        return expression_of(op.source)
    if op.name == "arith.constant":
        held = op.attributes["value"]
        return Expression(None, 0, held.value) if isinstance(held, IntegerAttr) else None
    if op.name == "arith.shrui":
        whole, bits = (expression_of(operand) for operand in op.operands)
        if whole is None or bits is None or bits.parameter is not None:
            return None
        # Both are read as unsigned.
        is_known = 0 <= bits.plus < bit_width(value.type) and (whole.parameter is not None or whole.plus >= 0)
        return whole.halved(bits.plus) if is_known else None
    if op.name in ("arith.muli", "arith.addi"):
        return _combined(op, expression_of(op.operands[0]), expression_of(op.operands[1]))
    return None


def _combined(op: Any, a: Expression | None, b: Expression | None) -> Expression | None:
    if a is None or b is None:
        return None
    if a.parameter is None:
        a, b = b, a
    # The launcher computes with unbounded integers. Its result is the same only if the expression cannot wrap.
    if b.parameter is not None or (a.parameter is not None and op.attributes.get("overflowFlags") is None):
        return None
    return a.scaled(b.plus) if op.name == "arith.muli" else a.moved(b.plus)
