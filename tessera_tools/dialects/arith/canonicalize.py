"""Canonicalization patterns of `arith`: constants gather at the end of a chain, comparisons and selections simplify.

The driver moves the constant operand of a commutative op to the right, and folds what has only constants; `c0`, `c1`
below are constants, whose combination folds at once.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.dialects.arith import casts, integers, select
from tessera_tools.dialects.arith.attributes import CMPI_PREDICATES, IntegerOverflowFlagsAttr
from tessera_tools.dialects.arith.constants import constant_of, splat_of
from tessera_tools.dialects.arith.integers import defined_by, width_of
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import I1, I64, IndexType, element_type

NO_OVERFLOW = IntegerOverflowFlagsAttr("none")


def is_constant(value: Value) -> bool:
    """Whether a constant op defines the value."""
    return constant_of(value) is not None


class ReassociateConstants(RewritePattern):
    """Two additions or subtractions with constants become one.

    Overflow flags are dropped: that neither step wraps says nothing of the combined constant.
    """

    # (x + c0) + c1 = x + (c0 + c1)      (x - c0) + c1 = x + (c1 - c0)      (c0 - x) + c1 = (c0 + c1) - x
    # (x + c0) - c1 = x + (c0 - c1)      (x - c0) - c1 = x - (c0 + c1)      (c0 - x) - c1 = (c0 - c1) - x
    # c1 - (x + c0) = (c1 - c0) - x      c1 - (x - c0) = (c1 + c0) - x      c1 - (c0 - x) = x + (c1 - c0)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, integers.AddI | integers.SubI):
            return None
        outer_is_sub = isinstance(op, integers.SubI)
        constant_left = is_constant(op.lhs)
        if constant_left == is_constant(op.rhs) or (constant_left and not outer_is_sub):
            return "needs one constant"
        c1, inner_value = (op.lhs, op.rhs) if constant_left else (op.rhs, op.lhs)
        inner: Any = inner_value.defining_op
        if not isinstance(inner, integers.AddI | integers.SubI):
            return "no addition below"
        inner_left = is_constant(inner.lhs)
        if inner_left == is_constant(inner.rhs):
            return "needs one constant below"
        c0, x = (inner.lhs, inner.rhs) if inner_left else (inner.rhs, inner.lhs)
        # The value is sign_x * x + sign_0 * c0 + sign_1 * c1.
        sign_x, sign_0 = 1, 1
        if isinstance(inner, integers.SubI):
            sign_x, sign_0 = (-1, 1) if inner_left else (1, -1)
        sign_1 = 1
        if outer_is_sub and constant_left:
            sign_x, sign_0 = -sign_x, -sign_0
        elif outer_is_sub:
            sign_1 = -1
        add, sub = integers.AddI, integers.SubI
        if sign_x > 0 and sign_0 < 0 and sign_1 < 0:
            total = rewriter.insert(add(c0, c1)).result
            rewriter.replace_op(op, rewriter.insert(sub(x, total)))
            return True
        if sign_0 > 0:
            total = rewriter.insert((add if sign_1 > 0 else sub)(c0, c1)).result
        elif sign_1 > 0:
            total = rewriter.insert(sub(c1, c0)).result
        else:
            return "no shorter form"
        rewriter.replace_op(op, rewriter.insert(add(x, total) if sign_x > 0 else sub(total, x)))
        return True


class MultiplyConstants(RewritePattern):
    """A chain of products with constants becomes one product."""

    # (x * c0) * c1 = x * (c0 * c1)
    op_class: ClassVar = integers.MulI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.lhs, integers.MulI)
        if inner is None or not is_constant(op.rhs) or not is_constant(inner.rhs):
            return "not a multiplication by a constant"
        total = rewriter.insert(integers.MulI(inner.rhs, op.rhs)).result
        rewriter.replace_op(op, rewriter.insert(integers.MulI(inner.lhs, total)))
        return True


class CombineBitwiseConstants(RewritePattern):
    """A chain of one bitwise operation with constants becomes one operation."""

    # (x & c0) & c1 = x & (c0 & c1), and likewise with | and ^

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, integers.AndI | integers.OrI | integers.XOrI):
            return None
        inner: Any = op.lhs.defining_op
        if type(inner) is not type(op) or not is_constant(op.rhs) or not is_constant(inner.rhs):
            return "not a chain of constants"
        total = rewriter.insert(type(op)(inner.rhs, op.rhs)).result
        rewriter.replace_op(op, rewriter.insert(type(op)(inner.lhs, total)))
        return True


class SubtractNegated(RewritePattern):
    """Adding a product with -1 is a subtraction."""

    # x + (y * -1) = x - y
    op_class: ClassVar = integers.AddI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        ones = (1 << width_of(op.lhs.type)) - 1
        for x, product in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            inner = defined_by(product, integers.MulI)
            if inner is not None and splat_of(constant_of(inner.rhs)) == ones:
                rewriter.replace_op(op, rewriter.insert(integers.SubI(x, inner.lhs)))
                return True
        return "no product with -1"


_SWAPPED = {
    "eq": "eq", "ne": "ne", "slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "ult": "ugt", "ule": "uge",
    "ugt": "ult", "uge": "ule",
}  # fmt: skip
_INVERSE = {
    "eq": "ne", "ne": "eq", "slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt", "ult": "uge", "ule": "ugt",
    "ugt": "ule", "uge": "ult",
}  # fmt: skip


def predicate(name: str) -> IntegerAttr:
    """The attribute of a comparison's predicate."""
    return IntegerAttr(CMPI_PREDICATES.index(name), I64)


