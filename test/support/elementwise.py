"""Programs of arithmetic and casts, on tiles of 1 to 16384 elements and 0 to 5 dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from programs import Array, encode, tile
from support.table import Build, on, row
from support.writer import BITS, ELEMENTS, HALF_BYTES, INTEGERS, Writer, numbers, random_shape, tile_of

MOST = 14
"""log2 of the elements of the largest tile here."""
SIGNS = ("signed", "unsigned")
ROUNDINGS = ("", " rounding<zero>", " rounding<negative_inf>", " rounding<positive_inf>")
PREDICATES = (
    "equal",
    "not_equal",
    "less_than",
    "less_than_or_equal",
    "greater_than",
    "greater_than_or_equal",
)
Values = Callable[[str, Sequence[int], np.random.Generator], Array]


def shape_for(w: Writer, element: str, most: int = MOST) -> tuple[int, ...]:
    """A shape; a pair of elements at least where two share a byte. A number by itself now and then."""
    if element not in HALF_BYTES and w.rng.integers(8) == 0:
        return ()
    return random_shape(w.rng, int(min(w.rng.integers(1, most + 1, 3))), int(element in HALF_BYTES))


def elementwise(template: str, *values: Values, result: str = "", most: int = MOST) -> Build:
    """Programs of an op on operands of one type: `{0}`, `{1}`, … in the template, `{T}` their type, `{R}` the
    result's, `{way}`."""

    def build(w: Writer, element: str, way: str) -> None:
        shape = shape_for(w, element, 9 if "_inf" in way or "<zero>" in way else most)
        operands = [
            w.input(element, shape, None if element in (*HALF_BYTES, "ptr") else make(element, shape, w.rng))
            for make in values
        ]
        to = result or element
        made = w.define(template.format(*operands, T=tile_of(element, shape), R=tile_of(to, shape), way=way))
        w.result(made, to, shape)

    return build


