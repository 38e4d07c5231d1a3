"""wmma.load, wmma.store, wmma.mma (PTX ISA, "Warp-level matrix instructions using wmma instructions").

    memory ──wmma.load──▶ fragments ──wmma.mma──▶ fragment ──wmma.store──▶ memory

PTX does not specify which lane holds which element; here a lane holds a run of the matrix in row-major order
(sim/fragments.py, `spread`), the same for f16 and f32 accumulators. Loads and stores move 16-byte pieces of rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tessera_tools.sim import fragments
from tessera_tools.sim.access import SPACES, load, store
from tessera_tools.sim.arrays import Array
from tessera_tools.sim.decode import Context, Execute, instruction
from tessera_tools.sim.elements import ELEMENTS, split
from tessera_tools.sim.fragments import Fragment
from tessera_tools.sim.instructions.memory import count_access
from tessera_tools.sim.instructions.mma import extents, multiply, product_of
from tessera_tools.sim.instructions.mma_registers import emit, load_matrix, ports_of, whole_warp
from tessera_tools.sim.program import Operand
from tessera_tools.sim.types import TYPES
from tessera_tools.sim.warp import Mask, Warp, mask_of

_LARGE = ("m16n16k16", "m8n32k16", "m32n8k16")
_SHAPES: dict[str, tuple[str, ...]] = {
    "f16": _LARGE,
    "bf16": _LARGE,
    "s8": _LARGE,
    "u8": _LARGE,
    "tf32": ("m16n16k8",),
    "f64": ("m8n8k4",),
    "s4": ("m8n8k32",),
    "u4": ("m8n8k32",),
    "b1": ("m8n8k128",),
}
_SUMS = {
    "f16": ("f16",),
    "f32": ("f16", "bf16", "tf32"),
    "s32": ("s8", "u8", "s4", "u4", "b1"),
    "f64": ("f64",),
}
"""The elements whose products are added up in a type."""
_ALL_SHAPES = tuple(dict.fromkeys(shape for shapes in _SHAPES.values() for shape in shapes))
_PIECE = 16
"""Bytes that one access moves, if a row has as many."""


def _bits(name: str) -> int:
    return ELEMENTS[name].bits


def _fragment(shape: str, which: str, name: str) -> Fragment:
    """The fragment of A, B, C or D. Only A and B of f16 have more registers than necessary: always eight."""
    m, n, k = extents(shape)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(which, (m, n))
    bits = _bits(name)
    packed = max(1, 32 // bits)
    registers = 8 if name == "f16" and which in "ab" else rows * columns // (32 * packed)
    return fragments.spread(rows, columns, registers, packed)


def _start(ctx: Context) -> None:
    ctx.require("sync", "aligned")
    ctx.aligned()


def _check_type(ctx: Context, shape: str, which: str, name: str) -> None:
    """Reject a type that a matrix (a, b, c or d) cannot have, or not with the shape."""
    allowed = tuple(_SHAPES) if which in "ab" else tuple(_SUMS)
    if name not in allowed:
        raise ctx.error(f"has .{name} for {which.upper()}; expected .{', .'.join(allowed)}")
    shapes = dict.fromkeys(shape for one in _SUMS.get(name, (name,)) for shape in _SHAPES[one])
    if shape not in (shapes if which in "cd" else _SHAPES[name]):
        expected = ", .".join(shapes if which in "cd" else _SHAPES[name])
        raise ctx.error(f"has .{shape} with .{name} for {which.upper()}; expected .{expected}")


def _check_layout(ctx: Context, shape: str, which: str, layout: str) -> None:
    """Reject a layout of A or B that elements of less than a byte cannot have."""
    expected = {"a": "row", "b": "col"}.get(which, layout)
    if shape in ("m8n8k32", "m8n8k128") and layout != expected:
        raise ctx.error(f"has .{layout} for {which.upper()} of .{shape}; expected .{expected}")


class _Tile:
    """The 16-byte pieces of a matrix: the memory's major rows, each with `pieces` pieces."""

    def __init__(
        self, ctx: Context, fragment: Fragment, bits: int, *, by_rows: bool, stride: Operand | None
    ) -> None:
        rows, columns = fragment.shape
        self.majors, minors = (rows, columns) if by_rows else (columns, rows)
        self.by_rows = by_rows
        self.bits = bits
        self.row_bytes = minors * bits // 8
        self.piece = min(_PIECE, self.row_bytes)
        self.pieces = self.row_bytes // self.piece
        total = self.majors * self.pieces
        self.rounds = [np.arange(start, min(start + 32, total)) for start in range(0, total, 32)]
        self.stride = ctx.read(stride, TYPES["u32"]) if stride is not None else None
        self.minors = minors

    def addresses(self, warp: Warp, base: Array, mask: Mask) -> list[tuple[Mask, Array]]:
        """Lanes and addresses of each round of accesses; base and stride are the same in all lanes."""
        start = base[mask.first]
        elements = self.minors if self.stride is None else int(warp.ports[self.stride][mask.first])
        step = elements * self.bits // 8
        found: list[tuple[Mask, Array]] = []
        for pieces in self.rounds:
            places = np.zeros(32, np.uint64)
            places[: len(pieces)] = start + (
                pieces // self.pieces * step + pieces % self.pieces * self.piece
            ).astype(np.uint64)
            found.append((mask_of((1 << len(pieces)) - 1), places))
        return found


