"""Tiles stored by TMA: right on the simulated GPU for every type and order, and every synchronization is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import compiled, decode, empty, fresh_seed, launch

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import WIDTHS, Product
from test_products import NAMES, decoded, operands

Array = np.ndarray[Any, Any]
TARGETS = ("sm_90a", "sm_100a")
STORE = "cp.async.bulk.tensor.2d.global.shared::cta"
TOLERANCE = {"f16": 2e-2, "bf16": 2e-2, "f32": 2e-3, "i32": 0.0, "f8E4M3FN": 8e-2, "f8E5M2": 2e-1}

STORES = {
    "f32": Product(m=128, n=128, k=16, d_assumed=True),
    "f16": Product(accumulator="f16", n=128, k=16, d_assumed=True),
    "rounded to f16": Product(out="f16", k=16, d_assumed=True),
    "rounded to bf16": Product("bf16", out="bf16", k=16, n=128, d_assumed=True),
    "rounded to f8": Product(out="f8E4M3FN", k=16, n=128, d_assumed=True),
    "i32": Product("i8", "i32", b_t="view", k=32, n=128, d_assumed=True),
    "transposed": Product(out="f16", k=16, n=128, d_assumed=True, d_t=True),
    "several tiles": Product(out="f16", k=16, outer=True, d_assumed=True),
    "read again": Product(out="f16", k=16, d_assumed=True, read_back=True),
}


def run(product: Product, ragged: bool, mode: str, target: str) -> tuple[Array, Array]:
    """(what a product stores, what NumPy computes)."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = 2 * product.m, product.n, 2 * product.k
    if ragged:
        m, n, k = (
            m - int(rng.integers(1, 60)),
            n - int(rng.integers(1, 60)),
            k - int(rng.integers(1, product.k)),
        )
    a, b = operands(product, m, n, k, rng)
    each = 16 // WIDTHS[product.stored]
    rows, columns = (n, m) if product.d_t else (m, n)
    c = empty(NAMES.get(product.stored, product.stored), (rows, -(-columns // each) * each))

    def arguments(array: Array, rows: int, columns: int) -> list[Any]:
        return [array, np.int32(rows), np.int32(columns), np.int32(array.strides[0] // array.itemsize)]

    before = np.asarray(c).copy()
    given = [*arguments(a, m, k), *arguments(b, k, n), *arguments(c, m, n)]
    # A buffer has whole rows; the launch takes arrays as they lie.
    given[0], given[4] = (x.base if x.base is not None else x for x in (a, b))
    grid = (-(-m // product.m), 1 if product.outer else -(-n // product.n))
    found = launch(product.text(), *given, target=target, grid=grid, mode=mode)[0][2]
    x, y = decoded(product, "a", a), decoded(product, "b", b)
    expected = (x.T if product.a_t else x) @ (y.T if product.b_t else y)
    assert found[:, columns:].tobytes() == before[:, columns:].tobytes(), "what is outside was written"
    got = np.asarray(
        found if product.stored == "i32" else decode(NAMES.get(product.stored, product.stored), found)
    )
    got = got[:, :columns].astype(np.float64)
    return got.T if product.d_t else got, expected * (2 if product.read_back else 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", STORES)
def test_tiles_are_stored_by_tma(name: str, target: str) -> None:
    product = STORES[name]
    ptx = compiled(product.text(), target).ptx
    assert STORE in ptx and ptx.count("cp.async.bulk.commit_group") == ptx.count("fence.proxy.async") > 0
    if not product.read_back:
        assert "st.global" not in ptx
    assert ("stmatrix" in ptx) == (WIDTHS[product.stored] == 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", STORES)
def test_results(name: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    got, expected = run(STORES[name], bool(rng.integers(4)), str(rng.choice(["late", "early"])), target)
    assert np.abs(got - expected).max() <= TOLERANCE[STORES[name].stored] * np.abs(expected).max()
