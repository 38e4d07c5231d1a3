"""The cuTile kernels that are measured on a GPU; `gpu_pack.py` exports them (needs the package `cuda-tile`; no GPU).

PROGRAMS: name → kernel and parameters ──export()──▶ cuda_tile bytecode, the input of both compilers
"""
# The frontend is no dependency of the project, and its `Const` is a variable.
# pyright: reportInvalidTypeForm=false, reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# pyright: reportArgumentType=false, reportMissingParameterType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import io
import math

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)

Const = ct.Constant[int]
PAD = ct.PaddingMode.ZERO
VERSION = "13.1"
"""The oldest bytecode, which every tileiras reads."""


@ct.kernel
def gemm(a, b, d, tm: Const, tn: Const, tk: Const):
    """D = A·B; tiles of D along x and y."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=PAD)
        y = ct.load(b, index=(k, j), shape=(tk, tn), padding_mode=PAD)
        acc = ct.mma(x, y, acc)
    ct.store(d, index=(i, j), tile=ct.astype(acc, d.dtype))


@ct.kernel
def gemm_nt(a, b, d, tm: Const, tn: Const, tk: Const):
    """D = A·Bᵀ, the form that tensor cores need for 8-bit floats."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=PAD)
        y = ct.load(b, index=(j, k), shape=(tn, tk), padding_mode=PAD)
        acc = ct.mma(x, ct.transpose(y), acc)
    ct.store(d, index=(i, j), tile=ct.astype(acc, d.dtype))


@ct.kernel
def gemm_tn(a, b, d, tm: Const, tn: Const, tk: Const):
    """D = Aᵀ·B: A lies along its rows of D."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=0, shape=(tk, tm))):
        x = ct.load(a, index=(k, i), shape=(tk, tm), padding_mode=PAD)
        y = ct.load(b, index=(k, j), shape=(tk, tn), padding_mode=PAD)
        acc = ct.mma(ct.transpose(x), y, acc)
    ct.store(d, index=(i, j), tile=ct.astype(acc, d.dtype))


@ct.kernel
def gemm_tf32(a, b, d, tm: Const, tn: Const, tk: Const):
    """D = A·Bᵀ of f32 in the precision of tf32."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.astype(ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=PAD), ct.tfloat32)
        y = ct.astype(ct.load(b, index=(j, k), shape=(tn, tk), padding_mode=PAD), ct.tfloat32)
        acc = ct.mma(x, ct.transpose(y), acc)
    ct.store(d, index=(i, j), tile=acc)


