"""Matrices that a subgroup holds together, and products of them. How the lanes hold a matrix is not defined.

The ops are read, verified and printed; no pass lowers them. `nvvm.mma.sync` has registers that are defined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.dialects.gpu.attributes import ElementwiseAttr, short
from tessera_tools.dialects.memref.layouts import strided
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.types import F16, F32, F64, I8, I32, IntegerType, MemRefType, VectorType
from tessera_tools.opdef import (
    ANY_FLOAT,
    ANY_INDEX,
    ANY_INTEGER,
    INDEX_ATTR,
    PURE,
    UNIT_ATTR,
    MemoryEffects,
    Op,
    TypeConstraint,
    attribute,
    derived,
    of,
    operand,
    read,
    result,
    same_as,
    variadic_operand,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.scanner import Scanner

SI8, UI8 = IntegerType(8, "signed"), IntegerType(8, "unsigned")


class MMAMatrixType(Type, name="gpu.mma_matrix"):
    """`!gpu.mma_matrix<16x16xf16, "AOp">`: a left ("AOp") or right ("BOp") factor, or sums ("COp")."""

    shape: tuple[int, ...]
    element: Type
    role: str

    def verify(self) -> None:
        if self.role not in ("AOp", "BOp", "COp"):
            raise ValueError("operand expected to be one of AOp, BOp or COp")
        if len(self.shape) != 2:
            raise ValueError("MMAMatrixType must have exactly two dimensions")
        if self.element not in (SI8, UI8, I32, F16, F32, F64):
            raise ValueError("MMAMatrixType elements must be SI8, UI8, I32, F16, F32, or F64")

    def text(self) -> str:
        return f'!gpu.mma_matrix<{"x".join(map(str, self.shape))}x{self.element}, "{self.role}">'

    @classmethod
    def parse(cls, s: Scanner) -> MMAMatrixType:
        s.expect("<")
        shape = s.dimensions()
        if any(extent < 0 for extent in shape):
            raise s.error("expected static shape")
        element = s.type()
        s.expect(",")
        role = s.string()
        s.expect(">")
        return cls(shape, element, role)


_MATRIX = of(MMAMatrixType, summary="MMAMatrix type")
_WORDS = "8-bit signless integer or 32-bit signless integer or 16-bit float or 32-bit float or 64-bit float"
_BUFFER: TypeConstraint[MemRefType] = TypeConstraint(
    f"memref of {_WORDS} or vector of {_WORDS} values of ranks 1 values",
    lambda t: isinstance(t, MemRefType) and _row(t.element) in (I8, I32, F16, F32, F64),
)


def _row(type: Type) -> Type:
    return type.element if isinstance(type, VectorType) and len(type.shape) == 1 else type


def _matrix_of(*elements: Type) -> TypeConstraint[MMAMatrixType]:
    words: dict[Type, str] = {
        SI8: "8-bit signed integer", UI8: "8-bit unsigned integer", I32: "32-bit signless integer",
        F16: "16-bit float", F32: "32-bit float", F64: "64-bit float",
    }  # fmt: skip
    return TypeConstraint(
        f"gpu.mma_matrix of {' or '.join(words[element] for element in elements)} values",
        lambda t: isinstance(t, MMAMatrixType) and t.element in elements,
    )


def _element(matrix: Type | None) -> Type | None:
    return matrix.element if isinstance(matrix, MMAMatrixType) else None


_RULE = "value type matches element type of mma_matrix"


def _verify_rows(op: Op, buffer: MemRefType, noun: str) -> None:
    layout = strided(buffer)
    if buffer.shape and (layout is None or layout.strides[-1] != 1):
        raise op.error(f"expected {noun} memref most minor dim must have unit stride")


class SubgroupMmaLoadMatrix(
    Op, name="gpu.subgroup_mma_load_matrix", traits=(MemoryEffects(read("src_memref")),)
):
    """A matrix from memory; `leadDimension` is the number of elements from row to row."""

    src_memref = operand(_BUFFER)
    indices = variadic_operand(ANY_INDEX)
    lead_dimension = attribute(INDEX_ATTR, key="leadDimension")
    transpose = attribute(UNIT_ATTR, optional=True)
    res = result(_MATRIX)
    assembly = "$src_memref `` `[` $indices `]` attr-dict `:` type($src_memref) `->` type($res)"

    def verify_op(self) -> None:
        _verify_rows(self, self.src_memref.type, "source")


class SubgroupMmaStoreMatrix(
    Op, name="gpu.subgroup_mma_store_matrix", traits=(MemoryEffects(write("dst_memref")),)
):
    """A matrix of sums to memory; `leadDimension` is the number of elements from row to row."""

    src = operand(_matrix_of(SI8, UI8, I32, F16, F32, F64))
    dst_memref = operand(_BUFFER)
    indices = variadic_operand(ANY_INDEX)
    lead_dimension = attribute(INDEX_ATTR, key="leadDimension")
    transpose = attribute(UNIT_ATTR, optional=True)
    assembly = "$src `,` $dst_memref `` `[` $indices `]` attr-dict `:` type($src) `,` type($dst_memref)"

    def verify_op(self) -> None:
        _verify_rows(self, self.dst_memref.type, "destination")
        if self.src.type.role != "COp":
            raise self.error("expected the operand matrix being stored to have 'COp' operand type")


class SubgroupMmaCompute(Op, name="gpu.subgroup_mma_compute", traits=(PURE,)):
    """C + A * B. Factors of integers have a sign; sums have none, and are signed."""

    op_a = operand(_matrix_of(SI8, UI8, F16, F32, F64))
    op_b = operand(_matrix_of(SI8, UI8, F16, F32, F64))
    op_c = operand(_matrix_of(I32, F16, F32, F64))
    a_transpose = attribute(UNIT_ATTR, optional=True)
    b_transpose = attribute(UNIT_ATTR, optional=True)
    res = result(same_as("op_c"))
    assembly = "$op_a `,` $op_b `,` $op_c attr-dict `:` type($op_a) `,` type($op_b) `->` type($res)"

    def verify_op(self) -> None:
        a, b, c = self.op_a.type, self.op_b.type, self.op_c.type
        if (a.role, b.role, c.role) != ("AOp", "BOp", "COp"):
            raise self.error("operands must be in the order AOp, BOp, COp")
        if a.shape[1] != b.shape[0] or c.shape != (a.shape[0], b.shape[1]):
            raise self.error("operand shapes do not satisfy matmul constraints")


class SubgroupMmaConstantMatrix(Op, name="gpu.subgroup_mma_constant_matrix", traits=(PURE,)):
    """A matrix whose elements are one number."""

    value = operand(derived("element type of the matrix", _element, "res", rule=_RULE))
    res = result(_MATRIX)
    assembly = "$value attr-dict `:` type($res)"


class SubgroupMmaExtractThreadLocal(Op, name="gpu.subgroup_mma_extract_thread_local", traits=(PURE,)):
    """One of the elements of a matrix that the thread holds."""

    matrix = operand(_MATRIX)
    indices = variadic_operand(ANY_INDEX)
    res = result(derived("element type of the matrix", _element, "matrix", rule=_RULE))
    assembly = "$matrix `` `[` $indices `]` attr-dict `:` type($matrix) `->` type($res)"


class SubgroupMmaInsertThreadLocal(Op, name="gpu.subgroup_mma_insert_thread_local", traits=(PURE,)):
    """A matrix with another number in one of the elements that the thread holds."""

    value = operand(ANY_INTEGER | ANY_FLOAT)
    matrix = operand(_MATRIX)
    indices = variadic_operand(ANY_INDEX)
    res = result(_MATRIX)
    assembly = (
        "$value `,` $matrix `` `[` $indices `]` attr-dict `:` type($value) `,` type($matrix) `->` type($res)"
    )

    def verify_op(self) -> None:
        if self.value.type is not self.matrix.type.element:
            raise self.error(f"failed to verify that {_RULE}")


class SubgroupMmaElementwise(Op, name="gpu.subgroup_mma_elementwise", traits=(PURE,)):
    """An operation on each element of matrices of one type."""

    args = variadic_operand(_MATRIX)
    op_type = attribute(short(ElementwiseAttr), key="opType")
    res = result(_MATRIX)
    assembly = "$op_type $args attr-dict `:` functional-type($args, $res)"

    def verify_op(self) -> None:
        if any(value.type is not self.args[0].type for value in self.args):
            raise self.error("failed to verify that all of {args} have same type")
