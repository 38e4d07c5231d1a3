"""Elementwise arithmetic that `arith` and `math` cannot express: directed rounding, approximations, flushing to zero.

An op without rounding mode rounds to the nearest number, ties to even; it then has `flush_to_zero` (f32 only):
subnormal operands and results become zeros of the same sign. These ops are not folded, because the result depends on
the mode."""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.ir.builtin_attributes import UnitAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import BF16, F16, F32, F64, element_type
from tessera_tools.opdef import (
    COMMUTATIVE,
    FLOAT_LIKE,
    PURE,
    SAME_SHAPE,
    UNIT_ATTR,
    EnumAttr,
    Op,
    attribute,
    enum,
    operand,
    result,
    same_as,
)
from tessera_tools.opdef.fields import AttributeField


class RoundingAttr(EnumAttr, name="nv_tileaa.rounding"):
    """The rounding mode of a result; `approx` and `full` are the hardware's approximations in f32."""

    cases = ("nearest_even", "zero", "negative_inf", "positive_inf", "approx", "full")


NEAREST_EVEN = RoundingAttr("nearest_even")
DIRECTED = ("zero", "negative_inf", "positive_inf")
APPROXIMATIONS = ("approx", "full")


def _flush_to_zero() -> AttributeField[UnitAttr | None]:
    return attribute(UNIT_ATTR, "subnormal operands and results are zeros of their sign", optional=True)


def _rounding() -> AttributeField[RoundingAttr]:
    return attribute(enum(RoundingAttr, angled=True), "how the result is rounded", default=NEAREST_EVEN)


class _Arithmetic(Op):
    """The base: checks the modifiers. An op has `flush_to_zero`, and `rounding` if its class has more than one mode."""

    modes: ClassVar[tuple[str, ...]] = ("nearest_even",)

    def verify_op(self) -> None:
        element, flushes = element_type(self.results[0].type), "flush_to_zero" in self.attributes
        if element not in (F16, BF16, F32, F64):
            raise self.error(f"computes with {element}; expected f16, bf16, f32 or f64")
        mode = mode_of(self)
        if mode not in self.modes:
            raise self.error(f"has no rounding<{mode}>; expected one of {', '.join(self.modes)}")
        if mode == NEAREST_EVEN.value and not flushes:
            raise self.error("neither flushes to zero nor sets a rounding mode; use the arith or math op")
        if element is F32:
            return
        if flushes:
            raise self.error(f"has flush_to_zero on {element}; only f32 supports it")
        if mode in APPROXIMATIONS:
            raise self.error(f"has rounding<{mode}> on {element}; expected f32")


_MODIFIERS = "(`rounding` `` $rounding^)? ($flush_to_zero^)? attr-dict `:` type($result)"


class _RoundedBinary(_Arithmetic):
    lhs = operand(FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    rounding = _rounding()
    flush_to_zero = _flush_to_zero()
    result = result(same_as("lhs"))
    modes = ("nearest_even", *DIRECTED)
    assembly = "$lhs `,` $rhs " + _MODIFIERS


class AddF(_RoundedBinary, name="nv_tileaa.addf", traits=(PURE, COMMUTATIVE, SAME_SHAPE)):
    """The sum."""


class SubF(_RoundedBinary, name="nv_tileaa.subf", traits=(PURE, SAME_SHAPE)):
    """The difference."""


class MulF(_RoundedBinary, name="nv_tileaa.mulf", traits=(PURE, COMMUTATIVE, SAME_SHAPE)):
    """The product."""


class DivF(_RoundedBinary, name="nv_tileaa.divf", traits=(PURE, SAME_SHAPE)):
    """The quotient; `approx` multiplies by an approximate reciprocal, `full` scales the operands before."""

    modes = ("nearest_even", *DIRECTED, *APPROXIMATIONS)


class Fma(_Arithmetic, name="nv_tileaa.fma", traits=(PURE, SAME_SHAPE)):
    """a · b + c, rounded once."""

    a = operand(FLOAT_LIKE)
    b = operand(same_as("a"))
    c = operand(same_as("a"))
    rounding = _rounding()
    flush_to_zero = _flush_to_zero()
    result = result(same_as("a"))
    modes = ("nearest_even", *DIRECTED)
    assembly = "$a `,` $b `,` $c " + _MODIFIERS


class _RoundedUnary(_Arithmetic):
    source = operand(FLOAT_LIKE)
    rounding = _rounding()
    flush_to_zero = _flush_to_zero()
    result = result(same_as("source"))
    assembly = "$source " + _MODIFIERS


class Sqrt(_RoundedUnary, name="nv_tileaa.sqrt", traits=(PURE, SAME_SHAPE)):
    """The square root."""

    modes = ("nearest_even", *DIRECTED, "approx")


class Exp(_RoundedUnary, name="nv_tileaa.exp", traits=(PURE, SAME_SHAPE)):
    """e to the power of the source, by the hardware's approximate power of two."""

    modes = ("approx",)


class TanH(_RoundedUnary, name="nv_tileaa.tanh", traits=(PURE, SAME_SHAPE)):
    """The hyperbolic tangent, by the hardware's approximation."""

    modes = ("approx",)


class _FlushedUnary(_Arithmetic):
    source = operand(FLOAT_LIKE)
    flush_to_zero = _flush_to_zero()
    result = result(same_as("source"))
    assembly = "$source ($flush_to_zero^)? attr-dict `:` type($result)"


class Exp2(_FlushedUnary, name="nv_tileaa.exp2", traits=(PURE, SAME_SHAPE)):
    """Two to the power of the source."""


class Rsqrt(_FlushedUnary, name="nv_tileaa.rsqrt", traits=(PURE, SAME_SHAPE)):
    """The reciprocal of the square root."""


class _Extremum(_Arithmetic):
    lhs = operand(FLOAT_LIKE)
    rhs = operand(same_as("lhs"))
    propagate_nan = attribute(UNIT_ATTR, "a NaN wins; without it, it loses", optional=True)
    flush_to_zero = _flush_to_zero()
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs ($propagate_nan^)? ($flush_to_zero^)? attr-dict `:` type($result)"


class MaxF(_Extremum, name="nv_tileaa.maxf", traits=(PURE, COMMUTATIVE, SAME_SHAPE)):
    """The greater number; +0 is greater than -0."""


class MinF(_Extremum, name="nv_tileaa.minf", traits=(PURE, COMMUTATIVE, SAME_SHAPE)):
    """The lesser number; -0 is less than +0."""


def mode_of(op: Operation) -> str:
    """The rounding mode of an op of this family: one of RoundingAttr's cases."""
    mode = op.attributes.get("rounding", NEAREST_EVEN)
    assert isinstance(mode, RoundingAttr)
    return mode.value
