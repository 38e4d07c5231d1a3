"""Loops and conditionals of `scf`.

Loops (`LoopLike`) provide their parts: `loop_body` (the region that repeats), `induction` (its induction variables),
`inits` → `iter_args` → `yielded` → `results` (the carried values, position by position).  Which values pass from
through loops and conditionals is described by `flow()` (`tessera_tools.ir.flow`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import UNIT, DenseArrayAttr
from tessera_tools.ir.core import BlockArgument, OpT, Region, Value
from tessera_tools.ir.flow import Flow
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.interfaces import HasFlow, LoopLike
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.traits import implied
from tessera_tools.ir.types import I1, I64, INDEX, bit_width
from tessera_tools.opdef import (
    ANY_INDEX,
    I64_ARRAY,
    INTEGER_OR_INDEX,
    ONE_REGION_RUNS,
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    RETURN_LIKE,
    SINGLE_BLOCK,
    TERMINATOR,
    UNIT_ATTR,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    attribute,
    exactly,
    operand,
    region,
    same_as,
    variadic_operand,
    variadic_region,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

RESULT_TYPES = """custom_outputs: "->" TYPE -> single | "->" "(" types ")" -> several
"""


def known_counters(lower: Value, upper: Value, step: Value, *, unsigned: bool = False) -> range | None:
    """The counters of a loop whose bounds and step are constants, the step positive; None for other loops."""
    first, end, by = (constant_integer(value) for value in (lower, upper, step))
    if first is None or end is None or by is None or by <= 0:
        return None
    if unsigned:
        mask = (1 << bit_width(lower.type)) - 1
        first, end = first & mask, end & mask
    return range(first, end, by)


def known_trips(lower: Value, upper: Value, step: Value, *, unsigned: bool = False) -> int | None:
    """The trip count, if bounds and step are constants; 0 if the bounds are the same value."""
    if lower is upper:
        return 0
    counters = known_counters(lower, upper, step, unsigned=unsigned)
    # `len` of a range has a limit.
    return None if counters is None else max(0, -((counters.start - counters.stop) // counters.step))


def output_types(node: Node) -> list[Type]:
    """The types of RESULT_TYPES' rule; empty if it is absent."""
    if node is None:
        return []
    form, children = node
    return list(children) if form == "single" else list(children[0])


def write_outputs(p: Printer, types: Sequence[Type], *, parentheses: bool) -> None:
    """Write ` -> (i32)`; a single type needs no parentheses."""
    if types:
        text = ", ".join(p.type(t) for t in types)
        p.write(f" -> ({text})" if parentheses or len(types) > 1 else f" -> {text}")


_YIELDING = ("scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while")


class Yield(Op, name="scf.yield", traits=(RETURN_LIKE, PURE, HasParent(*_YIELDING))):
    """Ends a region of an scf op with the values that it yields."""

    results_ = variadic_operand()
    assembly = "attr-dict ($results^ `:` type($results))?"


IMPLICIT_YIELD = ImplicitTerminator(Yield)


class Condition(Op, name="scf.condition", traits=(TERMINATOR, PURE, HasParent("scf.while"))):
    """Ends the first region of `scf.while`: continues while an i1 is true; the values are passed to the second region
    or become the results."""

    condition = operand(exactly(I1))
    args = variadic_operand()
    assembly = "`(` $condition `)` attr-dict ($args^ `:` type($args))?"


