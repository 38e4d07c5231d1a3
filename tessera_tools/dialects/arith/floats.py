"""Floating-point ops of `arith` and their folders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from tessera_tools.dialects.arith.attributes import CMPF_PREDICATE, CMPF_PREDICATES, fastmath_field
from tessera_tools.dialects.arith.constants import Folded, constant, elementwise, one, splat_of
from tessera_tools.dialects.arith.integers import defined_by, i1_like
from tessera_tools.dialects.arith.numbers import EXACT_IN_DOUBLE, compare_floats, float_function
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import FloatType, element_type
from tessera_tools.opdef import (
    COMMUTATIVE,
    FLOAT_LIKE,
    IDEMPOTENT,
    PURE,
    Op,
    attribute,
    derived,
    operand,
    result,
    same_as,
)


def format_of(type: Type) -> str:
    """The keyword of a floating-point type or element type."""
    element = element_type(type)
    assert isinstance(element, FloatType)
    return element.keyword


def number_of(attribute: Attribute | None, type: Type) -> float | None:
    """The number of a scalar or splat constant of floating-point type; None if it is none."""
    bits = splat_of(attribute)
    keyword = format_of(type)
    return floats.decode(bits, keyword) if bits is not None and keyword in EXACT_IN_DOUBLE else None


def is_number(value: float | None, number: float) -> bool:
    """Whether a constant is that number, the sign of zero included."""
    return value is not None and value == number and math.copysign(1.0, value) == math.copysign(1.0, number)


class FloatBinary(Op, traits=(PURE,)):
    """The base of ops with two floating-point numbers of one type and a result of that type."""

    lhs = operand(FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    fastmath = fastmath_field()
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        type: Type = self.result.type
        function = float_function(self.name[6:], format_of(type))
        known = elementwise(function, operands, type) if function is not None else None
        if known is not None:
            return [known]
        found = self.simplify(self.lhs, self.rhs, number_of(operands[1], type))
        if found is None and self.has_trait(COMMUTATIVE):
            found = self.simplify(self.rhs, self.lhs, number_of(operands[0], type))
        return one(found)

    def simplify(self, x: Value, y: Value, c: float | None) -> Value | None:
        """The value that x∘y equals; `c` is the number that y is, where it is constant."""
        return None


class AddF(FloatBinary, name="arith.addf", traits=(COMMUTATIVE,)):
    """Floating-point addition."""

    def simplify(self, x: Value, y: Value, c: float | None) -> Value | None:
        # x + -0 = x;  x + 0 = x but for x = -0
        return x if is_number(c, -0.0) or (c == 0 and "nsz" in self.fastmath.flags) else None


class SubF(FloatBinary, name="arith.subf"):
    """Floating-point subtraction."""

    def simplify(self, x: Value, y: Value, c: float | None) -> Value | None:
        # x - +0 = x
        return x if is_number(c, 0.0) or (c == 0 and "nsz" in self.fastmath.flags) else None


class MulF(FloatBinary, name="arith.mulf", traits=(COMMUTATIVE,)):
    """Floating-point multiplication."""

    def simplify(self, x: Value, y: Value, c: float | None) -> Value | None:
        # x * 1 = x;  x * 0 = 0 if x is neither NaN nor infinite and the sign of zero does not matter
        if c == 1:
            return x
        return y if c == 0 and self.fastmath.flags >= {"nnan", "nsz"} else None


class DivF(FloatBinary, name="arith.divf"):
    """Floating-point division."""

    def simplify(self, x: Value, y: Value, c: float | None) -> Value | None:
        # x / 1 = x
        return x if c == 1 else None


class RemF(FloatBinary, name="arith.remf"):
    """Floating-point remainder; it has the sign of the dividend."""


class _Extremum(FloatBinary, traits=(COMMUTATIVE, IDEMPOTENT)):
    """max(x, x) = x;  max(x, -inf) = x; min likewise with +inf."""

    neutral: ClassVar[float] = -math.inf
    keeps_nan: ClassVar[bool] = True

    def simplify(self, x: Value, y: Value, c: float | None) -> Value | None:
        # Where a NaN gives way to the other operand, max(NaN, -inf) is -inf and not x.
        keeps = self.keeps_nan or "nnan" in self.fastmath.flags
        return x if x is y or (c == self.neutral and keeps) else None


class MaximumF(_Extremum, name="arith.maximumf"):
    """Maximum; NaN if an operand is NaN; +0 is larger than -0."""


class MinimumF(_Extremum, name="arith.minimumf"):
    """Minimum; NaN if an operand is NaN; -0 is smaller than +0."""

    neutral = math.inf


class MaxNumF(_Extremum, name="arith.maxnumf"):
    """Maximum; the other operand if one is NaN."""

    keeps_nan = False


class MinNumF(_Extremum, name="arith.minnumf"):
    """Minimum; the other operand if one is NaN."""

    neutral = math.inf
    keeps_nan = False


class NegF(Op, name="arith.negf", traits=(PURE,)):
    """The sign of a floating-point number inverted, of a NaN too."""

    operand_ = operand(FLOAT_LIKE)
    fastmath = fastmath_field()
    result = result(same_as("operand"))
    assembly = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        inner = defined_by(self.operand_, NegF)
        # -(-x) = x
        if inner is not None:
            return [inner.operand_]
        form = floats.FORMATS[format_of(self.result.type)]
        if not form.signed or form.top == "negative zero":
            return None
        return one(elementwise(lambda a: a ^ (1 << (form.width - 1)), operands, self.result.type))


class CmpF(Op, name="arith.cmpf", traits=(PURE,)):
    """Floating-point comparison; the result is i1 in the shape of the operands."""

    predicate = attribute(CMPF_PREDICATE)
    lhs = operand(FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    fastmath = fastmath_field()
    result = result(derived("i1 in the shape of 'lhs'", i1_like, "lhs"))
    assembly = "$predicate `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)"

    @property
    def predicate_name(self) -> str:
        """`olt`, `une`, …"""
        return CMPF_PREDICATES[self.predicate.value]

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        predicate, type, keyword = self.predicate_name, self.result.type, format_of(self.lhs.type)
        if predicate in ("true", "false"):
            return one(constant(type, [int(predicate == "true")]))
        if keyword not in EXACT_IN_DOUBLE:
            return None

        def compare(a: int, b: int) -> int:
            return int(compare_floats(predicate, floats.decode(a, keyword), floats.decode(b, keyword)))

        return one(elementwise(compare, operands, type))
