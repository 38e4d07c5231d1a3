"""What changes no digits, or few: signs, extremes, comparisons, whole numbers; scalars beside tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from elementwise.numbers import FLOATS, floats
from elementwise.ops import any_target, computed, numbers
from programs import TARGETS, Array, empty, fresh_seed, program, run, tile

COUNT = 512


def same(found: Array, expected: Array) -> bool:
    """Equal numbers, of equal sign also where they are 0; NaNs are equal."""
    both = np.isnan(found) & np.isnan(expected)
    return bool((both | ((found == expected) & (np.signbit(found) == np.signbit(expected)))).all())


UNARY: dict[str, Callable[[Array], Array]] = {
    "negf": np.negative,
    "absf": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_signs_and_whole_numbers(element: str, target: str) -> None:
    x = floats(element, np.random.default_rng(fresh_seed()), COUNT)
    results = computed([f"{name} %x" for name in UNARY], element, [x], target)
    for (name, function), found in zip(UNARY.items(), results, strict=True):
        with np.errstate(invalid="ignore"):  # signaling NaNs
            assert same(numbers(element, found), function(numbers(element, x))), name


def extreme(x: Array, y: Array, *, largest: bool, propagate: bool) -> Array:
    """The extreme of two numbers: -0 is less than +0."""
    zeros = (x == 0) & (y == 0)
    if largest:
        found = np.where(zeros, np.where(np.signbit(x), y, x), np.fmax(x, y))
    else:
        found = np.where(zeros, np.where(np.signbit(x), x, y), np.fmin(x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, found) if propagate else found


EXTREMES = ("maxf %x, %y", "maxf %x, %y propagate_nan", "minf %x, %y", "minf %x, %y propagate_nan")


def check_extremes(element: str, x: Array, y: Array, target: str, flush: bool) -> None:
    ops = [f"{op} flush_to_zero" if flush else op for op in EXTREMES]
    a, b = numbers(element, x), numbers(element, y)
    if flush:
        a, b = (np.where(np.abs(v) < 2.0**-126, np.copysign(0.0, v), v) for v in (a, b))
    for op, found in zip(ops, computed(ops, element, [x, y], target), strict=True):
        expected = extreme(a, b, largest=op.startswith("max"), propagate="nan" in op)
        assert same(numbers(element, found), expected), op


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
def test_extremes(element: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats(element, rng, COUNT), floats(element, rng, COUNT)
    # Every pair of zeros, ones and NaNs.
    special = x[np.isin(numbers(element, x), [0.0, 1.0]) | np.isnan(numbers(element, x))][:8]
    x[: len(special) ** 2], y[: len(special) ** 2] = (
        np.repeat(special, len(special)),
        np.tile(special, len(special)),
    )
    check_extremes(element, x, y, target, flush=False)


def test_flushed_extremes() -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats("f32", rng, COUNT), floats("f32", rng, COUNT)
    tiny = (rng.standard_normal(64) * 2.0**-128).astype(np.float32)
    x[:64], y[:64] = tiny, rng.permutation(tiny)
    check_extremes("f32", x, y, any_target(rng), flush=True)


COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less, "less_than_or_equal": np.less_equal,
    "greater_than": np.greater, "greater_than_or_equal": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("element", FLOATS)
def test_comparisons(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats(element, rng, COUNT), floats(element, rng, COUNT)
    y[: COUNT // 4] = x[: COUNT // 4]
    a, b = numbers(element, x), numbers(element, y)
    unordered = np.isnan(a) | np.isnan(b)
    ops = [f"cmpf {name} {ordering} %x, %y" for name in COMPARISONS for ordering in ("ordered", "unordered")]
    types = f"{tile(element, (COUNT,))} -> {tile('i1', (COUNT,))}"
    for op, found in zip(ops, computed(ops, element, [x, y], any_target(rng), "i1", types), strict=True):
        _, name, ordering, *_ = op.split()
        compared = COMPARISONS[name](a, b)
        assert (
            found == (compared | unordered if ordering == "unordered" else compared & ~unordered)
        ).all(), op


@pytest.mark.parametrize("shape", [(), (1,), (4, 8), (2, 4, 16)])
def test_every_shape(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(fresh_seed())
    x = rng.standard_normal(shape or (1,)).astype(np.float32)
    type = tile("f32", shape)
    body = f"%a = mulf %x, %k rounding<zero> : {type}\n  %b = sin %a : {type}\n  %z = remf %b, %x : {type}"
    body = f"%k = constant <f32: 3.0> : {type}\n  {body}"
    text = program(body, {"x": ("f32", shape)}, {"z": ("f32", shape)})
    found = run(text, x, empty("f32", shape), target="sm_120a")[-1]
    product = (x.astype(np.float64) * 3).astype(np.float32)
    product = np.where(
        np.abs(product) > np.abs(x.astype(np.float64) * 3), np.nextafter(product, np.float32(0)), product
    )
    np.testing.assert_allclose(found, np.fmod(np.sin(product.astype(np.float64)), x), atol=1e-6)
