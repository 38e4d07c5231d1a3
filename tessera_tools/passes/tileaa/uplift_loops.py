"""tileaa-uplift-loops: endless loops that count become counted loops, whose iterations are known before they run.

    %r = nv_tileaa.loop (%i = %l, %a = %x) {
      %more = arith.cmpi slt, %i, %n                    %r = scf.for %i = %l to %n step %s iter_args(%a = %x) {
      nv_tileaa.if %more {} else { break %a }    ──▶      …
      …                                                   scf.yield %b
      %j = arith.addi %i, %s                            }
      nv_tileaa.continue %j, %b
    }

A `while` of the source is then pipelined like a `for`, and agents may run it.  The condition may have several parts:

    %more = %i < %n and %i < %m        the upper bound is the smaller one
            %i >= %k, or without %i    what holds for the first iteration holds for the others: else the loop is empty

A counter that wraps around may be in the range again.  Where neither the facts nor a lower bound exclude it, an
assertion after the loop does: that the condition of the loop is false for the last counter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa, scf
from tessera_tools.dialects.arith.attributes import INVERSE_PREDICATE, SWAPPED_PREDICATE
from tessera_tools.dialects.scf.carried import is_outside
from tessera_tools.ir.builtin_attributes import UNIT, IntegerAttr, StringAttr
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.effects import is_left_early, is_pure
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.types import bit_width
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.records import dataclass, field

MOST_PARTS = 16
"""Parts of a condition; one with more is not taken apart."""
_MOST_PENDING = 64
"""Operands that wait, at most, while what computes a bound is followed."""
WRAPPED = "the counter of a loop wraps around, and the loop would go on"


class UpliftLoops(Pass):
    """Convert loops that first compare their counter, and increment it last, to `scf.for`."""

    name: ClassVar = "tileaa-uplift-loops"
    summary: ClassVar = "convert loops that count to scf.for"
    requires: ClassVar = "nv_tileaa ops"
    ensures: ClassVar = "no nv_tileaa.loop compares a counter with bounds from outside, and ends there only"
    statistics: ClassVar = {"uplifted": "loops converted to scf.for"}

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        # Facts of values that stay hold, and those of an outer loop's counter help the loops within.
        facts = Facts()
        for loop in [inner for inner in op.walk() if isinstance(inner, nv_tileaa.Loop)]:
            found = _Count.of(loop, facts)
            if isinstance(found, str):
                context.missed(
                    loop, f"the loop does not become a counted one: {found}", "counted", "schedule"
                )
                continue
            changed = True
            context.count("uplifted")
            found.uplift()
        return changed


@dataclass
class _Part:
    """A part of the condition under which a loop goes on: `counter predicate bound`, or what the loop does not change.

    Without a bound, `value` is an i1 from outside the loop, inverted if `negated`.
    """

    value: Value
    negated: bool
    predicate: str = ""
    bound: Value | None = None

    def holds(self, counter: Value, at: Builder) -> Value:
        """Whether it holds for a value of the counter."""
        if self.bound is not None:
            return at.insert(arith.CmpI.of(self.predicate, counter, self.bound)).result
        if not self.negated:
            return self.value
        return at.insert(arith.XOrI(self.value, _constant(1, self.value, at))).result


@dataclass
class _Count:
    """The counter of a loop: its carried value `at`, which starts below all upper bounds, and is incremented by
    `step`."""

    loop: nv_tileaa.Loop
    at: int
    step: Value
    branch: nv_tileaa.If
    given: Sequence[Value]
    """What the loop's results are when it is left."""
    parts: list[_Part]
    hoisted: list[Operation] = field(default_factory=list[Operation])
    """What the loop computes in each iteration, and is needed before."""
    may_go_on: bool = True
    """Whether a counter that wrapped around might be in the range again."""

    @property
    def uppers(self) -> list[_Part]:
        return [part for part in self.parts if part.predicate[1:] in ("lt", "le")]

    @property
    def is_unsigned(self) -> bool:
        return self.uppers[0].predicate[0] == "u"

    @property
    def largest(self) -> int:
        """The largest number of the counter's type."""
        return (1 << (bit_width(self.step.type) - (not self.is_unsigned))) - 1

    @staticmethod
    def of(loop: nv_tileaa.Loop, facts: Facts) -> _Count | str:
        """The counter of the loop, or why it has none."""
        body, exits = loop.body.entry, loop.ends()
        last = body.last_op
        breaks = [end for end in exits if isinstance(end, nv_tileaa.Break)]
        if (
            len(exits) != 2
            or len(breaks) != 1
            or not isinstance(last, nv_tileaa.Continue)
            or is_left_early(loop)
        ):
            return "it is left or continued at several places"
        branch = breaks[0].parent_op
        if not isinstance(branch, nv_tileaa.If) or branch.parent is not body or not _is_lone(branch):
            return "the branch that leaves it does more"
        before = branch.prev_op
        while before is not None:
            if not is_pure(before):
                return f"'{before.name}' is executed before it is left"
            before = before.prev_op
        if any(not is_outside(v, loop) and v not in body.arguments for v in breaks[0].operands):
            return "its results are computed in its last iteration"
        leaves_if_true = branch.then.entry.last_op is breaks[0]
        return _counter(loop, branch, breaks[0].operands, _parts(branch.condition, leaves_if_true), facts)

    def uplift(self) -> None:
        """Replace the loop by an `scf.for`, with an assertion behind it if it may go on."""
        loop, body, inits = self.loop, self.loop.body.entry, self.loop.inits
        for op in self.hoisted:
            op.move_before(loop)
        at = Builder.before(loop)
        start, counter, last = inits[self.at], body.arguments[self.at], body.last_op
        assert last is not None
        upper = self._upper(start, at)
        # The counter of the loop is its induction variable; its last value is carried where a result needs it.
        kept = [i for i in range(len(inits)) if i != self.at or counter in self.given]
        made = scf.For(
            start,
            upper,
            self.step,
            [inits[i] for i in kept],
            UNIT if self.is_unsigned else None,
            results=[inits[i].type for i in kept],
            body=Region([Block([counter.type])]),
            location=loop.location,
        )
        made.attributes.update(loop.discardable_attributes)
        target = made.body.entry
        target.arguments[0].name_hint = counter.name_hint
        counter.replace_all_uses_with(target.arguments[0])
        ends: dict[Value, Value] = {}
        for i, result in zip(kept, made.results, strict=True):
            argument, place = body.arguments[i], target.add_argument(inits[i].type)
            place.name_hint = argument.name_hint
            ends[argument] = result
            argument.replace_all_uses_with(place)
        given = [ends.get(value, value) for value in self.given]
        increment = last.operand(self.at).defining_op
        body.insert_before(last, scf.Yield([last.operand(i) for i in kept], location=last.location))
        last.erase()
        if increment is not None and not increment.results[0].has_uses:
            increment.erase()
        _erase(self.branch)
        for op in list(body):
            op.detach()
            target.append(op)
        at.insert(made)
        if self.may_go_on:
            self._assert_end(ends[counter] if counter in ends else self._last(start, upper, at), at)
        for result, value in zip(loop.results, given, strict=True):
            result.replace_all_uses_with(value)
        loop.erase()

    def _upper(self, start: Value, at: Builder) -> Value:
        """The upper bound: below the first counter if there is no iteration."""
        least: Value | None = None
        for part in self.uppers:
            bound = part.bound
            assert bound is not None
            if part.predicate.endswith("le"):
                bound = at.insert(arith.AddI(bound, _constant(1, bound, at))).result
            kind = arith.MinUI if self.is_unsigned else arith.MinSI
            least = bound if least is None else at.insert(kind(least, bound)).result
        assert least is not None
        uppers = self.uppers
        others = [part.holds(start, at) for part in self.parts if part not in uppers]
        return at.insert(arith.Select(_all(others, at), least, start)).result if others else least

    def _last(self, start: Value, upper: Value, at: Builder) -> Value:
        """The last counter: the first one from `start` on, by steps, that is not below the upper bound."""
        one = _constant(1, start, at)
        span = at.insert(arith.SubI(at.insert(arith.SubI(upper, start)).result, one)).result
        trips = at.insert(arith.AddI(at.insert(arith.DivUI(span, self.step)).result, one)).result
        reached = at.insert(arith.AddI(start, at.insert(arith.MulI(trips, self.step)).result)).result
        any_ = at.insert(arith.CmpI.of("ult" if self.is_unsigned else "slt", start, upper)).result
        return at.insert(arith.Select(any_, reached, start)).result

    def _assert_end(self, counter: Value, at: Builder) -> None:
        again = _all([part.holds(counter, at) for part in self.parts], at)
        ended = at.insert(arith.XOrI(again, _constant(1, again, at))).result
        at.insert(nv_tileaa.Assert(ended, StringAttr(WRAPPED)))


