"""Sums of products: a sum that is exact in every order has the bits of the sum in ascending order."""

from __future__ import annotations

import numpy as np
import pytest

from tessera_tools.sim import products
from tessera_tools.sim.products import ACCUMULATORS, multiply_accumulate, multiply_rounded

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


@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "several"])
@pytest.mark.parametrize("result", ["f16", "f32"])
@pytest.mark.parametrize("spread", [0, 24, 60])
@pytest.mark.parametrize("zeros", [0.0, 0.2, 1.0])
def test_a_rounded_product_has_the_bits_of_the_sum_in_order(
    zeros: float, spread: int, result: str, batch: tuple[int, ...]
) -> None:
    seed = int(np.random.default_rng().integers(1 << 30))
    print("seed", seed)
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> Array:
        scale = np.exp2(rng.integers(-spread, 1, shape) / 2)
        made = (rng.uniform(-1, 1, shape) * scale).astype(np.float16).astype(np.float64)
        return np.where(rng.random(shape) < zeros, rng.choice([0.0, -0.0], shape), made)

    a, b, c = numbers(16, *batch, 64), numbers(16, *batch, 96), numbers(*batch, 64, 96)
    a[:, ..., 0] = 2.0 ** rng.integers(-20, 20, a[..., 0].shape)  # sums at the midpoint of two numbers
    kind = ACCUMULATORS[result]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(multiply_rounded(a, b, c, kind), kind.pack(in_order(a, b, c)))


def test_a_sum_of_negative_zeros_is_negative() -> None:
    zeros = np.full((4, 2), -0.0)
    assert np.signbit(multiply_accumulate(zeros, -zeros, np.full((2, 2), -0.0))).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e30])
def test_a_rounded_product_keeps_what_is_not_finite(odd: float) -> None:
    a, b, c = np.ones((4, 2)), np.ones((4, 3)), np.zeros((2, 3))
    a[2, 1], b[3, 0] = odd, 0.0
    kind = ACCUMULATORS["f16"]
    with np.errstate(invalid="ignore", over="ignore"):
        np.testing.assert_array_equal(multiply_rounded(a, b, c, kind), kind.pack(in_order(a, b, c)))


def test_only_doubtful_sums_are_added_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        products, "multiply_accumulate", lambda a, b, c: pytest.fail("all were added in order")
    )
    rng = np.random.default_rng(1)
    a, b, c = rng.uniform(1, 2, (16, 64)), rng.uniform(1, 2, (16, 64)), rng.uniform(1, 2, (64, 64))
    kind = ACCUMULATORS["f32"]
    np.testing.assert_array_equal(multiply_rounded(a, b, c, kind), kind.pack(in_order(a, b, c)))
