"""Conversions between float formats by integer arithmetic on their bits, the same on every target.

    narrow code ──widened──▶ f32 (exact) ──┐
    f64 ──rounded_to_odd──▶ f32 ───────────┴──narrowed (nearest even or away, toward zero, upward)──▶ code

Rounding to odd (truncate, and set the last bit if the result is inexact) keeps the information for a second rounding,
so two steps return the same result as one (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import llvm
from tessera_tools.dialects.arith.attributes import CMPF_PREDICATES
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.floats import FloatFormat
from tessera_tools.ir.types import F32, F64, I1, I32, TF32, FloatType, IntegerType
from tessera_tools.opdef import Op
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.instructions import intrinsic

F32_FRACTION, F32_BIAS = 23, 127
INFINITY = 0x7F800000
"""The bits of infinity as an f32; greater ones, without the sign, are NaNs."""
MAGNITUDE = 0x7FFFFFFF
TF32_DROPPED = 13
"""Low bits of an f32 that a tf32 does not have; in memory and registers they are undefined."""
TF32_BITS = 0xFFFFFFFF & -(1 << TF32_DROPPED)


# -- float operations


def float_op(e: Emitter, cls: type[Op], operands: Sequence[Value], type: Type) -> Value:
    """One op on floats, at the current position."""
    return e.emit(cls.create(operands, [type], {}, location=e.location)).results[0]


def compare(e: Emitter, predicate: str, a: Value, b: Value) -> Value:
    """A comparison of floats."""
    return e.emit(llvm.FCmp(i64(CMPF_PREDICATES.index(predicate)), a, b, res=I1)).results[0]


def _bits(e: Emitter, value: Value, change: Callable[[Value], Int]) -> Value:
    """An f32 with modified bits."""
    return e.bitcast(e.constant(change(e.bitcast(value, I32))), F32)


def _as_f32(e: Emitter, bits: Int) -> Value:
    return e.bitcast(e.constant(bits), F32)


# -- to f32


def is_narrow(type: Type) -> bool:
    """True if a type is a float that is represented as an i8."""
    return isinstance(type, FloatType) and type.width <= 8


def widened(e: Emitter, code: Value, type: FloatType) -> Value:
    """The f32 of the same value as a code (i8) of a narrow format."""
    form = floats.FORMATS[type.keyword]
    whole = e.resized(code, I32)
    nan = 0x7FFFFFFF
    if not form.has_zero:
        # Powers of two: the exponent field of f32, except for 2^-127, which is subnormal there.
        bits: Int = e.select(e.icmp("eq", whole, 0), 1 << F32_FRACTION - 1, e.shl(whole, F32_FRACTION))
        return _as_f32(e, e.select(e.icmp("ugt", whole, form.largest), nan, bits))
    magnitude = e.and_(whole, (1 << form.exponent + form.fraction) - 1)
    place = e.shl(magnitude, F32_FRACTION - form.fraction)
    # The shifted fields are the number times 2^(bias - 127), also if it is subnormal.
    scale = e.constant(2.0 ** (F32_BIAS - form.bias), F32)
    bits = e.bitcast(float_op(e, llvm.FMul, (_as_f32(e, place), scale), F32), I32)
    if form.top == "ieee":
        bits = e.select(e.icmp("eq", magnitude, form.largest + 1), INFINITY, bits)
        bits = e.select(e.icmp("ugt", magnitude, form.largest + 1), nan, bits)
    elif form.top == "nan":
        bits = e.select(e.icmp("ugt", magnitude, form.largest), nan, bits)
    if form.signed:
        bits = e.or_(bits, e.shl(e.and_(whole, 1 << form.width - 1), 32 - form.width))
    return _as_f32(e, bits)


_D2F = {"toward_zero": "rz", "upward": "rp", "downward": "rm"}
"""The rounding modifier of cvt.f32.f64 for each directed mode (PTX ISA, "cvt")."""


def double_to_single(e: Emitter, value: Value, mode: str) -> Value:
    """An f64 as f32, rounded in a direction.  Refusal for other modes."""
    if mode not in _D2F:
        raise Refusal(f"has no lowering from f64 to f32 with rounding mode {mode}")
    return intrinsic(e, f"llvm.nvvm.d2f.{_D2F[mode]}", [value], F32)


def rounded_to_odd(e: Emitter, value: Value) -> Value:
    """An f64 as f32, rounded to odd."""
    cut = double_to_single(e, value, "toward_zero")
    inexact = compare(e, "one", float_op(e, llvm.FPExt, (cut,), F64), value)
    return _bits(e, cut, lambda bits: e.or_(bits, e.resized(inexact, I32)))


def odd_double(e: Emitter, value: Value, *, signed: bool) -> Value:
    """An i32 or i64 as f64, rounded to odd if it has more than 53 bits."""
    type = value.type
    assert isinstance(type, IntegerType)
    if type.width == 64:
        # Keep 53 of 64 bits and a sticky bit: the low 11 are or'ed into the lowest remaining one.
        lost, high = (1 << 11) - 1, -(1 << 11)
        some = e.icmp("ne", e.and_(value, lost, type), 0, type)
        sticky = e.shl(e.resized(some, type), 11, type)
        odd = e.or_(e.and_(value, high, type), sticky, type)
        # Numbers of at most 53 bits are exact.
        bias = 1 << 52 if signed else 0
        shifted = e.add(value, bias, type)
        small = e.icmp("ult", shifted, 1 << 53, type)
        value = e.constant(e.select(small, value, odd, type), type)
    return float_op(e, llvm.SIToFP if signed else llvm.UIToFP, (value,), F64)


# -- from f32


def narrowed(e: Emitter, value: Value, type: FloatType, mode: str, *, saturate: bool) -> Value:
    """An f32 in another format, in its register representation.

    mode: to_nearest_even, toward_zero, to_nearest_away (tf32 only), or upward (f8E8M0FNU only).  For a value out of
    range, the result is the largest number with `saturate` and in formats with numbers only, otherwise infinity, or NaN
    without it; toward zero, only infinity is out of range.  Raises Refusal for unsupported modes and formats.
    """
    if type is F32:
        return value
    if type is TF32:
        return _to_tf32(e, value, mode)
    form = floats.FORMATS[type.keyword]
    bits = e.bitcast(value, I32)
    magnitude = e.constant(e.and_(bits, MAGNITUDE))
    if not form.has_zero:
        code = _power_of_two(e, magnitude, mode)
    elif mode in ("to_nearest_even", "toward_zero") and form.signed:
        code = _rounded(e, magnitude, form, mode)
    else:
        raise Refusal(f"has no lowering from f32 to {type} with rounding mode {mode}")
    beyond = _beyond(form, saturate)
    if mode == "toward_zero" and not saturate:
        code = e.select(e.icmp("ugt", code, form.largest), form.largest, code)
        code = e.select(e.icmp("eq", magnitude, INFINITY), beyond, code)
    else:
        code = e.select(e.icmp("ugt", code, form.largest), beyond, code)
    if form.signed:
        top = form.width - 1
        code = e.or_(code, e.and_(e.lshr(bits, 31 - top), 1 << top))
    code = e.select(e.icmp("ugt", magnitude, INFINITY), _nan(form), code)
    register = IntegerType(8 if form.width < 8 else form.width)
    result = e.resized(e.constant(code), register)
    return e.bitcast(result, type) if form.width > 8 else result


def _beyond(form: FloatFormat, saturate: bool) -> int:
    """The code of values out of range."""
    return form.largest if saturate or form.top == "finite" else form.largest + 1


def _nan(form: FloatFormat) -> int:
    """The code of the NaN that conversions return (PTX ISA, "cvt"): no sign, all bits set, or otherwise the largest."""
    return (1 << form.width - form.signed) - 1


def _rounded(e: Emitter, magnitude: Value, form: FloatFormat, mode: str) -> Int:
    """The code without sign of a finite number; greater than the largest code if it is out of range."""
    dropped = F32_FRACTION - form.fraction
    rebias = F32_BIAS - form.bias
    if mode == "to_nearest_even":
        odd = e.and_(e.lshr(magnitude, dropped), 1)
        magnitude_up = e.add(e.add(magnitude, (1 << dropped - 1) - 1), odd)
    else:
        magnitude_up = magnitude
    normal = e.add(e.lshr(magnitude_up, dropped), -(rebias << form.fraction))
    if not rebias:
        return normal
    # Below the smallest normal number, count multiples of the smallest one, which is the last place of `ruler`.
    absolute = _as_f32(e, magnitude)
    unit = form.least_exponent - form.fraction
    if mode == "to_nearest_even":
        ruler = e.constant(2.0 ** (unit + F32_FRACTION), F32)
        total = e.bitcast(float_op(e, llvm.FAdd, (absolute, ruler), F32), I32)
        tiny = e.add(total, -((unit + F32_FRACTION + F32_BIAS) << F32_FRACTION))
    else:
        count = float_op(e, llvm.FMul, (absolute, e.constant(2.0**-unit, F32)), F32)
        # Beyond i32's range the result is poison, which the select removes.
        tiny = float_op(e, llvm.FPToUI, (count,), I32)
    smallest_normal = (form.least_exponent + F32_BIAS) << F32_FRACTION
    return e.select(e.icmp("ult", magnitude, smallest_normal), tiny, normal)


def _power_of_two(e: Emitter, magnitude: Value, mode: str) -> Int:
    """The exponent of a number, truncated or upward; 0 for numbers below 2^-127."""
    if mode == "toward_zero":
        return e.lshr(magnitude, F32_FRACTION)
    if mode == "upward":
        up = e.lshr(e.add(magnitude, (1 << F32_FRACTION) - 1), F32_FRACTION)
        return e.select(e.icmp("ule", magnitude, 1 << F32_FRACTION - 1), 0, up)
    raise Refusal(f"has no lowering to f8E8M0FNU with rounding mode {mode}; toward_zero and upward have")


def _to_tf32(e: Emitter, value: Value, mode: str) -> Value:
    """An f32 whose dropped bits are 0."""
    if mode not in ("to_nearest_even", "to_nearest_away", "toward_zero"):
        raise Refusal(
            f"has no lowering to tf32 with rounding mode {mode}; to_nearest_even, to_nearest_away and toward_zero have"
        )

    def rounded(bits: Value) -> Int:
        up: Int = bits
        if mode == "to_nearest_even":
            odd = e.and_(e.lshr(bits, TF32_DROPPED), 1)
            up = e.add(e.add(bits, (1 << TF32_DROPPED - 1) - 1), odd)
        elif mode == "to_nearest_away":
            up = e.add(bits, 1 << TF32_DROPPED - 1)
        cut = e.and_(up, TF32_BITS)
        is_nan = e.icmp("ugt", e.and_(bits, MAGNITUDE), INFINITY)
        return e.select(is_nan, MAGNITUDE & TF32_BITS, cut)

    return _bits(e, value, rounded)
