"""Integer ops of `arith` and their folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tessera_tools.dialects.arith.attributes import CMPI_PREDICATE, CMPI_PREDICATES, overflow_field
from tessera_tools.dialects.arith.constants import Folded, constant, elementwise, one, signed, splat_of
from tessera_tools.dialects.arith.numbers import INTEGER, compare_integers
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import I1, ShapedType, bit_width, element_type, have_same_shape, with_element
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


def width_of(type: Type) -> int:
    """The bit width of a scalar's or an element's type; `index` has 64."""
    return bit_width(element_type(type))


def i1_like(type: Type) -> Type:
    """i1, or the same shape of i1."""
    return with_element(type, I1)


def has_static_shape(type: Type) -> bool:
    """Whether constants of the type exist."""
    return type.is_static if isinstance(type, ShapedType) else True


def defined_by(value: Value, kind: type[Operation]) -> Any:
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
        type: Type = self.result.type
        known = elementwise(lambda a, b: function(a, b, width), operands, type)
        if known is not None:
            return [known]
        lhs, rhs = self.lhs, self.rhs
        found = self.simplify(lhs, rhs, splat_of(operands[1]), (1 << width) - 1)
        if found is None and self.has_trait(COMMUTATIVE):
            found = self.simplify(rhs, lhs, splat_of(operands[0]), (1 << width) - 1)
        if isinstance(found, int):
            return one(constant(type, [found & ((1 << width) - 1)]))
        return one(found)

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        """The value that x∘y equals, or its bits: `c` holds the bits of y where that is a constant (or a splat),
        `ones` is all bits set.  Commutative ops are asked both ways."""
        return None


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

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x + 0 = x;  (a - y) + y = a
        if c == 0:
            return x
        sub = defined_by(x, SubI)
        return sub.lhs if sub is not None and sub.rhs is y else None


class SubI(OverflowBinary, name="arith.subi"):
    """Integer subtraction, modulo 2**width."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x - x = 0;  x - 0 = x;  (a + b) - b = a;  (a + b) - a = b
        if x is y:
            return 0 if has_static_shape(x.type) else None
        if c == 0:
            return x
        add = defined_by(x, AddI)
        if add is not None:
            return add.lhs if add.rhs is y else add.rhs if add.lhs is y else None
        return None


class MulI(OverflowBinary, name="arith.muli", traits=(COMMUTATIVE,)):
    """Integer multiplication, modulo 2**width."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x * 0 = 0;  x * 1 = x
        return y if c == 0 else x if c == 1 else None


class _Division(IntBinary, traits=(NO_EFFECT,)):
    """x / 1 = x.  Not speculatable: a zero divisor is undefined behavior."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        return x if c == 1 else None

    def is_speculatable(self) -> bool:
        """Whether executing the op where it was not executed before is safe: the divisor is a constant that cannot
        be undefined."""
        from tessera_tools.dialects.arith.constants import bits_of, constant_of

        bits = bits_of(constant_of(self.rhs))
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

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x mod 1 = 0
        return 0 if c == 1 and has_static_shape(x.type) else None


class RemSI(_Division, name="arith.remsi"):
    """Signed remainder; it has the sign of the dividend."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x mod 1 = 0
        return 0 if c == 1 and has_static_shape(x.type) else None


class AndI(IntBinary, name="arith.andi", traits=(PURE, COMMUTATIVE, IDEMPOTENT)):
    """Bitwise and."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x & 0 = 0;  x & ~0 = x;  x & x = x;  x & (x ^ ~0) = 0;  (x & y) & y = x & y
        if c == 0:
            return y
        if c == ones or x is y:
            return x
        if is_complement(y, x, ones) and has_static_shape(x.type):
            return 0
        inner = defined_by(x, AndI)
        return x if inner is not None and y in (inner.lhs, inner.rhs) else None


