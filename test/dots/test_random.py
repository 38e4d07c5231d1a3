"""Products of random shapes, types, orders and targets: other ones in every run, with the seed printed."""

from __future__ import annotations

import random

import pytest
from dots import test_loops as loops
from dots import test_products as products
from dots import test_scaled as scaled
from programs import TARGETS, fresh_seed

MOST_TERMS = 1 << 14
"""Multiplications of one product, so that a run is short."""


def shape_of(choose: random.Random, batch: int = 1) -> tuple[int, int, int]:
    """M, N and K."""
    while True:
        m, n, k = (1 << choose.randrange(8) for _ in range(3))
        if m * n * k * batch <= MOST_TERMS:
            return m, n, k


@pytest.mark.parametrize("number", range(12))
def test_products(number: int) -> None:
    choose = random.Random(fresh_seed("choice"))
    batch = choose.choice([[], [], [1 << choose.randrange(5)]])
    element, accumulator = choose.choice(products.FLOATS)
    shape, target = shape_of(choose, batch[0] if batch else 1), choose.choice(TARGETS)
    print(shape, batch, element, accumulator, target)
    products.check(products.shapes_of(*shape, batch), element, accumulator, target)


@pytest.mark.parametrize("number", range(12))
def test_loops(number: int) -> None:
    choose = random.Random(fresh_seed("choice"))
    element, accumulator = choose.choice([pair for pair in products.FLOATS if pair[0] != "tf32"])
    orders = choose.choice(
        ["row row", "row col", "col row", "col col", "row turned", "unit unit", "col unit"]
    )
    shape, steps, target = shape_of(choose), choose.randrange(1, 5), choose.choice(TARGETS)
    print(shape, steps, orders, element, accumulator, target)
    loops.check(*shape, steps, orders, element, accumulator, target)


@pytest.mark.parametrize("number", range(6))
def test_scales(number: int) -> None:
    choose = random.Random(fresh_seed("choice"))
    element, scale, block = choose.choice(scaled.KINDS)
    batch = choose.choice([[], [1 << choose.randrange(3)]])
    m, n, k = shape_of(choose, 4)
    spread, target = choose.choice([0, 5, 100]), choose.choice(TARGETS)
    print(m, n, k, batch, element, scale, block, spread, target)
    scaled.check(scaled.shapes_of(m, n, max(k, block), block, batch), element, scale, target, spread)
