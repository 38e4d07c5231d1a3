"""Integer arithmetic of every width, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from elementwise.numbers import INTEGERS
from programs import TARGETS, Array, check_tools, empty, fresh_seed, program, random, run, tile

COUNT = 256
Function = Callable[[int, int, int], int]
"""(x, y, width) → the result, any integer that is right modulo 2^width."""


def quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


PLAIN: dict[str, Function] = {
    "addi": lambda x, y, width: x + y,
    "subi": lambda x, y, width: x - y,
    "muli": lambda x, y, width: x * y,
    "andi": lambda x, y, width: x & y,
    "ori": lambda x, y, width: x | y,
    "xori": lambda x, y, width: x ^ y,
    "mulhii": lambda x, y, width: (x % (1 << width)) * (y % (1 << width)) >> width,
}
SIGNED: dict[str, Function] = {
    "divi": lambda x, y, width: quotient(x, y),
    "divi negative_inf": lambda x, y, width: x // y,
    "divi positive_inf": lambda x, y, width: -(-x // y),
    "remi": lambda x, y, width: x - quotient(x, y) * y,
    "maxi": lambda x, y, width: max(x, y),
    "mini": lambda x, y, width: min(x, y),
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "equal": int.__eq__, "not_equal": int.__ne__, "less_than": int.__lt__, "less_than_or_equal": int.__le__,
    "greater_than": int.__gt__, "greater_than_or_equal": int.__ge__,
}  # fmt: skip


def width_of(element: str) -> int:
    return int(element[1:])


def values(array: Array, element: str, *, signed: bool) -> list[int]:
    """The elements as Python's integers."""
    width = width_of(element)
    raw = [int(x) % (1 << width) for x in array]
    return [x - (1 << width) if signed and x >> (width - 1) else x for x in raw]


def operands(element: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Numbers of every size, and every pair of extreme ones."""
    x, y = (random(element, (COUNT,), rng) for _ in range(2))
    if element == "i1":
        return x, y
    shifts = rng.integers(0, width_of(element), (2, COUNT)).astype(x.dtype)
    x, y = x >> shifts[0], y >> shifts[1]
    least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    extreme = np.array([0, 1, -1, least, most], x.dtype)
    x[:25], y[:25] = np.repeat(extreme, 5), np.tile(extreme, 5)
    return x, y


def result(body: str, element: str, given: list[Array], target: str, output: str = "") -> Array:
    shape = (COUNT,)
    output = output or element
    names = ("x", "y")[: len(given)]
    text = program(body, dict.fromkeys(names, (element, shape)), {"z": (output, shape)})
    check_tools(text, target)
    return run(text, *given, empty(output, shape), target=target)[-1]


def any_target(rng: np.random.Generator) -> str:
    return TARGETS[int(rng.integers(len(TARGETS)))]


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("name", PLAIN)
def test_what_has_no_sign(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = operands(element, rng)
    found = result(f"%z = {name} %x, %y : {tile(element, (COUNT,))}", element, [x, y], any_target(rng))
    width = width_of(element)
    pairs = zip(values(x, element, signed=False), values(y, element, signed=False), strict=True)
    expected = [PLAIN[name](a, b, width) % (1 << width) for a, b in pairs]
    assert values(found, element, signed=False) == expected


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("name", SIGNED)
def test_what_has_a_sign(name: str, element: str, signed: bool) -> None:
    op, _, mode = name.partition(" ")
    if mode == "negative_inf" and not signed:
        pytest.skip("the dialect has no such op")
    rng = np.random.default_rng(fresh_seed())
    x, y = operands(element, rng)
    width = width_of(element)
    if op in ("divi", "remi"):
        # A zero divisor and the quotient that does not fit are undefined.
        a, b = (np.array(values(v, element, signed=signed), object) for v in (x, y))
        bad = (b == 0) | ((a == -(1 << width - 1)) & (b == -1))
        x[bad], y[bad] = 0, 1
    keyword = "signed" if signed else "unsigned"
    rounding = f" rounding<{mode}>" if mode else ""
    found = result(
        f"%z = {op} %x, %y {keyword}{rounding} : {tile(element, (COUNT,))}", element, [x, y], any_target(rng)
    )
    pairs = zip(values(x, element, signed=signed), values(y, element, signed=signed), strict=True)
    expected = [SIGNED[name](a, b, width) % (1 << width) for a, b in pairs]
    assert values(found, element, signed=False) == expected


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("name", ["shli", "shri signed", "shri unsigned"])
def test_shifts(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, _ = operands(element, rng)
    width = width_of(element)
    amounts = rng.integers(0, width, COUNT).astype(x.dtype)
    op, _, keyword = name.partition(" ")
    body = f"%z = {op} %x, %y {keyword} : {tile(element, (COUNT,))}"
    found = values(result(body, element, [x, amounts], any_target(rng)), element, signed=False)
    numbers = values(x, element, signed=keyword == "signed")
    for number, amount, shifted in zip(numbers, amounts.tolist(), found, strict=True):
        assert shifted == (number << amount if op == "shli" else number >> amount) % (1 << width)


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("name", ["absi", "negi"])
def test_one_operand(name: str, element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, _ = operands(element, rng)
    found = result(f"%z = {name} %x : {tile(element, (COUNT,))}", element, [x], any_target(rng))
    width = width_of(element)
    numbers = values(x, element, signed=True)
    expected = [(abs(v) if name == "absi" else -v) % (1 << width) for v in numbers]
    assert values(found, element, signed=False) == expected


@pytest.mark.parametrize("overflow", ["no_signed_wrap", "no_unsigned_wrap", "no_wrap"])
@pytest.mark.parametrize("name", ["addi", "subi", "muli", "shli"])
def test_a_promise_not_to_overflow(name: str, overflow: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x = rng.integers(64, 128, COUNT).astype(np.int32)
    y = rng.integers(0, 8, COUNT).astype(np.int32)
    found = result(
        f"%z = {name} %x, %y overflow<{overflow}> : {tile('i32', (COUNT,))}", "i32", [x, y], "sm_80"
    )
    assert (found == {"addi": x + y, "subi": x - y, "muli": x * y, "shli": x << y}[name]).all()


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("element", INTEGERS)
def test_comparisons_and_selections(element: str, signed: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = operands(element, rng)
    keyword = "signed" if signed else "unsigned"
    type, condition = tile(element, (COUNT,)), tile("i1", (COUNT,))
    numbers = list(zip(values(x, element, signed=signed), values(y, element, signed=signed), strict=True))
    for predicate, compare in COMPARISONS.items():
        body = f"%z = cmpi {predicate} %x, %y, {keyword} : {type} -> {condition}"
        expected = np.array([compare(a, b) for a, b in numbers])
        assert (result(body, element, [x, y], "sm_80", "i1") == expected).all()
    body = f"%c = cmpi less_than %x, %y, {keyword} : {type} -> {condition}\n"
    body += f"  %z = select %c, %y, %x : {condition}, {type}"
    expected = np.where([a < b for a, b in numbers], y, x)
    assert (result(body, element, [x, y], any_target(rng)) == expected).all()