class ForSyntax(CustomDirective, name="For"):
    """`unsigned %i = %lo to %hi step %st iter_args(%x = %a) -> (f32) : i32 {…}`"""

    grammar = (
        """custom: custom_unsigned VALUE "=" VALUE "to" VALUE "step" VALUE [custom_carried] [":" TYPE] region
custom_unsigned: "unsigned" -> present | -> absent
custom_carried: "iter_args" assignments custom_outputs
"""
        + RESULT_TYPES
    )

    def read(self, state: OpState, node: Node) -> None:
        unsigned, induction, lower, upper, step, carried, type, body = node
        if unsigned[0] == "present":
            state.attribute("unsignedCmp", UNIT)
        bound = type or state.parser.bound_type([lower, upper, step]) or INDEX
        for field, token in (("lower", lower), ("upper", upper), ("step", step)):
            state.operand(field, token)
            state.types(field, [bound])
        assigned, outputs = carried or ([], None)
        types = output_types(outputs)
        if len(types) != len(assigned):
            raise state.error(
                induction,
                f"mismatch in number of loop-carried values and defined values: {len(assigned)} values, "
                f"{len(types)} types",
            )
        state.operands("inits", [value for _, value in assigned])
        state.types("inits", types)
        state.types("results", types)
        names = [(induction, bound)] + [(name, t) for (name, _), t in zip(assigned, types, strict=True)]
        state.region("body", body, names)

    def write(self, p: Printer, op: For) -> None:
        induction, *carried = op.body.entry.arguments
        p.write(" unsigned" if op.unsigned_cmp else "")
        p.write(f" {p.name(induction)} = {p.name(op.lower)} to {p.name(op.upper)} step {p.name(op.step)}")
        if carried:
            write_assignments(p, " iter_args", carried, op.inits)
            write_outputs(p, op.result_types, parentheses=True)
        if induction.type is not INDEX:
            p.write(f"  : {p.type(induction.type)}")
        p.write(" ")
        p.region(op.body, arguments=False, terminator=bool(op.results))


def write_assignments(p: Printer, word: str, names: Sequence[Value], values: Sequence[Value]) -> None:
    """Write `word(%a = %x, %b = %y)`."""
    p.write(f"{word}({', '.join(f'{p.name(a)} = {p.name(v)}' for a, v in zip(names, values, strict=True))})")


class For(
    LoopLike, HasFlow, Op, name="scf.for", traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, IMPLICIT_YIELD)
):
    """Counts from a lower bound to below an upper one by a positive step, and carries values along.

    The body's arguments are the induction variable and the carried values.
    """

    lower = operand(INTEGER_OR_INDEX)
    upper = operand(same_as("lower"))
    step = operand(same_as("lower"))
    inits = variadic_operand()
    unsigned_cmp = attribute(
        UNIT_ATTR, "bounds are compared as unsigned numbers", optional=True, key="unsignedCmp"
    )
    results_ = variadic_result()
    body = region()
    assembly = "custom<For>($lower, $upper, $step, $inits, $results, $body, $unsigned_cmp) attr-dict"

    @property
    def less_than(self) -> str:
        """The predicate by which the counter is compared with the upper bound: `slt` or `ult`."""
        return "ult" if self.unsigned_cmp else "slt"

    @property
    def induction(self) -> list[BlockArgument]:
        """The counter."""
        return self.body.entry.arguments[:1]

    @property
    def iter_args(self) -> list[BlockArgument]:
        """The block arguments for the carried values."""
        return self.body.entry.arguments[1:]

    @property
    def yielded(self) -> list[Value]:
        """The carried values at the end of an iteration."""
        last = self.body.entry.last_op
        return last.operands if last is not None else []

    def flow(self) -> Flow:
        """A carried value is the initial one or a yielded one."""
        sides = [list(pair) for pair in zip(self.inits, self.yielded, strict=True)]
        return [*zip(self.iter_args, sides, strict=True), *zip(self.results, sides, strict=True)]

    @property
    def trip_count(self) -> int | None:
        """The trip count, if bounds and step are constants; 0 if the bounds are the same value."""
        return known_trips(self.lower, self.upper, self.step, unsigned=bool(self.unsigned_cmp))

    @property
    def runs(self) -> bool:
        """True if the loop is known to have an iteration."""
        return (self.trip_count or 0) > 0

    @property
    def counters(self) -> range | None:
        """The values of the induction variable, if bounds and step are constants."""
        return known_counters(self.lower, self.upper, self.step, unsigned=bool(self.unsigned_cmp))

    def verify_op(self) -> None:
        inits, types = self.inits, self.result_types
        if len(inits) != len(types):
            raise self.error(
                f"mismatch in number of loop-carried values and defined values: {len(inits)} and {len(types)}"
            )
        arguments = self.body.entry.arguments if self.body.blocks else []
        if not arguments or arguments[0].type is not self.lower.type:
            raise self.error("expected induction variable to be same type as bounds and step")
        if len(arguments) != len(inits) + 1:
            raise self.error(
                f"expected body to have {len(inits) + 1} arguments, the induction variable and the carried values, "
                f"but got {len(arguments)}"
            )
        for i, (init, argument, type) in enumerate(zip(inits, arguments[1:], types, strict=True)):
            if init.type is not type:
                raise self.error(f"types mismatch between {i}th iter operand and defined value")
            if argument.type is not type:
                raise self.error(f"types mismatch between {i}th iter region arg and defined value")
        last = ending(self, self.body, Yield)
        for i, (found, expected) in enumerate(zip(last.operand_types, types, strict=False)):
            if found is not expected:
                raise self.error(
                    f"{i}-th region iter_arg and {i}-th yielded value have different type: '{expected}' != '{found}'"
                )
        verify_edge(self, last, 0, last.operand_types, types)


