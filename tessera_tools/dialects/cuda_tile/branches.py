"""Canonicalization patterns of `cuda_tile.if`.

A region of an `if` ends in `yield`, or leaves for good: in `return`, `break` or `continue`, after which nothing that
follows the `if` in its block runs.

    if known               ─▶ replaced by one region (and the following ops are erased if that region exits)
    values from outside    ─▶ select
    two ifs, one condition ─▶ one if          if in if ─▶ one if of both conditions
"""

from __future__ import annotations

from tessera_tools.dialects.cuda_tile.bodies import Yield
from tessera_tools.dialects.cuda_tile.constraints import F4E2M1FN
from tessera_tools.dialects.cuda_tile.control_flow import Break, Continue, If
from tessera_tools.dialects.cuda_tile.core_ops import Broadcast, Constant, Reshape, Select
from tessera_tools.dialects.cuda_tile.integer_ops import AndI, XOrI
from tessera_tools.dialects.cuda_tile.structure import Return
from tessera_tools.dialects.cuda_tile.types import TileType, i1_like
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr
from tessera_tools.ir.core import Operation, OpResult, Region, Value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import I1, element_type


def splat(value: Value) -> int | None:
    """The bits of each element of a constant whose elements are all equal; None for other values."""
    op = value.defining_op
    if isinstance(op, Constant) and isinstance(op.value, DenseElementsAttr) and op.value.is_splat:
        return op.value.bits()[0]
    return None


def truth(value: Value) -> bool | None:
    """The value of a constant condition (all elements equal); None for other values."""
    return (
        bool(splat(value))
        if isinstance(value.type, TileType) and value.type.element is I1 and splat(value) is not None
        else None
    )


def negated(value: Value) -> Value | None:
    """x, if the value is `xori x, true`."""
    op = value.defining_op
    return op.lhs if isinstance(op, XOrI) and truth(op.rhs) is True else None


def make_not(rewriter: Rewriter, value: Value) -> Value:
    """`xori value, true`."""
    assert isinstance(value.type, TileType)
    ones = rewriter.insert(
        Constant(DenseElementsAttr.of(value.type, [1]), result=value.type, location=rewriter.location)
    )
    return rewriter.insert(XOrI(value, ones.result, location=rewriter.location)).result


def make_select(rewriter: Rewriter, condition: Value, yes: Value, no: Value) -> Value:
    """`select` by a scalar condition, which is spread over the tiles' shape."""
    wanted = i1_like(yes.type)
    assert isinstance(wanted, TileType)
    where = rewriter.location
    if wanted is not condition.type:
        ones = TileType((1,) * len(wanted.shape), I1)
        condition = rewriter.insert(Reshape(condition, result=ones, location=where)).result
        if ones is not wanted:
            condition = rewriter.insert(Broadcast(condition, result=wanted, location=where)).result
    return rewriter.insert(Select(condition, yes, no, location=where)).result


def leaves(region: Region) -> bool:
    """True if the region ends in `return`, `break` or `continue`."""
    return bool(region.blocks) and isinstance(region.entry.last_op, Return | Break | Continue)


def yielded(region: Region) -> list[Value] | None:
    """The values of the region's `yield`; None if it exits or is absent."""
    last = region.entry.last_op if region.blocks else None
    return list(last.operands) if isinstance(last, Yield) else None


def move(source: Region, target: Region, rewriter: Rewriter) -> None:
    """Move the blocks of one region into another, which is empty."""
    rewriter.inline_region_before(source, target)


def new_if(rewriter: Rewriter, like: Operation, condition: Value, types: list[Type]) -> If:
    """An `if` without blocks, inserted before `like`."""
    rewriter.set_before(like)
    return rewriter.insert(
        If(condition, outputs=types, thenRegion=Region(), elseRegion=Region(), location=like.location)
    )


def set_yield(region: Region, values: list[Value], rewriter: Rewriter) -> None:
    """Replace the values of the region's `yield`; nothing if it exits."""
    last = region.entry.last_op
    if isinstance(last, Yield):
        with rewriter.modify(last):
            last.set_operands(values)


class IfKnown(RewritePattern[If]):
    """A known condition leaves one region."""

    # if true {a} else {b} = a;  if false {a} else {b} = b

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        condition = truth(op.condition)
        if condition is None:
            return "the condition is not constant"
        region = op.thenRegion if condition else op.elseRegion
        if region.blocks:
            rewriter.inline_region(region, op, Yield)
        else:
            rewriter.erase_op(op)
        return True


