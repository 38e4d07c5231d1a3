"""Transfer functions: the `Fact` of each result, from the facts of the operands.

The fact of an integer, read as signed: it is a multiple of `divisor` in [`lower`, `upper`].  The fact of a pointer:
its address in bytes is a multiple of `divisor`.  Arithmetic that may wrap around preserves the power-of-two part of a
divisor, because the modulus is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import IndexType, IntegerType, bit_width, element_type, width_of

ZERO_DIVISOR = 1 << 62
"""The divisor of zero, and the limit of divisors."""

POINTER_RANGE = (0, (1 << 64) - 1)


class Fact(NamedTuple):
    """A multiple of `divisor` between `lower` and `upper`, both included."""

    divisor: int
    lower: int
    upper: int


def limits(type: Type) -> tuple[int, int]:
    """The least and the greatest value of a type (of its elements, for a tile); integers are read as signed."""
    type = element_type(type)
    if isinstance(type, IntegerType | IndexType):
        half = 1 << bit_width(type) >> 1
        return -half, max(half - 1, 0)
    return POINTER_RANGE


def unknown(type: Type) -> Fact:
    """The fact of an unknown value of a type."""
    return Fact(1, *limits(type))


def power_of_two(number: int) -> int:
    """The largest power of two that divides a divisor."""
    return min(number & -number, ZERO_DIVISOR)


def fact(type: Type, divisor: int, lower: int, upper: int) -> Fact:
    """A normalized fact: bounds within the type, and a divisor within the limit."""
    low, high = limits(type)
    lower, upper = max(lower, low), min(upper, high)
    if lower == upper and lower != 0:
        divisor = abs(lower)
    elif lower == upper == 0:
        divisor = ZERO_DIVISOR
    if divisor > ZERO_DIVISOR:
        divisor = power_of_two(divisor)
    return Fact(max(divisor, 1), lower, upper)


def join(a: Fact, b: Fact) -> Fact:
    """The fact of a value that has one of two facts."""
    return Fact(math.gcd(a.divisor, b.divisor), min(a.lower, b.lower), max(a.upper, b.upper))


def number(value: int, type: Type) -> Fact:
    """The fact of a constant; a bit pattern is read as a signed number."""
    width = width_of(type)
    value &= (1 << width) - 1
    if width and value >> (width - 1):
        value -= 1 << width
    size = abs(value) or ZERO_DIVISOR
    return Fact(size if size <= ZERO_DIVISOR else power_of_two(size), value, value)


def wrapping(type: Type, divisor: int, lower: int, upper: int, no_wrap: bool = False) -> Fact:
    """The fact of a result that wraps modulo 2**width, unless `no_wrap` guarantees that it fits."""
    low, high = limits(type)
    if no_wrap or (low <= lower and upper <= high):
        return fact(type, divisor, lower, upper)
    return Fact(power_of_two(divisor), low, high)


def _no_signed_wrap(op: Operation) -> bool:
    flags = op.attributes.get("overflowFlags")
    return flags is not None and "nsw" in getattr(flags, "flags", ())


Facts = Sequence[Fact]
Rule = Callable[[Any, Facts], "Fact | Sequence[Fact] | None"]
"""The fact of the result (or of each result); None if unknown."""


def _add(op: Operation, x: Facts) -> Fact:
    a, b = x
    divisor = math.gcd(a.divisor, b.divisor)
    return wrapping(op.results[0].type, divisor, a.lower + b.lower, a.upper + b.upper, _no_signed_wrap(op))


def _subtract(op: Operation, x: Facts) -> Fact:
    a, b = x
    divisor = math.gcd(a.divisor, b.divisor)
    return wrapping(op.results[0].type, divisor, a.lower - b.upper, a.upper - b.lower, _no_signed_wrap(op))


def _corners(a: Fact, b: Fact) -> tuple[int, int]:
    products = [p * q for p in (a.lower, a.upper) for q in (b.lower, b.upper)]
    return min(products), max(products)


def _multiply(op: Operation, x: Facts) -> Fact:
    a, b = x
    return wrapping(op.results[0].type, a.divisor * b.divisor, *_corners(a, b), _no_signed_wrap(op))


def _truncating(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


def _flooring(a: int, b: int) -> int:
    return a // b


def _divide(rounding: Callable[[int, int], int]) -> Rule:
    """Signed division by a positive number; each rounding is monotonic in the dividend."""

    def rule(op: Operation, x: Facts) -> Fact | Sequence[Fact] | None:
        a, b = x
        if b.lower < 1:
            return None
        quotients = [rounding(p, q) for p in (a.lower, a.upper) for q in (b.lower, b.upper)]
        exact = b.lower == b.upper and a.divisor % b.lower == 0
        divisor = a.divisor // b.lower if exact else 1
        return fact(op.results[0].type, divisor, min(quotients), max(quotients))

    return rule


def _divide_unsigned(rounding: Callable[[int, int], int]) -> Rule:
    signed = _divide(rounding)

    def rule(op: Operation, x: Facts) -> Fact | Sequence[Fact] | None:
        a, b = x
        if a.lower >= 0:
            return signed(op, x)
        if b.lower == b.upper and b.lower > 1:
            # At most half of the unsigned range.
            most = rounding((1 << width_of(op.results[0].type)) - 1, b.lower)
            part = power_of_two(a.divisor)
            divisor = part // b.lower if part % b.lower == 0 else 1
            return wrapping(op.results[0].type, divisor, 0, most)
        return None

    return rule


def _remainder(op: Operation, x: Facts) -> Fact | None:
    a, b = x
    if b.lower < 1:
        return None
    most = b.upper - 1
    lower = 0 if a.lower >= 0 else max(a.lower, -most)
    upper = 0 if a.upper <= 0 else min(a.upper, most)
    divisor = math.gcd(a.divisor, b.divisor)
    if b.lower == b.upper and a.divisor % b.lower == 0:
        lower = upper = 0
    return fact(op.results[0].type, divisor, lower, upper)


def _remainder_unsigned(op: Operation, x: Facts) -> Fact | None:
    a, b = x
    if a.lower >= 0:
        return _remainder(op, x)
    if b.lower < 1:
        return None
    # A negative dividend is 2**width more.
    part = power_of_two(a.divisor)
    if b.lower == b.upper and part % b.lower == 0:
        return fact(op.results[0].type, ZERO_DIVISOR, 0, 0)
    return fact(op.results[0].type, math.gcd(part, b.divisor), 0, b.upper - 1)


def _amount(op: Operation, b: Fact) -> int | None:
    """The constant amount of a shift."""
    return b.lower if b.lower == b.upper and 0 <= b.lower < width_of(op.results[0].type) else None


def _shift_left(op: Operation, x: Facts) -> Fact | None:
    a, b = x
    amount = _amount(op, b)
    if amount is None:
        return None
    divisor, lower, upper = a.divisor << amount, a.lower << amount, a.upper << amount
    return wrapping(op.results[0].type, divisor, lower, upper, _no_signed_wrap(op))


def _shift_right(op: Operation, x: Facts) -> Fact | None:
    a, b = x
    amount = _amount(op, b)
    if amount is None:
        return None
    divisor = a.divisor >> amount if a.divisor % (1 << amount) == 0 else 1
    return fact(op.results[0].type, divisor, a.lower >> amount, a.upper >> amount)


def _shift_right_unsigned(op: Operation, x: Facts) -> Fact | None:
    a, b = x
    amount = _amount(op, b)
    if amount is None:
        return None
    if a.lower >= 0 or amount == 0:
        return _shift_right(op, x)
    part = power_of_two(a.divisor)
    divisor = part >> amount if part % (1 << amount) == 0 else 1
    return fact(op.results[0].type, divisor, 0, (1 << (width_of(op.results[0].type) - amount)) - 1)


def _and(op: Operation, x: Facts) -> Fact:
    a, b = x
    if a.lower == a.upper == -1:
        return b
    if b.lower == b.upper == -1:
        return a
    low, high = limits(op.results[0].type)
    uppers = [f.upper for f in x if f.lower >= 0]
    if uppers:
        low, high = 0, min(uppers)
    return fact(op.results[0].type, max(power_of_two(a.divisor), power_of_two(b.divisor)), low, high)


def _or(op: Operation, x: Facts) -> Fact:
    return _bitwise(op, x, max(x[0].lower, x[1].lower))


def _xor(op: Operation, x: Facts) -> Fact:
    return _bitwise(op, x, 0)


def _bitwise(op: Operation, x: Facts, least: int) -> Fact:
    a, b = x
    low, high = limits(op.results[0].type)
    if a.lower >= 0 and b.lower >= 0:
        low, high = least, (1 << max(a.upper, b.upper).bit_length()) - 1
    return fact(op.results[0].type, math.gcd(power_of_two(a.divisor), power_of_two(b.divisor)), low, high)


def _minimum(op: Operation, x: Facts) -> Fact:
    a, b = x
    return fact(
        op.results[0].type, math.gcd(a.divisor, b.divisor), min(a.lower, b.lower), min(a.upper, b.upper)
    )


def _maximum(op: Operation, x: Facts) -> Fact:
    a, b = x
    return fact(
        op.results[0].type, math.gcd(a.divisor, b.divisor), max(a.lower, b.lower), max(a.upper, b.upper)
    )


def _absolute(op: Operation, x: Facts) -> Fact:
    """The least number of the type is its own absolute value, because its negation wraps around."""
    (a,) = x
    lower = max(a.lower, -a.upper, 0)
    return wrapping(op.results[0].type, a.divisor, lower, max(abs(a.lower), abs(a.upper)))


def _wide_product(op: Operation, x: Facts) -> Sequence[Fact] | None:
    """The halves of the unsigned product of non-negative numbers."""
    a, b = x
    if a.lower < 0 or b.lower < 0:
        return None
    type = op.results[0].type
    low, high = a.lower * b.lower, a.upper * b.upper
    width = width_of(type)
    return wrapping(type, a.divisor * b.divisor, low, high), fact(type, 1, low >> width, high >> width)


def _unsigned_extremum(signed: Rule) -> Rule:
    def rule(op: Operation, x: Facts) -> Fact | Sequence[Fact] | None:
        return signed(op, x) if x[0].lower >= 0 and x[1].lower >= 0 else join(*x)

    return rule


def _resize(op: Operation, x: Facts) -> Fact:
    """Sign extension preserves the number; truncation does so if it fits."""
    (a,) = x
    return wrapping(op.results[0].type, *a)


def _zero_extend(op: Operation, x: Facts) -> Fact:
    (a,) = x
    source, target = op.operand(0).type, op.results[0].type
    if a.lower >= 0 or width_of(target) <= width_of(source):
        return _resize(op, x)
    return fact(target, power_of_two(a.divisor), 0, (1 << width_of(source)) - 1)


def _select(op: Operation, x: Facts) -> Fact:
    return join(x[1], x[2])


def _assume(op: nv_tileaa.Assume, x: Facts) -> Fact:
    (a,) = x
    divisor, lower, upper = a
    if op.divisor is not None and op.divisor.value > 0 and op.every is None:
        divisor = math.lcm(divisor, op.divisor.value)
    if op.lower is not None:
        lower = max(lower, op.lower.value)
    if op.upper is not None:
        upper = min(upper, op.upper.value)
    if lower > upper:
        return a
    return fact(op.res.type, divisor, lower, upper)


_MOST_CONSTANTS = 4096
"""The maximum number of elements of a constant tile to inspect."""


def _constant(op: Operation, x: Facts) -> Fact | None:
    value: Attribute | None = op.attributes.get("value")
    if isinstance(value, IntegerAttr):
        return number(value.value, value.type)
    if not isinstance(value, DenseElementsAttr) or not isinstance(element_type(value.type), IntegerType):
        return None
    bits = value.bits()
    if len(bits) > _MOST_CONSTANTS:
        return None
    return reduce(join, (number(v, value.type) for v in set(bits)))


def _iota(op: nv_tileaa.Iota, x: Facts) -> Fact | None:
    last, most = op.res.type.num_elements - 1, limits(op.res.type)[1]
    return Fact(1, 0, last) if 0 < last <= most else None


def _same(op: Operation, x: Facts) -> Fact:
    """The result's elements are elements of the operands."""
    return reduce(join, x)


