"""Floating-point arithmetic (PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions").

    rows ──element types──▶ f32 to nearest even: NumPy's own operation, the NaN made canonical
                         ├▶ f64: sim/wide.py
                         └▶ else: float64 rounded to odd, then one rounding (sim/rounding.py)

Packed types (f16x2, bf16x2, f32x2) are rows of 64 elements. Results that PTX defines to the bit are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tessera_tools.sim import rounding, wide
from tessera_tools.sim.arrays import Array, OfRows, every, some
from tessera_tools.sim.decode import Context, Execute, instruction, lanewise
from tessera_tools.sim.instructions.common import put
from tessera_tools.sim.interfaces import HasLanes, HasPorts
from tessera_tools.sim.rounding import FORMATS, Format, decode, encode
from tessera_tools.sim.types import SIGNED, TYPES, UNSIGNED, Type

__all__ = ["Element", "arithmetic", "element_of", "extreme", "fma", "fused_f32", "minimum"]

MODES = ("rn", "rz", "rm", "rp")
NAN32 = np.uint32(0x7FFFFFFF)


class _Zeros(dict[int, Array]):
    """Rows of zeros by their length."""

    def __missing__(self, lanes: int) -> Array:
        row = self[lanes] = np.zeros(lanes, np.float32)
        return row


_ZEROS = _Zeros()


@dataclass(frozen=True, slots=True)
class Element:
    """The elements of a floating-point type: `count` elements of `format` (None: f64) with `bits` each."""

    type: Type
    format: Format | None
    bits: int
    count: int
    dtype: type[np.unsignedinteger] = field(init=False, repr=False)
    sign: np.unsignedinteger = field(init=False, repr=False)
    """The pattern of the sign bit."""
    exponent: np.unsignedinteger = field(init=False, repr=False)
    """The pattern of the exponent's bits: that of infinity."""

    def __post_init__(self) -> None:
        mantissa = self.format.mantissa if self.format else 52
        dtype = UNSIGNED[self.bits]
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "sign", dtype(1 << self.bits - 1))
        object.__setattr__(self, "exponent", dtype((1 << self.bits - 1) - (1 << mantissa)))

    def patterns(self, row: Array) -> Array:
        """A row of the type → its elements' patterns."""
        return np.ascontiguousarray(row).view(self.dtype)

    def values(self, row: Array) -> Array:
        """A row of the type → its elements as float64, exactly."""
        if self.format is None:
            return np.ascontiguousarray(row)
        return decode(self.patterns(row), self.format)

    def row(self, patterns: Array) -> Array:
        """Elements' patterns → a row of the type."""
        return patterns.astype(self.dtype, copy=False).view(self.type.dtype)

    @property
    def nan(self) -> np.unsignedinteger:
        """The canonical NaN: 0x7fffffff for f32, 0x7fff for f16 and bf16 (PTX ISA, "Floating Point")."""
        return self.dtype(self.format.nan if self.format else 0x7FF8000000000000)

    def flush(self, patterns: Array) -> Array:
        """Subnormals → zero with the same sign (.ftz)."""
        normal = (patterns & self.exponent).astype(np.bool_)
        return patterns if every(normal) else np.where(normal, patterns, patterns & self.sign)

    def is_nan(self, patterns: Array) -> Array:
        return patterns & ~self.sign > self.exponent


_COUNTS = {"f16": ("f16", 1), "f16x2": ("f16", 2), "bf16": ("bf16", 1), "bf16x2": ("bf16", 2),
           "f32": ("f32", 1), "f32x2": ("f32", 2), "tf32": ("tf32", 1)}  # fmt: skip