@ct.kernel
def gemm_i8(a, b, d, scale: float, tm: Const, tn: Const, tk: Const):
    """D = scale · A·Bᵀ of 8-bit integers, with sums of 32 bits."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.int32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=PAD)
        y = ct.load(b, index=(j, k), shape=(tn, tk), padding_mode=PAD)
        acc = ct.mma(x, ct.transpose(y), acc)
    ct.store(d, index=(i, j), tile=ct.astype(ct.astype(acc, ct.float32) * scale, d.dtype))


@ct.kernel
def gemm_epilogue(a, b, bias, r, d, tm: Const, tn: Const, tk: Const):
    """D = gelu(A·B + bias) + R; the activation in its form with tanh."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=PAD)
        y = ct.load(b, index=(k, j), shape=(tk, tn), padding_mode=PAD)
        acc = ct.mma(x, y, acc)
    x = acc + ct.astype(
        ct.expand_dims(ct.load(bias, index=(j,), shape=(tn,), padding_mode=PAD), 0), ct.float32
    )
    x = 0.5 * x * (1 + ct.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    residual = ct.load(r, index=(i, j), shape=(tm, tn), padding_mode=PAD)
    ct.store(d, index=(i, j), tile=ct.astype(x + ct.astype(residual, ct.float32), d.dtype))


@ct.kernel
def attention(
    q, k, v, o, scale: float, tm: Const, tn: Const, d: Const, causal: Const, window: Const, group: Const
):
    """Flash attention forward on [heads, rows, depth]; `scale` includes log2(e).

    window: how many keys before its own a row sees, or 0 for all.  group: heads of queries for one of keys.
    """
    i, h = ct.bid(0), ct.bid(1)
    qt = ct.reshape(ct.load(q, index=(h, i, 0), shape=(1, tm, d)), (tm, d))
    m = ct.full((tm, 1), -math.inf, dtype=ct.float32)
    total = ct.full((tm, 1), 0.0, dtype=ct.float32)
    acc = ct.full((tm, d), 0.0, dtype=ct.float32)
    rows = i * tm + ct.reshape(ct.arange(tm, dtype=ct.int32), (tm, 1))
    first = 0
    last = ct.num_tiles(k, axis=1, shape=(1, tn, d))
    if causal:
        last = ((i + 1) * tm + tn - 1) // tn
    if window:
        first = max(0, i * tm - window) // tn
    for j in range(first, last):
        kt = ct.reshape(ct.load(k, index=(h // group, j, 0), shape=(1, tn, d)), (tn, d))
        s = ct.mma(qt, ct.transpose(kt), ct.full((tm, tn), 0.0, dtype=ct.float32)) * scale
        if causal:
            columns = j * tn + ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn))
            if window:
                # Finite: a row may have no key in its first tile, and its next one discards what that has left.
                s = ct.where((rows >= columns) & (rows - columns <= window), s, -1e30)
            else:
                s = ct.where(rows >= columns, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        vt = ct.reshape(ct.load(v, index=(h // group, j, 0), shape=(1, tn, d)), (tn, d))
        acc = ct.mma(ct.astype(p, q.dtype), vt, acc * alpha)
        m = new
    ct.store(o, index=(h, i, 0), tile=ct.reshape(ct.astype(acc / total, o.dtype), (1, tm, d)))


@ct.kernel
def attention_paged(q, k, v, table, o, scale: float, tm: Const, tn: Const, d: Const):
    """Causal attention of sequences of as many rows each, whose keys and values are in pages of `tn` rows.

    table: [sequences, pages of each].  q, o: [heads, rows of all, depth].  k, v: [heads, rows of all pages, depth].
    """
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    at = b * (table.shape[1] * tn // tm) + i
    qt = ct.reshape(ct.load(q, index=(h, at, 0), shape=(1, tm, d)), (tm, d))
    m = ct.full((tm, 1), -math.inf, dtype=ct.float32)
    total = ct.full((tm, 1), 0.0, dtype=ct.float32)
    acc = ct.full((tm, d), 0.0, dtype=ct.float32)
    queries = i * tm + ct.reshape(ct.arange(tm, dtype=ct.int32), (tm, 1))
    for j in range(((i + 1) * tm + tn - 1) // tn):
        page = ct.reshape(ct.load(table, index=(b, j), shape=(1, 1)), ())
        kt = ct.reshape(ct.load(k, index=(h, page, 0), shape=(1, tn, d)), (tn, d))
        s = ct.mma(qt, ct.transpose(kt), ct.full((tm, tn), 0.0, dtype=ct.float32)) * scale
        columns = j * tn + ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn))
        s = ct.where(queries >= columns, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        vt = ct.reshape(ct.load(v, index=(h, page, 0), shape=(1, tn, d)), (tn, d))
        acc = ct.mma(ct.astype(p, q.dtype), vt, acc * alpha)
        m = new
    ct.store(o, index=(h, at, 0), tile=ct.reshape(ct.astype(acc / total, o.dtype), (1, tm, d)))


@ct.kernel
def attention_lengths(q, k, v, ends, o, scale: float, tm: Const, tn: Const, d: Const):
    """Causal attention of sequences of different lengths, one behind the other in [heads, all rows, depth].

    ends: the end of each sequence; entry 0 is 0.
    """
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    begin = ct.reshape(ct.load(ends, index=(b,), shape=(1,)), ())
    end = ct.reshape(ct.load(ends, index=(b + 1,), shape=(1,)), ())
    if i * tm >= end - begin:
        return
    queries, keys, values = q.slice(1, begin, end), k.slice(1, begin, end), v.slice(1, begin, end)
    qt = ct.reshape(ct.load(queries, index=(h, i, 0), shape=(1, tm, d), padding_mode=PAD), (tm, d))
    m = ct.full((tm, 1), -math.inf, dtype=ct.float32)
    total = ct.full((tm, 1), 0.0, dtype=ct.float32)
    acc = ct.full((tm, d), 0.0, dtype=ct.float32)
    rows = i * tm + ct.reshape(ct.arange(tm, dtype=ct.int32), (tm, 1))
    for j in range(((i + 1) * tm + tn - 1) // tn):
        kt = ct.reshape(ct.load(keys, index=(h, j, 0), shape=(1, tn, d), padding_mode=PAD), (tn, d))
        s = ct.mma(qt, ct.transpose(kt), ct.full((tm, tn), 0.0, dtype=ct.float32)) * scale
        columns = j * tn + ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn))
        s = ct.where(rows >= columns, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        vt = ct.reshape(ct.load(values, index=(h, j, 0), shape=(1, tn, d), padding_mode=PAD), (tn, d))
        acc = ct.mma(ct.astype(p, q.dtype), vt, acc * alpha)
        m = new
    result = ct.reshape(ct.astype(acc / total, o.dtype), (1, tm, d))
    ct.store(o.slice(1, begin, end), index=(h, i, 0), tile=result)


@ct.kernel
def softmax(x, y, n: Const):
    """One row for each tile block."""
    i = ct.bid(0)
    row = ct.astype(ct.load(x, index=(i, 0), shape=(1, n), padding_mode=ct.PaddingMode.NEG_INF), ct.float32)
    e = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(y, index=(i, 0), tile=ct.astype(e / ct.sum(e, axis=1, keepdims=True), y.dtype))


@ct.kernel
def layer_norm(x, w, b, y, eps: float, n: Const):
    """One row for each tile block."""
    i = ct.bid(0)
    row = ct.astype(ct.load(x, index=(i, 0), shape=(1, n)), ct.float32)
    mean = ct.sum(row, axis=1, keepdims=True) / n
    d = row - mean
    variance = ct.sum(d * d, axis=1, keepdims=True) / n
    gain = ct.reshape(ct.astype(ct.load(w, index=(0,), shape=(n,)), ct.float32), (1, n))
    bias = ct.reshape(ct.astype(ct.load(b, index=(0,), shape=(n,)), ct.float32), (1, n))
    ct.store(y, index=(i, 0), tile=ct.astype(d * ct.rsqrt(variance + eps) * gain + bias, y.dtype))


@ct.kernel
def rms_norm(x, w, y, eps: float, n: Const):
    """One row for each tile block."""
    i = ct.bid(0)
    row = ct.astype(ct.load(x, index=(i, 0), shape=(1, n)), ct.float32)
    scale = ct.rsqrt(ct.sum(row * row, axis=1, keepdims=True) / n + eps)
    gain = ct.reshape(ct.astype(ct.load(w, index=(0,), shape=(n,)), ct.float32), (1, n))
    ct.store(y, index=(i, 0), tile=ct.astype(row * scale * gain, y.dtype))


@ct.kernel
def cross_entropy(x, labels, y, n: Const):
    """The loss of one row for each tile block: one run over its classes, n at a time."""
    i = ct.bid(0)
    m = ct.full((1, 1), -math.inf, dtype=ct.float32)
    total = ct.full((1, 1), 0.0, dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, n))):
        part = ct.load(x, index=(i, j), shape=(1, n), padding_mode=ct.PaddingMode.NEG_INF)
        part = ct.astype(part, ct.float32)
        new = ct.maximum(m, ct.max(part, axis=1, keepdims=True))
        total = total * ct.exp(m - new) + ct.sum(ct.exp(part - new), axis=1, keepdims=True)
        m = new
    label = ct.load(labels, index=(i,), shape=(1,))
    of_label = ct.astype(ct.gather(x, (i, label)), ct.float32)
    ct.store(y, index=(i,), tile=ct.reshape(m + ct.log(total), (1,)) - of_label)


@ct.kernel
def copy(x, y, n: Const):
    """n elements for each tile block."""
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(n,)))


@ct.kernel
def gather_rows(x, index, y, n: Const, t: Const):
    """t rows of an embedding for each tile block, n columns of them."""
    i, j = ct.bid(0), ct.bid(1)
    rows = ct.load(index, index=(i,), shape=(t,))
    columns = j * n + ct.arange(n, dtype=ct.int32)
    found = ct.gather(x, (ct.expand_dims(rows, 1), ct.expand_dims(columns, 0)))
    ct.store(y, index=(i, j), tile=found)


@ct.kernel
def column_sum(x, y, m: Const, n: Const):
    """The sums of n columns for each tile block, m rows at a time."""
    j = ct.bid(0)
    total = ct.full((m, n), 0.0, dtype=ct.float32)
    for i in range(ct.num_tiles(x, axis=0, shape=(m, n))):
        total = total + ct.load(x, index=(i, j), shape=(m, n), padding_mode=PAD)
    ct.store(y, index=(j,), tile=ct.sum(total, axis=0))


@ct.kernel
def vector_add(a, b, c, n: Const):
    """n elements for each tile block."""
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(n,))
    y = ct.load(b, index=(i,), shape=(n,))
    ct.store(c, index=(i,), tile=x + y)


@ct.kernel
def transpose(x, y, n: Const):
    """Tiles of n × n."""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(n, n), padding_mode=PAD)))


