"""Structured control flow → blocks.  Tiles carried by a loop are one block argument per register."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.analysis.counting import may_wrap
from tessera_tools.dialects import llvm, nv_tileaa, scf
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.types import I1
from tessera_tools.passes.llvm import instructions
from tessera_tools.passes.llvm.lowering import Lowering, converted, lowers
from tessera_tools.planning.unrolling import NOT_UNROLLED, copies_of, hint_ignored


def branch(low: Lowering, target: Block, operands: Sequence[Value] = ()) -> llvm.Br:
    """End the current block with a branch."""
    low.reached.add(target)
    return low.e.emit(llvm.Br(list(operands), dest=target))


def branch_if(
    low: Lowering, condition: Value, then: Block, otherwise: Block, operands: Sequence[Value] = ()
) -> llvm.CondBr:
    """End the current block with a conditional branch; `operands` are passed to the false destination."""
    return low.e.emit(llvm.CondBr(condition, [], list(operands), true_dest=then, false_dest=otherwise))


@lowers("scf.for")
def for_loop(low: Lowering, op: scf.For) -> None:
    """One loop, or according to its hint (`unrolling.py`) several iterations per test, and the remainder.

    n = trips known    body … body
    known              loop of n bodies; the remainder, body … body
    unknown            loop of n bodies, for all whole groups of n; loop
    """
    e = low.e
    type = converted(op.lower.type)
    lower, step = low.scalar(op.lower), low.scalar(op.step)
    carried = low.flatten_all(op.inits)
    copies, trips = copies_of(op), op.trip_count
    if copies is None or (copies == 1 and trips != 1):
        _, carried = _loop(low, op, lower, carried, nounroll=copies == 1)
    elif trips is not None:
        groups, rest = divmod(trips, copies)
        induction = lower
        if groups > 1:
            end = e.add(lower, e.mul(groups * copies, step, type), type)
            induction, carried = _loop(low, op, lower, carried, copies, e.constant(end, type))
        for _ in range(rest if groups > 1 else trips):
            carried = _body(low, op, induction, carried)
            if not low.reachable:
                break
            induction = e.constant(e.add(induction, step, type), type)
    else:
        groups_end, end = _ends(low, op, copies)
        induction, carried = _loop(low, op, lower, carried, copies, groups_end)
        _, carried = _loop(low, op, induction, carried, 1, end, nounroll=True)
    low.define_all(op.results, carried)


def _body(low: Lowering, op: scf.For, induction: Value, carried: Sequence[Value]) -> list[Value]:
    """Lower one iteration; returns the yielded values."""
    low.define(op.induction[0], induction)
    low.define_all(op.iter_args, carried)
    low.block(op.body.entry)
    return low.flatten_all(op.yielded)


def _ends(low: Lowering, op: scf.For, copies: int) -> tuple[Value, Value]:
    """The induction values after the last whole group of `copies` iterations, and after the last iteration.

    They may wrap, but those of different iterations are still distinct.
    """
    e = low.e
    type = converted(op.lower.type)
    lower, upper, step = low.scalar(op.lower), low.scalar(op.upper), low.scalar(op.step)
    before_last = e.constant(e.add(e.sub(upper, lower, type), -1, type), type)
    trips = e.constant(e.add(instructions.place(e, llvm.UDiv, [before_last, step], type), 1, type), type)
    rest = instructions.place(e, llvm.URem, [trips, e.constant(copies, type)], type)
    runs = e.icmp(op.less_than, lower, upper, type)

    def after_iterations(count: Value) -> Value:
        reached = e.select(runs, e.mul(count, step, type), 0, type)
        return e.constant(e.add(lower, reached, type), type)

    return after_iterations(e.sub(trips, rest, type)), after_iterations(trips)


def _loop(
    low: Lowering,
    op: scf.For,
    lower: Value,
    carried: Sequence[Value],
    copies: int = 1,
    end: Value | None = None,
    *,
    nounroll: bool = False,
) -> tuple[Value, list[Value]]:
    """br header(lower, inits); header: iv < upper ? body : exit; body: …; br header(iv + step, yielded).

    `copies` iterations per round, until the induction value is `end`.  Returns it and the carried values after the
    loop.  Without `end`, if iv + step may wrap, the header also gets a flag for the next iteration: step < upper - iv,
    unsigned.
    """
    e = low.e
    type = converted(op.lower.type)
    upper, step = low.scalar(op.upper), low.scalar(op.step)
    wraps = end is None and may_wrap(op.upper, op.step, op.unsigned_cmp is not None, low.facts)
    more = [e.icmp(op.less_than, lower, upper, type)] if wraps else []
    types = [t for value in op.results for t in low.types_of(value)]
    header, after = e.new_block([type, *(I1 for _ in more), *types]), e.new_block()
    e.open(branch(low, header, [lower, *more, *carried]))
    _inside(low, header)
    first, *arguments = header.arguments
    if more:
        condition = arguments.pop(0)
    else:
        condition = (
            e.icmp("ne", first, end, type) if end is not None else e.icmp(op.less_than, first, upper, type)
        )
    body = e.new_block()
    branch_if(low, condition, body, after)
    e.block = body
    values: list[Value] = list(arguments)
    induction: Value = first
    for copy in range(copies):
        values = _body(low, op, induction, values)
        if not low.reachable:
            break
        if more:
            more = [e.icmp("ugt", e.sub(upper, induction, type), step, type)]
        induction = e.constant(e.add(first, e.mul(copy + 1, step, type), type), type)
    if low.reachable:
        latch = branch(low, header, [induction, *more, *values])
        if nounroll or copies > 1:
            latch.attributes["loop_annotation"] = NOT_UNROLLED
    # Also a loop whose first iteration never ends is left if there is none.
    low.reachable = True
    e.close()
    # The header dominates the code after the loop, and its arguments are the results.
    for argument in header.arguments:
        e.at_depth(argument, e.current_depth)
    e.block = after
    return first, [*arguments]


@lowers("scf.if", "nv_tileaa.if")
def if_then(low: Lowering, op: scf.If | nv_tileaa.If) -> None:
    """A diamond whose last block has the results as arguments; a region that exits branches elsewhere."""
    e = low.e
    then, otherwise, after = e.new_block(), e.new_block(), e.new_block(_types(low, op.results))
    e.open(branch_if(low, low.scalar(op.condition), then, otherwise))
    for block, region in ((then, op.then), (otherwise, op.otherwise)):
        e.block = block
        if region.blocks:
            _region(low, region.entry, after)
        else:
            branch(low, after)
        # Values of one branch are not available in the other.
        e.scopes[-1].table.clear()
    e.close()
    _go_on(low, op, after)


@lowers("nv_tileaa.loop")
def loop(low: Lowering, op: nv_tileaa.Loop) -> None:
    """br header(inits); header: …; `continue` is a branch to the header, `break` one to the block after the loop."""
    hint_ignored(op)
    e = low.e
    header, after = e.new_block(_types(low, op.iter_args)), e.new_block(_types(low, op.results))
    e.open(branch(low, header, low.flatten_all(op.inits)))
    _inside(low, header)
    low.define_all(op.iter_args, header.arguments)
    low.loops[op] = (header, after)
    _region(low, op.body.entry, after)
    e.close()
    _go_on(low, op, after)


def _go_on(low: Lowering, op: Operation, after: Block) -> None:
    """Continue in the block with an op's results as arguments, if it is reachable."""
    low.e.block = after
    low.define_all(op.results, after.arguments)
    low.reachable = after in low.reached
    if not low.reachable:
        low.e.region.blocks.remove(after)


def _types(low: Lowering, values: Sequence[Value]) -> list[Type]:
    return [t for value in values for t in low.types_of(value)]


def _inside(low: Lowering, header: Block) -> None:
    """Continue in a loop's header, whose arguments change between iterations."""
    for argument in header.arguments:
        low.e.at_depth(argument, low.e.current_depth)
    low.e.block = header


def _region(low: Lowering, block: Block, after: Block) -> None:
    """Lower a region of an op that continues at `after`, and its terminator."""
    low.block(block)
    if not low.reachable:
        low.reachable = True
        return
    end = block.last_op
    assert end is not None
    low.e.location = end.location
    if isinstance(end, nv_tileaa.Return):
        low.e.emit(llvm.Return())
        return
    values = low.flatten_all(end.operands)
    if isinstance(end, nv_tileaa.Break | nv_tileaa.Continue):
        header, exit = low.loops[enclosing_loop(end)]
        branch(low, header if isinstance(end, nv_tileaa.Continue) else exit, values)
    else:
        branch(low, after, values)
