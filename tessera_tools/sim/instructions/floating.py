"""Floating-point arithmetic (PTX ISA, "Floating Point Instructions"): add, sub, mul, fma, min, max, neg, abs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import computed, elementwise

_UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.fmin, "max": np.fmax}


def arithmetic(ctx: Context) -> Execute:
    """add/sub/mul/min/max.type d, a, b, and mad as fma, to nearest even."""
    opcode = ctx.inst.opcode
    if opcode == "mad":
        return fma(ctx)
    ctx.flag("rn")
    type = ctx.type("f16", "f32", "f64")
    target, first, second = ctx.operands(3)
    return elementwise(
        _UFUNCS[opcode], ctx.write(target, type), ctx.read(first, type), ctx.read(second, type)
    )


@instruction("fma")
def fma(ctx: Context) -> Execute:
    """fma.rn.f32 d, a, b, c: one rounding. The sum in float64 is rounded to odd, so that the last rounding is right."""
    ctx.choose("rn", default="rn")
    type = ctx.type("f32")
    target, first, second, third = ctx.operands(4)
    a, b, c = (ctx.read(operand, type) for operand in (first, second, third))
    return computed(fused_f32, ctx.write(target, type), a, b, c)


def fused_f32(x: Any, y: Any, z: Any) -> Any:
    """a·b + c in one rounding to float32."""
    product = x.astype(np.float64) * y  # exact: 24 + 24 bits
    addend = z.astype(np.float64)
    total = product + addend
    # The error of the sum (Knuth's two-sum), then round to odd: the last bit says that something was lost.
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    bits = total.view(np.int64)
    inexact = (lost != 0) & np.isfinite(total) & (bits & 1 == 0)
    away = np.where((lost > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + away, bits).view(np.float64).astype(np.float32)
