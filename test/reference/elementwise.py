"""Arithmetic and casts, element by element."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from reference.machine import HANDLERS, Machine, element_of, on, word
from reference.numbers import (
    Array,
    UnsupportedError,
    element_size,
    from_bytes,
    is_half_byte,
    kind_of,
    rounded,
    rounded_towards,
    to_bytes,
    unsigned,
    wrapped,
)

from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import I1

# -- elementwise floats


def _float(function: Callable[..., Array]) -> Callable[[Machine, Any], None]:
    def handler(m: Machine, op: Any) -> None:
        mode = word(op.attributes.get("rounding_mode"))
        element = element_of(op.results[0])
        operands = [_flushed(np.asarray(m.get(v)), op) for v in op.operands]
        with np.errstate(all="ignore"):
            found = np.asarray(rounded(function(*operands), element))
        if mode not in ("", "nearest_even", "full", "approx"):
            found = _directed(op, operands, found, element, mode)
        m.set(op, _flushed(found, op))

    return handler


_EXACT: dict[Any, Callable[..., Fraction]] = {
    ct.AddF: lambda a, b: a + b,
    ct.SubF: lambda a, b: a - b,
    ct.MulF: lambda a, b: a * b,
    ct.DivF: lambda a, b: a / b,
    ct.Fma: lambda a, b, c: a * b + c,
}


def _directed(op: Any, operands: list[Array], nearest: Array, element: Any, mode: str) -> Array:
    """Rounded in a direction, by exact arithmetic; what is no finite number, or zero, stays as it is."""
    exact = _EXACT.get(type(op))
    if exact is None:
        raise UnsupportedError(f"{op.name} with rounding<{mode}>")
    found = nearest.copy()
    columns = [np.broadcast_to(v, nearest.shape) for v in operands]
    for at in np.ndindex(nearest.shape):
        numbers = [float(column[at]) for column in columns]
        if not np.all(np.isfinite(numbers)) or (isinstance(op, ct.DivF) and numbers[1] == 0):
            continue
        value = exact(*map(Fraction, numbers))
        if value:
            found[at] = rounded_towards([value], element, mode)[0]
        elif mode == "negative_inf" and isinstance(op, ct.AddF | ct.SubF) and any(numbers):
            found[at] = -0.0
    return found


def _flushed(values: Array, op: Any) -> Array:
    """Subnormal numbers of f32 as zeros, where the op says so."""
    if op.attributes.get("flush_to_zero") is None:
        return values
    return np.where(np.abs(values) < 2.0**-126, np.copysign(0.0, values), values)


def _fma(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(a, np.longdouble) * b + c


_FLOATS: dict[Any, Callable[..., Any]] = {
    ct.AddF: np.add, ct.SubF: np.subtract, ct.MulF: np.multiply, ct.DivF: np.divide, ct.Fma: _fma, ct.RemF: np.fmod,
    ct.NegF: np.negative, ct.AbsF: np.abs, ct.Sqrt: np.sqrt, ct.Exp: np.exp, ct.Exp2: np.exp2, ct.Log: np.log,
    ct.Log2: np.log2, ct.Sin: np.sin, ct.Cos: np.cos, ct.Tan: np.tan, ct.SinH: np.sinh, ct.CosH: np.cosh,
    ct.TanH: np.tanh, ct.Atan2: np.arctan2, ct.Ceil: np.ceil, ct.Floor: np.floor, ct.Rsqrt: lambda x: 1 / np.sqrt(x),
    ct.Pow: np.power, ct.FPowF: np.power,
}  # fmt: skip
for _class, _function in _FLOATS.items():
    HANDLERS[_class] = _float(_function)


@on(ct.FPowI)
def _integer_power(m: Machine, op: Any) -> None:
    power = np.asarray(m.get(op.exponent)).astype(np.float64)
    if element_of(op.exponent) is I1:
        power = -power
    with np.errstate(all="ignore"):
        m.set(op, rounded(np.power(m.get(op.source), power), element_of(op.result)))


@on(ct.MaxF, ct.MinF)
def _extremum(m: Machine, op: Any) -> None:
    """-0 is less than +0, which NumPy leaves open."""
    a, b = (_flushed(np.asarray(m.get(v)), op) for v in (op.lhs, op.rhs))
    nan = op.propagate_nan is not None
    if isinstance(op, ct.MaxF):
        found = np.maximum(a, b) if nan else np.fmax(a, b)
        zero = np.where(np.signbit(a), b, a)
    else:
        found = np.minimum(a, b) if nan else np.fmin(a, b)
        zero = np.where(np.signbit(a), a, b)
    m.set(op, np.where((a == 0) & (b == 0), zero, found))


@on(ct.CmpF)
def _compare_floats(m: Machine, op: Any) -> None:
    a, b = m.get(op.lhs), m.get(op.rhs)
    either = np.isnan(a) | np.isnan(b)
    found = COMPARISONS[word(op.comparison_predicate)](a, b)
    if word(op.comparison_ordering) == "ordered":
        m.set(op, (found & ~either).astype(np.int64))
    else:
        m.set(op, (found | either).astype(np.int64))


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less_than": np.less,
    "less_than_or_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_than_or_equal": np.greater_equal,
}


# -- elementwise integers


def _integer(function: Callable[..., Any]) -> Callable[[Machine, Any], None]:
    def handler(m: Machine, op: Any) -> None:
        element = element_of(op.results[0])
        with np.errstate(all="ignore"):
            m.set(op, wrapped(function(*(np.asarray(m.get(v)) for v in op.operands)), element))

    return handler


_INTEGERS: dict[Any, Callable[..., Any]] = {
    ct.AddI: np.add, ct.SubI: np.subtract, ct.MulI: np.multiply, ct.NegI: np.negative, ct.AbsI: np.abs,
    ct.AndI: np.bitwise_and, ct.OrI: np.bitwise_or, ct.XOrI: np.bitwise_xor,
}  # fmt: skip
for _class, _function in _INTEGERS.items():
    HANDLERS[_class] = _integer(_function)


def _read(m: Machine, op: Any, *values: Value) -> list[Array]:
    """Integer operands as the op's signedness reads them: a true i1 is 1, or -1 where it is signed."""
    if word(op.signedness) == "unsigned":
        return [unsigned(m.get(v), element_of(v)) for v in values]
    return [-np.asarray(m.get(v)) if element_of(v).width == 1 else np.asarray(m.get(v)) for v in values]


