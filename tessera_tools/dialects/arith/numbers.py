"""The semantics of each operation, on the bits of one element.

Integers: unsigned bits of a width, results modulo 2**width; None if the operation is undefined.  Floating-point
numbers: encodings of a format; the sum, difference, product and quotient of two numbers of at most 24 significant
bits, rounded to 53 and then to the format, are correctly rounded (Figueroa: 53 ≥ 2·24 + 2), so Python's floats serve.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tessera_tools.dialects.arith.constants import signed
from tessera_tools.ir import floats

IntegerFunction = Callable[[int, int, int], int | None]

INTEGER: dict[str, IntegerFunction] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "divui": lambda a, b, w: a // b if b else None,
    "remui": lambda a, b, w: a % b if b else None,
    "ceildivui": lambda a, b, w: -(-a // b) if b else None,
    "divsi": lambda a, b, w: _divide(signed(a, w), signed(b, w), w, "trunc"),
    "remsi": lambda a, b, w: _remainder(signed(a, w), signed(b, w)),
    "ceildivsi": lambda a, b, w: _divide(signed(a, w), signed(b, w), w, "ceil"),
    "floordivsi": lambda a, b, w: _divide(signed(a, w), signed(b, w), w, "floor"),
    "shli": lambda a, b, w: a << b if b < w else None,
    "shrui": lambda a, b, w: a >> b if b < w else None,
    "shrsi": lambda a, b, w: signed(a, w) >> b if b < w else None,
    "maxui": lambda a, b, w: max(a, b),
    "minui": lambda a, b, w: min(a, b),
    "maxsi": lambda a, b, w: a if signed(a, w) >= signed(b, w) else b,
    "minsi": lambda a, b, w: a if signed(a, w) <= signed(b, w) else b,
}
"""The two-operand integer operations, by mnemonic; results still to be taken modulo 2**width."""


def _divide(a: int, b: int, width: int, rounding: str) -> int | None:
    """a / b, None for a zero divisor and for the one quotient that overflows."""
    if b == 0 or (b == -1 and a == -(1 << (width - 1))):
        return None
    if rounding == "floor":
        return a // b
    if rounding == "ceil":
        return -(-a // b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    """The remainder of the truncating division: it has the sign of a."""
    return None if b == 0 else (abs(a) % abs(b)) * (-1 if a < 0 else 1)


def compare_integers(predicate: str, a: int, b: int, width: int) -> bool:
    """`arith.cmpi`."""
    if predicate[0] == "s":
        a, b = signed(a, width), signed(b, width)
    match predicate[-2:]:
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "gt":
            return a > b
        case _:
            return a >= b


def compare_floats(predicate: str, a: float, b: float) -> bool:
    """`arith.cmpf`: `o…` is false and `u…` true when an operand is NaN."""
    if predicate in ("true", "false"):
        return predicate == "true"
    unordered = math.isnan(a) or math.isnan(b)
    if predicate == "ord":
        return not unordered
    if predicate == "uno":
        return unordered
    if unordered:
        return predicate[0] == "u"
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[predicate[1:]]


EXACT_IN_DOUBLE = frozenset(keyword for keyword, form in floats.FORMATS.items() if form.width <= 32) | {"f64"}
"""Formats whose arithmetic Python's floats give exactly rounded."""


def float_function(mnemonic: str, keyword: str) -> Callable[[int, int], int | None] | None:
    """The two-operand floating-point operation on bits of a format; None where Python's floats do not serve."""
    if keyword not in EXACT_IN_DOUBLE:
        return None
    compute = FLOAT[mnemonic]

    def function(a: int, b: int) -> int | None:
        x, y = floats.decode(a, keyword), floats.decode(b, keyword)
        if mnemonic in ("maxnumf", "minnumf"):
            if math.isnan(x) or math.isnan(y):
                return b if math.isnan(x) else a
        elif math.isnan(x) or math.isnan(y):
            return a if math.isnan(x) else b
        value = compute(x, y)
        # The sign of a NaN depends on the processor; a folded one is positive.
        return encode(math.nan if math.isnan(value) else value, keyword)

    return function


def encode(value: float, keyword: str) -> int | None:
    """The bits of the nearest number; None if the format has no code for it."""
    try:
        return floats.encode(value, keyword)
    except ValueError:
        return None


def _quotient(x: float, y: float) -> float:
    if y:
        return x / y
    if x == 0:
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, x) * math.copysign(1.0, y))


def _float_remainder(x: float, y: float) -> float:
    return math.nan if y == 0 or math.isinf(x) else math.fmod(x, y)


def _larger(x: float, y: float) -> float:
    """The larger of two numbers; +0 is larger than -0."""
    if x == y:
        return x if math.copysign(1.0, x) > 0 else y
    return max(x, y)


FLOAT: dict[str, Callable[[float, float], float]] = {
    "addf": lambda x, y: x + y,
    "subf": lambda x, y: x - y,
    "mulf": lambda x, y: x * y,
    "divf": _quotient,
    "remf": _float_remainder,
    "maximumf": _larger,
    "maxnumf": _larger,
    "minimumf": lambda x, y: -_larger(-x, -y),
    "minnumf": lambda x, y: -_larger(-x, -y),
}
"""The two-operand floating-point operations on numbers, by mnemonic; NaN is dealt with before."""


def convert(bits: int, source: str, target: str) -> int | None:
    """A number of one format in another if it has it exactly (NaN and infinity included); else None."""
    value = floats.decode(bits, source)
    if source in ("f80", "f128") and not math.isnan(value) and floats.encode(value, source) != bits:
        return None  # a double does not have it
    found = encode(value, target)
    if found is None:
        return None
    back = floats.decode(found, target)
    exact = back == value and math.copysign(1.0, back) == math.copysign(1.0, value)
    return found if exact or (math.isnan(back) and math.isnan(value)) else None
