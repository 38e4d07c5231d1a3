"""Products that share both factors: TMA brings them once, and the loop stays asynchronous."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import compiled, encode, fresh_seed, launch

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product


def twice(product: Product) -> str:
    """C = A · B + A · B."""
    text = product.text()
    (line,) = re.findall(r"    %new = mmaf .*\n", text)
    first, second = line.replace("%new", "%half"), line.replace("%old", "%half")
    return text.replace(line, first + second)


@pytest.mark.parametrize("product", [Product(n=32, k=32), Product("bf16", b_t="permute", n=32, k=32)])
def test_results(product: Product) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = 64 + 24, 2 * product.n, 5 * product.k
    a, b = (
        rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (n, k) if product.b_t else (k, n))
    )
    c = np.zeros((m, n), np.float32)

    def arguments(x: np.ndarray, rows: int, columns: int) -> list[object]:
        stored = encode(product.element, x) if x is not c else x
        return [stored, np.int32(rows), np.int32(columns), np.int32(x.shape[1])]

    given = [*arguments(a, m, k), *arguments(b, k, n), *arguments(c, m, n)]
    arrays, result = launch(twice(product), *given, target="sm_90a", grid=(2, 2), mode="late")
    assert not result.findings, result.findings.text("product")
    expected = 2 * (a.astype(np.float64) @ (b.T if product.b_t else b).astype(np.float64))
    np.testing.assert_array_equal(arrays[2], expected)


def test_no_thread_moves_a_factor() -> None:
    """Both products are in flight while the next two are started."""
    ptx = compiled(twice(Product()), "sm_90a").ptx
    loop = ptx[ptx.index("wgmma.mma_async") : ptx.rindex("wgmma.wait_group.sync.aligned")]
    assert "ldmatrix" not in loop and "st.shared" not in loop
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+2;", loop)
