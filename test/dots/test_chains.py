"""Products of products, and of tiles that are computed: operands that no load gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import compiled, decode, empty, fresh_seed, program, random, run, tile

TOLERANCE = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-5, "f64": 1e-13, "f8E4M3FN": 0.1}


def chain(element: str, accumulator: str, m: int, n: int, k: int, d: int) -> str:
    """y = (q · k) · v, with the first product rounded to the elements of v."""
    s, p = tile(accumulator, (m, n)), tile(element, (m, n))
    zero = f"%none = constant <{accumulator}: 0.0> : "
    lines = [
        f"{zero}{s}",
        f"%s = mmaf %q, %k, %none : {tile(element, (m, k))}, {tile(element, (k, n))}, {s}",
        f"%p = ftof %s : {s} -> {p}" if element != accumulator else "",
        f"%zeros = constant <{accumulator}: 0.0> : {tile(accumulator, (m, d))}",
        f"%y = mmaf %{'p' if element != accumulator else 's'}, %v, %zeros : {p}, {tile(element, (n, d))}, "
        f"{tile(accumulator, (m, d))}",
    ]
    inputs = {"q": (element, (m, k)), "k": (element, (k, n)), "v": (element, (n, d))}
    return program("\n  ".join(lines), inputs, {"y": (accumulator, (m, d))})


@pytest.mark.parametrize("shape", [(64, 32, 16, 32), (16, 32, 16, 8)], ids=str)
@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "f8E4M3FN"])
def test_a_product_of_a_product(element: str, shape: tuple[int, int, int, int]) -> None:
    m, n, k, d = shape
    accumulator = "f64" if element == "f64" else "f32"
    rng = np.random.default_rng(fresh_seed())
    q, b, v = (random(element, s, rng, 0.5) for s in ((m, k), (k, n), (n, d)))
    y = run(chain(element, accumulator, *shape), q, b, v, empty(accumulator, (m, d)))[-1]
    first, second, third = (decode(element, x).astype(np.float64) for x in (q, b, v))
    bound = np.abs(first) @ np.abs(second) @ np.abs(third)
    assert np.all(np.abs(decode(accumulator, y) - first @ second @ third) <= TOLERANCE[element] * bound)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_the_accumulator_of_16_bit_floats_is_the_next_operand(target: str) -> None:
    """Nothing is exchanged: shared memory holds what was loaded, and the result on its way out."""
    text = chain("f16", "f32", 64, 64, 32, 64)
    ptx = compiled(text, target).ptx
    first, last = (at(ptx, "mma.sync") for at in (str.index, str.rindex))
    between = ptx[first:last]
    assert "st.shared" not in between and "shfl" not in between and "stmatrix" not in between


@pytest.mark.parametrize(
    ("element", "shape"),
    [
        ("f16", (64, 64, 128)),
        ("f32", (64, 64, 64)),
        ("f64", (32, 32, 64)),
        ("f16", (16, 128, 256)),
        ("f32", (8, 128, 64)),
    ],
)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["", "permuted"])
def test_computed_operands(element: str, shape: tuple[int, int, int], order: tuple[int, int]) -> None:
    """y = (a + a) · permute(b · b): the sums are no loads, and too many for registers as whole fragments."""
    m, n, k = shape
    accumulator = "f64" if element == "f64" else "f32"
    stored = (k, n) if order == (0, 1) else (n, k)
    a, b = tile(element, (m, k)), tile(element, stored)
    lines = [
        f"%a2 = addf %a, %a rounding<nearest_even> : {a}",
        f"%b2 = mulf %b, %b rounding<nearest_even> : {b}",
        f"%b3 = permute %b2 [{order[0]}, {order[1]}] : {b} -> {tile(element, (k, n))}",
        f"%y = mmaf %a2, %b3, %c : {a}, {tile(element, (k, n))}, {tile(accumulator, (m, n))}",
    ]
    inputs = {"a": (element, (m, k)), "b": (element, stored), "c": (accumulator, (m, n))}
    text = program("\n  ".join(lines), inputs, {"y": (accumulator, (m, n))})
    rng = np.random.default_rng(fresh_seed())
    given: list[Any] = [random(t, s, rng, 0.5) for t, s in inputs.values()]
    y = run(text, *given, empty(accumulator, (m, n)))[-1]
    left = decode(element, given[0] + given[0]).astype(np.float64)
    right = decode(element, given[1] * given[1]).astype(np.float64).transpose(order)
    expected = left @ right + given[2]
    bound = np.abs(left) @ np.abs(right) + np.abs(given[2])
    assert np.all(np.abs(decode(accumulator, y) - expected) <= TOLERANCE[accumulator] * bound)


@pytest.mark.parametrize("element", ["f16", "f32", "f8E5M2"])
def test_both_operands_of_one_load(element: str) -> None:
    """y = a · aᵀ: the fragments of both come from one buffer."""
    m, k = 32, 64
    a, turned, y = tile(element, (m, k)), tile(element, (k, m)), tile("f32", (m, m))
    lines = [
        f"%t = permute %a [1, 0] : {a} -> {turned}",
        f"%none = constant <f32: 0.0> : {y}",
        f"%y = mmaf %a, %t, %none : {a}, {turned}, {y}",
    ]
    text = program("\n  ".join(lines), {"a": (element, (m, k))}, {"y": ("f32", (m, m))})
    given = random(element, (m, k), np.random.default_rng(fresh_seed()))
    found = run(text, given, empty("f32", (m, m)))[-1]
    wide = decode(element, given).astype(np.float64)
    assert np.all(np.abs(found - wide @ wide.T) <= TOLERANCE["f32"] * (np.abs(wide) @ np.abs(wide.T)))
