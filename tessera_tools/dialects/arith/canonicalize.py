"""Canonicalization patterns of `arith` that are no identities of `identities.py`."""

from __future__ import annotations

import math

from tessera_tools.dialects.arith import casts, floats, integers
from tessera_tools.dialects.arith.constant_op import Constant
from tessera_tools.dialects.arith.floats import format_of
from tessera_tools.dialects.arith.integers import defined_by
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, FloatAttr, IntegerAttr
from tessera_tools.ir.floats import FORMATS
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import width_of


class CompareConvertedWithConstant(RewritePattern[floats.CmpF]):
    """An integer as a number compares with a constant as an integer does, unless the conversion rounds it there."""

    # float(x) ∘ c = x ∘ c where c is whole;  float(x) < 3.2 = x <= 3;  float(x) < -4.4 = false for unsigned x

    def match_and_rewrite(self, op: floats.CmpF, rewriter: Rewriter) -> bool | str | None:
        source = defined_by(op.lhs, casts.SIToFP) or defined_by(op.lhs, casts.UIToFP)
        constant = constant_value(op.rhs)
        if source is None or not isinstance(constant, FloatAttr):
            return "no converted integer and constant"
        number, integer = constant.value, source.in_.type
        width, is_signed = width_of(integer), isinstance(source, casts.SIToFP)
        # Rounding is monotonic, and does not move an integer across a number smaller than those that are rounded.
        digits = FORMATS[format_of(op.lhs.type)].fraction + 1
        if width - is_signed > digits and not abs(number) < 2.0**digits:
            return "the conversion may round"
        word = op.predicate_name
        if math.isnan(number) or word in ("true", "false"):
            return "folds"
        if word in ("ord", "uno"):
            rewriter.replace_op(op, rewriter.insert(Constant(TRUE if word == "ord" else FALSE)))
            return True
        relation = word[1:]
        least, greatest = (-(1 << width >> 1), (1 << width >> 1) - 1) if is_signed else (0, (1 << width) - 1)
        if number > greatest or number < least:
            above = number > greatest
            truth = relation in (("ne", "lt", "le") if above else ("ne", "gt", "ge"))
            rewriter.replace_op(op, rewriter.insert(Constant(TRUE if truth else FALSE)))
            return True
        whole = math.floor(number)
        if whole != number:
            # No integer equals the number; below it is what is at most its floor.
            if relation in ("eq", "ne"):
                rewriter.replace_op(op, rewriter.insert(Constant(TRUE if relation == "ne" else FALSE)))
                return True
            relation = "le" if relation in ("lt", "le") else "gt"
        if relation not in ("eq", "ne"):
            relation = ("s" if is_signed else "u") + relation
        bound = rewriter.insert(Constant(IntegerAttr.wrap(whole, integer))).result
        rewriter.replace_op(op, rewriter.insert(integers.CmpI.of(relation, source.in_, bound)))
        return True


canonicalizers = (CompareConvertedWithConstant,)
"""The patterns of the dialect, besides its rules."""
