"""Integer arithmetic of every width, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from elementwise.numbers import FLOATS, INTEGERS
from elementwise.ops import any_target, computed
from programs import Array, empty, fresh_seed, program, random, run, tile

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


@pytest.mark.parametrize("element", INTEGERS)
def test_what_has_no_sign(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = operands(element, rng)
    width = width_of(element)
    results = computed([f"{name} %x, %y" for name in PLAIN], element, [x, y], any_target(rng))
    pairs = list(zip(values(x, element, signed=False), values(y, element, signed=False), strict=True))
    for (name, function), found in zip(PLAIN.items(), results, strict=True):
        expected = [function(a, b, width) % (1 << width) for a, b in pairs]
        assert values(found, element, signed=False) == expected, name


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("element", INTEGERS)
def test_what_has_a_sign(element: str, signed: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = operands(element, rng)
    width, keyword = width_of(element), "signed" if signed else "unsigned"
    # A zero divisor and the quotient that does not fit are undefined.
    a, b = (np.array(values(v, element, signed=signed), object) for v in (x, y))
    bad = (b == 0) | ((a == -(1 << width - 1)) & (b == -1))
    x[bad], y[bad] = 0, 1
    # There is no unsigned division that rounds down: it is the plain one.
    names = [name for name in SIGNED if signed or "negative_inf" not in name]
    ops = []
    for name in names:
        op, _, mode = name.partition(" ")
        ops.append(f"{op} %x, %y {keyword}" + (f" rounding<{mode}>" if mode else ""))
    results = computed(ops, element, [x, y], any_target(rng))
    pairs = list(zip(values(x, element, signed=signed), values(y, element, signed=signed), strict=True))
    for name, found in zip(names, results, strict=True):
        expected = [SIGNED[name](a, b, width) % (1 << width) for a, b in pairs]
        assert values(found, element, signed=False) == expected, name


@pytest.mark.parametrize("element", INTEGERS)
def test_shifts(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, _ = operands(element, rng)
    width = width_of(element)
    amounts = rng.integers(0, width, COUNT).astype(x.dtype)
    ops = ["shli %x, %y", "shri %x, %y signed", "shri %x, %y unsigned"]
    for op, found in zip(ops, computed(ops, element, [x, amounts], any_target(rng)), strict=True):
        pairs = zip(values(x, element, signed=not op.endswith("unsigned")), amounts.tolist(), strict=True)
        expected = [(a << n if op.startswith("shli") else a >> n) % (1 << width) for a, n in pairs]
        assert values(found, element, signed=False) == expected, op


@pytest.mark.parametrize("element", INTEGERS)
def test_signs(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, _ = operands(element, rng)
    magnitudes, negated = computed(["absi %x", "negi %x"], element, [x], any_target(rng))
    modulus, numbers = 1 << width_of(element), values(x, element, signed=True)
    assert values(magnitudes, element, signed=False) == [abs(v) % modulus for v in numbers]
    assert values(negated, element, signed=False) == [-v % modulus for v in numbers]


def test_promises_not_to_overflow() -> None:
    rng = np.random.default_rng(fresh_seed())
    x = rng.integers(64, 128, COUNT).astype(np.int32)
    y = rng.integers(0, 8, COUNT).astype(np.int32)
    functions = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "shli": np.left_shift}
    flags = ["no_signed_wrap", "no_unsigned_wrap", "no_wrap"]
    ops = [f"{name} %x, %y overflow<{flag}>" for name in functions for flag in flags]
    for op, found in zip(ops, computed(ops, "i32", [x, y], any_target(rng)), strict=True):
        assert (found == functions[op.split()[0]](x, y)).all(), op


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("element", INTEGERS)
def test_comparisons(element: str, signed: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = operands(element, rng)
    keyword = "signed" if signed else "unsigned"
    ops = [f"cmpi {predicate} %x, %y, {keyword}" for predicate in COMPARISONS]
    types = f"{tile(element, (COUNT,))} -> {tile('i1', (COUNT,))}"
    results = computed(ops, element, [x, y], any_target(rng), "i1", types)
    pairs = list(zip(values(x, element, signed=signed), values(y, element, signed=signed), strict=True))
    for (predicate, compare), found in zip(COMPARISONS.items(), results, strict=True):
        assert found.tolist() == [compare(a, b) for a, b in pairs], predicate


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS, "tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
def test_selections(element: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x, y = (random(element, (COUNT,), rng) for _ in range(2))
    condition = random("i1", (COUNT,), rng)
    body = f"%z = select %c, %x, %y : {tile('i1', (COUNT,))}, {tile(element, (COUNT,))}"
    declared = {"c": ("i1", (COUNT,)), "x": (element, (COUNT,)), "y": (element, (COUNT,))}
    made = program(body, declared, {"z": (element, (COUNT,))})
    found = run(made, condition, x, y, empty(element, (COUNT,)), target=any_target(rng))[-1]
    assert (found == np.where(condition != 0, x, y)).all()
