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
def attention(q, k, v, o, scale: float, tm: Const, tn: Const, d: Const, causal: Const):
    """Flash attention forward on [heads, rows, depth]; `scale` includes log2(e)."""
    i, h = ct.bid(0), ct.bid(1)
    qt = ct.reshape(ct.load(q, index=(h, i, 0), shape=(1, tm, d)), (tm, d))
    m = ct.full((tm, 1), -math.inf, dtype=ct.float32)
    total = ct.full((tm, 1), 0.0, dtype=ct.float32)
    acc = ct.full((tm, d), 0.0, dtype=ct.float32)
    rows = i * tm + ct.reshape(ct.arange(tm, dtype=ct.int32), (tm, 1))
    last = ct.num_tiles(k, axis=1, shape=(1, tn, d))
    if causal:
        last = ((i + 1) * tm + tn - 1) // tn
    for j in range(last):
        kt = ct.reshape(ct.load(k, index=(h, j, 0), shape=(1, tn, d)), (tn, d))
        s = ct.mma(qt, ct.transpose(kt), ct.full((tm, tn), 0.0, dtype=ct.float32)) * scale
        if causal:
            columns = j * tn + ct.reshape(ct.arange(tn, dtype=ct.int32), (1, tn))
            s = ct.where(rows >= columns, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        vt = ct.reshape(ct.load(v, index=(h, j, 0), shape=(1, tn, d)), (tn, d))
        acc = ct.mma(ct.astype(p, q.dtype), vt, acc * alpha)
        m = new
    ct.store(o, index=(h, i, 0), tile=ct.reshape(ct.astype(acc / total, o.dtype), (1, tm, d)))


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


f16, bf16, f32, e4m3 = ct.float16, ct.bfloat16, ct.float32, ct.float8_e4m3fn
SCALE = ScalarConstraint(f32)

PROGRAMS = {
    "gemm_f16": (gemm, [array(f16, 2)] * 3 + [128, 256, 64]),
    "gemm_f16_128": (gemm, [array(f16, 2)] * 3 + [128, 128, 64]),
    "gemm_bf16": (gemm, [array(bf16, 2)] * 3 + [128, 256, 64]),
    "gemm_f8": (gemm_nt, [array(e4m3, 2, 16)] * 2 + [array(f16, 2), 128, 128, 128]),
    "attention_f16_d64": (attention, [array(f16, 3)] * 4 + [SCALE, 128, 128, 64, 0]),
    "attention_f16_d64_causal": (attention, [array(f16, 3)] * 4 + [SCALE, 128, 128, 64, 1]),
    "attention_f16_d128": (attention, [array(f16, 3)] * 4 + [SCALE, 128, 128, 128, 0]),
    "attention_f16_d128_causal": (attention, [array(f16, 3)] * 4 + [SCALE, 128, 128, 128, 1]),
    "softmax_f32_1024": (softmax, [array(f32, 2, 4)] * 2 + [1024]),
    "softmax_f32_4096": (softmax, [array(f32, 2, 4)] * 2 + [4096]),
    "layer_norm_bf16_1024": (
        layer_norm, [array(bf16, 2), array(bf16), array(bf16), array(bf16, 2), SCALE, 1024]
    ),
    "layer_norm_bf16_4096": (
        layer_norm, [array(bf16, 2), array(bf16), array(bf16), array(bf16, 2), SCALE, 4096]
    ),
    "vector_add_f32": (vector_add, [array(f32, 1, 4)] * 3 + [2048]),
    "transpose_f32": (transpose, [array(f32, 2, 4)] * 2 + [64]),
    "transpose_f16": (transpose, [array(f16, 2)] * 2 + [64]),
    "row_sum_f32_4096": (row_sum, [array(f32, 2, 4), array(f32, 1, 1), 4096]),
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
