"""Sums of products: a sum that is exact in every order has the bits of the sum in ascending order."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_tools.sim import products
from tessera_tools.sim.products import multiply_accumulate

Array = np.ndarray


def in_order(a: Array, b: Array, c: Array) -> Array:
    total = c.copy()
    for left, right in zip(a, b, strict=True):
        total = total + left[..., :, None] * right[..., None, :]
    return total


@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "several"])
@pytest.mark.parametrize("spread", [0, 8, 24, 60])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_the_bits_are_those_of_the_sum_in_order(
    kind: type, spread: int, batch: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = int(np.random.default_rng().integers(1 << 30))
    print("seed", seed)
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> Array:
        scale = np.exp2(rng.integers(-spread, 1, shape) / 2)
        made = (rng.uniform(-1, 1, shape) * scale).astype(kind).astype(np.float64)
        made[rng.random(shape) < 0.1] = 0.0
        return made

    a, b, c = numbers(16, *batch, 16), numbers(16, *batch, 24), numbers(*batch, 16, 24)
    np.testing.assert_array_equal(
        multiply_accumulate(a, b, c).view(np.uint64), in_order(a, b, c).view(np.uint64)
    )
    a[0], c[...] = -0.0, -0.0
    np.testing.assert_array_equal(
        multiply_accumulate(a, b, c).view(np.uint64), in_order(a, b, c).view(np.uint64)
    )


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_added_in_order(odd: float) -> None:
    a, b, c = np.ones((4, 2)), np.ones((4, 3)), np.zeros((2, 3))
    a[2, 1], b[3, 0] = odd, 0.0
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(multiply_accumulate(a, b, c), in_order(a, b, c))


def test_small_integers_are_multiplied_as_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "integer_product", lambda a, b, c: "a matrix product")
    ones = np.ones((8, 4))
    assert multiply_accumulate(ones, ones, np.zeros((4, 4))) == "a matrix product"
    assert isinstance(multiply_accumulate(ones, ones * 1e-30, np.ones((4, 4))), np.ndarray)
