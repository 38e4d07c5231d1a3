"""Flash attention in NumPy: the ops of the listing as they stand, and attention as it should be."""

from __future__ import annotations

from typing import Any

import numpy as np
from programs import decode, encode

Array = np.ndarray[Any, Any]
LOWEST = -3.40282347e38


def to_bf16(values: Array) -> Array:
    """Rounded to bf16, as float64."""
    return decode("bf16", encode("bf16", values))


def listing(q: Array, k: Array, v: Array) -> Array:
    """What the listing's ops give for one head (sequence x head dimension, float64): of the mask, that all threads hide
    a block of keys that begins after the block of queries, since thread numbers stand on both sides."""
    length = len(q)
    found = np.zeros_like(q)
    for start in range(0, length, 128):
        rows = np.zeros((128, q.shape[1]))
        here = q[start : start + 128]
        rows[: len(here)] = here
        m, normalizer = np.full(128, LOWEST), np.zeros(128)
        acc = np.zeros((128, q.shape[1]))
        for block in range(0, length, 128):
            keys, values = np.zeros((128, q.shape[1])), np.zeros((128, q.shape[1]))
            keys[: len(k[block : block + 128])] = k[block : block + 128]
            values[: len(v[block : block + 128])] = v[block : block + 128]
            scores = rows @ keys.T * 0.125
            if start < block:
                scores[:] = LOWEST
            with np.errstate(all="ignore"):
                new = scores.max(1)
                most = np.maximum(m, new)
                alpha, beta = np.exp(m - most), np.exp(new - most)
                exponentials = np.exp(scores - most[:, None])
                total = exponentials.sum(1)
                normalizer = alpha * normalizer + beta * total
                acc = acc * alpha[:, None] + to_bf16(exponentials / total[:, None]) @ values
            m = most
        with np.errstate(all="ignore"):
            found[start : start + 128] = (acc / normalizer[:, None])[: len(here)]
    return found


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Array:
    """softmax(q kᵀ · scale) v of one head, in float64."""
    scores = q @ k.T * scale
    if causal:
        scores = np.where(np.tri(len(q), len(k), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v
