"""Canonicalization patterns of `nv_tileaa`: loops and branches with unnecessary early exits or carried values;
reductions of single elements."""

from __future__ import annotations

from tessera_tools.dialects import scf
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.dialects.nv_tileaa.control import Break, Continue, If, Loop, Yield
from tessera_tools.dialects.nv_tileaa.reductions import Reduce
from tessera_tools.dialects.nv_tileaa.structure import Return
from tessera_tools.dialects.nv_tileaa.tensors import Reshape, Unsplat
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.effects import is_left_early
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter


class IfWithConstantCondition(RewritePattern[If]):
    """A known condition leaves one region; if that one leaves, nothing after the `if` is reached."""

    # if true {a; yield x} else {b} = a, x;  if true {a; leave} else {b}; c = a; leave

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        truth = splat_of(constant_value(op.condition))
        if truth is None:
            return "the condition is not constant"
        region = op.then if truth else op.otherwise
        if not region.blocks:
            rewriter.erase_op(op)
            return True
        rewriter.inline_region(region, op, Yield)
        return True


class IfThatNothingLeaves(RewritePattern[If]):
    """A branch that is never left early is an `scf.if`."""

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        regions = [region for region in op.regions if region.blocks]
        if len(op.yields) < len(regions) or is_left_early(op):
            return "something leaves it"
        then, otherwise = (Region([Block()] if region.blocks else []) for region in op.regions)
        made = rewriter.insert(
            scf.If(
                op.condition, results=op.result_types, then=then, otherwise=otherwise, location=op.location
            )
        )
        for old, new in zip(op.regions, made.regions, strict=True):
            if old.blocks:
                last = old.entry.last_op
                assert last is not None
                values = last.operands
                location = last.location
                rewriter.erase_op(last)
                end = new.entry.append(scf.Yield(values, location=location))
                rewriter.inline_block_before(old.entry, end)
        rewriter.replace_op(op, made)
        return True


MOST_NESTED_RETURNS = 32
"""Levels of branches that early returns become: each pass takes as long as the branches are deep for each op."""


class WhatFollowsAReturn(RewritePattern[If]):
    """Where one region returns, the rest of the block is the end of the other region: agents have no early exits."""

    # if c {a; return}; b; return = if c {a} else {b}; return

    def match_and_rewrite(self, op: If, rewriter: Rewriter) -> bool | str | None:
        end = op.parent.last_op if op.parent is not None else None
        if not _only_returns(end):
            return "what its block ends with does not return without values"
        lasts = [region.entry.last_op if region.blocks else None for region in op.regions]
        returns = [isinstance(last, Return) for last in lasts]
        if sum(returns) != 1:
            return "not one of its regions returns"
        if _depth(op) >= MOST_NESTED_RETURNS:
            return "it is in too many branches"
        stays = returns.index(False)
        if not isinstance(lasts[stays], Yield | None):
            return "control does not come from its other region to what follows"
        regions = [Region([Block()]), Region([Block()])]
        made = rewriter.insert(
            If(op.condition, results=[], then=regions[0], otherwise=regions[1], location=op.location)
        )
        for old, last, new in zip(op.regions, lasts, made.regions, strict=True):
            yielded = new.entry.append(Yield([], location=(last or op).location))
            if last is None:
                continue
            for result, value in zip(op.results, last.operands, strict=isinstance(last, Yield)):
                rewriter.replace_all_uses(result, value)
            rewriter.erase_op(last)
            rewriter.inline_block_before(old.entry, yielded)
        place = made.regions[stays].entry.last_op
        assert place is not None
        while (following := op.next_op) is not None and following is not end:
            rewriter.move_before(following, place)
        rewriter.erase_op(op)
        return True


def _only_returns(end: Operation | None) -> bool:
    """Whether control reaches a return without values from the end of a block, with nothing between, and no values are
    yielded on the way: what defines them would move into a branch."""
    while isinstance(end, Yield | scf.Yield) and not end.operands and isinstance(end.parent_op, If | scf.If):
        end = end.parent_op.next_op
    return isinstance(end, Return) and not end.operands


