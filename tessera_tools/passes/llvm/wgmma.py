"""Products by wgmma: descriptors of matrices in shared memory, accumulators that pass through the waits.

    async.dot        wgmma.fence, with the accumulators as tied operands; for each 64 rows, n columns and step along K:
                     wgmma.mma_async; wgmma.commit_group
                     promoted: these for each 64 rows and n columns alone, from zero, then wait_group and an f32 add
    async.dot_wait   wgmma.wait_group as inline assembly with the accumulators as tied operands: they are not read
    before

Descriptors: matrix_descriptors.py.  PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import arith, llvm, nv_tileas
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, i64
from tessera_tools.ir.core import Value
from tessera_tools.ir.types import F16, F32, I32, I64, FloatType, IntegerType, RankedTensorType, Type
from tessera_tools.layout import LinearLayout, as_xor_expression
from tessera_tools.layout.shared import ATOMICITY
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.float_formats import float_op
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.matrix_descriptors import Matrix, place_in, start_of
from tessera_tools.passes.llvm.tied import assembly, tied
from tessera_tools.passes.llvm.tiles import Buffer, Tile


class _Operand:
    """An operand in shared memory: descriptors of its pieces."""

    def __init__(self, low: Lowering, buffer: Buffer, k_axis: int, accumulator: LinearLayout) -> None:
        self.low, self.buffer, self.k_axis = low, buffer, k_axis
        self.matrix = Matrix.of(buffer, k_axis, {16: ATOMICITY})
        e = low.e
        # Each warpgroup of the unit has its own rows and columns.
        moved: Int = 0
        expression = as_xor_expression(accumulator, out=f"dim{1 - k_axis}" if k_axis else "dim1")
        for term in expression.terms:
            if term.dim == "warp" and term.bit >= 2:
                part = e.and_(e.lshr(e.uniform_warp, term.bit), 1)
                moved = e.add(moved, e.mul(part, place_in(buffer, k_axis, term.value, 0)))
        self.start = start_of(low, buffer, self.matrix.fixed, moved)

    def descriptor(self, along: int, k: int) -> Value:
        """The descriptor of the piece at this position."""
        e = self.low.e
        return e.constant(e.add(self.start, place_in(self.buffer, self.k_axis, along, k) >> 4, I64), I64)


@lowers("nv_tileas.async.dot")
@emits("wgmma")
def async_dot(low: Lowering, op: nv_tileas.AsyncDot) -> None:
    """See the module."""
    e = low.e
    unit = low.unit
    grid = tuple(op.warps.values)
    if not unit.is_warpgroups or grid[0] * grid[1] != unit.warps:
        raise op.error(
            f"has a grid of warps {list(grid)}, but runs in {unit.warps} warps from {unit.first_warp} on; expected "
            "whole warpgroups"
        )
    _, n, k = op.atom.mnk
    layout = nv_tileas.layout_of(op.c.type)
    each = n * 64 // 128
    places = _places(layout)[::each]
    b = _Operand(low, low.buffer(op.b), 0, layout)
    if isinstance(op.a.type, nv_tileas.SmemType):
        a: _Operand | dict[tuple[int, int], list[Value]] = _Operand(low, low.buffer(op.a), 1, layout)
    else:
        a = _fragments(low, op)
    depth = op.b.type.tile[0]
    accumulator = _Accumulator(op.atom.accumulator)
    zero = _is_zero(op.c)
    pieces: list[list[Value]] = []
    if not zero:
        elements = low.tile(op.c).elements(e)
        pieces = [accumulator.packed(e, elements[i : i + each]) for i in range(0, len(elements), each)]
    words = accumulator.count(each)
    current: list[list[Value] | None] = [None] * len(places) if zero else list(pieces)

    def add(i: int, start: int, sums: list[Value] | None) -> list[Value]:
        """The sums of a piece with one step along K."""
        m0, n0 = places[i]
        factor = a.descriptor(m0, start) if isinstance(a, _Operand) else a[m0, start]
        return _multiply(
            low, op, factor, b.descriptor(n0, start), sums, accumulator.type, words,
            a.matrix.k_major if isinstance(a, _Operand) else True, b.matrix.k_major,
        )  # fmt: skip

    if op.promoted is not None:
        terms = op.promoted.value
        for i in range(len(places)):
            for first in range(0, depth, terms):
                e.nvvm("wgmma.fence.aligned")
                sums: list[Value] | None = None
                for start in range(first, min(depth, first + terms), k):
                    sums = add(i, start, sums)
                e.nvvm("wgmma.commit.group.sync.aligned")
                assert sums is not None
                sums = tied(e, sums, accumulator.type, "wgmma.wait_group.sync.aligned 0;")
                if (old := current[i]) is not None:
                    added = [float_op(e, llvm.FAdd, both, F32) for both in zip(old, sums, strict=True)]
                    # LLVM would move the additions behind the products of the other pieces.
                    sums = tied(e, added, accumulator.type, "")
                current[i] = sums
    else:
        if zero:
            e.nvvm("wgmma.fence.aligned")
        else:
            # LLVM would write constants to the registers behind a fence that does not name them.
            fenced = iter(
                tied(e, [v for p in pieces for v in p], accumulator.type, "wgmma.fence.sync.aligned;")
            )
            current = [[next(fenced) for _ in piece] for piece in pieces]
        for start in range(0, depth, k):
            for i in range(len(places)):
                current[i] = add(i, start, current[i])
        e.nvvm("wgmma.commit.group.sync.aligned")
    result = [v for piece in current if piece is not None for v in accumulator.unpacked(e, piece)]
    low.define(op.res, Tile(op.res.type, result))


def _places(layout: LinearLayout) -> list[tuple[int, int]]:
    columns = [as_xor_expression(layout, out=name).constants for name in layout.out_dims]
    return [(m, n) for m, n in zip(*columns, strict=True)]


def _is_zero(value: Value) -> bool:
    op = value.defining_op
    if not isinstance(op, arith.Constant):
        return False
    held = op.attributes["value"]
    return isinstance(held, DenseElementsAttr) and not any(held.data) and len(set(held.data)) <= 1


class _Accumulator:
    """The registers of a piece's accumulator: f16 in pairs."""

    def __init__(self, element: Type) -> None:
        self.element = element
        self.pairs = element is F16
        self.type: Type = I32 if self.pairs or isinstance(element, IntegerType) else F32

    def count(self, elements: int) -> int:
        return elements // 2 if self.pairs else elements

    def packed(self, e: Emitter, elements: list[Value]) -> list[Value]:
        if not self.pairs:
            return elements
        return [e.bitcast(e.vector(elements[i : i + 2], F16), I32) for i in range(0, len(elements), 2)]

    def unpacked(self, e: Emitter, words: list[Value]) -> list[Value]:
        return [v for w in words for v in e.unpacked(w, F16)] if self.pairs else words


