"""The lowering of matrix products.

    tensor cores   registers of A, B, C by instruction  ──mma.sync for each piece of C, k outermost──▶  C
    fma            each thread multiplies its elements of A and B: a fused multiply-add for each term
    scales         the instruction multiplies by them: mma.sync with .block_scale
                   otherwise, the products of a block along K start from zero, and are scaled and added

Pieces are matched by coordinates in the warp's part: rows of A and C, columns of B and C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tessera_tools.analysis.storage import padded_bits
from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.atoms import MmaAtom, scale_vector
from tessera_tools.dialects.llvm.types import struct
from tessera_tools.dialects.nvvm.attributes import (
    MMAIntOverflowAttr,
    MMALayoutAttr,
    MMAShapeAttr,
    MMATypeAttr,
)
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, StringAttr
from tessera_tools.ir.core import Value
from tessera_tools.ir.traits import Terminator
from tessera_tools.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    TF32,
    FloatType,
    IntegerType,
    bit_width,
)
from tessera_tools.layout import LinearLayout, as_xor_expression
from tessera_tools.passes.llvm.emitter import Emitter
from tessera_tools.passes.llvm.float_formats import widened
from tessera_tools.passes.llvm.half_pairs import HALF_PAIR, half_pairs
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.tied import in_place
from tessera_tools.passes.llvm.tiles import Tile
from tessera_tools.planning.dot_layouts import fragments, grid_of
from tessera_tools.planning.mma_atoms import has_lowering

Place = tuple[int, ...]
"""Coordinates of a register in its warp's part of a tile."""


@lowers("nv_tileas.slice")
def slice_(low: Lowering, op: nv_tileas.Slice) -> None:
    """A selection of registers."""
    source = {
        place: r for r, place in reversed(list(enumerate(_places(nv_tileas.layout_of(op.source.type)))))
    }
    values = low.tile(op.source).elements(low.e)
    taken = []
    for place in _places(nv_tileas.layout_of(op.res.type)):
        at = source.get(tuple(c ^ o for c, o in zip(place, op.offsets.values, strict=True)))
        if at is None:
            raise op.error("needs elements that other threads hold")
        taken.append(values[at])
    low.define(op.res, Tile(op.res.type, taken))


@lowers("nv_tileas.dot")
@emits("mma", "fma")
def dot(low: Lowering, op: nv_tileas.Dot) -> None:
    """By the op's atom; see the module."""
    if not has_lowering(op.atom):
        raise op.error(f"has no lowering for {op.atom}; convert-tileaa-to-tileas chooses atoms that have one")
    if op.atom.is_fma:
        if op.scales:
            raise op.error("has scales, which fma does not support; use an atom of the tensor cores")
        elements = _multiply_add(low, op)
        if op.c.type.element is F32 and _is_complete(op):
            elements = in_place(low.e, elements, F32)
    else:
        product = (_BlockScaled if op.atom.is_scaled else _Product)(low, op)
        if op.scales and not op.atom.is_scaled:
            elements = _scaled(low, op, product)
        else:
            pieces = product.accumulators(low.tile(op.c).elements(low.e))
            product.accumulate(pieces, 0, op.a.type.shape[-1])
            elements = product.elements(pieces)
    low.define(op.res, Tile(op.res.type, elements))


def _places(layout: LinearLayout) -> list[Place]:
    """The coordinates of each register, in the warp's part."""
    columns = [as_xor_expression(layout, out=name).constants for name in layout.out_dims]
    return list(zip(*columns, strict=True))


# -- without tensor cores


def _multiply_add(low: Lowering, op: nv_tileas.Dot) -> list[Value]:
    """One fused multiply-add for each term, in order of k."""
    e = low.e
    a, b = (_held(low, value) for value in (op.a, op.b))
    sums = list(low.tile(op.c).elements(e))
    places = _places(nv_tileas.layout_of(op.c.type))
    first = {place: r for r, place in reversed(list(enumerate(places)))}
    for k in range(op.a.type.shape[-1]):
        for place, register in first.items():
            *batch, m, n = place
            factors = (a[*batch, m, k], b[*batch, k, n], sums[register])
            sums[register] = e.emit(llvm.FMA.create(factors, [factors[2].type], {})).results[0]
    return [sums[first[place]] for place in places]


def _is_complete(op: nv_tileas.Dot) -> bool:
    """Whether something else than a product takes the sums, in the same block.

    LLVM would move the multiply-adds of a sum to its only use, such as a store behind a check of bounds, and leave the
    loads of all factors in front.
    """
    return any(
        not isinstance(use.owner, nv_tileas.Dot) and not use.owner.has_trait(Terminator)
        for use in op.res.uses
    )


