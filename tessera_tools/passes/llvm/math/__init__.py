"""The elementary functions, which NVPTX lacks or has as approximations only.

    f32, f64    by the formulas of the modules here, without tables or calls
    f16, bf16   in f32, then rounded; a remainder is exact
    `afn`       the hardware's approximations instead (approximations.py)

Errors in units of the last place, as found for 2^28 numbers of f32 spread over all, and 2^21 of f64:

    exp, exp2 1.0    log 0.9    log2 1.6    pow 1.3    sin, cos 0.9    tan 1.7
    sinh 1.6    cosh 1.5    tanh 1.4    atan2 1.5

In f32, exp2 and rsqrt are instructions, whose errors are at most 2 units (CUDA C++ Programming Guide, "Mathematical
Functions": exp2f, rsqrtf, which are these instructions).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F16, F32, F64, I8, IntegerType
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, fastmath_of, intrinsic
from tessera_tools.passes.llvm.math import angles, exponentials, logarithms
from tessera_tools.passes.llvm.math.approximations import APPROXIMATIONS
from tessera_tools.passes.llvm.math.numbers import Number
from tessera_tools.passes.llvm.math.remainder import remainder


def _function(formula: Callable[..., Number]) -> Scalar:
    """A function of floats of f32 or f64, also for the narrow formats."""

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        if type is F32 or type is F64:
            return formula(*(Number(e, value) for value in operands)).value
        wide = [Number(e, value) for value in operands]
        result = formula(*(x.make(llvm.FPExt, (x,), F32) for x in wide))
        return result.make(llvm.FPTrunc, (result,), type).value

    return scalar


def _approximable(name: str, exact: Scalar) -> Scalar:
    """A function that is approximated where the op's fastmath allows it; f64 never is."""
    approximate = _function(APPROXIMATIONS[name])

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        allowed = type is not F64 and "afn" in fastmath_of(op)
        return (approximate if allowed else exact)(e, op, operands, type)

    return scalar


def _angle(formula: Callable[[Number, float], Number]) -> Scalar:
    """A function of an angle: an f16 is never so large that its reduction is long."""

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        most = 65504.0 if type is F16 else math.inf
        return _function(lambda x: formula(x, most))(e, op, operands, type)

    return scalar


def _instruction(name: str, formula: Callable[[Number], Number]) -> Scalar:
    """The hardware's instruction in f32, where it is within 2 units of the last place; the formula in f64."""

    def instruction(x: Number) -> Number:
        if x.type is F64:
            return formula(x)
        return Number(x.e, intrinsic(x.e, name, [x.value], F32))

    return _function(instruction)


def _power_of_integer(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    base, exponent = operands
    n = Number(e, exponent)
    assert isinstance(exponent.type, IntegerType)
    if exponent.type.width < I8.width:
        n = n.resized(I8, signed=True)
    scalar: Any = _function(lambda x: logarithms.powi(x, n))
    return scalar(e, op, [base], type)


MATH: dict[str, Scalar] = {
    "arith.remf": _function(remainder),
    "math.exp": _approximable("math.exp", _function(exponentials.exp)),
    "math.exp2": _instruction("llvm.nvvm.ex2.approx.f32", exponentials.exp2),
    "math.rsqrt": _instruction("llvm.nvvm.rsqrt.approx.f", lambda x: 1.0 / x.sqrt()),
    "math.sinh": _function(exponentials.sinh),
    "math.cosh": _function(exponentials.cosh),
    "math.tanh": _approximable("math.tanh", _function(exponentials.tanh)),
    "math.log": _approximable("math.log", _function(logarithms.log)),
    "math.log2": _approximable("math.log2", _function(logarithms.log2)),
    "math.powf": _function(logarithms.pow),
    "math.fpowi": _power_of_integer,
    "math.sin": _approximable("math.sin", _angle(angles.sin)),
    "math.cos": _approximable("math.cos", _angle(angles.cos)),
    "math.tan": _angle(angles.tan),
    "math.atan2": _function(angles.atan2),
}
"""How each op works on scalars."""
