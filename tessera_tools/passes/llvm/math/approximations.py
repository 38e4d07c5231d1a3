"""The hardware's approximations, for ops whose `fastmath` has `afn` (or is `fast`): one instruction each, in f32.

    exp x    ex2.approx(x · log2 e)       sin, cos    sin.approx, cos.approx: 2^-20.5 of 1 between -π and π
    log x    lg2.approx(x) · ln 2         tanh        tanh.approx: a relative error of 2^-11
    log2     lg2.approx                   divf, sqrt  div.approx, sqrt.approx: LLVM's, from the flag

PTX ISA, "ex2", "lg2", "sin", "cos", "tanh".  In f16 and bf16 the function is that of f32, rounded once more; f64 has
no approximations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tessera_tools.dialects import llvm
from tessera_tools.dialects.llvm.attributes import FastmathFlagsAttr
from tessera_tools.passes.llvm.instructions import intrinsic
from tessera_tools.passes.llvm.math.numbers import Number


def _called(name: str, x: Number) -> Number:
    return Number(x.e, intrinsic(x.e, name, [x.value], x.type))


def _exp(x: Number) -> Number:
    return _called("llvm.nvvm.ex2.approx.f32", x * (1 / math.log(2)))


def _log2(x: Number) -> Number:
    return _called("llvm.nvvm.lg2.approx.f", x)


def _log(x: Number) -> Number:
    return _log2(x) * math.log(2)


def _sin(x: Number) -> Number:
    return _called("llvm.nvvm.sin.approx.f", x)


def _cos(x: Number) -> Number:
    return _called("llvm.nvvm.cos.approx.f", x)


def _tanh(x: Number) -> Number:
    return x.make(llvm.Tanh, (x,), fastmathFlags=FastmathFlagsAttr("afn"))


APPROXIMATIONS: dict[str, Callable[[Number], Number]] = {
    "math.exp": _exp,
    "math.log": _log,
    "math.log2": _log2,
    "math.sin": _sin,
    "math.cos": _cos,
    "math.tanh": _tanh,
}
"""Name of an op → its approximation on an f32."""