class IfOfNot(RewritePattern[If]):
    """A negated condition swaps the regions."""

    # if !c {a} else {b} = if c {b} else {a}

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        inner = negated(op.condition)
        if inner is None or not op.elseRegion.blocks:
            return "the condition is not a negation, or there is no else"
        with rewriter.modify(op):
            op.set_operand(0, inner)
            then, other = list(op.thenRegion.blocks), list(op.elseRegion.blocks)
            op.thenRegion.blocks, op.elseRegion.blocks = [], []
            for target, blocks in ((op.thenRegion, other), (op.elseRegion, then)):
                for block in blocks:
                    block.parent = None
                    target.append(block)
        return True


class IfUnusedResults(RewritePattern[If]):
    """Results without a use are not given."""

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        kept = [result for result in op.results if result.has_uses]
        if len(kept) == len(op.results):
            return "every result is used"
        made = new_if(rewriter, op, op.condition, [result.type for result in kept])
        for source, target in ((op.thenRegion, made.thenRegion), (op.elseRegion, made.elseRegion)):
            values = yielded(source)
            if values is not None:
                set_yield(source, [values[result.index] for result in kept], rewriter)
            move(source, target, rewriter)
        for old, new in zip(kept, made.results, strict=True):
            new.name_hint = old.name_hint
            rewriter.replace_all_uses(old, new)
        rewriter.erase_op(op)
        return True


class IfYieldsCondition(RewritePattern[If]):
    """A result that is the same in both regions, or the condition or its negation, is that value."""

    # (if c {x} else {x}) = x;  (if c {true} else {false}) = c;  (if c {false} else {true}) = !c

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        yes, no = yielded(op.thenRegion), yielded(op.elseRegion)
        if yes is None or no is None:
            return "a region exits, or there is no else"
        changed = False
        for result, left, right in zip(op.results, yes, no, strict=True):
            if not result.has_uses:
                continue
            if left is right:
                rewriter.replace_all_uses(result, left)
                changed = True
            elif result.type is op.condition.type and {truth(left), truth(right)} == {True, False}:
                value = op.condition if truth(left) else make_not(rewriter, op.condition)
                rewriter.replace_all_uses(result, value)
                changed = True
        return changed or "no result is known"


class IfToSelect(RewritePattern[If]):
    """A value from outside needs no `if`; if one region exits, later ops only see the other's values."""

    # (if c {x} else {y}) = select(c, x, y) for x and y defined outside;  (if c {x} else {return}) = x

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        yes, no = yielded(op.thenRegion), yielded(op.elseRegion)
        if not op.results or (yes is None and no is None):
            return "nothing is given"
        if not all(isinstance(result.type, TileType) for result in op.results):
            return "a result is not a tile, which select cannot give"
        left = yes if yes is not None else no
        right = no if no is not None else yes
        assert left is not None and right is not None

        def inside(value: Value) -> bool:
            home = value.owner_block.parent if value.owner_block is not None else None
            return home is op.thenRegion or home is op.elseRegion

        def stays(a: Value, b: Value) -> bool:
            # Select does not support sub-byte elements.
            return inside(a) or inside(b) or (a is not b and element_type(a.type) is F4E2M1FN)

        kept = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if stays(a, b)]
        if len(kept) == len(left):
            return "every value is computed in a region, or select does not take it"
        rewriter.set_before(op)
        values: list[Value] = []
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            if i in kept or a is b:
                values.append(a)
            else:
                values.append(make_select(rewriter, op.condition, a, b))
        made = new_if(rewriter, op, op.condition, [op.results[i].type for i in kept])
        for i, result in zip(kept, made.results, strict=True):
            values[i] = result
        for source, target in ((op.thenRegion, made.thenRegion), (op.elseRegion, made.elseRegion)):
            given = yielded(source)
            if given is not None:
                set_yield(source, [given[i] for i in kept], rewriter)
            move(source, target, rewriter)
        rewriter.replace_op(op, values)
        return True


class IfEmptyElse(RewritePattern[If]):
    """An else region without operations goes."""

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        if op.results or yielded(op.elseRegion) is None or len(op.elseRegion.entry) != 1:
            return "the else region has operations"
        with rewriter.modify(op):
            rewriter.erase_block(op.elseRegion.entry)
        return True


