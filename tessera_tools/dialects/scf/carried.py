"""Patterns for the values that `scf` ops pass into their regions and return as results.

    %r:2 = scf.for … iter_args(%a = %x, %b = %y) {      places:  0: init %x, yielded %a ─▶ %a, %r#0
      scf.yield %a, %v                                            1: init %y, yielded %v ─▶ %b, %r#1
    }

A value that can only be one value from outside is that value; of two that are always equal, one is enough; a place
whose values are never read is removed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

from tessera_tools.dialects.scf.ops import ExecuteRegion, For, If, IndexSwitch, While, Yield
from tessera_tools.ir.core import Operation, OpResult, Region, Value
from tessera_tools.ir.flow import flow_of
from tessera_tools.ir.interfaces import HasFlow
from tessera_tools.ir.rewriter import RewritePattern, Rewriter
from tessera_tools.records import dataclass, field


def flow_inside(op: Operation) -> dict[Value, list[Value]]:
    """The flow of an `scf` op; the results of a loop that runs at least once are what it yields."""
    if not isinstance(op, For | While | If | IndexSwitch | ExecuteRegion):
        return {}
    flow = dict(flow_of(op))
    if isinstance(op, For) and op.runs:
        flow |= {r: [value] for r, value in zip(op.results, op.yielded, strict=True)}
    return flow


def is_outside(value: Value, op: Operation) -> bool:
    """True if a value is available before an op."""
    block = value.op.parent if isinstance(value, OpResult) else value.block  # type: ignore[attr-defined]
    return not (isinstance(value, OpResult) and value.op is op) and not any(
        region.is_ancestor_of(block.parent if block is not None else None) for region in op.regions
    )


class ValuesFromOutside(RewritePattern[Operation]):
    """A carried value or result that can only take one value from outside is that value."""

    # for iter_args(a = x) {… yield a} = x;  if c {… yield x} else {… yield x} = x
    # for iter_args(a = x, b = x) {… yield b, a}: a = b = x

    op_class: ClassVar = HasFlow

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        flow = flow_inside(op)
        changed = False
        for target in flow:
            if not target.has_uses:
                continue
            met, outside, work = {target}, set[Value](), [target]
            while work and len(outside) < 2:
                for source in flow[work.pop()]:
                    if source not in flow:
                        outside.add(source)
                    elif source not in met:
                        met.add(source)
                        work.append(source)
            if len(outside) == 1 and is_outside(only := outside.pop(), op):
                rewriter.replace_all_uses(target, only)
                changed = True
        return changed or "every value may be one of several"


class EqualCarriedValues(RewritePattern[Operation]):
    """Of two carried values or results that always take equal values, one is enough."""

    # for iter_args(a = x, b = x) {… yield f(a), f(a)}: b = a

    op_class: ClassVar = HasFlow

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        flow = flow_inside(op)
        # All places of one block or of the results are equal at first; then those that take other values part.
        kind: Mapping[Value, Hashable] = {
            target: (op if isinstance(target, OpResult) else target.block, target.type)  # type: ignore[attr-defined]
            for target in flow
        }
        count = len(set(kind.values()))
        while True:
            finer = {t: (kind[t], *(kind.get(s, s) for s in sources)) for t, sources in flow.items()}
            numbers = {key: i for i, key in enumerate(dict.fromkeys(finer.values()))}
            if len(numbers) == count:
                break
            kind, count = {t: numbers[key] for t, key in finer.items()}, len(numbers)
        first: dict[Hashable, Value] = {}
        changed = False
        for target, key in kind.items():
            kept = first.setdefault(key, target)
            if kept is not target and target.has_uses:
                rewriter.replace_all_uses(target, kept)
                changed = True
        return changed or "all values differ"


@dataclass(eq=False)
class Place:
    """A position of a value that an op takes and returns."""

    targets: list[Value]
    feeds: list[tuple[Operation, int]] = field(default_factory=list)
    """The operands that supply it: of the op itself, and of the terminators in it."""


def places_of(op: Operation) -> list[Place]:
    """The places of an `scf` op; none for others."""
    if isinstance(op, For):
        start, last = len(op.operands) - len(op.inits), op.body.entry.last_op
        assert last is not None
        return [
            Place([a, r], [(op, start + i), (last, i)])
            for i, (a, r) in enumerate(zip(op.iter_args, op.results, strict=True))
        ]
    if isinstance(op, While):
        condition, last = op.condition, op.after.entry.last_op
        assert last is not None
        after = zip(op.after.entry.arguments, op.results, strict=True)
        return [
            *(Place([a], [(op, i), (last, i)]) for i, a in enumerate(op.iter_args)),
            *(Place([a, r], [(condition, i + 1)]) for i, (a, r) in enumerate(after)),
        ]
    if isinstance(op, If | IndexSwitch | ExecuteRegion):
        ends = [b.last_op for region in op.regions for b in region.blocks if isinstance(b.last_op, Yield)]
        return [Place([r], [(end, i) for end in ends]) for i, r in enumerate(op.results)]
    return []


class UnreadPlaces(RewritePattern[Operation]):
    """Removes a place whose values are never read, except to forward them to such places."""

    # r:2 = if c {… yield a, b} else {… yield d, e}; use(r#1)  =  r = if c {… yield b} else {… yield e}; use(r)

    op_class: ClassVar = HasFlow

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool | str | None:
        places = places_of(op)
        fed = {feed: place for place in places for feed in place.feeds}
        work = [p for p in places if any((u.owner, u.index) not in fed for t in p.targets for u in t.uses)]
        live = set(work)
        feeding: dict[Place, list[Place]] = {}
        for place in places:
            for target in place.targets:
                for use in target.uses:
                    if (use.owner, use.index) in fed:
                        feeding.setdefault(fed[use.owner, use.index], []).append(place)
        while work:
            new = [p for p in feeding.get(work.pop(), ()) if p not in live]
            live.update(new)
            work += new
        dead = [p for p in places if p not in live]
        if not dead:
            return "all of its values are read"
        dropped: dict[Operation, set[int]] = {}
        for owner, index in (feed for place in dead for feed in place.feeds):
            dropped.setdefault(owner, set()).add(index)
        for owner, indices in dropped.items():
            if owner is not op:
                with rewriter.modify(owner):
                    owner.set_operands([v for i, v in enumerate(owner.operands) if i not in indices])
        gone = {target for place in dead for target in place.targets}
        kept = [result for result in op.results if result not in gone]
        made = with_fewer(op, dropped.get(op, set()), kept, rewriter)
        for region in made.regions:
            for argument in [a for b in region.blocks for a in b.arguments if a in gone]:
                argument.block.erase_argument(argument.index)
        rewriter.erase_op(op)
        return True


def with_fewer(op: Operation, dropped: set[int], kept: Sequence[OpResult], rewriter: Rewriter) -> Operation:
    """The op with fewer operands and results: the regions and the uses of the remaining results are moved to it."""
    made = type(op).create(
        [value for i, value in enumerate(op.operands) if i not in dropped],
        [result.type for result in kept],
        dict(op.attributes),
        [Region() for _ in op.regions],
        location=op.location,
    )
    rewriter.insert(made)
    for old, new in zip(op.regions, made.regions, strict=True):
        rewriter.inline_region_before(old, new)
    for old, new in zip(kept, made.results, strict=True):
        new.name_hint = old.name_hint
        rewriter.replace_all_uses(old, new)
    return made


patterns = (ValuesFromOutside, EqualCarriedValues, UnreadPlaces)
