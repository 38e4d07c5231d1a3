"""Sparse matrices on the host's side: handles of cuSPARSE, and the calls that use them.

The ops are read, verified and printed; no pass lowers them.
"""

from __future__ import annotations

from tessera_tools.dialects.gpu.attributes import (
    AsyncTokenType,
    PruneFlagAttr,
    SpGEMMStepAttr,
    TransposeModeAttr,
    short,
)
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import TypeAttr
from tessera_tools.ir.types import INDEX
from tessera_tools.opdef import (
    ANY_INDEX,
    ANY_MEMREF,
    READ_WRITE,
    TYPE_ATTR,
    Op,
    attribute,
    exactly,
    of,
    operand,
    optional_result,
    result,
    variadic_operand,
    variadic_result,
)
from tessera_tools.opdef.constraints import Exactly
from tessera_tools.opdef.fields import AttributeField

_TOKEN = of(AsyncTokenType, summary="async token type")


class DnTensorHandleType(Type, name="gpu.sparse.dntensor_handle"):
    """`!gpu.sparse.dntensor_handle`: a dense tensor."""


class SpMatHandleType(Type, name="gpu.sparse.spmat_handle"):
    """`!gpu.sparse.spmat_handle`: a sparse matrix."""


class SpGEMMHandleType(Type, name="gpu.sparse.spgemmop_handle"):
    """`!gpu.sparse.spgemmop_handle`: a product of sparse matrices."""


class _Handle(Exactly[Type]):
    """One type of handle, with upstream's name in errors."""

    __slots__ = ()

    def __init__(self, type: Type, summary: str) -> None:
        super().__init__(type)
        self.summary = f"{summary} handle type"


_DENSE = _Handle(DnTensorHandleType(), "dense tensor")
_SPARSE = _Handle(SpMatHandleType(), "sparse matrix")
_PRODUCT = _Handle(SpGEMMHandleType(), "SpGEMM operation")
_ASYNC = "custom<Async>($async_dependencies, type($async_token))"


def _mode(key: str) -> AttributeField[TransposeModeAttr]:
    return attribute(short(TransposeModeAttr), default=TransposeModeAttr("NON_TRANSPOSE"), key=key)


def _compute_type() -> AttributeField[TypeAttr]:
    return attribute(TYPE_ATTR, key="computeType")


class _Call(Op, traits=(READ_WRITE,)):
    """The base: calls that may start after tokens and return one."""

    async_dependencies = variadic_operand(_TOKEN)


