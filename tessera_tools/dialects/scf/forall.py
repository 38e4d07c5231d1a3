"""`scf.forall`: iterations that run at the same time, each on what its mapping says.

%r = scf.forall (%i, %j) in (8, %n) shared_outs(%o = %t) -> (tensor<8x?xf32>) {
  scf.forall.in_parallel { … }          how the iterations' parts become the results
} {mapping = [#gpu.block<x>, #gpu.block<y>]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.scf.ops import RESULT_TYPES, output_types
from tessera_tools.ir.core import Block, BlockArgument, Region, UnregisteredOp
from tessera_tools.ir.location import Location
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import DYNAMIC_INDEX, INDEX, IndexType
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_RANKED_TENSOR,
    ARRAY_ATTR,
    I64_ARRAY,
    NO_TERMINATOR,
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    SINGLE_BLOCK,
    TERMINATOR,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    attribute,
    region,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.core import Value
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class InParallelSyntax(CustomDirective, name="InParallel"):
    """`{ … }`"""

    grammar = "custom: region attr_dict"

    def read(self, state: OpState, node: Node) -> None:
        body, attributes = node
        state.region("body", body)
        for key, value in attributes.items():
            state.attribute(key, value)

    def write(self, p: Printer, op: InParallel) -> None:
        p.write(" ")
        p.region(op.body, arguments=False)
        p.attr_dict(op, ())


class InParallel(
    Op,
    name="scf.forall.in_parallel",
    traits=(TERMINATOR, PURE, NO_TERMINATOR, SINGLE_BLOCK, HasParent("scf.forall")),
):
    """Ends the body of `scf.forall`; its ops put the iterations' parts into the results."""

    body = region()
    assembly = "custom<InParallel>"

    def verify_op(self) -> None:
        if len(self.body.blocks) != 1:
            raise self.error("region #0 ('region') failed to verify constraint: region with 1 blocks")
        for op in self.body.entry.operations:
            # Those that upstream has are of the tensor dialect, which is not declared here.
            if not isinstance(op, UnregisteredOp):
                raise self.error("expected only ParallelCombiningOpInterface ops")


class _EndsInParallel(ImplicitTerminator):
    """The terminator may be omitted; its region then has an empty block."""

    def complete(self, regions: Sequence[Region], location: Location) -> None:
        for inner in regions:
            if inner.blocks:
                last = inner.blocks[-1].last_op
                if last is None or not last.has_trait(Terminator):
                    inner.blocks[-1].append(InParallel(body=Region([Block()]), location=location))


class ForallSyntax(CustomDirective, name="Forall"):
    """`(%i) in (8) shared_outs(%o = %t) -> (tensor<8xf32>) {…}`, or `(%i) = (0) to (8) step (2) …`"""

    grammar = (
        """custom: custom_names custom_bounds [custom_outs] region attr_dict
custom_names: "(" values ")" -> some | "(" ")" -> none
custom_bounds: "in" custom_list -> normalized | "=" custom_list "to" custom_list "step" custom_list -> explicit
custom_list: "(" custom_item ("," custom_item)* ")" | "(" ")"
custom_item: INTEGER -> number | VALUE -> value
custom_outs: "shared_outs" assignments custom_outputs
"""
        + RESULT_TYPES
    )

    def read(self, state: OpState, node: Node) -> None:
        (form, children), (bounds, lists), outs, body, attributes = node
        names = list(children[0]) if form == "some" else []
        if bounds == "normalized":
            zero, one = ([("number", (token,))] * len(names) for token in (("0",), ("1",)))
            lists = [zero, lists[0], one]
        from tessera_tools.dialects.memref.lists import read_mixed  # few kernels need the dialect

        for items, field, key in zip(lists, _FIELDS, _KEYS, strict=True):
            read_mixed(state, items, field, key)
        entries, outputs = outs or ([], None)
        types = output_types(outputs)
        if len(types) != len(entries):
            raise state.error(None, f"found {len(entries)} shared outputs and {len(types)} result types")
        state.operands("outputs", [value for _, value in entries])
        state.types("outputs", types)
        state.types("results", types)
        bound = [(name, INDEX) for name in names]
        bound += [(name, type) for (name, _), type in zip(entries, types, strict=True)]
        for key, value in attributes.items():
            state.attribute(key, value)
        state.region("body", body, bound)

    def write(self, p: Printer, op: Forall) -> None:
        rank = op.rank
        arguments = op.body.entry.arguments
        p.write(f" ({p.names(arguments[:rank])})")
        lower, upper, step = (
            _list_text(p, static.values, dynamic)
            for static, dynamic in (
                (op.static_lower_bound, op.lower),
                (op.static_upper_bound, op.upper),
                (op.static_step, op.step),
            )
        )
        if op.is_normalized:
            p.write(f" in {upper}")
        else:
            p.write(f" = {lower} to {upper} step {step}")
        if op.outputs:
            pairs = zip(arguments[rank:], op.outputs, strict=True)
            p.write(f" shared_outs({', '.join(f'{p.name(a)} = {p.name(b)}' for a, b in pairs)})")
            p.write(f" -> ({p.types(op.result_types)})")
        p.write(" ")
        end = op.body.entry.last_op
        shown = isinstance(end, InParallel) and end.body.entry.first_op is not None
        p.region(op.body, arguments=False, terminator=bool(op.results) or shown)
        p.attr_dict(op, (*_KEYS, "operandSegmentSizes"))


