"""Canonicalization patterns of `scf`: what runs never, once, or with a known condition loses its loop or branch."""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.dialects.arith.constants import constant_of, splat_of
from tessera_tools.dialects.arith.select import Select
from tessera_tools.dialects.scf.ops import ExecuteRegion, For, If, IndexSwitch, Yield
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.rewriter import RewritePattern, Rewriter


def inline(op: Operation, region: Region, rewriter: Rewriter, arguments: list[Value]) -> bool:
    """Put the only block of `region` in the place of `op`; its yield gives the results."""
    block = region.block
    last = block.last_op
    if not isinstance(last, Yield):
        return False
    rewriter.inline_block_before(block, op, arguments)
    values = last.operands
    rewriter.erase_op(last)
    rewriter.replace_op(op, values)
    return True


class IfWithConstantCondition(RewritePattern):
    """A known condition leaves one region."""

    # if true {a} else {b} = a;  if false {a} else {b} = b
    op_class: ClassVar = If

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        truth = splat_of(constant_of(op.condition))
        if truth is None:
            return "the condition is not constant"
        region = op.then if truth else op.otherwise
        if region.blocks:
            return inline(op, region, rewriter, [])
        rewriter.erase_op(op)
        return True


class IfWithEmptyElse(RewritePattern):
    """An else region without operations goes."""

    op_class: ClassVar = If

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if (
            op.results
            or not op.otherwise.blocks
            or op.otherwise.entry.first_op is not op.otherwise.entry.last_op
        ):
            return "the else region has operations"
        with rewriter.modify(op):
            rewriter.erase_block(op.otherwise.entry)
        return True


class IfOfValuesFromOutside(RewritePattern):
    """An `if` whose two regions only pass on values from outside selects among them."""

    # if c {yield a} else {yield b} = select(c, a, b)
    op_class: ClassVar = If

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        regions = (op.then, op.otherwise)
        if not op.results or any(
            len(r.blocks) != 1 or r.entry.first_op is not r.entry.last_op for r in regions
        ):
            return "a region has operations"
        if any(r.type.name.endswith("token") for r in op.results):
            return "a token cannot be an operand of a select"
        pairs = list(zip(op.then.entry.first_op.operands, op.otherwise.entry.first_op.operands, strict=True))
        values = [a if a is b else rewriter.insert(Select(op.condition, a, b)).result for a, b in pairs]
        rewriter.replace_op(op, values)
        return True


class IfConditionIsKnownInside(RewritePattern):
    """Inside its regions the condition of an `if` is a constant."""

    op_class: ClassVar = If

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        from tessera_tools.dialects.arith.select import Constant
        from tessera_tools.ir.builtin_attributes import FALSE, TRUE

        changed = False
        for region, value in ((op.then, TRUE), (op.otherwise, FALSE)):
            inside = [
                use
                for use in op.condition.uses
                if use.owner.parent is not None and region.is_ancestor_of(use.owner.parent.parent)
            ]
            if not inside:
                continue
            known = rewriter.insert(Constant(value)).result
            for use in inside:
                with rewriter.modify(use.owner):
                    use.set(known)
            changed = True
        return changed or "the condition is not used inside"


class LoopOfNoIteration(RewritePattern):
    """A loop that never runs gives its initial values."""

    op_class: ClassVar = For

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if op.trip_count != 0:
            return "the loop may run"
        rewriter.replace_op(op, op.inits)
        return True


class LoopOfOneIteration(RewritePattern):
    """A loop that runs once is its body."""

    op_class: ClassVar = For

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if op.trip_count != 1:
            return "the loop does not run exactly once"
        return inline(op, op.body, rewriter, [op.lower, *op.inits])


class LoopWithoutEffect(RewritePattern):
    """A loop that only passes values from outside, and has no effect, gives the last of them."""

    op_class: ClassVar = For

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        last = op.body.entry.last_op
        if last is not op.body.entry.first_op or not isinstance(last, Yield):
            return "the body has operations"
        # An empty body that yields each argument unchanged, whatever the number of iterations.
        if any(a is not b for a, b in zip(op.iter_args, last.operands, strict=True)):
            return "the carried values change"
        rewriter.replace_op(op, op.inits)
        return True


class InvariantCarriedValues(RewritePattern):
    """A carried value that the body yields unchanged is its initial value throughout; so is one that is yielded as that
    initial value.  One that nothing reads, inside or after, needs not be carried."""

    op_class: ClassVar = For

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        inits, arguments, yielded = op.inits, op.iter_args, op.yielded
        kept: list[int] = []
        for i, (init, argument, value, result) in enumerate(
            zip(inits, arguments, yielded, op.results, strict=True)
        ):
            if value is argument or value is init:
                rewriter.replace_all_uses(argument, init)
                rewriter.replace_all_uses(result, init)
            elif argument.has_uses or result.has_uses:
                kept.append(i)
        if len(kept) == len(inits):
            return "every carried value changes and is read"
        made = For(
            op.lower,
            op.upper,
            op.step,
            [inits[i] for i in kept],
            results=[inits[i].type for i in kept],
            body=Region([Block([op.lower.type])]),
            attributes=dict(op.attributes),
        )
        target = made.body.entry
        for i in kept:
            argument = target.add_argument(arguments[i].type, arguments[i].location)
            argument.name_hint = arguments[i].name_hint
        target.arguments[0].name_hint = op.induction[0].name_hint
        rewriter.insert(made)
        places: list[Value] = list(inits)
        for new, i in zip(target.arguments[1:], kept, strict=True):
            places[i] = new
        last = op.body.entry.last_op
        with rewriter.modify(last):
            last.set_operands([yielded[i] for i in kept])
        rewriter.inline_block_at_end(op.body.entry, target, [target.arguments[0], *places])
        results: list[Value] = list(inits)
        for new, i in zip(made.results, kept, strict=True):
            new.name_hint = op.results[i].name_hint
            results[i] = new
        rewriter.replace_op(op, results)
        return True


class ExecuteOneBlock(RewritePattern):
    """A region of one block that is executed once needs no op around it."""

    op_class: ClassVar = ExecuteRegion

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if len(op.body.blocks) != 1 or op.no_inline is not None:
            return "the region has several blocks or is not to be inlined"
        return inline(op, op.body, rewriter, []) or "the block does not end in a yield"


class SwitchOnConstant(RewritePattern):
    """A known index leaves one region."""

    op_class: ClassVar = IndexSwitch

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        number = constant_of(op.arg)
        if not isinstance(number, IntegerAttr):
            return "the index is not constant"
        cases = op.cases.values
        region = op.case_regions[cases.index(number.value)] if number.value in cases else op.default_region
        return inline(op, region, rewriter, [])


class EmptyIf(RewritePattern):
    """An `if` without results whose regions have no effect goes."""

    op_class: ClassVar = If

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if op.results or not is_pure(op):
            return "it gives a value or has an effect"
        rewriter.erase_op(op)
        return True


canonicalizers = (
    IfWithConstantCondition, IfWithEmptyElse, IfOfValuesFromOutside, IfConditionIsKnownInside, EmptyIf,
    LoopOfNoIteration, LoopOfOneIteration, LoopWithoutEffect, InvariantCarriedValues, ExecuteOneBlock,
    SwitchOnConstant,
)  # fmt: skip
"""The patterns of the dialect."""
