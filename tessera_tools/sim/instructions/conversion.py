"""cvt and cvt.pack (PTX ISA, "cvt", "cvt.pack").

    source row ──▶ exact values: integers, or float64 (rounded to odd for wide integers) ──▶ one rounding ──▶ row

Between integers, and for the conversions that compilers emit most, NumPy's casts are equivalent and faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tessera_tools.sim import wide
from tessera_tools.sim.arrays import Array, OfRows, every, some
from tessera_tools.sim.decode import Context, Execute, instruction, lanewise
from tessera_tools.sim.instructions.common import computed, put
from tessera_tools.sim.interfaces import HasLanes, HasPorts
from tessera_tools.sim.rounding import FORMATS, Format, decode, encode, odd_integer
from tessera_tools.sim.types import TYPES, UNSIGNED, Type

_WHOLE: dict[str, np.ufunc] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_FLOATS = ("rn", "rz", "rm", "rp", "rna")
_PACKED = {
    "f16x2": "f16", "bf16x2": "bf16", "e4m3x2": "e4m3", "e5m2x2": "e5m2", "e2m1x2": "e2m1", "e2m3x2": "e2m3",
    "e3m2x2": "e3m2", "ue8m0x2": "ue8m0",
}  # fmt: skip
_SMALL = ("e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2")


@dataclass(frozen=True, slots=True)
class _How:
    rounding: str
    ftz: bool
    sat: bool
    finite: bool
    relu: bool


@instruction("cvt")
def cvt(ctx: Context) -> Execute:
    """cvt{.rnd}{.ftz}{.sat}{.relu}{.satfinite}.dtype.atype d, a{, b}."""
    how = _How(
        ctx.choose(*_FLOATS, *_WHOLE, default=""),
        ctx.flag("ftz"),
        ctx.flag("sat"),
        ctx.flag("satfinite"),
        ctx.flag("relu"),
    )
    to, source = ctx.types(2)
    if to.name in _PACKED or source.name in _PACKED:
        return _packed(ctx, to, source, how)
    _check_types(ctx, to, source)
    if how.finite and (to.name not in ("tf32", "f16", "bf16") or source.name != "f32"):
        raise ctx.error(f"has .satfinite from {source} to {to}")
    if how.sat and not _can_saturate(to, source):
        raise ctx.error(f"has .sat from {source} to {to}")
    if how.relu and (to.name not in ("tf32", "f16", "bf16") or source.name != "f32"):
        raise ctx.error(f"has .relu from {source} to {to}")
    if how.ftz and ("f32" not in (to.name, source.name) or to.name == "tf32"):
        raise ctx.error(f"has .ftz from {source} to {to}")
    target, operand = ctx.operands(2)
    d, a = ctx.write(target, to), ctx.read(operand, source)
    if to.kind in "us" and source.kind in "us":
        if how.rounding:
            raise ctx.error(f"rounds from {source} to {to}")
        return _between_integers(to, how.sat, d, a)
    if to.kind in "us":
        if how.rounding not in _WHOLE:
            raise ctx.error(f"to {to} needs .rni, .rzi, .rmi or .rpi")
        return computed(_to_integer(source, to, how), d, a)
    _check_rounding(ctx, to, source, how)
    compute = _quick(to, source, how) or _to_float(source, to, how)
    if to.is_float and ctx.is_wider(target, to):
        return computed(lambda row: compute(row).view(UNSIGNED[to.bits]), d, a)
    return computed(compute, d, a)


_SCALARS = ("f16", "bf16", "f32", "f64")


def _check_types(ctx: Context, to: Type, source: Type) -> None:
    """Whether there are conversions between two types that are not packed."""
    is_scalar = to.kind in "us" or to.name in _SCALARS, source.kind in "us" or source.name in _SCALARS
    if to.name == "tf32":
        fits = source.name == "f32"
    else:
        # A register of bf16 has 16 bits, and that of the other type has no more than it needs.
        fits = all(is_scalar) and not ("bf16" in (to.name, source.name) and 8 in (to.bits, source.bits))
    if not fits:
        raise ctx.error(f"converts {source} to {to}, which is no conversion of PTX")


def _can_saturate(to: Type, source: Type) -> bool:
    """Whether .sat is allowed: integers that may be out of range, and floating-point numbers but bf16."""
    if {to.name, source.name} & {"bf16", "tf32"}:
        return False
    return not (to.kind in "us" and source.kind in "us" and np.can_cast(source.integer, to.integer))


def _between_integers(to: Type, saturate: bool, d: int, a: int) -> Execute:
    dtype = to.dtype
    if not saturate:
        return computed(lambda x: x.astype(dtype), d, a)
    info = np.iinfo(to.integer)

    def clamp(x: Array) -> Array:
        own = np.iinfo(x.dtype)
        return np.clip(x, max(int(info.min), int(own.min)), min(int(info.max), int(own.max))).astype(dtype)

    return computed(clamp, d, a)


def _width(type: Type) -> tuple[int, int]:
    """Exponent and mantissa bits."""
    if type.name == "f64":
        return 11, 52
    format = FORMATS.get(type.name)
    return (format.exponent, format.mantissa) if format else (0, 0)


def _check_rounding(ctx: Context, to: Type, source: Type, how: _How) -> None:
    """A rounding modifier is required if bits can be lost, and rejected otherwise (PTX ISA, "cvt")."""
    if source.kind in "us":
        if how.rounding not in ("rn", "rz", "rm", "rp"):
            raise ctx.error(f"from {source} to {to} needs .rn, .rz, .rm or .rp")
        return
    wider = all(t >= s for t, s in zip(_width(to), _width(source), strict=True))
    if wider and to.name != source.name:
        if how.rounding:
            raise ctx.error(f"rounds from {source} to {to}, which loses nothing")
    elif wider:
        if how.rounding in _FLOATS:
            raise ctx.error(f"rounds from {source} to itself; expected .rni, .rzi, .rmi or .rpi")
    elif how.rounding not in _FLOATS:
        raise ctx.error(f"from {source} to {to} needs a rounding")
    if how.rounding == "rna" and (to.name != "tf32" or how.relu):
        raise ctx.error("has .rna; only .tf32 without .relu has it")
    if how.rounding in ("rm", "rp") and (how.relu or how.finite or to.name == "tf32"):
        raise ctx.error(f"rounds to {to} by .{how.rounding}; expected .rn or .rz")


def _format(type: Type) -> Format | None:
    return None if type.name == "f64" else FORMATS[type.name]


def _reader(source: Type, how: _How) -> Callable[[Array], Array]:
    """The source's rows → float64."""
    if source.kind in "us":
        return odd_integer
    format = _format(source)
    if format is None:
        return np.ascontiguousarray
    unsigned = np.dtype(f"u{source.bytes}")
    flushes = how.ftz and source.name == "f32"

    def read(row: Array) -> Array:
        values = decode(np.ascontiguousarray(row).view(unsigned), format)
        return np.where(np.abs(values) < 2.0**-126, np.copysign(0.0, values), values) if flushes else values

    return read