def verify_edge(
    op: Op, source: Op | None, target: int | None, given: Sequence[Type], expected: Sequence[Type]
) -> None:
    """Check that the values passed along an edge have the types of what they become.

    source: the terminator that the edge leaves, or None for `op` itself; target: the region that it enters, or None
    for the results of `op`.
    """
    start = "parent" if source is None else f"Operation {source.name}"
    end = "parent" if target is None else f"Region #{target}"
    problem = ""
    if len(given) != len(expected):
        problem = f"region branch point has {len(given)} operands, but region successor needs {len(expected)} inputs"
    else:
        for i, (found, wanted) in enumerate(zip(given, expected, strict=True)):
            if found is not wanted:
                problem = (
                    f"successor operand type #{i} '{found}' should match successor input type #{i} '{wanted}'"
                )
                break
    if problem:
        failure = op.error(f"along control flow edge from {start} to {end}: {problem}")
        if source is not None:
            failure.diagnostics[0].note("region branch point", source.location)
        raise failure


def ending(op: Op, inner: Region, kind: type[OpT]) -> OpT:
    """The terminator of a region of one block, which must be of that class."""
    last = inner.blocks[-1].last_op if inner.blocks else None
    if not isinstance(last, kind):
        found = f"but found '{last.name}'" if last is not None else "but found nothing"
        raise op.error(f"expects region to terminate with '{kind.name}', {found}")
    return last


def verify_yield(op: Op, inner: Region, types: Sequence[Type]) -> None:
    """Check that the region ends in a yield of values of these types, the results of `op`."""
    last = ending(op, inner, Yield)
    verify_edge(op, last, None, last.operand_types, types)


class WhileSyntax(CustomDirective, name="While"):
    """`(%x = %a) : (i32) -> i32 {…} do {…}`"""

    grammar = 'custom: [assignments] ":" FUNCTION_TYPE region "do" region'

    def read(self, state: OpState, node: Node) -> None:
        assigned, function, before, after = node
        assigned = assigned or []
        if len(assigned) != len(function.inputs):
            raise state.error(
                None,
                f"expected as many input types as operands (expected {len(assigned)} got {len(function.inputs)})",
            )
        state.operands("inits", [value for _, value in assigned])
        state.types("inits", list(function.inputs))
        state.types("results", list(function.results))
        state.region("before", before, [(n, t) for (n, _), t in zip(assigned, function.inputs, strict=True)])
        state.region("after", after)

    def write(self, p: Printer, op: While) -> None:
        if op.inits:
            write_assignments(p, " ", op.before.entry.arguments, op.inits)
        p.write(" : ")
        p.write(p.function_type([v.type for v in op.inits], op.result_types))
        p.write(" ")
        p.region(op.before, arguments=False)
        p.write(" do ")
        p.region(op.after)


