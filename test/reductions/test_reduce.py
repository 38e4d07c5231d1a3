"""Reductions over random shapes, axes and targets, against NumPy on the simulated GPU."""

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
    launch,
    program,
    random,
    run,
    tile,
)
from reductions.regions import combined, random_case

MODES = ("late", "early")


def generator() -> np.random.Generator:
    return np.random.default_rng(fresh_seed())


def ran(text: str, rng: np.random.Generator, *args: Any) -> list[Array]:
    """The arrays after a launch on some target, in one of the modes."""
    target, mode = str(rng.choice(TARGETS)), str(rng.choice(MODES))
    print(target, mode)
    return run(text, *args, target=target, mode=mode)


INTEGER_OPS: dict[str, tuple[str, str, Any]] = {
    # op → (text, identity, of NumPy)
    "add": ("addi %xE, %xA", "0", np.add),
    "mul": ("muli %xA, %xE", "1", np.multiply),
    "and": ("andi %xE, %xA", "-1", np.bitwise_and),
    "or": ("ori %xE, %xA", "0", np.bitwise_or),
    "xor": ("xori %xE, %xA", "0", np.bitwise_xor),
    "max": ("maxi %xE, %xA signed", "LEAST", np.maximum),
    "min": ("mini %xE, %xA signed", "MOST", np.minimum),
    "umax": ("maxi %xE, %xA unsigned", "0", np.maximum),
    "umin": ("mini %xE, %xA unsigned", "-1", np.minimum),
}


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integers_are_exact(name: str, element: str):
    rng = generator()
    check_integers(name, element, *random_case(rng), rng)


