"""nv_tileaa's arithmetic: rounding modes, approximations and flushing to zero, by NVVM's intrinsics.

f32, f64  → llvm.nvvm.add.rz.ftz.f, …: one PTX instruction
f16, bf16 → in f32 by the same directed mode, then narrowed by it
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.attributes import FastmathFlagsAttr
from tessera_tools.dialects.nv_tileaa.arithmetic import mode_of
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, F64, I16
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, intrinsic
from tessera_tools.passes.llvm.math.numbers import Number

_MODES = {
    "nearest_even": "rn", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp", "approx": "approx", "full": "full",
}  # fmt: skip


def _rounded(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    mode = _MODES[mode_of(op)]
    if type is F32 or type is F64:
        return _instruction(e, op, mode, operands, type)
    # Directed rounding composes: f32 represents all numbers of the narrow format, so the greatest narrow number
    # below x is the greatest narrow number below the greatest f32 below x (and likewise for the least one above).
    wide = [Number(e, value) for value in operands]
    wide = [x.make(llvm.FPExt, (x,), F32) for x in wide]
    return narrowed(Number(e, _instruction(e, op, mode, [x.value for x in wide], F32)), mode, type).value


def narrowed(x: Number, mode: str, type: Type) -> Number:
    """An f32 as f16 or bf16, rounded by `rz`, `rm` or `rp`: the nearest number, or its neighbor if that is on the
    wrong side of x.  cvt supports `rm` and `rp` only for f16.

    The neighbor away from zero is the next bit pattern, the one toward zero the previous; a zero on the wrong side has
    the sign of x, so its neighbor is always the one away from zero.
    """
    nearest = x.make(llvm.FPTrunc, (x,), type)
    back = nearest.make(llvm.FPExt, (nearest,), F32)
    bits = nearest.make(llvm.Bitcast, (nearest,), I16)
    if mode == "rz":
        return (abs(back) > abs(x)).choose(bits - 1, bits).bitcast(type)
    wrong = back > x if mode == "rm" else back < x
    negative = bits < 0
    step = negative.choose(bits.of(1), -1) if mode == "rm" else negative.choose(bits.of(-1), 1)
    return wrong.choose(bits + step, bits).bitcast(type)


def _instruction(e: Emitter, op: Operation, mode: str, operands: Sequence[Value], type: Type) -> Value:
    stem = op.name.partition(".")[2].removesuffix("f")
    if stem == "sub":
        # a - b = a + (-b) in every rounding mode.
        operands = [operands[0], (-Number(e, operands[1])).value]
        stem = "add"
    flush = ".ftz" if "flush_to_zero" in op.attributes else ""
    suffix = "" if mode == "full" else ".f" if type is F32 else ".d"
    return intrinsic(e, f"llvm.nvvm.{stem}.{mode}{flush}{suffix}", operands, type)


def _exp(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """2^(x · log2 e)."""
    (x,) = operands
    scaled = Number(e, x) * (1 / math.log(2))
    return intrinsic(e, "llvm.nvvm.ex2.approx.f32", [scaled.value], type)


def _tanh(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """LLVM's intrinsic with `afn`: tanh.approx."""
    (x,) = (Number(e, value) for value in operands)
    return x.make(llvm.Tanh, (x,), fastmathFlags=FastmathFlagsAttr("afn")).value


def _exp2(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return intrinsic(e, "llvm.nvvm.ex2.approx.ftz.f32", operands, type)


def _rsqrt(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    return intrinsic(e, "llvm.nvvm.rsqrt.approx.ftz.f", operands, type)


def _extremum(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    which = "fmax" if op.name == "nv_tileaa.maxf" else "fmin"
    nan = ".nan" if "propagate_nan" in op.attributes else ""
    return intrinsic(e, f"llvm.nvvm.{which}.ftz{nan}.f", operands, type)


ROUNDED: dict[str, Scalar] = {
    "nv_tileaa.addf": _rounded,
    "nv_tileaa.subf": _rounded,
    "nv_tileaa.mulf": _rounded,
    "nv_tileaa.divf": _rounded,
    "nv_tileaa.fma": _rounded,
    "nv_tileaa.sqrt": _rounded,
    "nv_tileaa.exp": _exp,
    "nv_tileaa.tanh": _tanh,
    "nv_tileaa.exp2": _exp2,
    "nv_tileaa.rsqrt": _rsqrt,
    "nv_tileaa.maxf": _extremum,
    "nv_tileaa.minf": _extremum,
}
"""The lowering of each op on scalars."""