def _insert(op: Operation, x: Facts) -> Fact:
    return join(x[0], x[1])


def _extract(op: Operation, x: Facts) -> Fact:
    return x[0]


def _offset(op: nv_tileaa.Offset, x: Facts) -> Fact:
    """Pointers move by whole elements; the sum may be any address."""
    pointer, offset = x
    bits = storage_bits(op.elem_type.value)
    moved = power_of_two(offset.divisor) * bits // 8 or 1
    return Fact(min(power_of_two(pointer.divisor), power_of_two(moved)), *POINTER_RANGE)


def _compare(op: arith.CmpI, x: Facts) -> Fact | None:
    """True (-1 as an i1) or false if the bounds decide it; unsigned numbers are compared if they are non-negative as
    signed ones."""
    a, b = x
    predicate = op.predicate_name
    if predicate.startswith("u") and (a.lower < 0 or b.lower < 0):
        return None
    below, above, apart = a.upper < b.lower, a.lower > b.upper, a.upper < b.lower or a.lower > b.upper
    equal = a.lower == a.upper == b.lower == b.upper
    at_most, at_least = a.upper <= b.lower, a.lower >= b.upper
    yes, no = {
        "eq": (equal, apart),
        "ne": (apart, equal),
        "lt": (below, at_least),
        "le": (at_most, above),
        "gt": (above, at_most),
        "ge": (at_least, below),
    }[predicate if predicate in ("eq", "ne") else predicate[1:]]
    if yes == no:
        return None
    return Fact(1, -1, -1) if yes else Fact(ZERO_DIVISOR, 0, 0)


