"""`loop-split`: splits a loop whose body compares its counter with a value into two loops without the comparison.

    for %i in (%lb to %ub, step %s) {          %m = min(%p, %ub)      %n = max(%p, %lb)
      %c = cmpi less_than %i, %p               for %i in (%lb to %m, step %s) { a }
      if %c { a } else { b }           ──▶     for %i in (%n to %ub, step %s) { b }
    }

For `<=` and `>` the split point is %p + 1; for a step other than one it is rounded up to the next value of the counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tessera_tools.dialects.cuda_tile.attributes import RoundingAttr, SignednessAttr
from tessera_tools.dialects.cuda_tile.bodies import Yield
from tessera_tools.dialects.cuda_tile.branches import splat
from tessera_tools.dialects.cuda_tile.control_flow import Continue, For, If, Reduce
from tessera_tools.dialects.cuda_tile.core_ops import Constant
from tessera_tools.dialects.cuda_tile.float_ops import MmaF
from tessera_tools.dialects.cuda_tile.integer_ops import AddI, CmpI, DivI, MaxI, MinI, MmaI, MulI, SubI
from tessera_tools.dialects.cuda_tile.memory import LoadPtrTko, StorePtrTko
from tessera_tools.dialects.cuda_tile.types import scalar
from tessera_tools.dialects.cuda_tile.views import LoadViewTko, StoreViewTko
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Block, IRMapping, Operation, Region, Value
from tessera_tools.ir.rewriter import InsertionPoint, Rewriter
from tessera_tools.ir.types import I1, bit_width
from tessera_tools.passes.base import Pass, PassContext, option
from tessera_tools.records import dataclass

__all__ = ["HINT", "LoopSplit"]

HINT = "cuda_tile.loop_split"
"""A discardable integer attribute of an `if`, `for` or kernel: the threshold for it and nested ops, 0 for never."""

_EXPENSIVE_OPS = (LoadPtrTko, LoadViewTko, StorePtrTko, StoreViewTko, MmaF, MmaI, Reduce, If, For)
_MIRRORED = {
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}


@dataclass(frozen=True, slots=True)
class _Split:
    """A split of a loop: `compare` is `counter predicate point`."""

    loop: For
    compare: CmpI
    predicate: str
    point: Value
    branches: tuple[If, ...]
    """The `if`s on the comparison directly in the loop's body."""
    keep_compare: bool
    """The comparison has other uses."""

    @property
    def then_is_second(self) -> bool:
        return self.predicate.startswith("greater")


@dataclass(frozen=True)
class LoopSplit(Pass):
    """Split counted loops at the point where a condition on their counter changes.

    A loop is split once, at the first `if` whose condition compares the counter, with the loop's signedness, to a value
    from outside by `<`, `<=`, `>` or `>=`. All `if`s on that comparison are resolved.
    """

    name = "loop-split"
    title = "LoopSplitPass"
    summary = "split loops where a condition on the induction variable changes"
    requires = "upper bound minus lower bound, plus one step, fits the induction variable's type"
    statistics: ClassVar[Mapping[str, str]] = {"num-split": "Number of loops split"}

    split_threshold: int = option(
        1,
        "minimum operations in a branch to split for, unless one is expensive; 1 splits always, 0 never",
    )

    def run(self, op: Operation, context: PassContext) -> bool:
        count = 0
        for loop in [inner for inner in op.walk(post_order=True) if isinstance(inner, For)]:
            for branch in [inner for inner in loop.walk(post_order=True) if isinstance(inner, If)]:
                found = _find(loop, branch, self._threshold(loop, branch))
                if not isinstance(found, str):
                    _perform(found)
                    count += 1
                    break
        context.count("num-split", count)
        return count > 0

    def _threshold(self, loop: Operation, branch: Operation) -> int:
        """The nearest hint: of the `if`, the loop or the kernel; otherwise the pass's option."""
        kernel = loop.parent_op
        while kernel is not None and kernel.attributes.get("function_type") is None:
            kernel = kernel.parent_op
        for op in (branch, loop, kernel):
            hint = op.attributes.get(HINT) if op is not None else None
            if isinstance(hint, IntegerAttr):
                return hint.value
        return self.split_threshold


def _find(loop: For, branch: If, threshold: int) -> _Split | str:
    """The split of `loop` for `branch`, or the reason why there is none."""
    if threshold <= 0:
        return "disabled by a hint"
    compare = branch.condition.defining_op
    if not isinstance(compare, CmpI) or compare.parent is not loop.body.entry:
        return "the condition is not a comparison in the loop's body"
    if compare.signedness.value != _signedness(loop).value:
        return "the comparison and the loop differ in signedness"
    predicate = compare.comparison_predicate.value
    if compare.lhs is loop.induction[0]:
        point = compare.rhs
    elif compare.rhs is loop.induction[0]:
        predicate, point = _MIRRORED.get(predicate, ""), compare.lhs
    else:
        return "the comparison is not with the loop's counter"
    if predicate not in _MIRRORED:
        return "the comparison may change more than once"
    home = point.owner_block
    if home is None or loop.body.is_ancestor_of(home.parent):
        return "the value that the counter is compared with changes in the loop"
    users = list(compare.result.users)
    ifs = [user for user in users if isinstance(user, If)]
    if not any(_is_profitable(user, threshold) for user in ifs):
        return "the branches have too few operations"
    direct = tuple(user for user in ifs if user.parent_op is loop)
    return _Split(loop, compare, predicate, point, direct, len(direct) < len(users))


