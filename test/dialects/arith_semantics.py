"""What the ops of `arith` compute, from LangRef and the dialect's documentation, independent of the sources.

Integers are Python's, numbers NumPy's scalars. `POISON` is poison, and `UndefinedBehavior` is raised for what must not
be executed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tessera_tools.ir.core import Value
from tessera_tools.ir.types import FloatType, bit_width

POISON = object()
NUMPY: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


class UndefinedBehavior(Exception):
    """A division by zero, or one whose quotient does not fit."""


def signed(a: int, width: int) -> int:
    """The number that bits of two's complement stand for."""
    return a - (1 << width) if a >> (width - 1) & 1 else a


def evaluate(value: Value, known: dict[Value, Any]) -> Any:
    """The value of the result of a tree of ops; `known` has those of the block arguments."""
    if value in known:
        return known[value]
    op: Any = value.defining_op
    mnemonic = op.name.removeprefix("arith.")
    if op.name == "ub.poison":
        results: Any = [POISON]
    elif mnemonic == "constant":
        results = [number(op.value, op.result.type)]
    else:
        operands = [evaluate(v, known) for v in op.operands]
        results = _select(operands) if mnemonic == "select" else _strict(op, mnemonic, operands)
    known |= dict(zip(op.results, results, strict=True))
    return known[value]


def number(attribute: Any, type: Any) -> Any:
    """The value of a constant attribute."""
    if isinstance(type, FloatType):
        size = bit_width(type)
        return np.array([attribute.bits], f"u{size // 8}").view(NUMPY[type.keyword])[0]
    return attribute.value & ((1 << bit_width(type)) - 1)


def _select(operands: list[Any]) -> list[Any]:
    condition, yes, no = operands
    return [POISON if condition is POISON else yes if condition else no]


def _strict(op: Any, mnemonic: str, operands: list[Any]) -> list[Any]:
    if POISON in [o for o in operands if o is POISON]:
        # A division by poison or by zero is undefined, whatever is divided.
        if mnemonic.startswith(("div", "rem", "ceildiv", "floordiv")) and (
            operands[1] is POISON or (mnemonic.endswith("i") and operands[1] == 0)
        ):
            raise UndefinedBehavior
        return [POISON] * len(op.results)
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, FloatType) or isinstance(target, FloatType):
        return [_float(op, mnemonic, operands)]
    width = bit_width(source)
    if mnemonic in EXTENDED:
        a, b = (signed(o, width) if mnemonic == "mulsi_extended" else o for o in operands)
        exact = a + b if mnemonic == "addui_extended" else a * b
        high = bit_width(op.results[1].type)
        return [exact & ((1 << width) - 1), exact >> width & ((1 << high) - 1)]
    if mnemonic == "cmpi":
        return [int(_compare(op.predicate_name, operands[0], operands[1], width))]
    if len(operands) == 1:
        return [_cast(op, mnemonic, operands[0], width, bit_width(target))]
    a, b = operands
    exact = BINARY[mnemonic](a, b, width)
    if exact is POISON:
        return [POISON]
    flags = getattr(op, "overflow_flags", None)
    result = exact & ((1 << width) - 1)
    if flags is not None and "nuw" in flags.flags and UNSIGNED[mnemonic](*operands) != result:
        return [POISON]
    a, b = signed(operands[0], width), signed(operands[1], width)
    b = operands[1] if mnemonic == "shli" else b
    if flags is not None and "nsw" in flags.flags and UNSIGNED[mnemonic](a, b) != signed(result, width):
        return [POISON]
    if getattr(op, "is_exact", None) is not None and INEXACT[mnemonic](*operands, width):
        return [POISON]
    return [result]