def _held(low: Lowering, value: Value) -> dict[Place, Value]:
    """The elements of a thread, by coordinates."""
    values = low.tile(value).elements(low.e)
    return dict(zip(_places(nv_tileas.layout_of(value.type)), values, strict=True))


# -- scales


def _scaled(low: Lowering, op: nv_tileas.Dot, product: _Product) -> list[Value]:
    """c + Σ over blocks of (product of the block) · scale of a · scale of b."""
    e = low.e
    sums = list(low.tile(op.c).elements(e))
    places = _places(nv_tileas.layout_of(op.c.type))
    scales = [_factors(low, value) for value in op.scales]
    blocks = op.scales[0].type.shape[-1]
    depth = op.a.type.shape[-1] // blocks
    zero = e.constant(0.0, F32)
    for block in range(blocks):
        pieces = product.accumulators([zero] * len(sums))
        product.accumulate(pieces, block * depth, (block + 1) * depth)
        for register, (place, partial) in enumerate(zip(places, product.elements(pieces), strict=True)):
            *batch, m, n = place
            of_a, of_b = scales[0][*batch, m, block], scales[1][*batch, block, n]
            # The halves of both powers of two are combined, so that neither product is out of range.
            factors = [_multiply(e, x, y) for x, y in zip(of_a, reversed(of_b), strict=True)]
            for factor in factors[:-1]:
                partial = _multiply(e, partial, factor)
            last = (partial, factors[-1], sums[register])
            sums[register] = e.emit(llvm.FMA.create(last, [F32], {})).results[0]
    return sums


def _multiply(e: Emitter, a: Value, b: Value) -> Value:
    return e.pure("fmul", (a, b), lambda: llvm.FMul.create((a, b), [F32], {}))


def _factors(low: Lowering, value: Value) -> dict[Place, list[Value]]:
    """Each scale as a product of f32 factors: a power of two as two of half the exponent each.

    A product of two scales of f8E8M0FNU may be as large as 2^254, but f32 is limited to 2^128; products of halves fit.
    """
    e = low.e
    type = value.type.element  # type: ignore[attr-defined]
    split = _halves if isinstance(type, FloatType) and type.keyword == "f8E8M0FNU" else _whole
    return {place: split(e, code, type) for place, code in _held(low, value).items()}


def _whole(e: Emitter, code: Value, type: FloatType) -> list[Value]:
    return [widened(e, code, type)]


def _halves(e: Emitter, code: Value, type: FloatType) -> list[Value]:
    """2^(x - 127) as 2^⌊(x - 127) / 2⌋ and the rest; NaN, whose code is 255, as two NaNs."""
    whole = e.resized(code, I32)
    biased = e.lshr(e.add(whole, 127), 1)
    rest = e.add(e.add(whole, 127), e.xor(biased, -1))
    is_nan = e.icmp("eq", whole, 255)
    return [
        e.bitcast(e.constant(e.select(is_nan, 0x7FC00000, e.shl(field, 23))), F32)
        for field in (biased, e.add(rest, 1))
    ]


# -- tensor cores


