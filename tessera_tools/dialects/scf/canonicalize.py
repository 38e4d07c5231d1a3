"""Canonicalization patterns of `scf`: what runs never, once, or with a known condition loses its loop or branch.

carried.py       carried values and results
conditionals.py  scf.if, scf.index_switch
parallel_patterns.py  scf.parallel
this module      scf.for, scf.while, scf.execute_region
"""

from __future__ import annotations

from tessera_tools.dialects.arith.attributes import INVERSE_PREDICATE
from tessera_tools.dialects.arith.constant_op import Constant, replace_by_constant
from tessera_tools.dialects.arith.integers import AddI, CmpI, defined_by
from tessera_tools.dialects.cf.ops import Branch
from tessera_tools.dialects.scf import carried, conditionals, parallel_patterns
from tessera_tools.dialects.scf.ops import ExecuteRegion, For, While, Yield
from tessera_tools.ir.builtin_attributes import FALSE, TRUE
from tessera_tools.ir.core import Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.rewriter import RewritePattern, Rewriter


def trip_count(op: For) -> int | None:
    """The trip count of a loop, if known; also if the upper bound is the lower one plus a constant."""
    if op.trip_count is not None:
        return op.trip_count
    # From x to x + c, which does not wrap: c steps of 1.
    add, step = defined_by(op.upper, AddI), constant_integer(op.step)
    if add is None or step is None or step <= 0:
        return None
    if ("nuw" if op.unsigned_cmp else "nsw") not in add.overflow_flags.flags:
        return None
    for one, other in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
        distance = constant_integer(other)
        if one is op.lower and distance is not None:
            whole = distance if not op.unsigned_cmp else max(distance, 0)
            return max(0, -(-whole // step)) if whole == distance else None
    return None


class LoopOfNoIteration(RewritePattern[For]):
    """A loop that never runs is replaced by its initial values."""

    def match_and_rewrite(self, op: For, rewriter: Rewriter) -> bool | str | None:
        if trip_count(op) != 0:
            return "the loop may run"
        rewriter.replace_op(op, op.inits)
        return True


class LoopOfOneIteration(RewritePattern[For]):
    """A loop that runs once is its body."""

    def match_and_rewrite(self, op: For, rewriter: Rewriter) -> bool | str | None:
        if trip_count(op) != 1:
            return "the loop does not run exactly once"
        rewriter.inline_region(op.body, op, Yield, [op.lower, *op.inits])
        return True


class EmptyLoop(RewritePattern[For]):
    """Erases a loop without operations in its body and without results."""

    def match_and_rewrite(self, op: For, rewriter: Rewriter) -> bool | str | None:
        last = op.body.entry.last_op
        if last is not op.body.entry.first_op or not isinstance(last, Yield) or op.results:
            return "the body has operations, or the loop returns values"
        rewriter.erase_op(op)
        return True


class WhileConditionIsKnownInside(RewritePattern[While]):
    """In the second region of `scf.while` the condition that was passed on is true."""

    # while {… condition(c) c} do {^(a): … a …}: a = true

    def match_and_rewrite(self, op: While, rewriter: Rewriter) -> bool | str | None:
        condition = op.condition
        changed = False
        for value, argument in zip(condition.args, op.after.entry.arguments, strict=True):
            if value is condition.condition and argument.has_uses:
                changed |= replace_by_constant(list(argument.uses), TRUE, rewriter)
        return changed or "the condition is not passed on, or not used"


class WhileComparisonIsKnownInside(RewritePattern[While]):
    """A comparison that is the condition of `scf.while` is true in its second region, and its opposite false."""

    # while {… c = x < y; condition(c) x} do {^(a): … a < y …}: a < y = true

    def match_and_rewrite(self, op: While, rewriter: Rewriter) -> bool | str | None:
        condition = op.condition
        compare = defined_by(condition.condition, CmpI)
        if compare is None:
            return "the condition is not a comparison of integers"
        passed: dict[Value, Value] = dict(zip(op.after.entry.arguments, condition.args, strict=True))
        known = (compare.lhs, compare.rhs)
        changed = False
        for argument, value in passed.items():
            if value not in known:
                continue
            for inner in list(argument.users):
                if not isinstance(inner, CmpI) or not inner.result.has_uses:
                    continue
                if (passed.get(inner.lhs, inner.lhs), passed.get(inner.rhs, inner.rhs)) != known:
                    continue
                name = inner.predicate_name
                if name in (compare.predicate_name, INVERSE_PREDICATE[compare.predicate_name]):
                    truth = TRUE if name == compare.predicate_name else FALSE
                    made = rewriter.insert(Constant(truth)).result
                    rewriter.replace_all_uses(inner.result, made)
                    changed = True
        return changed or "no such comparison is made inside"


class WhileArgumentsInOrder(RewritePattern[While]):
    """The condition passes the arguments of the first region on in their order."""

    # while (a = x, b = y) {… condition(c) b, a} do {^(d, e)} = while (a = x, b = y) {… condition(c) a, b} do {^(e, d)}

    def match_and_rewrite(self, op: While, rewriter: Rewriter) -> bool | str | None:
        condition, block = op.condition, op.after.entry
        arguments, passed = op.iter_args, list(condition.args)
        if len(passed) != len(arguments) or set(passed) != set(arguments) or passed == arguments:
            return "the values passed on are not a permutation of the arguments"
        order = [passed.index(argument) for argument in arguments]
        with rewriter.modify(condition):
            condition.set_operands([condition.condition, *arguments])
        made = While.create(
            op.operands,
            [op.results[i].type for i in order],
            dict(op.attributes),
            [type(region)() for region in op.regions],
            location=op.location,
        )
        rewriter.insert(made)
        for old, new in zip(op.regions, made.regions, strict=True):
            rewriter.inline_region_before(old, new)
        old_arguments = list(block.arguments)
        for i in order:
            new = block.add_argument(old_arguments[i].type, old_arguments[i].location)
            new.name_hint = old_arguments[i].name_hint
            rewriter.replace_all_uses(old_arguments[i], new)
        for _ in old_arguments:
            block.erase_argument(0)
        rewriter.replace_op(op, [made.results[order.index(i)] for i in range(len(order))])
        return True


class ExecuteOneBlock(RewritePattern[ExecuteRegion]):
    """A region of one block that is executed once needs no op around it."""

    def match_and_rewrite(self, op: ExecuteRegion, rewriter: Rewriter) -> bool | str | None:
        if len(op.body.blocks) != 1 or op.no_inline is not None:
            return "the region has several blocks or is not to be inlined"
        if not isinstance(op.body.block.last_op, Yield):
            return "the block does not end in a yield"
        rewriter.inline_region(op.body, op, Yield)
        return True


class ExecuteBlocks(RewritePattern[ExecuteRegion]):
    """The blocks of a region that is executed once become blocks of the function around it."""

    # a; execute_region {b; ^c: yield x}; d  =  a; b; ^c: br ^d(x); ^d(r): d

    def match_and_rewrite(self, op: ExecuteRegion, rewriter: Rewriter) -> bool | str | None:
        before = op.parent
        assert before is not None and before.parent_op is not None
        if op.no_inline is not None or before.parent_op.name != "func.func":
            return "it is not to be inlined, or the region around it has one block only"
        if any(
            not isinstance(block.last_op, Yield | Branch) and not block.successors for block in op.body.blocks
        ):
            return "a block ends neither in a yield nor in a branch"
        region = before.parent
        assert region is not None
        after = before.split_before(op)
        results = [after.add_argument(r.type, op.location) for r in op.results]
        for block in list(op.body.blocks):
            last = block.last_op
            if isinstance(last, Yield):
                with rewriter.saved_point():
                    rewriter.set_before(last)
                    rewriter.insert(Branch(last.operands, dest=after))
                    rewriter.erase_op(last)
        entry = op.body.entry
        rewriter.inline_region_before(op.body, region, region.blocks.index(after))
        rewriter.replace_op(op, results)
        rewriter.inline_block_at_end(entry, before)
        return True


canonicalizers = (
    *carried.patterns, *conditionals.patterns, LoopOfNoIteration, LoopOfOneIteration, EmptyLoop,
    WhileConditionIsKnownInside, WhileComparisonIsKnownInside, WhileArgumentsInOrder, ExecuteOneBlock, ExecuteBlocks,
    *parallel_patterns.patterns,
)  # fmt: skip
"""The patterns of the dialect."""
