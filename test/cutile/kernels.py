"""cuTile kernels of different kinds, exported ahead of time at every bytecode version: inputs of the bytecode tests.

    python test/cutile/kernels.py FOLDER            (needs the package `cuda-tile`; no GPU)

writes FOLDER/<version>/<kernel>.tileirbc for every version that can say the kernel. The files are kept beside this
one, so that the tests need no frontend.
"""
# The frontend is no dependency of the project, and its `Const` is a variable.
# pyright: reportInvalidTypeForm=false, reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import math
import sys
from pathlib import Path

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)

VERSIONS = ("13.1", "13.2", "13.3", "13.4", "13.5")
Const = ct.Constant[int]
f16, bf16, f32, f64 = ct.float16, ct.bfloat16, ct.float32, ct.float64
i8, i16, i32, i64 = ct.int8, ct.int16, ct.int32, ct.int64
u8, u16, u32, u64 = ct.uint8, ct.uint16, ct.uint32, ct.uint64
PAD = ct.PaddingMode.ZERO
e8m0, e2m1 = ct.float8_e8m0fnu, ct.float4_e2m1fn
e4m3, e5m2, tf32 = ct.float8_e4m3fn, ct.float8_e5m2, ct.tfloat32


def array(dtype, ndim=1, div=1):
    """A row-major array whose innermost extent is a multiple of `div` elements."""
    return ArrayConstraint(
        dtype, ndim, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
        stride_constant=[None] * (ndim - 1) + [1], stride_divisible_by=[div] * (ndim - 1) + [1],
        shape_divisible_by=[1] * (ndim - 1) + [div], base_addr_divisible_by=16,
    )  # fmt: skip


def wide(dtype, ndim=1):
    """The same with 64-bit extents."""
    return ArrayConstraint(
        dtype, ndim, index_dtype=ct.int64, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
        stride_constant=[None] * (ndim - 1) + [1],
    )  # fmt: skip


# -- arithmetic


@ct.kernel
def float_arithmetic(a, b, c, n: Const):
    """Every operation on two floating-point tiles."""
    i = ct.bid(0)
    x, y = ct.load(a, index=(i,), shape=(n,)), ct.load(b, index=(i,), shape=(n,))
    z = x + y * x - y / (x + 1)
    z = ct.maximum(z, -x) + ct.minimum(z, ct.abs(y))
    z = ct.where(x < y, z, x) + ct.where(x >= y, y, z) + ct.where(x == y, x, y) + ct.where(x != z, x, z)
    ct.store(c, index=(i,), tile=ct.astype(z, c.dtype))


@ct.kernel
def integer_arithmetic(a, b, c, n: Const):
    """Every operation on two integer tiles."""
    i = ct.bid(0)
    x, y = ct.load(a, index=(i,), shape=(n,)), ct.load(b, index=(i,), shape=(n,))
    z = x + y * x - y
    z = ct.maximum(z, x) + ct.minimum(z, y)
    z = (z & x) | (z ^ y)
    z = (z << 1) + (z >> 2)
    z = z + ct.where(x < y, x, y) + ct.where(x > y, y, z) + ct.where(x <= y, z, x)
    ct.store(c, index=(i,), tile=ct.astype(z, c.dtype))


@ct.kernel
def signed_division(a, b, c, n: Const):
    """Quotients and remainders rounded down."""
    i = ct.bid(0)
    x, y = ct.load(a, index=(i,), shape=(n,)), ct.load(b, index=(i,), shape=(n,))
    ct.store(c, index=(i,), tile=x // y + x % y + ct.cdiv(x, y) + ct.abs(x))


@ct.kernel
def transcendental(a, c, n: Const):
    """The functions of mathematics."""
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(n,))
    y = ct.exp(x) + ct.exp2(x) + ct.log(x) + ct.log2(x) + ct.sqrt(x) + ct.rsqrt(x)
    y = y + ct.sin(x) + ct.cos(x) + ct.tan(x) + ct.sinh(x) + ct.cosh(x) + ct.tanh(x)
    y = y + ct.floor(x) + ct.ceil(x) + x**y
    ct.store(c, index=(i,), tile=y)


