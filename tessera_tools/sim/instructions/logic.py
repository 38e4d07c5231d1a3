"""Logic and shifts (PTX ISA, "Logic and Shift Instructions"), bfe, prmt (PTX ISA, "bfe", "prmt")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.arrays import Array, OfRows
from tessera_tools.sim.decode import Context, Execute, instruction, lanewise
from tessera_tools.sim.instructions.common import computed, elementwise, put
from tessera_tools.sim.interfaces import HasLanes, HasPorts
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
    literal = ctx.number(amount)
    if literal is not None:
        number = literal % (1 << 32)
        if number < bits or (type.signed and ctx.inst.opcode == "shr"):
            return elementwise(ufunc, d, a, ctx.constant(min(number, bits - 1), type))
        return computed(np.zeros_like, d, a)
    if type.signed and ctx.inst.opcode == "shr":
        return computed(lambda x, n: x >> np.minimum(n, bits - 1).astype(dtype), d, a, b)

    def clamped(x: Array, n: Array) -> Array:
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

    def extract(x: Array, pos: Array, count: Array) -> Array:
        pos, count = pos & 0xFF, count & 0xFF
        x64 = x.astype(np.int64).view(wide) if signed else x.astype(wide)
        low = np.minimum(pos, 63).astype(wide)
        keep = np.minimum(count, bits).astype(wide)
        if signed:
            # The field may extend past the most significant bit: those bits are copies of the sign.
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


@instruction("cnot")
def cnot(ctx: Context) -> Execute:
    """cnot.type d, a: 1 where a is 0, else 0."""
    type = ctx.type("b16", "b32", "b64")
    target, source = ctx.operands(2)
    return computed(lambda x: (x == 0).astype(type.dtype), ctx.write(target, type), ctx.read(source, type))


def lookup(table: int) -> OfRows:
    """The function of three rows whose truth table is `table` (PTX ISA, "lop3": bit a·4 + b·2 + c)."""

    def compute(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros_like(a)
        for index in range(8):
            if table >> index & 1:
                term = a if index & 4 else ~a
                term = term & (b if index & 2 else ~b)
                result |= term & (c if index & 1 else ~c)
        return result

    quick: dict[int, OfRows] = {
        0x80: lambda a, b, c: a & b & c,
        0xFE: lambda a, b, c: a | b | c,
        0x96: lambda a, b, c: a ^ b ^ c,
        0xEA: lambda a, b, c: (a & b) | c,
        0xF8: lambda a, b, c: a | (b & c),
        0xCA: lambda a, b, c: (a & b) | (~a & c),
        0x78: lambda a, b, c: a ^ (b & c),
        0x6A: lambda a, b, c: (a & b) ^ c,
    }
    return quick.get(table, compute)


@instruction("lop3")
def lop3(ctx: Context) -> Execute:
    """lop3{.or,.and}.b32 d{|p}, a, b, c, table{, q}: any function of three bits; p = (d != 0) or/and q."""
    combine = ctx.choose("or", "and", default="")
    type = ctx.type("b32")
    operands = ctx.operands(6 if combine else 5)
    table = ctx.number(operands[4])
    if table is None or not 0 <= table <= 255:
        raise ctx.error("needs an immediate truth table from 0 to 255")
    function = lookup(table)
    sources = [ctx.read(operand, type) for operand in operands[1:4]]
    target, result = ctx.pair(operands[0])
    d = ctx.write(target, type)
    if not combine:
        return computed(function, d, *sources)
    if result is None:
        raise ctx.error("needs a predicate after its destination")
    p = ctx.write(result, TYPES["pred"])
    q, negated = ctx.predicate(operands[5])
    either = combine == "or"

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        row = function(*[warp.ports[source] for source in sources])
        given = warp.ports[q] ^ negated
        put(warp, mask, p, (row != 0) | given if either else (row != 0) & given)
        put(warp, mask, d, row)

    return lanewise(execute)


@instruction("shf")
def shf(ctx: Context) -> Execute:
    """shf.{l,r}.{clamp,wrap}.b32 d, a, b, c: the pair b:a shifted; the high word of it left, the low word right."""
    left = ctx.choose("l", "r") == "l"
    wrap = ctx.choose("clamp", "wrap") == "wrap"
    type = ctx.type("b32")
    target, low, high, amount = ctx.operands(4)

    def compute(a: Array, b: Array, c: Array) -> Array:
        n = (c & np.uint32(31) if wrap else np.minimum(c, np.uint32(32))).astype(np.uint64)
        both = b.astype(np.uint64) << np.uint64(32) | a
        return ((both << n) >> np.uint64(32) if left else both >> n).astype(np.uint32)

    sources = ctx.read(low, type), ctx.read(high, type), ctx.read(amount, TYPES["u32"])
    return computed(compute, ctx.write(target, type), *sources)


_PERMUTATIONS: dict[str, Callable[[int], list[int]]] = {
    "f4e": lambda n: [(n + k) for k in range(4)],
    "b4e": lambda n: [(n - k) % 8 for k in range(4)],
    "rc8": lambda n: [n] * 4,
    "ecl": lambda n: [max(k, n) for k in range(4)],
    "ecr": lambda n: [min(k, n) for k in range(4)],
    "rc16": lambda n: [2 * (n & 1), 2 * (n & 1) + 1] * 2,
}


@instruction("prmt")
def prmt(ctx: Context) -> Execute:
    """prmt.b32{.mode} d, a, b, c: bytes of b:a chosen by c's nibbles (its top bit: copies of the sign), or by mode."""
    type = ctx.type("b32")
    mode = ctx.choose(*_PERMUTATIONS, default="default")
    target, *operands = ctx.operands(4)
    sources = [ctx.read(operand, type) for operand in operands]
    shifts = np.arange(0, 16, 4, dtype=np.uint32)
    table = None
    if mode != "default":
        table = np.array([_PERMUTATIONS[mode](n) for n in range(4)], np.intp)

    def compute(a: Array, b: Array, c: Array) -> Array:
        pair = np.empty((len(a), 2), np.uint32)
        pair[:, 0], pair[:, 1] = a, b
        pool = pair.view(np.uint8)
        if table is not None:
            return np.take_along_axis(pool, table[c & 3], 1).view(np.uint32)[:, 0]
        nibbles = (c[:, None] >> shifts) & 15
        chosen = np.take_along_axis(pool, (nibbles & 7).astype(np.intp), 1)
        signs = np.where(chosen & 0x80, np.uint8(255), np.uint8(0))
        return np.where(nibbles & 8, signs, chosen).view(np.uint32)[:, 0]

    return computed(compute, ctx.write(target, type), *sources)
