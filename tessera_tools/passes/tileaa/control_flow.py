"""Part A of the conversion, continued: loops and branches.

    for … { …; continue }           scf.for … { …; scf.yield }
    if … { …; yield }               scf.if … { …; scf.yield }
    loop … { …; continue }          nv_tileaa.loop … { …; nv_tileaa.continue }

An `if` that contains `break`, `continue` or `return` becomes an `nv_tileaa.if`.  A `for` with a `continue` in an `if`
becomes a loop with an explicit counter:

    for %i in (%l to %u, step %s)   %r = nv_tileaa.loop (%i = %l, %a = %x) {
        iter_values(%a = %x) {        %more = arith.cmpi slt, %i, %u
      …                               nv_tileaa.if %more {} else { nv_tileaa.break %a }
      if %c { continue %b }           nv_tileaa.if %c { %j = arith.addi %i, %s; nv_tileaa.continue %j, %b }
      …                               …
      continue %d                     %k = arith.addi %i, %s; nv_tileaa.continue %k, %d

If %i + %s may wrap, %more is also carried: there is a next iteration if %s is less than %u - %i, unsigned.
"""

from __future__ import annotations

from tessera_tools.analysis.counting import may_wrap
from tessera_tools.dialects import arith, scf
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.ir.builtin_attributes import UNIT, i64
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.ir.types import I1
from tessera_tools.passes.tileaa.lowering import Counter, Lowering, handles


def _is_left_early(op: Operation, to: Lowering) -> bool:
    """True if a nested terminator, not the op's own, ends the op's region."""
    entry = op
    while not isinstance(entry, ct.Entry) and entry.parent_op is not None:
        entry = entry.parent_op
    left = to.left_early.get(entry)
    if left is None:
        left = to.left_early[entry] = _left_early(entry)
    return op in left


# -- ops


@handles(ct.For)
def _lower_for(op: ct.For, to: Lowering) -> None:
    """A counted loop."""
    if _is_left_early(op, to):
        _lower_counting(op, to)
        return
    body = op.body.entry
    lower, upper, step = (to[v] for v in (op.lowerBound, op.upperBound, op.step))
    inits = to.values(op.initValues)
    types = [lower.type, *(v.type for v in inits)]
    region = to.region(body, types)
    _fill(body, region.entry, to, structured=True)
    unsigned = UNIT if op.unsignedCmp is not None else None
    loop = scf.For(lower, upper, step, inits, unsigned, results=types[1:], body=region, location=op.location)
    loop.attributes.update(op.discardable_attributes)
    to.replace(op, *to.emit(loop).results)


@handles(ct.If)
def _lower_if(op: ct.If, to: Lowering) -> None:
    """A branch."""
    structured = not _is_left_early(op, to)
    regions: list[Region] = []
    for old in (op.thenRegion, op.elseRegion):
        region = Region([Block()] if old.blocks else [])
        if old.blocks:
            _fill(old.entry, region.entry, to, structured=structured)
        regions.append(region)
    types = [to.type_of(r.type, op) for r in op.results]
    kind = scf.If if structured else aa.If
    then, other = regions
    branch = kind(to[op.condition], results=types, then=then, otherwise=other, location=op.location)
    to.replace(op, *to.emit(branch).results)


@handles(ct.Loop)
def _lower_loop(op: ct.Loop, to: Lowering) -> None:
    """An endless loop."""
    inits = to.values(op.initValues)
    region = to.region(op.body.entry, [v.type for v in inits])
    _fill(op.body.entry, region.entry, to)
    types = [to.type_of(r.type, op) for r in op.results]
    loop = aa.Loop(inits, results=types, body=region, location=op.location)
    to.replace(op, *to.emit(loop).results)


