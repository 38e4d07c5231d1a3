"""Products of negated factors: wgmma inverts the signs, no thread does."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import compiled, decode, empty, fresh_seed, launch, random

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product

from oracles import require_tool

PRODUCTS = {
    "f16": Product(n=32),
    "bf16 transposed": Product("bf16", k=32, n=32, b_t="permute"),
    "a transposed": Product(a_t="permute", n=32, k=32),
    "a computed": Product(a_in="i8", n=32),
    "b computed": Product(b_in="i8", k=32, n=32),
}
SCALES = {"a": "-1, 1", "b": "1, -1", "ab": "-1, -1"}


def negated(product: Product, which: str) -> str:
    """The program, with the factors named in `which` negated before the product."""
    signs = ""
    for name, shape in (("a", (product.m, product.k)), ("b", (product.k, product.n))):
        if name in which:
            extents = "x".join(map(str, shape))
            signs += f"    %{name}Minus = negf %{name} : tile<{extents}x{product.element}>\n"
    factors = [f"%{name}{'Minus' if name in which else ''}" for name in "ab"]
    changed = product.text().replace("    %new = mmaf %a, %b", f"{signs}    %new = mmaf {', '.join(factors)}")
    assert signs and signs in changed
    return changed


@pytest.mark.parametrize("which", SCALES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_wgmma_inverts_the_signs(name: str, which: str) -> None:
    ptx = compiled(negated(PRODUCTS[name], which), "sm_90a").ptx
    products = re.findall(r"wgmma\.mma_async\.[^;]*;", ptx)
    assert products
    assert all(re.search(rf"(?:%p\d+|\b[01]), {SCALES[which]}\b", text) for text in products), products[0]
    assert not re.search(r"\bneg\.|xor\.b32 .*-?2147[0-9]+", ptx)


@pytest.mark.parametrize("name", PRODUCTS)
def test_results(name: str) -> None:
    product = PRODUCTS[name]
    rng = np.random.default_rng(fresh_seed())
    which = str(rng.choice(list(SCALES)))
    m, n, k = product.m + 24, product.n + 16, 3 * product.k

    def made(letter: str, rows: int, columns: int, transposed: str) -> np.ndarray:
        element = product.element_of(letter)
        shape = (columns, rows) if transposed else (rows, columns)
        if element == "i8":
            return rng.integers(-9, 9, shape).astype(np.int8)
        return random(element, shape, rng)

    a, b = made("a", m, k, product.a_t), made("b", k, n, product.b_t)
    c = empty("f32", (m, n))

    def arguments(array: np.ndarray, rows: int, columns: int) -> list[object]:
        return [array, np.int32(rows), np.int32(columns), np.int32(array.shape[1])]

    given = [*arguments(a, m, k), *arguments(b, k, n), *arguments(c, m, n)]
    grid = (-(-m // product.m), -(-n // product.n))
    found = launch(negated(product, which), *given, target="sm_90a", grid=grid, mode="late")[0][2]

    def exact(letter: str, array: np.ndarray) -> np.ndarray:
        element = product.element_of(letter)
        return np.asarray(array if element == "i8" else decode(element, array), np.float64)

    x, y = exact("a", a), exact("b", b)
    sign = (-1) ** len(which)
    expected = sign * ((x.T if product.a_t else x) @ (y.T if product.b_t else y))
    assert np.abs(decode("f32", found) - expected).max() <= 2e-3 * np.abs(expected).max()


def test_ptxas_takes_the_signs() -> None:
    require_tool("ptxas")
    from programs import assembled

    result = assembled(compiled(negated(PRODUCTS["f16"], "ab"), "sm_90a").ptx, "sm_90a")
    assert [w for w in result.warnings if "C75" in w] == []