class CompareWithConstantOnTheRight(RewritePattern):
    """A comparison has its constant on the right."""

    # c < x = x > c
    op_class: ClassVar = integers.CmpI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if not is_constant(op.lhs) or is_constant(op.rhs):
            return "no constant on the left only"
        rewriter.replace_op(
            op, rewriter.insert(integers.CmpI(predicate(_SWAPPED[op.predicate_name]), op.rhs, op.lhs))
        )
        return True


class CompareExtended(RewritePattern):
    """Equal extensions compare as what they extend."""

    # sext(a) ∘ sext(b) = a ∘ b for ∘ signed or an equality;  zext(a) ∘ zext(b) = a ∘ b for ∘ unsigned or an equality
    op_class: ClassVar = integers.CmpI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        for kind, sign in ((casts.ExtSI, "s"), (casts.ExtUI, "u")):
            a, b = defined_by(op.lhs, kind), defined_by(op.rhs, kind)
            if a is None or b is None or a.in_.type is not b.in_.type:
                continue
            if op.predicate_name in ("eq", "ne") or op.predicate_name[0] == sign:
                rewriter.replace_op(op, rewriter.insert(integers.CmpI(op.predicate, a.in_, b.in_)))
                return True
        return "no two equal extensions"


class InvertComparison(RewritePattern):
    """The negation of a comparison is the opposite comparison."""

    # (a < b) ^ true = a >= b
    op_class: ClassVar = integers.XOrI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        compare = defined_by(op.lhs, integers.CmpI)
        if compare is None or splat_of(constant_of(op.rhs)) != 1 or element_type(op.result.type) is not I1:
            return "no negated integer comparison"
        inverse = predicate(_INVERSE[compare.predicate_name])
        rewriter.replace_op(op, rewriter.insert(integers.CmpI(inverse, compare.lhs, compare.rhs)))
        return True


class SelectOnNegation(RewritePattern):
    """A selection by a negated condition takes its sides the other way round."""

    # select(c ^ true, a, b) = select(c, b, a)
    op_class: ClassVar = select.Select

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        negation = defined_by(op.condition, integers.XOrI)
        if negation is None or splat_of(constant_of(negation.rhs)) != 1:
            return "the condition is not a negation"
        rewriter.replace_op(op, rewriter.insert(select.Select(negation.lhs, op.false_value, op.true_value)))
        return True