def _is_profitable(branch: If, threshold: int) -> bool:
    if threshold == 1:
        return True
    for region in (branch.thenRegion, branch.elseRegion):
        ops = list(region.entry.operations) if region.blocks else []
        if len(ops) - 1 >= threshold or any(isinstance(op, _EXPENSIVE_OPS) for op in ops):
            return True
    return False


def _signedness(loop: For) -> SignednessAttr:
    return SignednessAttr("signed" if loop.unsignedCmp is None else "unsigned")


def _perform(split: _Split) -> None:
    loop = split.loop
    assert loop.parent is not None
    rewriter = Rewriter(InsertionPoint(loop.parent, loop), loop.location)
    sign = _signedness(loop)
    point = _aligned(rewriter, split, _first_after(rewriter, split))
    lower, upper = loop.lowerBound, loop.upperBound
    end = rewriter.insert(MinI(point, upper, sign, location=loop.location)).result
    start = rewriter.insert(MaxI(point, lower, sign, location=loop.location)).result
    first = _copy(rewriter, split, lower, end, list(loop.initValues), then=not split.then_is_second)
    second = _copy(rewriter, split, start, upper, list(first.results), then=split.then_is_second)
    rewriter.replace_op(loop, second)


def _first_after(rewriter: Rewriter, split: _Split) -> Value:
    """The first number for which the result of the comparison changes."""
    point, where = split.point, split.loop.location
    if split.predicate in ("less_than", "greater_than_or_equal"):
        return point
    kind = split.loop.step.type
    width = bit_width(kind.element)
    greatest = (1 << (width - 1)) - 1 if split.loop.unsignedCmp is None else (1 << width) - 1
    one = rewriter.insert(Constant(DenseElementsAttr.of(kind, [1]), result=kind, location=where)).result
    if splat(point) is None or splat(point) == greatest:
        # The greatest number needs no successor: the counter is below the upper bound.
        last = rewriter.insert(SubI(split.loop.upperBound, one, location=where)).result
        point = rewriter.insert(MinI(point, last, _signedness(split.loop), location=where)).result
    return rewriter.insert(AddI(point, one, location=where)).result


def _aligned(rewriter: Rewriter, split: _Split, point: Value) -> Value:
    """The first value of the counter that is at least `point`: lb + ceil((point - lb) / step) · step."""
    loop, where = split.loop, split.loop.location
    if splat(loop.step) == 1:
        return point
    if loop.unsignedCmp is not None:
        # Below the lower bound the difference would wrap around.
        point = rewriter.insert(MaxI(point, loop.lowerBound, _signedness(loop), location=where)).result
    distance = rewriter.insert(SubI(point, loop.lowerBound, location=where)).result
    up = RoundingAttr("positive_inf")
    count = rewriter.insert(DivI(distance, loop.step, _signedness(loop), rounding=up, location=where)).result
    whole = rewriter.insert(MulI(count, loop.step, location=where)).result
    return rewriter.insert(AddI(loop.lowerBound, whole, location=where)).result


def _copy(
    rewriter: Rewriter, split: _Split, lower: Value, upper: Value, inits: list[Value], *, then: bool
) -> Operation:
    """A copy of the loop with other bounds, in which the comparison is known to be `then`."""
    loop = split.loop
    source = loop.body.entry
    body = Block([argument.type for argument in source.arguments])
    mapping = IRMapping(dict(zip(source.arguments, body.arguments, strict=True)))
    for old, new in zip(source.arguments, body.arguments, strict=True):
        new.name_hint = old.name_hint
    for op in source.operations:
        if op is split.compare:
            if split.keep_compare:
                truth = DenseElementsAttr.of(scalar(I1), [int(then)])
                known = body.append(Constant(truth, result=scalar(I1), location=op.location))
                mapping.values[op.results[0]] = known.result
        elif isinstance(op, If) and op in split.branches:
            if not _copy_branch(op, body, mapping, then=then):
                break
        else:
            body.append(op.clone(mapping))
    made = For(
        lower, upper, loop.step, inits, loop.unsignedCmp, resultValues=loop.result_types, body=Region([body]),
        location=loop.location,
    )  # fmt: skip
    made.attributes.update(loop.discardable_attributes)
    for old, new in zip(loop.results, made.results, strict=True):
        new.name_hint = old.name_hint
    return rewriter.insert(made)


def _copy_branch(branch: If, body: Block, mapping: IRMapping, *, then: bool) -> bool:
    """Append a copy of one region of an `if`; False if it continues with the next iteration."""
    region = branch.thenRegion if then else branch.elseRegion
    for op in region.entry.operations if region.blocks else ():
        if isinstance(op, Yield):
            for result, value in zip(branch.results, op.operands, strict=True):
                mapping.values[result] = mapping.value(value)
            return True
        body.append(op.clone(mapping))
        if isinstance(op, Continue):
            return False
    return True