def _fragments(low: Lowering, op: nv_tileas.AsyncDot) -> dict[tuple[int, int], list[Value]]:
    """A's registers, four words for each 64 rows and step along K, by the coordinates of the first."""
    e, tile = low.e, low.tile(op.a)
    per = 32 // (8 * element_bytes(op.a.type.element))
    # No other instruction uses these registers before the products are complete: LLVM would write those of constants
    # behind the fence, share them, and compute the words of the next product before the wait for this one.
    made = tile.words(e)
    count = len(made)
    copies = " ".join(f"mov.b32 ${i}, ${count + i};" for i in range(count))
    words = assembly(e, copies, ["=&r"] * count + ["r"] * count, made, [I32] * count)
    found: dict[tuple[int, int], list[Value]] = {}
    for register, place in enumerate(_places(nv_tileas.layout_of(op.a.type))):
        if register % (4 * per) == 0:
            found.setdefault(place, words[register // per : register // per + 4])
    return found


_WORDS = {"f16": "f16", "bf16": "bf16", "tf32": "tf32", "si8": "s8", "ui8": "u8", "i32": "s32", "f32": "f32"}


def _word(type: Type) -> str:
    if isinstance(type, FloatType) and type.keyword.startswith("f8"):
        return type.keyword[2:6].lower()
    return _WORDS[str(type)]


def _multiply(
    low: Lowering,
    op: nv_tileas.AsyncDot,
    a: Value | list[Value],
    b: Value,
    sums: list[Value] | None,
    type: Type,
    words: int,
    a_k_major: bool,
    b_k_major: bool,
) -> list[Value]:
    """One wgmma.mma_async with its accumulators tied to its results; without accumulators, it starts from zero."""
    _, n, k = op.atom.mnk
    kind = "f" if type is F32 else "r"
    types = f"{_word(op.atom.accumulator)}.{_word(op.atom.a)}.{_word(op.atom.b)}"
    factors = a if isinstance(a, list) else [a]
    keeps = sums is not None
    at = 2 * words if keeps else words
    left = [f"${at + i}" for i in range(len(factors))]
    spelled = f"{{{', '.join(left)}}}" if isinstance(a, list) else left[0]
    scales = ["-1" if negated else "1" for negated in (op.negate_a, op.negate_b)]
    flags = [] if isinstance(op.atom.a, IntegerType) else scales
    if element_bytes(op.b.type.element) == 2:
        flags += ([] if isinstance(a, list) else [str(int(not a_k_major))]) + [str(int(not b_k_major))]
    tail = "".join(f", {flag}" for flag in flags)
    outputs = ", ".join(f"${i}" for i in range(words))
    text = (
        f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{outputs}}}, {spelled}, "
        f"${at + len(factors)}, {int(keeps)}{tail};"
    )
    constraints = [f"={kind}"] * words + [str(i) for i in range(words) if keeps]
    constraints += ["r"] * len(factors) if isinstance(a, list) else ["l"]
    constraints.append("l")
    return assembly(low.e, text, constraints, [*(sums or ()), *factors, b], [type] * words)


@lowers("nv_tileas.async.dot_wait")
def dot_wait(low: Lowering, op: nv_tileas.AsyncDotWait) -> None:
    """The accumulators pass through the wait, if there are any."""
    if op.source is None or op.res is None:
        low.e.nvvm("wgmma.wait.group.sync.aligned", group=i64(op.pending.value))
    else:
        low.define(op.res, _passed(low, op.source, f"wgmma.wait_group.sync.aligned {op.pending.value};"))


@lowers("nv_tileas.async.dot_result")
def dot_result(low: Lowering, op: nv_tileas.AsyncDotResult) -> None:
    """The accumulators without an instruction."""
    low.define(op.res, _passed(low, op.source, ""))


def _passed(low: Lowering, sums: Value, text: str) -> Tile:
    """Accumulators as results of inline assembly that ties them: their uses stay after it."""
    e, type = low.e, sums.type
    assert isinstance(type, RankedTensorType)
    accumulator = _Accumulator(type.element)
    words = tied(e, accumulator.packed(e, low.tile(sums).elements(e)), accumulator.type, text)
    return Tile(type, accumulator.unpacked(e, words))