class IfThenIf(RewritePattern[If]):
    """Two `if`s in a row of one condition, or of a condition and its negation, are one."""

    # if c {a} else {b}; if c {d} else {e} = if c {a; d} else {b; e}

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        first = op.prev_op
        if not isinstance(first, If):
            return "there is no if before it"
        if op.condition is first.condition:
            then, other = op.thenRegion, op.elseRegion
        elif negated(op.condition) is first.condition or negated(first.condition) is op.condition:
            then, other = op.elseRegion, op.thenRegion
        else:
            return "the conditions are not known to agree"
        then_follows = bool(then.blocks) and not leaves(first.thenRegion)
        else_follows = bool(other.blocks) and not leaves(first.elseRegion)
        if not then_follows and not else_follows:
            return "no region follows another"
        for region, follows, values in (
            (then, then_follows, yielded(first.thenRegion)),
            (other, else_follows, yielded(first.elseRegion)),
        ):
            if follows and values is not None:
                _use_inside(first, region, values, rewriter)
        types = [*first.result_types, *op.result_types]
        made = new_if(rewriter, op, first.condition, types)
        move(first.thenRegion, made.thenRegion, rewriter)
        move(first.elseRegion, made.elseRegion, rewriter)
        if then_follows:
            _append(made.thenRegion, then, rewriter)
        if else_follows:
            _append(made.elseRegion, other, rewriter)
        count = len(first.results)
        rewriter.replace_op(first, made.results[:count])
        rewriter.replace_op(op, made.results[count:])
        return True


def _use_inside(op: Operation, region: Region, values: list[Value], rewriter: Rewriter) -> None:
    """Make the uses of the results of `op` inside `region` refer to `values`."""
    for result, value in zip(op.results, values, strict=True):
        for use in list(result.uses):
            home = use.owner.parent.parent if use.owner.parent is not None else None
            if region.is_ancestor_of(home):
                with rewriter.modify(use.owner):
                    use.set(value)


def _append(target: Region, source: Region, rewriter: Rewriter) -> None:
    """Let the only block of `source` follow that of `target`; both yields become one, if neither leaves."""
    if not target.blocks:
        move(source, target, rewriter)
        return
    values = yielded(target) or []
    last = target.entry.last_op
    assert last is not None
    rewriter.erase_op(last)
    rewriter.inline_block_at_end(source.entry, target.entry)
    more = yielded(target)
    if more is not None:
        set_yield(target, [*values, *more], rewriter)


class IfInIf(RewritePattern[If]):
    """Merges an `if` that contains only another one."""

    # if a { if b {x} } = if (a and b) {x}

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        given = yielded(op.thenRegion)
        inner = op.thenRegion.entry.first_op if op.thenRegion.blocks else None
        if given is None or not isinstance(inner, If) or inner.next_op is not op.thenRegion.entry.last_op:
            return "the then region holds more than an if"
        for region in (op.elseRegion, inner.elseRegion):
            if region.blocks and (yielded(region) is None or len(region.entry) != 1):
                return "an else region has operations"
        if leaves(inner.thenRegion) and (op.elseRegion.blocks or inner.elseRegion.blocks):
            return "it exits, with an else region"
        other, inner_no = yielded(op.elseRegion) or [], yielded(inner.elseRegion) or []
        values = list(given)
        chosen: list[int] = []
        for i, value in enumerate(given):
            if isinstance(value, OpResult) and value.op is inner:
                position = value.index
                if inner_no[position] is not other[i]:
                    return "the two else regions give different values"
                values[i] = (yielded(inner.thenRegion) or [])[position]
            elif not isinstance(value.type, TileType):
                return "a value is not a tile, which select cannot give"
            else:
                chosen.append(i)
        rewriter.set_before(op)
        both = rewriter.insert(AndI(op.condition, inner.condition, location=op.location)).result
        selected: dict[int, Value] = {
            i: make_select(rewriter, op.condition, given[i], other[i]) for i in chosen
        }
        made = new_if(rewriter, op, both, op.result_types)
        move(inner.thenRegion, made.thenRegion, rewriter)
        set_yield(made.thenRegion, values, rewriter)
        if other:
            move(op.elseRegion, made.elseRegion, rewriter)
        results: list[Value] = list(made.results)
        for i, value in selected.items():
            results[i] = value
        rewriter.replace_op(op, results)
        return True


class IfExitsBothWays(RewritePattern[If]):
    """If both regions exit, the else region replaces the following ops, which never run."""

    # if c {…; return} else {b; return}; rest = if c {…; return}; b; return

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        if not leaves(op.thenRegion) or not leaves(op.elseRegion):
            return "a region continues"
        made = new_if(rewriter, op, op.condition, [])
        move(op.thenRegion, made.thenRegion, rewriter)
        rewriter.inline_region(op.elseRegion, op, Yield)
        return True


IF_PATTERNS = (
    IfOfNot, IfUnusedResults, IfYieldsCondition, IfKnown, IfToSelect, IfEmptyElse, IfThenIf, IfInIf, IfExitsBothWays,
)  # fmt: skip
"""The patterns of `if`."""