def _lower_counting(op: ct.For, to: Lowering) -> None:
    """A counted loop with early `continue`."""
    lower, upper, step = (to[v] for v in (op.lowerBound, op.upperBound, op.step))
    unsigned = op.unsignedCmp is not None
    wraps = may_wrap(upper, step, unsigned, to.facts)
    less = "ult" if unsigned else "slt"
    state = [lower]
    if wraps:
        state.append(to.emit(arith.CmpI.of(less, lower, upper)).result)
    inits = to.values(op.initValues)
    outside = [*state, *inits]
    block = Block([v.type for v in outside], [op.location] * len(outside))
    induction, *carried = block.arguments
    builder = Builder.at_end(block, op.location)
    more = carried.pop(0) if wraps else builder.insert(arith.CmpI.of(less, induction, upper)).result
    then, other = Block(), Block()
    then.append(aa.Yield(location=op.location))
    other.append(aa.Break(carried, location=op.location))
    builder.insert(aa.If(more, then=then, otherwise=other))
    counted = _with_bounds(induction, lower, upper, unsigned, to, builder)
    for old, new in zip(op.body.entry.arguments, [counted, *carried], strict=True):
        to.define(old, new)
    to.counters[op] = Counter(induction, upper, step, wraps)
    _fill(op.body.entry, block, to)
    del to.counters[op]
    loop = aa.Loop(outside, results=[v.type for v in inits], body=block, location=op.location)
    loop.attributes.update(op.discardable_attributes)
    to.replace(op, *to.emit(loop).results)


# -- regions


def _fill(body: Block, block: Block, to: Lowering, *, structured: bool = False) -> None:
    """Lower the ops of `body` at the end of a block; `structured`: of an scf op."""
    *ops, last = body
    to.lower_ops(ops, block)
    saved = to.builder
    to.builder = Builder.at_end(block, last.location)
    try:
        _lower_end(last, to, structured)
    finally:
        to.builder = saved


def _lower_end(last: Operation, to: Lowering, structured: bool) -> None:
    """Lower a terminator."""
    if isinstance(last, ct.Return):
        to.emit(aa.Return())
        return
    if not isinstance(last, ct.Yield | ct.Continue | ct.Break):
        raise to.refuse(last)
    values = to.values(last.values)
    if structured:
        to.emit(scf.Yield(values))
    elif isinstance(last, ct.Yield):
        to.emit(aa.Yield(values))
    elif isinstance(last, ct.Break):
        to.emit(aa.Break(values))
    else:
        counter = to.counters.get(_loop_around(last))
        to.emit(aa.Continue([*(_next(counter, to) if counter is not None else ()), *values]))


def _loop_around(op: Operation) -> Operation:
    """The loop of a `continue`."""
    parent = op.parent_op
    while isinstance(parent, ct.If):
        parent = parent.parent_op
    assert parent is not None
    return parent


def _left_early(entry: Operation) -> set[Operation]:
    found: set[Operation] = set()
    for op in entry.walk():
        if not isinstance(op, ct.Return | ct.Break | ct.Continue):
            continue
        parent = op.parent_op
        if isinstance(op, ct.Continue) and isinstance(parent, ct.If):
            found.add(_loop_around(op))
        ended = ct.If | ct.Loop if isinstance(op, ct.Return) else ct.If
        while isinstance(parent, ended):
            found.add(parent)
            parent = parent.parent_op
    return found


def _with_bounds(
    induction: Value, lower: Value, upper: Value, unsigned: bool, to: Lowering, builder: Builder
) -> Value:
    """The counter with an assumption about its bounds, because `nv_tileaa.loop` has no induction variable."""
    low, high = to.facts.fact(lower).lower, to.facts.fact(upper).upper - 1
    if induction.type is I1 or (unsigned and (low < 0 or to.facts.fact(upper).lower < 0)) or low > high:
        return induction
    known = aa.Assume(induction, lower=i64(low), upper=i64(high), res=induction.type)
    return builder.insert(known).res


def _next(counter: Counter, to: Lowering) -> list[Value]:
    following = to.emit(arith.AddI(counter.induction, counter.step)).result
    if not counter.may_wrap:
        return [following]
    left = to.emit(arith.SubI(counter.upper, counter.induction)).result
    return [following, to.emit(arith.CmpI.of("ugt", left, counter.step)).result]