class CreateDnTensor(_Call, name="gpu.create_dn_tensor"):
    """A dense tensor in a buffer."""

    memref = operand(ANY_MEMREF)
    dims = variadic_operand(ANY_INDEX)
    dn_tensor = result(_DENSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " $memref `,` $dims attr-dict `:` type($dims) `into` type($memref)"


class DestroyDnTensor(_Call, name="gpu.destroy_dn_tensor"):
    """Gives a handle back."""

    dn_tensor = operand(_DENSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " $dn_tensor attr-dict"


class CreateCoo(_Call, name="gpu.create_coo"):
    """A matrix by the row, the column and the value of each element."""

    rows = operand(ANY_INDEX)
    cols = operand(ANY_INDEX)
    nnz = operand(ANY_INDEX)
    row_idxs = operand(ANY_MEMREF)
    col_idxs = operand(ANY_MEMREF)
    values = operand(ANY_MEMREF)
    spmat = result(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $rows `,` $cols `,` $nnz `,` $row_idxs `,` $col_idxs `,` $values attr-dict "
        "`:` type($row_idxs) `,` type($col_idxs) `,` type($values)"
    )


class CreateCooAoS(_Call, name="gpu.create_coo_aos"):
    """A matrix by the position and the value of each element."""

    rows = operand(ANY_INDEX)
    cols = operand(ANY_INDEX)
    nnz = operand(ANY_INDEX)
    idxs = operand(ANY_MEMREF)
    values = operand(ANY_MEMREF)
    spmat = result(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $rows `,` $cols `,` $nnz `,` $idxs `,` $values attr-dict `:` type($idxs) `,` type($values)"
    )


class CreateCsr(_Call, name="gpu.create_csr"):
    """A matrix by rows."""

    rows = operand(ANY_INDEX)
    cols = operand(ANY_INDEX)
    nnz = operand(ANY_INDEX)
    row_pos = operand(ANY_MEMREF)
    col_idxs = operand(ANY_MEMREF)
    values = operand(ANY_MEMREF)
    spmat = result(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $rows `,` $cols `,` $nnz `,` $row_pos `,` $col_idxs `,` $values attr-dict "
        "`:` type($row_pos) `,` type($col_idxs) `,` type($values)"
    )


class CreateCsc(_Call, name="gpu.create_csc"):
    """A matrix by columns."""

    rows = operand(ANY_INDEX)
    cols = operand(ANY_INDEX)
    nnz = operand(ANY_INDEX)
    col_pos = operand(ANY_MEMREF)
    row_idxs = operand(ANY_MEMREF)
    values = operand(ANY_MEMREF)
    spmat = result(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $rows `,` $cols `,` $nnz `,` $col_pos `,` $row_idxs `,` $values attr-dict "
        "`:` type($col_pos) `,` type($row_idxs) `,` type($values)"
    )


class CreateBsr(_Call, name="gpu.create_bsr"):
    """A matrix of blocks, by rows."""

    brows = operand(ANY_INDEX)
    bcols = operand(ANY_INDEX)
    bnnz = operand(ANY_INDEX)
    r_block_size = operand(ANY_INDEX)
    c_block_size = operand(ANY_INDEX)
    b_row_pos = operand(ANY_MEMREF)
    b_col_idxs = operand(ANY_MEMREF)
    values = operand(ANY_MEMREF)
    spmat = result(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $brows `,` $bcols `,` $bnnz `,` $r_block_size `,` $c_block_size `,` $b_row_pos `,` $b_col_idxs `,` $values "
        "attr-dict `:` type($b_row_pos) `,` type($b_col_idxs) `,` type($values)"
    )


class Create2To4SpMat(_Call, name="gpu.create_2to4_spmat"):
    """A matrix of which two of four elements in a row remain, from a dense one."""

    rows = operand(ANY_INDEX)
    cols = operand(ANY_INDEX)
    prune_flag = attribute(short(PruneFlagAttr), default=PruneFlagAttr("PRUNE_AND_CHECK"), key="pruneFlag")
    memref = operand(ANY_MEMREF)
    spmat = result(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + "`{` $prune_flag `}` $rows `,` $cols `,` $memref attr-dict `:` type($memref)"


class DestroySpMat(_Call, name="gpu.destroy_sp_mat"):
    """Gives a handle back."""

    spmat = operand(_SPARSE)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " $spmat attr-dict"


class SpMVBufferSize(_Call, name="gpu.spmv_buffer_size"):
    """The bytes that `gpu.spmv` needs."""

    mode_a = _mode("modeA")
    spmat_a = operand(_SPARSE)
    dn_x = operand(_DENSE)
    dn_y = operand(_DENSE)
    compute_type = _compute_type()
    buffer_sz = result(exactly(INDEX))
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " $spmat_a (`{` $mode_a^ `}`)? `,` $dn_x `,` $dn_y attr-dict `into` $compute_type"


class SpMV(_Call, name="gpu.spmv"):
    """A sparse matrix by a vector."""

    mode_a = _mode("modeA")
    spmat_a = operand(_SPARSE)
    dn_x = operand(_DENSE)
    dn_y = operand(_DENSE)
    compute_type = _compute_type()
    buffer = operand(ANY_MEMREF)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $spmat_a (`{` $mode_a^ `}`)? `,` $dn_x `,` $dn_y `,` $buffer attr-dict `:` type($buffer) `into` "
        "$compute_type"
    )


class SpMMBufferSize(_Call, name="gpu.spmm_buffer_size"):
    """The bytes that `gpu.spmm` needs."""

    mode_a = _mode("modeA")
    mode_b = _mode("modeB")
    spmat_a = operand(_SPARSE)
    dnmat_b = operand(_DENSE)
    dnmat_c = operand(_DENSE)
    compute_type = _compute_type()
    buffer_szs = variadic_result(ANY_INDEX)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $spmat_a (`{` $mode_a^ `}`)? `,` $dnmat_b (`{` $mode_b^ `}`)? `,` $dnmat_c attr-dict "
        "`:` type($buffer_szs) `into` $compute_type"
    )


class SpMM(_Call, name="gpu.spmm"):
    """A sparse matrix by a dense one."""

    mode_a = _mode("modeA")
    mode_b = _mode("modeB")
    spmat_a = operand(_SPARSE)
    dnmat_b = operand(_DENSE)
    dnmat_c = operand(_DENSE)
    compute_type = _compute_type()
    buffers = variadic_operand(ANY_MEMREF)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $spmat_a (`{` $mode_a^ `}`)? `,` $dnmat_b (`{` $mode_b^ `}`)? `,` $dnmat_c `,` $buffers attr-dict "
        "`:` type($buffers) `into` $compute_type"
    )