def _counter(
    loop: nv_tileaa.Loop,
    branch: nv_tileaa.If,
    given: Sequence[Value],
    conditions: Sequence[tuple[Value, bool]] | None,
    facts: Facts,
) -> _Count | str:
    """The counter that is compared with upper bounds, if the rest of the condition is known before the loop."""
    if conditions is None:
        return "its condition has too many parts"
    steps = _steps(loop)
    parts: list[_Part] = []
    counters: dict[int, None] = {}
    hoisted: dict[Operation, None] = {}
    for value, negated in conditions:
        compared = _compared(value, negated, loop, steps)
        if compared is not None:
            at, part = compared
            counters[at] = None
        else:
            part = _Part(value, negated)
        known = part.bound if part.bound is not None else value
        if not _hoist(known, loop, branch, hoisted):
            return "a part of its condition cannot be computed before it"
        parts.append(part)
    if len(counters) != 1:
        return "its condition does not compare a counter"
    [at] = counters
    count = _Count(loop, at, steps[at], branch, given, parts)
    if not count.uppers:
        return "its counter has no upper bound"
    if len({part.predicate[:1] for part in parts if part.bound is not None}) > 1:
        return "its counter is compared as a signed and as an unsigned number"
    if not _hoist(count.step, loop, branch, hoisted):
        return "the step of its counter cannot be computed before it"
    if facts.fact(count.step).lower < 1:
        return "the step of its counter is not known to be positive"
    count.hoisted = list(hoisted)
    endless = any(part.predicate.endswith("le") and _most(part, facts) >= count.largest for part in parts)
    if endless and sum(part.bound is not None for part in parts) > 1:
        return "a bound of its counter may be the largest number, which it may be itself"
    count.may_go_on = endless or _may_go_on(count, facts)
    return count