@instruction("wmma.load")
def wmma_load(ctx: Context) -> Execute:
    """wmma.load.{a,b,c}.sync.aligned.layout.shape{.ss}.type r, [p] {, stride}."""
    which = ctx.choose("a", "b", "c")
    _start(ctx)
    by_rows = ctx.choose("row", "col") == "row"
    shape = ctx.choose(*_ALL_SHAPES)
    space = ctx.choose(*SPACES, default="generic")
    name = ctx.choose(*ELEMENTS)
    _check_type(ctx, shape, which, name)
    _check_layout(ctx, shape, which, "row" if by_rows else "col")
    operands = ctx.operands(2, 3)
    fragment = _fragment(shape, which, name)
    bits = _bits(name)
    ports = ports_of(ctx, operands[0], which.upper(), fragment.registers, max(32, bits), write=True)
    address = ctx.address(operands[1])
    space = ctx.space_of(operands[1], space)
    tile = _Tile(ctx, fragment, bits, by_rows=by_rows, stride=operands[2] if len(operands) == 3 else None)
    give = emit(ports, fragment) if bits >= 8 else _emit_bits(ports, fragment, bits)
    line = ctx.inst.line

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        found: list[Array] = []
        for part, places in tile.addresses(warp, address(warp), mask):
            if warp.stats is not None:
                count_access(warp.stats, part, f"wmma.load.{space}", line, places, tile.piece)
            found.append(load(warp, part, space, places, tile.piece))
        raw = np.ascontiguousarray(np.concatenate(found)).view(np.uint8).reshape(tile.majors, -1)
        matrix = split(raw, bits)
        give(warp, np.ascontiguousarray(matrix if tile.by_rows else matrix.T))

    return execute


def _emit_bits(ports: list[int], fragment: Fragment, bits: int) -> Callable[[Warp, Array], None]:
    """Like `emit`, for elements narrower than a byte."""
    places = fragment.scatter

    def distribute(warp: Warp, patterns: Array) -> None:
        taken = patterns.reshape(-1).take(places)
        if bits == 1:
            words = np.packbits(taken, axis=-1, bitorder="little").view(np.uint32)
        else:
            words = np.ascontiguousarray(taken[..., 0::2] | taken[..., 1::2] << np.uint8(4)).view(np.uint32)
        words = words.reshape(len(ports), 32)
        for index, port in enumerate(ports):
            warp.ports[port][...] = words[index]

    return distribute