@ct.kernel
def rounding(a, b, c, n: Const):
    """Rounding modes and flushing of subnormals."""
    i = ct.bid(0)
    x, y = ct.load(a, index=(i,), shape=(n,)), ct.load(b, index=(i,), shape=(n,))
    z = ct.add(x, y, rounding_mode=ct.RoundingMode.RZ, flush_to_zero=True)
    z = ct.mul(z, y, rounding_mode=ct.RoundingMode.RM)
    z = ct.sub(z, x, rounding_mode=ct.RoundingMode.RP)
    z = ct.truediv(z, y, rounding_mode=ct.RoundingMode.APPROX)
    z = ct.sqrt(z, rounding_mode=ct.RoundingMode.APPROX) + ct.exp2(z, flush_to_zero=True)
    ct.store(c, index=(i,), tile=ct.maximum(z, x, flush_to_zero=True))


@ct.kernel
def angle(a, b, c, n: Const):
    """atan2, since 13.2."""
    i = ct.bid(0)
    x, y = ct.load(a, index=(i,), shape=(n,)), ct.load(b, index=(i,), shape=(n,))
    ct.store(c, index=(i,), tile=ct.atan2(x, y) + ct.tanh(x, rounding_mode=ct.RoundingMode.APPROX))


@ct.kernel
def integer_power(a, b, c, n: Const):
    """A floating-point base with an integer exponent, since 13.4."""
    i = ct.bid(0)
    x, y = ct.load(a, index=(i,), shape=(n,)), ct.load(b, index=(i,), shape=(n,))
    ct.store(c, index=(i,), tile=ct.pow(x, y))


@ct.kernel
def conversions(a, c, n: Const):
    """From each kind of number to the next, and back."""
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(n,))
    y = ct.astype(ct.astype(ct.astype(x, f16), i8), bf16)
    y = ct.astype(ct.astype(ct.astype(y, u32), f64), i64)
    y = ct.astype(ct.astype(ct.astype(y, i16), f32), e4m3)
    y = ct.astype(ct.astype(ct.astype(y, e5m2), f32), u8)
    ct.store(c, index=(i,), tile=ct.astype(ct.astype(y, ct.bool_), c.dtype) + ct.bitcast(x, i32))


@ct.kernel
def constants(c, n: Const):
    """Splats of every kind of number."""
    i = ct.bid(0)
    x = (
        ct.full((n,), 1.5, dtype=f32)
        + ct.full((n,), -math.inf, dtype=f32)
        + ct.full((n,), math.nan, dtype=f32)
    )
    x = x + ct.astype(ct.full((n,), 0.1, dtype=f16), f32) + ct.astype(ct.full((n,), 3.0, dtype=bf16), f32)
    x = x + ct.astype(ct.full((n,), -7, dtype=i8), f32) + ct.astype(ct.full((n,), 65535, dtype=u16), f32)
    x = x + ct.astype(ct.full((n,), 2**40, dtype=i64), f32) + ct.astype(ct.full((n,), 0.25, dtype=f64), f32)
    x = ct.where(ct.full((n,), True, dtype=ct.bool_), x, ct.zeros((n,), dtype=f32))
    ct.store(c, index=(i,), tile=x)


# -- shapes


@ct.kernel
def shapes(a, c, n: Const):
    """Reshape, broadcast, permute, concatenate, cut."""
    x = ct.load(a, index=(0, 0), shape=(n, 2 * n))
    y = ct.permute(ct.reshape(x, (n, 2, n)), (1, 0, 2))
    y = ct.reshape(ct.extract(y, (1, 0, 0), shape=(1, n, n)), (n, n))
    y = y + ct.broadcast_to(ct.reshape(ct.arange(n, dtype=f32), (n, 1)), (n, n))
    y = ct.cat((y, ct.transpose(y)), 1) + ct.expand_dims(ct.arange(2 * n, dtype=f32), 0)
    ct.store(c, index=(0, 0), tile=y)