def check_integers(
    name: str, element: str, shape: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    """Reduce random integers, and compare."""
    op, identity, function = INTEGER_OPS[name]
    bounds = np.iinfo(np.dtype(f"int{element[1:]}"))
    identity = identity.replace("LEAST", str(bounds.min)).replace("MOST", str(bounds.max))
    region = f"%c = {op} : tile<{element}> yield %c : tile<{element}>"
    text, result = combined("reduce", [("x", element, identity)], region, shape, axis)
    print(shape, axis)
    x = random(element, shape, rng)
    _, found = ran(text, rng, x, empty(element, result))
    numbers = x.view(f"u{x.dtype}") if name.startswith("u") else x
    expected = function.reduce(numbers, axis=axis, dtype=numbers.dtype)
    assert np.array_equal(found.reshape(result).view(numbers.dtype), expected)


@pytest.mark.parametrize("element", ["i8", "i16", "i32"])
@pytest.mark.parametrize("name", ["add", "max", "min", "umax", "umin"])
def test_integers_of_whole_warps_are_exact(name: str, element: str):
    check_integers(name, element, (4, 256), 1, generator())


@pytest.mark.parametrize("op", ["andi", "ori", "xori"])
def test_truth_values(op: str):
    rng = generator()
    shape, axis = random_case(rng)
    region = f"%c = {op} %xE, %xA : tile<i1> yield %c : tile<i1>"
    text, result = combined("reduce", [("x", "i1", "true" if op == "andi" else "false")], region, shape, axis)
    text = text.replace("true : i1", "true").replace("false : i1", "false")
    x = random("i1", shape, rng)
    _, found = ran(text, rng, x, empty("i1", result))
    function: Any = {"andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor}[op]
    assert np.array_equal(found.reshape(result), function.reduce(x.reshape(shape), axis=axis))


PRECISION = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}


@pytest.mark.parametrize("element", PRECISION)
def test_sums_of_floats_are_as_exact_as_their_additions(element: str):
    rng = generator()
    shape, axis = random_case(rng)
    region = f"%c = addf %xE, %xA : tile<{element}> yield %c : tile<{element}>"
    text, result = combined("reduce", [("x", element, "0.0")], region, shape, axis)
    print(shape, axis)
    x = random(element, shape, rng)
    _, found = ran(text, rng, x, empty(element, result))
    values = decode(element, x)
    bound = np.abs(values).sum(axis) * PRECISION[element] * shape[axis]
    assert (np.abs(decode(element, found).reshape(result) - values.sum(axis)) <= bound).all()


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("propagate", [False, True])
def test_the_largest_of_floats_with_and_without_nan(element: str, propagate: bool):
    rng = generator()
    shape, axis = random_case(rng)
    word = " propagate_nan" if propagate else ""
    region = f"%c = maxf %xE, %xA{word} : tile<{element}> yield %c : tile<{element}>"
    infinity = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000"}
    text, result = combined("reduce", [("x", element, infinity[element])], region, shape, axis)
    values = rng.standard_normal(shape)
    values[rng.random(shape) < 0.1] = np.nan
    x = encode(element, values)
    _, found = ran(text, rng, x, empty(element, result))
    function = np.maximum if propagate else np.fmax
    expected = function.reduce(decode(element, x), axis=axis)
    # Where all are NaN, the identity may have been among what was combined.
    got = decode(element, found).reshape(result)
    assert (np.isnan(got) | np.isneginf(got))[np.isnan(expected)].all()
    assert np.array_equal(got[~np.isnan(expected)], expected[~np.isnan(expected)])


ARGMAX = """
%wins = cmpf greater_than ordered %vE, %vA : tile<f32> -> tile<i1>
%same = cmpf equal ordered %vE, %vA : tile<f32> -> tile<i1>
%first = cmpi less_than %iE, %iA, signed : tile<i32> -> tile<i1>
%tie = andi %same, %first : tile<i1>
%take = ori %wins, %tie : tile<i1>
%value = select %take, %vE, %vA : tile<i1>, tile<f32>
%index = select %take, %iE, %iA : tile<i1>, tile<i32>
yield %value, %index : tile<f32>, tile<i32>
"""


def test_a_value_and_its_index_are_reduced_together():
    rng = generator()
    shape, axis = random_case(rng)
    operands = [("v", "f32", "0xFF800000"), ("i", "i32", "2147483647")]
    text, result = combined("reduce", operands, ARGMAX, shape, axis)
    print(shape, axis)
    # Few different values, so that the first of equal ones must win.
    v = rng.integers(0, 4, shape).astype(np.float32)
    places = [1] * len(shape)
    places[axis] = shape[axis]
    i = np.broadcast_to(np.arange(shape[axis], dtype=np.int32).reshape(places), shape).copy()
    _, _, value, index = ran(text, rng, v, i, empty("f32", result), empty("i32", result))
    assert np.array_equal(value.reshape(result), v.max(axis))
    assert np.array_equal(index.reshape(result), v.argmax(axis))


WIDTHS = [("b", "i8", "0"), ("h", "f16", "0xFC00"), ("a", "i64", "0")]
SEVERAL_WIDTHS = """
%sum = addi %aE, %aA : tile<i64>
%most = maxf %hE, %hA : tile<f16>
%odd = xori %bE, %bA : tile<i8>
yield %odd, %most, %sum : tile<i8>, tile<f16>, tile<i64>
"""


@pytest.mark.parametrize("turn", range(2))
def test_operands_of_three_widths(turn: int):
    rng = generator()
    # Each has its place in shared memory, also where that is a few bytes.
    shape, axis = random_case(rng) if turn else ((1024,), 0)
    text, result = combined("reduce", WIDTHS, SEVERAL_WIDTHS, shape, axis)
    b, h, a = (random(element, shape, rng) for _, element, _ in WIDTHS)
    *_, found_b, found_h, found_a = ran(text, rng, b, h, a, *(empty(e, result) for _, e, _ in WIDTHS))
    assert np.array_equal(found_a.reshape(result), a.sum(axis))
    assert np.array_equal(found_h.reshape(result), h.max(axis))
    assert np.array_equal(found_b.reshape(result), np.bitwise_xor.reduce(b, axis=axis))


@pytest.mark.parametrize("shape", [(4, 256), (16, 64), (128, 8), (2, 1024)])
def test_threads_agree_where_the_region_is_not_commutative(shape: tuple[int, int]):
    rng = generator()
    rows, columns = shape
    made = combined("reduce", [("x", "i32", "0")], "yield %xA : tile<i32>", shape, 1)[0]
    reduce = made[made.index("%r = reduce") : made.index("%xR =")]
    body = f"""{reduce}
    %column = reshape %r : tile<{rows}xi32> -> tile<{rows}x1xi32>
    %y = broadcast %column : tile<{rows}x1xi32> -> tile<{rows}x{columns}xi32>"""
    text = program(body, {"x": ("i32", shape)}, {"y": ("i32", shape)})
    x = random("i32", shape, rng)
    _, y = ran(text, rng, x, empty("i32", shape))
    for row, found in zip(x, y.reshape(shape), strict=True):
        assert len(set(found.tolist())) == 1
        assert found[0] in row


@pytest.mark.parametrize("axis", [0, 1])
def test_a_large_tile(axis: int):
    rng = generator()
    shape = (128, 128)
    region = "%c = addi %xE, %xA : tile<i32> yield %c : tile<i32>"
    text, result = combined("reduce", [("x", "i32", "0")], region, shape, axis)
    x = random("i32", shape, rng)
    _, found = ran(text, rng, x, empty("i32", result))
    assert np.array_equal(found.reshape(result), x.sum(axis, dtype=np.int32))


def test_a_tile_of_rank_1_becomes_a_scalar_of_every_thread():
    rng = generator()
    body = f"""
    %sum = reduce %x dim=0 identities=[0 : i32] : {tile("i32", (512,))} -> tile<i32>
    (%e: tile<i32>, %a: tile<i32>) {{ %c = addi %e, %a : tile<i32> yield %c : tile<i32> }}
    %zero = constant <i32: 0> : tile<i32>
    %negative = cmpi less_than %sum, %zero, signed : tile<i32> -> tile<i1>
    %one = reshape %sum : tile<i32> -> tile<1xi32>
    %all = broadcast %one : tile<1xi32> -> tile<512xi32>
    %y = if %negative -> (tile<512xi32>) {{
      yield %all : tile<512xi32>
    }} else {{
      %d = subi %x, %all : tile<512xi32>
      yield %d : tile<512xi32>
    }}"""
    text = program(body, {"x": ("i32", (512,))}, {"y": ("i32", (512,))})
    for sign in (1, -1):
        x = sign * rng.integers(0, 1000, 512, dtype=np.int32)
        _, y = ran(text, rng, x, empty("i32", (512,)))
        assert np.array_equal(y, np.full(512, x.sum()) if x.sum() < 0 else x - x.sum())


def test_the_region_may_use_values_from_outside():
    rng = generator()
    body = f"""
    %y = reduce %x dim=0 identities=[0 : i32] : {tile("i32", (64, 8))} -> {tile("i32", (8,))}
    (%e: tile<i32>, %a: tile<i32>) {{
      %s = addi %e, %a : tile<i32>
      %c = andi %s, %mask : tile<i32>
      yield %c : tile<i32>
    }}"""
    text = program(body, {"x": ("i32", (64, 8))}, {"y": ("i32", (8,))}, {"mask": "i32"})
    x = random("i32", (64, 8), rng) & 0xFF
    _, y = ran(text, rng, x, empty("i32", (8,)), 0xFF)
    assert np.array_equal(y, x.sum(0) & 0xFF)


def test_a_reduction_in_a_loop_has_its_scratch_to_itself():
    rng = generator()
    shape = (4, 256)
    body = f"""
    %first = constant <i32: 0> : tile<i32>
    %step = constant <i32: 1> : tile<i32>
    %y = for %i in (%first to %n, step %step) : tile<i32> iter_values(%t = %x) -> ({tile("i32", shape)}) {{
      %sum = reduce %t dim=1 identities=[0 : i32] : {tile("i32", shape)} -> tile<4xi32>
      (%e: tile<i32>, %a: tile<i32>) {{ %c = addi %e, %a : tile<i32> yield %c : tile<i32> }}
      %column = reshape %sum : tile<4xi32> -> tile<4x1xi32>
      %all = broadcast %column : tile<4x1xi32> -> {tile("i32", shape)}
      %next = xori %t, %all : {tile("i32", shape)}
      continue %next : {tile("i32", shape)}
    }}"""
    text = program(body, {"x": ("i32", shape)}, {"y": ("i32", shape)}, {"n": "i32"})
    x = random("i32", shape, rng)
    for mode in MODES:
        (_, y), _ = launch(text, x, empty("i32", shape), 5, target="sm_90a", mode=mode)
        expected = x
        for _ in range(5):
            expected = expected ^ expected.sum(1, keepdims=True, dtype=np.int32)
        assert np.array_equal(y.reshape(shape), expected)


def test_a_region_may_take_remainders():
    """Greatest common divisors, by one step of remainders: the last nonzero of |a|, |b| where one divides the other."""
    rng = generator()
    region = """
    %one = constant <i32: 1> : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %low = mini %xE, %xA signed : tile<i32>
    %high = maxi %xE, %xA signed : tile<i32>
    %rest = remi %high, %low signed : tile<i32>
    %divides = cmpi equal %rest, %zero, signed : tile<i32> -> tile<i1>
    %c = select %divides, %low, %one : tile<i1>, tile<i32>
    yield %c : tile<i32>
    """
    text, result = combined("reduce", [("x", "i32", "0")], region, (4, 64), 1)
    # Powers of two, of which one always divides the other.
    x = (1 << rng.integers(0, 9, (4, 64))).astype(np.int32)
    _, found = ran(text, rng, x, empty("i32", result))
    assert np.array_equal(found, np.gcd.reduce(x, axis=1))


def test_other_tools_take_what_is_made():
    argmax = [("v", "f32", "0xFF800000"), ("i", "i32", "0")]
    sum_of_row = "%c = addi %xE, %xA : tile<i32> yield %c : tile<i32>"
    made = [
        combined("reduce", argmax, ARGMAX, (8, 64, 2), 1),
        combined("reduce", WIDTHS, SEVERAL_WIDTHS, (64, 32), 0),
        combined("reduce", [("x", "i32", "0")], sum_of_row, (2, 1024), 1),
    ]
    check_tools([text for text, _ in made], *TARGETS)


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2", "tf32"])
@pytest.mark.parametrize("what", ["reduce", "scan"])
def test_formats_without_arithmetic_are_chosen_from(what: str, element: str):
    rng = generator()
    shape, axis = random_case(rng)
    region = f"""
    %p = ftof %xE : tile<{element}> -> tile<f32>
    %q = ftof %xA : tile<{element}> -> tile<f32>
    %less = cmpf less_than ordered %p, %q : tile<f32> -> tile<i1>
    %c = select %less, %xE, %xA : tile<i1>, tile<{element}>
    yield %c : tile<{element}>
    """
    text, result = combined(what, [("x", element, "4.0e+02")], region, shape, axis)
    x = random(element, shape, rng)
    _, found = ran(text, rng, x, empty(element, result))
    function = np.minimum.reduce if what == "reduce" else np.minimum.accumulate
    assert np.array_equal(decode(element, found).reshape(result), function(decode(element, x), axis=axis))


def test_a_region_may_divide():
    rng = generator()
    region = """
    %product = muli %xE, %xA : tile<i32>
    %c = remi %product, %modulus unsigned : tile<i32>
    yield %c : tile<i32>
    """
    shape, axis = random_case(rng)
    constant = "%modulus = constant <i32: 251> : tile<i32>"
    text, result = combined("reduce", [("x", "i32", "1")], region, shape, axis, before=constant)
    x = rng.integers(0, 251, shape, dtype=np.int32)
    _, found = ran(text, rng, x, empty("i32", result))
    expected = np.ones(result, np.int64)
    for part in np.moveaxis(x.astype(np.int64), axis, 0):
        expected = expected * part % 251
    assert np.array_equal(found.reshape(result), expected)
