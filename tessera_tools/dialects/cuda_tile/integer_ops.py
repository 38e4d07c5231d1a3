"""Integer arithmetic and bitwise logic of `cuda_tile`, elementwise, and integer matrix multiply-accumulate."""

from __future__ import annotations

from tessera_tools.dialects.cuda_tile.attributes import (
    PREDICATE,
    SIGNEDNESS,
    OverflowAttr,
    RoundingAttr,
)
from tessera_tools.dialects.cuda_tile.constraints import (
    COMPARISON_RESULT,
    INT_TILE,
    MMAI_OPERAND,
    MMAI_RESULT,
)
from tessera_tools.dialects.cuda_tile.float_ops import check_mma_shapes
from tessera_tools.opdef import (
    COMMUTATIVE,
    NO_EFFECT,
    PURE,
    Op,
    attribute,
    enum,
    operand,
    result,
    same_as,
)

"""No effect on memory, but undefined for some operands (a zero divisor), so that it may not be hoisted."""


class _Unary(Op):
    source = operand(INT_TILE)
    result = result(same_as("source"))
    assembly = "$source attr-dict `:` type($result)"


class _Binary(Op):
    lhs = operand(INT_TILE)
    rhs = operand(same_as("lhs"))
    result = result(same_as("lhs"))
    assembly = "$lhs `,` $rhs attr-dict `:` type($result)"


class _Wrapping(_Binary):
    overflow = attribute(enum(OverflowAttr, angled=True), default=OverflowAttr("none"))
    assembly = "$lhs `,` $rhs (`overflow` `` $overflow^)? attr-dict `:` type($result)"


class _Signed(_Binary):
    signedness = attribute(SIGNEDNESS)
    assembly = "$lhs `,` $rhs custom<Keyword>($signedness) attr-dict `:` type($result)"


class AddI(_Wrapping, name="cuda_tile.addi", traits=(PURE, COMMUTATIVE)):
    """Integer sum, elementwise; wraps around."""


class SubI(_Wrapping, name="cuda_tile.subi", traits=(PURE,)):
    """Integer difference, elementwise; wraps around."""


class MulI(_Wrapping, name="cuda_tile.muli", traits=(PURE, COMMUTATIVE)):
    """The low half of the integer product, elementwise."""


class ShLI(_Wrapping, name="cuda_tile.shli", traits=(PURE,)):
    """Shift to the left, elementwise; the amount is unsigned and less than the width."""


class MulhiI(Op, name="cuda_tile.mulhii", traits=(PURE, COMMUTATIVE)):
    """The high half of the unsigned product, elementwise."""

    x = operand(INT_TILE)
    y = operand(same_as("x"))
    result = result(same_as("x"))
    assembly = "$x `,` $y attr-dict `:` type($result)"


class DivI(_Signed, name="cuda_tile.divi", traits=(NO_EFFECT,)):
    """Integer quotient, elementwise, rounded towards zero unless given; undefined for a zero divisor."""

    rounding = attribute(enum(RoundingAttr, angled=True), default=RoundingAttr("zero"))
    assembly = (
        "$lhs `,` $rhs custom<Keyword>($signedness) (`rounding` `` $rounding^)? attr-dict `:` type($result)"
    )

    def verify_op(self) -> None:
        mode = self.rounding.value
        if mode not in ("zero", "negative_inf", "positive_inf"):
            raise self.error(
                "invalid rounding mode specified, expect one of [zero, negative_inf, positive_inf]"
            )
        if mode == "negative_inf" and self.signedness.value == "unsigned":
            raise self.error("rounding mode 'negative_inf' is not allowed with 'unsigned' flag")


class RemI(_Signed, name="cuda_tile.remi", traits=(NO_EFFECT,)):
    """Remainder of the quotient rounded towards zero, elementwise; undefined for a zero divisor."""


class ShRI(_Signed, name="cuda_tile.shri", traits=(PURE,)):
    """Shift to the right, elementwise; `signed` repeats the sign bit."""


class MaxI(_Signed, name="cuda_tile.maxi", traits=(PURE, COMMUTATIVE)):
    """The greater value, elementwise."""


class MinI(_Signed, name="cuda_tile.mini", traits=(PURE, COMMUTATIVE)):
    """The lesser value, elementwise."""


class AndI(_Binary, name="cuda_tile.andi", traits=(PURE, COMMUTATIVE)):
    """Bitwise and, elementwise."""


class OrI(_Binary, name="cuda_tile.ori", traits=(PURE, COMMUTATIVE)):
    """Bitwise or, elementwise."""


class XOrI(_Binary, name="cuda_tile.xori", traits=(PURE, COMMUTATIVE)):
    """Bitwise exclusive or, elementwise."""


class AbsI(_Unary, name="cuda_tile.absi", traits=(PURE,)):
    """Absolute value of a signed integer, as an unsigned one, elementwise."""


class NegI(_Unary, name="cuda_tile.negi", traits=(PURE,)):
    """Negation of a signed integer, elementwise."""

    overflow = attribute(enum(OverflowAttr, angled=True), default=OverflowAttr("none"))
    assembly = "$source (`overflow` `` $overflow^)? attr-dict `:` type($result)"

    def verify_op(self) -> None:
        if self.overflow.value == "no_unsigned_wrap":
            raise self.error("'no_unsigned_wrap' overflow flag is not supported")


class CmpI(Op, name="cuda_tile.cmpi", traits=(PURE,)):
    """Integer comparison, elementwise."""

    comparison_predicate = attribute(PREDICATE)
    lhs = operand(INT_TILE)
    rhs = operand(same_as("lhs"))
    signedness = attribute(SIGNEDNESS)
    result = result(COMPARISON_RESULT)
    assembly = (
        "custom<Keyword>($comparison_predicate) $lhs `,` $rhs `,` custom<Keyword>($signedness) attr-dict "
        "`:` type($lhs) `->` type($result)"
    )


class MmaI(Op, name="cuda_tile.mmai", traits=(PURE,)):
    """`lhs · rhs + acc` of integer matrices MxK, KxN, MxN (or batches of them), i8 into i32."""

    lhs = operand(MMAI_OPERAND)
    rhs = operand(MMAI_OPERAND)
    acc = operand(MMAI_RESULT)
    signedness_lhs = attribute(SIGNEDNESS)
    signedness_rhs = attribute(SIGNEDNESS)
    result = result(same_as("acc"))
    assembly = (
        "$lhs `,` $rhs `,` $acc custom<Keyword>($signedness_lhs, $signedness_rhs) attr-dict `:` "
        "type($lhs) `,` type($rhs) `,` type($acc)"
    )

    def verify_op(self) -> None:
        check_mma_shapes(self)
