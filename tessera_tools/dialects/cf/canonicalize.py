"""Canonicalization patterns of `cf`: known conditions, blocks that only pass on, and blocks with one way in."""

from __future__ import annotations

from typing import Any, ClassVar

from tessera_tools.dialects.arith.constants import constant_of, splat_of
from tessera_tools.dialects.arith.select import Select
from tessera_tools.dialects.cf.ops import Assert, Branch, BranchLike, CondBranch, Switch
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter


class ConstantCondition(RewritePattern):
    """A known condition leaves one branch."""

    # cond_br true, a, b = br a
    op_class: ClassVar = CondBranch

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        truth = splat_of(constant_of(op.condition))
        if truth is None:
            return "the condition is not constant"
        index = 0 if truth else 1
        rewriter.insert(Branch(op.branch_operands(index), dest=op.successors[index]))
        rewriter.erase_op(op)
        return True


class SameDestination(RewritePattern):
    """Two branches to one block are one, with selections for what differs."""

    # cond_br c, a(x), a(y) = br a(select(c, x, y))
    op_class: ClassVar = CondBranch

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if op.true_dest is not op.false_dest:
            return "the destinations differ"
        pairs = list(zip(op.true_dest_operands, op.false_dest_operands, strict=True))
        values = [a if a is b else rewriter.insert(Select(op.condition, a, b)).result for a, b in pairs]
        rewriter.insert(Branch(values, dest=op.true_dest))
        rewriter.erase_op(op)
        return True


def passes_on(block: Block) -> Branch | None:
    """The branch that is all a block holds; None if it holds more, or goes to itself."""
    only = block.first_op
    if isinstance(only, Branch) and only is block.last_op and only.dest is not block:
        used_elsewhere = any(user is not only for argument in block.arguments for user in argument.users)
        return None if used_elsewhere else only
    return None


class ThroughEmptyBlock(RewritePattern):
    """A branch to a block that only branches goes on at once, to the end of a chain of such blocks."""

    # br a(x), a(y): br b(y)  =  br b(x)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, BranchLike):
            return None
        for index, block in enumerate(op.successors):
            values: list[Value] = list(op.branch_operands(index))
            target, met = block, {block}
            while (onward := passes_on(target)) is not None:
                stands_for: dict[Value, Value] = dict(zip(target.arguments, values, strict=True))
                values = [stands_for.get(v, v) for v in onward.operands]
                target = onward.dest
                if target in met:
                    break  # the blocks go round in a circle, which no branch leads out of
                met.add(target)
            if onward is not None or target is block:
                continue
            with rewriter.modify(op):
                op.set_branch_operands(index, values)
                op.set_successor(index, target)
            return True
        return "no successor only forwards its arguments"


class MergeWithOnlyPredecessor(RewritePattern):
    """A block with one way in becomes part of the block it comes from."""

    op_class: ClassVar = Branch

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        target, block = op.dest, op.parent
        if target is block or target is target.parent.entry or target.single_predecessor() is not block:
            return "the destination has other predecessors"
        arguments = op.operands
        rewriter.erase_op(op)
        rewriter.inline_block_at_end(target, block, arguments)
        return True


class ConditionIsKnownBehind(RewritePattern):
    """In a block that only the true side of a branch reaches, the condition is true; likewise false."""

    op_class: ClassVar = CondBranch

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        from tessera_tools.dialects.arith.select import Constant
        from tessera_tools.ir.builtin_attributes import FALSE, TRUE

        changed = False
        if op.true_dest is op.false_dest:
            return "the destinations are the same block"
        for block, value in ((op.true_dest, TRUE), (op.false_dest, FALSE)):
            if block is block.parent.entry or block.single_predecessor() is not op.parent:
                continue
            around = (o for o in block.operations if o is not op)
            inside = [use for o in around for use in o.op_operands if use.value is op.condition]
            if not inside:
                continue
            known = rewriter.insert(Constant(value)).result
            for use in inside:
                with rewriter.modify(use.owner):
                    use.set(known)
            changed = True
        return changed or "the condition is not used in the destinations"


class SwitchOnConstant(RewritePattern):
    """A known flag leaves one branch; so does a switch without cases."""

    op_class: ClassVar = Switch

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        number = constant_of(op.flag)
        cases = op.case_numbers
        if not isinstance(number, IntegerAttr) and cases:
            return "the flag is not constant"
        index = (
            cases.index(number.value) + 1 if isinstance(number, IntegerAttr) and number.value in cases else 0
        )
        rewriter.insert(Branch(op.branch_operands(index), dest=op.successors[index]))
        rewriter.erase_op(op)
        return True


class AssertTrue(RewritePattern):
    """An assertion of what is true goes."""

    op_class: ClassVar = Assert

    def match_and_rewrite(self, op: Any, rewriter: Rewriter) -> bool | str | None:
        if splat_of(constant_of(op.arg)) != 1:
            return "not known to be true"
        rewriter.erase_op(op)
        return True


canonicalizers = (
    # Merging goes first: a chain of n blocks is then n merges, not each block's way through all that follow.
    ConstantCondition, SameDestination, MergeWithOnlyPredecessor, ThroughEmptyBlock, ConditionIsKnownBehind,
    SwitchOnConstant, AssertTrue,
)  # fmt: skip
"""The patterns of the dialect."""