def _to_integer(source: Type, to: Type, how: _How) -> Callable[[Array], Array]:
    read, nearest, dtype = _reader(source, how), _WHOLE[how.rounding], to.dtype
    info = np.iinfo(to.integer)
    low, past = float(info.min), float(int(info.max) + 1)
    # The result for a NaN (PTX ISA, "cvt").
    invalid = dtype(0)
    if source.name == "f64" or to.bits == 64:
        invalid = np.array(1 << to.bits - 1, np.uint64).astype(f"u{to.bytes}").view(dtype)[()]

    def convert(row: Array) -> Array:
        values = nearest(read(row))
        inside = (values >= low) & (values < past)
        result = np.where(inside, values, 0.0).astype(dtype)
        if every(inside):
            return result
        result = np.where(values >= past, dtype(info.max), result)
        result = np.where(values < low, dtype(info.min), result)
        return np.where(np.isnan(values), invalid, result)

    return convert


def _to_float(source: Type, to: Type, how: _How) -> Callable[[Array], Array]:
    format = _format(to)
    mode = how.rounding if how.rounding in _FLOATS else "rn"
    whole = _WHOLE.get(how.rounding)
    if format is None and source.kind in "us":
        return lambda row: wide.from_integer(row, mode)
    read = _reader(source, how)
    flushes = how.ftz and to.name == "f32"

    def convert(row: Array) -> Array:
        values = read(row)
        if whole is not None:
            values = whole(values)
        values = _limited(values, how)
        if format is None:
            return values
        patterns = encode(values, format, mode, finite=how.finite).astype(f"u{to.bytes}")
        if flushes:
            patterns = np.where(patterns & 0x7F800000 == 0, patterns & np.uint32(0x80000000), patterns)
        return patterns.view(to.dtype)

    return convert


def _limited(values: Array, how: _How) -> Array:
    if how.sat:
        values = np.where(values > 0, np.minimum(values, 1.0), 0.0)
    if how.relu:
        values = np.where(values <= 0, 0.0, values)
    return values


def bf16_patterns(row: Array) -> Array:
    """float32 → bf16 patterns, to nearest even."""
    bits = np.ascontiguousarray(row).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    nan = bits & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000)
    return np.where(nan, np.uint32(0x7FFF), rounded).astype(np.uint16)


def f16_patterns(row: Array) -> Array:
    """float32 → f16 patterns, to nearest even."""
    bits = row.astype(np.float16).view(np.uint16)
    return np.where(bits & np.uint16(0x7FFF) > np.uint16(0x7C00), np.uint16(0x7FFF), bits)


