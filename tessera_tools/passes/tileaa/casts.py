"""Part A of the conversion: casts between number formats, widths, addresses and bytes; tiles of rank 0 are scalars.

Casts of arith are used if they are exact equivalents: extf if the target represents every value of the source, truncf
if it is narrower and the hardware does not saturate.  The hardware saturates floats of at most 8 bits
(nv_tileaa.truncf_satfinite); for integers out of range, the dialect requires infinity, or NaN in formats without it.
"""

from __future__ import annotations

from tessera_tools.dialects import arith
from tessera_tools.dialects import cuda_tile as ct
from tessera_tools.dialects import nv_tileaa as aa
from tessera_tools.dialects.arith.attributes import ROUNDING_MODES
from tessera_tools.ir import floats
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import (
    F32,
    I32,
    TF32,
    FloatType,
    bit_width,
    element_type,
    width_of,
    with_element,
)
from tessera_tools.passes.tileaa.arithmetic import is_signed, overflow_flags
from tessera_tools.passes.tileaa.constants import splat
from tessera_tools.passes.tileaa.lowering import Lowering, handles

_MODES = {
    mode: IntegerAttr(ROUNDING_MODES.index(word), I32)
    for mode, word in (
        ("zero", "toward_zero"),
        ("positive_inf", "upward"),
        ("negative_inf", "downward"),
        ("nearest_away", "to_nearest_away"),
    )
}


# -- floats


def _format(type: Type) -> FloatType:
    element = element_type(type)
    assert isinstance(element, FloatType)
    return element


def _check_signed(op: ct.FToF | ct.IToF, target: FloatType, to: Lowering) -> None:
    """f8E8M0FNU uses the magnitude; the behavior of other formats without a sign is undefined."""
    form = floats.FORMATS[target.keyword]
    if form.has_zero and not form.signed:
        raise to.refuse(op, f"rounding to '{target}', which has no negative numbers; use another format")


@handles(ct.FToF)
def _float_to_float(op: ct.FToF, to: Lowering) -> None:
    value, target = to[op.from_], to.type_of(op.to.type, op)
    old, new = _format(value.type), _format(target)
    mode = _MODES.get(op.rounding_mode.value)
    _check_signed(op, new, to)
    if bit_width(old) < bit_width(new) and floats.has_every_number(
        floats.FORMATS[new.keyword], floats.FORMATS[old.keyword]
    ):
        to.replace(op, to.emit(arith.ExtF(value, out=target)).out)
        return
    if bit_width(new) <= 8:
        to.replace(op, to.emit(aa.TruncFSatfinite(value, mode, out=target)).out)
        return
    if bit_width(old) <= bit_width(new):
        # Each value of f16, bf16 and the narrow formats is exact in f32, so only one step rounds.
        value = to.emit(arith.ExtF(value, out=with_element(target, F32))).out
    to.replace(op, to.emit(arith.TruncF(value, mode, out=target)).out)


@handles(ct.FToI)
def _float_to_integer(op: ct.FToI, to: Lowering) -> None:
    """Clamps values out of range to the nearest number of the type, and NaN to 0: arith's casts return poison there,
    which a select removes.  `saturating` requires it; otherwise any result is allowed."""
    value, target = to[op.from_], to.type_of(op.to.type, op)
    if _format(value.type) is TF32 or bit_width(_format(value.type)) <= 8:
        value = to.emit(arith.ExtF(value, out=with_element(value.type, F32))).out
    width = width_of(target)
    signed = is_signed(op)
    least, most = (-(1 << width >> 1), (1 << width >> 1) - 1) if signed else (0, (1 << width) - 1)
    found = to.emit((arith.FPToSI if signed else arith.FPToUI)(value, out=target)).out
    found = _clamp(value, "oge", float(most + 1), most, found, to)
    found = _clamp(value, "ole", float(least or -1), least, found, to)
    nan = to.emit(arith.CmpF.of("uno", value, value)).result
    to.replace(op, to.emit(arith.Select(nan, splat([0], target, to), found)).result)


def _clamp(value: Value, predicate: str, limit: float, result: int, otherwise: Value, to: Lowering) -> Value:
    """`result` if the comparison of the number with `limit` is true.  `limit` is a power of two in the format, or
    infinity."""
    bound = splat([floats.encode(limit, _format(value.type).keyword)], value.type, to)
    outside = to.emit(arith.CmpF.of(predicate, value, bound)).result
    width = width_of(otherwise.type)
    edge = splat([result & ((1 << width) - 1)], otherwise.type, to)
    return to.emit(arith.Select(outside, edge, otherwise)).result


@handles(ct.IToF)
def _integer_to_float(op: ct.IToF, to: Lowering) -> None:
    target = to.type_of(op.to.type, op)
    _check_signed(op, _format(target), to)
    kind = arith.SIToFP if is_signed(op) else arith.UIToFP
    to.replace(op, to.emit(kind(to[op.from_], out=target)).out)


# -- integers


@handles(ct.ExtI)
def _extend(op: ct.ExtI, to: Lowering) -> None:
    kind = arith.ExtSI if is_signed(op) else arith.ExtUI
    to.replace(op, to.emit(kind(to[op.from_], out=to.type_of(op.to.type, op))).out)


@handles(ct.TruncI)
def _truncate(op: ct.TruncI, to: Lowering) -> None:
    target = to.type_of(op.to.type, op)
    to.replace(op, to.emit(arith.TruncI(to[op.from_], overflow_flags=overflow_flags(op), out=target)).out)


# -- bits


@handles(ct.Bitcast)
def _bitcast(op: ct.Bitcast, to: Lowering) -> None:
    value, target = to[op.source], to.type_of(op.result.type, op)
    to.replace(op, value if value.type is target else to.emit(arith.Bitcast(value, out=target)).out)


@handles(ct.IntToPtr)
def _int_to_ptr(op: ct.IntToPtr, to: Lowering) -> None:
    to.replace(op, to.emit(aa.IntToPtr(to[op.source], out=to.type_of(op.result.type, op))).out)


@handles(ct.PtrToInt)
def _ptr_to_int(op: ct.PtrToInt, to: Lowering) -> None:
    to.replace(op, to.emit(aa.PtrToInt(to[op.source], out=to.type_of(op.result.type, op))).out)


@handles(ct.PtrToPtr)
def _ptr_to_ptr(op: ct.PtrToPtr, to: Lowering) -> None:
    """No op: pointers are opaque."""
    to.replace(op, to[op.source])


@handles(ct.Pack)
def _pack(op: ct.Pack, to: Lowering) -> None:
    to.replace(op, to.emit(aa.Pack(to[op.source], res=to.type_of(op.result.type, op))).res)


@handles(ct.Unpack)
def _unpack(op: ct.Unpack, to: Lowering) -> None:
    to.replace(op, to.emit(aa.Unpack(to[op.source], res=to.type_of(op.result.type, op))).res)
