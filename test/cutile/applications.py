"""cuTile kernels as they are written for use, exported like those of kernels.py.

python test/cutile/applications.py FOLDER            (needs the package `cuda-tile`; no GPU)
"""
# As in kernels.py.
# pyright: reportInvalidTypeForm=false, reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false, reportIndexIssue=false, reportCallIssue=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

import math

import cuda.tile as ct
from kernels import PAD, Const, array, export, f16, f32, i8, i32, scalar, u32

LOWEST = ct.PaddingMode.NEG_INF


def _counted(n):
    return ct.expand_dims(ct.arange(n, dtype=i32), 0)


def _half(pairs, s):
    return ct.extract(pairs, (0, s, 0), shape=(pairs.shape[0], 1, pairs.shape[2]))


def _page(x, at, page, d):
    t = ct.load(x, index=(at, 0, 0), shape=(1, page, d), padding_mode=PAD)
    return ct.astype(ct.reshape(t, (page, d)), f32)


@ct.kernel
def top_k(x, values, indices, n: Const, k: Const):
    """The k largest of a row, by k argmaxes."""
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, n), padding_mode=LOWEST)
    column, place = _counted(n), _counted(k)
    best, where = ct.zeros((1, k), dtype=f32), ct.zeros((1, k), dtype=i32)
    for s in range(k):
        at = ct.argmax(row, axis=1, keepdims=True)
        best = ct.where(place == s, ct.max(row, axis=1, keepdims=True), best)
        where = ct.where(place == s, at, where)
        row = ct.where(column == at, -math.inf, row)
    ct.store(values, index=(i, 0), tile=best)
    ct.store(indices, index=(i, 0), tile=where)


@ct.kernel
def cross_entropy(x, labels, loss, gradient, n: Const):
    """Two runs over the classes; the label's own number is gathered."""
    i = ct.bid(0)
    m, d = ct.full((1, 1), -math.inf, dtype=f32), ct.zeros((1, 1), dtype=f32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, n))):
        t = ct.load(x, index=(i, j), shape=(1, n), padding_mode=LOWEST)
        new = ct.maximum(m, ct.max(t, axis=1, keepdims=True))
        d = d * ct.exp(m - new) + ct.sum(ct.exp(t - new), axis=1, keepdims=True)
        m = new
    label = ct.load(labels, index=(i,), shape=(1,))
    ct.store(loss, index=(i,), tile=ct.reshape(m + ct.log(d), (1,)) - ct.gather(x, (i, label)))
    for j in range(ct.num_tiles(x, axis=1, shape=(1, n))):
        t = ct.load(x, index=(i, j), shape=(1, n), padding_mode=LOWEST)
        column = j * n + _counted(n)
        one = ct.where(column == ct.expand_dims(label, 0), 1.0, 0.0)
        ct.store(gradient, index=(i, j), tile=ct.exp(t - m) / d - one)


@ct.kernel
def dropout(x, y, seed: int, p: float, n: Const):
    """Random numbers by an integer hash of seed and place."""
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(n,), padding_mode=PAD)
    r = ct.astype(i * n + ct.arange(n, dtype=i32), u32) + seed
    r = (r ^ (r >> 16)) * 0x7FEB352D
    r = (r ^ (r >> 15)) * 0x846CA68B
    uniform = ct.astype((r ^ (r >> 16)) >> 8, f32) * (1.0 / 16777216)
    ct.store(y, index=(i,), tile=ct.where(uniform >= p, t * 2.0, 0.0))