@instruction("wmma.store")
def wmma_store(ctx: Context) -> Execute:
    """wmma.store.d.sync.aligned.layout.shape{.ss}.type [p], r {, stride}."""
    ctx.choose("d")
    _start(ctx)
    by_rows = ctx.choose("row", "col") == "row"
    shape = ctx.choose(*_ALL_SHAPES)
    space = ctx.choose(*SPACES, default="generic")
    name = ctx.choose(*ELEMENTS)
    _check_type(ctx, shape, "d", name)
    operands = ctx.operands(2, 3)
    fragment = _fragment(shape, "d", name)
    bits = _bits(name)
    ports = ports_of(ctx, operands[1], "D", fragment.registers, max(32, bits), write=False)
    address = ctx.address(operands[0])
    space = ctx.space_of(operands[0], space)
    tile = _Tile(ctx, fragment, bits, by_rows=by_rows, stride=operands[2] if len(operands) == 3 else None)
    take = load_matrix(ports, fragment, bits, lambda patterns: patterns, None)
    line = ctx.inst.line

    def execute(warp: Warp, mask: Mask) -> None:
        if not whole_warp(warp, mask):
            return
        matrix = take(warp)
        content = np.ascontiguousarray(matrix if tile.by_rows else matrix.T).view(np.uint64)
        content = content.reshape(-1, 2) if tile.piece == _PIECE else content.reshape(-1)
        at = 0
        for part, places in tile.addresses(warp, address(warp), mask):
            if warp.stats is not None:
                count_access(warp.stats, part, f"wmma.store.{space}", line, places, tile.piece)
            store(warp, part, space, places, tile.piece, content[at : at + part.count])
            at += part.count

    return execute


@instruction("wmma.mma")
def wmma_mma(ctx: Context) -> Execute:
    """wmma.mma{.op.popc}.sync.aligned.alayout.blayout.shape{.rnd}.dtype{.atype.btype}.ctype{.satfinite} d, a, b, c.

    With two types, they are those of D and C, and A and B are f16. The layouts are those with which A and B were
    loaded. They have no effect here, because fragments hold matrices in one order.
    """
    bits = "popc" in ctx.remaining()
    product = product_of(ctx, "b1") if bits else None
    _start(ctx)
    layouts = ctx.choose("row", "col"), ctx.choose("row", "col")
    shape = ctx.choose(*_ALL_SHAPES)
    for which, layout in zip("ab", layouts, strict=True):
        _check_layout(ctx, shape, which, layout)
    rounding = ctx.choose("rn", "rz", "rm", "rp", default="rn")
    saturate = ctx.flag("satfinite")
    types = [modifier for modifier in ctx.remaining() if modifier in ELEMENTS]
    for _ in types:
        ctx.choose(*ELEMENTS)
    if len(types) == 2:
        d, c = types
        a = b = "f16"
    elif len(types) == 4:
        d, a, b, c = types
    else:
        raise ctx.error(f"names {len(types)} types; expected .dtype.ctype or .dtype.atype.btype.ctype")
    for which, name in (("a", a), ("b", b), ("c", c), ("d", d)):
        _check_type(ctx, shape, which, name)
    if (a == "b1") != bits or a != b or a not in _SUMS[c] or a not in _SUMS[d] or (saturate and a == "b1"):
        raise ctx.error(f"multiplies .{a} by .{b} and adds .{c} to .{d}")
    if product is None:
        product = product_of(ctx, a, rounding)
    if rounding != "rn" and a != "f64":
        raise ctx.error(f"has .{rounding}, which only .f64 supports")
    m, n, k = extents(shape)
    found = (
        _fragment(shape, "a", a),
        _fragment(shape, "b", b),
        _fragment(shape, "c", c),
        _fragment(shape, "d", d),
    )
    return multiply(
        ctx,
        ctx.operands(4),
        found,
        (ELEMENTS[a], ELEMENTS[b], c, d),
        product,
        saturate=saturate and d == "s32",
        flops=2 * m * n * k,
        unit="wmma",
    )