_FIELDS = ("lower", "upper", "step")
_KEYS = ("staticLowerBound", "staticUpperBound", "staticStep")


def _list_text(p: Printer, static: Sequence[int], dynamic: Sequence[Value]) -> str:
    rest = iter(dynamic)
    return f"({', '.join(p.name(next(rest)) if n == DYNAMIC_INDEX else str(n) for n in static)})"


class Forall(
    Op,
    name="scf.forall",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, _EndsInParallel(InParallel)),
):
    """Iterations that may run at the same time, and share the outputs.

    `mapping` says what an iteration of each dimension is, such as `#gpu.block<x>`. The op is read, verified and
    printed; no pass lowers it.
    """

    lower = variadic_operand(ANY_INDEX)
    upper = variadic_operand(ANY_INDEX)
    step = variadic_operand(ANY_INDEX)
    outputs = variadic_operand(ANY_RANKED_TENSOR)
    static_lower_bound = attribute(I64_ARRAY, key="staticLowerBound")
    static_upper_bound = attribute(I64_ARRAY, key="staticUpperBound")
    static_step = attribute(I64_ARRAY, key="staticStep")
    mapping = attribute(ARRAY_ATTR, optional=True)
    results_ = variadic_result()
    body = region()
    assembly = "custom<Forall>"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.static_lower_bound.values)

    @property
    def induction(self) -> list[BlockArgument]:
        """The counters."""
        return self.body.entry.arguments[: self.rank]

    @property
    def is_normalized(self) -> bool:
        """True if the counters go from 0 in steps of 1."""
        return set(self.static_lower_bound.values) <= {0} and set(self.static_step.values) <= {1}

    def verify_op(self) -> None:
        if len(self.results) != len(self.outputs):
            raise self.error(
                f"produces {len(self.results)} results, but has only {len(self.outputs)} outputs"
            )
        if len(self.body.blocks) != 1:
            raise self.error("region #0 ('region') failed to verify constraint: region with 1 blocks")
        arguments, rank = self.body.entry.arguments, self.rank
        if len(arguments) != rank + len(self.outputs):
            raise self.error(f"region expects {rank} arguments")
        for i, argument in enumerate(arguments[:rank]):
            if not isinstance(argument.type, IndexType):
                raise self.error(f"expects {i}-th block argument to be an index")
        for i, (argument, output) in enumerate(zip(arguments[rank:], self.outputs, strict=True)):
            if argument.type is not output.type:
                raise self.error(f"type mismatch between {i}-th output and corresponding block argument")
        if not isinstance(self.body.entry.last_op, InParallel):
            raise self.error("expects regions to end with 'scf.forall.in_parallel'")
        self._verify_mapping()
        for noun, static, dynamic in (
            ("lower bound", self.static_lower_bound, self.lower),
            ("upper bound", self.static_upper_bound, self.upper),
            ("step", self.static_step, self.step),
        ):
            if len(static) != rank:
                raise self.error(f"expected {rank} {noun} values, got {len(static)}")
            marked = static.values.count(DYNAMIC_INDEX)
            if marked != len(dynamic):
                raise self.error(f"expected {marked} dynamic {noun} values")

    def _verify_mapping(self) -> None:
        if self.mapping is None or not len(self.mapping):
            return
        masks = [one for one in self.mapping if one.name == "gpu.mask"]
        for one in self.mapping:
            if one.name.startswith("builtin."):
                raise self.error(
                    "attribute 'mapping' failed to satisfy constraint: Device Mapping array attribute"
                )
        if len(self.mapping) - len(masks) != self.rank:
            raise self.error("mapping attribute size must match op rank")
        if len(masks) > 1:
            raise self.error('"mapping" supports at most one device masking attribute')