@on(ct.MaxI, ct.MinI)
def _integer_extremum(m: Machine, op: Any) -> None:
    a, b = _read(m, op, op.lhs, op.rhs)
    found = (np.maximum if isinstance(op, ct.MaxI) else np.minimum)(a, b)
    m.set(op, wrapped(found.astype(np.int64), element_of(op.result)))


@on(ct.CmpI)
def _compare_integers(m: Machine, op: Any) -> None:
    a, b = _read(m, op, op.lhs, op.rhs)
    m.set(op, COMPARISONS[word(op.comparison_predicate)](a, b).astype(np.int64))


@on(ct.DivI, ct.RemI)
def _divide(m: Machine, op: Any) -> None:
    a, b = (x.astype(object) for x in _read(m, op, op.lhs, op.rhs))
    element = element_of(op.result)
    mode = word(op.rounding) if isinstance(op, ct.DivI) else "zero"

    def one(x: int, y: int) -> int:
        quotient, rest = divmod(int(x), int(y))
        if rest and (mode == "positive_inf" or (mode == "zero" and (int(x) < 0) != (int(y) < 0))):
            quotient += 1
        found = quotient if isinstance(op, ct.DivI) else int(x) - quotient * int(y)
        found &= (1 << 64) - 1
        return found - (1 << 64) if found >> 63 else found

    found = np.vectorize(one, otypes=[np.int64])(a, b) if np.size(a) else np.zeros(np.shape(a), np.int64)
    m.set(op, wrapped(found, element))


@on(ct.MulhiI)
def _high(m: Machine, op: Any) -> None:
    element = element_of(op.result)
    a, b = (unsigned(m.get(v), element).astype(object) for v in (op.x, op.y))

    def one(x: int, y: int) -> int:
        found = int(x) * int(y) >> element.width
        return found - (1 << 64) if found >> 63 else found

    m.set(op, wrapped(np.vectorize(one, otypes=[np.int64])(a, b), element))


@on(ct.ShLI)
def _shift_left(m: Machine, op: Any) -> None:
    element = element_of(op.result)
    m.set(
        op, wrapped(np.asarray(m.get(op.lhs)) << unsigned(m.get(op.rhs), element).astype(np.int64), element)
    )


@on(ct.ShRI)
def _shift_right(m: Machine, op: Any) -> None:
    element = element_of(op.result)
    by = unsigned(m.get(op.rhs), element)
    if word(op.signedness) == "signed" and element.width > 1:
        m.set(op, wrapped(np.asarray(m.get(op.lhs)) >> by.astype(np.int64), element))
    else:
        m.set(op, wrapped((unsigned(m.get(op.lhs), element) >> by).astype(np.int64), element))


