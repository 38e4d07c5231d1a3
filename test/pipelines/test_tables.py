"""Products of tiles that a table names: the producer reads the table itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import compiled, fresh_seed, launch

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product


def paged(product: Product, token: str = "%token") -> str:
    """C = A · B, where a table says which tile of B along K belongs to a tile of A."""
    loads = f"""  %place = offset %tableP, %k : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %page, %pt = load_ptr_tko weak %place token = {token} : tile<ptr<i32>> -> tile<i32>, token
  %b, %bt = load_view_tko weak %bV[%page, %y]"""
    text = product.text().replace("entry @product(", "entry @product(%tableP: tile<ptr<i32>>, ")
    changed = text.replace("  %b, %bt = load_view_tko weak %bV[%k, %y]", loads)
    assert changed != text
    return changed


@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    product = Product(n=int(rng.choice([32, 64])), k=32)
    pages, tiles = 9, int(rng.integers(1, 7))
    m, n, k = 64 + 24, 2 * product.n, tiles * product.k
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((pages * product.k, n)).astype(np.float16)
    table = rng.integers(0, pages, tiles).astype(np.int32)
    c = np.zeros((m, n), np.float32)

    def arguments(x: np.ndarray) -> list[object]:
        return [x, *(np.int32(v) for v in (*x.shape, x.shape[1]))]

    arrays, result = launch(
        paged(product), table, *arguments(a), *arguments(b), *arguments(c), target="sm_90a", grid=(2, 2), mode=mode
    )  # fmt: skip
    assert not result.findings, result.findings.text("product")
    whole = np.concatenate([b[p * product.k : (p + 1) * product.k] for p in table]).astype(np.float64)
    assert np.abs(arrays[3] - a.astype(np.float64) @ whole).max() < 1e-2


def test_the_loop_stays_asynchronous() -> None:
    """TMA and wgmma, one product in flight, and one reader of the table: the producer."""
    ptx = compiled(paged(Product()), "sm_90a").ptx
    assert "cp.async.bulk.tensor" in ptx and "wgmma.mma_async" in ptx
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+1;", ptx)
    assert ptx.count("ld.global") == 1


def test_a_table_that_the_kernel_writes_is_read_by_the_consumer() -> None:
    """The store comes before the load by its token: who runs ahead would read too early."""
    product = Product()
    store = "  %wt = store_ptr_tko weak %tableP, %c1 token = %token : tile<ptr<i32>>, tile<i32> -> token\n  %sum = for"
    text = paged(product, "%wt").replace("  %sum = for", store)
    assert store in text
    ptx = compiled(text, "sm_90a").ptx
    # B's tiles cannot come ahead.
    assert ptx.count("cp.async.bulk.tensor.2d") <= 1