class SelectOfConstants(RewritePattern):
    """A selection of i1 constants, or of 1 and 0, is arithmetic on the condition."""

    # select(c, false, true) = c ^ true;  select(c, 1, 0) = zext(c)
    op_class: ClassVar = select.Select

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        type = op.result.type
        yes, no = splat_of(constant_of(op.true_value)), splat_of(constant_of(op.false_value))
        if (yes, no) == (0, 1) and type is op.condition.type:
            rewriter.replace_op(op, rewriter.insert(integers.XOrI(op.condition, op.false_value)))
            return True
        same_shape = getattr(type, "shape", None) == getattr(op.condition.type, "shape", None)
        is_integer = casts.FIXED_WIDTH_INTEGER_LIKE.accepts(type) and element_type(type) is not I1
        if (yes, no) == (1, 0) and is_integer and same_shape:
            rewriter.replace_op(op, rewriter.insert(casts.ExtUI(op.condition, out=type)))
            return True
        return "the sides are not these constants"


class NestedSelect(RewritePattern):
    """A selection inside a selection by the same condition is decided."""

    # select(c, select(c, a, b), d) = select(c, a, d);  select(c, a, select(c, b, d)) = select(c, a, d)
    op_class: ClassVar = select.Select

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.true_value, select.Select)
        if inner is not None and inner.condition is op.condition:
            rewriter.replace_op(
                op, rewriter.insert(select.Select(op.condition, inner.true_value, op.false_value))
            )
            return True
        inner = defined_by(op.false_value, select.Select)
        if inner is not None and inner.condition is op.condition:
            rewriter.replace_op(
                op, rewriter.insert(select.Select(op.condition, op.true_value, inner.false_value))
            )
            return True
        return "no selection by the same condition"


class CastOfCast(RewritePattern):
    """Two casts of one kind are one."""

    # sext(sext(x)) = sext(x);  zext(zext(x)) = zext(x);  trunc(trunc(x)) = trunc(x);  bitcast(bitcast(x)) = bitcast(x)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, casts.ExtSI | casts.ExtUI | casts.TruncI | casts.Bitcast):
            return None
        inner: Any = op.in_.defining_op
        if type(inner) is not type(op):
            return "no cast of the same kind below"
        made = type(op)(inner.in_, out=op.out.type)
        if isinstance(op, casts.TruncI):
            made.overflow_flags = op.overflow_flags.intersection(inner.overflow_flags)  # type: ignore[attr-defined]
        rewriter.replace_op(op, rewriter.insert(made))
        return True


class SignExtendZeroExtended(RewritePattern):
    """What was zero-extended is not negative, so that extending it further puts in zeros too."""

    # sext(zext(x)) = zext(x)
    op_class: ClassVar = casts.ExtSI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.in_, casts.ExtUI)
        if inner is None:
            return "no zero extension below"
        rewriter.replace_op(op, rewriter.insert(casts.ExtUI(inner.in_, out=op.out.type)))
        return True


class TruncateExtended(RewritePattern):
    """Truncating an extension keeps, drops or shortens the extension."""

    # trunc(ext(x)) = ext(x) to the narrower type, or trunc(x), by the widths
    op_class: ClassVar = casts.TruncI

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        inner = defined_by(op.in_, casts.ExtSI) or defined_by(op.in_, casts.ExtUI)
        if inner is None or inner.in_.type is op.out.type:
            return "no extension below"
        kind = type(inner) if width_of(inner.in_.type) < width_of(op.out.type) else casts.TruncI
        rewriter.replace_op(op, rewriter.insert(kind(inner.in_, out=op.out.type)))
        return True


class IndexCastOfExtension(RewritePattern):
    """A sign extension ahead of a sign-extending cast to index is needless."""

    # index_cast(sext(x)) = index_cast(x) to index;  index_castui(zext(x)) = index_castui(x)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        for kind, extension in ((casts.IndexCast, casts.ExtSI), (casts.IndexCastUI, casts.ExtUI)):
            if isinstance(op, kind) and isinstance(element_type(op.out.type), IndexType):
                inner = defined_by(op.in_, extension)
                if inner is not None:
                    rewriter.replace_op(op, rewriter.insert(kind(inner.in_, out=op.out.type)))
                    return True
        return "no extension below"


canonicalizers = (
    ReassociateConstants, MultiplyConstants, CombineBitwiseConstants, SubtractNegated, CompareWithConstantOnTheRight,
    CompareExtended, InvertComparison, SelectOnNegation, SelectOfConstants, NestedSelect, CastOfCast,
    SignExtendZeroExtended, TruncateExtended, IndexCastOfExtension,
)  # fmt: skip
"""The patterns of the dialect."""