def element_of(type: Type) -> Element:
    """The elements of a floating-point type."""
    if type.name == "f64":
        return Element(type, None, 64, 1)
    name, count = _COUNTS[type.name]
    return Element(type, FORMATS[name], type.bits // count, count)


@dataclass(frozen=True, slots=True)
class Finish:
    """The modifiers of operands and results: rounding, .ftz, .sat, .relu."""

    mode: str = "rn"
    ftz: bool = False
    sat: bool = False
    relu: bool = False

    @property
    def plain(self) -> bool:
        return self == Finish()

    def encode(self, element: Element, values: Array) -> Array:
        """float64 rounded to odd (or f64 results) → patterns."""
        if self.sat:
            values = np.where(values > 0, np.minimum(values, 1.0), 0.0)
        if self.relu:
            values = np.where(values <= 0, 0.0, values)
        if element.format is None:
            return values.view(np.uint64)
        patterns = encode(values, element.format, self.mode).astype(element.dtype, copy=False)
        return element.flush(patterns) if self.ftz else patterns

    def inputs(self, element: Element, rows: tuple[Array, ...]) -> list[Array]:
        if not self.ftz:
            return [element.values(row) for row in rows]
        assert element.format is not None
        return [decode(element.flush(element.patterns(row)), element.format) for row in rows]


def _general(element: Element, finish: Finish, compute: OfRows, d: int, sources: tuple[int, ...]) -> Execute:
    def execute(warp: HasPorts, mask: HasLanes) -> None:
        rows = tuple(warp.ports[source] for source in sources)
        values = compute(*finish.inputs(element, rows))
        put(warp, mask, d, element.row(finish.encode(element, values)))

    return lanewise(execute)


def _canonical(row: Array, mask: HasLanes) -> None:
    """Replace every NaN of the active lanes of an f32 row by the canonical NaN."""
    nan = np.isnan(row)
    nan &= mask.array
    row.view(np.uint32)[nan] = NAN32


def _native(ufunc: np.ufunc, d: int, a: int, b: int) -> Execute:
    """An f32 operation to nearest even, computed by NumPy."""

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        out = ports[d]
        if mask.full:
            ufunc(ports[a], ports[b], out)
        else:
            ufunc(ports[a], ports[b], out, where=mask.array)
        # 0·x is NaN only for an infinity or a NaN.
        total = out.dot(_ZEROS[len(out)])
        if total != total:
            _canonical(out, mask)

    return lanewise(execute)


_NATIVE = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
_ODD: dict[str, OfRows] = {
    "add": rounding.odd_sum,
    "sub": lambda x, y: rounding.odd_sum(x, -y),
    "mul": np.multiply,
    "fma": rounding.odd_product_sum,
}


def _sum_down(x: Array, y: Array) -> Array:
    """A sum that is exactly zero is -0 when rounding down, unless both addends are +0 (IEEE 754, 6.3)."""
    total = rounding.odd_sum(x, y)
    return np.where((total == 0) & (np.signbit(x) != np.signbit(y)), -0.0, total)


_DOWN: dict[str, OfRows] = {
    "add": _sum_down,
    "sub": lambda x, y: _sum_down(x, -y),
    "mul": np.multiply,
    "fma": lambda x, y, z: _sum_down(x * y, z),
}


def _odd(name: str, mode: str) -> OfRows:
    """The operation on float64 values, rounded to odd."""
    return _DOWN[name] if mode == "rm" else _ODD[name]


_WIDE: dict[str, Callable[[Array, Array, str], Array]] = {
    "add": wide.add,
    "sub": lambda x, y, mode: wide.add(x, -y, mode),
    "mul": wide.multiply,
}
_FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64")


def _finish(ctx: Context, type: Type, default: str | None = "rn") -> Finish:
    """Takes rounding, .ftz, .sat, and rejects modifiers that the type does not support."""
    mode = ctx.choose(*MODES, default=default)
    if type.name not in ("f32", "f64", "f32x2") and mode != "rn":
        raise ctx.error(f"rounds {type} by .{mode}; it has .rn only")
    ftz = ctx.flag("ftz") if type.name in ("f32", "f32x2", "f16", "f16x2") else False
    sat = ctx.flag("sat") if type.name in ("f32", "f16", "f16x2") else False
    return Finish(mode, ftz, sat)


def arithmetic(ctx: Context) -> Execute:
    """add/sub/mul{.rnd}{.ftz}{.sat}.type d, a, b; min and max; mad, like fma; add.f32.f16 with a narrower operand."""
    opcode = ctx.inst.opcode
    if opcode == "mad":
        return fma(ctx)
    if opcode in ("min", "max"):
        return minimum(ctx)
    type = ctx.type(*_FLOATS)
    narrow = _narrow(ctx, type)
    finish = _finish(ctx, type)
    target, first, second = ctx.operands(3)
    d = ctx.write(target, type)
    element = element_of(type)
    b = ctx.read(second, type)
    if narrow is not None:
        return _mixed(
            element, finish, _odd(opcode, finish.mode), narrow, d, (ctx.read(first, narrow.type),), b
        )
    a = ctx.read(first, type)
    if type.name == "f32" and finish.plain:
        return _native(_NATIVE[opcode], d, a, b)
    if element.format is None:
        function, mode = _WIDE[opcode], finish.mode
        return _general(element, finish, lambda x, y: function(x, y, mode), d, (a, b))
    return _general(element, finish, _odd(opcode, finish.mode), d, (a, b))


def _narrow(ctx: Context, type: Type) -> Element | None:
    """The type of the first operands if it differs: add.f32.bf16 (PTX ISA, "Mixed Precision")."""
    if type.name != "f32" or not any(modifier in ("f16", "bf16") for modifier in ctx.remaining()):
        return None
    return element_of(ctx.type("f16", "bf16"))


def _mixed(
    element: Element,
    finish: Finish,
    compute: OfRows,
    narrow: Element,
    d: int,
    few: tuple[int, ...],
    last: int,
) -> Execute:
    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        values = compute(*[narrow.values(ports[port]) for port in few], element.values(ports[last]))
        put(warp, mask, d, element.row(finish.encode(element, values)))

    return lanewise(execute)


@instruction("fma")
def fma(ctx: Context) -> Execute:
    """fma{.rnd}{.ftz}{.sat}{.relu}{.oob}.type d, a, b, c: one rounding; mad.rnd of floating point is the same."""
    type = ctx.type(*_FLOATS)
    narrow = _narrow(ctx, type)
    finish = _finish(ctx, type, None)
    if type.bits == 16 or type.name in ("f16x2", "bf16x2"):
        relu = ctx.flag("relu")
        finish = Finish(finish.mode, finish.ftz, finish.sat, relu)
        if relu and finish.sat:
            raise ctx.error("has both .sat and .relu")
    target, first, second, third = ctx.operands(4)
    d = ctx.write(target, type)
    element = element_of(type)
    c = ctx.read(third, type)
    if narrow is not None:
        few = ctx.read(first, narrow.type), ctx.read(second, narrow.type)
        return _mixed(element, finish, _odd("fma", finish.mode), narrow, d, few, c)
    a, b = ctx.read(first, type), ctx.read(second, type)
    if type.name == "f32" and finish.plain:
        return _fma32(d, a, b, c)
    if element.format is None:
        mode = finish.mode
        return _general(element, finish, lambda x, y, z: wide.fma(x, y, z, mode), d, (a, b, c))
    return _general(element, finish, _odd("fma", finish.mode), d, (a, b, c))


_LOW = np.int64((1 << 29) - 1)
_HALF = np.int64(1 << 28)
_EXPONENT = np.uint32(0x7F800000)


def _fma32(d: int, a: int, b: int, c: int) -> Execute:
    """f32 to nearest even through float64, which rounds twice. The second rounding can be wrong only if the first one
    produces a tie, or the result is subnormal; these cases are computed exactly."""
    count_nonzero = np.count_nonzero

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        x, y, z = ports[a], ports[b], ports[c]
        total = x.astype(np.float64)
        total *= y
        total += z
        row = total.astype(np.float32)
        low = total.view(np.int64) & _LOW
        low ^= _HALF
        lanes = len(row)
        if count_nonzero(low) != lanes or (
            count_nonzero(row.view(np.uint32) & _EXPONENT) != lanes
            and some((total != 0) & (row.view(np.uint32) & _EXPONENT == 0))
        ):
            row = fused_f32(x, y, z)
        if mask.full:
            ports[d][...] = row
        else:
            np.copyto(ports[d], row, where=mask.array)
        check = row.dot(_ZEROS[len(row)])
        if check != check:
            _canonical(ports[d], mask)

    return lanewise(execute)


def fused_f32(x: Array, y: Array, z: Array) -> Array:
    """x·y + z of float32 rows in one rounding to nearest even."""
    wide_x, wide_y, wide_z = x.astype(np.float64), y.astype(np.float64), z.astype(np.float64)
    return rounding.odd_product_sum(wide_x, wide_y, wide_z).astype(np.float32)


def minimum(ctx: Context) -> Execute:
    """min/max{.ftz}{.NaN}{.xorsign.abs}.type d, a, b{, c}: -0 is less than +0; a NaN loses, or wins with .NaN."""
    type = ctx.type("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")
    largest = ctx.inst.opcode == "max"
    ftz = ctx.flag("ftz") if type.name in ("f32", "f16", "f16x2") else False
    propagate = ctx.flag("NaN") if type.name != "f64" else False
    xorsign = ctx.flag("xorsign") if type.name != "f64" else False
    magnitudes = ctx.flag("abs")
    if xorsign and not magnitudes:
        raise ctx.error("has .xorsign without .abs")
    element = element_of(type)
    operands = ctx.operands(3, 4) if type.name == "f32" else ctx.operands(3)
    if (magnitudes and not xorsign) and len(operands) != 4:
        raise ctx.error("has .abs without .xorsign")
    d = ctx.write(operands[0], type)
    sources = [ctx.read(operand, type) for operand in operands[1:]]
    pick = extreme(element, largest, propagate)

    def exact(rows: list[Array]) -> Array:
        found = [element.patterns(row) for row in rows]
        if ftz:
            found = [element.flush(patterns) for patterns in found]
        sign: Array | np.unsignedinteger = element.dtype(0)
        if xorsign:
            for patterns in found:
                sign = sign ^ (patterns & element.sign)
        if magnitudes:
            found = [patterns & ~element.sign for patterns in found]
        result = found[0]
        for patterns in found[1:]:
            result = pick(result, patterns)
        if xorsign:
            result = np.where(element.is_nan(result), result, result | sign)
        return element.row(result)

    if type.name != "f32" or ftz or magnitudes or len(sources) != 2:
        return lanewise(lambda warp, mask: put(warp, mask, d, exact([warp.ports[port] for port in sources])))
    a, b = sources
    if propagate:
        ufunc = np.maximum if largest else np.minimum
    else:
        ufunc = np.fmax if largest else np.fmin
    count_nonzero = np.count_nonzero

    def fast(warp: HasPorts, mask: HasLanes) -> None:
        ports = warp.ports
        x, y = ports[a], ports[b]
        row = ufunc(x, y)
        check = row.dot(_ZEROS[len(row)])
        if check != check or (
            count_nonzero(row) != len(row)
            and (
                (row == 0) & (x.view(np.int32) ^ y.view(np.int32) < 0)
            ).any()  # Possibly zeros of both signs.
        ):
            row = exact([x, y])
        put(warp, mask, d, row)

    return lanewise(fast)


def extreme(element: Element, largest: bool, propagate: bool) -> Callable[[Array, Array], Array]:
    """The minimum or maximum of patterns, which compare like integers after negative patterns are inverted."""
    signed = SIGNED[element.bits]
    below = signed((1 << element.bits - 1) - 1)
    shift = signed(element.bits - 1)

    def key(patterns: Array) -> Array:
        number = patterns.view(signed)
        return number ^ ((number >> shift) & below)

    def pick(x: Array, y: Array) -> Array:
        first = key(x) >= key(y) if largest else key(x) <= key(y)
        result = np.where(first, x, y)
        nan_x = element.is_nan(x)
        nan_y = element.is_nan(y)
        if not (some(nan_x) or some(nan_y)):
            return result
        if propagate:
            return np.where(nan_x | nan_y, element.nan, result)
        result = np.where(nan_x, y, np.where(nan_y, x, result))
        return np.where(np.logical_and(nan_x, nan_y), element.nan, result)

    return pick


def sign_change(ctx: Context) -> Execute:
    """neg/abs{.ftz}.type d, a: the sign bit flipped or cleared."""
    type = ctx.type(*(name for name in _FLOATS if name != "f32x2"))
    ftz = ctx.flag("ftz") if type.name in ("f32", "f16", "f16x2") else False
    element = element_of(type)
    target, source = ctx.operands(2)
    d, a = ctx.write(target, type), ctx.read(source, type)
    negates = ctx.inst.opcode == "neg"

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        patterns = element.patterns(warp.ports[a])
        if ftz:
            patterns = element.flush(patterns)
        put(warp, mask, d, element.row(patterns ^ element.sign if negates else patterns & ~element.sign))

    return lanewise(execute)


@instruction("copysign")
def copysign(ctx: Context) -> Execute:
    """copysign.type d, a, b: the sign of a with the magnitude of b."""
    element = element_of(ctx.type("f32", "f64"))
    target, first, second = ctx.operands(3)
    d = ctx.write(target, element.type)
    a, b = ctx.read(first, element.type), ctx.read(second, element.type)

    def execute(warp: HasPorts, mask: HasLanes) -> None:
        x, y = element.patterns(warp.ports[a]), element.patterns(warp.ports[b])
        put(warp, mask, d, element.row((x & element.sign) | (y & ~element.sign)))

    return lanewise(execute)


@instruction("testp")
def testp(ctx: Context) -> Execute:
    """testp.op.type p, a: tests the class of a."""
    op = ctx.choose("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    type = ctx.type("f32", "f64")
    target, source = ctx.operands(2)
    d, a = ctx.write(target, TYPES["pred"]), ctx.read(source, type)
    least = np.finfo(np.float32 if type.bits == 32 else np.float64).tiny
    tests: dict[str, OfRows] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= least),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < least),
    }
    test = tests[op]
    return lanewise(lambda warp, mask: put(warp, mask, d, test(warp.ports[a])))
