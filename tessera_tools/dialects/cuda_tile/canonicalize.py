"""Canonicalization patterns of `cuda_tile`: what the reference's `--canonicalize` does, and no more.

Numbers stay as the program computes them: a pattern here never changes a rounding.
"""

from __future__ import annotations

from tessera_tools.dialects.cuda_tile.attributes import SignednessAttr
from tessera_tools.dialects.cuda_tile.branches import IF_PATTERNS, make_not, negated, splat, truth
from tessera_tools.dialects.cuda_tile.conversion_ops import ExtI
from tessera_tools.dialects.cuda_tile.core_ops import Select
from tessera_tools.dialects.cuda_tile.float_ops import AddF, MulF
from tessera_tools.dialects.cuda_tile.integer_ops import XOrI
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import I1, IntegerType

UNSIGNED = SignednessAttr("unsigned")


class ProductFirst(RewritePattern[AddF]):
    """Moves a product to the left operand of a sum, for `fuse-fma`."""

    # c + a·b = a·b + c

    def match_and_rewrite(self, op: AddF, rewriter: Rewriter) -> bool | str | None:
        if isinstance(op.lhs.defining_op, MulF) or not isinstance(op.rhs.defining_op, MulF):
            return "the right operand is not a product, or the left one is"
        with rewriter.modify(op):
            op.set_operands(op.operands[::-1])
        return True


class SelectToNot(RewritePattern[Select]):
    """A choice between false and true is the negation."""

    # select(c, false, true) = !c

    def match_and_rewrite(self, op: Select, rewriter: Rewriter) -> bool | str | None:
        if truth(op.val_if_true) is not False or truth(op.val_if_false) is not True:
            return "it does not choose between false and true"
        rewriter.replace_op(op, rewriter.insert(XOrI(op.cond, op.val_if_false, location=op.location)))
        return True


class SelectOfNot(RewritePattern[Select]):
    """A negated condition swaps the values."""

    # select(!c, a, b) = select(c, b, a)

    def match_and_rewrite(self, op: Select, rewriter: Rewriter) -> bool | str | None:
        inner = negated(op.cond)
        if inner is None:
            return "the condition is not a negation"
        with rewriter.modify(op):
            op.set_operands([inner, op.val_if_false, op.val_if_true])
        return True


class SelectOfSelect(RewritePattern[Select]):
    """Of a choice by the same condition, one side is known."""

    # select(c, select(c, a, b), d) = select(c, a, d);  select(c, a, select(c, b, d)) = select(c, a, d)

    def match_and_rewrite(self, op: Select, rewriter: Rewriter) -> bool | str | None:
        yes, no = op.val_if_true.defining_op, op.val_if_false.defining_op
        a, b = op.val_if_true, op.val_if_false
        if isinstance(yes, Select) and yes.cond is op.cond:
            a = yes.val_if_true
        if isinstance(no, Select) and no.cond is op.cond:
            b = no.val_if_false
        if a is op.val_if_true and b is op.val_if_false:
            return "neither value is a choice by the same condition"
        with rewriter.modify(op):
            op.set_operands([op.cond, a, b])
        return True


class SelectToExtI(RewritePattern[Select]):
    """A choice between one and zero is the condition, extended."""

    # select(c, 1, 0) = exti c;  select(c, 0, 1) = exti !c

    def match_and_rewrite(self, op: Select, rewriter: Rewriter) -> bool | str | None:
        element = op.result.type.element
        if not isinstance(element, IntegerType) or element is I1:
            return "the values are not integers"
        values = (splat(op.val_if_true), splat(op.val_if_false))
        if values not in ((1, 0), (0, 1)):
            return "it does not choose between zero and one"
        source = op.cond if values == (1, 0) else make_not(rewriter, op.cond)
        made = ExtI(source, UNSIGNED, to=op.result.type, location=op.location)
        rewriter.replace_op(op, rewriter.insert(made))
        return True


canonicalizers = (ProductFirst, SelectToNot, SelectOfNot, SelectOfSelect, SelectToExtI, *IF_PATTERNS)
"""The patterns of the dialect."""