def _depth(op: Operation) -> int:
    """How many ops are around an op, up to the most that are of interest."""
    depth, around = 0, op.parent_op
    while around is not None and depth < MOST_NESTED_RETURNS:
        depth, around = depth + 1, around.parent_op
    return depth


class LoopOfOneIteration(RewritePattern[Loop]):
    """A loop whose only end is a `break` after its body is that body."""

    def match_and_rewrite(self, op: Loop, rewriter: Rewriter) -> bool | str | None:
        last = op.body.entry.last_op
        if not isinstance(last, Break) or op.ends() != [last] or is_left_early(op):
            return "it may run again, or be left elsewhere"
        values, inits = last.operands, op.inits
        rewriter.erase_op(last)
        where: dict[Value, Value] = dict(zip(op.iter_args, inits, strict=True))
        rewriter.inline_block_before(op.body.entry, op, inits)
        rewriter.replace_op(op, [where.get(value, value) for value in values])
        return True


class CarriedValuesThatNothingNeeds(RewritePattern[Loop]):
    """A carried value that every `continue` passes on unchanged is its initial value; one that only `continue`s of
    its own place read needs not be carried; a result that nothing reads needs not be given."""

    # loop (a = x) {… continue a} = x for a;  loop (a = x) {… continue f(a)} = loop {… continue}, if nothing else uses a

    def match_and_rewrite(self, op: Loop, rewriter: Rewriter) -> bool | str | None:
        exits = op.ends()
        again = [end for end in exits if isinstance(end, Continue)]
        inits, arguments = op.inits, op.iter_args
        kept: list[int] = []
        for i, (init, argument) in enumerate(zip(inits, arguments, strict=True)):
            passed = [end.operand(i) for end in again]
            if all(value is argument or value is init for value in passed):
                rewriter.replace_all_uses(argument, init)
            elif any(use.owner not in again or use.index != i for use in argument.uses):
                kept.append(i)
        read = [i for i, result in enumerate(op.results) if result.has_uses]
        if len(kept) == len(inits) and len(read) == len(op.results):
            return "every carried value changes and is read"
        made = Loop(
            [inits[i] for i in kept],
            results=[op.results[i].type for i in read],
            body=Region([Block()]),
            attributes=dict(op.attributes),
        )
        target = made.body.entry
        places: list[Value] = list(inits)
        for i in kept:
            places[i] = target.add_argument(arguments[i].type, arguments[i].location)
            places[i].name_hint = arguments[i].name_hint
        for end in exits:
            wanted = kept if isinstance(end, Continue) else read
            with rewriter.modify(end):
                end.set_operands([end.operand(i) for i in wanted])
        rewriter.insert(made)
        rewriter.inline_block_at_end(op.body.entry, target, places)
        for new, i in zip(made.results, read, strict=True):
            new.name_hint = op.results[i].name_hint
            rewriter.replace_all_uses(op.results[i], new)
        rewriter.erase_op(op)
        return True


class ReductionOfSingleElements(RewritePattern[Reduce]):
    """An axis of one element is dropped: there is nothing to combine."""

    # reduce(x : NxMx1, axis 2) = reshape(x) : NxM

    def match_and_rewrite(self, op: Reduce, rewriter: Rewriter) -> bool | str | None:
        types = [source.type for source in op.sources]
        if types[0].shape[op.axis.value] != 1:
            return "there are several elements along the axis"
        if types[0].encoding is not None:
            return "layouts are assigned"
        whole = types[0].rank > 1
        made = []
        for source, result in zip(op.sources, op.results, strict=True):
            kind = Reshape if whole else Unsplat
            made.append(rewriter.insert(kind(source, res=result.type, location=op.location)).results[0])
        rewriter.replace_op(op, made)
        return True


canonicalizers = (
    IfWithConstantCondition,
    IfThatNothingLeaves,
    WhatFollowsAReturn,
    LoopOfOneIteration,
    CarriedValuesThatNothingNeeds,
    ReductionOfSingleElements,
)
"""The patterns of the dialect."""
