"""The rest of integer arithmetic: carries, packed halves, dot products, bit counts and fields.

Source: PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.arrays import Array, OfRows
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.instructions import floating
from tessera_tools.sim.instructions.common import computed, put
from tessera_tools.sim.types import SIGNED, TYPES, UNSIGNED, Type
from tessera_tools.sim.warp import Mask, Warp

_WORDS = ("u32", "s32", "b32", "u64", "s64", "b64")


def _carry(ctx: Context) -> int:
    """The port of the condition code CC.CF, which only instructions with .cc write."""
    return ctx.ports.add(("CC.CF",), lambda warp: np.zeros(32, np.bool_))


@instruction("addc", "subc", "madc")
def carried(ctx: Context) -> Execute:
    """add/sub{c}{.cc}.type d, a, b and mad{c}.{lo,hi}{.cc}.type d, a, b, c: arithmetic with the carry flag."""
    opcode = ctx.inst.opcode
    sets = ctx.flag("cc")
    uses = opcode.endswith("c")
    multiplies = opcode.startswith("mad")
    part = ctx.choose("lo", "hi") if multiplies else ""
    type = ctx.type(*_WORDS)
    operands = ctx.operands(4 if multiplies else 3)
    sources = [ctx.read(operand, type) for operand in operands[1:]]
    d, flag = ctx.write(operands[0], type), _carry(ctx)
    unsigned = UNSIGNED[type.bits]
    subtracts = opcode.startswith("sub")
    product = _product(type, part) if multiplies else None

    def execute(warp: Warp, mask: Mask) -> None:
        ports = warp.ports
        rows = [ports[source] for source in sources]
        if product is not None:
            rows = [product(rows[0], rows[1]), rows[2]]
        x, y = rows[0].view(unsigned), rows[1].view(unsigned)
        old = ports[flag].astype(unsigned) if uses else unsigned(0)
        if subtracts:
            # For subtraction, the flag is a borrow.
            result = x - y - old
            carry = (x < y) | ((x == y) & (old != 0))
        else:
            result = x + y
            carry = result < x
            result = result + old
            carry = carry | (result < old)
        put(warp, mask, d, result.view(type.dtype))
        if sets:
            put(warp, mask, flag, carry)

    return execute


def _product(type: Type, part: str) -> Callable[[Array, Array], Array]:
    if part == "lo":
        return np.multiply
    plain = TYPES[f"{'s' if type.signed else 'u'}{type.bits}"]
    function = high(plain)
    return lambda x, y: function(x.view(plain.dtype), y.view(plain.dtype)).astype(plain.dtype)


def packed(ctx: Context) -> Execute:
    """add/min/max{.relu}.{u16x2,s16x2} d, a, b: on both halves."""
    opcode = ctx.inst.opcode
    type = ctx.type("u16x2", "s16x2")
    relu = ctx.flag("relu") if opcode in ("min", "max") and type.name == "s16x2" else False
    saturate = ctx.flag("sat") if opcode in ("add", "sub") else False
    if opcode not in ("add", "sub", "min", "max"):
        raise ctx.error(f"does not exist for {type}")
    target, first, second = ctx.operands(3)
    half = np.int16 if type.name == "s16x2" else np.uint16
    ufunc = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}[opcode]
    info = np.iinfo(half)

    def compute(x: Array, y: Array) -> Array:
        a, b = np.ascontiguousarray(x).view(half), np.ascontiguousarray(y).view(half)
        if saturate:
            return np.clip(ufunc(a.astype(np.int32), b), info.min, info.max).astype(half).view(np.uint32)
        result = ufunc(a, b)
        if relu:
            result = np.maximum(result, half(0))
        return result.view(np.uint32)

    return computed(compute, ctx.write(target, type), ctx.read(first, type), ctx.read(second, type))


@instruction("neg", "abs")
def neg(ctx: Context) -> Execute:
    """neg/abs.type d, a: modulo 2^n; of floating point, the sign."""
    names = ctx.remaining()
    if not any(name in ("s16", "s32", "s64") for name in names):
        return floating.sign_change(ctx)
    type = ctx.type("s16", "s32", "s64")
    target, source = ctx.operands(2)
    return computed(
        np.negative if ctx.inst.opcode == "neg" else np.abs, ctx.write(target, type), ctx.read(source, type)
    )


@instruction("sad")
def sad(ctx: Context) -> Execute:
    """sad.type d, a, b, c: c + |a - b|."""
    type = ctx.type("u16", "u32", "u64", "s16", "s32", "s64")
    target, *operands = ctx.operands(4)
    sources = [ctx.read(operand, type) for operand in operands]

    def compute(x: Array, y: Array, z: Array) -> Array:
        return z + np.where(x < y, y - x, x - y)

    return computed(compute, ctx.write(target, type), *sources)


@instruction("mul24", "mad24")
def mul24(ctx: Context) -> Execute:
    """mul24/mad24.{lo,hi}{.sat}.type d, a, b{, c}: products of the low 24 bits; .hi takes bits 16 to 47."""
    part = ctx.choose("lo", "hi")
    adds = ctx.inst.opcode == "mad24"
    saturate = ctx.flag("sat") if adds and part == "hi" else False
    type = ctx.type("u32", "s32")
    if saturate and not type.signed:
        raise ctx.error("saturates a type other than .s32")
    target, *operands = ctx.operands(4 if adds else 3)
    sources = [ctx.read(operand, type) for operand in operands]
    shift = 16 if part == "hi" else 0

    def narrow(x: Array) -> Array:
        low = x.astype(np.int64) & 0xFFFFFF
        return np.where(low >> 23 != 0, low - (1 << 24), low) if type.signed else low

    def compute(x: Array, y: Array, *rest: Array) -> Array:
        value = narrow(x) * narrow(y) >> shift
        value = value.astype(np.int32 if type.signed else np.uint32).astype(np.int64)
        if rest:
            value = value + rest[0].astype(np.int64)
        if saturate:
            value = np.clip(value, -(1 << 31), (1 << 31) - 1)
        return value.astype(type.dtype)

    return computed(compute, ctx.write(target, type), *sources)


@instruction("dp4a", "dp2a")
def dp4a(ctx: Context) -> Execute:
    """dp4a.atype.btype d, a, b, c: c + Σ a[i]·b[i] of bytes; dp2a: of a's halves with b's low or high bytes."""
    wide = ctx.inst.opcode == "dp2a"
    part = ctx.choose("lo", "hi") if wide else ""
    kinds = ctx.types(2, "u32", "s32")
    target, *operands = ctx.operands(4)
    u32 = TYPES["u32"]
    sources = [ctx.read(operand, u32) for operand in operands]
    first_type = (SIGNED if kinds[0].signed else UNSIGNED)[16 if wide else 8]
    second_type = (SIGNED if kinds[1].signed else UNSIGNED)[8]
    offset = 2 if part == "hi" else 0

    def compute(x: Array, y: Array, z: Array) -> Array:
        a = np.ascontiguousarray(x).view(first_type).reshape(len(x), -1).astype(np.int64)
        b = np.ascontiguousarray(y).view(second_type).reshape(len(y), 4).astype(np.int64)
        b = b[:, offset : offset + a.shape[1]]
        return (z.astype(np.int64) + (a * b).sum(axis=1)).astype(np.uint32)

    return computed(compute, ctx.write(target, u32), *sources)


def count_ones(x: Array) -> Array:
    """The number of set bits of each unsigned integer, by sums of neighboring fields of doubling width."""
    x = x.astype(np.uint64)
    for shift, keep in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        x = (x & np.uint64(keep)) + (x >> np.uint64(shift) & np.uint64(keep))
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@instruction("popc", "clz")
def popc(ctx: Context) -> Execute:
    """popc/clz.type d, a: the number of set bits; the number of leading zeros. d is a u32."""
    type = ctx.type("b32", "b64")
    target, source = ctx.operands(2)
    bits = type.bits
    function = count_ones if ctx.inst.opcode == "popc" else lambda x: bits - 1 - highest(x)
    return computed(
        lambda x: function(x).astype(np.uint32), ctx.write(target, TYPES["u32"]), ctx.read(source, type)
    )


def highest(x: Array) -> Array:
    """The position of the highest set bit of unsigned integers; -1 for 0."""
    x = x.astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        x = x | x >> np.uint64(shift)
    return count_ones(x).astype(np.int64) - 1


@instruction("bfind")
def bfind(ctx: Context) -> Execute:
    """bfind{.shiftamt}.type d, a: the highest bit that differs from the sign; 0xffffffff if there is none."""
    amount = ctx.flag("shiftamt")
    type = ctx.type("u32", "u64", "s32", "s64")
    target, source = ctx.operands(2)
    unsigned = UNSIGNED[type.bits]

    def compute(x: Array) -> Array:
        bits = np.where(x < 0, ~x, x) if type.signed else x
        found = highest(bits.view(unsigned))
        if amount:
            found = np.where(found >= 0, type.bits - 1 - found, found)
        return found.astype(np.uint32)

    return computed(compute, ctx.write(target, TYPES["u32"]), ctx.read(source, type))


@instruction("brev")
def brev(ctx: Context) -> Execute:
    """brev.type d, a: the bits in reverse order."""
    type = ctx.type("b32", "b64")
    target, source = ctx.operands(2)

    def compute(x: Array) -> Array:
        bits = np.unpackbits(
            np.ascontiguousarray(x).view(np.uint8).reshape(len(x), -1), axis=1, bitorder="little"
        )
        return np.packbits(bits[:, ::-1], axis=1, bitorder="little").view(type.dtype)[:, 0]

    return computed(compute, ctx.write(target, type), ctx.read(source, type))


@instruction("bfi")
def bfi(ctx: Context) -> Execute:
    """bfi.type f, a, b, c, d: b with the low d bits of a inserted at position c; c and d count modulo 256."""
    type = ctx.type("b32", "b64")
    target, first, second, place, length = ctx.operands(5)
    u32 = TYPES["u32"]
    bits = type.bits

    def compute(a: Array, b: Array, position: Array, count: Array) -> Array:
        position, count = position & 0xFF, np.minimum(count & 0xFF, bits).astype(np.uint64)
        ones = np.where(count >= 64, ~np.uint64(0), (np.uint64(1) << (count & np.uint64(63))) - np.uint64(1))
        shift = np.minimum(position, 63).astype(np.uint64)
        inside = position < bits
        field = np.where(inside, ones << shift, np.uint64(0))
        value = np.where(inside, a.astype(np.uint64) << shift, np.uint64(0))
        return ((b.astype(np.uint64) & ~field) | (value & field)).astype(type.dtype)

    sources = ctx.read(first, type), ctx.read(second, type), ctx.read(place, u32), ctx.read(length, u32)
    return computed(compute, ctx.write(target, type), *sources)


@instruction("bmsk")
def bmsk(ctx: Context) -> Execute:
    """bmsk.{clamp,wrap}.b32 d, a, b: b ones from position a up."""
    wrap = ctx.choose("clamp", "wrap") == "wrap"
    type = ctx.type("b32")
    target, first, second = ctx.operands(3)

    def compute(a: Array, b: Array) -> Array:
        if wrap:
            a, b = a & 31, b & 31
        a, b = np.minimum(a, 32).astype(np.uint64), np.minimum(b, 32).astype(np.uint64)
        return (((np.uint64(1) << b) - np.uint64(1)) << a).astype(np.uint32)

    return computed(compute, ctx.write(target, type), ctx.read(first, type), ctx.read(second, type))


@instruction("szext")
def szext(ctx: Context) -> Execute:
    """szext.{clamp,wrap}.{u32,s32} d, a, b: the low b bits of a, extended."""
    wrap = ctx.choose("clamp", "wrap") == "wrap"
    type = ctx.type("u32", "s32")
    target, first, second = ctx.operands(3)

    def compute(a: Array, b: Array) -> Array:
        b = b & 31 if wrap else np.minimum(b, 32)
        spare = (64 - b.astype(np.int64)) & 63
        wide = a.astype(np.int64) << spare
        kept = (
            wide >> spare if type.signed else (wide.view(np.uint64) >> spare.view(np.uint64)).view(np.int64)
        )
        return np.where(b == 0, 0, kept).astype(type.dtype)

    return computed(compute, ctx.write(target, type), ctx.read(first, type), ctx.read(second, TYPES["u32"]))


@instruction("fns")
def fns(ctx: Context) -> Execute:
    """fns.b32 d, mask, base, offset: the offset-th set bit from position base, up or down; 0xffffffff without one."""
    ctx.type("b32")
    target, *operands = ctx.operands(4)
    u32, s32 = TYPES["u32"], TYPES["s32"]
    sources = ctx.read(operands[0], u32), ctx.read(operands[1], u32), ctx.read(operands[2], s32)

    def find(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
        places = range(base, 32) if offset > 0 else range(min(base, 31), -1, -1)
        set_bits = [place for place in places if mask >> place & 1]
        return set_bits[abs(offset) - 1] if abs(offset) <= len(set_bits) else 0xFFFFFFFF

    def compute(mask: Array, base: Array, offset: Array) -> Array:
        return np.array(
            [find(int(m), int(b), int(o)) for m, b, o in zip(mask, base, offset, strict=True)], np.uint32
        )

    return computed(compute, ctx.write(target, u32), *sources)


def wider(type: Type) -> Type:
    """The type of twice the width: s32 → s64."""
    return TYPES[f"{type.kind}{2 * type.bits}"]


def high(type: Type) -> OfRows:
    """The function of two rows that returns the high half of their product."""
    if type.bits < 64:
        wide, shift = wider(type).dtype, type.bits
        return lambda x, y: (x.astype(wide) * y.astype(wide)) >> wide(shift)
    return _high_signed if type.signed else _high_unsigned


def _high_unsigned(x: Array, y: Array) -> Array:
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    xl, xh, yl, yh = x & low, x >> half, y & low, y >> half
    middle = xh * yl + ((xl * yl) >> half)
    other = xl * yh + (middle & low)
    return xh * yh + (middle >> half) + (other >> half)


def _high_signed(x: Array, y: Array) -> Array:
    result = _high_unsigned(x.view(np.uint64), y.view(np.uint64)).view(np.int64)
    return result - np.where(x < 0, y, 0) - np.where(y < 0, x, 0)
