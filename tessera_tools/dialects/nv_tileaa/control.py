"""Control flow with early exits: loops with `break` and `continue` at any place, and branches that contain them.

    %r = nv_tileaa.loop (%i = %c0) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %n : i32
      nv_tileaa.if %more {
        nv_tileaa.yield
      } else {
        nv_tileaa.break %i : i32
      }
      %next = arith.addi %i, %c1 : i32
      nv_tileaa.continue %next : i32
    }

Loops and branches without early exits are `scf.for` and `scf.if`.  Conditions are scalars, so all threads of a CTA take
the same path, and a barrier is allowed anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.scf.ops import (
    RESULT_TYPES,
    output_types,
    verify_edge,
    write_assignments,
    write_outputs,
)
from tessera_tools.ir.core import BlockArgument, Operation, Region
from tessera_tools.ir.flow import Flow
from tessera_tools.ir.interfaces import HasFlow, LoopLike
from tessera_tools.ir.traits import Leaves
from tessera_tools.ir.types import I1
from tessera_tools.opdef import (
    ONE_REGION_RUNS,
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    RETURN_LIKE,
    SINGLE_BLOCK,
    TERMINATOR,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    exactly,
    operand,
    region,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

LEAVES_IF = Leaves("nv_tileaa.if")
"""Of `break` and `continue`, which end the `if`s around them too."""


class Yield(Op, name="nv_tileaa.yield", traits=(RETURN_LIKE, PURE)):
    """Terminates a region and passes its values to the enclosing op."""

    values = variadic_operand()
    assembly = "attr-dict ($values^ `:` type($values))?"


class Continue(
    Op, name="nv_tileaa.continue", traits=(TERMINATOR, LEAVES_IF, HasParent("nv_tileaa.if", "nv_tileaa.loop"))
):
    """Continues with the next iteration of the innermost loop and passes its carried values."""

    values = variadic_operand()
    assembly = "attr-dict ($values^ `:` type($values))?"

    def verify_op(self) -> None:
        loop = enclosing_loop(self)
        verify_edge(loop, self, 0, self.operand_types, [v.type for v in loop.inits])


class Break(
    Op, name="nv_tileaa.break", traits=(TERMINATOR, LEAVES_IF, HasParent("nv_tileaa.if", "nv_tileaa.loop"))
):
    """Exits the innermost loop and passes its results."""

    values = variadic_operand()
    assembly = "attr-dict ($values^ `:` type($values))?"

    def verify_op(self) -> None:
        loop = enclosing_loop(self)
        verify_edge(loop, self, None, self.operand_types, loop.result_types)


def enclosing_loop(op: Operation) -> Loop:
    """The loop of a `break` or `continue`; there are only `if`s in between."""
    parent = op.parent_op
    while isinstance(parent, If):
        parent = parent.parent_op
    if not isinstance(parent, Loop):
        raise op.error("expects an 'nv_tileaa.loop' around it, with nothing but 'nv_tileaa.if' between")
    return parent


class LoopSyntax(CustomDirective, name="TileLoop"):
    """`(%x = %a) : (i32) -> f32 {…}`; without carried values and results, just the region."""

    grammar = (
        """custom: [custom_carried] [custom_outputs] region
custom_carried: assignments ":" "(" types ")"
"""
        + RESULT_TYPES
    )

    def read(self, state: OpState, node: Node) -> None:
        carried, outputs, body = node
        assigned, types = carried or ([], [])
        if len(assigned) != len(types):
            raise state.error(None, f"has {len(assigned)} carried values, but {len(types)} types for them")
        state.operands("inits", [value for _, value in assigned])
        state.types("inits", types)
        state.types("results", output_types(outputs))
        state.region("body", body, [(name, t) for (name, _), t in zip(assigned, types, strict=True)])

    def write(self, p: Printer, op: Loop) -> None:
        if op.inits:
            write_assignments(p, " ", op.body.entry.arguments, op.inits)
            p.write(f" : ({', '.join(p.type(v.type) for v in op.inits)})")
        write_outputs(p, op.result_types, parentheses=False)
        p.write(" ")
        p.region(op.body, arguments=False)


class Loop(LoopLike, HasFlow, Op, name="nv_tileaa.loop", traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS)):
    """Repeats its body until a `break` in it, or a `return`.  The body's arguments are the carried values."""

    inits = variadic_operand()
    results_ = variadic_result()
    body = region()
    assembly = "custom<TileLoop>($inits, $results) attr-dict-with-keyword"

    @property
    def iter_args(self) -> list[BlockArgument]:
        """The block arguments for the carried values."""
        return self.body.entry.arguments

    def ends(self) -> list[Operation]:
        """The terminators that end an iteration: each `continue` and `break` of this loop, in order."""
        return [end for end in _ends(self.body) if isinstance(end, Continue | Break)]

    def flow(self) -> Flow:
        """A carried value is the initial one or a `continue`'s; a result is a `break`'s."""
        ends = self.ends()
        found: Flow = []
        for kind, targets, inits in ((Continue, self.iter_args, self.inits), (Break, self.results, [])):
            passed = [end.operands for end in ends if isinstance(end, kind)]
            for i, target in enumerate(targets):
                found.append((target, [*inits[i : i + 1], *(values[i] for values in passed)]))
        return found

    def verify_op(self) -> None:
        if not self.body.blocks:
            raise self.error("region #0 must have one block")
        verify_edge(self, None, 0, [v.type for v in self.inits], [a.type for a in self.iter_args])
        last = self.body.entry.last_op
        if isinstance(last, Yield):
            raise last.error("cannot end a loop's body; 'nv_tileaa.continue' and 'nv_tileaa.break' do")


def _ends(body: Region) -> list[Operation]:
    found: list[Operation] = []
    for block in body.blocks:
        for op in block:
            if isinstance(op, If):
                found += [end for inner in op.regions for end in _ends(inner)]
        if block.last_op is not None:
            found.append(block.last_op)
    return found


class If(
    HasFlow,
    Op,
    name="nv_tileaa.if",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, ONE_REGION_RUNS, ImplicitTerminator(Yield)),
):
    """Runs one region if an i1 is true and the other, if there is one, if it is false.

    A region ends in `yield`, after which control continues after the `if`, or in `break`, `continue` or `return`.
    """

    condition = operand(exactly(I1))
    results_ = variadic_result()
    then = region()
    otherwise = region("empty if there is no else")
    assembly = "custom<If>($condition, $results) attr-dict"

    @property
    def yields(self) -> list[Yield]:
        """The ends of the regions after which the op's results are there."""
        lasts = [inner.entry.last_op for inner in self.regions if inner.blocks]
        return [last for last in lasts if isinstance(last, Yield)]

    def flow(self) -> Flow:
        """A result is a value yielded by one of the regions; one that exits early yields none."""
        passed = [end.operands for end in self.yields]
        return [(result, [values[i] for values in passed]) for i, result in enumerate(self.results)]

    def verify_op(self) -> None:
        if self.results and not self.otherwise.blocks:
            raise self.error("must have an else block if defining values")
        if not self.then.blocks:
            raise self.error("must have a then block")
        for inner in self.regions:
            if inner.blocks and inner.entry.arguments:
                raise self.error("region should have no arguments")
        for end in self.yields:
            verify_edge(self, end, None, end.operand_types, self.result_types)