# The largest grid is 2**31 - 1 by 65535 by 65535 blocks (CUDA C++ Programming Guide, technical specifications).
_GRID = ((1 << 31) - 1, 65535, 65535)


def _program_id(op: nv_tileaa.GetProgramId, x: Facts) -> Fact:
    return fact(op.res.type, 1, 0, _GRID[op.axis.value] - 1)


def _num_programs(op: nv_tileaa.GetNumPrograms, x: Facts) -> Fact:
    return fact(op.res.type, 1, 1, _GRID[op.axis.value])


def _address(op: Operation, x: Facts) -> Fact:
    """Casts between pointers and 64-bit integers; only facts that hold modulo 2**64 are kept."""
    (a,) = x
    return Fact(power_of_two(a.divisor), *limits(op.results[0].type))


RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    "arith.divsi": _divide(_truncating),
    "arith.floordivsi": _divide(_flooring),
    "arith.ceildivsi": _divide(_ceiling),
    "arith.divui": _divide_unsigned(_flooring),
    "arith.ceildivui": _divide_unsigned(_ceiling),
    "arith.remsi": _remainder,
    "arith.remui": _remainder_unsigned,
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right_unsigned,
    "arith.andi": _and,
    "arith.ori": _or,
    "arith.xori": _xor,
    "arith.minsi": _minimum,
    "arith.maxsi": _maximum,
    "arith.minui": _unsigned_extremum(_minimum),
    "arith.maxui": _unsigned_extremum(_maximum),
    "arith.mului_extended": _wide_product,
    "math.absi": _absolute,
    "arith.extsi": _resize,
    "arith.trunci": _resize,
    "arith.index_cast": _resize,
    "arith.extui": _zero_extend,
    "arith.index_castui": _zero_extend,
    "arith.select": _select,
    "nv_tileaa.assume": _assume,
    "nv_tileaa.get_program_id": _program_id,
    "nv_tileaa.get_num_programs": _num_programs,
    "arith.cmpi": _compare,
    "nv_tileaa.int_to_ptr": _address,
    "nv_tileaa.ptr_to_int": _address,
    "nv_tileaa.offset": _offset,
    "nv_tileaa.constant_tensor": _constant,
    "nv_tileaa.iota": _iota,
    "nv_tileaa.splat": _same,
    "nv_tileaa.unsplat": _same,
    "nv_tileaa.broadcast": _same,
    "nv_tileaa.reshape": _same,
    "nv_tileaa.permute": _same,
    "nv_tileaa.cat": _same,
    "nv_tileaa.insert": _insert,
    "nv_tileaa.extract": _extract,
    "llvm.ptrtoint": _address,
    "llvm.inttoptr": _address,
}
"""The transfer functions, by operation name."""