class While(
    LoopLike,
    HasFlow,
    Op,
    name="scf.while",
    traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK, ImplicitTerminator(Yield, first=1)),
):
    """Runs `before`, which ends in a condition, and while that is true `after`, whose values are passed to `before`
    again."""

    inits = variadic_operand()
    results_ = variadic_result()
    before = region()
    after = region()
    assembly = "custom<While>($inits, $results) attr-dict-with-keyword"

    @property
    def condition(self) -> Condition:
        """The end of `before`."""
        return ending(self, self.before, Condition)

    @property
    def iter_args(self) -> list[BlockArgument]:
        """The carried values inside `before`."""
        return self.before.entry.arguments

    @property
    def yielded(self) -> list[Value]:
        """The carried values at the end of an iteration."""
        last = self.after.entry.last_op
        return last.operands if last is not None else []

    def flow(self) -> Flow:
        """The first region gets the initial and yielded values; the second one and the results get the condition's
        operands."""
        condition = self.condition
        into_before = [list(pair) for pair in zip(self.inits, self.yielded, strict=True)]
        passed = [[value] for value in condition.args]
        return [
            *zip(self.iter_args, into_before, strict=True),
            *zip(self.after.entry.arguments, passed, strict=True),
            *zip(self.results, passed, strict=True),
        ]

    def verify_op(self) -> None:
        for number, (noun, inner) in enumerate(zip(("before", "after"), self.regions, strict=True)):
            if len(inner.blocks) != 1:
                raise self.error(
                    f"region #{number} ('{noun}') failed to verify constraint: region with 1 blocks"
                )
        condition, last = self.condition, ending(self, self.after, Yield)
        arguments = [a.type for a in self.before.entry.arguments]
        passed = [v.type for v in condition.args]
        verify_edge(self, None, 0, [v.type for v in self.inits], arguments)
        verify_edge(self, condition, None, passed, self.result_types)
        verify_edge(self, condition, 1, passed, [a.type for a in self.after.entry.arguments])
        verify_edge(self, last, 0, last.operand_types, arguments)


class IfSyntax(CustomDirective, name="If"):
    """`%c -> (i32) {…} else {…}`"""

    grammar = 'custom: VALUE [custom_outputs] region ["else" region]\n' + RESULT_TYPES

    def read(self, state: OpState, node: Node) -> None:
        condition, outputs, then, otherwise = node
        state.operand("condition", condition)
        state.types("results", output_types(outputs))
        state.region("then", then)
        if otherwise is not None:
            state.region("otherwise", otherwise)

    def write(self, p: Printer, op: Any) -> None:  # of scf or nv_tileaa
        p.write(f" {p.name(op.condition)}")
        write_outputs(p, op.result_types, parentheses=True)
        for word, inner in (("", op.then), (" else", op.otherwise)):
            if inner.blocks:
                p.write(f"{word} ")
                p.region(inner, arguments=False, terminator=not implied(op, inner))


class If(
    HasFlow,
    Op,
    name="scf.if",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, ONE_REGION_RUNS, IMPLICIT_YIELD),
):
    """Runs one region if an i1 is true and the other, if there is one, if it is false."""

    condition = operand(exactly(I1))
    results_ = variadic_result()
    then = region()
    otherwise = region("empty if there is no else")
    assembly = "custom<If>($condition, $results) attr-dict"

    def flow(self) -> Flow:
        """A result is what one of the regions yields."""
        ends = [region.entry.last_op for region in self.regions if region.blocks]
        return [(r, [end.operands[i] for end in ends if end is not None]) for i, r in enumerate(self.results)]

    def verify_op(self) -> None:
        if self.results and not self.otherwise.blocks:
            raise self.error("must have an else block if defining values")
        for inner in self.regions:
            if inner.blocks:
                if inner.entry.arguments:
                    raise self.error("region should have no arguments")
                verify_yield(self, inner, self.result_types)


