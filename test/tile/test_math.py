"""The math dialect in kernels of `tile`, on numbers of each thread and on fragments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elementwise.numbers import distance, floats
from elementwise.ops import numbers
from programs import TARGETS, Array, fresh_seed
from tile.kernels import launch, strided

UNARY: dict[str, Callable[[Array], Array]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "tanh": np.tanh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "cbrt": np.cbrt, "expm1": np.expm1, "log1p": np.log1p, "log10": np.log10,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "roundeven": np.rint, "absf": np.abs,
    "erf": np.vectorize(math.erf, [np.longdouble]), "erfc": np.vectorize(math.erfc, [np.longdouble]),
    "round": lambda x: np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.copysign(1, x), 0),
}  # fmt: skip
LIMIT = 4.0
"""Units of the last place."""


def kernel(body: str, element: str, result: str) -> str:
    """D = f(A, B), 512 elements of each: 4 in each of 128 threads."""
    loads = "\n".join(
        f"  %{name} = tile.alloc_register : memref<4x{element}, 5>\n"
        f"  tile.load_global_tile %{name.upper()}, %{name} : memref<512x{element}>, memref<4x{element}, 5>"
        for name in "ab"
    )
    return f"""
func.func @kernel(%A: memref<512x{element}>, %B: memref<512x{element}>, %D: memref<512x{result}>)
    attributes {{tessera.kernel}} {{
{loads}
{body}
  tile.store_global %r, %D : memref<4x{result}, 5>, memref<512x{result}>
  return
}}
"""


def applied(name: str, given: list[Array], element: str, result: str = "") -> Array:
    result = result or element
    operands = ", ".join(f"%{x}" for x in "ab"[: len(given)])
    types = ", ".join(f"memref<4x{element}, 5>" for _ in given)
    body = f'  %r = tile.apply "math.{name}"({operands}) : ({types}) -> memref<4x{result}, 5>'
    if result == "i8":
        body = body.replace("%r", "%t").replace("xi8", "xi1") + (
            '\n  %r = tile.apply "arith.extui"(%t) : (memref<4xi1, 5>) -> memref<4xi8, 5>'
        )
    rng = np.random.default_rng(fresh_seed("target"))
    out = np.zeros(512, np.int8 if result == "i8" else given[0].dtype)
    both = [*given, *given][:2]
    text = kernel(body, element, result)
    arrays, found = launch(
        text, *(v for a in (*both, out) for v in strided(a)), target=str(rng.choice(TARGETS))
    )
    assert not found.findings, found.findings.text("kernel")
    return arrays[2]


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    given = floats(element, rng, 512)
    found = numbers(element, applied(name, [given], element))
    with np.errstate(all="ignore"):
        expected = UNARY[name](numbers(element, given).astype(np.longdouble))
    error = distance(found, expected, element)
    worst = int(np.argmax(error))
    print(f"{name} {element}: {error[worst]:.3f} units at most")
    assert error[worst] <= LIMIT, (float(numbers(element, given)[worst]), found[worst], expected[worst])


@pytest.mark.parametrize("name", ["asin", "acos", "atanh", "log1p", "expm1", "asinh", "acosh", "erf", "erfc"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_functions_near_one_and_zero(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    type = np.float32 if element == "f32" else np.float64
    near = np.exp2(-rng.uniform(0, 40, 512)) * rng.choice([-1, 1], 512)
    given = np.where(rng.integers(2, size=512), near, 1 - np.abs(near)).astype(type)
    if name == "acosh":
        given = (1 + np.abs(near)).astype(type)
    found = applied(name, [given], element)
    with np.errstate(all="ignore"):
        expected = UNARY[name](given.astype(np.longdouble))
    error = distance(found.astype(np.float64), expected, element)
    worst = int(np.argmax(error))
    assert error[worst] <= LIMIT, (given[worst], found[worst], expected[worst])


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_errors_from_one_to_nothing(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    type = np.float32 if element == "f32" else np.float64
    given = rng.uniform(-7, 9 if element == "f32" else 26, 512).astype(type)
    found = applied(name, [given], element)
    error = distance(found.astype(np.float64), UNARY[name](given.astype(np.longdouble)), element)
    worst = int(np.argmax(error))
    print(f"{name} {element}: {error[worst]:.3f} units at most")
    assert error[worst] <= 2 * LIMIT, (given[worst], found[worst])


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("name", ["isfinite", "isinf", "isnan", "isnormal"])
def test_questions(name: str, element: str) -> None:
    given = floats(element, np.random.default_rng(fresh_seed()), 512)
    values = numbers(element, given)
    least = {"f16": 2.0**-14, "f64": 2.0**-1022}.get(element, 2.0**-126)
    expected: Any = {
        "isfinite": np.isfinite(values), "isinf": np.isinf(values), "isnan": np.isnan(values),
        "isnormal": np.isfinite(values) & (np.abs(values) >= least),
    }[name]  # fmt: skip
    np.testing.assert_array_equal(applied(name, [given], element, "i8"), expected)


def test_copysign() -> None:
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.standard_normal(512).astype(np.float32) for _ in range(2))
    np.testing.assert_array_equal(applied("copysign", [a, b], "f32"), np.copysign(a, b))


@pytest.mark.parametrize("name", ["ctlz", "cttz", "ctpop", "absi", "ipowi"])
def test_integers(name: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    a = rng.integers(-(1 << 31), 1 << 31, 512).astype(np.int32) >> rng.integers(0, 32, 512).astype(np.int32)
    b = rng.integers(0, 12, 512).astype(np.int32)
    if name == "ipowi":
        b[:100] = -rng.integers(1, 5, 100)
        a[:100] = rng.choice([1, -1, 2, -7], 100)

    def one(x: int, y: int) -> int:
        bits = x & 0xFFFFFFFF
        match name:
            case "ctlz":
                return 32 - bits.bit_length()
            case "cttz":
                return (bits & -bits).bit_length() - 1 if bits else 32
            case "ctpop":
                return bits.bit_count()
            case "absi":
                return abs(x)
            case _:
                return pow(x, y) if y >= 0 else (x if y % 2 else 1) if x in (1, -1) else 0

    expected = np.array([one(int(x), int(y)) & 0xFFFFFFFF for x, y in zip(a, b, strict=True)], np.uint32)
    given = [a, b] if name == "ipowi" else [a]
    np.testing.assert_array_equal(applied(name, given, "i32").view(np.uint32), expected)


def test_numbers_of_each_thread() -> None:
    """The same functions, of scalars."""
    text = """
func.func @kernel(%A: memref<?xf32>, %B: memref<?xf32>) attributes {tessera.kernel, tessera.threads = 64} {
  %t = tile.thread_id : index
  %low = arith.constant 0.25 : f32
  %high = arith.constant 0.5 : f32
  %x = tile.load_global %A[%t] : memref<?xf32>
  %s, %c = math.sincos %x : f32
  %r = math.rsqrt %x : f32
  %k = math.clampf %s to [%low, %high] : f32
  %u = arith.addf %c, %r : f32
  %v = arith.addf %u, %k : f32
  tile.store_global_element %v, %B[%t] : memref<?xf32>
  return
}
"""
    a = np.random.default_rng(fresh_seed()).uniform(0.1, 9, 64).astype(np.float32)
    arrays, result = launch(text, *strided(a), *strided(np.zeros_like(a)))
    assert not result.findings
    wide = a.astype(np.float64)
    expected = np.cos(wide) + 1 / np.sqrt(wide) + np.sin(wide).clip(0.25, 0.5)
    np.testing.assert_allclose(arrays[1], expected, rtol=1e-5, atol=1e-6)
