"""Canonicalization patterns of `scf.if` and `scf.index_switch`."""

from __future__ import annotations

from tessera_tools.dialects.arith.constant_op import replace_by_constant
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.arith.integers import AndI, XOrI, defined_by
from tessera_tools.dialects.arith.select import Select
from tessera_tools.dialects.scf.carried import is_outside
from tessera_tools.dialects.scf.ops import If, IndexSwitch, Yield
from tessera_tools.ir.builtin_attributes import FALSE, TRUE
from tessera_tools.ir.core import Operation, OpResult, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.folding import constant_integer, constant_value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import ShapedType


def is_empty(region: Region) -> bool:
    """True if a region has only its yield, or no block."""
    return not region.blocks or region.entry.first_op is region.entry.last_op


def end_of(region: Region) -> Operation:
    """The yield of a region with one block."""
    last = region.entry.last_op
    assert last is not None
    return last


def negated(value: Value) -> Value | None:
    """x, if the value is the negation of x; otherwise None."""
    negation = defined_by(value, XOrI)
    return negation.lhs if negation is not None and splat_of(constant_value(negation.rhs)) == 1 else None


class IfWithConstantCondition(RewritePattern[If]):
    """A known condition leaves one region."""

    # if true {a} else {b} = a;  if false {a} else {b} = b

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        truth = splat_of(constant_value(op.condition))
        if truth is None:
            return "the condition is not constant"
        region = op.then if truth else op.otherwise
        if region.blocks:
            rewriter.inline_region(region, op, Yield)
        else:
            rewriter.erase_op(op)
        return True


class IfWithEmptyElse(RewritePattern[If]):
    """An else region without operations goes."""

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        if op.results or not op.otherwise.blocks or not is_empty(op.otherwise):
            return "the else region has operations"
        with rewriter.modify(op):
            rewriter.erase_block(op.otherwise.entry)
        return True


class EmptyIf(RewritePattern[If]):
    """An `if` without results whose regions have no effect goes."""

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        if op.results or not is_pure(op):
            return "it returns a value or has an effect"
        rewriter.erase_op(op)
        return True


class IfOnNegation(RewritePattern[If]):
    """An `if` on a negated condition has its regions the other way round."""

    # if c ^ true {a} else {b} = if c {b} else {a}

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        condition = negated(op.condition)
        if condition is None or not op.otherwise.blocks:
            return "the condition is not a negation, or there is no else region"
        with rewriter.modify(op):
            op.set_operand(0, condition)
            then, otherwise = op.then.blocks, op.otherwise.blocks
            op.then.blocks, op.otherwise.blocks = otherwise, then
            for region in op.regions:
                for block in region.blocks:
                    block.parent = region
        return True


class IfOfValuesFromOutside(RewritePattern[If]):
    """A result that both regions take from outside is a selection.

    A tile is not selected if the regions do something: a branch passes its registers on, a selection copies them.
    """

    # if c {… yield a} else {… yield b} = select(c, a, b)

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        if not op.results:
            return "it has no result"
        empty = is_empty(op.then) and is_empty(op.otherwise)
        yielded = [region.entry.last_op.operands for region in op.regions if region.entry.last_op is not None]
        changed = False
        for result, yes, no in zip(op.results, *yielded, strict=True):
            if not result.has_uses or result.type.name.endswith("token"):
                continue
            if not empty and isinstance(result.type, ShapedType):
                continue
            if is_outside(yes, op) and is_outside(no, op):
                picked = yes if yes is no else rewriter.insert(Select(op.condition, yes, no)).result
                rewriter.replace_all_uses(result, picked)
                changed = True
        return changed or "the regions compute the results"


class IfConditionIsKnownInside(RewritePattern[If]):
    """Inside its regions the condition of an `if` is a constant."""

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        changed = False
        for region, value in ((op.then, TRUE), (op.otherwise, FALSE)):
            inside = [
                use
                for use in op.condition.uses
                if use.owner.parent is not None and region.is_ancestor_of(use.owner.parent.parent)
            ]
            changed |= replace_by_constant(inside, value, rewriter)
        return changed or "the condition is not used inside"


