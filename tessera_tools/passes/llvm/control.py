"""Structured control flow → blocks.  Tiles that flow around a loop are one block argument a register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.analysis.counting import may_wrap
from tessera_tools.dialects import llvm, nv_tileaa, scf
from tessera_tools.dialects.llvm.debug_info import LoopAnnotationAttr, LoopUnrollAttr
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import TRUE, IntegerAttr, i32
from tessera_tools.ir.core import Block, Operation, Value
from tessera_tools.ir.types import I1
from tessera_tools.passes.llvm import instructions
from tessera_tools.passes.llvm.lowering import Lowering, converted, lowers


def branch(low: Lowering, target: Block, operands: Sequence[Value] = ()) -> Any:
    """End the current block with a branch."""
    low.reached.add(target)
    return low.e.emit(llvm.Br(list(operands), dest=target))


def branch_if(
    low: Lowering, condition: Value, then: Block, otherwise: Block, operands: Sequence[Value] = ()
) -> Any:
    """End the current block with a conditional branch; `operands` go to the false destination."""
    return low.e.emit(llvm.CondBr(condition, [], list(operands), true_dest=then, false_dest=otherwise))


UNROLL_HINT = "tessera.unroll_hint"
"""Attribute of a loop: by what to unroll it.  1 becomes `.pragma "nounroll"` for ptxas; PTX has no word for others."""


def _unrolling(factor: int) -> LoopUnrollAttr:
    if factor == 1:
        return LoopUnrollAttr(disable=TRUE)
    return LoopUnrollAttr(count=i32(factor))


@lowers("scf.for")
def for_loop(low: Lowering, op: scf.For) -> None:
    """br header(lower, inits); header: iv < upper ? body : exit; body: …; br header(iv + step, yielded).

    Where iv + step may wrap, the header is told whether there is a next number: step < upper - iv, as unsigned numbers.
    """
    e = low.e
    type = converted(op.lower.type)
    lower, upper, step = low.scalar(op.lower), low.scalar(op.upper), low.scalar(op.step)
    less = "ult" if op.unsigned_cmp else "slt"
    more = (
        [e.icmp(less, lower, upper, type)] if may_wrap(op.upper, op.step, op.unsigned_cmp, low.facts) else []
    )
    carried = [t for value in op.results for t in low.types_of(value)]
    header, after = e.new_block([type, *(I1 for _ in more), *carried]), e.new_block()
    e.open(branch(low, header, [lower, *more, *low.flatten_all(op.inits)]))
    _inside(low, header)
    induction, *arguments = header.arguments
    condition = arguments.pop(0) if more else e.icmp(less, induction, upper, type)
    body = e.new_block()
    branch_if(low, condition, body, after)
    e.block = body
    low.define(op.induction[0], induction)
    low.define_all(op.iter_args, arguments)
    low.block(op.body.entry)
    yielded = low.flatten_all(op.yielded)
    following = e.constant(e.add(induction, step, type), type)
    if more:
        more = [e.icmp("ugt", e.sub(upper, induction, type), step, type)]
    latch = branch(low, header, [following, *more, *yielded])
    hint = op.attributes.get(UNROLL_HINT)
    if isinstance(hint, IntegerAttr) and hint.value > 0:
        latch.attributes["loop_annotation"] = LoopAnnotationAttr(unroll=_unrolling(hint.value))
    e.close()
    # The header comes before what follows the loop, and its arguments are the results.
    for argument in header.arguments:
        e.at_depth(argument, e.current_depth)
    e.block = after
    low.define_all(op.results, arguments)


@lowers("scf.if", "nv_tileaa.if")
def if_then(low: Lowering, op: scf.If | nv_tileaa.If) -> None:
    """A diamond whose last block takes the results as arguments; a region that leaves goes elsewhere."""
    e = low.e
    then, otherwise, after = e.new_block(), e.new_block(), e.new_block(_types(low, op.results))
    e.open(branch_if(low, low.scalar(op.condition), then, otherwise))
    for block, region in ((then, op.then), (otherwise, op.otherwise)):
        e.block = block
        if region.blocks:
            _region(low, region.entry, after)
        else:
            branch(low, after)
        # What one branch computes is not there in the other.
        e.scopes[-1].table.clear()
    e.close()
    _go_on(low, op, after)


@lowers("nv_tileaa.loop")
def loop(low: Lowering, op: nv_tileaa.Loop) -> None:
    """br header(inits); header: …; `continue` is a branch to the header, `break` one to the block after the loop."""
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
    """Go on in the block that takes an op's results, if anything leads there."""
    low.e.block = after
    low.define_all(op.results, after.arguments)
    low.reachable = after in low.reached
    if not low.reachable:
        low.e.region.blocks.remove(after)


def _types(low: Lowering, values: Sequence[Value]) -> list[Type]:
    return [t for value in values for t in low.types_of(value)]


def _inside(low: Lowering, header: Block) -> None:
    """Go on in a loop's header, whose arguments change from iteration to iteration."""
    for argument in header.arguments:
        low.e.at_depth(argument, low.e.current_depth)
    low.e.block = header


def _region(low: Lowering, block: Block, after: Block) -> None:
    """Lower a region of an op that goes on at `after`, and its terminator."""
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


def guarded(low: Lowering, condition: Value | None, results: list[Value], body: Any) -> list[Value]:
    """Run `body()` only where the condition holds; its values there, `results` elsewhere.  None is always."""
    if condition is None:
        return body()
    return instructions.guarded(low.e, condition, results, body)
