"""The place of a thread, and what threads do together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.gpu.attributes import (
    AddressSpaceAttr,
    AllReduceOperationAttr,
    DimensionAttr,
    ShuffleModeAttr,
    short,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import (
    UNIT,
    IntegerAttr,
)
from tessera_tools.ir.types import DYNAMIC, I1, I8, I32, INDEX, MemRefType, VectorType, element_type
from tessera_tools.opdef import (
    ANY_FLOAT,
    ANY_INTEGER,
    ANY_MEMREF,
    ANY_TYPE,
    I32_ATTR,
    INDEX_ATTR,
    ISOLATED_FROM_ABOVE,
    PURE,
    READ_WRITE,
    RETURN_LIKE,
    STRING_ATTR,
    TERMINATOR,
    UNIT_ATTR,
    CustomDirective,
    HasParent,
    Op,
    TypeConstraint,
    attribute,
    exactly,
    operand,
    region,
    result,
    same_as,
    variadic_operand,
)
from tessera_tools.opdef.elements import distribute_types

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState


class _IndexOp(Op, traits=(PURE,)):
    """The base of coordinates and extents along a dimension."""

    dimension = attribute(short(DimensionAttr))
    upper_bound = attribute(INDEX_ATTR, "the value is below it", optional=True)
    result = result(exactly(INDEX))
    assembly = "$dimension (`upper_bound` $upper_bound^)? attr-dict"


class ThreadId(_IndexOp, name="gpu.thread_id"):
    """The thread's coordinate in its block."""


class BlockId(_IndexOp, name="gpu.block_id"):
    """The block's coordinate in the grid."""


class BlockDim(_IndexOp, name="gpu.block_dim"):
    """The extent of a block, in threads."""


class GridDim(_IndexOp, name="gpu.grid_dim"):
    """The extent of the grid, in blocks."""


class GlobalId(_IndexOp, name="gpu.global_id"):
    """The thread's coordinate in the grid."""


class ClusterId(_IndexOp, name="gpu.cluster_id"):
    """The cluster's coordinate in the grid."""


class ClusterDim(_IndexOp, name="gpu.cluster_dim"):
    """The extent of the grid, in clusters."""


class ClusterBlockId(_IndexOp, name="gpu.cluster_block_id"):
    """The block's coordinate in its cluster."""


class ClusterDimBlocks(_IndexOp, name="gpu.cluster_dim_blocks"):
    """The extent of a cluster, in blocks."""


class LaneId(Op, name="gpu.lane_id", traits=(PURE,)):
    """The thread's number in its subgroup (warp)."""

    upper_bound = attribute(INDEX_ATTR, "the value is below it", optional=True)
    result = result(exactly(INDEX))
    assembly = "(`upper_bound` $upper_bound^)? attr-dict"


class _SubgroupIndex(Op, traits=(PURE,)):
    """The base of numbers about subgroups."""

    upper_bound = attribute(INDEX_ATTR, "the value is below it", optional=True)
    result = result(exactly(INDEX))
    assembly = "(`upper_bound` $upper_bound^)? attr-dict `:` type($result)"


class SubgroupId(_SubgroupIndex, name="gpu.subgroup_id"):
    """The subgroup's number in its block."""


class NumSubgroups(_SubgroupIndex, name="gpu.num_subgroups"):
    """The number of subgroups in a block."""


class SubgroupSize(_SubgroupIndex, name="gpu.subgroup_size"):
    """The number of threads in a subgroup."""


class Barrier(Op, name="gpu.barrier", traits=(READ_WRITE,)):
    """All threads of a block wait for each other; memory written before is seen after."""

    assembly = "attr-dict"


class Terminator(
    Op,
    name="gpu.terminator",
    traits=(TERMINATOR, PURE, HasParent("gpu.launch")),
):
    """Ends the region of `gpu.launch`."""

    assembly = "attr-dict"


class Yield(Op, name="gpu.yield", traits=(RETURN_LIKE, PURE)):
    """Ends a region with values."""

    values = variadic_operand()
    assembly = "attr-dict ($values^ `:` type($values))?"


_NUMBER = ANY_INTEGER | ANY_FLOAT
NUMBERS = TypeConstraint(
    "Integer or Float or fixed-length vector of Integer or Float values of ranks 1",
    lambda t: (
        _NUMBER.accepts(t)
        or (
            isinstance(t, VectorType)
            and len(t.shape) == 1
            and not any(t.scalable)
            and _NUMBER.accepts(t.element)
        )
    ),
)


class Shuffle(Op, name="gpu.shuffle", traits=(PURE,)):
    """A value from another lane of the subgroup, and whether that lane took part."""

    value = operand(NUMBERS)
    offset = operand(exactly(I32))
    width = operand(exactly(I32))
    mode = attribute(short(ShuffleModeAttr))
    shuffle_result = result(same_as("value"))
    valid = result(exactly(I1))
    assembly = "$mode $value `,` $offset `,` $width attr-dict `:` type($value)"


class _Reduction(Op):
    """The base of reductions over a group of threads."""

    def verify_kind(self, type: Type, kind: str) -> None:
        """Check that the operation suits the element type."""
        is_float = kind.endswith("f")
        element = element_type(type)
        if is_float and not ANY_FLOAT.accepts(element):
            raise self.error(f"`{kind}` reduction operation is not compatible with type '{type}'")
        if kind not in ("add", "mul") and not is_float and not ANY_INTEGER.accepts(element):
            raise self.error(f"`{kind}` reduction operation is not compatible with type '{type}'")


