"""What changes no digits, or few: signs, extremes, comparisons, whole numbers; scalars beside tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from elementwise.numbers import FLOATS, floats
from programs import TARGETS, Array, check_tools, decode, empty, fresh_seed, program, run, tile

COUNT = 512


def result(body: str, element: str, given: list[Array], target: str, output: str = "") -> Array:
    shape = (COUNT,)
    output = output or element
    names = ("x", "y")[: len(given)]
    text = program(body, dict.fromkeys(names, (element, shape)), {"z": (output, shape)})
    check_tools(text, target)
    found = run(text, *given, empty(output, shape), target=target)[-1]
    with np.errstate(invalid="ignore"):
        return decode(output, found)


def same(found: Array, expected: Array) -> bool:
    """Equal numbers, of equal sign also where they are 0; NaNs are equal."""
    both = np.isnan(found) & np.isnan(expected)
    return bool((both | ((found == expected) & (np.signbit(found) == np.signbit(expected)))).all())


def numbers(element: str, array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return decode(element, array)


UNARY: dict[str, Callable[[Array], Array]] = {
    "negf": np.negative,
    "absf": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_signs_and_whole_numbers(name: str, element: str, target: str) -> None:
    x = floats(element, np.random.default_rng(fresh_seed()), COUNT)
    found = result(f"%z = {name} %x : {tile(element, (COUNT,))}", element, [x], target)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        assert same(found, UNARY[name](numbers(element, x)))


def extreme(x: Array, y: Array, *, largest: bool, propagate: bool) -> Array:
    """The extreme of two numbers: -0 is less than +0."""
    zeros = (x == 0) & (y == 0)
    if largest:
        found = np.where(zeros, np.where(np.signbit(x), y, x), np.fmax(x, y))
    else:
        found = np.where(zeros, np.where(np.signbit(x), x, y), np.fmin(x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, found) if propagate else found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("propagate", [False, True], ids=["number", "nan"])
@pytest.mark.parametrize("name", ["maxf", "minf"])
def test_extremes(name: str, propagate: bool, element: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats(element, rng, COUNT), floats(element, rng, COUNT)
    special = x[np.isin(numbers(element, x), [0.0, 1.0]) | np.isnan(numbers(element, x))][:8]
    x[: len(special) ** 2], y[: len(special) ** 2] = (
        np.repeat(special, len(special)),
        np.tile(special, len(special)),
    )
    modifier = "propagate_nan" if propagate else ""
    found = result(f"%z = {name} %x, %y {modifier} : {tile(element, (COUNT,))}", element, [x, y], target)
    a, b = numbers(element, x), numbers(element, y)
    assert same(found, extreme(a, b, largest=name == "maxf", propagate=propagate))


@pytest.mark.parametrize("modifiers", ["flush_to_zero", "flush_to_zero propagate_nan"])
@pytest.mark.parametrize("name", ["maxf", "minf"])
def test_flushed_extremes(name: str, modifiers: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats("f32", rng, COUNT), floats("f32", rng, COUNT)
    tiny = (rng.standard_normal(64) * 2.0**-128).astype(np.float32)
    x[:64], y[:64] = tiny, rng.permutation(tiny)
    found = result(f"%z = {name} %x, %y {modifiers} : {tile('f32', (COUNT,))}", "f32", [x, y], "sm_90a")
    a, b = (
        np.where(np.abs(v) < 2.0**-126, np.copysign(0.0, v), v)
        for v in (numbers("f32", x), numbers("f32", y))
    )
    assert same(found, extreme(a, b, largest=name == "maxf", propagate="nan" in modifiers))


COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less, "less_than_or_equal": np.less_equal,
    "greater_than": np.greater, "greater_than_or_equal": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("ordering", ["ordered", "unordered"])
def test_comparisons(ordering: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats(element, rng, COUNT), floats(element, rng, COUNT)
    y[: COUNT // 4] = x[: COUNT // 4]
    a, b = numbers(element, x), numbers(element, y)
    unordered = np.isnan(a) | np.isnan(b)
    for predicate, compare in COMPARISONS.items():
        type, condition = tile(element, (COUNT,)), tile("i1", (COUNT,))
        body = f"%z = cmpf {predicate} {ordering} %x, %y : {type} -> {condition}"
        found = result(body, element, [x, y], TARGETS[int(rng.integers(4))], "i1")
        expected = compare(a, b) | unordered if ordering == "unordered" else compare(a, b) & ~unordered
        assert (found == expected).all(), predicate


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