def _steps(loop: nv_tileaa.Loop) -> dict[int, Value]:
    """Carried value → what each iteration adds to it, for those that only count."""
    last = loop.body.entry.last_op
    assert last is not None
    found: dict[int, Value] = {}
    for i, argument in enumerate(loop.iter_args):
        added = last.operand(i).defining_op
        if isinstance(added, arith.AddI) and argument in (added.lhs, added.rhs):
            found[i] = added.rhs if added.lhs is argument else added.lhs
    return found


def _compared(
    value: Value, negated: bool, loop: nv_tileaa.Loop, steps: Iterable[int]
) -> tuple[int, _Part] | None:
    """A comparison of a counter of the loop, on its left side, with a bound; the counter's number."""
    op = value.defining_op
    if not isinstance(op, arith.CmpI):
        return None
    predicate = INVERSE_PREDICATE[op.predicate_name] if negated else op.predicate_name
    for one, other, word in ((op.lhs, op.rhs, predicate), (op.rhs, op.lhs, SWAPPED_PREDICATE[predicate])):
        at = next((i for i in steps if one is loop.iter_args[i]), None)
        if at is not None and word[1:] in ("lt", "le", "gt", "ge"):
            return at, _Part(value, negated, word, other)
    return None


def _parts(condition: Value, negated: bool) -> list[tuple[Value, bool]] | None:
    """The values that all hold, inverted or not, if the condition does, or if it does not (`negated`); None if there
    are too many."""
    found: list[tuple[Value, bool]] = []
    pending = [(condition, negated)]
    while pending:
        if len(found) + len(pending) > MOST_PARTS:
            return None
        value, inverted = pending.pop(0)
        op = value.defining_op
        if isinstance(op, arith.XOrI) and constant_integer(op.rhs) in (1, -1):
            pending.insert(0, (op.lhs, not inverted))
        elif isinstance(op, arith.OrI if inverted else arith.AndI):
            pending[:0] = [(operand, inverted) for operand in op.operands]
        elif (both := _branches(value, inverted)) is not None:
            pending[:0] = [(part, inverted) for part in both]
        else:
            found.append((value, inverted))
    return found


