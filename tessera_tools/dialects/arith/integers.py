"""Integer ops of `arith` and their folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tessera_tools.dialects.arith.attributes import CMPI_PREDICATE, CMPI_PREDICATES, overflow_field
from tessera_tools.dialects.arith.constants import Folded, elementwise, signed
from tessera_tools.dialects.arith.numbers import INTEGER, compare_integers
from tessera_tools.dialects.arith.rules import fold_by_rules
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import OpT, Value
from tessera_tools.ir.location import UNKNOWN, Location
from tessera_tools.ir.types import I1, I64, have_same_shape, width_of, with_element
from tessera_tools.opdef import (
    BOOL_LIKE,
    COMMUTATIVE,
    IDEMPOTENT,
    NO_EFFECT,
    PURE,
    SIGNLESS_INTEGER_LIKE,
    UNIT_ATTR,
    Op,
    attribute,
    derived,
    operand,
    result,
    same_as,
)

INTEGER_LIKE = SIGNLESS_INTEGER_LIKE


def i1_like(type: Type) -> Type:
    """i1, or the same shape of i1."""
    return with_element(type, I1)


def defined_by(value: Value, kind: type[OpT]) -> OpT | None:
    """The op of that class that defines the value, or None."""
    op = value.defining_op
    return op if isinstance(op, kind) else None


class IntBinary(Op):
    """The base of ops with two integers of one type and a result of that type."""

    mnemonic: ClassVar[str] = ""
    lhs = operand(INTEGER_LIKE)
    rhs = operand(same_as("lhs"))
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($result)"

    @property
    def width(self) -> int:
        return width_of(self.lhs.type)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        function, width = INTEGER[self.name[6:]], self.width
        known = elementwise(lambda a, b: function(a, b, width), operands, self.result.type)
        return [known] if known is not None else fold_by_rules(self)


class OverflowBinary(IntBinary, traits=(PURE,)):
    """The base of those with overflow flags."""

    overflow_flags = overflow_field()
    assembly = "$lhs `,` $rhs (`overflow` `` $overflow_flags^)? attr-dict `:` type($result)"


class ExactBinary(IntBinary):
    """The base of those that may be declared exact: a remainder (or a lost bit) is poison."""

    is_exact = attribute(UNIT_ATTR, "no remainder, no lost bit", optional=True, key="isExact")
    assembly = "$lhs `,` $rhs (`exact` $is_exact^)? attr-dict `:` type($result)"


class AddI(OverflowBinary, name="arith.addi", traits=(COMMUTATIVE,)):
    """Integer addition, modulo 2**width."""


class SubI(OverflowBinary, name="arith.subi"):
    """Integer subtraction, modulo 2**width."""


class MulI(OverflowBinary, name="arith.muli", traits=(COMMUTATIVE,)):
    """Integer multiplication, modulo 2**width."""


class _Division(IntBinary, traits=(NO_EFFECT,)):
    """Not speculatable: a zero divisor is undefined behavior."""

    def is_speculatable(self) -> bool:
        """True if executing the op where it was not executed before is safe: the divisor is a constant that cannot
        be undefined."""
        from tessera_tools.dialects.arith.constants import bits_of
        from tessera_tools.ir.folding import constant_value

        bits = bits_of(constant_value(self.rhs))
        unsafe = (0,) if self.name.endswith("ui") else (0, (1 << self.width) - 1)
        return bits is not None and not any(b in unsafe for b in bits)


class DivUI(ExactBinary, _Division, name="arith.divui"):
    """Unsigned division, towards zero."""


class DivSI(ExactBinary, _Division, name="arith.divsi"):
    """Signed division, towards zero."""


class CeilDivUI(_Division, name="arith.ceildivui"):
    """Unsigned division, towards plus infinity."""


class CeilDivSI(_Division, name="arith.ceildivsi"):
    """Signed division, towards plus infinity."""


class FloorDivSI(_Division, name="arith.floordivsi"):
    """Signed division, towards minus infinity."""


class RemUI(_Division, name="arith.remui"):
    """Unsigned remainder."""


class RemSI(_Division, name="arith.remsi"):
    """Signed remainder; it has the sign of the dividend."""


class AndI(IntBinary, name="arith.andi", traits=(PURE, COMMUTATIVE, IDEMPOTENT)):
    """Bitwise and."""


class OrI(IntBinary, name="arith.ori", traits=(PURE, COMMUTATIVE, IDEMPOTENT)):
    """Bitwise or."""


class XOrI(IntBinary, name="arith.xori", traits=(PURE, COMMUTATIVE)):
    """Bitwise exclusive or."""


class _Shift(IntBinary):
    """A shift by the width or more is poison."""


class ShLI(OverflowBinary, _Shift, name="arith.shli"):
    """Shift left."""


class ShRUI(ExactBinary, _Shift, name="arith.shrui", traits=(PURE,)):
    """Logical shift right."""


class ShRSI(ExactBinary, _Shift, name="arith.shrsi", traits=(PURE,)):
    """Arithmetic shift right."""


class _Extremum(IntBinary, traits=(PURE, COMMUTATIVE)):
    """The base of minimum and maximum."""


class MaxSI(_Extremum, name="arith.maxsi"):
    """Signed maximum."""


class MaxUI(_Extremum, name="arith.maxui"):
    """Unsigned maximum."""


class MinSI(_Extremum, name="arith.minsi"):
    """Signed minimum."""


class MinUI(_Extremum, name="arith.minui"):
    """Unsigned minimum."""


class AddUIExtended(Op, name="arith.addui_extended", traits=(PURE, COMMUTATIVE)):
    """Unsigned addition giving the sum modulo 2**width and whether it overflowed."""

    lhs = operand(INTEGER_LIKE)
    rhs = operand(same_as("lhs"))
    sum = result(same_as("lhs"))
    overflow = result(BOOL_LIKE)
    assembly = "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)"

    def verify_op(self) -> None:
        source, flag = self.lhs.type, self.overflow.type
        if flag is source or have_same_shape(source, flag):
            return
        if have_same_shape(flag, I1):
            raise self.error("if an operand is non-scalar, then all results must be non-scalar")
        raise self.error("all non-scalar operands/results must have the same shape and base type")

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        width = width_of(self.lhs.type)
        total = elementwise(lambda a, b: a + b, operands, self.sum.type)
        carry = elementwise(lambda a, b: (a + b) >> width, operands, self.overflow.type)
        return [total, carry] if total is not None and carry is not None else fold_by_rules(self)


class _ExtendedMul(Op, traits=(PURE, COMMUTATIVE)):
    """The base of the double-width products: the low and the high half."""

    lhs = operand(INTEGER_LIKE)
    rhs = operand(same_as("lhs"))
    low = result(same_as("lhs"))
    high = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($low)"
    is_signed: ClassVar[bool] = False

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        width, type = width_of(self.lhs.type), self.lhs.type

        def product(a: int, b: int) -> int:
            return signed(a, width) * signed(b, width) if self.is_signed else a * b

        low = elementwise(product, operands, type)
        high = elementwise(lambda a, b: product(a, b) >> width, operands, type)
        return [low, high] if low is not None and high is not None else fold_by_rules(self)


class MulSIExtended(_ExtendedMul, name="arith.mulsi_extended"):
    """Signed multiplication giving both halves of the product."""

    is_signed = True


class MulUIExtended(_ExtendedMul, name="arith.mului_extended"):
    """Unsigned multiplication giving both halves of the product."""


class CmpI(Op, name="arith.cmpi", traits=(PURE,)):
    """Integer comparison; the result is i1 in the shape of the operands."""

    predicate = attribute(CMPI_PREDICATE)
    lhs = operand(INTEGER_LIKE)
    rhs = operand(same_as("lhs"))
    result = result(derived("i1 in the shape of 'lhs'", i1_like, "lhs"))
    assembly = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)"

    @classmethod
    def of(cls, predicate: str, lhs: Value, rhs: Value, location: Location = UNKNOWN) -> CmpI:
        """The comparison by a predicate's name, such as `slt`."""
        return cls(IntegerAttr(CMPI_PREDICATES.index(predicate), I64), lhs, rhs, location=location)

    @property
    def predicate_name(self) -> str:
        """`slt`, `eq`, …"""
        return CMPI_PREDICATES[self.predicate.value]

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        predicate, width = self.predicate_name, width_of(self.lhs.type)
        known = elementwise(
            lambda a, b: int(compare_integers(predicate, a, b, width)), operands, self.result.type
        )
        return [known] if known is not None else fold_by_rules(self)