@ct.kernel
def inserted(a, c, n: Const):
    """A part of a tile replaced, since 13.4."""
    x = ct.load(a, index=(0, 0), shape=(n, n))
    part = ct.extract(x, (0, 1), shape=(n // 2, n // 2))
    ct.store(c, index=(0, 0), tile=ct.insert(x, (1, 0), part))


@ct.kernel
def packed(a, c, n: Const):
    """Bytes of a tile and back, since 13.3."""
    x = ct.load(a, index=(0,), shape=(n,))
    b = ct.pack_to_bytes(x)
    ct.store(c, index=(0,), tile=ct.unpack_from_bytes(b, i32))


# -- reductions and scans


@ct.kernel
def reductions(a, c, n: Const):
    """Every built-in reduction, of one operand and of two."""
    i = ct.bid(0)
    x = ct.load(a, index=(i, 0), shape=(4, n))
    y = ct.sum(x, axis=1) + ct.max(x, axis=1) + ct.min(x, axis=1) + ct.prod(x, axis=1)
    y = y + ct.astype(ct.argmax(x, axis=1) - ct.argmin(x, axis=1), a.dtype)
    ct.store(c, index=(i,), tile=y)


@ct.kernel
def custom_reduction(a, c, n: Const):
    """A combiner of the user's own, on two operands."""
    x = ct.load(a, index=(0, 0), shape=(4, n))

    def combine(v, w, v2, w2):
        return v * v2, w + w2

    p, q = ct.reduce((x, ct.abs(x)), 1, combine, (1.0, 0.0))
    ct.store(c, index=(0,), tile=p + q)


@ct.kernel
def scans(a, c, n: Const):
    """Running sums and products, from both ends."""
    x = ct.load(a, index=(0, 0), shape=(4, n))
    ct.store(
        c,
        index=(0, 0),
        tile=ct.cumsum(x, axis=1) + ct.cumprod(x, axis=0) + ct.cumsum(x, axis=1, reverse=True),
    )


# -- memory


@ct.kernel
def padded(a, c, m: Const, n: Const):
    """Loads beyond the edge, with each padding."""
    i, j = ct.bid(0), ct.bid(1)
    p = ct.PaddingMode
    x = ct.load(a, index=(i, j), shape=(m, n), padding_mode=p.ZERO)
    x = x + ct.load(a, index=(i, j), shape=(m, n), padding_mode=p.NEG_ZERO)
    x = x + ct.load(a, index=(i, j), shape=(m, n), padding_mode=p.NAN)
    x = x + ct.load(a, index=(i, j), shape=(m, n), padding_mode=p.POS_INF)
    x = x + ct.load(a, index=(i, j), shape=(m, n), padding_mode=p.NEG_INF)
    ct.store(c, index=(i, j), tile=x)


@ct.kernel
def transposed_view(a, c, m: Const, n: Const):
    """A load with another order of dimensions, and hints on latency and TMA."""
    x = ct.load(a, index=(ct.bid(0), ct.bid(1)), shape=(m, n), order=(1, 0), latency=4)
    ct.store(c, index=(ct.bid(1), ct.bid(0)), tile=x, allow_tma=False)


@ct.kernel
def strided_views(a, c, n: Const):
    """Overlapping tiles, since 13.3."""
    v = a.tiled_view((n, n), traversal_steps=(n // 2, n))
    ct.store(c, index=(0, 0), tile=v.load((ct.bid(0), ct.bid(1))))


@ct.kernel
def gathers(a, k, c, n: Const):
    """Elements named one by one, read and written, with a mask and a padding."""
    i = ct.bid(0)
    at = ct.load(k, index=(i,), shape=(n,))
    x = ct.gather(a, at) + ct.gather(a, at, check_bounds=False) + ct.gather(a, at, padding_value=3)
    ct.scatter(c, at, x, mask=at > 2)


@ct.kernel
def rows_gathered(a, k, c, n: Const):
    """Whole rows named one by one."""
    at = ct.load(k, index=(0,), shape=(n,))
    x = ct.gather(a, (ct.expand_dims(at, 1), ct.expand_dims(ct.arange(n, dtype=i32), 0)))
    ct.scatter(c, (ct.expand_dims(at, 1), ct.expand_dims(ct.arange(n, dtype=i32), 0)), x)


@ct.kernel
def advanced_indexing(a, k, c, n: Const):
    """Rows named one by one through a view, since 13.3."""
    at = ct.load(k, index=(0,), shape=(n,))
    x = ct.load_advanced_indexing(a, (at, ct.Slice(0, n)), padding_mode=PAD)
    ct.store_advanced_indexing(c, (at, ct.Slice(ct.bid(0), n)), x)


@ct.kernel
def unchecked(a, c, n: Const):
    """Accesses that are promised to stay inside, since 13.4."""
    i = ct.bid(0)
    x = ct.load(a, index=(i, 0), shape=(n, n), check_bounds=False)
    ct.store(c, index=(i, 0), tile=x, check_bounds=False)


@ct.kernel
def atomics(a, k, n: Const):
    """Every atomic operation on integers."""
    at = ct.load(k, index=(0,), shape=(n,))
    o, s = ct.MemoryOrder, ct.MemoryScope
    x = ct.atomic_add(a, at, at)
    x = ct.atomic_max(a, at, x, memory_order=o.RELAXED, memory_scope=s.BLOCK)
    x = ct.atomic_min(a, at, x, memory_order=o.ACQUIRE, memory_scope=s.SYS)
    x = ct.atomic_and(a, at, x, memory_order=o.RELEASE)
    x = ct.atomic_or(a, at, x, check_bounds=False)
    x = ct.atomic_xor(a, at, x)
    x = ct.atomic_xchg(a, at, x)
    ct.scatter(a, at, ct.atomic_cas(a, at, x, at))


@ct.kernel
def float_atomics(a, c, n: Const):
    """Atomic sums of floats."""
    x = ct.load(c, index=(0,), shape=(n,))
    ct.atomic_add(a, ct.arange(n, dtype=i32), x)


@ct.kernel
def view_atomics(a, c, n: Const):
    """A tile reduced into a tile of a view, since 13.3."""
    x = ct.load(c, index=(ct.bid(0), 0), shape=(n, n))
    v = a.tiled_view((n, n))
    v.atomic_store_add((ct.bid(0), 0), x)
    a.tiled_view((n, n), traversal_steps=(2, n)).atomic_store_add((0, ct.bid(0)), x)


# -- control flow


@ct.kernel
def nested_loops(a, c, m: int, n: Const):
    """Loops in loops, with values carried by both."""
    acc = ct.zeros((n,), dtype=f32)
    for i in range(m):
        part = ct.zeros((n,), dtype=f32)
        for j in range(0, i, 2):
            part = part + ct.reshape(ct.load(a, index=(i, j), shape=(1, n)), (n,))
        acc = acc + part
    ct.store(c, index=(0,), tile=acc)


@ct.kernel
def break_and_continue(a, c, m: int, n: Const):
    """Loops that are left, and iterations that are cut short."""
    acc = ct.zeros((n,), dtype=f32)
    i = 0
    while True:
        if i >= m:
            break
        i = i + 1
        if i % 3 == 1:
            continue
        acc = acc + ct.load(a, index=(i,), shape=(n,))
    for j in range(m):
        if j > 5:
            break
        acc = acc * 2
    ct.store(c, index=(0,), tile=acc)


@ct.kernel
def branches(a, c, m: int, n: Const):
    """Branches with values, without, nested, and a return from one."""
    x = ct.load(a, index=(0,), shape=(n,))
    if m > 3:
        if m > 7:
            y = x + 1
        else:
            y = x * 2
        ct.store(c, index=(0,), tile=y)
    elif m == 1:
        return
    z = x if m > 1 else -x
    ct.store(c, index=(1,), tile=z)


# -- matrix products


@ct.kernel
def matmul(a, b, c, m: Const, n: Const, k: Const):
    """One product; types come from the arrays."""
    x = ct.load(a, index=(0, 0), shape=(m, k))
    y = ct.load(b, index=(0, 0), shape=(k, n))
    z = ct.load(c, index=(0, 0), shape=(m, n))
    ct.store(c, index=(0, 0), tile=ct.mma(x, y, z))


@ct.kernel
def matmul_tf32(a, b, c, m: Const, n: Const, k: Const):
    """f32 in tf32's precision."""
    x = ct.astype(ct.load(a, index=(0, 0), shape=(m, k)), tf32)
    y = ct.astype(ct.load(b, index=(0, 0), shape=(k, n)), tf32)
    ct.store(c, index=(0, 0), tile=ct.mma(x, y, ct.zeros((m, n), dtype=f32)))


@ct.kernel
def matmul_scaled(a, p, b, q, c, m: Const, n: Const, k: Const):
    """f8 with scale factors for blocks of 32, since 13.3."""
    x, y = ct.load(a, index=(0, 0), shape=(m, k)), ct.load(b, index=(0, 0), shape=(k, n))
    p, q = ct.load(p, index=(0, 0), shape=(m, k // 32)), ct.load(q, index=(0, 0), shape=(k // 32, n))
    ct.store(c, index=(0, 0), tile=ct.mma_scaled(x, p, y, q, ct.zeros((m, n), dtype=f32)))


@ct.kernel
def matmul_scaled_f4(a, p, b, q, c, m: Const, n: Const, k: Const):
    """f4, two to a byte, with scale factors for blocks of 16, since 13.3."""
    x = ct.reshape(ct.unpack_from_bytes(ct.load(a, index=(0,), shape=(m * k // 2,)), e2m1), (m, k))
    y = ct.reshape(ct.unpack_from_bytes(ct.load(b, index=(0,), shape=(k * n // 2,)), e2m1), (k, n))
    p, q = ct.load(p, index=(0, 0), shape=(m, k // 16)), ct.load(q, index=(0, 0), shape=(k // 16, n))
    ct.store(c, index=(0, 0), tile=ct.mma_scaled(x, p, y, q, ct.zeros((m, n), dtype=f32)))


@ct.kernel
def batched_matmul(a, b, c, m: Const):
    """A batch of products."""
    x, y = ct.load(a, index=(0, 0, 0), shape=(2, m, m)), ct.load(b, index=(0, 0, 0), shape=(2, m, m))
    ct.store(c, index=(0, 0, 0), tile=ct.matmul(x, y))


# -- the rest


@ct.kernel
def printed(a, n: Const):
    """Prints and assertions, in order."""
    x = ct.load(a, index=(0,), shape=(n,))
    ct.printf("block %d: %f\n", ct.bid(0), x)
    ct.assert_(x > 0, "all must be positive")
    ct.printf("done")


@ct.kernel
def grid(c, n: Const):
    """The grid's extents and this block's place in it."""
    x = (
        ct.bid(0)
        + ct.bid(1) * ct.num_blocks(0)
        + ct.bid(2) * ct.num_blocks(0) * ct.num_blocks(1)
        + ct.num_blocks(2)
    )
    ct.store(c, index=(ct.bid(0),), tile=ct.full((n,), 0, dtype=i32) + x)


def _twice(x):
    return _thrice(x) + x


def _thrice(x):
    return x + x + x


@ct.kernel
def inlined(a, c, n: Const):
    """Functions that are called, so that positions have call sites."""
    x = ct.load(a, index=(0,), shape=(n,))
    ct.store(c, index=(0,), tile=_twice(_thrice(x)))


@ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1), occupancy=4, opt_level=2)
def hinted(a, c, n: Const):
    """Hints on clusters and occupancy, by target."""
    ct.store(c, index=(ct.bid(0),), tile=ct.load(a, index=(ct.bid(0),), shape=(n,)))


@ct.kernel
def dependent(a, c, n: Const):
    """Programmatic dependent launch, since 13.4."""
    ct.grid_dependency_control_wait()
    x = ct.load(a, index=(0,), shape=(n,))
    ct.grid_dependency_control_launch_dependents()
    ct.store(c, index=(0,), tile=x)


scalar = ScalarConstraint
KERNELS = {
    **{f"float_arithmetic_{d}": (float_arithmetic, [array(d)] * 3 + [128]) for d in (f16, bf16, f32, f64)},
    **{
        f"integer_arithmetic_{d}": (integer_arithmetic, [array(d)] * 3 + [64])
        for d in (i8, i16, i32, i64, u8, u16, u32, u64)
    },
    "signed_division": (signed_division, [array(i32)] * 3 + [64]),
    "transcendental": (transcendental, [array(f32)] * 2 + [256]),
    "rounding": (rounding, [array(f32)] * 3 + [64]),
    "angle": (angle, [array(f32)] * 3 + [64]),
    "integer_power": (integer_power, [array(f32), array(i32), array(f32), 64]),
    "conversions": (conversions, [array(f32), array(i32), 128]),
    "constants": (constants, [array(f32), 32]),
    "shapes": (shapes, [array(f32, 2)] * 2 + [16]),
    "inserted": (inserted, [array(f32, 2)] * 2 + [16]),
    "packed": (packed, [array(f32), array(i32), 64]),
    "reductions_f32": (reductions, [array(f32, 2), array(f32), 64]),
    "reductions_i32": (reductions, [array(i32, 2), array(i32), 64]),
    "reductions_f64": (reductions, [array(f64, 2), array(f64), 64]),
    "custom_reduction": (custom_reduction, [array(f32, 2), array(f32), 64]),
    "scans": (scans, [array(f32, 2)] * 2 + [64]),
    "padded": (padded, [array(f32, 2)] * 2 + [16, 32]),
    "wide": (padded, [wide(f32, 2)] * 2 + [16, 32]),
    "transposed_view": (transposed_view, [array(f16, 2, 8)] * 2 + [32, 16]),
    "strided_views": (strided_views, [array(f32, 2)] * 2 + [16]),
    "gathers": (gathers, [array(f32), array(i32), array(f32), 64]),
    "rows_gathered": (rows_gathered, [array(f32, 2), array(i32), array(f32, 2), 16]),
    "atomics": (atomics, [array(i32)] * 2 + [32]),
    "float_atomics": (float_atomics, [array(f32)] * 2 + [32]),
    "bf16_atomics": (float_atomics, [array(bf16)] * 2 + [32]),
    "view_atomics": (view_atomics, [array(f32, 2)] * 2 + [16]),
    "nested_loops": (nested_loops, [array(f32, 2), array(f32), scalar(i32), 32]),
    "break_and_continue": (break_and_continue, [array(f32)] * 2 + [scalar(i32), 32]),
    "branches": (branches, [array(f32)] * 2 + [scalar(i32), 32]),
    "advanced_indexing": (advanced_indexing, [array(f32, 2), array(i32), array(f32, 2), 16]),
    "unchecked": (unchecked, [array(f32, 2)] * 2 + [16]),
    **{
        f"mma_{s}_{t}": (matmul, [array(s, 2)] * 2 + [array(t, 2), 64, 32, 32])
        for s, t in (
            (f16, f16), (f16, f32), (bf16, f32), (f32, f32), (f64, f64), (e4m3, f16), (e4m3, f32), (e5m2, f32),
            (i8, i32), (u8, i32),
        )
    },
    "mma_scaled_f8": (
        matmul_scaled, [array(e4m3, 2), array(e8m0, 2), array(e4m3, 2), array(e8m0, 2), array(f32, 2), 64, 32, 32]
    ),
    "mma_scaled_f4": (
        matmul_scaled_f4, [array(u8), array(e4m3, 2), array(u8), array(e4m3, 2), array(f32, 2), 32, 32, 64]
    ),
    "mma_tf32": (matmul_tf32, [array(f32, 2)] * 3 + [32, 32, 32]),
    "batched_matmul": (batched_matmul, [array(f16, 3)] * 3 + [32]),
    "printed": (printed, [array(f32), 4]),
    "grid": (grid, [array(i32), 8]),
    "inlined": (inlined, [array(f32)] * 2 + [64]),
    "hinted": (hinted, [array(f32)] * 2 + [64]),
    "dependent": (dependent, [array(f32)] * 2 + [64]),
}  # fmt: skip


def export(kernels) -> None:
    """Export kernels (name → kernel and parameters), each at every version that has what it needs."""
    from cuda.tile import _compile

    _compile.dev_features_enabled = lambda: (
        True
    )  # the frontend keeps 13.5 to itself until its tools are released
    out = Path(sys.argv[1])
    for name, (kernel, parameters) in kernels.items():
        told = []
        for version in VERSIONS:
            folder = out / version
            folder.mkdir(parents=True, exist_ok=True)
            signature = KernelSignature(parameters, CallingConvention.cutile_python_v2(), symbol=name)
            try:
                export_kernel(
                    kernel, [signature], folder / f"{name}.tileirbc", gpu_code="sm_100",
                    output_format="tileir_bytecode", bytecode_version=version,
                )  # fmt: skip
                told.append(version)
            except Exception as failure:
                print(f"  {name} {version}: {' '.join(str(failure).split())[:140]}")
        print(f"{name}: {', '.join(told)}")


if __name__ == "__main__":
    export(KERNELS)