def positive(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Floats above zero."""
    return _floats(element, np.abs(rng.standard_normal(shape) * 3) + 0.01)


def small(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Floats around zero, of which no function here grows large."""
    return _floats(element, rng.standard_normal(shape).clip(-3, 3))


def not_zero(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Floats, none near zero."""
    return _floats(element, rng.choice((-1, 1), shape) * (np.abs(rng.standard_normal(shape)) + 0.25))


def _floats(element: str, values: Array) -> Array:
    if element in ELEMENTS[:6]:
        return numbers(element, values.shape, np.random.default_rng(0))
    return encode(element, np.abs(values) if element == "f8E8M0FNU" else values)


def divisors(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Numbers that divide without overflow."""
    found = numbers(element, shape, rng)
    if element not in INTEGERS:
        return found
    if element == "i1":
        return np.ones(shape, np.uint8)
    return np.asarray(np.where((found == 0) | (found == -1), found.dtype.type(3), found))


def dividends(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Numbers that a true i1 divides without overflow."""
    return np.zeros(shape, np.uint8) if element == "i1" else numbers(element, shape, rng)


def amounts(element: str, shape: Sequence[int], rng: np.random.Generator) -> Array:
    """Shifts of less than the width."""
    if element not in INTEGERS:
        return numbers(element, shape, rng)
    return rng.integers(0, BITS[element], shape).astype(numbers(element, (1,), rng).dtype)


for _op in ("addi", "subi", "muli", "mulhii", "andi", "ori", "xori"):
    row(_op, elementwise(_op + " {0}, {1} : {T}", numbers, numbers))
for _op in ("maxi", "mini"):
    row(_op, elementwise(_op + " {0}, {1} {way} : {T}", numbers, numbers), SIGNS)
for _op in ("absi", "negi"):
    row(_op, elementwise(_op + " {0} : {T}", numbers))
row("divi", elementwise("divi {0}, {1} {way} : {T}", dividends, divisors),
    [f"{s}{r}" for s in SIGNS for r in ("", " rounding<negative_inf>", " rounding<positive_inf>")])  # fmt: skip
row("remi", elementwise("remi {0}, {1} {way} : {T}", dividends, divisors), SIGNS)
row("shli", elementwise("shli {0}, {1} : {T}", numbers, amounts))
row("shri", elementwise("shri {0}, {1} {way} : {T}", numbers, amounts), SIGNS)
row("cmpf", elementwise("cmpf {way} {0}, {1} : {T} -> {R}", numbers, numbers, result="i1"),
    [f"{p} {o}" for p in PREDICATES for o in ("ordered", "unordered")])  # fmt: skip
for _op in ("addf", "subf", "mulf"):
    row(_op, elementwise(_op + " {0}, {1}{way} : {T}", numbers, numbers), (*ROUNDINGS, " flush_to_zero"))
row(
    "fma",
    elementwise("fma {0}, {1}, {2}{way} : {T}", numbers, numbers, numbers),
    (*ROUNDINGS, " flush_to_zero"),
)
row("divf", elementwise("divf {0}, {1}{way} : {T}", numbers, not_zero), (*ROUNDINGS, " flush_to_zero"))
row("remf", elementwise("remf {0}, {1} : {T}", numbers, not_zero))
for _op in ("maxf", "minf"):
    row(_op, elementwise(_op + " {0}, {1} {way} : {T}", numbers, numbers),
        ("", "propagate_nan", "flush_to_zero", "flush_to_zero propagate_nan"))  # fmt: skip
for _op in ("absf", "negf", "ceil", "floor"):
    row(_op, elementwise(_op + " {0} : {T}", numbers))
row("sqrt", elementwise("sqrt {0}{way} : {T}", positive), (*ROUNDINGS[:1], " flush_to_zero"))
for _op in ("log", "log2"):
    row(_op, elementwise(_op + " {0} : {T}", positive), exact=False)
row("rsqrt", elementwise("rsqrt {0}{way} : {T}", positive), ("", " flush_to_zero"), exact=False)
for _op in ("sin", "cos", "tan", "sinh", "cosh"):
    row(_op, elementwise(_op + " {0} : {T}", small), exact=False)
for _op in ("exp", "tanh"):
    row(_op, elementwise(_op + " {0}{way} : {T}", small), ("", " rounding<approx>"), exact=False)
row("exp2", elementwise("exp2 {0}{way} : {T}", small), ("", " flush_to_zero"), exact=False)
row("atan2", elementwise("atan2 {0}, {1} : {T}", numbers, not_zero), exact=False)
for _op in ("fpowf", "pow"):
    row(_op, elementwise(_op + " {0}, {1} : {T}", positive, small), exact=False)


@on("cmpi", [f"{p} {s}" for p in PREDICATES for s in SIGNS])
def _compare(w: Writer, element: str, way: str) -> None:
    predicate, sign = way.split()
    elementwise(f"cmpi {predicate} {{0}}, {{1}}, {sign} : {{T}} -> {{R}}", numbers, numbers, result="i1")(
        w, element, ""
    )


@on("fpowi", INTEGERS, exact=False)
def _integer_power(w: Writer, element: str, way: str) -> None:
    shape = shape_for(w, element)
    low, high = (0, 2) if way == "i1" else (-3, 4)
    powers = w.rng.integers(low, high, shape).astype(numbers(way, (1,), w.rng).dtype)
    x = w.input(element, shape, None if element in (*HALF_BYTES, "ptr") else not_zero(element, shape, w.rng))
    n = w.input(way, shape, powers)
    w.result(w.define(f"fpowi {x}, {n} : {tile_of(element, shape)}, {tile_of(way, shape)}"), element, shape)


@on("select")
def _select(w: Writer, element: str, way: str) -> None:
    shape = shape_for(w, element)
    c, a, b = (w.input(e, shape) for e in ("i1", element, element))
    found = w.define(f"select {c}, {a}, {b} : {tile('i1', shape)}, {tile_of(element, shape)}")
    w.result(found, element, shape)


# -- casts: the way is the result's element type, and what stands behind the operand


def cast(op: str, w: Writer, element: str, way: str, data: Array | None = None) -> None:
    """A program of a cast."""
    to, _, rest = way.partition(" ")
    if data is not None:
        shape = data.shape
    else:
        shape = shape_for(w, to if to in HALF_BYTES else element)
    x = w.input(element, shape, data)
    found = w.define(f"{op} {x} {rest} : {tile_of(element, shape)} -> {tile_of(to, shape)}")
    w.result(found, to, shape)


def others(element: str) -> list[str]:
    """The other element types."""
    return [e for e in ELEMENTS if e != element]


def signed_others(element: str) -> list[str]:
    """The other element types, for integers of either sign."""
    return [f"{other} {sign}" for other in others(element) for sign in SIGNS]


row("bitcast", lambda w, element, way: cast("bitcast", w, element, way), others)
row(
    "exti",
    lambda w, element, way: cast("exti", w, element, way),
    signed_others,
)
row("trunci", lambda w, element, way: cast("trunci", w, element, way), others)
row(
    "itof",
    lambda w, element, way: cast("itof", w, element, way),
    signed_others,
)


@on("ftof", lambda e: [f"{t}{r}" for t in others(e) for r in ROUNDINGS])
def _float_to_float(w: Writer, element: str, way: str) -> None:
    to = way.split(maxsplit=1)[0]
    shape = random_shape(w.rng, 9 if "<" in way else int(min(w.rng.integers(1, MOST + 1, 2))), 1)
    data = None
    if element not in (*HALF_BYTES, "ptr"):
        data = positive(element, shape, w.rng) if to == "f8E8M0FNU" else numbers(element, shape, w.rng)
    cast("ftof", w, element, way, data)


@on("ftoi", lambda e: [f"{t} {s}{f}" for t in others(e) for s in SIGNS for f in ("", " saturating")])
def _float_to_integer(w: Writer, element: str, way: str) -> None:
    """Numbers that the integers have; four bits of a float are of either sign, so they are not made unsigned."""
    to, sign = way.split()[:2]
    shape = random_shape(w.rng, int(min(w.rng.integers(1, MOST + 1, 2))), 1)
    data = None
    if element in ELEMENTS[6:14] and to in INTEGERS:
        width = min(BITS[to], 7)
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if sign == "signed" else (0, (1 << width) - 1)
        if element == "f8E8M0FNU":
            data = encode(element, 2.0 ** w.rng.integers(-3, max(high, 1).bit_length() - (not high), shape))
        else:
            data = encode(element, w.rng.uniform(low, high, shape))
    cast("ftoi", w, element, way, data)
