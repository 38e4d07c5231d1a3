"""Canonicalization patterns of `cf`: known conditions, blocks that only pass on, and blocks with one way in."""

from __future__ import annotations

from tessera_tools.dialects.arith.constant_op import replace_by_constant
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.arith.select import Select
from tessera_tools.dialects.cf.ops import Assert, Branch, CondBranch, Switch
from tessera_tools.dialects.ub import Unreachable
from tessera_tools.ir.builtin_attributes import FALSE, TRUE, DenseArrayAttr, DenseElementsAttr
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.folding import constant_integer, constant_value
from tessera_tools.ir.interfaces import BranchLike
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import I32, VectorType


class ConstantCondition(RewritePattern[CondBranch]):
    """A known condition leaves one branch."""

    # cond_br true, a, b = br a

    def match_and_rewrite(self, op: CondBranch, rewriter: Rewriter) -> bool | str | None:
        truth = splat_of(constant_value(op.condition))
        if truth is None:
            return "the condition is not constant"
        index = 0 if truth else 1
        rewriter.insert(Branch(op.branch_operands(index), dest=op.successors[index]))
        rewriter.erase_op(op)
        return True


class SameDestination(RewritePattern[CondBranch]):
    """Two branches to one block are one, with selections for what differs."""

    # cond_br c, a(x), a(y) = br a(select(c, x, y))

    def match_and_rewrite(self, op: CondBranch, rewriter: Rewriter) -> bool | str | None:
        if op.true_dest is not op.false_dest:
            return "the destinations differ"
        pairs = list(zip(op.true_dest_operands, op.false_dest_operands, strict=True))
        values = [a if a is b else rewriter.insert(Select(op.condition, a, b)).result for a, b in pairs]
        rewriter.insert(Branch(values, dest=op.true_dest))
        rewriter.erase_op(op)
        return True


def passes_on(block: Block) -> Branch | None:
    """The branch that is the only op of a block; None if there are others, or if it branches to itself."""
    only = block.first_op
    if isinstance(only, Branch) and only is block.last_op and only.dest is not block:
        used_elsewhere = any(user is not only for argument in block.arguments for user in argument.users)
        return None if used_elsewhere else only
    return None


class ThroughEmptyBlock(RewritePattern):
    """Redirects a branch to a block that only branches to the end of the chain of such blocks."""

    # br a(x), a(y): br b(y)  =  br b(x)

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        if not isinstance(op, BranchLike):
            return None
        for index, block in enumerate(op.successors):
            values: list[Value] = list(op.branch_operands(index))
            target, met = block, {block}
            while (onward := passes_on(target)) is not None:
                value_at: dict[Value, Value] = dict(zip(target.arguments, values, strict=True))
                values = [value_at.get(v, v) for v in onward.operands]
                target = onward.dest
                if target in met:
                    break  # the blocks form an endless cycle
                met.add(target)
            if onward is not None or target is block:
                continue
            with rewriter.modify(op):
                op.set_branch_operands(index, values)
                op.set_successor(index, target)
            return True
        return "no successor only forwards its arguments"


class MergeWithOnlyPredecessor(RewritePattern[Branch]):
    """Merges a block with its only predecessor."""

    def match_and_rewrite(self, op: Branch, rewriter: Rewriter) -> bool | str | None:
        target, block = op.dest, op.parent
        assert block is not None and target.parent is not None
        if target is block or target is target.parent.entry or target.single_predecessor() is not block:
            return "the destination has other predecessors"
        arguments = op.operands
        rewriter.erase_op(op)
        rewriter.inline_block_at_end(target, block, arguments)
        return True


class ConditionKnownInSuccessor(RewritePattern[CondBranch]):
    """In a block that only the true side of a branch reaches, the condition is true; likewise false."""

    def match_and_rewrite(self, op: CondBranch, rewriter: Rewriter) -> bool | str | None:
        changed = False
        if op.true_dest is op.false_dest:
            return "the destinations are the same block"
        for block, value in ((op.true_dest, TRUE), (op.false_dest, FALSE)):
            assert block.parent is not None
            if block is block.parent.entry or block.single_predecessor() is not op.parent:
                continue
            around = (o for o in block.operations if o is not op)
            inside = [use for o in around for use in o.op_operands if use.value is op.condition]
            changed |= replace_by_constant(inside, value, rewriter)
        return changed or "the condition is not used in the destinations"