class NestedIf(RewritePattern[If]):
    """An `if` that is all that another does is that one under both conditions."""

    # if a { if b {x} } = if a & b {x}
    # if a { r = if b {… yield x} else {yield y}; yield r } else {yield y} = if a & b {… yield x} else {yield y}

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        block = op.then.entry
        inner, last = block.first_op, block.last_op
        if not isinstance(inner, If) or inner.next_op is not last or not is_empty(op.otherwise):
            return "it does more"
        if not is_empty(inner.otherwise):
            return "the inner one has an else region"
        assert last is not None
        taken: list[int] = []
        for i, value in enumerate(last.operands):
            if not isinstance(value, OpResult) or value.op is not inner:
                return "it yields another value"
            taken.append(value.index)
            without = end_of(inner.otherwise).operand(value.index)
            if without is not end_of(op.otherwise).operand(i):
                return "the values without the inner one differ"
        end = end_of(inner.then)
        with rewriter.modify(end):
            end.set_operands([end.operand(i) for i in taken])
        both = rewriter.insert(AndI(op.condition, inner.condition)).result
        rewriter.erase_op(last)
        body = inner.then.entry
        inner.then.blocks.remove(body)
        body.parent = None
        with rewriter.modify(op):
            op.set_operand(0, both)
            rewriter.erase_op(inner)
            rewriter.erase_block(block)
            op.then.append(body)
        return True


class SuccessiveIfs(RewritePattern[If]):
    """Two ifs in a row on one condition, or on a condition and its negation, are one."""

    # if c {a}; if c {b} = if c {a; b};  if c {a}; if c ^ true {b} = if c {a} else {b}

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        first = op.prev_op
        if not isinstance(first, If):
            return "there is no if before it"
        if first.condition is op.condition:
            sides = [(first.then, op.then), (first.otherwise, op.otherwise)]
        elif negated(op.condition) is first.condition or negated(first.condition) is op.condition:
            sides = [(first.then, op.otherwise), (first.otherwise, op.then)]
        else:
            return "the conditions differ"
        types = [*first.result_types, *op.result_types]
        made = If.create(
            [first.condition], types, dict(first.attributes), [Region(), Region()], location=first.location
        )
        rewriter.insert(made)
        for target, (one, two) in zip(made.regions, sides, strict=True):
            if not one.blocks and not two.blocks:
                continue
            one_end = one.entry.last_op if one.blocks else None
            if one_end is not None:
                # Here the results of the first are what it yields.
                for result, value in zip(first.results, one_end.operands, strict=True):
                    for use in list(result.uses):
                        if use.owner.parent is not None and two.is_ancestor_of(use.owner.parent.parent):
                            with rewriter.modify(use.owner):
                                use.set(value)
            base = one if one.blocks else two
            rewriter.inline_region_before(base, target)
            if base is one and two.blocks:
                assert one_end is not None
                values = one_end.operands
                rewriter.erase_op(one_end)
                rewriter.inline_block_at_end(two.entry, target.entry)
                last = target.entry.last_op
                assert last is not None
                with rewriter.modify(last):
                    last.set_operands([*values, *last.operands])
        count = len(first.results)
        rewriter.replace_op(op, made.results[count:])
        rewriter.replace_op(first, made.results[:count])
        return True


class SwitchOnConstant(RewritePattern[IndexSwitch]):
    """A known index leaves one region."""

    def match_and_rewrite(self, op: IndexSwitch, rewriter: Rewriter) -> bool | str | None:
        number = constant_integer(op.arg)
        if number is None:
            return "the index is not constant"
        cases = op.cases.values
        region = op.case_regions[cases.index(number)] if number in cases else op.default_region
        rewriter.inline_region(region, op, Yield)
        return True


patterns = (
    IfWithConstantCondition, IfWithEmptyElse, EmptyIf, IfOnNegation, IfOfValuesFromOutside,
    IfConditionIsKnownInside, NestedIf, SuccessiveIfs, SwitchOnConstant,
)  # fmt: skip
"""The patterns for conditionals."""
