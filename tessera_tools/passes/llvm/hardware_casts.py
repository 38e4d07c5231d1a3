"""Casts of narrow floats by the hardware's instructions, where the target has them (PTX ISA, "cvt").

    f32  ──cvt.rn.satfinite.e4m3x2.f32 d, 0, x──▶  i16, of which the low byte is the code
    code ──cvt.rn.f16x2.e4m3x2──▶                  f16x2, of which the low half is the number

They give the bits that float_formats.py gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import (
    F16,
    F32,
    F64,
    I8,
    I32,
    TF32,
    FloatType,
    IntegerType,
    VectorType,
    element_type,
)
from tessera_tools.passes.llvm import float_formats as formats
from tessera_tools.passes.llvm.casts import mode_of, plain_float, rounded
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, intrinsic, place
from tessera_tools.passes.llvm.tiles import without_high_bits
from tessera_tools.target import Feature, Target

I16 = IntegerType(16)
_NARROWING = {
    ("f8E4M3FN", "to_nearest_even"): ("llvm.nvvm.ff.to.e4m3x2.rn", Feature.CVT_FP8),
    ("f8E5M2", "to_nearest_even"): ("llvm.nvvm.ff.to.e5m2x2.rn", Feature.CVT_FP8),
    ("f4E2M1FN", "to_nearest_even"): ("llvm.nvvm.ff.to.e2m1x2.rn.satfinite", Feature.CVT_FP4),
    ("f8E8M0FNU", "toward_zero"): ("llvm.nvvm.ff.to.ue8m0x2.rz.satfinite", Feature.CVT_FP4),
    ("f8E8M0FNU", "upward"): ("llvm.nvvm.ff.to.ue8m0x2.rp.satfinite", Feature.CVT_FP4),
}
"""(format, rounding mode) → LLVM's intrinsic, which saturates, and the feature that it needs."""
_WIDENING = {
    "f8E4M3FN": ("llvm.nvvm.e4m3x2.to.f16x2.rn", Feature.CVT_FP8),
    "f8E5M2": ("llvm.nvvm.e5m2x2.to.f16x2.rn", Feature.CVT_FP8),
    "f4E2M1FN": ("llvm.nvvm.e2m1x2.to.f16x2.rn", Feature.CVT_FP4),
}
"""Format → LLVM's intrinsic, and the feature that it needs."""


_TO_TF32 = ("llvm.nvvm.f2tf32.rn", Feature.CVT_RN_TF32)


def hardware_cast(op: Operation, target: Target) -> Scalar | None:
    """How a cast works on scalars of a target that has an instruction for it; None where there is none."""
    if op.name == "nv_tileaa.truncf_satfinite":
        found = _NARROWING.get((str(element_type(op.results[0].type)), mode_of(op)))
        made = _narrowing
    elif op.name == "arith.truncf" and element_type(op.results[0].type) is TF32:
        found = _TO_TF32 if mode_of(op) == "to_nearest_even" else None
        made = _to_tf32
    elif op.name in ("arith.extf", "arith.truncf"):
        found = _WIDENING.get(str(element_type(op.operands[0].type)))
        made = _widening
    else:
        return None
    if found is None or not target.has(found[1]):
        return None
    return made(found[0])


def _narrowing(name: str) -> Scalar:
    def cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        pair = intrinsic(e, name, [e.constant(0.0, F32), _as_f32(e, op, operands[0])], I16)
        return without_high_bits(e, e.resized(pair, I8), element_type(op.results[0].type))

    return cast


def _as_f32(e: Emitter, op: Operation, operand: Value) -> Value:
    """The number as an f32: exact, or rounded to odd."""
    value = plain_float(e, operand, element_type(op.operands[0].type))
    if value.type is F64:
        return formats.rounded_to_odd(e, value)
    return value if value.type is F32 else place(e, llvm.FPExt, [value], F32)


def _to_tf32(name: str) -> Scalar:
    def cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        return e.bitcast(intrinsic(e, name, [_as_f32(e, op, operands[0])], I32), F32)

    return cast


def _widening(name: str) -> Scalar:
    def cast(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        target = element_type(op.results[0].type)
        assert isinstance(target, FloatType)
        pair = intrinsic(e, name, [e.resized(operands[0], I16)], VectorType((2,), F16))
        return rounded(e, e.elements(pair, 2, F16)[0], target, mode_of(op))

    return cast
