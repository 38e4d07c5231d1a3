"""The elementary functions that NVPTX lacks, or supports only as approximations.

    f32, f64    by the formulas of the modules here, without tables or calls
    f16, bf16   in f32, then rounded; a remainder is exact
    `afn`       the hardware's approximations instead (approximations.py)

Errors in units of the last place, measured for 2^28 numbers of f32 and 2^21 of f64:

    exp, exp2 1.0 (f64)    log 0.9    log2 1.6    pow 1.3    sin, cos 0.9    tan 1.7
    sinh 1.6    cosh 1.5    tanh 1.4 (f64)    atan2 1.5

The functions of inverses.py and errors.py have errors of up to 4 units in the tests.

In f32, exp2 and rsqrt are instructions, whose errors are at most 2 units, and exp and tanh use them: 1 and 2 units
(CUDA C++ Programming Guide, "Mathematical Functions": exp2f, rsqrtf, expf, tanhf, which compute the same).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tessera_tools.dialects import llvm
from tessera_tools.ir.attributes import Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F16, F32, F64, I1, I8, IntegerType
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.instructions import Scalar, fastmath_of, intrinsic
from tessera_tools.passes.llvm.math import angles, errors, exponentials, inverses, logarithms
from tessera_tools.passes.llvm.math.approximations import APPROXIMATIONS
from tessera_tools.passes.llvm.math.numbers import Number
from tessera_tools.passes.llvm.math.remainder import remainder


def _function(formula: Callable[..., Number]) -> Scalar:
    """A function of f32 or f64, also applied to the narrow formats."""

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        if type is F32 or type is F64:
            return formula(*(Number(e, value) for value in operands)).value
        wide = [Number(e, value) for value in operands]
        result = formula(*(x.make(llvm.FPExt, (x,), F32) for x in wide))
        return result.make(llvm.FPTrunc, (result,), type).value

    return scalar


def _approximable(name: str, exact: Scalar) -> Scalar:
    """A function that is approximated if the op's fastmath flags allow it, except for f64."""
    approximate = _function(APPROXIMATIONS[name])

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        allowed = type is not F64 and "afn" in fastmath_of(op)
        return (approximate if allowed else exact)(e, op, operands, type)

    return scalar


def _angle(formula: Callable[[Number, float], Number]) -> Scalar:
    """A function of an angle: an f16 is never large enough for the expensive reduction."""

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        most = 65504.0 if type is F16 else math.inf
        return _function(lambda x: formula(x, most))(e, op, operands, type)

    return scalar


def _instruction(name: str, formula: Callable[[Number], Number]) -> Scalar:
    """The hardware's instruction in f32, if its error is at most 2 units of the last place; the formula in f64."""

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
    scalar = _function(lambda x: logarithms.powi(x, n))
    return scalar(e, op, [base], type)


def _test(formula: Callable[[Number, float], Number]) -> Scalar:
    """A predicate on a float; a narrow format is converted to f32.  The formula also receives the least
    normal number of the format."""

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        x = Number(e, operands[0])
        least = 2.0 ** {F16: -14, F64: -1022}.get(x.type, -126)
        wide = x if x.type in (F32, F64) else x.make(llvm.FPExt, (x,), F32)
        return formula(wide, least).value

    return scalar


def _count(name: str) -> Scalar:
    """A count of bits; the number of zeros of 0 is the width."""

    def scalar(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
        defined = [] if name == "llvm.ctpop" else [e.constant(0, I1)]
        return intrinsic(e, name, [*operands, *defined], type)

    return scalar


def _integer_power(e: Emitter, op: Operation, operands: Sequence[Value], type: Type) -> Value:
    """By squaring, for each bit of the exponent; with a negative exponent, only 1 and -1 have a nonzero result."""
    base, exponent = (Number(e, value) for value in operands)
    assert isinstance(type, IntegerType)
    result, square = base.of(1), base
    for bit in range(type.width - 1):
        result = (exponent & (1 << bit)).equals(0).choose(result, result * square)
        square = square * square
    odd = (exponent & 1).equals(1)
    unit = base.equals(-1).choose(
        odd.choose(base.of(-1), base.of(1)), base.equals(1).choose(base.of(1), base.of(0))
    )
    return (exponent < 0).choose(unit, result).value


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
    "math.asin": _function(inverses.asin),
    "math.acos": _function(inverses.acos),
    "math.atan": _function(inverses.atan),
    "math.asinh": _function(inverses.asinh),
    "math.acosh": _function(inverses.acosh),
    "math.atanh": _function(inverses.atanh),
    "math.cbrt": _function(inverses.cbrt),
    "math.expm1": _function(inverses.expm1),
    "math.log1p": _function(inverses.log1p),
    "math.log10": _function(inverses.log10),
    "math.erf": _function(errors.erf),
    "math.erfc": _function(errors.erfc),
    "math.round": _function(inverses.round_half_away),
    "math.roundeven": _function(lambda x: x.make(llvm.RoundEven, (x,))),
    "math.trunc": _function(Number.truncated),
    "math.copysign": _function(Number.with_sign_of),
    "math.clampf": _function(
        lambda x, low, high: x.make(llvm.Minimum, (x.make(llvm.Maximum, (x, low)), high))
    ),
    "math.isfinite": _test(lambda x, least: abs(x) < math.inf),
    "math.isinf": _test(lambda x, least: abs(x).equals(math.inf)),
    "math.isnan": _test(lambda x, least: x.is_nan()),
    "math.isnormal": _test(lambda x, least: (abs(x) < math.inf) & (abs(x) >= least)),
    "math.ipowi": _integer_power,
    "math.ctlz": _count("llvm.ctlz"),
    "math.cttz": _count("llvm.cttz"),
    "math.ctpop": _count("llvm.ctpop"),
}
"""The lowering of each op on scalars."""
