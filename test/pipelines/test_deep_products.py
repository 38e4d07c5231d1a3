"""Products whose tiles have too many terms for two stages: they add some at a time, by wgmma and tcgen05.mma."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from programs import compiled, decode, empty, fresh_seed, launch, random

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product

PRODUCTS = {
    "f16": Product(m=64, n=128, k=512),
    "bf16 transposed": Product("bf16", m=64, n=128, k=512, b_t="permute"),
    "more than shared memory": Product(m=64, n=128, k=1024),
    "f8": Product("f8E4M3FN", m=64, n=128, k=1024, b_t="permute"),
}
INSTRUCTION = {"sm_90a": "wgmma.mma_async", "sm_100a": "tcgen05.mma"}


@pytest.mark.parametrize("target", INSTRUCTION)
@pytest.mark.parametrize("name", PRODUCTS)
def test_they_run_on_tensor_cores(name: str, target: str) -> None:
    ptx = compiled(PRODUCTS[name].text(), target).ptx
    assert INSTRUCTION[target] in ptx and "mma.sync" not in ptx
    assert "cp.async.bulk.tensor" in ptx


@pytest.mark.parametrize("target", INSTRUCTION)
@pytest.mark.parametrize("name", PRODUCTS)
def test_results(name: str, target: str) -> None:
    """Two tiles of terms, the second of which ends within a part."""
    product = PRODUCTS[name]
    rng = np.random.default_rng(fresh_seed())
    m, n, k = product.m + 8, product.n + 16, product.k + 208
    a = random(product.element, (m, k), rng)
    b = random(product.element, (n, k) if product.b_t else (k, n), rng)
    c = empty("f32", (m, n))
    given: list[object] = []
    for array, rows, columns in ((a, m, k), (b, k, n), (c, m, n)):
        given += [array, np.int32(rows), np.int32(columns), np.int32(array.shape[1])]
    grid = (-(-m // product.m), -(-n // product.n))
    found = launch(product.text(), *given, target=target, grid=grid, mode="late")[0][2]
    x, y = (np.asarray(decode(product.element, array), np.float64) for array in (a, b))
    expected = x @ (y.T if product.b_t else y)
    assert np.abs(decode("f32", found) - expected).max() <= 2e-3 * np.abs(expected).max()
