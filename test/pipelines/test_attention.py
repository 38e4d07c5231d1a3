"""Attention over several blocks of keys: the overlapped loop, with its prologue and epilogue, is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import decode, empty, fresh_seed, launch, random

NAME = "attention_causal_f16_d64"
BLOCK = WIDTH = 64


def strided(array: Any) -> list[Any]:
    """What an entry takes of an array: the array, its extents, its strides in elements."""
    return [array, *map(np.int32, array.shape), *(np.int32(s // array.itemsize) for s in array.strides)]


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("blocks", [1, 3, 5])
def test_results(blocks: int, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    length = blocks * BLOCK - int(rng.integers(0, BLOCK))
    tensors = [random("f16", (1, length, WIDTH), rng) for _ in range(3)]
    scale = np.float32(np.log2(np.e) / np.sqrt(WIDTH))
    args = [a for array in (*tensors, empty("f16", (1, length, WIDTH))) for a in strided(array)]
    text = (Path(__file__).parents[1] / "corpus" / f"{NAME}.mlir").read_text()
    found = launch(text, *args, scale, target="sm_90a", grid=(blocks, 1), mode=mode)[0][3]
    q, k, v = (decode("f16", a)[0].astype(np.float64) for a in tensors)
    scores = np.where(np.tri(length, dtype=bool), q @ k.T * float(scale), -np.inf)
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v
    np.testing.assert_allclose(decode("f16", found)[0], expected, rtol=2e-2, atol=2e-2)