class _Product:
    """The operands of one product in the instruction's form, and the instruction."""

    def __init__(self, low: Lowering, op: nv_tileas.Dot) -> None:
        self.low, self.op = low, op
        self.atom: MmaAtom = op.atom
        shape, k = op.c.type.shape, op.a.type.shape[-1]
        whole = fragments(shape, k, self.atom, grid_of(op, low.unit.warps))
        rank = len(shape)
        m, n, depth = self.atom.mnk
        self.is_packed = depth == 64
        """Whether the instruction reads elements of 4 bits, which are bytes of a tile."""
        self.a = self.operand(op.a, whole[0], rank - 1, m * depth // 32)
        self.b = self.operand(op.b, whole[1], rank - 2, n * depth // 32)
        self.each = m * n // 32
        """The number of a thread's accumulator elements in a piece."""
        self.places = _places(nv_tileas.layout_of(op.c.type))[:: self.each]

    def operand(self, value: Value, whole: LinearLayout, axis: int, size: int) -> dict[Place, list[Value]]:
        """The instruction's registers of each fragment (`size` elements per thread), by the coordinates of its first
        element."""
        e, bits = self.low.e, padded_bits(self.atom.a)
        words = self.zero_padded(value, whole, axis)
        per = max(1, 32 // bits)
        converted = bits == 8 and self.atom.mnk[2] == 16
        found: dict[Place, list[Value]] = {}
        for register, place in enumerate(_places(nv_tileas.layout_of(value.type))):
            if register % size == 0:
                fragment = words[register // per : (register + size) // per]
                if self.is_packed:
                    fragment = [_nibbles(e, *fragment[i : i + 2]) for i in range(0, len(fragment), 2)]
                elif converted:
                    pairs = [half_pairs(e, word, value.type.element) for word in fragment]  # type: ignore[attr-defined]
                    fragment = [low for low, _ in pairs] + [high for _, high in pairs]
                elif self.atom.a is F16:
                    fragment = [e.bitcast(word, HALF_PAIR) for word in fragment]
                found.setdefault(place, fragment)
        return found

    def zero_padded(self, value: Value, whole: LinearLayout, axis: int) -> list[Value]:
        """32-bit words (f64: elements) of an operand, zero where a fragment is deeper than the tile."""
        e, tile = self.low.e, self.low.tile(value)
        type = F64 if self.atom.a is F64 else I32
        words = tile.elements(e) if type is F64 else tile.words(e)
        extent: int = value.type.shape[axis]  # type: ignore[attr-defined]
        if whole.out_size(f"dim{axis}") <= extent:
            return list(words)
        expression = as_xor_expression(whole, out=f"dim{axis}")
        lanes = sum(1 << term.bit for term in expression.terms if term.dim == "lane" and term.value >= extent)
        within = e.no_bit_set({"lane": lanes})
        bits = padded_bits(self.atom.a)
        per, zero = max(1, 32 // bits), e.constant(0, type)
        kept = []
        for i, word in enumerate(words):
            inside = [c < extent for c in expression.constants[i * per : (i + 1) * per]]
            if not any(inside):
                kept.append(zero)
                continue
            if not all(inside):
                word = e.constant(
                    e.and_(word, sum((1 << bits) - 1 << bits * j for j in range(per) if inside[j]))
                )
            kept.append(e.constant(e.select(within, word, zero, type), type))
        return kept

    # -- accumulators

    def accumulators(self, elements: Sequence[Value]) -> list[list[Value]]:
        """Elements of C as the instruction's registers, piece by piece."""
        e, each = self.low.e, self.each
        pieces = [list(elements[i : i + each]) for i in range(0, len(elements), each)]
        if self.atom.accumulator is F16:
            return [[e.vector(piece[i : i + 2], F16) for i in range(0, each, 2)] for piece in pieces]
        return pieces

    def elements(self, pieces: list[list[Value]]) -> list[Value]:
        """The inverse of `accumulators`."""
        if self.atom.accumulator is F16:
            return [v for piece in pieces for pair in piece for v in self.low.e.elements(pair, 2, F16)]
        return [v for piece in pieces for v in piece]

    def accumulate(self, pieces: list[list[Value]], start: int, stop: int) -> None:
        """Add the terms from `start` to `stop` along K; k outermost: the fragments of one k step are used together,
        and neighboring instructions are independent."""
        for k in range(start, stop, self.atom.mnk[2]):
            for i, (*batch, m, n) in enumerate(self.places):
                pieces[i] = self.step(
                    (*batch, m, n), k, self.a[*batch, m, k], self.b[*batch, k, n], pieces[i]
                )

    def step(self, place: Place, k: int, a: list[Value], b: list[Value], c: list[Value]) -> list[Value]:
        """One mma.sync, for the piece of the accumulator at `place`, and the terms from `k` along K."""
        e, types = self.low.e, [v.type for v in c]
        result = struct(*types)
        words = [_ptx_type(t) for t in (self.atom.a, self.atom.b)]
        m, n, k = self.atom.mnk
        signature = ""
        if k == 32 and words[0] in ("e4m3", "e5m2"):
            d = "f16" if self.atom.accumulator is F16 else "f32"
            signature = f"{d}.{words[0]}.{words[1]}.{d}"
        elif self.atom.a is F64 and m == 16:
            signature = "f64"
        if signature:
            # The nvvm op of MLIR 22 has no 8-bit floats, and of f64 only m8n8k4.
            name = f"llvm.nvvm.mma.m{m}n{n}k{k}.row.col.{signature}"
            call = llvm.CallIntrinsic(StringAttr(name), [*a, *b, *c], output=result)
            return e.fields(e.emit(call).results[0], types)
        fixed: dict[str, Attribute] = {
            "layoutA": MMALayoutAttr("row"),
            "layoutB": MMALayoutAttr("col"),
            "operandSegmentSizes": DenseArrayAttr(I32, (len(a), len(b), len(c))),
            "shape": MMAShapeAttr(m, n, k),
        }
        if self.atom.a is not F64:
            halves = a[0].type is HALF_PAIR
            fixed["multiplicandAPtxType"] = MMATypeAttr("f16" if halves else words[0])
            fixed["multiplicandBPtxType"] = MMATypeAttr("f16" if halves else words[1])
        if isinstance(self.atom.a, IntegerType):
            fixed["intOverflowBehavior"] = MMAIntOverflowAttr("wrapped")
        values = e.nvvm("mma.sync", [*a, *b, *c], [result], **fixed)
        return e.fields(values.results[0], types)


class _BlockScaled(_Product):
    """A product whose instruction multiplies by the scales of blocks.

    A thread has the scales of one row of A and one column of B of each piece, of every block: bytes of a register,
    four blocks in each. The instruction reads those of its blocks: see `mma_scale_a` in layout/atoms.py.
    """

    def __init__(self, low: Lowering, op: nv_tileas.Dot) -> None:
        super().__init__(low, op)
        found = scale_vector(op, self.atom.mnk[2])
        assert found is not None
        self.vector = found
        codes = [_held(low, value) for value in op.scales]
        self.codes: tuple[dict[Place, Value], ...] = tuple(codes)
        self.blocks: int = op.scales[0].type.shape[-1]

    def step(self, place: Place, k: int, a: list[Value], b: list[Value], c: list[Value]) -> list[Value]:
        e, (*batch, m, n) = self.low.e, place
        depth = self.atom.mnk[2]
        block = k // depth * self.vector.blocks
        of_a = self.word(0, lambda s: (*batch, m, s), block)
        of_b = self.word(1, lambda s: (*batch, s, n), block)
        # The bytes of the first block, and the lanes: the layouts have the scales in those of selector 0.
        selectors = [e.constant(block % _BYTES, I16), e.constant(0, I16)]
        kind, blocks, form = self.vector
        words = ".".join(_ptx_type(type) for type in (self.atom.a, self.atom.b))
        rows, columns, _ = self.atom.mnk
        shape = f"m{rows}n{columns}k{depth}"
        # Not nvvm.mma.block_scale, which is inline PTX: LLVM keeps the order of that.
        name = f"llvm.nvvm.mma.block.scale.{shape}.row.col.{kind}.scale.{blocks}x.f32.{words}.f32.{form}"
        types = [v.type for v in c]
        inputs = [*a, *b, *c, of_a, *selectors, of_b, *selectors]
        call = llvm.CallIntrinsic(StringAttr(name), inputs, output=struct(*types))
        return e.fields(e.emit(call).results[0], types)

    def word(self, factor: int, place: Callable[[int], Place], block: int) -> Value:
        """The register with the scale of a block; blocks that the tile does not have are zero."""
        e = self.low.e
        start = block // _BYTES * _BYTES
        codes = [self.codes[factor][place(s)] for s in range(start, min(start + _BYTES, self.blocks))]
        if len(codes) == 1:
            return e.resized(codes[0], I32)
        codes += [e.constant(0, I8)] * (_BYTES - len(codes))
        return e.bitcast(e.vector(codes, I8), I32)


_BYTES = 4
"""Scales in a register."""


def _nibbles(e: Emitter, low: Value, high: Value) -> Value:
    """The low halves of the bytes of two words, in their order, as one word; the high halves must be 0."""
    found = []
    for word in (low, high):
        pairs = e.or_(word, e.lshr(word, 4))
        found.append(e.or_(e.and_(pairs, 0xFF), e.and_(e.lshr(pairs, 8), 0xFF00)))
    return e.constant(e.or_(found[0], e.shl(found[1], 16)))


_PTX_TYPES: dict[Type, str] = {F16: "f16", BF16: "bf16", TF32: "tf32", F64: "f64"}


def _ptx_type(type: Type) -> str:
    """The PTX name of an operand's element type: e4m3 for f8E4M3FN, u8 for ui8."""
    if isinstance(type, IntegerType):
        return f"{'u' if type.signedness == 'unsigned' else 's'}{type.width}"
    if type in _PTX_TYPES:
        return _PTX_TYPES[type]
    assert isinstance(type, FloatType) and bit_width(type) <= 8
    return type.keyword[2:6].lower()
