"""Structured control flow → blocks.  Tiles that flow around a loop are one block argument a register."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera_tools.dialects import llvm, scf
from tessera_tools.ir.core import Block, Value
from tessera_tools.passes.llvm.lowering import Lowering, converted, lowers


def branch(low: Lowering, target: Block, operands: Sequence[Value] = ()) -> Any:
    """End the current block with a branch."""
    return low.e.emit(llvm.Br(list(operands), dest=target))


def branch_if(
    low: Lowering, condition: Value, then: Block, otherwise: Block, operands: Sequence[Value] = ()
) -> Any:
    """End the current block with a conditional branch; `operands` go to the false destination."""
    return low.e.emit(llvm.CondBr(condition, [], list(operands), true_dest=then, false_dest=otherwise))


@lowers("scf.for")
def for_loop(low: Lowering, op: scf.For) -> None:
    """br header(lower, inits); header: iv < upper ? body : exit; body: …; br header(iv + step, yielded)."""
    e = low.e
    type = converted(op.lower.type)
    lower, upper, step = low.scalar(op.lower), low.scalar(op.upper), low.scalar(op.step)
    carried = [t for value in op.results for t in low.types_of(value)]
    header = e.new_block([type, *carried])
    inits = [v for init in op.inits for v in low.flatten(init)]
    e.open(branch(low, header, [lower, *inits]))
    inner = e.current_depth
    for argument in header.arguments:
        e.at_depth(argument, inner)
    e.block = header
    induction, *arguments = header.arguments
    condition = e.icmp("ult" if op.unsigned_cmp else "slt", induction, upper, type)
    body, after = e.new_block(), e.new_block()
    branch_if(low, condition, body, after)
    e.block = body
    low.define(op.induction[0], induction)
    flat: list[Value] = list(arguments)
    for value in op.iter_args:
        low.define_flat(value, flat)
    low.block(op.body.entry)
    yielded = [v for value in op.yielded for v in low.flatten(value)]
    following = e.constant(e.add(induction, step, type), type)
    branch(low, header, [following, *yielded])
    e.close()
    e.block = after
    for argument in header.arguments:
        e.at_depth(argument, e.current_depth)
    flat = list(arguments)
    for result in op.results:
        low.define_flat(result, flat)


@lowers("scf.if")
def if_then(low: Lowering, op: scf.If) -> None:
    """A diamond whose last block takes the results as arguments."""
    e = low.e
    results = [t for value in op.results for t in low.types_of(value)]
    then, otherwise, after = e.new_block(), e.new_block(), e.new_block(results)
    e.open(branch_if(low, low.scalar(op.condition), then, otherwise))
    for block, region in ((then, op.regions[0]), (otherwise, op.regions[1])):
        e.block = block
        values: list[Value] = []
        if region.blocks:
            low.block(region.blocks[0])
            last = region.blocks[0].last_op
            values = [v for value in (last.operands if last is not None else ()) for v in low.flatten(value)]
        # What one branch computes is not there in the other.
        e.scopes[-1].table.clear()
        branch(low, after, values)
    e.close()
    e.block = after
    flat: list[Value] = list(after.arguments)
    for result in op.results:
        low.define_flat(result, flat)


def guarded(low: Lowering, condition: Value | None, results: list[Value], body: Any) -> list[Value]:
    """Run `body()` only where the condition holds; its values there, `results` elsewhere.  None is always."""
    if condition is None:
        return body()
    e = low.e
    then, after = e.new_block(), e.new_block([v.type for v in results])
    e.open(branch_if(low, condition, then, after, results))
    e.block = then
    values = body()
    branch(low, after, values)
    e.close()
    e.block = after
    return list(after.arguments)
