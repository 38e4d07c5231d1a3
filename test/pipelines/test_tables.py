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

PAGES = 9


BY_POINTER = """  %place = offset %tableP, %k : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %page, %pt = load_ptr_tko weak %place token = {token} : tile<ptr<i32>> -> tile<i32>, token
"""
AS_A_TILE = """  %pages, %pt = load_view_tko weak %tableV[%k] token = {token}
      : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
  %page = reshape %pages : tile<1xi32> -> tile<i32>
"""
"""How cuTile loads a number."""
COMPUTED = AS_A_TILE.replace(
    "  %page = reshape %pages",
    """  %minus = negi %pages : tile<1xi32>
  %twice = addi %pages, %pages : tile<1xi32>
  %same = addi %minus, %twice : tile<1xi32>
  %page = reshape %same""",
)
MASKED = BY_POINTER.replace("%place token", "%place, %inside, %c0 token").replace(
    "tile<ptr<i32>> -> tile<i32>, token", "tile<ptr<i32>>, tile<i1>, tile<i32> -> tile<i32>, token"
)
MASKED = "  %inside = cmpi less_than %k, %most, unsigned : tile<i32> -> tile<i1>\n" + MASKED
"""How cuTile gathers one."""


def paged(product: Product, token: str = "%token", load: str = BY_POINTER) -> str:
    """C = A · B, where a table says which tile of B along K belongs to a tile of A."""
    loads = load.format(token=token) + "  %b, %bt = load_view_tko weak %bV[%page, %y]"
    text = product.text().replace("entry @product(", "entry @product(%tableP: tile<ptr<i32>>, ")
    changed = text.replace("  %b, %bt = load_view_tko weak %bV[%k, %y]", loads)
    assert changed != text
    views = f"""  %most = constant <i32: {PAGES}> : tile<i32>
  %tableT = make_tensor_view %tableP, shape = [%most], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %tableV = make_partition_view %tableT : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>
  %token ="""
    return changed.replace("  %token =", views, 1) if load != BY_POINTER else changed


def check(
    text: str, product: Product, table: np.ndarray, read: np.ndarray, mode: str, target: str = "sm_90a"
) -> None:
    """Run a kernel with a table of pages, and compare with what it is to read in the table."""
    rng = np.random.default_rng(fresh_seed())
    m, n, k = 64 + 24, 2 * product.n, len(table) * product.k
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((PAGES * product.k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)

    def arguments(x: np.ndarray) -> list[object]:
        return [x, *(np.int32(v) for v in (*x.shape, x.shape[1]))]

    arrays, result = launch(
        text, table, *arguments(a), *arguments(b), *arguments(c), target=target, grid=(2, 2), mode=mode
    )
    assert not result.findings, result.findings.text("product")
    whole = np.concatenate([b[p * product.k : (p + 1) * product.k] for p in read]).astype(np.float64)
    assert np.abs(arrays[3] - a.astype(np.float64) @ whole).max() < 1e-2


LOADS = pytest.mark.parametrize(
    "load", [BY_POINTER, AS_A_TILE, COMPUTED, MASKED], ids=["pointer", "tile", "computed", "masked"]
)


@LOADS
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(mode: str, target: str, load: str) -> None:
    rng = np.random.default_rng(fresh_seed("table"))
    product = Product(n=int(rng.choice([32, 64])), k=32)
    table = rng.integers(0, PAGES, int(rng.integers(1, 7))).astype(np.int32)
    check(paged(product, load=load), product, table, table, mode, target)


@LOADS
def test_the_loop_stays_asynchronous(load: str) -> None:
    """TMA and wgmma, one product in flight, and one reader of the table: the producer."""
    ptx = compiled(paged(Product(), load=load), "sm_90a").ptx
    assert "cp.async.bulk.tensor" in ptx and "wgmma.mma_async" in ptx
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+1;", ptx)
    assert ptx.count("ld.global") == 1
    # The pipelines are those of a product without a table: nothing is sent to the producer.
    assert ptx.count("mbarrier.init") == compiled(Product().text(), "sm_90a").ptx.count("mbarrier.init")


@LOADS
def test_a_table_that_the_kernel_writes_is_read_by_the_consumer(load: str) -> None:
    """The store comes before the load by its token: the consumer loads the number, and sends it."""
    product = Product(n=32, k=32)
    store = "  %wt = store_ptr_tko weak %tableP, %c1 token = %token : tile<ptr<i32>>, tile<i32> -> token\n  %sum = for"
    text = paged(product, "%wt", load).replace("  %sum = for", store)
    assert store in text
    table = np.array([5, 2, 7], np.int32)
    check(text, product, table.copy(), np.array([1, 2, 7]), "late")
