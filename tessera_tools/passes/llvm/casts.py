"""Casts between number formats and widths, on scalars; `elementwise` applies them to tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, F64, I32, TF32, IntegerType, element_type
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, place

_CASTS: dict[str, Any] = {
    "arith.extf": llvm.FPExt, "arith.truncf": llvm.FPTrunc, "arith.extsi": llvm.SExt, "arith.extui": llvm.ZExt,
    "arith.trunci": llvm.Trunc, "arith.sitofp": llvm.SIToFP, "arith.uitofp": llvm.UIToFP, "arith.fptosi": llvm.FPToSI,
    "arith.fptoui": llvm.FPToUI,
}  # fmt: skip
TF32_DROPPED = 13
"""Low bits of an f32 that a tf32 does not have."""
TF32_BITS = 0xFFFFFFFF & -(1 << TF32_DROPPED)


def _cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    source, target = element_type(op.operands[0].type), element_type(op.results[0].type)
    operand = operands[0]
    if source is TF32:
        # In memory the low bits may be anything.
        operand = _bits(e, operand, lambda bits: e.and_(bits, TF32_BITS))
    if target is TF32:
        if source is F64:
            raise op.error("rounds f64 to tf32, which takes two steps; round to f32 first")
        return (
            _round_to_tf32(e, _cast_to(e, op, operand, F32))
            if source is F32
            else _cast_to(e, op, operand, F32)
        )
    return _cast_to(e, op, operand, type)


def _cast_to(e: Emitter, op: Operation, operand: Value, type: Type) -> Value:
    return operand if operand.type is type else place(e, _CASTS[op.name], [operand], type)


def _bits(e: Emitter, value: Value, change: Callable[[Value], Any]) -> Value:
    """An f32 whose bits are changed."""
    return e.bitcast(e.constant(change(e.bitcast(value, I32))), F32)


def _round_to_tf32(e: Emitter, value: Value) -> Value:
    """To the nearest tf32, ties to even; cvt.rn.tf32 is younger than the oldest target."""

    def rounded(bits: Value) -> Any:
        odd = e.and_(e.lshr(bits, TF32_DROPPED), 1)
        nearest = e.and_(e.add(e.add(bits, (1 << TF32_DROPPED - 1) - 1), odd), TF32_BITS)
        is_nan = e.icmp("ugt", e.and_(bits, 0x7FFFFFFF), 0x7F800000)
        return e.select(is_nan, 0x7FFFFFFF & TF32_BITS, nearest)

    return _bits(e, value, rounded)


def _bitcast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return e.bitcast(operands[0], type)


def _index_cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    assert isinstance(type, IntegerType)
    return e.resized(operands[0], type, signed=not op.name.endswith("ui"))


CASTS: dict[str, Scalar] = {
    **dict.fromkeys(_CASTS, _cast),
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _index_cast,
}
"""How each cast works on scalars."""
