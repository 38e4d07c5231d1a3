"""Attention, softmax(Q Kᵀ / √d) V: ../attention.mlir, ../attention_causal.mlir, ../flash_attention_listing.mlir.

Tensors are [batch, heads, sequence, depth]. A block computes the rows of one head and batch; the keys and values come
in blocks of as many rows. The softmax is computed online, from the maximum and the sum of what came so far.
"""

from tessera_tools.dsl import (
    arange,
    array,
    bf16,
    cdiv,
    constexpr,
    exp,
    f32,
    full,
    kernel,
    load,
    make_partition_view,
    minimum,
    program_id,
    store,
    tile,
    where,
    zeros,
)

LOWEST = -3.40282347e38


@kernel
def attention(
    Q: array[bf16, 4], K: array[bf16, 4], V: array[bf16, 4], Out: array[bf16, 4], causal: constexpr = False
):
    block, head, batch = program_id(0), program_id(1), program_id(2)
    q_tiles, k_tiles = tiles(Q, 64, 64), tiles(K, 64, 64)
    v_tiles, o_tiles = tiles(V, 64, 64), tiles(Out, 64, 64)
    keys = K.shape[2]
    q = load(q_tiles, (batch, head, block, 0)).reshape(64, 64)
    rows, columns = block * 64 + arange(64)[:, None], arange(64)[None, :]

    acc = zeros(tile[64, 64, f32])
    m = full(tile[64, 1, f32], LOWEST)
    normalizer = zeros(tile[64, 1, f32])
    # With a causal mask, keys behind the last query of the block are seen by none of them.
    end = minimum((block + 1) * 64, keys) if causal else keys
    for j in range(cdiv(end, 64)):
        k = load(k_tiles, (batch, head, j, 0)).reshape(64, 64)
        v = load(v_tiles, (batch, head, j, 0)).reshape(64, 64)
        scores = (q @ k.T) * 0.125
        seen = j * 64 + columns < keys
        if causal:
            seen = seen & (j * 64 + columns <= rows)
        scores = where(seen, scores, LOWEST)

        m_new = max(m, max(scores, axis=1, keep_dims=True))
        alpha = exp(m - m_new)
        p = exp(scores - m_new)
        normalizer = normalizer * alpha + sum(p, axis=1, keep_dims=True)
        acc = acc * alpha + p.to(bf16) @ v
        m = m_new

    store(o_tiles, (batch, head, block, 0), (acc / normalizer).to(bf16).reshape(1, 1, 64, 64))


attention_causal = attention.bind(causal=True)


def tiles(tensor, rows, depth):
    """A tensor as tiles of one batch, one head, and some rows."""
    return make_partition_view(tensor, tile=(1, 1, rows, depth))


@kernel
def flash_attention_listing(Q: array[bf16, 4], K: array[bf16, 4], V: array[bf16, 4], Out: array[bf16, 4]):
    """The listing as it is written: each block is divided by its own sums, and the mask is one of whole blocks."""
    block, head, batch = program_id(0), program_id(1), program_id(2)
    q_tiles, k_tiles = tiles(Q, 128, 128), tiles(K, 128, 128)
    v_tiles, o_tiles = tiles(V, 128, 128), tiles(Out, 128, 128)
    q = load(q_tiles, (batch, head, block, 0)).reshape(128, 128)

    acc = zeros(tile[128, 128, f32])
    m = full(tile[128, 1, f32], LOWEST)
    normalizer = zeros(tile[128, 1, f32])
    for j in range(cdiv(Q.shape[2], 128)):
        k = load(k_tiles, (batch, head, j, 0)).reshape(128, 128)
        v = load(v_tiles, (batch, head, j, 0)).reshape(128, 128)
        scores = (q @ k.T) * 0.125
        if block < j:
            scores = full(tile[128, 128, f32], LOWEST)

        m_block = max(scores, axis=1, keep_dims=True)
        m_new = max(m, m_block)
        alpha = exp(m - m_new)
        beta = exp(m_block - m_new)
        e = exp(scores - m_new)
        total = sum(e, axis=1, keep_dims=True)
        normalizer = normalizer * alpha + beta * total
        acc = acc * alpha + (e / total).to(bf16) @ v
        m = m_new

    store(o_tiles, (batch, head, block, 0), (acc / normalizer).to(bf16).reshape(1, 1, 128, 128))