class SwitchOnConstant(RewritePattern[Switch]):
    """A known flag leaves one branch; so does a switch without cases."""

    def match_and_rewrite(self, op: Switch, rewriter: Rewriter) -> bool | str | None:
        number, cases = constant_integer(op.flag), op.case_numbers
        if number is None and cases:
            return "the flag is not constant"
        index = cases.index(number) + 1 if number in cases else 0
        rewriter.insert(Branch(op.branch_operands(index), dest=op.successors[index]))
        rewriter.erase_op(op)
        return True


def with_cases(op: Switch, kept: list[int], rewriter: Rewriter) -> None:
    """Replace a switch by one with some of its cases."""
    numbers = op.case_numbers
    operands = [op.branch_operands(i + 1) for i in kept]
    made = Switch(
        op.flag,
        op.default_operands,
        [value for values in operands for value in values],
        case_values=DenseElementsAttr.of(VectorType((len(kept),), op.flag.type), [numbers[i] for i in kept])
        if kept
        else None,
        case_operand_segments=DenseArrayAttr(I32, tuple(map(len, operands))),
        default_destination=op.default_destination,
        case_destinations=[op.successors[i + 1] for i in kept],
        attributes=op.discardable_attributes,
    )
    rewriter.insert(made)
    rewriter.erase_op(op)


class CaseLikeDefault(RewritePattern[Switch]):
    """Removes a case with the destination and operands of the default."""

    # switch x, [default: a(v), 1: a(v), 2: b] = switch x, [default: a(v), 2: b]

    def match_and_rewrite(self, op: Switch, rewriter: Rewriter) -> bool | str | None:
        default = (op.default_destination, op.default_operands)
        count = len(op.case_numbers)
        kept = [i for i in range(count) if (op.successors[i + 1], op.branch_operands(i + 1)) != default]
        if len(kept) == count:
            return "no case has the destination of the default"
        with_cases(op, kept, rewriter)
        return True


class SwitchAfterSwitch(RewritePattern[Switch]):
    """In a block that one case of a switch reaches, the flag is known; after the default it is none of the cases."""

    # switch x, [default: a, 1: b] … b: switch x, [default: d, 1: e] = br e
    # switch x, [default: a, 1: b] … a: switch x, [default: d, 1: e, 2: g] = switch x, [default: d, 2: g]

    def match_and_rewrite(self, op: Switch, rewriter: Rewriter) -> bool | str | None:
        block = op.parent
        assert block is not None and block.parent is not None
        before = block.single_predecessor()
        outer = before.last_op if before is not None and block is not block.parent.entry else None
        if not isinstance(outer, Switch) or outer.flag is not op.flag:
            return "no switch on the same flag leads here"
        ways = [i for i, successor in enumerate(outer.successors) if successor is block]
        known = outer.case_numbers
        numbers = op.case_numbers
        if len(ways) != 1:
            return "several cases lead here"
        if ways[0] > 0:
            number = known[ways[0] - 1]
            index = numbers.index(number) + 1 if number in numbers else 0
            rewriter.insert(Branch(op.branch_operands(index), dest=op.successors[index]))
            rewriter.erase_op(op)
            return True
        kept = [i for i, number in enumerate(numbers) if number not in known]
        if len(kept) == len(numbers):
            return "no case is excluded"
        with_cases(op, kept, rewriter)
        return True


class BranchToUnreachable(RewritePattern[CondBranch]):
    """A branch to a block that is never reached is not taken."""

    # cond_br c, a, b; a: unreachable = br b

    def match_and_rewrite(self, op: CondBranch, rewriter: Rewriter) -> bool | str | None:
        for index, successor in enumerate(op.successors):
            if isinstance(successor.first_op, Unreachable):
                other = 1 - index
                rewriter.insert(Branch(op.branch_operands(other), dest=op.successors[other]))
                rewriter.erase_op(op)
                return True
        return "both blocks may be reached"


class AssertTrue(RewritePattern[Assert]):
    """An assertion of what is true goes."""

    def match_and_rewrite(self, op: Assert, rewriter: Rewriter) -> bool | str | None:
        if splat_of(constant_value(op.arg)) != 1:
            return "not known to be true"
        rewriter.erase_op(op)
        return True


canonicalizers = (
    # Merging is first: a chain of n blocks then needs n merges, without following the rest of the chain for each block.
    ConstantCondition, SameDestination, MergeWithOnlyPredecessor, ThroughEmptyBlock, ConditionKnownInSuccessor,
    SwitchOnConstant, CaseLikeDefault, SwitchAfterSwitch, BranchToUnreachable, AssertTrue,
)  # fmt: skip
"""The patterns of the dialect."""
