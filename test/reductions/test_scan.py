"""Scans over random shapes, axes, directions and targets, against NumPy on the simulated GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import (
    TARGETS,
    Array,
    check_tools,
    decode,
    empty,
    encode,
    fresh_seed,
    program,
    random,
    run,
    tile,
)
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


# Bodies whose operands may not be swapped, against a fold in order.  `%xA` is the running prefix, `%xE` the element.

ORDERED_ELEMENTS = ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
ALL_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]


def folded(step: Any, columns: list[Array], axis: int, reverse: bool) -> list[Array]:
    """The columns scanned along an axis, one element after the other; `step(before, element)` takes and gives lists."""
    moved = [along(column, axis, reverse) for column in columns]
    rows = [[column[:1] for column in moved]]
    for i in range(1, len(moved[0])):
        # Slices: NumPy warns where single numbers wrap, and not where arrays do.
        rows.append(step(rows[-1], [column[i : i + 1] for column in moved]))
    return [along_back(np.concatenate(parts), axis, reverse) for parts in zip(*rows, strict=True)]


def along_back(array: Array, axis: int, reverse: bool) -> Array:
    """The inverse of `along`."""
    return np.moveaxis(array[::-1] if reverse else array, 0, axis)


def mad(element: str, a: str, b: str, c: str, name: str) -> str:
    """`%name = a * b + c`, rounded twice."""
    f = "i" if element.startswith("i") else "f"
    return f"%{name}p = mul{f} {a}, {b} : tile<{element}>\n%{name} = add{f} %{name}p, {c} : tile<{element}>\n"


def recurrence(element: str) -> str:
    """(a1, b1), (a2, b2) ↦ (a1·a2, a2·b1 + b2): x ↦ a1·x + b1, then x ↦ a2·x + b2."""
    f = "i" if element.startswith("i") else "f"
    return (
        f"%slope = mul{f} %aA, %aE : tile<{element}>\n"
        + mad(element, "%aE", "%bA", "%bE", "shift")
        + f"yield %slope, %shift : tile<{element}>, tile<{element}>"
    )


def recurrence_step(before: list[Array], element: list[Array]) -> list[Array]:
    (a1, b1), (a2, b2) = before, element
    return [a1 * a2, a2 * b1 + b2]


def matrices(element: str) -> str:
    """The product of 2x2 matrices, (t u; v w): the running product on the left."""
    f = "i" if element.startswith("i") else "f"
    text = ""
    for name, (left, right, top, bottom) in {"t": "tutv", "u": "tuuw", "v": "vwtv", "w": "vwuw"}.items():
        text += f"%{name}x = mul{f} %{left}A, %{top}E : tile<{element}>\n"
        text += mad(element, f"%{right}A", f"%{bottom}E", f"%{name}x", f"{name}y")
    kind = ", ".join([f"tile<{element}>"] * 4)
    return text + f"yield %ty, %uy, %vy, %wy : {kind}"


def matrices_step(before: list[Array], element: list[Array]) -> list[Array]:
    (p, q, r, s), (t, u, v, w) = before, element
    return [p * t + q * v, p * u + q * w, r * t + s * v, r * u + s * w]


def check_ordered(
    region: str,
    step: Any,
    names: str,
    element: str,
    columns: list[Array],
    axis: int,
    reverse: bool,
    **how: Any,
) -> None:
    """Scan and compare, exactly."""
    shape = columns[0].shape
    print(shape, axis, reverse)
    identities = {"a": "1", "t": "1", "w": "1"}
    operands = [
        (n, element, identities.get(n, "0") + ("" if element.startswith("i") else ".0")) for n in names
    ]
    text, _ = combined("scan", operands, region, shape, axis, reverse)
    found = ran(text, how["rng"], *columns, *(empty(element, shape) for _ in names))[len(names) :]
    values = [decode(element, column) for column in columns]
    if element.startswith("i"):
        values = columns
    for got, expected in zip(found, folded(step, values, axis, reverse), strict=True):
        got = got.reshape(shape) if element.startswith("i") else decode(element, got).reshape(shape)
        assert np.array_equal(got, expected)


def random_turns(rng: np.random.Generator, element: str, shape: tuple[int, ...]) -> list[Array]:
    """2x2 matrices that permute and negate: every product of them is one again, in every format."""
    sign = rng.choice([-1.0, 1.0], (2, *shape))
    swap = rng.integers(0, 2, shape)
    parts = [(1 - swap) * sign[0], swap * sign[0], swap * sign[1], (1 - swap) * sign[1]]
    return [encode(element, part) for part in parts]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("element", ORDERED_ELEMENTS)
def test_a_linear_recurrence(element: str, reverse: bool):
    rng = generator()
    shape, axis = random_case(rng)
    # Slopes of -1 and 1 and few nonzero shifts, so that the sums are exact in 8 bits of a number's digits.
    slope = encode(element, rng.choice([-1.0, 1.0], shape))
    shift = encode(element, np.where(rng.random(shape) < 64 / shape[axis], rng.integers(-1, 2, shape), 0.0))
    columns = [slope, shift]
    check_ordered(recurrence(element), recurrence_step, "ab", element, columns, axis, reverse, rng=rng)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("element", ORDERED_ELEMENTS)
def test_products_of_matrices_over_four_operands(element: str, reverse: bool):
    rng = generator()
    shape, axis = random_case(rng, most_bits=9)
    columns = random_turns(rng, element, shape)
    check_ordered(matrices(element), matrices_step, "tuvw", element, columns, axis, reverse, rng=rng)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("which", ["first", "last"])
@pytest.mark.parametrize("element", ORDERED_ELEMENTS)
def test_the_first_and_the_last(element: str, which: str, reverse: bool):
    rng = generator()
    shape, axis = random_case(rng)
    region = f"yield %x{'A' if which == 'first' else 'E'} : tile<{element}>"
    x = encode(element, rng.integers(-100, 101, shape).astype(np.float64))
    step = (lambda before, element: before) if which == "first" else (lambda before, element: element)
    check_ordered(region, step, "x", element, [x], axis, reverse, rng=rng)


@pytest.mark.parametrize("size", ALL_SIZES)
def test_every_size_keeps_the_order(size: int):
    rng = generator()
    reverse = bool(rng.integers(2))
    bits = int(rng.integers(0, 13 - size.bit_length() + 1)) if size < 4096 else 0
    axis = int(rng.integers(2))
    shape = (size, 1 << min(bits, 3)) if axis == 0 else (1 << min(bits, 3), size)
    columns = [random("i32", shape, rng), random("i32", shape, rng)]
    check_ordered(recurrence("i32"), recurrence_step, "ab", "i32", columns, axis, reverse, rng=rng)


@pytest.mark.parametrize("axis", range(4))
def test_every_axis_of_one_tile_keeps_the_order(axis: int):
    rng = generator()
    shape = tuple(int(n) for n in rng.permutation([2, 4, 8, 16]))
    for reverse in (False, True):
        columns = random_turns(rng, "f32", shape)
        check_ordered(matrices("f32"), matrices_step, "tuvw", "f32", columns, axis, reverse, rng=rng)


def test_other_tools_take_what_is_made():
    operands = [("a", "i32", "1"), ("b", "i32", "0")]
    check_tools(combined("scan", operands, AFFINE, (2, 1024), 1, reverse=True)[0], *TARGETS)
