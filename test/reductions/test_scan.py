"""Scans over random shapes, axes, directions and targets, against NumPy on the simulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import TARGETS, Array, check_tools, decode, empty, fresh_seed, program, random, run, tile
from reductions.regions import combined, random_case

MODES = ("late", "early")
ADD = "%c = addi %xE, %xA : tile<i32> yield %c : tile<i32>"


def generator() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


def ran(text: str, rng: np.random.Generator, *args: Any) -> list[Array]:
    """The arrays after a launch on some target, in one of the modes."""
    target, mode = str(rng.choice(TARGETS)), str(rng.choice(MODES))
    print(target, mode)
    return run(text, *args, target=target, mode=mode)


def along(array: Array, axis: int, reverse: bool) -> Array:
    """The array with the axis first, from its start or its end."""
    moved = np.moveaxis(array, axis, 0)
    return moved[::-1] if reverse else moved


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("turn", range(3))
def test_sums_of_integers(element: str, reverse: bool, turn: int):
    rng = generator()
    shape, axis = random_case(rng)
    print(shape, axis)
    region = ADD.replace("i32", element)
    text, _ = combined("scan", [("x", element, "0")], region, shape, axis, reverse)
    x = random(element, shape, rng)
    _, found = ran(text, rng, x, empty(element, shape))
    expected = np.cumsum(along(x, axis, reverse), axis=0, dtype=x.dtype)
    assert np.array_equal(along(found.reshape(shape), axis, reverse), expected)


AFFINE = """
%slope = muli %aE, %aA : tile<i32>
%scaled = muli %aE, %bA : tile<i32>
%shift = addi %scaled, %bE : tile<i32>
yield %slope, %shift : tile<i32>, tile<i32>
"""
"""x ↦ a·x + b after another such map: associative, and the order counts."""


def affine(a: Array, b: Array, axis: int, reverse: bool) -> tuple[Array, Array]:
    first, second = along(a, axis, reverse).copy(), along(b, axis, reverse).copy()
    for i in range(1, len(first)):
        # Of arrays, also where a place is one number: NumPy warns where single numbers wrap.
        here, before = slice(i, i + 1), slice(i - 1, i)
        second[here] += first[here] * second[before]
        first[here] *= first[before]
    return first, second


def check_affine(shape: tuple[int, ...], axis: int, reverse: bool, rng: np.random.Generator) -> None:
    print(shape, axis)
    operands = [("a", "i32", "1"), ("b", "i32", "0")]
    text, _ = combined("scan", operands, AFFINE, shape, axis, reverse)
    a, b = (random("i32", shape, rng) for _ in operands)
    _, _, *found = ran(text, rng, a, b, empty("i32", shape), empty("i32", shape))
    for got, expected in zip(found, affine(a, b, axis, reverse), strict=True):
        assert np.array_equal(along(got.reshape(shape), axis, reverse), expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("turn", range(4))
def test_elements_are_combined_in_their_order(reverse: bool, turn: int):
    rng = generator()
    check_affine(*random_case(rng), reverse, rng)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((4096,), 0), ((1, 2048), 1), ((128, 32), 0), ((128, 32), 1), ((2, 256, 4), 1)]
)
def test_scans_over_registers_lanes_and_warps(shape: tuple[int, ...], axis: int, reverse: bool):
    check_affine(shape, axis, reverse, generator())


def test_the_identity_comes_first_and_once():
    rng = generator()
    shape, axis = random_case(rng)
    print(shape, axis)
    text, _ = combined("scan", [("x", "i32", "1000")], ADD, shape, axis)
    x = random("i32", shape, rng)
    _, found = ran(text, rng, x, empty("i32", shape))
    assert np.array_equal(found.reshape(shape), np.cumsum(x, axis=axis, dtype=np.int32) + np.int32(1000))


PRECISION = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}


@pytest.mark.parametrize("element", PRECISION)
def test_sums_of_floats_are_as_exact_as_their_additions(element: str):
    rng = generator()
    shape, axis = random_case(rng)
    print(shape, axis)
    region = f"%c = addf %xE, %xA : tile<{element}> yield %c : tile<{element}>"
    text, _ = combined("scan", [("x", element, "0.0")], region, shape, axis)
    x = random(element, shape, rng)
    _, found = ran(text, rng, x, empty(element, shape))
    values = decode(element, x)
    bound = np.abs(values).cumsum(axis) * PRECISION[element] * 2 * shape[axis]
    assert (np.abs(decode(element, found).reshape(shape) - values.cumsum(axis)) <= bound).all()


def test_the_parity_of_truth_values():
    rng = generator()
    shape, axis = random_case(rng)
    region = "%c = xori %xE, %xA : tile<i1> yield %c : tile<i1>"
    text, _ = combined("scan", [("x", "i1", "false")], region, shape, axis)
    x = random("i1", shape, rng)
    _, found = ran(text.replace("false : i1", "false"), rng, x, empty("i1", shape))
    assert np.array_equal(found.reshape(shape), np.bitwise_xor.accumulate(x.reshape(shape), axis=axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_the_scan_of_a_product(axis: int):
    """Its layout is the accumulator's."""
    rng = generator()
    shape = (64, 64)
    half, single = tile("f16", shape), tile("f32", shape)
    body = f"""
    %zero = constant <f32: 0.0> : {single}
    %p = mmaf %a, %b, %zero : {half}, {half}, {single}
    %y = scan %p dim={axis} reverse=false identities=[0.0 : f32] : {single} -> {single}
    (%e: tile<f32>, %x: tile<f32>) {{ %c = addf %e, %x : tile<f32> yield %c : tile<f32> }}"""
    text = program(body, {"a": ("f16", shape), "b": ("f16", shape)}, {"y": ("f32", shape)})
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for _ in range(2))
    *_, y = ran(text, rng, a, b, empty("f32", shape))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.array_equal(y.reshape(shape), exact.cumsum(axis))


@pytest.mark.parametrize("target", TARGETS)
def test_other_tools_take_what_is_made(target: str):
    operands = [("a", "i32", "1"), ("b", "i32", "0")]
    check_tools(combined("scan", operands, AFFINE, (2, 1024), 1, reverse=True)[0], target)