def _quick(to: Type, source: Type, how: _How) -> OfRows | None:
    """The conversions that a NumPy cast performs exactly."""
    if how.ftz or how.sat or how.finite or how.relu or how.rounding not in ("", "rn"):
        return None
    names = source.name, to.name
    if names == ("f32", "f16"):
        return lambda row: f16_patterns(row).view(np.float16)
    if names == ("f32", "bf16"):
        return bf16_patterns
    if names == ("bf16", "f32"):
        return lambda row: (row.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if to.name in ("f32", "f64") and source.kind in "us":
        dtype = to.dtype
        return lambda row: row.astype(dtype)
    if names == ("f16", "f32"):

        def widen(row: Array) -> Array:
            result = row.astype(np.float32)
            nan = np.isnan(result)
            if some(nan):
                result.view(np.uint32)[nan] = 0x7FFFFFFF
            return result

        return widen
    return None


def _packed(ctx: Context, to: Type, source: Type, how: _How) -> Execute:
    """Converts two elements at once; with two sources, the first is the high element."""
    if how.rounding in _WHOLE or how.rounding == "rna" or how.sat or how.ftz:
        raise ctx.error(f"from {source} to {to} supports .rn, .rz, .rp, .relu and .satfinite only")
    if to.name in _SMALL:
        allowed = ("f32", "bf16x2") if to.name == "ue8m0x2" else ("f32", "f16x2")
        roundings = ("rz", "rp") if to.name == "ue8m0x2" else ("rn",)
        if not how.finite and to.name != "ue8m0x2":
            raise ctx.error(f"to {to} needs .satfinite")
        if how.relu and to.name == "ue8m0x2":
            raise ctx.error(f"has .relu for {to}")
    elif source.name in _SMALL:
        if how.finite:
            raise ctx.error(f"has .satfinite from {source} to {to}")
        allowed = ("ue8m0x2",) if to.name == "bf16x2" else _SMALL[:-1]
        roundings = ("rn",)
    else:
        allowed, roundings = ("f32",), ("rn", "rz")
    if source.name not in allowed or to.name not in _PACKED:
        raise ctx.error(f"converts {source} to {to}; expected .{' or .'.join(allowed)}")
    if how.rounding not in roundings:
        raise ctx.error(f"from {source} to {to} needs .{' or .'.join(roundings)}")
    format = FORMATS[_PACKED[to.name]]
    operands = ctx.operands(3 if source.name == "f32" else 2)
    d = ctx.write(operands[0], to)
    sources = [ctx.read(operand, source) for operand in operands[1:]]
    join = _joiner(to)
    quick = None
    if not how.finite and not how.relu and how.rounding == "rn" and source.name == "f32":
        quick = {"f16x2": f16_patterns, "bf16x2": bf16_patterns}.get(to.name)
    split = _splitter(source)

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        rows = [ports[port] for port in sources]
        if quick is not None:
            high, low = quick(rows[0]), quick(rows[1])
        else:
            values = [row.astype(np.float64) for row in rows] if split is None else split(rows[0])
            high, low = (encode(_limited(v, how), format, how.rounding, finite=how.finite) for v in values)
        put(warp, mask, d, join(high, low))

    return lanewise(execute)


def _joiner(to: Type) -> Callable[[Array, Array], Array]:
    """(high, low) patterns → the packed row: halves of the type, nibbles for e2m1x2."""
    dtype = UNSIGNED[to.bits]
    shift = dtype(to.bits // 2)
    return lambda high, low: (high.astype(dtype) << shift) | low.astype(dtype)


def _splitter(source: Type) -> Callable[[Array], list[Array]] | None:
    """A packed row → its high and low elements as float64; None for f32, which is not packed."""
    if source.name not in _PACKED:
        return None
    format, shift = FORMATS[_PACKED[source.name]], source.dtype(source.bits // 2)
    below = source.dtype((1 << format.bits) - 1)

    def split(row: Array) -> list[Array]:
        return [decode((row >> shift) & below, format), decode(row & below, format)]

    return split


@instruction("cvt.pack")
def cvt_pack(ctx: Context) -> Execute:
    """cvt.pack.sat.dtype.s32 d, a, b{, c}: a and b, clamped to dtype and concatenated, above the bits of c."""
    ctx.require("sat")
    modifiers = ctx.remaining()
    name = modifiers[0] if modifiers else ""
    if name not in ("s16", "u16", "s8", "u8", "s4", "u4", "s2", "u2"):
        raise ctx.error("needs one of .s16, .u16, .s8, .u8, .s4, .u4, .s2, .u2")
    ctx.flag(name)
    bits = int(name[1:])
    source = ctx.type("s32")
    carries = bits != 16
    if carries:
        ctx.type("b32")
    operands = ctx.operands(4 if carries else 3)
    low, top = (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)
    u32 = TYPES["u32"]
    sources = [ctx.read(operands[1], source), ctx.read(operands[2], source)]
    if carries:
        sources.append(ctx.read(operands[3], TYPES["b32"]))
    below = (1 << bits) - 1

    def compute(a: Array, b: Array, *rest: Array) -> Array:
        high = np.clip(a, low, top).astype(np.int64) & below
        result = (high << bits) | (np.clip(b, low, top).astype(np.int64) & below)
        if rest:
            result |= rest[0].astype(np.int64) << 2 * bits
        return result.astype(np.uint32)

    return computed(compute, ctx.write(operands[0], u32), *sources)
