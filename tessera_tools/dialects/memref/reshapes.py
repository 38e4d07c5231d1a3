"""Dimensions split and joined, and the address of a buffer."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.memref.buffers import ViewLike
from tessera_tools.dialects.memref.lists import ANY_BUFFER
from tessera_tools.ir.builtin_attributes import (
    ArrayAttr,
    IntegerAttr,
    i64,
)
from tessera_tools.ir.types import (
    DYNAMIC,
    I32,
    INDEX,
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
    attribute,
    exactly,
    operand,
    result,
    same_as,
    variadic_operand,
)

REASSOCIATION = AttrKind(
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
        """Check that the groups are the dimensions of `large` in order, and that static extents multiply up."""
        groups = self.groups
        if len(groups) != len(small.shape):
            raise self.error(
                f"expected rank of the collapsed shape ({len(small.shape)}) to be the number of reassociation maps "
                f"({len(groups)})"
            )
        if [d for group in groups for d in group] != list(range(len(large.shape))):
            raise self.error("expected reassociation map to be contiguous and to cover all dimensions")
        for extent, group in zip(small.shape, groups, strict=True):
            parts = [large.shape[d] for d in group]
            if DYNAMIC in parts or extent == DYNAMIC:
                continue
            product = 1
            for part in parts:
                product *= part
            if product != extent:
                raise self.error(
                    f"expected dimension {groups.index(group)} of the collapsed type to be static value of {product}"
                )


class ExpandShape(_Reshape, name="memref.expand_shape"):
    """Each dimension split into several."""

    output_shape = variadic_operand(ANY_INDEX)
    static_output_shape = attribute(I64_ARRAY)
    assembly = (
        "$src custom<Groups>($reassociation) `output_shape` ` ` custom<IndexList>($output_shape, $static_output_shape) "
        "attr-dict `:` type($src) `into` type($result)"
    )

    def verify_op(self) -> None:
        self.verify_groups(self.src.type, self.result.type)


class CollapseShape(_Reshape, name="memref.collapse_shape"):
    """Several dimensions joined into one."""

    assembly = "$src custom<Groups>($reassociation) attr-dict `:` type($src) `into` type($result)"

    def verify_op(self) -> None:
        self.verify_groups(self.result.type, self.src.type)


class Groups(CustomDirective, name="Groups"):
    """`[[0], [1, 2]]`"""

    grammar = 'custom: "[" integer_array ("," integer_array)* "]" | "[" "]"'

    def read(self, state: Any, node: Any) -> None:
        groups = tuple(ArrayAttr(tuple(i64(int(token[0], 0)) for token in group)) for group in node)
        state.attribute("reassociation", ArrayAttr(groups))

    def write(self, p: Any, op: _Reshape) -> None:
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

    def read(self, state: Any, node: Any) -> None:
        state.types("aligned_pointer", [node[0]])

    def write(self, p: Any, op: Any) -> None:
        p.write(" index")


class AssumeAlignment(ViewLike, name="memref.assume_alignment"):
    """The same buffer; that its memory is not aligned so is undefined behaviour."""

    memref = operand(ANY_MEMREF)
    alignment = attribute(
        AttrKind(
            "32-bit signless integer attribute whose value is positive",
            lambda a: isinstance(a, IntegerAttr) and a.type is I32 and a.value > 0,
            "INTEGER",
            lambda token: IntegerAttr(int(token[0], 0), I32),
            lambda a: str(a.value),
        )
    )
    result = result(same_as("memref"))
    assembly = "$memref `,` $alignment attr-dict `:` type($memref)"