@ct.kernel
def row_sum(x, y, n: Const):
    """The sum of one row for each tile block."""
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.sum(ct.load(x, index=(i, 0), shape=(1, n), padding_mode=PAD), axis=1))


@ct.kernel
def row_scan(x, y, n: Const):
    """The prefix sums of one row for each tile block."""
    i = ct.bid(0)
    ct.store(
        y, index=(i, 0), tile=ct.cumsum(ct.load(x, index=(i, 0), shape=(1, n), padding_mode=PAD), axis=1)
    )


def array(dtype, ndim=1, div=8):
    """A row-major array whose innermost extent is a multiple of `div` elements."""
    return ArrayConstraint(
        dtype, ndim, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
        stride_constant=[None] * (ndim - 1) + [1], stride_divisible_by=[div] * (ndim - 1) + [1],
        shape_divisible_by=[1] * (ndim - 1) + [div], base_addr_divisible_by=16,
    )  # fmt: skip


f16, bf16, f32, e4m3, i8, i32 = ct.float16, ct.bfloat16, ct.float32, ct.float8_e4m3fn, ct.int8, ct.int32
SCALE = ScalarConstraint(f32)
HEADS = [array(f16, 3)] * 4 + [SCALE]
QKV = [array(f16, 3)] * 3

PROGRAMS = {
    "gemm_f16": (gemm, [array(f16, 2)] * 3 + [128, 256, 64]),
    "gemm_f16_128": (gemm, [array(f16, 2)] * 3 + [128, 128, 64]),
    "gemm_bf16": (gemm, [array(bf16, 2)] * 3 + [128, 256, 64]),
    "gemm_nt_f16": (gemm_nt, [array(f16, 2)] * 3 + [128, 256, 64]),
    "gemm_tn_f16": (gemm_tn, [array(f16, 2)] * 3 + [128, 256, 64]),
    "gemm_epilogue_f16": (
        gemm_epilogue,
        [array(f16, 2), array(f16, 2), array(f16), array(f16, 2), array(f16, 2), 128, 256, 64],
    ),
    "gemm_tf32": (gemm_tf32, [array(f32, 2, 4)] * 3 + [128, 256, 32]),
    "gemm_i8": (gemm_i8, [array(i8, 2, 16)] * 2 + [array(f16, 2), SCALE, 128, 256, 128]),
    "gemm_f8": (gemm_nt, [array(e4m3, 2, 16)] * 2 + [array(f16, 2), 128, 256, 128]),
    "attention_f16_d64": (attention, [*HEADS, 128, 128, 64, 0, 0, 1]),
    "attention_f16_d64_causal": (attention, [*HEADS, 128, 128, 64, 1, 0, 1]),
    "attention_f16_d128": (attention, [*HEADS, 128, 128, 128, 0, 0, 1]),
    "attention_f16_d128_causal": (attention, [*HEADS, 128, 128, 128, 1, 0, 1]),
    "attention_f16_d256": (attention, [*HEADS, 128, 64, 256, 0, 0, 1]),
    "attention_f16_d256_causal": (attention, [*HEADS, 128, 64, 256, 1, 0, 1]),
    "attention_f16_d128_window160": (attention, [*HEADS, 128, 128, 128, 1, 160, 1]),
    "attention_f16_d128_window1024": (attention, [*HEADS, 128, 128, 128, 1, 1024, 1]),
    "attention_f16_d128_grouped": (attention, [*HEADS, 128, 128, 128, 1, 0, 8]),
    "attention_f16_d128_paged": (
        attention_paged, [*QKV, array(i32, 2, 1), array(f16, 3), SCALE, 128, 128, 128]
    ),
    "attention_f16_d128_lengths": (
        attention_lengths, [*QKV, array(i32, 1, 1), array(f16, 3), SCALE, 128, 128, 128]
    ),
    "attention_f8_d128": (
        attention, [array(e4m3, 3, 16)] * 3 + [array(f16, 3), SCALE, 128, 128, 128, 0, 0, 1]
    ),
    "softmax_f32_1024": (softmax, [array(f32, 2, 4)] * 2 + [1024]),
    "softmax_f32_4096": (softmax, [array(f32, 2, 4)] * 2 + [4096]),
    "layer_norm_bf16_1024": (
        layer_norm, [array(bf16, 2), array(bf16), array(bf16), array(bf16, 2), SCALE, 1024]
    ),
    "layer_norm_bf16_4096": (
        layer_norm, [array(bf16, 2), array(bf16), array(bf16), array(bf16, 2), SCALE, 4096]
    ),
    "rms_norm_bf16_4096": (rms_norm, [array(bf16, 2), array(bf16), array(bf16, 2), SCALE, 4096]),
    "cross_entropy_bf16": (cross_entropy, [array(bf16, 2), array(i32, 1, 1), array(f32, 1, 1), 4096]),
    "copy_f32": (copy, [array(f32, 1, 4)] * 2 + [2048]),
    "vector_add_f32": (vector_add, [array(f32, 1, 4)] * 3 + [2048]),
    "gather_rows_bf16": (gather_rows, [array(bf16, 2), array(i32, 1, 1), array(bf16, 2), 1024, 4]),
    "transpose_f32": (transpose, [array(f32, 2, 4)] * 2 + [64]),
    "transpose_f16": (transpose, [array(f16, 2)] * 2 + [64]),
    "row_sum_f32_4096": (row_sum, [array(f32, 2, 4), array(f32, 1, 1), 4096]),
    "column_sum_f32": (column_sum, [array(f32, 2, 4), array(f32, 1, 1), 32, 32]),
    "row_scan_f32_1024": (row_scan, [array(f32, 2, 4)] * 2 + [1024]),
}  # fmt: skip
"""Name → kernel, and its parameters: arrays, scalars, constants."""


def export(name: str) -> bytes:
    """The bytecode of a program; its entry has the program's name."""
    kernel, parameters = PROGRAMS[name]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v2(), symbol=name)
    output = io.BytesIO()
    export_kernel(
        kernel, [signature], output, gpu_code="sm_90", output_format="tileir_bytecode", bytecode_version=VERSION
    )  # fmt: skip
    return output.getvalue()
