"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions")."""

from __future__ import annotations

import numpy as np

from tessera_tools.sim.arrays import Array, OfRows
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions import floating, integer_more
from tessera_tools.sim.instructions.common import computed, elementwise
from tessera_tools.sim.types import TYPES, UNSIGNED

_INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")


def _types(ctx: Context) -> str:
    return next((m for m in ctx.remaining() if m in TYPES), "")


def is_integer(ctx: Context) -> bool:
    """True if the instruction's type is one of the plain integers."""
    return _types(ctx) in _INTEGERS


@instruction("add", "sub", "mul", "mad", "min", "max")
def arithmetic(ctx: Context) -> Execute:
    """add, sub, mul, mad, min, max: integer types here, all other types in the floating-point family."""
    if _types(ctx) in ("u16x2", "s16x2"):
        return integer_more.packed(ctx)
    if any(modifier == "cc" for modifier in ctx.remaining()):
        return integer_more.carried(ctx)
    if not is_integer(ctx):
        return floating.arithmetic(ctx)
    return {"add": _add, "sub": _add, "mul": _mul, "mad": _mul, "min": _min, "max": _min}[ctx.inst.opcode](
        ctx
    )


def _add(ctx: Context) -> Execute:
    """add/sub{.sat}.type d, a, b: modulo 2^n; .sat clamps .s32."""
    saturate = ctx.flag("sat")
    type = ctx.type()
    target, first, second = ctx.operands(3)
    a, b, d = ctx.read(first, type), ctx.read(second, type), ctx.write(target, type)
    ufunc = np.add if ctx.inst.opcode == "add" else np.subtract
    if not saturate:
        return elementwise(ufunc, d, a, b)
    if type.name != "s32":
        raise ctx.error("saturates a type other than .s32")

    def clamp(x: Array, y: Array) -> Array:
        return np.clip(ufunc(x.astype(np.int64), y.astype(np.int64)), -(1 << 31), (1 << 31) - 1)

    return computed(clamp, d, a, b)


def _min(ctx: Context) -> Execute:
    """min/max.type d, a, b."""
    relu = ctx.flag("relu")
    type = ctx.type()
    if relu and type.name != "s32":
        raise ctx.error(f"has .relu for {type}; expected .s32 or .s16x2")
    target, first, second = ctx.operands(3)
    ufunc = np.minimum if ctx.inst.opcode == "min" else np.maximum
    d, a, b = ctx.write(target, type), ctx.read(first, type), ctx.read(second, type)
    if relu:
        return computed(lambda x, y: np.maximum(ufunc(x, y), 0), d, a, b)
    return elementwise(ufunc, d, a, b)


def divide(ctx: Context) -> Execute:
    """div/rem.type d, a, b: toward zero. PTX does not specify division by zero; here it is all ones, and a for rem."""
    type = ctx.type(*_INTEGERS)
    target, first, second = ctx.operands(3)
    d, a, b = ctx.write(target, type), ctx.read(first, type), ctx.read(second, type)
    unsigned = UNSIGNED[type.bits]
    quotient = ctx.inst.opcode == "div"

    def compute(x: Array, y: Array) -> Array:
        ux, uy = x.view(unsigned), y.view(unsigned)
        if type.signed:
            ux = np.where(x < 0, ~ux + unsigned(1), ux)
            uy = np.where(y < 0, ~uy + unsigned(1), uy)
        zero = uy == 0
        divisor = np.where(zero, unsigned(1), uy)
        result = ux // divisor if quotient else ux % divisor
        if type.signed:
            negative = (x < 0) ^ (y < 0) if quotient else x < 0
            result = np.where(negative, ~result + unsigned(1), result)
        return np.where(zero, ~unsigned(0) if quotient else x.view(unsigned), result).view(type.dtype)

    return computed(compute, d, a, b)


@instruction("rem")
def rem(ctx: Context) -> Execute:
    """rem.type d, a, b: the remainder of a division toward zero; it has the sign of a."""
    return divide(ctx)


def _mul(ctx: Context) -> Execute:
    """mul/mad.{lo,hi,wide}.type d, a, b{, c}: the low half, the high half, or the whole product."""
    part = ctx.choose("lo", "hi", "wide")
    saturate = ctx.flag("sat")
    type = ctx.type()
    if part == "wide" and type.bits == 64:
        raise ctx.error(f"widens {type}; expected .u16, .s16, .u32 or .s32")
    result = integer_more.wider(type) if part == "wide" else type
    adds = ctx.inst.opcode == "mad"
    operands = ctx.operands(4 if adds else 3)
    a, b = ctx.read(operands[1], type), ctx.read(operands[2], type)
    d = ctx.write(operands[0], result)
    if part == "lo":
        if not adds:
            return elementwise(np.multiply, d, a, b)
        product: OfRows = np.multiply
    elif part == "hi":
        product = integer_more.high(type)
    else:
        dtype = result.dtype

        def whole(x: Array, y: Array) -> Array:
            return x.astype(dtype) * y

        product = whole

    if not adds:
        return computed(product, d, a, b)
    c = ctx.read(operands[3], result)
    if saturate:
        if type.name != "s32" or part != "hi":
            raise ctx.error("saturates a form other than .hi.s32")
        limits = -(1 << 31), (1 << 31) - 1
        return computed(lambda x, y, z: np.clip(product(x, y) + z.astype(np.int64), *limits), d, a, b, c)
    return computed(lambda x, y, z: (product(x, y) + z).astype(result.dtype), d, a, b, c)
