"""Dimensions split and joined, and the address of a buffer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tessera_tools.dialects.memref.buffers import ViewLike
from tessera_tools.dialects.memref.layouts import collapsed_type, expanded_type, is_identity
from tessera_tools.dialects.memref.lists import ANY_BUFFER
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    IntegerAttr,
    i64,
)
from tessera_tools.ir.core import Operation
from tessera_tools.ir.scanner import integer_of
from tessera_tools.ir.types import (
    DYNAMIC,
    DYNAMIC_INDEX,
    I32,
    INDEX,
    IndexType,
    IntegerType,
    MemRefType,
)
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_MEMREF,
    I64_ARRAY,
    PURE,
    AttrKind,
    CustomDirective,
    Op,
    TypeConstraint,
    attribute,
    exactly,
    operand,
    result,
    same_as,
    variadic_operand,
)

if TYPE_CHECKING:
    from tessera_tools.ir.printing import Printer
    from tessera_tools.opdef.directive import Node, OpState

REASSOCIATION: AttrKind[ArrayAttr[ArrayAttr[IntegerAttr]]] = AttrKind(
    "Array of 64-bit integer array attributes",
    lambda a: isinstance(a, ArrayAttr) and all(isinstance(g, ArrayAttr) for g in a),
)


class _Reshape(ViewLike):
    """The base of ops that group dimensions: `reassociation` lists, for each dimension of the smaller rank, those of
    the larger."""

    src = operand(ANY_MEMREF)
    reassociation = attribute(REASSOCIATION)
    result = result(ANY_MEMREF)

    @property
    def groups(self) -> list[list[int]]:
        """The dimensions of each group."""
        return [[a.value for a in group] for group in self.reassociation]

    def verify_groups(self, small: MemRefType, large: MemRefType) -> None:
        """Check that the groups are the dimensions of `large` in order, and that extents multiply up."""
        groups = self.groups
        if not small.shape:
            if groups:
                raise self.error(f"invalid number of reassociation groups: found {len(groups)}, expected 0")
            if any(extent != 1 for extent in large.shape):
                raise self.error("rank 0 memrefs can only be extended/collapsed with/from ones")
            return
        if len(groups) != len(small.shape):
            raise self.error(
                f"invalid number of reassociation groups: found {len(groups)}, expected {len(small.shape)}"
            )
        following = 0
        for group, extent in zip(groups, small.shape, strict=True):
            for dim in group:
                if dim != following:
                    raise self.error("reassociation indices must be contiguous")
                following += 1
                if not 0 <= dim < len(large.shape):
                    raise self.error(f"reassociation index {dim} is out of bounds")
            parts = [large.shape[d] for d in group]
            if (DYNAMIC in parts) != (extent == DYNAMIC):
                raise self.error(
                    f"collapsed dim ({groups.index(group)}) must be dynamic if and only if reassociation group is "
                    "dynamic"
                )
            if extent != DYNAMIC and math.prod(parts) != extent:
                raise self.error(
                    f"collapsed dim size ({extent}) must equal reassociation group size ({math.prod(parts)})"
                )
        if following != len(large.shape):
            raise self.error(f"expected the reassociation to cover all {len(large.shape)} dimensions")


class ExpandShape(_Reshape, name="memref.expand_shape"):
    """Each dimension split into several."""

    output_shape = variadic_operand(ANY_INDEX)
    static_output_shape = attribute(I64_ARRAY)
    assembly = (
        "$src custom<Groups>($reassociation) `output_shape` ` ` custom<IndexList>($output_shape, $static_output_shape) "
        "attr-dict `:` type($src) `into` type($result)"
    )

    def verify_op(self) -> None:
        source, target, given = self.src.type, self.result.type, self.static_output_shape.values
        if len(target.shape) < len(source.shape):
            ranks = f"{len(source.shape)} > {len(target.shape)}"
            raise self.error(
                f"has source rank {len(source.shape)} and result rank {len(target.shape)}. "
                f"This is not an expansion ({ranks})."
            )
        self.verify_groups(source, target)
        expected = expanded_type(source, target.shape, self.groups)
        if expected is not target:
            raise self.error(f"expected expanded type to be '{expected}' but found '{target}'")
        if len(given) != len(target.shape):
            raise self.error(
                f"expected number of static shape bounds to be equal to the output rank ({len(target.shape)}) "
                f"but found {len(given)} inputs instead"
            )
        if given.count(DYNAMIC_INDEX) != len(self.output_shape):
            raise self.error(
                f"mismatch in dynamic dims in output_shape and static_output_shape: static_output_shape has "
                f"{given.count(DYNAMIC_INDEX)} dynamic dims while output_shape has {len(self.output_shape)} values"
            )
        for i, (extent, number) in enumerate(zip(target.shape, given, strict=True)):
            if extent != (DYNAMIC if number == DYNAMIC_INDEX else number):
                raise self.error(f"invalid output shape provided at pos {i}")


class CollapseShape(_Reshape, name="memref.collapse_shape"):
    """Several dimensions joined into one."""

    assembly = "$src custom<Groups>($reassociation) attr-dict `:` type($src) `into` type($result)"

    def verify_op(self) -> None:
        source, target = self.src.type, self.result.type
        if len(source.shape) < len(target.shape):
            ranks = f"{len(source.shape)} < {len(target.shape)}"
            raise self.error(
                f"has source rank {len(source.shape)} and result rank {len(target.shape)}. "
                f"This is not a collapse ({ranks})."
            )
        self.verify_groups(target, source)
        expected = collapsed_type(source, self.groups or [[]] * len(target.shape))
        if expected is None:
            raise self.error("invalid source layout map or collapsing non-contiguous dims")
        if expected is not target and self.groups:
            raise self.error(f"expected collapsed type to be '{expected}' but found '{target}'")


_EXTENTS: TypeConstraint[MemRefType] = TypeConstraint(
    "1D memref of signless integer or index values",
    lambda t: (
        isinstance(t, MemRefType) and len(t.shape) == 1 and isinstance(t.element, IndexType | IntegerType)
    ),
)


class Reshape(ViewLike, name="memref.reshape"):
    """The elements of a contiguous buffer in another shape, which a buffer of integers holds."""

    source = operand(ANY_BUFFER)
    shape = operand(_EXTENTS)
    result = result(ANY_BUFFER)
    assembly = "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)"

    def verify_op(self) -> None:
        source, target, shape = self.source.type, self.result.type, self.shape.type
        if source.element is not target.element:
            raise self.error("element types of source and destination memref types should be the same")
        for noun, type in (("source", source), ("result", target)):
            if isinstance(type, MemRefType) and not is_identity(type):
                raise self.error(f"{noun} memref type should have identity affine map")
        if not isinstance(target, MemRefType):
            return
        if shape.shape[0] == DYNAMIC:
            raise self.error(
                "cannot use shape operand with dynamic length to reshape to statically-ranked memref type"
            )
        if shape.shape[0] != len(target.shape):
            raise self.error("length of shape operand differs from the result's memref rank")


class Groups(CustomDirective, name="Groups"):
    """`[[0], [1, 2]]`"""

    grammar = 'custom: "[" integer_array ("," integer_array)* "]" | "[" "]"'

    def read(self, state: OpState, node: Node) -> None:
        groups = tuple(ArrayAttr(tuple(i64(integer_of(token[0])) for token in group)) for group in node)
        state.attribute("reassociation", ArrayAttr(groups))

    def write(self, p: Printer, op: _Reshape) -> None:
        p.write(" [" + ", ".join(str(group) for group in op.groups) + "]")


class ExtractAlignedPointer(Op, name="memref.extract_aligned_pointer_as_index", traits=(PURE,)):
    """The address of a buffer's memory as a number."""

    source = operand(ANY_BUFFER)
    aligned_pointer = result(exactly(INDEX))
    assembly = "$source `:` type($source) `->` custom<Index> attr-dict"


class IndexWord(CustomDirective, name="Index"):
    """The type of a result that is always `index`."""

    grammar = "custom: TYPE"

    def covers(self) -> tuple[set[str], set[str]]:
        return set(), {"aligned_pointer"}

    def read(self, state: OpState, node: Node) -> None:
        state.types("aligned_pointer", [node[0]])

    def write(self, p: Printer, op: Operation) -> None:
        p.write(" index")


class AssumeAlignment(ViewLike, name="memref.assume_alignment"):
    """The same buffer; that its memory is not aligned so is undefined behavior."""

    memref = operand(ANY_MEMREF)
    alignment = attribute(
        AttrKind[IntegerAttr](
            "32-bit signless integer attribute whose value is positive",
            lambda a: isinstance(a, IntegerAttr) and a.type is I32 and a.value > 0,
            "INTEGER",
            lambda token: IntegerAttr(integer_of(token[0]), I32),
            lambda a: str(a.value),
        )
    )
    result = result(same_as("memref"))
    assembly = "$memref `,` $alignment attr-dict `:` type($memref)"

    def verify_op(self) -> None:
        if self.alignment.value.bit_count() != 1:
            raise self.error("alignment must be power of 2")
