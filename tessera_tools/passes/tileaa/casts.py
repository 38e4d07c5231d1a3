"""Part A of the conversion: casts between number formats and between widths; tiles of rank 0 are scalars."""

from __future__ import annotations

from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects.arith.attributes import CMPF_PREDICATES
from tessera_tools.ir import floats
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F32, FloatType, bit_width, element_type, with_element
from tessera_tools.passes.tileaa.arithmetic import is_signed, overflow_flags
from tessera_tools.passes.tileaa.constants import splat
from tessera_tools.passes.tileaa.lowering import Handlers, Lowering


def populate_casts(handlers: Handlers) -> None:
    """Add the handlers of casts."""
    handlers.update(
        {
            ct.FToF: _float_to_float,
            ct.FToI: _float_to_integer,
            ct.IToF: _integer_to_float,
            ct.ExtI: _extend,
            ct.TruncI: _truncate,
            ct.Bitcast: _bitcast,
        }
    )


def _float_to_float(op: ct.FToF, to: Lowering) -> None:
    value, target = to[op.from_], to.type_of(op.to.type, op)
    old, new = element_type(value.type), element_type(target)
    if op.rounding_mode.value != "nearest_even":
        raise to.refuse(op, f"rounding<{op.rounding_mode.value}>; nearest_even is supported")
    if bit_width(new) < 16:
        raise to.refuse(op, f"rounding to '{new}'; f16, bf16, tf32, f32 and f64 are supported")
    if bit_width(old) == bit_width(new):
        # f16 and bf16: every number of either is a number of f32, so that only one step rounds.
        value = to.emit(arith.ExtF(value, out=with_element(target, F32))).out
    kind = arith.ExtF if bit_width(element_type(value.type)) < bit_width(new) else arith.TruncF
    to.replace(op, to.emit(kind(value, out=target)).out)


def _float_to_integer(op: ct.FToI, to: Lowering) -> None:
    """To the nearest number of the type where the value is outside it, and 0 for a NaN (infinity is undefined):
    arith's casts are poison there, and a select leaves the poison out."""
    value, target = to[op.from_], to.type_of(op.to.type, op)
    element, integer = element_type(value.type), element_type(target)
    if not isinstance(element, FloatType) or bit_width(element) < 16 or element.keyword == "tf32":
        raise to.refuse(op, f"from '{element}'; f16, bf16, f32 and f64 are supported")
    width = bit_width(integer)
    signed = is_signed(op)
    least, most = (-(1 << width >> 1), (1 << width >> 1) - 1) if signed else (0, (1 << width) - 1)
    found = to.emit((arith.FPToSI if signed else arith.FPToUI)(value, out=target)).out
    # Beyond the format's largest number there is nothing to catch: infinity is undefined.
    if most + 1 <= _largest(element):
        found = _clamp(value, "oge", float(most + 1), most, found, to)
    if least == 0:
        found = _clamp(value, "ole", -1.0, 0, found, to)
    elif -least <= _largest(element):
        found = _clamp(value, "olt", float(least), least, found, to)
    nan = to.emit(arith.CmpF(i64(CMPF_PREDICATES.index("uno")), value, value)).result
    to.replace(op, to.emit(arith.Select(nan, splat([0], target, to), found)).result)


def _largest(element: FloatType) -> float:
    """The largest finite number of a format."""
    return {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38}.get(
        element.keyword, 1.7976931348623157e308
    )


def _clamp(value: Value, predicate: str, limit: float, result: int, otherwise: Value, to: Lowering) -> Value:
    """`result` where the number compares so with `limit`, which its format has exactly (a power of two)."""
    element = element_type(value.type)
    assert isinstance(element, FloatType)
    bound = splat([floats.encode(limit, element.keyword)], value.type, to)
    outside = to.emit(arith.CmpF(i64(CMPF_PREDICATES.index(predicate)), value, bound)).result
    width = bit_width(element_type(otherwise.type))
    edge = splat([result & ((1 << width) - 1)], otherwise.type, to)
    return to.emit(arith.Select(outside, edge, otherwise)).result


def _integer_to_float(op: ct.IToF, to: Lowering) -> None:
    target = to.type_of(op.to.type, op)
    if bit_width(element_type(target)) < 16:
        raise to.refuse(
            op, f"rounding to '{element_type(target)}'; f16, bf16, tf32, f32 and f64 are supported"
        )
    kind = arith.SIToFP if is_signed(op) else arith.UIToFP
    to.replace(op, to.emit(kind(to[op.from_], out=target)).out)


def _extend(op: ct.ExtI, to: Lowering) -> None:
    kind = arith.ExtSI if is_signed(op) else arith.ExtUI
    to.replace(op, to.emit(kind(to[op.from_], out=to.type_of(op.to.type, op))).out)


def _truncate(op: ct.TruncI, to: Lowering) -> None:
    target = to.type_of(op.to.type, op)
    to.replace(op, to.emit(arith.TruncI(to[op.from_], overflow_flags=overflow_flags(op), out=target)).out)


def _bitcast(op: ct.Bitcast, to: Lowering) -> None:
    value, target = to[op.source], to.type_of(op.result.type, op)
    to.replace(op, value if value.type is target else to.emit(arith.Bitcast(value, out=target)).out)
