"""Casts of `arith` and their folders: between integers, floating-point numbers and `index`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tessera_tools.dialects.arith.attributes import (
    FAST_MATH,
    FIXED_WIDTH_INTEGER_LIKE,
    OVERFLOW,
    ROUNDING_MODE,
    IntegerOverflowFlagsAttr,
)
from tessera_tools.dialects.arith.constants import Folded, elementwise, one, signed
from tessera_tools.dialects.arith.floats import format_of
from tessera_tools.dialects.arith.numbers import EXACT_IN_DOUBLE, convert, encode
from tessera_tools.dialects.arith.rules import fold_by_rules
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.types import (
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    RankedTensorType,
    bit_width,
    element_type,
    have_same_shape,
    width_of,
)
from tessera_tools.opdef import (
    FLOAT_LIKE,
    PURE,
    Op,
    TypeConstraint,
    attribute,
    like,
    of,
    operand,
    result,
)


class Cast(Op, traits=(PURE,)):
    """The base of casts: `in` and `out` have one shape."""

    in_ = operand()
    out = result()
    assembly = "$in attr-dict `:` type($in) `to` type($out)"

    def verify_op(self) -> None:
        source, target = self.in_.type, self.out.type
        if not have_same_shape(source, target):
            raise self.error("requires the same shape for all operands and results")
        encodings = [t.encoding if isinstance(t, RankedTensorType) else None for t in (source, target)]
        if encodings[0] is not encodings[1] or not self.compatible(
            element_type(source), element_type(target)
        ):
            raise self.error(f"operand type '{source}' and result type '{target}' are cast incompatible")

    def compatible(self, source: Type, target: Type) -> bool:
        """True if the element types may be cast so."""
        return True


def known_or_rules(
    op: Cast, function: Callable[[int], int | None], operands: Sequence[Attribute | None]
) -> Folded:
    """Fold a cast of a constant, element by element, or by the rules."""
    known = elementwise(function, operands, op.out.type)
    return [known] if known is not None else fold_by_rules(op)


class IntCast(Cast):
    """The base of integer-to-integer casts."""

    in_ = operand(FIXED_WIDTH_INTEGER_LIKE)
    out = result(FIXED_WIDTH_INTEGER_LIKE)


class _Extension(IntCast):
    """The base of the integer extensions."""

    def compatible(self, source: Type, target: Type) -> bool:
        return bit_width(source) < bit_width(target)


class ExtSI(_Extension, name="arith.extsi"):
    """Sign extension."""

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        width = width_of(self.in_.type)
        return known_or_rules(self, lambda a: signed(a, width), operands)


class ExtUI(_Extension, name="arith.extui"):
    """Zero extension."""

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return known_or_rules(self, lambda a: a, operands)


class TruncI(IntCast, name="arith.trunci"):
    """The low bits of an integer."""

    overflow_flags = attribute(
        OVERFLOW, "lost bits that are poison", default=IntegerOverflowFlagsAttr("none"), key="overflowFlags"
    )
    assembly = "$in (`overflow` `` $overflow_flags^)? attr-dict `:` type($in) `to` type($out)"

    def compatible(self, source: Type, target: Type) -> bool:
        return bit_width(source) > bit_width(target)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        return known_or_rules(self, lambda a: a, operands)


class ExtF(Cast, name="arith.extf"):
    """A floating-point number in a wider format; exact."""

    in_ = operand(FLOAT_LIKE)
    fastmath = attribute(FAST_MATH, "what may be assumed", optional=True)
    out = result(FLOAT_LIKE)
    assembly = "$in (`fastmath` `` $fastmath^)? attr-dict `:` type($in) `to` type($out)"

    def compatible(self, source: Type, target: Type) -> bool:
        return bit_width(source) < bit_width(target)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        source, target = format_of(self.in_.type), format_of(self.out.type)
        return known_or_rules(self, lambda a: convert(a, source, target), operands)


class TruncF(Cast, name="arith.truncf"):
    """A floating-point number in a narrower format, to nearest even unless a mode is given."""

    in_ = operand(FLOAT_LIKE)
    roundingmode = attribute(ROUNDING_MODE, "how to round", optional=True)
    fastmath = attribute(FAST_MATH, "what may be assumed", optional=True)
    out = result(FLOAT_LIKE)
    assembly = "$in ($roundingmode^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($in) `to` type($out)"

    def compatible(self, source: Type, target: Type) -> bool:
        return bit_width(source) > bit_width(target)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        # Only what the narrower format has exactly: the answer depends on no rounding mode.
        source, target = format_of(self.in_.type), format_of(self.out.type)
        return known_or_rules(self, lambda a: convert(a, source, target), operands)


class _FromInteger(Cast):
    """The base of integer-to-float casts; rounds to nearest even."""

    in_ = operand(FIXED_WIDTH_INTEGER_LIKE)
    out = result(FLOAT_LIKE)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        keyword, width = format_of(self.out.type), width_of(self.in_.type)
        if keyword not in EXACT_IN_DOUBLE:
            return None
        is_signed = isinstance(self, SIToFP)

        def number(a: int) -> int | None:
            value = signed(a, width) if is_signed else a
            # Beyond 53 bits the first rounding would not be the last.
            if value.bit_length() > 53 and keyword != "f64" and float(value) != value:
                return None
            return encode(float(value), keyword)

        return one(elementwise(number, operands, self.out.type))


class SIToFP(_FromInteger, name="arith.sitofp"):
    """A signed integer as a floating-point number."""


class UIToFP(_FromInteger, name="arith.uitofp"):
    """An unsigned integer as a floating-point number."""


class _ToInteger(Cast):
    """The base of float-to-integer casts: rounds toward zero; poison if the number does not fit."""

    in_ = operand(FLOAT_LIKE)
    out = result(FIXED_WIDTH_INTEGER_LIKE)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        keyword, width = format_of(self.in_.type), width_of(self.out.type)
        if keyword not in EXACT_IN_DOUBLE:
            return None
        low, high = (-(1 << width >> 1), 1 << width >> 1) if isinstance(self, FPToSI) else (0, 1 << width)

        def integer(a: int) -> int | None:
            number = floats.decode(a, keyword)
            if not math.isfinite(number) or not low <= math.trunc(number) < high:
                return None
            return math.trunc(number)

        return one(elementwise(integer, operands, self.out.type))


class FPToSI(_ToInteger, name="arith.fptosi"):
    """A floating-point number as a signed integer."""


class FPToUI(_ToInteger, name="arith.fptoui"):
    """A floating-point number as an unsigned integer."""


_INTEGER_OR_INDEX = TypeConstraint(
    "signless-integer-like or memref of signless-integer",
    lambda t: isinstance(element_type(t), IntegerType | IndexType),
)


class _IndexCast(Cast):
    """The base of casts between `index` and fixed-width integers."""

    in_ = operand(_INTEGER_OR_INDEX)
    out = result(_INTEGER_OR_INDEX)

    def compatible(self, source: Type, target: Type) -> bool:
        return isinstance(source, IndexType) != isinstance(target, IndexType)

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        if isinstance(self.in_.type, MemRefType):
            return None
        width, is_signed = width_of(self.in_.type), isinstance(self, IndexCast)
        return known_or_rules(self, lambda a: signed(a, width) if is_signed else a, operands)


class IndexCast(_IndexCast, name="arith.index_cast"):
    """`index` to or from an integer; sign-extends or truncates."""


class IndexCastUI(_IndexCast, name="arith.index_castui"):
    """`index` to or from an integer; zero-extends or truncates."""


_BITCASTABLE = like(of(IntegerType, IndexType, FloatType, summary="signless-integer or floating-point")) | of(
    MemRefType, summary="memref"
)


class Bitcast(Cast, name="arith.bitcast"):
    """The same bits as another type of the same width."""

    in_ = operand(_BITCASTABLE)
    out = result(_BITCASTABLE)

    def compatible(self, source: Type, target: Type) -> bool:
        return (
            isinstance(source, IntegerType | FloatType)
            and isinstance(target, IntegerType | FloatType)
            and bit_width(source) == bit_width(target)
        )

    def fold(self, operands: Sequence[Attribute | None]) -> Folded:
        if isinstance(self.out.type, MemRefType):
            return fold_by_rules(self)
        return known_or_rules(self, lambda a: a, operands)


class ScalingExtF(Op, name="arith.scaling_extf", traits=(PURE,)):
    """A number times the power of two of `scale` (an f8E8M0FNU, or a float truncated to it), in a wider
    format (OCP microscaling)."""

    in_ = operand(FLOAT_LIKE)
    scale = operand(FLOAT_LIKE)
    fastmath = attribute(FAST_MATH, "what may be assumed", optional=True)
    out = result(FLOAT_LIKE)
    assembly = (
        "$in `,` $scale (`fastmath` `` $fastmath^)? attr-dict `:` type($in) `,` type($scale) `to` type($out)"
    )

    def verify_op(self) -> None:
        if not width_of(self.in_.type) < width_of(self.out.type):
            raise self.error("result type must be wider than the operand type")


class ScalingTruncF(Op, name="arith.scaling_truncf", traits=(PURE,)):
    """A number divided by the power of two of `scale`, in a narrower format (OCP microscaling)."""

    in_ = operand(FLOAT_LIKE)
    scale = operand(FLOAT_LIKE)
    roundingmode = attribute(ROUNDING_MODE, "how to round", optional=True)
    fastmath = attribute(FAST_MATH, "what may be assumed", optional=True)
    out = result(FLOAT_LIKE)
    assembly = (
        "$in `,` $scale ($roundingmode^)? (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($in) `,` type($scale) `to` type($out)"
    )

    def verify_op(self) -> None:
        if not width_of(self.in_.type) > width_of(self.out.type):
            raise self.error("result type must be narrower than the operand type")
