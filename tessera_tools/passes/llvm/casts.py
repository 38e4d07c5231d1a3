"""Casts between number formats and widths, on scalars; `elementwise` applies them to tiles.

LLVM's casts if they round once and correctly on every target; otherwise integer arithmetic (float_formats.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import llvm
from tessera_tools.dialects.arith.attributes import NEAREST_EVEN, rounding_mode_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I32,
    TF32,
    FloatType,
    IntegerType,
    bit_width,
    element_type,
)
from tessera_tools.passes.llvm import float_formats as formats
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, place
from tessera_tools.passes.llvm.tiles import is_sub_byte, without_high_bits

_EXACT_BITS = 24
"""Integers of at most this many bits are exact in f32."""


def _elements(op: Operation) -> tuple[Type, Type]:
    return element_type(op.operands[0].type), element_type(op.results[0].type)


# -- floats


def plain_float(e: Emitter, value: Value, element: Type) -> Value:
    """The number in a format that LLVM supports: f16, bf16, f32 or f64; other formats are converted to f32."""
    if element is TF32:
        return e.bitcast(e.constant(e.and_(e.bitcast(value, I32), formats.TF32_BITS)), F32)
    if formats.is_narrow(element):
        assert isinstance(element, FloatType)
        return formats.widened(e, value, element)
    return value


def _float_to_float(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """arith.extf and arith.truncf, and nv_tileaa.truncf_satfinite."""
    source, target = _elements(op)
    assert isinstance(source, FloatType) and isinstance(target, FloatType)
    mode, saturate = rounding_mode_of(op), op.name == "nv_tileaa.truncf_satfinite"
    return rounded(e, plain_float(e, operands[0], source), target, mode, saturate=saturate)


def rounded(
    e: Emitter, value: Value, target: FloatType, mode: str = NEAREST_EVEN, *, saturate: bool = False
) -> Value:
    """A number of f16, bf16, f32 or f64 in any format, rounded once."""
    old = value.type
    if old is target:
        return value
    if target is F64 or (target is F32 and old is not F64):
        return place(e, llvm.FPExt, [value], target)
    nearest = mode == NEAREST_EVEN and not saturate
    if nearest and (target in (F16, F32) or (target is BF16 and old is F32)):
        return place(e, llvm.FPTrunc, [value], target)
    if target is F32:
        return formats.double_to_single(e, value, mode)
    if old is F64:
        value = formats.rounded_to_odd(e, value)
    elif old is not F32:
        value = place(e, llvm.FPExt, [value], F32)
    if nearest and target is BF16:
        return place(e, llvm.FPTrunc, [value], target)
    return formats.narrowed(e, value, target, mode, saturate=saturate)


# -- integers


def _integer(e: Emitter, value: Value, element: Type, *, signed: bool) -> Value:
    """An integer in its register type: an i4 as an i8 of that value."""
    if signed and is_sub_byte(element):
        up = I8.width - bit_width(element)
        return e.ashr(e.shl(value, up, I8), up, I8)
    return value


def _resize(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """arith.extsi, arith.extui, arith.trunci."""
    source, target = _elements(op)
    assert isinstance(type, IntegerType)
    signed = op.name == "arith.extsi"
    value = e.resized(_integer(e, operands[0], source, signed=signed), type, signed=signed)
    return without_high_bits(e, value, target)


def _index_cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    assert isinstance(type, IntegerType)
    return e.resized(operands[0], type, signed=not op.name.endswith("ui"))


def _from_integer(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """arith.sitofp, arith.uitofp."""
    source, target = _elements(op)
    assert isinstance(target, FloatType)
    signed = op.name == "arith.sitofp"
    if bit_width(source) == 1:
        # LLVM 22 converts a true i1, as signed, to +1 for bf16 on targets with such an instruction.
        wide = target if target in (F16, BF16, F32, F64) else F32
        one = e.either(operands[0], e.constant(-1.0 if signed else 1.0, wide), e.constant(0.0, wide))
        return one if wide is target else rounded(e, one, target)
    value = _integer(e, operands[0], source, signed=signed)
    cls = llvm.SIToFP if signed else llvm.UIToFP
    if target in (F16, F32, F64):
        return place(e, cls, [value], target)
    if bit_width(source) < _EXACT_BITS:
        return rounded(e, place(e, cls, [value], F32), target)
    return rounded(e, formats.odd_double(e, value, signed=signed), target)


def _to_integer(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """arith.fptosi, arith.fptoui: poison if the number does not fit."""
    source, target = _elements(op)
    cls = llvm.FPToSI if op.name == "arith.fptosi" else llvm.FPToUI
    value = plain_float(e, operands[0], source)
    if type is I1:
        # LLVM's cast to i1 compares with 1 or -1, and does not truncate other numbers to them.
        return e.resized(place(e, cls, [value], I32), I1)
    return without_high_bits(e, place(e, cls, [value], type), target)


# -- bits


def _bitcast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return e.bitcast(operands[0], type)


def _int_to_ptr(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return e.pure(("inttoptr", type), operands, lambda: llvm.IntToPtr(operands[0], res=type))


def _ptr_to_int(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return e.pure(("ptrtoint", type), operands, lambda: llvm.PtrToInt(operands[0], res=type))


CASTS: dict[str, Scalar] = {
    "arith.extf": _float_to_float,
    "arith.truncf": _float_to_float,
    "nv_tileaa.truncf_satfinite": _float_to_float,
    "arith.extsi": _resize,
    "arith.extui": _resize,
    "arith.trunci": _resize,
    "arith.sitofp": _from_integer,
    "arith.uitofp": _from_integer,
    "arith.fptosi": _to_integer,
    "arith.fptoui": _to_integer,
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
    "nv_tileaa.int_to_ptr": _int_to_ptr,
    "nv_tileaa.ptr_to_int": _ptr_to_int,
}
"""The lowering of each cast on scalars."""

__all__ = ["CASTS", "plain_float", "rounded"]