class ExecuteRegionSyntax(CustomDirective, name="ExecuteRegion"):
    """`-> (i32, f32) no_inline {…}`"""

    grammar = (
        """custom: [custom_outputs] custom_inline region
custom_inline: "no_inline" -> present | -> absent
"""
        + RESULT_TYPES
    )

    def read(self, state: OpState, node: Node) -> None:
        outputs, inline, body = node
        state.types("results", output_types(outputs))
        if inline[0] == "present":
            state.attribute("no_inline", UNIT)
        state.region("body", body)

    def write(self, p: Printer, op: ExecuteRegion) -> None:
        write_outputs(p, op.result_types, parentheses=False)
        p.write(" no_inline " if op.no_inline else " ")
        p.region(op.body)


class ExecuteRegion(HasFlow, Op, name="scf.execute_region", traits=(RECURSIVE_MEMORY_EFFECTS,)):
    """Runs a region with any number of blocks once; the results are the yielded values."""

    no_inline = attribute(UNIT_ATTR, optional=True)
    results_ = variadic_result()
    body = region()
    assembly = "custom<ExecuteRegion>($results, $no_inline) attr-dict"

    def flow(self) -> Flow:
        """A result is a value of one of the yields."""
        ends = [block.last_op for block in self.body.blocks if isinstance(block.last_op, Yield)]
        return [(r, [end.operands[i] for end in ends]) for i, r in enumerate(self.results)]

    def verify_op(self) -> None:
        if not self.body.blocks:
            raise self.error("region needs to have at least one block")
        if self.body.entry.arguments:
            raise self.error("region cannot have any arguments")
        for block in self.body.blocks:
            if isinstance(block.last_op, Yield):
                verify_edge(self, block.last_op, None, block.last_op.operand_types, self.result_types)


class SwitchSyntax(CustomDirective, name="IndexSwitch"):
    """`%i {attributes} -> i32 case 1 {…} default {…}`"""

    grammar = """custom: VALUE attr_dict [custom_outputs] custom_case* "default" region
custom_case: "case" INTEGER region
custom_outputs: "->" types -> plain | "->" "(" types ")" -> bracketed
"""

    def read(self, state: OpState, node: Node) -> None:
        arg, attributes, outputs, *cases, default = node
        state.operand("arg", arg)
        for key, value in attributes.items():
            state.attribute(key, value)
        state.types("results", [] if outputs is None else list(outputs[1][0]))
        numbers = tuple(integer_of(number[0]) for number, _ in cases)
        state.attribute("cases", DenseArrayAttr(I64, numbers))
        state.region("default_region", default)
        for _, body in cases:
            state.region("case_regions", body)

    def write(self, p: Printer, op: IndexSwitch) -> None:
        p.write(f" {p.name(op.arg)}")
        p.attr_dict(op, ("cases",))
        p.write(f" -> {p.types(op.result_types)} " if op.results else " ")
        for number, inner in zip(op.cases.values, op.case_regions, strict=True):
            p.newline()
            p.write(f"case {number} ")
            # Upstream's parser adds a missing yield to the default region, but not to these.
            p.region(inner, arguments=False)
        p.newline()
        p.write("default ")
        p.region(op.default_region, arguments=False, terminator=bool(op.results))


class IndexSwitch(
    HasFlow,
    Op,
    name="scf.index_switch",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, ONE_REGION_RUNS, IMPLICIT_YIELD),
):
    """Runs the region of the case that an index equals, or the default one."""

    arg = operand(ANY_INDEX)
    cases = attribute(I64_ARRAY)
    results_ = variadic_result()
    default_region = region()
    case_regions = variadic_region()
    assembly = "custom<IndexSwitch>"

    def flow(self) -> Flow:
        """A result is what one of the regions yields."""
        ends = [region.entry.last_op for region in self.regions]
        return [(r, [end.operands[i] for end in ends if end is not None]) for i, r in enumerate(self.results)]

    def verify_op(self) -> None:
        if len(self.cases) != len(self.case_regions):
            raise self.error(f"has {len(self.case_regions)} case regions but {len(self.cases)} case values")
        seen: set[int] = set()
        for value in self.cases.values:
            if value in seen:
                raise self.error(f"has duplicate case value: {value}")
            seen.add(value)
        for inner in self.regions:
            if inner.entry.arguments:
                raise self.error("expects regions without arguments")
            verify_yield(self, inner, self.result_types)
