"""Endless loops that count are counted loops, whose iterations are known before they run.

    %r = nv_tileaa.loop (%i = %l, %a = %x) {
      %more = arith.cmpi slt, %i, %n                    %r = scf.for %i = %l to %n step %c1 iter_args(%a = %x) {
      nv_tileaa.if %more {} else { break %a }    ──▶      …
      …                                                   scf.yield %b
      %j = arith.addi %i, %c1                           }
      nv_tileaa.continue %j, %b
    }

A `while` of the source is then pipelined like a `for`.  Other loops are not changed.
"""

from __future__ import annotations

from tessera_tools.dialects import arith, scf
from tessera_tools.dialects.arith.attributes import INVERSE_PREDICATE
from tessera_tools.dialects.nv_tileaa.control import Break, Continue, If, Loop, Yield
from tessera_tools.ir.builtin_attributes import UNIT
from tessera_tools.ir.core import Block, Operation, Region, Value
from tessera_tools.ir.effects import is_left_early, is_pure
from tessera_tools.ir.folding import constant_integer, constant_value
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.ir.types import bit_width
from tessera_tools.records import dataclass


@dataclass
class _Count:
    """The counter of a loop: its carried value `at`, from its initial value to below `upper`, by `step`."""

    at: int
    upper: Value
    step: Value
    unsigned: bool
    branch: If
    given: list[Value]
    """What the loop's results are when it is left."""


class CountedLoop(RewritePattern[Loop]):
    """Converts a loop that first compares its counter with a bound, and increments it last, to an `scf.for`."""

    def match_and_rewrite(self, op: Loop, rewriter: Rewriter) -> bool | str | None:
        count = _count_of(op)
        if isinstance(count, str):
            return count
        for value in (count.upper, count.step):
            maker = value.defining_op
            if maker is not None and op.is_ancestor_of(maker):
                rewriter.move_before(maker, op)
        body, inits = op.body.entry, op.inits
        last = body.last_op
        assert last is not None
        types = [v.type for v in inits]
        made = scf.For(
            inits[count.at],
            count.upper,
            count.step,
            inits,
            UNIT if count.unsigned else None,
            results=types,
            body=Region([Block([types[count.at]])]),
            location=op.location,
        )
        made.attributes.update(op.discardable_attributes)
        target = made.body.entry
        places: list[Value] = []
        for argument in body.arguments:
            place = target.add_argument(argument.type, argument.location)
            place.name_hint = argument.name_hint
            places.append(place)
        target.arguments[0].name_hint = body.arguments[count.at].name_hint
        results: dict[Value, Value] = {argument: made.results[i] for i, argument in enumerate(body.arguments)}
        given = [results.get(value, value) for value in count.given]
        body.insert_before(last, scf.Yield(last.operands, location=last.location))
        rewriter.erase_op(last)
        rewriter.erase_op(count.branch)
        places[count.at] = target.arguments[0]
        rewriter.insert(made)
        rewriter.inline_block_at_end(body, target, places)
        rewriter.replace_op(op, given)
        return True


def _count_of(op: Loop) -> _Count | str:
    """The counter of the loop, or why it is not a counted loop."""
    body, exits = op.body.entry, op.ends()
    last = body.last_op
    breaks = [end for end in exits if isinstance(end, Break)]
    if len(exits) != 2 or len(breaks) != 1 or not isinstance(last, Continue) or is_left_early(op):
        return "it has several breaks or continues"
    branch = breaks[0].parent_op
    if not isinstance(branch, If) or branch.parent is not body or branch.results or not _is_lone(branch):
        return "a branch does more than to leave it"
    before = branch.prev_op
    while before is not None:
        if not is_pure(before):
            return "something happens before it is left"
        before = before.prev_op
    compare = branch.condition.defining_op
    if not isinstance(compare, arith.CmpI):
        return "the condition that ends it is not a comparison"
    word = compare.predicate_name
    if branch.then.entry.last_op is breaks[0]:
        word = INVERSE_PREDICATE[word]
    counter, upper = (compare.rhs, compare.lhs) if word in ("sgt", "ugt") else (compare.lhs, compare.rhs)
    if word not in ("slt", "ult", "sgt", "ugt") or counter not in body.arguments:
        return "it does not count up to a bound"
    at = next(i for i, argument in enumerate(body.arguments) if argument is counter)
    added = last.operand(at).defining_op
    if not isinstance(added, arith.AddI) or counter not in (added.lhs, added.rhs):
        return "it does not add to its counter"
    step = added.rhs if added.lhs is counter else added.lhs
    if not _is_known(upper, op) or any(
        not _is_outside(v, op) and v not in body.arguments for v in breaks[0].operands
    ):
        return "it ends with values of its own"
    if not _never_wraps(upper, step, word[0] == "u"):
        return "its counter may wrap"
    return _Count(at, upper, step, word[0] == "u", branch, breaks[0].operands)


def _is_lone(branch: If) -> bool:
    """True if each region has only a terminator, and one region continues."""
    blocks = [region.entry for region in branch.regions if region.blocks]
    return all(block.first_op is block.last_op for block in blocks) and (
        len(blocks) == 1 or any(isinstance(block.last_op, Yield) for block in blocks)
    )


def _is_outside(value: Value, op: Operation) -> bool:
    block = value.owner_block
    return block is not None and not op.is_ancestor_of(block.parent_op)


def _is_known(value: Value, op: Operation) -> bool:
    """True if the value is there before the loop, or may be: a constant."""
    return _is_outside(value, op) or constant_value(value) is not None


def _never_wraps(upper: Value, step: Value, unsigned: bool) -> bool:
    """True if a counter below `upper` fits its type with the step, a positive constant."""
    width = bit_width(step.type)
    by, bound = constant_integer(step), constant_integer(upper)
    if by is None or by < 1:
        return False
    if by == 1 or bound is None:
        return by == 1
    if unsigned:
        return bound % (1 << width) - 1 + by < 1 << width
    return bound - 1 + by < 1 << (width - 1)
