"""What the lanes of a subgroup do together: work of one lane, and values that go from lane to lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.gpu.attributes import BroadcastTypeAttr, short
from tessera_tools.dialects.gpu.threads import NUMBERS, Yield
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import IntegerAttr, i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import I1, I32, VectorType
from tessera_tools.opdef import (
    ANY_INDEX,
    I32_ATTR,
    I64_ATTR,
    NO_EFFECT,
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    SINGLE_BLOCK,
    AttrKind,
    CustomDirective,
    ImplicitTerminator,
    Op,
    attribute,
    exactly,
    operand,
    optional_operand,
    region,
    result,
    same_as,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class WarpSyntax(CustomDirective, name="WarpExecuteOnLane0"):
    """`(%lane)[32] args(%v : vector<4xi32>) -> (vector<1xf32>) {…}`"""

    grammar = """custom: "(" VALUE ")" "[" INTEGER "]" custom_args [custom_outputs] region attr_dict
custom_args: "args" "(" values ":" types ")" -> some | -> none
custom_outputs: "->" TYPE -> single | "->" "(" types ")" -> several | "->" "(" ")" -> nothing
"""

    def read(self, state: OpState, node: Node) -> None:
        lane, size, (form, args), outputs, body, attributes = node
        state.operand("laneid", lane)
        state.attribute("warp_size", i64(integer_of(size.text)))
        if form == "some":
            state.operands("args", args[0])
            state.types("args", args[1])
        if outputs is not None:
            count, types = outputs
            state.types("results", list(types[0] if count == "several" else types))
        for key, value in attributes.items():
            state.attribute(key, value)
        state.region("body", body)

    def write(self, p: Printer, op: WarpExecuteOnLane0) -> None:
        p.write(f"({p.name(op.laneid)})[{op.warp_size.value}]")
        if op.args:
            p.write(f" args({p.names(op.args)} : {p.types([value.type for value in op.args])})")
        if op.results:
            p.write(f" -> ({p.types(op.result_types)})")
        p.write(" ")
        p.region(op.body, terminator=bool(op.results))
        p.attr_dict(op, ("warp_size",))


class WarpExecuteOnLane0(
    Op,
    name="gpu.warp_execute_on_lane_0",
    traits=(SINGLE_BLOCK, RECURSIVE_MEMORY_EFFECTS, ImplicitTerminator(Yield)),
):
    """Lane 0 runs the region. Vectors of its arguments and results are distributed over the lanes of a warp.

    An argument of the region is a vector whose parts the lanes have, in order. Here the op is read, verified and
    printed; no pass lowers it.
    """

    laneid = operand(ANY_INDEX)
    warp_size = attribute(I64_ATTR)
    args = variadic_operand()
    results_ = variadic_result()
    body = region()
    assembly = "custom<WarpExecuteOnLane0>"

    def verify_op(self) -> None:
        if len(self.body.blocks) != 1:
            raise self.error("region #0 ('warpRegion') failed to verify constraint: region with 1 blocks")
        entry = self.body.entry
        if len(self.args) != len(entry.arguments):
            raise self.error("expected same number op arguments and block arguments.")
        end = entry.last_op
        if not isinstance(end, Yield):
            failure = self.error(
                f"expects regions to end with 'gpu.yield', found '{end.name if end is not None else 'no op'}'"
            )
            failure.diagnostics[0].note(
                "in custom textual format, the absence of terminator implies 'gpu.yield'"
            )
            raise failure
        if len(end.operands) != len(self.results):
            raise self.error("expected same number of yield operands and return values.")
        for argument, value in zip(entry.arguments, self.args, strict=True):
            self._verify_distributed(argument.type, value.type)
        for value, part in zip(end.operands, self.result_types, strict=True):
            self._verify_distributed(value.type, part)

    def _verify_distributed(self, whole: Type, part: Type) -> None:
        """Check that the lanes' parts of one type make up the whole."""
        if whole is part:
            return
        if not isinstance(whole, VectorType) or not isinstance(part, VectorType):
            raise self.error("expected vector type for distributed operands.")
        if len(whole.shape) != len(part.shape) or whole.element is not part.element:
            raise self.error("expected distributed vectors to have same rank and element type.")
        lanes = 1
        for i, (extent, share) in enumerate(zip(whole.shape, part.shape, strict=True)):
            if extent % share:
                raise self.error(
                    f"expected expanded vector dimension #{i} ({extent}) to be a multiple of the distributed vector "
                    f"dimension ({share})"
                )
            lanes *= extent // share
        if lanes != self.warp_size.value:
            raise self.error(
                f"incompatible distribution dimensions from '{whole}' to '{part}' with warp size = "
                f"{self.warp_size.value}"
            )


class SubgroupBroadcast(Op, name="gpu.subgroup_broadcast", traits=(NO_EFFECT,)):
    """A value of one lane, in all active lanes of the subgroup."""

    src = operand()
    lane = optional_operand(exactly(I32))
    broadcast_type = attribute(short(BroadcastTypeAttr))
    result = result(same_as("src"))
    assembly = "$src `,` $broadcast_type $lane attr-dict `:` type($result)"

    def verify_op(self) -> None:
        specific = self.broadcast_type.value == "specific_lane"
        if self.lane is not None and not specific:
            raise self.error("lane can only be specified for `specific_lane` broadcast")
        if self.lane is None and specific:
            raise self.error("lane must be specified for `specific_lane` broadcast")

    def fold(self, operands: Sequence[Attribute | None]) -> Sequence[Attribute | Value] | None:
        """What was broadcast is the same in all lanes."""
        source = self.src.defining_op
        return [source.result] if isinstance(source, SubgroupBroadcast) else None


def _confined(summary: str, accepts: Callable[[int], bool]) -> AttrKind[IntegerAttr]:
    return AttrKind(
        f"{I32_ATTR.summary} whose {summary}",
        lambda a: isinstance(a, IntegerAttr) and I32_ATTR.check(a) and accepts(a.value),
        I32_ATTR.symbol,
        I32_ATTR.build,
        I32_ATTR.text,
    )


class Rotate(Op, name="gpu.rotate", traits=(PURE,)):
    """The value of the lane that is `offset` lanes ahead, in groups of `width` lanes; and whether it is valid."""

    value = operand(NUMBERS)
    offset = attribute(_confined("minimum value is 0", lambda value: value >= 0))
    width = attribute(
        _confined("value is a power of two > 0", lambda value: value > 0 and not value & (value - 1))
    )
    rotate_result = result(same_as("value"))
    valid = result(exactly(I1))
    assembly = "$value `,` $offset `,` $width attr-dict `:` type($value)"

    def verify_op(self) -> None:
        if self.offset.value >= self.width.value:
            raise self.error(f"offset must be in the range [0, {self.width.value})")
