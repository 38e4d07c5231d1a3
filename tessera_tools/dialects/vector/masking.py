"""`vector.mask`, by which an operation is done only for some elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tessera_tools.dialects.vector.arithmetic import Contract, MultiReduction, OuterProduct, Reduction
from tessera_tools.dialects.vector.attributes import Dims, dims_of, vector_of
from tessera_tools.dialects.vector.memory import Gather, TransferRead, TransferWrite, transfer_mask
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.interfaces import Flow, HasFlow
from tessera_tools.ir.location import Location
from tessera_tools.ir.types import I1, VectorType
from tessera_tools.opdef import (
    PURE,
    RECURSIVE_MEMORY_EFFECTS,
    RETURN_LIKE,
    SINGLE_BLOCK,
    CustomDirective,
    HasParent,
    ImplicitTerminator,
    Op,
    TypeConstraint,
    operand,
    optional_operand,
    region,
    variadic_operand,
    variadic_result,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

_MASK: TypeConstraint[VectorType] = TypeConstraint(
    "vector of 1-bit signless integer values",
    lambda t: isinstance(t, VectorType) and bool(t.shape) and t.element is I1,
)


class Yield(Op, name="vector.yield", traits=(RETURN_LIKE, PURE, HasParent("vector.mask"))):
    """The results of the masked op."""

    operands_ = variadic_operand()
    assembly = "attr-dict ($operands^ `:` type($operands))?"


class _YieldsTheOp(ImplicitTerminator):
    """The region's only op is followed by a `vector.yield` of its results."""

    def complete(self, regions: Sequence[Region], location: Location) -> None:
        for inner in regions:
            if not inner.blocks:
                continue
            block = inner.blocks[0]
            if not isinstance(block.last_op, Yield):
                block.append(Yield([] if block.last_op is None else block.last_op.results, location=location))


class MaskSyntax(CustomDirective, name="Mask"):
    """`%mask, %passthru { op } : vector<8xi1> -> vector<8xf32>`"""

    grammar = """custom: VALUE custom_passthru region attr_dict ":" TYPE custom_results
custom_passthru: "," VALUE -> present | -> absent
custom_results: "->" types -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        mask, (_, passthru), body, attributes, type, (_, results) = node
        state.operand("mask", mask)
        state.types("mask", [type])
        types: list[Type] = list(results[0]) if results else []
        if passthru:
            if not types:
                raise state.error(passthru[0], "expects a result if passthru operand is provided")
            state.operand("passthru", passthru[0])
            state.types("passthru", types[:1])
        state.types("results", types)
        for key, value in attributes.items():
            state.attribute(key, value)
        state.region("body", body)

    def write(self, p: Printer, op: Mask) -> None:
        p.write(f" {p.name(op.mask)}")
        if op.passthru is not None:
            p.write(f", {p.name(op.passthru)}")
        p.write(" { ")
        masked = op.masked
        # The results of the masked op are those of this one; upstream does not name them again.
        p.operation(masked or next(iter(op.body.entry)), name_results=False)
        p.write(" }")
        p.attr_dict(op)
        p.write(f" : {p.type(op.mask.type)}")
        if op.results:
            p.write(f" -> {p.types(op.result_types)}")


class Mask(
    HasFlow, Op, name="vector.mask", traits=(RECURSIVE_MEMORY_EFFECTS, SINGLE_BLOCK, _YieldsTheOp(Yield))
):
    """Does the op of its region only for the elements that a mask names; the others are of `passthru`, or undefined."""

    mask = operand(_MASK)
    passthru = optional_operand()
    results_ = variadic_result()
    body = region()
    assembly = "custom<Mask>"

    @property
    def masked(self) -> Operation | None:
        """The op that is masked; None if the region only yields."""
        first = self.body.entry.first_op
        return None if isinstance(first, Yield) else first

    def flow(self) -> Flow:
        """A result is what the region yields, or the passthru where the mask is not set."""
        last = self.body.entry.last_op
        other = [self.passthru] if self.passthru is not None else []
        return [
            (r, [value, *other])
            for r, value in zip(self.results, last.operands if last else (), strict=False)
        ]

    def verify_op(self) -> None:
        if self.body.entry.arguments:
            raise self.error("region should have no arguments")
        if self.passthru is not None and not self.results:
            raise self.error("expects a result if passthru operand is provided")
        ops = list(self.body.entry)
        if not ops or not isinstance(ops[-1], Yield):
            raise self.error("expects a terminator within the mask region")
        end = ops[-1]
        if len(ops) > 2:
            raise self.error("expects only one operation to mask")
        if len(end.operands) != len(self.results):
            raise self.error("expects number of results to match mask region yield operands")
        masked = self.masked
        if masked is None:
            if [value.type for value in end.operands] != self.result_types:
                raise self.error("expects result types to match the types of mask region yield operands")
            return
        expected = _mask_of(masked)
        if expected is None:
            raise self.error("expects a MaskableOpInterface within the mask region")
        if list(end.operands) != list(masked.results):
            raise self.error(
                "expects all the results from the MaskableOpInterface to match all the values returned by the "
                "terminator"
            )
        if self.result_types != masked.result_types:
            raise self.error("expects result type to match maskable operation result type")
        if self.mask.type is not expected:
            raise self.error(f"expects a '{expected}' mask for the maskable operation")
        if self.passthru is not None and [self.passthru.type] != masked.result_types:
            raise self.error("expects passthru type to match result type")


def _mask_of(op: Operation) -> Type | None:
    """The type of the mask of an op; None if it cannot be masked."""
    if isinstance(op, TransferRead | TransferWrite):
        return transfer_mask(op.permutation_map, op.vector.type)
    dims: Dims | None = None
    if isinstance(op, Contract):
        dims = _iteration_space(op)
    elif isinstance(op, Reduction):
        dims = dims_of(op.vector.type)
    elif isinstance(op, MultiReduction):
        dims = dims_of(op.source.type)
    elif isinstance(op, OuterProduct | Gather):
        dims = dims_of(op.result.type)
    return None if dims is None else vector_of(dims, I1)


def _iteration_space(op: Contract) -> Dims:
    """The extents of the nest, each from an operand that it indexes."""
    found: dict[int, tuple[int, bool]] = {}
    for entry, value in zip(op.indexing_maps, (op.lhs, op.rhs), strict=False):
        for result, dim in zip(entry.map.results, dims_of(value.type), strict=True):  # type: ignore[attr-defined]
            found[result.value] = dim
    return [found[i] for i in sorted(found)]
