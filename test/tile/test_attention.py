"""Exact attention in the tile dialect, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from programs import TARGETS, decode, empty, fresh_seed, random
from tile.flash_attention import attention
from tile.kernels import example, launch, strided


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("length", [128, 200])
def test_attention(length: int, causal: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    shape = (1, 1, length, 64)
    q, k, v = (random("bf16", shape, rng) for _ in range(3))
    args = [a for array in (q, k, v, empty("bf16", shape)) for a in strided(array)]
    target, mode = str(rng.choice(TARGETS)), str(rng.choice(["late", "early"]))
    text = example("attention_causal" if causal else "attention")
    arrays, result = launch(text, *args, target=target, grid=(-(-length // 64),), mode=mode)
    assert not result.findings, result.findings.text("attention")
    expected = attention(*(decode("bf16", a[0, 0]) for a in (q, k, v)), 0.125, causal)
    np.testing.assert_allclose(decode("bf16", arrays[3])[0, 0], expected, rtol=2e-2, atol=1e-2)


def test_gemm() -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = (8 * int(rng.integers(1, 25)) for _ in range(3))
    a, b, d = random("f16", (m, k), rng), random("f16", (k, n), rng), empty("f32", (m, n))
    args = [x for array in (a, b, d) for x in strided(array)]
    grid = (-(-m // 128), -(-n // 128))
    arrays, result = launch(example("gemm_tile"), *args, target=str(rng.choice(TARGETS)), grid=grid)
    assert not result.findings, result.findings.text("gemm")
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)
