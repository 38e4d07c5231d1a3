"""Triton kernels of the measured families, in the form of Triton's tutorials; part of the pack of gpu_pack.py."""
# Triton is no dependency of the project, and its kernels are a language of their own.
# pyright: basic, reportMissingImports=false, reportOptionalMemberAccess=false, reportInvalidTypeForm=false
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalSubscript=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportMissingParameterType=false
# pyright: reportUntypedFunctionDecorator=false, reportUnnecessaryComparison=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import triton
import triton.language as tl
from gpu_cases import Case, plain_attention, up


def _configs() -> list[Any]:
    sizes = [
        (128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (64, 256, 64, 4, 4),
        (128, 128, 128, 3, 8), (128, 256, 128, 3, 8), (64, 128, 64, 4, 4),
    ]  # fmt: skip
    return [
        triton.Config({"TM": m, "TN": n, "TK": k, "GROUP": 8}, num_stages=stages, num_warps=warps)
        for m, n, k, stages, warps in sizes
    ]


@triton.autotune(configs=_configs(), key=["m", "n", "k"])
@triton.jit
def matmul(a, b, d, m, n, k, sam, sak, sbk, sbn, sdm, sdn,
           TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr):  # fmt: skip
    """A product whose tiles are visited in groups of rows, so that L2 holds their operands."""
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(m, TM), tl.cdiv(n, TN)
    group = pid // (GROUP * columns)
    first = group * GROUP
    size = min(rows - first, GROUP)
    i = first + (pid % (GROUP * columns)) % size
    j = (pid % (GROUP * columns)) // size
    ra, rb = (i * TM + tl.arange(0, TM)) % m, (j * TN + tl.arange(0, TN)) % n
    rk = tl.arange(0, TK)
    pa = a + ra[:, None] * sam + rk[None, :] * sak
    pb = b + rk[:, None] * sbk + rb[None, :] * sbn
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for step in range(tl.cdiv(k, TK)):
        left = k - step * TK
        x = tl.load(pa, mask=rk[None, :] < left, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += TK * sak
        pb += TK * sbk
    rm, rn = i * TM + tl.arange(0, TM), j * TN + tl.arange(0, TN)
    place = d + rm[:, None] * sdm + rn[None, :] * sdn
    tl.store(place, acc.to(d.dtype.element_ty), mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.autotune(
    configs=[
        triton.Config({"TM": m, "TN": n}, num_stages=stages, num_warps=warps)
        for m, n, stages, warps in (
            (128, 64, 3, 8),
            (128, 128, 3, 8),
            (128, 64, 3, 4),
            (64, 64, 3, 4),
            (128, 32, 4, 4),
        )
    ],
    key=["count", "D", "CAUSAL"],
)
@triton.jit
def attend(
    q, k, v, o, scale, count, D: tl.constexpr, CAUSAL: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr
):
    """Flash attention forward on [heads, count, D]; count is a multiple of the tiles."""
    i, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * count * D
    rows, columns, depth = i * TM + tl.arange(0, TM), tl.arange(0, TN), tl.arange(0, D)
    qt = tl.load(q + base + rows[:, None] * D + depth[None, :])
    most = tl.full((TM,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((TM,), dtype=tl.float32)
    acc = tl.zeros((TM, D), dtype=tl.float32)
    whole = (i * TM) // TN * TN if CAUSAL else count
    for start in range(0, whole, TN):
        kt = tl.load(k + base + (start + columns)[None, :] * D + depth[:, None])
        s = tl.dot(qt, kt) * scale
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(most - new)
        total = total * alpha + tl.sum(p, 1)
        vt = tl.load(v + base + (start + columns)[:, None] * D + depth[None, :])
        acc = tl.dot(p.to(tl.float16), vt, acc * alpha[:, None])
        most = new
    if CAUSAL:
        for start in range(whole, (i + 1) * TM, TN):
            kt = tl.load(k + base + (start + columns)[None, :] * D + depth[:, None])
            s = tl.dot(qt, kt) * scale
            s = tl.where(rows[:, None] >= (start + columns)[None, :], s, float("-inf"))
            new = tl.maximum(most, tl.max(s, 1))
            p = tl.math.exp2(s - new[:, None])
            alpha = tl.math.exp2(most - new)
            total = total * alpha + tl.sum(p, 1)
            vt = tl.load(v + base + (start + columns)[:, None] * D + depth[None, :])
            acc = tl.dot(p.to(tl.float16), vt, acc * alpha[:, None])
            most = new
    tl.store(o + base + rows[:, None] * D + depth[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def row_softmax(x, y, n, N: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * n + tl.arange(0, N)
    mask = tl.arange(0, N) < n
    row = tl.load(x + place, mask=mask, other=float("-inf")).to(tl.float32)
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + place, e / tl.sum(e, 0), mask=mask)


@triton.jit
def row_layer_norm(x, w, b, y, n, eps, N: tl.constexpr):
    column = tl.arange(0, N)
    place = tl.program_id(0).to(tl.int64) * n + column
    mask = column < n
    row = tl.load(x + place, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(row, 0) / n
    d = tl.where(mask, row - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    gain = tl.load(w + column, mask=mask).to(tl.float32)
    bias = tl.load(b + column, mask=mask).to(tl.float32)
    tl.store(y + place, d * scale * gain + bias, mask=mask)


@triton.jit
def sum_of_row(x, y, n, N: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * n + tl.arange(0, N)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + place, mask=tl.arange(0, N) < n, other=0.0), 0))


@triton.jit
def scan_of_row(x, y, n, N: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * n + tl.arange(0, N)
    mask = tl.arange(0, N) < n
    tl.store(y + place, tl.cumsum(tl.load(x + place, mask=mask, other=0.0), 0), mask=mask)


@triton.jit
def add(a, b, c, n, N: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * N + tl.arange(0, N)
    mask = place < n
    tl.store(c + place, tl.load(a + place, mask=mask) + tl.load(b + place, mask=mask), mask=mask)


@triton.jit
def transposed(x, y, m, n, N: tl.constexpr):
    i, j = tl.program_id(0) * N + tl.arange(0, N), tl.program_id(1) * N + tl.arange(0, N)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=(i[:, None] < m) & (j[None, :] < n))
    tl.store(y + j[:, None] * m + i[None, :], tl.trans(tile), mask=(j[:, None] < n) & (i[None, :] < m))


def triton_peer(case: Case, t: Mapping[str, Any]) -> Callable[[], Callable[[], Any]] | None:
    """The preparation of the Triton kernel of a case; None if there is none."""

    def rows(kernel: Any, *args: Any, warps: int = 4) -> Callable[[], Any]:
        count, n = t["x"].shape
        size = triton.next_power_of_2(n)
        return lambda: kernel[(count,)](*args, N=size, num_warps=8 if size > 2048 else warps)

    def product() -> Callable[[], Any]:
        a, b = (
            t[name].t() if case.family == form else t[name]
            for name, form in (("a", "gemm_tn"), ("b", "gemm_nt"))
        )
        d = t["d"]
        (m, k), n = a.shape, b.shape[1]

        def grid(meta: Mapping[str, int]) -> tuple[int]:
            return (up(m, meta["TM"]) * up(n, meta["TN"]),)

        return lambda: matmul[grid](a, b, d, m, n, k, *a.stride(), *b.stride(), *d.stride())

    def attention() -> Callable[[], Any]:
        heads, count, depth = t["q"].shape
        causal = case.program.endswith("_causal")
        return lambda: attend[lambda meta: (count // meta["TM"], heads)](
            t["q"], t["k"], t["v"], t["o"], case.scalars[0], count, D=depth, CAUSAL=causal
        )

    n = t["x"].shape[-1] if "x" in t else 0
    prepared: dict[str, Callable[[], Callable[[], Any]]] = {
        "gemm": product,
        "gemm_nt": product,
        "gemm_tn": product,
        "attention": attention,
        "softmax": lambda: rows(row_softmax, t["x"], t["y"], n),
        "layer_norm": lambda: rows(row_layer_norm, t["x"], t["w"], t["b"], t["y"], n, 1e-5),
        "row_sum": lambda: rows(sum_of_row, t["x"], t["y"], n),
        "row_scan": lambda: rows(scan_of_row, t["x"], t["y"], n),
        "vector_add": lambda: lambda: add[(up(t["c"].numel(), 1024),)](t["a"], t["b"], t["c"], t["c"].numel(), N=1024),
        "transpose": lambda: lambda: transposed[(up(t["x"].shape[0], 64), up(n, 64))](
            t["x"], t["y"], *t["x"].shape, N=64
        ),
    }  # fmt: skip
    if case.family == "attention" and not plain_attention(case):
        return None
    return prepared.get(case.family)