@ct.kernel
def bitonic(x, y, n: Const, steps: Const):
    """A sorting network: halves of a reshaped row compared and joined again."""
    i = ct.bid(0)
    t = ct.load(x, index=(i, 0), shape=(1, n), padding_mode=PAD)
    for k in ct.static_iter(range(1, steps + 1)):
        for j in ct.static_iter(range(k)):
            h = 2 ** (k - 1 - j)
            pairs = ct.reshape(t, (n // (2 * h), 2, h))
            a, b = _half(pairs, 0), _half(pairs, 1)
            group = ct.reshape(ct.arange(n // (2 * h), dtype=i32), (n // (2 * h), 1, 1))
            up = ((group * 2 * h) >> k) % 2 == 0
            low, high = ct.minimum(a, b), ct.maximum(a, b)
            t = ct.reshape(ct.cat((ct.where(up, low, high), ct.where(up, high, low)), 1), (1, n))
    ct.store(y, index=(i, 0), tile=t)


@ct.kernel
def butterflies(x, y, n: Const, steps: Const):
    """The Walsh-Hadamard transform of a row."""
    i = ct.bid(0)
    t = ct.reshape(ct.load(x, index=(i, 0), shape=(1, n), padding_mode=PAD), (n,))
    for s in ct.static_iter(range(steps)):
        h = 2**s
        pairs = ct.reshape(t, (n // (2 * h), 2, h))
        a, b = _half(pairs, 0), _half(pairs, 1)
        t = ct.reshape(ct.cat((a + b, a - b), 1), (n,))
    ct.store(y, index=(i, 0), tile=ct.reshape(t, (1, n)))


@ct.kernel
def paged_attention(q, keys, values, table, last, o, d: Const, page: Const):
    """One query on keys and values in pages that a table names."""
    b = ct.bid(0)
    query = ct.astype(ct.load(q, index=(b, 0), shape=(1, d), padding_mode=PAD), f32)
    n = ct.reshape(ct.load(last, index=(b,), shape=(1,)), ())
    m, total, acc = (
        ct.full((1, 1), -math.inf, dtype=f32),
        ct.zeros((1, 1), dtype=f32),
        ct.zeros((1, d), dtype=f32),
    )
    for j in range(ct.cdiv(n + 1, page)):
        at = ct.reshape(ct.load(table, index=(b, j), shape=(1, 1)), ())
        k, v = _page(keys, at, page, d), _page(values, at, page, d)
        s = ct.reshape(ct.sum(query * k, axis=1), (1, page)) * 0.125
        s = ct.where(j * page + _counted(page) <= n, s, -math.inf)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p, alpha = ct.exp(s - new), ct.exp(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        acc = acc * alpha + ct.expand_dims(ct.sum(ct.reshape(p, (page, 1)) * v, axis=0), 0)
        m = new
    ct.store(o, index=(b, 0), tile=acc / total)


@ct.kernel
def windowed_attention(q, k, v, o, t: Const, d: Const, window: Const, group: Const):
    """Causal attention to the nearest keys alone, one head of keys for several of queries."""
    i, h = ct.bid(0), ct.bid(1)
    head = h // group
    query = ct.reshape(ct.load(q, index=(h, i, 0), shape=(1, t, d), padding_mode=PAD), (t, d))
    m, total, acc = (
        ct.full((t, 1), -1e30, dtype=f32),
        ct.zeros((t, 1), dtype=f32),
        ct.zeros((t, d), dtype=f32),
    )
    rows = i * t + ct.expand_dims(ct.arange(t, dtype=i32), 1)
    for j in range(max(0, i * t - window) // t, i + 1):
        key = ct.load(k, index=(head, 0, j), shape=(1, d, t), order=(0, 2, 1), padding_mode=PAD)
        s = ct.mma(query, ct.reshape(key, (d, t)), ct.zeros((t, t), dtype=f32)) * 0.2
        columns = j * t + _counted(t)
        near = (rows >= columns) & (rows - columns < window)
        new = ct.maximum(m, ct.max(ct.where(near, s, -1e30), axis=1, keepdims=True))
        p, alpha = ct.where(near, ct.exp2(s - new), 0.0), ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        value = ct.reshape(ct.load(v, index=(head, j, 0), shape=(1, t, d), padding_mode=PAD), (t, d))
        acc = ct.mma(ct.astype(p, q.dtype), value, acc * alpha)
        m = new
    ct.store(o, index=(h, i, 0), tile=ct.reshape(ct.astype(acc / total, o.dtype), (1, t, d)))


@ct.kernel
def stream_k(a, b, c, m: Const, n: Const, k: Const):
    """Equal shares of all steps of all tiles for each tile block; sums of parts by atomics."""
    rows, columns = ct.num_tiles(c, axis=0, shape=(m, n)), ct.num_tiles(c, axis=1, shape=(m, n))
    steps = ct.num_tiles(a, axis=1, shape=(m, k))
    share = ct.cdiv(rows * columns * steps, ct.num_blocks(0))
    at = ct.bid(0) * share
    end = min(at + share, rows * columns * steps)
    while at < end:
        tile, first = at // steps, at % steps
        i, j = tile // columns, tile % columns
        last = min(steps, first + end - at)
        acc = ct.zeros((m, n), dtype=f32)
        for s in range(first, last):
            x = ct.load(a, index=(i, s), shape=(m, k), padding_mode=PAD)
            acc = ct.mma(x, ct.load(b, index=(s, j), shape=(k, n), padding_mode=PAD), acc)
        r = i * m + ct.expand_dims(ct.arange(m, dtype=i32), 1)
        ct.atomic_add(c, (r, j * n + _counted(n)), acc)
        at = at + last - first


@ct.kernel
def weights_of_4_bits(a, w, scales, c, m: Const, n: Const, k: Const):
    """Weights two to a byte, with a scale for each column of a tile."""
    acc = ct.zeros((m, n), dtype=f32)
    for s in range(ct.num_tiles(a, axis=1, shape=(m, k))):
        x = ct.load(a, index=(0, s), shape=(m, k), padding_mode=PAD)
        both = ct.load(w, index=(s, 0), shape=(k // 2, n), padding_mode=PAD)
        low, high = ct.expand_dims((both << 4) >> 4, 1), ct.expand_dims(both >> 4, 1)
        y = ct.astype(ct.reshape(ct.cat((low, high), 1), (k, n)), f16)
        acc = ct.mma(x, y * ct.load(scales, index=(s, 0), shape=(1, n), padding_mode=PAD), acc)
    ct.store(c, index=(0, 0), tile=acc)


@ct.kernel
def selective_scan(a, b, y, t: Const, d: Const):
    """A linear recurrence as a scan of pairs."""
    decay = ct.exp(-ct.abs(ct.load(a, index=(0, 0), shape=(t, d), padding_mode=PAD)))

    def combine(a1, b1, a2, b2):
        return a1 * a2, b1 * a2 + b2

    x = ct.load(b, index=(0, 0), shape=(t, d), padding_mode=PAD)
    _, h = ct.scan((decay, x), 0, combine, (1.0, 0.0))
    ct.store(y, index=(0, 0), tile=h)


@ct.kernel
def welford(x, mean, variance, n: Const):
    """Mean and variance as one reduction of three operands, with branches in the combiner."""
    i = ct.bid(0)

    def combine(n1, m1, s1, n2, m2, s2):
        n3, delta = n1 + n2, m2 - m1
        part = ct.where(n3 == 0.0, 0.0, n2 / ct.where(n3 == 0.0, 1.0, n3))
        return n3, m1 + delta * part, s1 + s2 + delta * delta * n1 * part

    row = ct.load(x, index=(i, 0), shape=(1, n), padding_mode=PAD)
    ones, zeros = ct.full((1, n), 1.0, dtype=f32), ct.zeros((1, n), dtype=f32)
    count, m, s = ct.reduce((ones, row, zeros), 1, combine, (0.0, 0.0, 0.0))
    ct.store(mean, index=(i,), tile=m)
    ct.store(variance, index=(i,), tile=s / count)


@ct.kernel
def compaction(x, y, count, n: Const):
    """What is kept is scattered to where a running sum says."""
    t = ct.load(x, index=(0,), shape=(n,), padding_mode=LOWEST)
    kept = t > 0.0
    one = ct.astype(kept, i32)
    ct.scatter(y, ct.cumsum(one, axis=0) - one, t, mask=kept)
    ct.store(count, index=(0,), tile=ct.reshape(ct.sum(one), (1,)))


KERNELS = {
    "top_k": (top_k, [array(f32, 2), array(f32, 2), array(i32, 2), 128, 8]),
    "cross_entropy": (cross_entropy, [array(f32, 2), array(i32), array(f32), array(f32, 2), 128]),
    "dropout": (dropout, [array(f32), array(f32), scalar(u32), scalar(f32), 256]),
    "bitonic": (bitonic, [array(f32, 2), array(f32, 2), 32, 5]),
    "butterflies": (butterflies, [array(f32, 2), array(f32, 2), 64, 6]),
    "paged_attention": (
        paged_attention,
        [array(f16, 2, 8), *[array(f16, 3, 8)] * 2, array(i32, 2), array(i32), array(f32, 2), 64, 16],
    ),
    "windowed_attention": (windowed_attention, [*[array(f16, 3, 8)] * 4, 32, 32, 20, 2]),
    "stream_k": (stream_k, [*[array(f16, 2, 8)] * 2, array(f32, 2), 32, 32, 32]),
    "weights_of_4_bits": (
        weights_of_4_bits,
        [array(f16, 2, 8), array(i8, 2, 16), array(f16, 2, 8), array(f32, 2), 32, 32, 32],
    ),
    "selective_scan": (selective_scan, [array(f32, 2)] * 3 + [64, 16]),
    "welford": (welford, [array(f32, 2), array(f32), array(f32), 256]),
    "compaction": (compaction, [array(f32), array(f32), array(i32), 128]),
}

if __name__ == "__main__":
    export(KERNELS)