class AllReduceSyntax(CustomDirective, name="AllReduceBody"):
    """The operation by name, the value, `uniform`, and the region of one's own."""

    grammar = """custom: custom_operation VALUE custom_uniform region attr_dict ":" FUNCTION_TYPE
custom_operation: KEYWORD -> present | -> absent
custom_uniform: "uniform" -> present | -> absent
"""

    def read(self, state: OpState, node: Node) -> None:
        (form, names), value, uniform, body, attributes, function = node
        if form == "present":
            name = names[0]
            if name[0] not in AllReduceOperationAttr.cases:
                expected = ", ".join(AllReduceOperationAttr.cases)
                raise state.error(name, f"unknown operation '{name[0]}'; expected one of {expected}")
            state.attribute("op", AllReduceOperationAttr(name[0]))
        if uniform[0] == "present":
            state.attribute("uniform", UNIT)
        for key, entry in attributes.items():
            state.attribute(key, entry)
        state.operand("value", value)
        state.types("value", list(function.inputs))
        distribute_types(state, state.definition.results, list(function.results), "result")
        state.region("body", body)

    def write(self, p: Printer, op: AllReduce) -> None:
        p.write(f"  {op.op.value}" if op.op is not None else " ")
        p.write(f" {p.name(op.value)}")
        p.write(" uniform " if op.uniform is not None else " ")
        p.region(op.body)
        p.attr_dict(op, ("op", "uniform"))
        p.write(f" : {p.function_type([op.value.type], [op.result.type])}")


class AllReduce(_Reduction, name="gpu.all_reduce", traits=(ISOLATED_FROM_ABOVE,)):
    """The values of all threads of a block combined, by a named operation or a region of two arguments."""

    value = operand(TypeConstraint("Integer or Float", _NUMBER.accepts))
    op = attribute(short(AllReduceOperationAttr), optional=True)
    uniform = attribute(UNIT_ATTR, "all threads of the block arrive", optional=True)
    result = result(same_as("value"))
    body = region()
    assembly = "custom<AllReduceBody>"

    def verify_op(self) -> None:
        if (self.op is not None) == bool(self.body.blocks and self.body.entry.first_op is not None):
            raise self.error("expected either an op attribute or a non-empty body", named=False)
        if self.op is not None:
            self.verify_kind(self.value.type, self.op.value)
            return
        arguments, type = self.body.entry.arguments, self.value.type
        if len(arguments) != 2:
            raise self.error("expected two region arguments", named=False)
        if any(argument.type is not type for argument in arguments):
            raise self.error("incorrect region argument type", named=False)
        ends = [block.last_op for block in self.body.blocks if isinstance(block.last_op, Yield)]
        if not ends:
            raise self.error("expected gpu.yield op in region", named=False)
        for end in ends:
            if len(end.operands) != 1:
                raise self.error("expected one gpu.yield operand", named=False)
            if end.operand(0).type is not type:
                raise self.error("incorrect gpu.yield type", named=False)


class SubgroupReduce(_Reduction, name="gpu.subgroup_reduce"):
    """The values of a subgroup's threads (or of clusters in it) combined."""

    value = operand(NUMBERS)
    op = attribute(short(AllReduceOperationAttr))
    uniform = attribute(UNIT_ATTR, "all threads of the subgroup arrive", optional=True)
    cluster_size = attribute(I32_ATTR, "lanes in a cluster", optional=True)
    cluster_stride = attribute(I32_ATTR, "lanes between two of a cluster", default=IntegerAttr(1, I32))
    result = result(same_as("value"))
    assembly = (
        "$op $value (`uniform` $uniform^)? "
        "(`cluster` `(` `size` `=` $cluster_size^ (`,` `stride` `=` $cluster_stride^)? `)`)? "
        "attr-dict `:` functional-type($value, $result)"
    )

    def verify_op(self) -> None:
        size = self.cluster_size
        if size is not None and (size.value <= 0 or size.value.bit_count() != 1):
            raise self.error(f"cluster size {size.value} is not a power of two")
        stride = self.cluster_stride.value
        if stride != 1 and size is None:
            raise self.error("cluster stride can only be specified if cluster size is specified")
        if stride <= 0 or stride.bit_count() != 1:
            raise self.error(f"cluster stride {stride} is not a power of two")
        self.verify_kind(self.value.type, self.op.value)


class Printf(Op, name="gpu.printf", traits=(READ_WRITE,)):
    """Prints from the device, by a format string as in C."""

    format = attribute(STRING_ATTR)
    args = variadic_operand(ANY_TYPE)
    assembly = "$format attr-dict (`,` $args^ `:` type($args))?"


class DynamicSharedMemory(Op, name="gpu.dynamic_shared_memory", traits=(PURE,)):
    """The shared memory whose size is specified at launch."""

    result_memref = result(ANY_MEMREF)
    assembly = "attr-dict `:` type($result_memref)"

    def verify_op(self) -> None:
        type = self.result_memref.type
        if type.rank != 1 or type.element is not I8:
            raise self.error(
                f"result #0 must be 1D memref of 8-bit signless integer values, but got '{type}'"
            )
        workgroup = AddressSpaceAttr("workgroup")
        if type.memory_space is not workgroup:
            raise self.error("address space must be address_space<workgroup>")
        wanted = MemRefType((DYNAMIC,), I8, None, workgroup)
        if type is not wanted:
            raise self.error(f"result memref type must be {wanted}")
