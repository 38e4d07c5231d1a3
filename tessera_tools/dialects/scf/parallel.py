"""`scf.parallel` and its reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.scf.ops import RESULT_TYPES, output_types, write_outputs
from tessera_tools.ir.core import BlockArgument
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.types import INDEX, IndexType
from tessera_tools.opdef import (
    ANY_INDEX,
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    SINGLE_BLOCK,
    TERMINATOR,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    operand,
    region,
    variadic_operand,
    variadic_region,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class ReduceReturn(Op, name="scf.reduce.return", traits=(TERMINATOR, PURE, HasParent("scf.reduce"))):
    """Ends a reduction's region with the combined value."""

    result_ = operand()
    assembly = "$result attr-dict `:` type($result)"


class ReduceSyntax(CustomDirective, name="Reduce"):
    """`(%a : f32) {…}, {…}`"""

    grammar = """custom: "(" values ":" types ")" region ("," region)* -> present | -> absent"""

    def read(self, state: OpState, node: Node) -> None:
        form, children = node
        if form == "absent":
            return
        tokens, types, *bodies = children
        state.operands("operands", tokens)
        state.types("operands", types)
        for body in bodies:
            state.region("reductions", body)

    def write(self, p: Printer, op: Reduce) -> None:
        values = op.operands
        if not values:
            p.write(" ")
        else:
            p.write(f"({p.names(values)} : {', '.join(p.type(v.type) for v in values)}) ")
        for i, body in enumerate(op.regions):
            p.write(", " if i else "")
            p.region(body)


class Reduce(Op, name="scf.reduce", traits=(TERMINATOR, RECURSIVE_MEMORY_EFFECTS, HasParent("scf.parallel"))):
    """Ends the body of `scf.parallel` and combines each value into a result by a region of two arguments."""

    operands_ = variadic_operand()
    reductions = variadic_region()
    assembly = "custom<Reduce>($operands) attr-dict"

    def verify_op(self) -> None:
        values = self.operands
        if len(values) != len(self.regions):
            raise self.error(
                f"number of operands ({len(values)}) must match number of reductions ({len(self.regions)})"
            )
        for i, (body, value) in enumerate(zip(self.regions, values, strict=True)):
            if len(body.blocks) != 1:
                raise self.error(
                    f"region #{i} ('reductions') failed to verify constraint: region with 1 blocks"
                )
            if [a.type for a in body.entry.arguments] != [value.type, value.type]:
                raise self.error(
                    f"expected two block arguments with type '{value.type}' in the {i}-th reduction region"
                )
            last = body.entry.last_op
            if not isinstance(last, ReduceReturn):
                raise self.error("reduction bodies must be terminated with an 'scf.reduce.return' op")
            if last.operand_types != [value.type]:
                raise last.error(f"must have type '{value.type}' (the type of the reduction inputs)")


class ParallelSyntax(CustomDirective, name="Parallel"):
    """`(%i) = (%lo) to (%hi) step (%st) init (%a) -> f32 {…}`"""

    grammar = (
        """custom: "(" values ")" "=" "(" values ")" "to" "(" values ")" "step" "(" values ")" [custom_init] region
custom_init: "init" "(" values ")" custom_outputs
"""
        + RESULT_TYPES
    )

    def read(self, state: OpState, node: Node) -> None:
        names, lower, upper, step, init, body = node
        for field, tokens in (("lower", lower), ("upper", upper), ("step", step)):
            state.operands(field, tokens)
            state.types(field, [INDEX] * len(tokens))
        values, outputs = init or ([], None)
        types = output_types(outputs)
        if len(types) != len(values):
            raise state.error(names[0], f"found {len(values)} init values and {len(types)} result types")
        state.operands("inits", values)
        state.types("inits", types)
        state.types("results", types)
        state.region("body", body, [(name, INDEX) for name in names])

    def write(self, p: Printer, op: Parallel) -> None:
        groups = (op.lower, op.upper, op.step)
        lower, upper, step = (p.names(values) for values in groups)
        p.write(f" ({p.names(op.body.entry.arguments)}) = ({lower}) to ({upper}) step ({step})")
        if op.inits:
            p.write(f" init ({p.names(op.inits)})")
            write_outputs(p, op.result_types, parentheses=False)
        p.write(" ")
        p.region(op.body, arguments=False)


class Parallel(
    LoopLike,
    Op,
    name="scf.parallel",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, ImplicitTerminator(Reduce)),
):
    """A nest of loops whose iterations may run in any order; results are combined by `scf.reduce`."""

    lower = variadic_operand(ANY_INDEX)
    upper = variadic_operand(ANY_INDEX)
    step = variadic_operand(ANY_INDEX)
    inits = variadic_operand()
    results_ = variadic_result()
    body = region()
    assembly = "custom<Parallel>($lower, $upper, $step, $inits, $results) attr-dict"

    @property
    def induction(self) -> list[BlockArgument]:
        """The counters."""
        return self.body.entry.arguments

    def verify_op(self) -> None:
        count = len(self.step)
        if count == 0:
            raise self.error("needs at least one tuple element for lowerBound, upperBound and step")
        if len(self.lower) != count or len(self.upper) != count:
            raise self.error("expects as many lower and upper bounds as steps")
        for step in self.step:
            number = constant_integer(step)
            if number is not None and number <= 0:
                raise self.error("constant step operand must be positive")
        arguments = self.body.entry.arguments if self.body.blocks else []
        if len(arguments) != count:
            raise self.error(
                f"expects the same number of induction variables: {len(arguments)} as bound and step values: {count}"
            )
        if any(not isinstance(a.type, IndexType) for a in arguments):
            raise self.error("expects arguments for the induction variable to be of index type")
        reduce = self.body.entry.last_op
        if not isinstance(reduce, Reduce):
            failure = self.error("expects body to terminate with 'scf.reduce'")
            if reduce is not None:
                failure.diagnostics[0].note("terminator here", reduce.location)
            raise failure
        sizes = (len(self.results), len(reduce.operands), len(self.inits))
        if sizes[0] != sizes[1]:
            raise self.error(
                f"expects number of results: {sizes[0]} to be the same as number of reductions: {sizes[1]}"
            )
        if sizes[0] != sizes[2]:
            raise self.error(
                f"expects number of results: {sizes[0]} to be the same as number of initial values: {sizes[2]}"
            )
        for i, (value, result) in enumerate(zip(reduce.operands, self.results, strict=True)):
            if value.type is not result.type:
                raise reduce.error(
                    f"expects type of {i}-th reduction operand: '{value.type}' to be the same as the {i}-th result "
                    f"type: '{result.type}'"
                )