@on(ct.Select)
def _select(m: Machine, op: Any) -> None:
    m.set(op, np.where(np.asarray(m.get(op.cond)) != 0, m.get(op.val_if_true), m.get(op.val_if_false)))


# -- casts


@on(ct.FToF)
def _float_to_float(m: Machine, op: Any) -> None:
    values = np.asarray(m.get(op.operands[0]))
    if str(element_of(op.to)) == "f8E8M0FNU":
        values = np.abs(values)  # it has no sign
    found = np.array(rounded(values, element_of(op.to)))
    mode = word(op.rounding_mode)
    if mode not in ("", "nearest_even"):
        # Beyond the largest number nothing is rounded; the formats of 8 bits saturate.
        for at in np.argwhere(np.isfinite(values) & np.isfinite(found) & (values != 0)):
            number = Fraction(float(values[tuple(at)]))
            found[tuple(at)] = rounded_towards([number], element_of(op.to), mode)[0]
    if str(element_of(op.to)) == "f8E5M2":
        # Formats of 8 bits saturate; this one has infinities that rounding would otherwise give.
        found = np.where(np.isinf(found), np.copysign(57344.0, found), found)
    m.set(op, found)


@on(ct.IToF)
def _integer_to_float(m: Machine, op: Any) -> None:
    (value,) = _read(m, op, op.operands[0])
    found = rounded(value.astype(np.longdouble), element_of(op.to))
    if str(element_of(op.to)) == "f8E4M3FN":
        # No infinity stands beyond its largest number, 448: halfway to the next, 480, a NaN.
        found = np.where(np.abs(value.astype(np.longdouble)) > 464, np.nan, found)
    m.set(op, found)


@on(ct.FToI)
def _float_to_integer(m: Machine, op: Any) -> None:
    element = element_of(op.to)
    signed = word(op.signedness) == "signed"
    low, high = (
        (-(1 << element.width >> 1), (1 << element.width >> 1) - 1)
        if signed
        else (0, (1 << element.width) - 1)
    )

    def one(x: float) -> int:
        if np.isnan(x):
            return 0
        found = high if x >= high else low if x <= low else int(x)
        return found - (1 << 64) if found >> 63 > 0 else found

    m.set(op, wrapped(np.vectorize(one, otypes=[np.int64])(np.asarray(m.get(op.operands[0]))), element))


@on(ct.ExtI)
def _extend(m: Machine, op: Any) -> None:
    (value,) = _read(m, op, op.operands[0])
    m.set(op, wrapped(value.astype(np.int64), element_of(op.to)))


@on(ct.TruncI)
def _truncate(m: Machine, op: Any) -> None:
    m.set(op, wrapped(m.get(op.operands[0]), element_of(op.to)))


@on(ct.Bitcast)
def _bitcast(m: Machine, op: Any) -> None:
    source, target = element_of(op.source), element_of(op.result)
    m.set(op, from_bytes(to_bytes(np.asarray(m.get(op.source)), source), target))


@on(ct.Pack)
def _pack(m: Machine, op: Any) -> None:
    element, values = element_of(op.source), np.asarray(m.get(op.source))
    if is_half_byte(element):
        low, high = (kind_of(element).encode(values[..., i::2]) & 15 for i in (0, 1))
        data = low | high << 4
    elif element is I1:
        data = np.packbits(values.astype(np.uint8), bitorder="little")
    else:
        data = to_bytes(values, element)
    m.set(op, wrapped(data.reshape(op.result.type.shape), element_of(op.result)))


@on(ct.Unpack)
def _unpack(m: Machine, op: Any) -> None:
    element, shape = element_of(op.result), op.result.type.shape
    data = np.asarray(m.get(op.source)).astype(np.uint8)
    if is_half_byte(element):
        halves = np.stack([data & 15, data >> 4], -1)
        m.set(op, kind_of(element).decode(halves).reshape(shape))
    elif element is I1:
        m.set(op, np.unpackbits(data, bitorder="little").astype(np.int64))
    else:
        m.set(op, from_bytes(data.reshape(*shape, element_size(element)), element))


@on(ct.IntToPtr, ct.PtrToInt, ct.PtrToPtr, ct.Assume)
def _same(m: Machine, op: Any) -> None:
    m.set(op, m.get(op.operands[-1]))
