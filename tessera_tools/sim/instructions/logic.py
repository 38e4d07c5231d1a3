"""Logic and shifts (PTX ISA, "Logic and Shift Instructions"), bfe (PTX ISA, "bfe")."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions.common import computed, elementwise
from tessera_tools.sim.types import TYPES

_UFUNCS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@instruction("and", "or", "xor")
def logic(ctx: Context) -> Execute:
    """and/or/xor.type d, a, b of predicates and untyped bits."""
    type = ctx.type("pred", "b16", "b32", "b64")
    target, first, second = ctx.operands(3)
    a, b = ctx.read(first, type), ctx.read(second, type)
    return elementwise(_UFUNCS[ctx.inst.opcode], ctx.write(target, type), a, b)


@instruction("not")
def not_(ctx: Context) -> Execute:
    """not.type d, a."""
    type = ctx.type("pred", "b16", "b32", "b64")
    target, source = ctx.operands(2)
    return elementwise(np.invert, ctx.write(target, type), ctx.read(source, type))


@instruction("shl", "shr")
def shift(ctx: Context) -> Execute:
    """shl/shr.type d, a, b: b is a u32; amounts past the width are clamped to it; .s shifts fill with the sign."""
    type = ctx.type("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
    target, source, amount = ctx.operands(3)
    a, d = ctx.read(source, type), ctx.write(target, type)
    b = ctx.read(amount, TYPES["u32"])
    bits, dtype = type.bits, type.dtype
    ufunc = np.left_shift if ctx.inst.opcode == "shl" else np.right_shift
    if type.signed and ctx.inst.opcode == "shr":
        return computed(lambda x, n: x >> np.minimum(n, bits - 1).astype(dtype), d, a, b)

    def clamped(x: Any, n: Any) -> Any:
        return np.where(n < bits, ufunc(x, np.minimum(n, bits - 1).astype(dtype)), dtype(0))

    return computed(clamped, d, a, b)


@instruction("bfe")
def bfe(ctx: Context) -> Execute:
    """bfe.type d, a, pos, len: a bit field, extended with its sign for signed types."""
    type = ctx.type("u32", "u64", "s32", "s64")
    target, source, position, length = ctx.operands(4)
    u32 = TYPES["u32"]
    bits, signed = type.bits, type.signed
    wide = np.uint64

    def extract(x: Any, pos: Any, count: Any) -> Any:
        pos, count = pos & 0xFF, count & 0xFF
        x64 = x.astype(np.int64).view(wide) if signed else x.astype(wide)
        low = np.minimum(pos, 63).astype(wide)
        keep = np.minimum(count, bits).astype(wide)
        if signed:
            # The field may reach past the top: the bits there are copies of the sign.
            moved = (x64.view(np.int64) >> low.view(np.int64)).view(wide)
        else:
            moved = np.where(pos < bits, x64 >> low, wide(0))
        spare = (wide(64) - keep) & wide(63)
        field = moved << spare
        field = (field.view(np.int64) >> spare.view(np.int64)).view(wide) if signed else field >> spare
        return np.where(keep == 0, wide(0), field)

    return computed(
        extract,
        ctx.write(target, type),
        ctx.read(source, type),
        ctx.read(position, u32),
        ctx.read(length, u32),
    )