class OrI(IntBinary, name="arith.ori", traits=(PURE, COMMUTATIVE, IDEMPOTENT)):
    """Bitwise or."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x | 0 = x;  x | ~0 = ~0;  x | x = x;  x | (x ^ ~0) = ~0
        if c == 0 or x is y:
            return x
        if c == ones:
            return y
        return ones if is_complement(y, x, ones) and has_static_shape(x.type) else None


class XOrI(IntBinary, name="arith.xori", traits=(PURE, COMMUTATIVE)):
    """Bitwise exclusive or."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        # x ^ 0 = x;  x ^ x = 0;  (a ^ y) ^ y = a
        if c == 0:
            return x
        if x is y:
            return 0 if has_static_shape(x.type) else None
        inner = defined_by(x, XOrI)
        if inner is not None:
            return inner.lhs if inner.rhs is y else inner.rhs if inner.lhs is y else None
        return None


def is_complement(value: Value, of: Value, ones: int) -> bool:
    """Whether `value` is `of` ^ ~0."""
    from tessera_tools.dialects.arith.constants import constant_of

    inner = defined_by(value, XOrI)
    return inner is not None and inner.lhs is of and splat_of(constant_of(inner.rhs)) == ones


class _Shift(IntBinary):
    """x ∘ 0 = x; a shift by the width or more is poison."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        return x if c == 0 else None


class ShLI(OverflowBinary, _Shift, name="arith.shli"):
    """Shift left."""


class ShRUI(ExactBinary, _Shift, name="arith.shrui", traits=(PURE,)):
    """Logical shift right."""


class ShRSI(ExactBinary, _Shift, name="arith.shrsi", traits=(PURE,)):
    """Arithmetic shift right."""


class _Extremum(IntBinary, traits=(PURE, COMMUTATIVE)):
    """max(x, x) = x;  max(x, least) = x;  max(x, greatest) = greatest; min likewise."""

    def simplify(self, x: Value, y: Value, c: int | None, ones: int) -> Value | int | None:
        if x is y:
            return x
        least, greatest = (ones // 2 + 1, ones // 2) if self.name.endswith("si") else (0, ones)
        if self.name[6:9] == "min":
            least, greatest = greatest, least
        return x if c == least else y if c == greatest else None


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
        width, type, flag = width_of(self.lhs.type), self.sum.type, self.overflow.type
        # x + 0 = (x, false)
        no_overflow = constant(flag, [0])
        if splat_of(operands[1]) == 0 and no_overflow is not None:
            return [self.lhs, no_overflow]
        total = elementwise(lambda a, b: a + b, operands, type)
        carry = elementwise(lambda a, b: (a + b) >> width, operands, flag)
        return [total, carry] if total is not None and carry is not None else None


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
        zero = constant(type, [0])
        # x * 0 = (0, 0);  unsigned x * 1 = (x, 0)
        if splat_of(operands[1]) == 0 and zero is not None:
            return [zero, zero]
        if splat_of(operands[1]) == 1 and not self.is_signed and zero is not None:
            return [self.lhs, zero]

        def product(a: int, b: int) -> int:
            return signed(a, width) * signed(b, width) if self.is_signed else a * b

        low = elementwise(product, operands, type)
        high = elementwise(lambda a, b: product(a, b) >> width, operands, type)
        return [low, high] if low is not None and high is not None else None


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

    @property
    def predicate_name(self) -> str:
        """`slt`, `eq`, …"""
        return CMPI_PREDICATES[self.predicate.value]

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        from tessera_tools.dialects.arith.casts import ExtSI, ExtUI

        predicate, type = self.predicate_name, self.result.type
        # x ∘ x
        if self.lhs is self.rhs:
            always = predicate in ("eq", "sle", "sge", "ule", "uge")
            return one(constant(type, [int(always)]))
        # ext(b : i1) != 0 is b;  zext(b) == 1 and sext(b) == -1 are b
        extension = defined_by(self.lhs, ExtUI) or defined_by(self.lhs, ExtSI)
        if extension is not None and element_type(extension.in_.type) is I1 and extension.in_.type is type:
            c = splat_of(operands[1])
            truth = 1 if isinstance(extension, ExtUI) else (1 << width_of(self.lhs.type)) - 1
            if (predicate, c) in (("ne", 0), ("eq", truth)):
                return [extension.in_]
        width = width_of(self.lhs.type)
        return one(elementwise(lambda a, b: int(compare_integers(predicate, a, b, width)), operands, type))
