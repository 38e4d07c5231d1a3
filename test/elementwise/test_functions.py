"""Elementary functions of every format and generation, against NumPy in long double, in units of the last place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elementwise.numbers import FLOATS, distance, floats
from elementwise.ops import NAMES, any_target, computed, numbers
from programs import TARGETS, Array, empty, encode, fresh_seed, program, run, tile

COUNT = 2048
UNARY: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
BINARY: dict[str, Callable[[Array, Array], Array]] = {"fpowf": np.power, "pow": np.power, "atan2": np.arctan2}
FUNCTIONS: dict[str, Any] = {**UNARY, **BINARY}
LIMIT = {"f16": 0.51, "bf16": 0.51, "f32": 2.0, "f64": 2.0}
"""Units of the last place.  The narrow formats are rounded once more, from a number that is nearly exact."""


def results(name: str, element: str, given: list[Array], target: str, modifiers: str = "") -> Array:
    """The results as float64."""
    operands = ", ".join(f"%{x}" for x in NAMES[: len(given)])
    (found,) = computed([f"{name} {operands} {modifiers}"], element, given, target)
    return numbers(element, found)


def check(name: str, element: str, given: list[Array], target: str, limit: float | None = None) -> None:
    found = results(name, element, given, target)
    with np.errstate(all="ignore"):
        values = [numbers(element, x).astype(np.longdouble) for x in given]
        expected = FUNCTIONS[name](*values)
    error = distance(found, expected, element)
    worst = int(np.argmax(error))
    print(f"{name} {element}: {error[worst]:.3f} units at most")
    assert error[worst] <= (limit or LIMIT[element]), (name, [float(x[worst]) for x in values], found[worst])
    zero = (expected == 0) & (found == 0)
    assert (np.signbit(found[zero]) == np.signbit(expected[zero])).all()


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_numbers_of_every_kind(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    given = [floats(element, rng, COUNT) for _ in range(1 if name in UNARY else 2)]
    check(name, element, given, any_target(rng))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["exp", "sin", "fpowf"])
def test_every_generation_computes_the_same(name: str, target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    for element in ("bf16", "f32"):
        check(name, element, [floats(element, rng, 256) for _ in range(1 if name in UNARY else 2)], target)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_near_multiples_of_a_quarter_turn(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    quarter = np.longdouble(1.5707963267948966) + np.longdouble(6.123233995736766e-17)
    turns = np.floor(np.exp2(rng.uniform(0, 40, COUNT))).astype(np.longdouble)
    given = (turns * quarter).astype(np.float32 if element == "f32" else np.float64)
    # The numbers that come nearest to multiples of π/2 (Kahan; Muller, "Elementary Functions", chapter 11).
    given[:2] = 6381956970095103 * 2.0**797 if element == "f64" else 16367173 * 2.0**72, 16367173 * 2.0**72
    check(name, element, [given], "sm_80")


def power_of_c(x: float, y: float) -> float:
    """C's pow, which Python's is but for its exceptions."""
    odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
    try:
        return math.pow(x, y)
    except ValueError:
        # A pole, or a negative number to a power that is no integer.
        return math.copysign(math.inf, x if odd else 1.0) if x == 0 else math.nan
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf


def test_powers_have_the_special_values_of_c() -> None:
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        -3.0,
        math.inf,
        -math.inf,
        math.nan,
        1e30,
        -1e30,
        2.5,
    ]
    special += [
        16777215.0,
        16777216.0,
        -16777215.0,
        2.0**-149,
        -(2.0**-149),
        5e-324,
        -7.0,
        33554433.0,
        1 + 2.0**-23,
    ]
    pairs = np.array([(x, y) for x in special for y in special] + [(1.0, 1.0)] * (1024 - len(special) ** 2))
    for element in ("f32", "f64"):
        x, y = (encode(element, np.ascontiguousarray(column)) for column in pairs.T)
        expected = np.array([power_of_c(float(a), float(b)) for a, b in zip(x, y, strict=True)])
        found = results("fpowf", element, [x, y], "sm_90a")
        error = distance(found, expected, element)
        worst = int(np.argmax(error))
        assert error[worst] <= 2, (x[worst], y[worst], found[worst], expected[worst])
        signs = np.isnan(expected) | (np.signbit(found) == np.signbit(expected))
        assert signs.all(), (x[~signs], y[~signs])


@pytest.mark.parametrize("integer", ["i8", "i16", "i32"])
@pytest.mark.parametrize("element", FLOATS)
def test_powers_of_integers(element: str, integer: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    width = int(integer[1:])
    exponents = rng.integers(-(1 << width - 1), (1 << width - 1) - 1, 1024, dtype=np.int64, endpoint=True)
    exponents >>= rng.integers(0, width, 1024)
    exponents[:8] = [0, 1, -1, 2, -(1 << width - 1), (1 << width - 1) - 1, (1 << width - 1) - 2, 3]
    # Bases whose power is in range, beside any.
    near = np.exp2(rng.uniform(-12, 12, 1024) / np.maximum(np.abs(exponents.astype(np.float64)), 1))
    base = np.where(
        rng.integers(0, 4, 1024) > 0,
        encode(element, near * rng.choice([-1, 1], 1024)),
        floats(element, rng, 1024),
    )
    shape, power = (1024,), exponents.astype(f"i{width // 8}")
    body = f"%y = fpowi %x, %n : {tile(element, shape)}, {tile(integer, shape)}"
    text = program(body, {"x": (element, shape), "n": (integer, shape)}, {"y": (element, shape)})
    found = numbers(element, run(text, base, power, empty(element, shape))[-1])
    with np.errstate(all="ignore"):
        expected = np.power(numbers(element, base).astype(np.longdouble), power.astype(np.longdouble))
    error = distance(found, expected, element)
    worst = int(np.argmax(error))
    assert error[worst] <= LIMIT[element], (float(numbers(element, base)[worst]), power[worst], found[worst])


@pytest.mark.parametrize("element", FLOATS)
def test_a_remainder_is_exact(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = floats(element, rng, COUNT), floats(element, rng, COUNT)
    # Quotients of moderate size too, integers among them.
    ratio = np.rint(rng.standard_normal(COUNT // 2) * 64) / 4
    with np.errstate(all="ignore"):
        x[: COUNT // 2] = encode(element, numbers(element, y[: COUNT // 2]) * ratio)
        found, expected = (
            results("remf", element, [x, y], "sm_120a"),
            np.fmod(numbers(element, x), numbers(element, y)),
        )
    both = np.isnan(found) & np.isnan(expected)
    wrong = ~both & ((found != expected) | (np.signbit(found) != np.signbit(expected)))
    assert not wrong.any(), (numbers(element, x)[wrong], numbers(element, y)[wrong], found[wrong])


APPROXIMATE = {
    "exp": (np.exp, "rounding<approx>", 1e-5),
    "tanh": (np.tanh, "rounding<approx>", 2e-3),
    "sqrt": (np.sqrt, "rounding<approx>", 1e-6),
    "exp2": (np.exp2, "flush_to_zero", 1e-6),
    "rsqrt": (lambda x: 1 / np.sqrt(x), "flush_to_zero", 1e-6),
}


@pytest.mark.parametrize("target", TARGETS)
def test_approximations(target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x = np.abs(rng.standard_normal(256) * 4).astype(np.float32)
    ops = [f"{name} %x {modifiers}" for name, (_, modifiers, _) in APPROXIMATE.items()]
    found = computed(ops, "f32", [x], target)
    for (function, _, limit), result in zip(APPROXIMATE.values(), found, strict=True):
        np.testing.assert_allclose(result, function(x.astype(np.float64)), rtol=limit)


def test_approximate_quotients() -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = (rng.standard_normal(256).astype(np.float32) for _ in range(2))
    modes = ["rounding<approx>", "rounding<full>", "rounding<full> flush_to_zero"]
    for found in computed([f"divf %x, %y {mode}" for mode in modes], "f32", [x, y], any_target(rng)):
        assert distance(found, x.astype(np.float64) / y, "f32").max() <= 2


def test_a_flushed_power_of_two_has_no_subnormal_numbers() -> None:
    x = np.full(64, -130.5, np.float32)
    assert (results("exp2", "f32", [x], "sm_80", "flush_to_zero") == 0).all()
    assert (results("exp2", "f32", [x], "sm_80") > 0).all()
