"""setp, set, slct (PTX ISA, "Comparison and Selection Instructions", "Half Precision Comparison Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim.arrays import Array, OfRows
from tessera_tools.sim.decode import Context, Execute, instruction, lanewise
from tessera_tools.sim.instructions.common import computed, elementwise, put
from tessera_tools.sim.instructions.floating import element_of
from tessera_tools.sim.interfaces import HasLanes, HasPorts
from tessera_tools.sim.types import TYPES, Type

_INTEGER: dict[str, np.ufunc] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
_COMBINE: dict[str, np.ufunc] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
_PLAIN = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")


def comparison(name: str, is_float: bool) -> OfRows:
    """The function of two rows for a comparison; with a NaN, an ordered one is false, an unordered one is true."""
    if name == "num":
        return lambda x, y: ~(np.isnan(x) | np.isnan(y))
    if name == "nan":
        return lambda x, y: np.isnan(x) | np.isnan(y)
    if name in _UNORDERED:
        plain = _INTEGER[_UNORDERED[name]]
        return lambda x, y: plain(x, y) | np.isnan(x) | np.isnan(y)
    if name == "ne" and is_float:
        return lambda x, y: (x != y) & ~(np.isnan(x) | np.isnan(y))
    return _INTEGER[name]


def _check(ctx: Context, name: str, type: Type) -> None:
    """The comparisons that each kind of type supports."""
    if type.name in _FLOATS:
        wrong = name in ("lo", "ls", "hi", "hs")
    else:
        wrong = name in _UNORDERED or name in ("num", "nan")
        wrong |= type.kind == "b" and name not in ("eq", "ne")
        wrong |= type.kind == "s" and name in ("lo", "ls", "hi", "hs")
    if wrong:
        raise ctx.error(f"compares {type} by .{name}")


def _reader(type: Type, ftz: bool) -> Callable[[Array], Array]:
    """A row → the values to compare: elements of packed types, bf16 as float64, .ftz without subnormals."""
    if type.name not in _FLOATS or (type.name in ("f16", "f32", "f64") and not ftz):
        return lambda row: row
    element = element_of(type)
    if not ftz:
        return element.values

    def read(row: Array) -> Array:
        flushed = element.flush(element.patterns(row))
        return element.values(flushed)

    return read


@instruction("setp")
def setp(ctx: Context) -> Execute:
    """setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, {!}c}: p = cmp and q = not cmp, each combined with c.

    For packed types, p is of the low and q of the high elements.
    """
    name = ctx.choose(*_INTEGER, *_UNORDERED, "num", "nan")
    combine = ctx.choose(*_COMBINE, default="")
    type = ctx.type(*_PLAIN, *_FLOATS)
    _check(ctx, name, type)
    ftz = ctx.flag("ftz") if type.name in ("f32", "f16", "f16x2") else False
    compare = comparison(name, type.name in _FLOATS)
    target, first, second, *rest = ctx.operands(4 if combine else 3)
    a, b = ctx.read(first, type), ctx.read(second, type)
    p, q = ctx.pair(target)
    pred = TYPES["pred"]
    d = ctx.write(p, pred)
    packed = type.name.endswith("x2")
    direct = not packed and not ftz and type.name != "bf16"
    if q is None and not combine and direct and isinstance(compare, np.ufunc):
        return elementwise(compare, d, a, b)
    e = ctx.write(q, pred) if q is not None else None
    c, negated = ctx.predicate(rest[0]) if rest else (d, False)
    both = _COMBINE.get(combine)
    read = _reader(type, ftz)

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        result = compare(read(ports[a]), read(ports[b]))
        if packed:
            result, other = result[::2], result[1::2]
        else:
            other = ~result
        if both is not None:
            third = ~ports[c] if negated else ports[c].copy()
            result, other = both(result, third), both(other, third)
        put(warp, mask, d, result)
        if e is not None:
            put(warp, mask, e, other)

    return lanewise(execute)


_ONES: dict[str, int] = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}


@instruction("set")
def set_(ctx: Context) -> Execute:
    """set.cmp{.bool}{.ftz}.dtype.stype d, a, b{, {!}c}: all ones or 1.0 where the comparison holds, else 0."""
    name = ctx.choose(*_INTEGER, *_UNORDERED, "num", "nan")
    combine = ctx.choose(*_COMBINE, default="")
    ftz = ctx.flag("ftz")
    to = ctx.type("u32", "s32", "f32", "u16", "s16", "f16", "bf16", "f16x2", "bf16x2")
    type = ctx.type(*_PLAIN, *_FLOATS)
    _check(ctx, name, type)
    if ftz and type.name not in ("f32", "f16", "f16x2"):
        raise ctx.error(f"has .ftz for {type}")
    packed = type.name.endswith("x2")
    if to.name.endswith("x2") != packed and not (packed and to.bits == 32 and to.kind in "us"):
        raise ctx.error(f"gives {to} from {type}")
    compare = comparison(name, type.name in _FLOATS)
    target, first, second, *rest = ctx.operands(4 if combine else 3)
    a, b = ctx.read(first, type), ctx.read(second, type)
    d = ctx.write(target, to)
    c, negated = ctx.predicate(rest[0]) if rest else (-1, False)
    both, read = _COMBINE.get(combine), _reader(type, ftz)
    part = np.dtype(f"u{to.bytes // (2 if packed else 1)}")
    true = part.type(_ONES.get(to.name, (1 << 8 * part.itemsize) - 1))

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        result = compare(read(ports[a]), read(ports[b]))
        if both is not None:
            third = ~ports[c] if negated else ports[c]
            result = both(result, np.repeat(third, 2) if packed else third)
        put(warp, mask, d, np.where(result, true, part.type(0)).view(to.dtype))

    return lanewise(execute)


@instruction("slct")
def slct(ctx: Context) -> Execute:
    """slct{.ftz}.dtype.{s32,f32} d, a, b, c: a where c >= 0 (-0 too), else b; b for a NaN."""
    ftz = ctx.flag("ftz")
    type = ctx.type("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
    condition = ctx.type("s32", "f32")
    if ftz and condition.name != "f32":
        raise ctx.error("has .ftz without .f32")
    target, first, second, third = ctx.operands(4)
    sources = ctx.read(first, type), ctx.read(second, type), ctx.read(third, condition)
    least = np.finfo(np.float32).tiny

    def compute(a: Array, b: Array, c: Array) -> Array:
        chosen = c >= 0
        if ftz:
            chosen = chosen | (np.abs(c) < least)
        return np.where(chosen, a, b)

    return computed(compute, ctx.write(target, type), *sources)
