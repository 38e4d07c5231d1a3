"""Casts of narrow floats by instructions of the hardware, if the target supports them (PTX ISA, "cvt").

    f32 a, b       ──cvt.rn.satfinite.e4m3x2.f32 d, b, a──▶   i16, a's code in the low byte
    codes in i16   ──cvt.rn.f16x2.e4m3x2──▶                   f16x2, the number of the low byte in the low half

Two elements are converted at once; a scalar is paired with 0.  The results are the same as those of float_formats.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tessera_tools.dialects import llvm
from tessera_tools.dialects.arith.attributes import NEAREST_EVEN, rounding_mode_of
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import (
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    TF32,
    FloatType,
    RankedTensorType,
    VectorType,
    bit_width,
    element_type,
)
from tessera_tools.passes.llvm import float_formats as formats
from tessera_tools.passes.llvm.casts import plain_float, rounded
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import intrinsic, place
from tessera_tools.passes.llvm.lowering import Lowering
from tessera_tools.passes.llvm.tiles import Tile, without_high_bits
from tessera_tools.target import Feature


def hardware_cast(low: Lowering, op: Operation) -> bool:
    """Lower a cast to the target's instruction; False if there is none."""
    found = _instruction(op)
    if found is None or not low.target.has(found.feature):
        return False
    e, result = low.e, op.results[0]
    if isinstance(result.type, RankedTensorType):
        values = low.tile(op.operands[0]).elements(e)
        low.define(result, Tile(result.type, found.make(e, op, found.name, values)))
    else:
        low.define(result, found.make(e, op, found.name, [low.scalar(op.operands[0])])[0])
    return True


def _instruction(op: Operation) -> _Instruction | None:
    if op.name == "nv_tileaa.truncf_satfinite":
        return _NARROWING.get((str(element_type(op.results[0].type)), rounding_mode_of(op)))
    if op.name not in ("arith.extf", "arith.truncf"):
        return None
    if element_type(op.results[0].type) is TF32:
        return _TO_TF32 if op.name == "arith.truncf" and rounding_mode_of(op) == NEAREST_EVEN else None
    return _WIDENING.get(str(element_type(op.operands[0].type)))


def _as_f32(e: Emitter, op: Operation, value: Value) -> Value:
    """The number as an f32: exact, or rounded to odd."""
    value = plain_float(e, value, element_type(op.operands[0].type))
    if value.type is F64:
        return formats.rounded_to_odd(e, value)
    return value if value.type is F32 else place(e, llvm.FPExt, [value], F32)


def _to_tf32(e: Emitter, op: Operation, name: str, values: Sequence[Value]) -> list[Value]:
    return [e.bitcast(intrinsic(e, name, [_as_f32(e, op, value)], I32), F32) for value in values]


def _pairs(values: Sequence[Value], filler: Value) -> list[tuple[Value, Value]]:
    """Pairs of adjacent values; a single last one is paired with the filler."""
    padded = [*values, filler] if len(values) % 2 else list(values)
    return list(zip(padded[::2], padded[1::2], strict=True))


def _narrowing(e: Emitter, op: Operation, name: str, values: Sequence[Value]) -> list[Value]:
    element = element_type(op.results[0].type)
    made: list[Value] = []
    for low, high in _pairs([_as_f32(e, op, v) for v in values], e.constant(0.0, F32)):
        pair = intrinsic(e, name, [high, low], I16)
        upper = e.constant(e.lshr(pair, bit_width(element), I16), I16)
        made += [without_high_bits(e, e.resized(part, I8), element) for part in (pair, upper)]
    return made[: len(values)]


def _widening(e: Emitter, op: Operation, name: str, values: Sequence[Value]) -> list[Value]:
    source, target = (element_type(v.type) for v in (op.operands[0], op.results[0]))
    assert isinstance(target, FloatType)
    made: list[Value] = []
    for low, high in _pairs(values, e.constant(0, I8)):
        upper = e.shl(e.resized(high, I16), bit_width(source), I16)
        codes = e.constant(e.or_(e.resized(low, I16), upper, I16), I16)
        pair = intrinsic(e, name, [codes], VectorType((2,), F16))
        made += [rounded(e, half, target, rounding_mode_of(op)) for half in e.elements(pair, 2, F16)]
    return made[: len(values)]


class _Instruction(NamedTuple):
    """LLVM's intrinsic, the feature that it requires, and the function that calls it for the values of several
    registers."""

    name: str
    feature: Feature
    make: Callable[[Emitter, Operation, str, Sequence[Value]], list[Value]]


_NARROWING = {
    key: _Instruction(f"llvm.nvvm.ff.to.{name}", feature, _narrowing)
    for key, name, feature in (
        (("f8E4M3FN", "to_nearest_even"), "e4m3x2.rn", Feature.CVT_FP8),
        (("f8E5M2", "to_nearest_even"), "e5m2x2.rn", Feature.CVT_FP8),
        (("f4E2M1FN", "to_nearest_even"), "e2m1x2.rn.satfinite", Feature.CVT_FP4),
        (("f8E8M0FNU", "toward_zero"), "ue8m0x2.rz.satfinite", Feature.CVT_FP4),
        (("f8E8M0FNU", "upward"), "ue8m0x2.rp.satfinite", Feature.CVT_FP4),
    )
}
"""By format and rounding mode; all of them saturate."""
_WIDENING = {
    key: _Instruction(f"llvm.nvvm.{name}.to.f16x2.rn", feature, _widening)
    for key, name, feature in (
        ("f8E4M3FN", "e4m3x2", Feature.CVT_FP8),
        ("f8E5M2", "e5m2x2", Feature.CVT_FP8),
        ("f4E2M1FN", "e2m1x2", Feature.CVT_FP4),
    )
}
_TO_TF32 = _Instruction("llvm.nvvm.f2tf32.rn", Feature.CVT_RN_TF32, _to_tf32)