def _branches(value: Value, inverted: bool) -> tuple[Value, Value] | None:
    """A value that a branch chooses, as a conjunction: `c ? x : false`; inverted, as a disjunction: `c ? true : x`."""
    op = value.defining_op
    if isinstance(op, arith.Select):
        condition, (chosen, other) = op.condition, op.operands[1:]
    elif isinstance(op, scf.If) and is_pure(op) and op.otherwise.blocks:
        number = next(i for i, result in enumerate(op.results) if result is value)
        ends = [region.entry.last_op for region in (op.then, op.otherwise)]
        condition = op.condition
        chosen, other = (end.operand(number) for end in ends if end is not None)
    else:
        return None
    if inverted:
        chosen, other = other, chosen
    is_fixed = other is condition or constant_integer(other) in ((1, -1) if inverted else (0,))
    return (condition, chosen) if is_fixed else None


def _is_lone(branch: nv_tileaa.If) -> bool:
    """True if each region has only a terminator, and one region continues."""
    blocks = [region.entry for region in branch.regions if region.blocks]
    return (
        not branch.results
        and all(block.first_op is block.last_op for block in blocks)
        and (len(blocks) == 1 or any(isinstance(block.last_op, nv_tileaa.Yield) for block in blocks))
    )


def _hoist(value: Value, loop: Operation, branch: Operation, hoisted: dict[Operation, None]) -> bool:
    """Whether a value is there before the loop, or can be: with the ops that would have to move, in order.

    What the loop computes before the branch that leaves it, it computes at least once.
    """
    pending = [value]
    while pending:
        maker = pending[-1].defining_op
        if is_outside(pending[-1], loop) or maker in hoisted:
            pending.pop()
            continue
        if maker is None or maker.regions or not is_pure(maker):
            return False
        runs = maker.parent is branch.parent and maker.is_before_in_block(branch)
        if not (runs or maker.is_speculatable()):
            return False
        missing = [v for v in maker.operands if not is_outside(v, loop) and v.defining_op not in hoisted]
        if not missing:
            hoisted[maker] = None
        elif len(pending) + len(missing) > _MOST_PENDING:
            return False
        pending += missing
    return True


def _most(part: _Part, facts: Facts) -> int:
    """The largest value that a bound may have, read as the comparison does."""
    assert part.bound is not None
    known = facts.fact(part.bound)
    unsigned = part.predicate[0] == "u" and known.lower < 0
    return (1 << bit_width(part.bound.type)) - 1 if unsigned else known.upper


def _may_go_on(count: _Count, facts: Facts) -> bool:
    """Whether the counter may pass all upper bounds, wrap around, and be in the range again."""
    step = facts.fact(count.step).upper
    for part in count.uppers:
        ahead = step - (not part.predicate.endswith("le"))
        if _most(part, facts) + ahead <= count.largest:
            return False
    # One that wraps around is less than the smallest number plus the step.
    smallest = 0 if count.is_unsigned else -count.largest - 1
    for part in count.parts:
        if part.bound is not None and part.predicate[1:] in ("gt", "ge"):
            known = facts.fact(part.bound).lower + (part.predicate[1:] == "gt")
            if (known >= 0 or not count.is_unsigned) and known >= smallest + step - 1:
                return False
    return True


def _constant(number: int, like: Value, at: Builder) -> Value:
    return at.insert(arith.Constant(IntegerAttr.wrap(number, like.type))).result


def _all(conditions: Sequence[Value], at: Builder) -> Value:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = at.insert(arith.AndI(whole, condition)).result
    return whole


def _erase(branch: nv_tileaa.If) -> None:
    """Erase the branch, and what has computed only its condition."""
    before = branch.prev_op
    branch.erase()
    while before is not None:
        earlier = before.prev_op
        if not any(result.has_uses for result in before.results):
            before.erase()
        before = earlier