EXTENDED = ("addui_extended", "mulsi_extended", "mului_extended")
UNSIGNED: dict[str, Callable[..., int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "shli": lambda a, b: a << b,
}
INEXACT: dict[str, Callable[..., bool]] = {
    "divui": lambda a, b, w: a % b != 0,
    "divsi": lambda a, b, w: signed(a, w) % signed(b, w) != 0,
    "shrui": lambda a, b, w: a & ((1 << b) - 1) != 0,
    "shrsi": lambda a, b, w: a & ((1 << b) - 1) != 0,
}


def _divided(a: int, b: int, w: int, how: str) -> int:
    a, b = (a, b) if how.endswith("u") else (signed(a, w), signed(b, w))
    if b == 0:
        raise UndefinedBehavior
    floor, remainder = divmod(a, b)
    if how.startswith("rem"):
        # The truncating remainder has the sign of the dividend.
        return remainder - b if remainder and (remainder < 0) != (a < 0) else remainder
    found = floor
    if remainder and (how.startswith("up") or (how.startswith("zero") and floor < 0)):
        found += 1
    if not how.endswith("u") and found == 1 << (w - 1):
        raise UndefinedBehavior
    return found


BINARY: dict[str, Callable[..., Any]] = {
    "addi": lambda a, b, w: a + b,
    "subi": lambda a, b, w: a - b,
    "muli": lambda a, b, w: a * b,
    "andi": lambda a, b, w: a & b,
    "ori": lambda a, b, w: a | b,
    "xori": lambda a, b, w: a ^ b,
    "divui": lambda a, b, w: _divided(a, b, w, "zero u"),
    "divsi": lambda a, b, w: _divided(a, b, w, "zero"),
    "ceildivui": lambda a, b, w: _divided(a, b, w, "up u"),
    "ceildivsi": lambda a, b, w: _divided(a, b, w, "up"),
    "floordivsi": lambda a, b, w: _divided(a, b, w, "down"),
    "remui": lambda a, b, w: _divided(a, b, w, "rem u"),
    "remsi": lambda a, b, w: _divided(a, b, w, "rem"),
    "shli": lambda a, b, w: a << b if b < w else POISON,
    "shrui": lambda a, b, w: a >> b if b < w else POISON,
    "shrsi": lambda a, b, w: signed(a, w) >> b if b < w else POISON,
    "maxui": lambda a, b, w: max(a, b),
    "minui": lambda a, b, w: min(a, b),
    "maxsi": lambda a, b, w: max(signed(a, w), signed(b, w)),
    "minsi": lambda a, b, w: min(signed(a, w), signed(b, w)),
}


def _compare(predicate: str, a: int, b: int, width: int) -> bool:
    if predicate.startswith("s"):
        a, b = signed(a, width), signed(b, width)
    order = predicate if predicate in ("eq", "ne") else predicate[1:]
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[order]


def _cast(op: Any, mnemonic: str, a: int, source: int, target: int) -> Any:
    extended = signed(a, source) if mnemonic in ("extsi", "index_cast") else a
    result = extended & ((1 << target) - 1)
    if mnemonic == "trunci":
        flags = op.overflow_flags.flags
        if ("nuw" in flags and result != a) or (
            "nsw" in flags and signed(result, target) != signed(a, source)
        ):
            return POISON
    return result


# -- floating-point numbers


def _float(op: Any, mnemonic: str, operands: list[Any]) -> Any:
    flags = op.fastmath.flags if getattr(op, "fastmath", None) is not None else frozenset[str]()
    with np.errstate(all="ignore"):
        result = _compute(op, mnemonic, operands)
    numbers = [x for x in (*operands, result) if isinstance(x, np.floating)]
    if ("nnan" in flags and any(map(np.isnan, numbers))) or ("ninf" in flags and any(map(np.isinf, numbers))):
        return POISON
    return result


def _compute(op: Any, mnemonic: str, operands: list[Any]) -> Any:
    target = op.results[0].type
    if mnemonic in ("extf", "truncf", "sitofp", "uitofp"):
        width = bit_width(op.operands[0].type)
        given = signed(operands[0], width) if mnemonic == "sitofp" else operands[0]
        return NUMPY[target.keyword](given)
    if mnemonic == "bitcast":
        source = op.operands[0].type
        kinds = [
            NUMPY[t.keyword] if isinstance(t, FloatType) else f"u{bit_width(t) // 8}"
            for t in (source, target)
        ]
        found = np.array([operands[0]], kinds[0]).view(kinds[1])[0]
        return found if isinstance(target, FloatType) else int(found)
    if mnemonic == "negf":
        return -operands[0]
    a, b = operands
    if mnemonic == "cmpf":
        return _compare_floats(op.predicate_name, a, b)
    if mnemonic in ("maxnumf", "minnumf") and (np.isnan(a) or np.isnan(b)):
        return b if np.isnan(a) else a
    if mnemonic in ("maxnumf", "minnumf", "maximumf", "minimumf"):
        if np.isnan(a) or np.isnan(b):
            return a if np.isnan(a) else b
        larger = (b if np.signbit(a) else a) if a == b else max(a, b)
        smaller = (a if np.signbit(a) else b) if a == b else min(a, b)
        return larger if mnemonic.startswith("max") else smaller
    return {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "remf": np.fmod}[
        mnemonic
    ](a, b)


def _compare_floats(predicate: str, a: Any, b: Any) -> int:
    unordered = bool(np.isnan(a) or np.isnan(b))
    if predicate in ("false", "true"):
        return int(predicate == "true")
    if predicate in ("ord", "uno"):
        return int(unordered == (predicate == "uno"))
    if unordered:
        return int(predicate[0] == "u")
    order = predicate[1:]
    return int({"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[order])


def refines(new: Any, old: Any, *, ignore_sign_of_zero: bool = False) -> bool:
    """True if a value may stand for another: any for poison, any NaN for a NaN, else the same bits."""
    if old is POISON:
        return True
    if new is POISON:
        return False
    if isinstance(old, np.floating):
        if np.isnan(old) or np.isnan(new):
            return bool(np.isnan(old) and np.isnan(new))
        return bool(old == new and (ignore_sign_of_zero or np.signbit(old) == np.signbit(new)))
    return old == new
