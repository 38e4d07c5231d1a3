"""Kernels of the tile dialect without a product, on the simulated GPU against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, Array, decode, encode, fresh_seed
from tile.kernels import example, launch, strided


def random() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


@pytest.mark.parametrize("columns", [512, 500, 3, 1])
def test_softmax(columns: int) -> None:
    rng = random()
    rows = int(rng.integers(1, 20))
    x = (rng.standard_normal((rows, columns)) * 8).astype(np.float32)
    arrays, result = launch(
        example("softmax"), *strided(x), *strided(np.zeros_like(x)), grid=(-(-rows // 8),),
        target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("softmax")
    weights = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(arrays[1], weights / weights.sum(1, keepdims=True), rtol=2e-5, atol=1e-7)


def _normal(x: Array, epsilon: float, centered: bool) -> Array:
    d = x - x.mean(1, keepdims=True) if centered else x
    return d / np.sqrt((d * d).mean(1, keepdims=True) + epsilon)


@pytest.mark.parametrize("columns", [1024, 1000, 8])
def test_layer_norm(columns: int) -> None:
    rng = random()
    rows = int(rng.integers(1, 9))
    x, gamma, beta = (
        encode("bf16", a)
        for a in (
            rng.standard_normal((rows, columns)) + 3,
            rng.standard_normal(columns),
            rng.standard_normal(columns),
        )
    )
    arrays, result = launch(
        example("layer_norm"), *strided(x), *strided(gamma), *strided(beta), *strided(np.zeros_like(x)),
        np.float32(1e-5), grid=(-(-rows // 4),), target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("layer_norm")
    expected = _normal(decode("bf16", x), 1e-5, True) * decode("bf16", gamma) + decode("bf16", beta)
    np.testing.assert_allclose(decode("bf16", arrays[3]), expected, rtol=2**-7, atol=1e-2)


@pytest.mark.parametrize("columns", [256, 1544, 8])
def test_rms_norm(columns: int) -> None:
    rng = random()
    rows = int(rng.integers(1, 20))
    x, gamma = (rng.standard_normal(shape).astype(np.float16) for shape in ((rows, columns), (columns,)))
    arrays, result = launch(
        example("rms_norm"), *strided(x), *strided(gamma), *strided(np.zeros_like(x)), np.float32(1e-3),
        grid=(-(-rows // 8),), target=str(rng.choice(TARGETS)),
    )  # fmt: skip
    assert not result.findings, result.findings.text("rms_norm")
    expected = _normal(x.astype(np.float64), 1e-3, False) * gamma
    np.testing.assert_allclose(arrays[2], expected, rtol=2**-9, atol=1e-3)
