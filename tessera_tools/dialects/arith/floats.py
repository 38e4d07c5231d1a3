"""Floating-point ops of `arith` and their folders."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.arith.attributes import CMPF_PREDICATE, CMPF_PREDICATES, fastmath_field
from tessera_tools.dialects.arith.constants import Folded, elementwise
from tessera_tools.dialects.arith.integers import i1_like
from tessera_tools.dialects.arith.numbers import EXACT_IN_DOUBLE, compare_floats, float_function
from tessera_tools.dialects.arith.rules import fold_by_rules
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.location import UNKNOWN, Location
from tessera_tools.ir.types import I64, FloatType, element_type
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
        return [known] if known is not None else fold_by_rules(self)


class AddF(FloatBinary, name="arith.addf", traits=(COMMUTATIVE,)):
    """Floating-point addition."""


class SubF(FloatBinary, name="arith.subf"):
    """Floating-point subtraction."""


class MulF(FloatBinary, name="arith.mulf", traits=(COMMUTATIVE,)):
    """Floating-point multiplication."""


class DivF(FloatBinary, name="arith.divf"):
    """Floating-point division."""


class RemF(FloatBinary, name="arith.remf"):
    """Floating-point remainder; it has the sign of the dividend."""


class _Extremum(FloatBinary, traits=(COMMUTATIVE, IDEMPOTENT)):
    """The base of minimum and maximum."""


class MaximumF(_Extremum, name="arith.maximumf"):
    """Maximum; NaN if an operand is NaN; +0 is larger than -0."""


class MinimumF(_Extremum, name="arith.minimumf"):
    """Minimum; NaN if an operand is NaN; -0 is smaller than +0."""


class MaxNumF(_Extremum, name="arith.maxnumf"):
    """Maximum; the other operand if one is NaN."""


class MinNumF(_Extremum, name="arith.minnumf"):
    """Minimum; the other operand if one is NaN."""


class NegF(Op, name="arith.negf", traits=(PURE,)):
    """A floating-point number with inverted sign, also for a NaN."""

    operand_ = operand(FLOAT_LIKE)
    fastmath = fastmath_field()
    result = result(same_as("operand"))
    assembly = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        form = floats.FORMATS[format_of(self.result.type)]
        known = None
        if form.signed and form.top != "negative zero":
            known = elementwise(lambda a: a ^ (1 << (form.width - 1)), operands, self.result.type)
        return [known] if known is not None else fold_by_rules(self)


class CmpF(Op, name="arith.cmpf", traits=(PURE,)):
    """Floating-point comparison; the result is i1 in the shape of the operands."""

    predicate = attribute(CMPF_PREDICATE)
    lhs = operand(FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    fastmath = fastmath_field()
    result = result(derived("i1 in the shape of 'lhs'", i1_like, "lhs"))
    assembly = "$predicate `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)"

    @classmethod
    def of(cls, predicate: str, lhs: Value, rhs: Value, location: Location = UNKNOWN) -> CmpF:
        """The comparison by a predicate's name, such as `olt`."""
        return cls(IntegerAttr(CMPF_PREDICATES.index(predicate), I64), lhs, rhs, location=location)

    @property
    def predicate_name(self) -> str:
        """`olt`, `une`, …"""
        return CMPF_PREDICATES[self.predicate.value]

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        predicate, keyword = self.predicate_name, format_of(self.lhs.type)

        def compare(a: int, b: int) -> int:
            return int(compare_floats(predicate, floats.decode(a, keyword), floats.decode(b, keyword)))

        known = elementwise(compare, operands, self.result.type) if keyword in EXACT_IN_DOUBLE else None
        return [known] if known is not None else fold_by_rules(self)
