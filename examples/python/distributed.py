"""Two GPUs: ../distributed_matmul.mlir and ../distributed_attention.mlir.

A kernel of the DSL runs on one GPU. What the `.mlir` files leave to the compiler, which cuts the arrays and combines
the parts, is a function of Python here: `devices` are the GPUs, simulated ones by default.
"""

import numpy as np

from tessera_tools.dsl import (
    arange,
    array,
    bf16,
    cdiv,
    exp,
    f16,
    f32,
    full,
    i32,
    kernel,
    load,
    make_partition_view,
    program_id,
    store,
    tile,
    where,
    zeros,
)

LOWEST = -3.40282347e38


@kernel
def part_of_product(A: array[bf16, 2], B: array[bf16, 2], C: array[f32, 2]):
    """A · B of the part of K that is here, in tiles of 64x64."""
    i, j = program_id(0), program_id(1)
    a_tiles, b_tiles = make_partition_view(A, tile=(64, 32)), make_partition_view(B, tile=(32, 64))
    acc = zeros(tile[64, 64, f32])
    for k in range(cdiv(A.shape[1], 32)):
        acc += load(a_tiles, (i, k)) @ load(b_tiles, (k, j))
    store(make_partition_view(C, tile=(64, 64)), (i, j), acc)


@kernel
def add_to(A: array[f32, 2], B: array[f32, 2]):
    i, j = program_id(0), program_id(1)
    a_tiles, b_tiles = make_partition_view(A, tile=(64, 64)), make_partition_view(B, tile=(64, 64))
    store(a_tiles, (i, j), load(a_tiles, (i, j)) + load(b_tiles, (i, j)))


def distributed_matmul(A, B, *, target="sm_80", devices=("sim", "sim")):
    """A · B, of which each GPU multiplies a part of K; bf16 patterns in, f32 out."""
    (m, depth), n = A.shape, B.shape[1]
    grid = -(-m // 64), -(-n // 64)
    parts = []
    for device, columns in zip(devices, np.array_split(np.arange(depth), len(devices)), strict=True):
        a, b = np.ascontiguousarray(A[:, columns]), np.ascontiguousarray(B[columns])
        parts.append(np.zeros((m, n), np.float32))
        part_of_product[grid](a, b, parts[-1], device=device, target=target)
    for part in parts[1:]:
        add_to[grid](parts[0], part, device=devices[0], target=target)
    return parts[0]


@kernel
def part_of_attention(
    Q: array[f16, 3],
    K: array[f16, 3],
    V: array[f16, 3],
    Out: array[f32, 3],
    M: array[f32, 2],
    L: array[f32, 2],
    first: i32,
):
    """Causal attention to the keys `first`, `first` + 1 …, not divided by the sums L; M are the maxima."""
    block, head = program_id(0), program_id(1)
    q_tiles, k_tiles, v_tiles, o_tiles = (
        make_partition_view(Q, tile=(1, 64, 64)), make_partition_view(K, tile=(1, 64, 64)),
        make_partition_view(V, tile=(1, 64, 64)), make_partition_view(Out, tile=(1, 64, 64)),
    )  # fmt: skip
    q = load(q_tiles, (head, block, 0)).reshape(64, 64)
    rows = block * 64 + arange(64)[:, None]
    acc = zeros(tile[64, 64, f32])
    m = full(tile[64, 1, f32], LOWEST)
    normalizer = zeros(tile[64, 1, f32])
    for j in range(cdiv(K.shape[1], 64)):
        key = j * 64 + arange(64)[None, :]
        scores = (q @ load(k_tiles, (head, j, 0)).reshape(64, 64).T) * 0.125
        seen = (key < K.shape[1]) & (first + key <= rows)
        scores = where(seen, scores, LOWEST)
        m_new = max(m, max(scores, axis=1, keep_dims=True))
        p = where(seen, exp(scores - m_new), 0.0)
        alpha = exp(m - m_new)
        normalizer = normalizer * alpha + sum(p, axis=1, keep_dims=True)
        acc = acc * alpha + p.to(f16) @ load(v_tiles, (head, j, 0)).reshape(64, 64)
        m = m_new
    store(o_tiles, (head, block, 0), acc.reshape(1, 64, 64))
    store(make_partition_view(M, tile=(1, 64)), (head, block), m.reshape(1, 64))
    store(make_partition_view(L, tile=(1, 64)), (head, block), normalizer.reshape(1, 64))


@kernel
def combine(
    Out: array[f16, 3],
    O0: array[f32, 3], M0: array[f32, 2], L0: array[f32, 2],
    O1: array[f32, 3], M1: array[f32, 2], L1: array[f32, 2],
):  # fmt: skip
    """Two parts of attention, by the maxima and sums of their rows."""
    block, head = program_id(0), program_id(1)

    def rows(X):
        return load(make_partition_view(X, tile=(1, 64)), (head, block)).reshape(64, 1)

    def values(X):
        return load(make_partition_view(X, tile=(1, 64, 64)), (head, block, 0)).reshape(64, 64)

    m0, m1 = rows(M0), rows(M1)
    m = max(m0, m1)
    w0, w1 = exp(m0 - m), exp(m1 - m)
    out = (values(O0) * w0 + values(O1) * w1) / (rows(L0) * w0 + rows(L1) * w1)
    store(make_partition_view(Out, tile=(1, 64, 64)), (head, block, 0), out.to(f16).reshape(1, 64, 64))


def distributed_attention(Q, K, V, *, target="sm_80", devices=("sim", "sim")):
    """Causal attention of heads of f16 [heads, sequence, 64]; each of two GPUs has half of the keys and values."""
    heads, length, _ = Q.shape
    grid = -(-length // 64), heads
    parts = []
    first = 0
    for device, k, v in zip(devices, np.array_split(K, 2, 1), np.array_split(V, 2, 1), strict=True):
        part = (
            np.zeros(Q.shape, np.float32),
            np.zeros((heads, length), np.float32),
            np.zeros((heads, length), np.float32),
        )
        part_of_attention[grid](
            Q, np.ascontiguousarray(k), np.ascontiguousarray(v), *part, first, device=device, target=target
        )
        first += k.shape[1]
        parts += part
    result = np.zeros_like(Q)
    combine[grid](result, *parts, device=devices[0], target=target)
    return result