class SDDMMBufferSize(_Call, name="gpu.sddmm_buffer_size"):
    """The bytes that `gpu.sddmm` needs."""

    mode_a = _mode("modeA")
    mode_b = _mode("modeB")
    dnmat_a = operand(_DENSE)
    dnmat_b = operand(_DENSE)
    spmat_c = operand(_SPARSE)
    compute_type = _compute_type()
    buffer_sz = result(exactly(INDEX))
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $dnmat_a (`{` $mode_a^ `}`)? `,` $dnmat_b (`{` $mode_b^ `}`)? `,` $spmat_c attr-dict `into` $compute_type"
    )


class SDDMM(_Call, name="gpu.sddmm"):
    """The elements of a product of dense matrices where a sparse matrix has some."""

    mode_a = _mode("modeA")
    mode_b = _mode("modeB")
    dnmat_a = operand(_DENSE)
    dnmat_b = operand(_DENSE)
    spmat_c = operand(_SPARSE)
    compute_type = _compute_type()
    buffer = operand(ANY_MEMREF)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $dnmat_a (`{` $mode_a^ `}`)? `,` $dnmat_b (`{` $mode_b^ `}`)? `,` $spmat_c `,` $buffer attr-dict "
        "`:` type($buffer) `into` $compute_type"
    )


class SpGEMMCreateDescr(_Call, name="gpu.spgemm_create_descr"):
    """A product of sparse matrices that is prepared in steps."""

    desc = result(_PRODUCT)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " attr-dict"


class SpGEMMDestroyDescr(_Call, name="gpu.spgemm_destroy_descr"):
    """Gives a handle back."""

    desc = operand(_PRODUCT)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " $desc attr-dict"


class SpGEMMWorkEstimationOrCompute(_Call, name="gpu.spgemm_work_estimation_or_compute"):
    """A step of a product of sparse matrices: the bytes that it needs, or the product."""

    desc = operand(_PRODUCT)
    mode_a = _mode("modeA")
    mode_b = _mode("modeB")
    spmat_a = operand(_SPARSE)
    spmat_b = operand(_SPARSE)
    spmat_c = operand(_SPARSE)
    compute_type = _compute_type()
    buffer_sz = operand(ANY_INDEX)
    buffer = operand(ANY_MEMREF)
    kind = attribute(short(SpGEMMStepAttr))
    buffer_sz_new = result(exactly(INDEX))
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        "`{` $kind `}` $spmat_a (`{` $mode_a^ `}`)? `,` $spmat_b (`{` $mode_b^ `}`)? `,` $spmat_c `,` $desc `,` "
        "$buffer_sz `,` $buffer attr-dict `:` $compute_type `into` type($buffer)"
    )


class SpGEMMCopy(_Call, name="gpu.spgemm_copy"):
    """The result of a product of sparse matrices."""

    desc = operand(_PRODUCT)
    mode_a = _mode("modeA")
    mode_b = _mode("modeB")
    spmat_a = operand(_SPARSE)
    spmat_b = operand(_SPARSE)
    spmat_c = operand(_SPARSE)
    compute_type = _compute_type()
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $spmat_a (`{` $mode_a^ `}`)? `,` $spmat_b (`{` $mode_b^ `}`)? `,` $spmat_c `,` $desc attr-dict "
        "`:` $compute_type"
    )


class SpMatGetSize(_Call, name="gpu.spmat_get_size"):
    """The rows, the columns and the number of elements of a sparse matrix."""

    spmat = operand(_SPARSE)
    rows = result(exactly(INDEX))
    cols = result(exactly(INDEX))
    nnz = result(exactly(INDEX))
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + " $spmat attr-dict"


class SetCsrPointers(_Call, name="gpu.set_csr_pointers"):
    """Other buffers for a matrix by rows."""

    spmat = operand(_SPARSE)
    positions = operand(ANY_MEMREF)
    coordinates = operand(ANY_MEMREF)
    values = operand(ANY_MEMREF)
    async_token = optional_result(_TOKEN)
    assembly = _ASYNC + (
        " $spmat `,` $positions `,` $coordinates `,` $values attr-dict "
        "`:` type($positions) `,` type($coordinates) `,` type($values)"
    )
