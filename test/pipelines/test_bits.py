"""Products of numbers that lie in arrays of integers: memory is accessed as if the arrays were of numbers."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from programs import TARGETS, compiled, decode, fresh_seed, launch, random

sys.path.insert(0, str(Path(__file__).parent))

from programs_of_products import Product

PRODUCTS = {
    "bf16": Product("bf16", m=64, n=64, k=64, out="bf16"),
    "f16, both turned": Product("f16", m=64, n=32, k=32, out="f16", a_t="permute", b_t="permute"),
    "f16, through turned views": Product("f16", m=64, n=32, k=32, out="f16", a_t="view", b_t="view", d_assumed=True),
    "two consumers": Product("bf16", m=128, n=128, k=64, out="bf16"),
    "f32 sums": Product("f16", m=64, n=32, k=32),
}  # fmt: skip


def instructions(product: Product, target: str) -> list[str]:
    """The PTX without the source lines."""
    return [
        line
        for line in compiled(product.text(), target).ptx.splitlines()
        if not re.match(r"\s*(\.loc|\.file|//)", line)
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_the_code_is_that_of_arrays_of_numbers(name: str, target: str) -> None:
    product = PRODUCTS[name]
    assert instructions(replace(product, bits=True), target) == instructions(product, target)


@pytest.mark.parametrize("target", TARGETS)
def test_ragged_products(target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    product = replace(PRODUCTS[str(rng.choice(list(PRODUCTS)))], bits=True)
    print(product)
    m, n, k = (int(rng.integers(1, 2 * e)) for e in (product.m, product.n, product.k))
    each = 16 // product.width
    numbers, args = [], []
    for element, (rows, columns), turned in (
        (product.element, (m, k), product.a_t),
        (product.element, (k, n), product.b_t),
        (product.stored, (m, n), ""),
    ):
        lines, length = (columns, rows) if turned else (rows, columns)
        array = random(element, (lines, -(-length // each) * each), rng)
        args += [array, np.int32(rows), np.int32(columns), np.int32(array.shape[1])]
        known = decode(element, array)[:, :length]
        numbers.append(known.T if turned else known)
    grid = (-(-m // product.m), -(-n // product.n))
    found, result = launch(product.text(), *args, target=target, grid=grid)
    assert not result.findings
    expected = numbers[0] @ numbers[1]
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(
        decode(product.stored, found[2])[:, :n], expected, rtol=0.02, atol=0.02 * largest
    )
