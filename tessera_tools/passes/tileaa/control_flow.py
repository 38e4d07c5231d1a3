"""Part A of the conversion, continued: loops and branches, as far as `scf` can say them.

for … continue                                  scf.for … scf.yield
if … yield                                      scf.if … scf.yield
loop { a; if %c { break %x }; b; continue %y }  scf.while { a; scf.condition(not %c) %x } do { b; scf.yield %y }
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tessera_tools.dialects import arith, scf
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.builtin_attributes import TRUE, UNIT
from tessera_tools.ir.core import Block, Builder, Operation, Region, Value
from tessera_tools.passes.tileaa.lowering import Handlers, Lowering


def populate_control_flow(handlers: Handlers) -> None:
    """Add the handlers of structured control flow."""
    handlers.update({ct.For: _for, ct.If: _if, ct.Loop: _loop})


def _fill(body: Block, ops: list[Operation], block: Block, end: type[Operation], to: Lowering) -> None:
    """Lower `ops` of `body` into a block, which must end in `end` there."""
    last = ops[-1] if ops else None
    if not isinstance(last, end):
        raise to.refuse(last) if last is not None else AssertionError("the verifier lets no empty body pass")
    to.lower_ops(ops[:-1], block)
    block.append(scf.Yield(to.values(last.operands), location=last.location))


def _for(op: ct.For, to: Lowering) -> None:
    body = op.body.entry
    lower, upper, step = (to[v] for v in (op.lowerBound, op.upperBound, op.step))
    inits = to.values(op.initValues)
    types = [lower.type, *(v.type for v in inits)]
    region = to.region(body, types)
    _fill(body, list(body), region.entry, ct.Continue, to)
    unsigned = UNIT if op.unsignedCmp is not None else None
    loop = scf.For(lower, upper, step, inits, unsigned, results=types[1:], body=region, location=op.location)
    to.replace(op, *to.emit(loop).results)


def _if(op: ct.If, to: Lowering) -> None:
    regions: list[Region] = []
    for old in (op.thenRegion, op.elseRegion):
        region = Region([Block()] if old.blocks else [])
        if old.blocks:
            _fill(old.entry, list(old.entry), region.entry, ct.Yield, to)
        regions.append(region)
    types = [to.type_of(r.type, op) for r in op.results]
    then, other = regions
    branch = scf.If(to[op.condition], results=types, then=then, otherwise=other, location=op.location)
    to.replace(op, *to.emit(branch).results)


class _Exit(NamedTuple):
    """The one way out of a loop: `branch`, which leaves it if the condition is `leaves_if`."""

    branch: ct.If
    leaves_if: bool
    values: list[Value]


def _exit_of(op: Any, to: Lowering) -> _Exit:
    found: list[_Exit] = []
    for inner in op.body.entry:
        if not isinstance(inner, ct.If):
            continue
        for region, leaves_if in ((inner.thenRegion, True), (inner.elseRegion, False)):
            last = region.entry.last_op if region.blocks else None
            if not isinstance(last, ct.Break):
                continue
            other = inner.elseRegion if leaves_if else inner.thenRegion
            silent = not other.blocks or (isinstance(other.entry.last_op, ct.Yield) and len(other.entry) == 1)
            if len(region.entry) != 1 or inner.results or not silent:
                raise to.refuse(last)
            found.append(_Exit(inner, leaves_if, last.operands))
    if len(found) != 1:
        raise to.refuse(
            op, "a loop is left by exactly one 'if' directly in its body, of which one branch is a lone break"
        )
    return found[0]


def _loop(op: ct.Loop, to: Lowering) -> None:
    """What stands before the exit is the loop's first region, what follows its second; values that go from one to
    the other are passed on, after those that the loop gives."""
    body = op.body.entry
    way_out = _exit_of(op, to)
    ops: list[Operation] = list(body)
    place = ops.index(way_out.branch)
    head: list[Operation] = ops[:place]
    tail: list[Operation] = ops[place + 1 :]
    # Views are not carried, but made again where they are used.
    for view in reversed(head):
        if isinstance(view, ct.MakeTensorView | ct.MakePartitionView) and _uses(tail) & set(view.results):
            tail = [view, *tail]
    if not tail or not isinstance(tail[-1], ct.Continue):
        raise to.refuse(op, "the body of a loop ends in continue")
    inits = to.values(op.initValues)
    before = to.region(body, [v.type for v in inits])
    to.lower_ops(head, before.entry)
    builder = Builder.at_end(before.entry, way_out.branch.location)
    condition = to[way_out.branch.condition]
    if way_out.leaves_if:
        true = builder.insert(arith.Constant(TRUE)).result
        condition = builder.insert(arith.XOrI(condition, true)).result
    carried = _crossing(body, head, tail)
    passed = [*to.values(way_out.values), *to.values(carried)]
    builder.insert(scf.Condition(condition, passed))
    after = Block([v.type for v in passed], [v.location for v in passed])
    outer = to.values(carried)
    for old, argument in zip(carried, after.arguments[len(way_out.values) :], strict=True):
        to.define(old, argument)
    _fill(body, tail, after, ct.Continue, to)
    for old, new in zip(carried, outer, strict=True):
        to.define(old, new)
    loop = scf.While(
        inits, results=[v.type for v in passed], before=before, after=Region([after]), location=op.location
    )
    to.replace(op, *to.emit(loop).results[: len(op.results)])


def _uses(ops: list[Operation]) -> set[Value]:
    return {v for op in ops for inner in (op, *op.walk()) for v in inner.operands}


def _crossing(body: Block, head: list[Operation], tail: list[Operation]) -> list[Value]:
    """The values of the first part that the second one uses, in order of definition."""
    used, again = _uses(tail), set(tail)
    defined = [*body.arguments, *(r for op in head if op not in again for r in op.results)]
    return [v for v in defined if v in used]
