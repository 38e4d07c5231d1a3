"""Tensor memory: its buffers, products by tcgen05.mma, and the tiles that threads load from it.

    %d = alloc_tmem : !nv_tileas.tmem<1x128x256xf32, #nv_tileas.tensor<…>>      columns of the CTA's tensor memory
    async.umma %a, %b, %d, %iter accumulate %more                               one thread starts d = a · b (+ d)
    %sums = tmem_load %d, %iter                                                 lanes and columns to registers
    %s = async.tmem_copy %smem, %t, %iter                                       one thread copies factors of blocks
    tmem_store %tile, %a                                                        registers to lanes and columns
    dealloc_tmem %d                                                             by the CTA, at the end

A product is complete when the mbarrier is, at which the thread that started it has committed its products
(tcgen05.commit): `producer_commit` of a pipeline whose stages products fill, `consumer_release … products` of a stage
that products read.  PTX ISA, "Tensorcore 5th Generation Instructions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.atoms import UMMA, MmaAtom, check_emitter, signless
from tessera_tools.dialects.nv_tileas.base import SMEM, LayoutAttr, StagedType
from tessera_tools.dialects.nv_tileas.pipeline_types import STAGE
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import I1, I8, FloatType, IntegerType, RankedTensorType, Type, bit_width
from tessera_tools.layout import LinearLayout
from tessera_tools.layout.tensor_memory import (
    ATOM,
    LANES,
    WARP_LANES,
    accumulator,
    has_atoms,
    scale_factors,
)
from tessera_tools.layout.tensor_memory import operand as layout_of_operand
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    I64_ARRAY,
    I64_ATTR,
    PURE,
    UNIT_ATTR,
    Completion,
    MemoryEffects,
    Op,
    allocate,
    attribute,
    exactly,
    free,
    of,
    of_class,
    operand,
    read,
    result,
    variadic_operand,
    variadic_result,
    write,
)

if TYPE_CHECKING:
    from tessera_tools.ir.builtin_attributes import IntegerAttr
    from tessera_tools.ir.scanner import Scanner

FEWEST_COLUMNS = 32
"""The smallest number of columns that tcgen05.alloc gives; it gives powers of two."""
BLOCKS: Mapping[int, Mapping[int, tuple[Type, ...]]] = {
    8: {32: (FloatType("f8E8M0FNU"),)},
    4: {32: (FloatType("f8E8M0FNU"),), 16: (FloatType("f8E8M0FNU"), FloatType("f8E4M3FN"))},
}
"""The elements of a block and the types of their factor, by bits of an element: kinds mxf8f6f4, mxf4 and mxf4nvf4."""
_STEP_OF_PAIR = 32
"""Columns of a product of a pair are a multiple of this."""


class TensorAttr(LayoutAttr, name="nv_tileas.tensor"):
    """A layout in tensor memory: (lane, column) → tile coordinates; (part, lane, column) where elements share columns
    of 32 bits."""

    @property
    def parts(self) -> int:
        """Elements of a column of 32 bits."""
        return self.layout.in_size("part") if "part" in self.layout.in_dims else 1

    def verify(self) -> None:
        dims = tuple(self.layout.in_dims)
        if (
            dims not in (("lane", "column"), ("part", "lane", "column"))
            or self.layout.in_size("lane") != LANES
        ):
            raise ValueError(
                f"the layout has the dimensions {', '.join(dims)}; expected {LANES} of lane, and column"
            )


class TmemType(StagedType, name="nv_tileas.tmem"):
    """`!nv_tileas.tmem<1x128x256xf32, #nv_tileas.tensor<…>>`: stages of one tile in tensor memory, an element in 32
    bits, or several if the layout has parts."""

    layout: TensorAttr

    @property
    def resource(self) -> Resource:
        return Resource.TENSOR

    def verify(self) -> None:
        super().verify()
        if self.rank != 3 or not self.is_static:
            raise ValueError(
                "tensor memory needs static extents of matrices, with the number of stages before them"
            )
        bits = bit_width(self.element)
        if self.layout.parts > 1 and bits * self.layout.parts != 32:
            raise ValueError(f"{self.layout.parts} elements of {bits} bits do not fill a column of 32 bits")
        if self.layout.parts == 1 and bits not in (16, 32):
            raise ValueError(f"an element in tensor memory has 16 or 32 bits, {self.element} has not")
        self.verify_tile(self.layout.layout)

    @property
    def stage_columns(self) -> int:
        """Columns of one stage."""
        return self.layout.layout.in_size("column")

    @property
    def columns(self) -> int:
        """Columns of all stages."""
        return self.stages * self.stage_columns

    @property
    def rows(self) -> int:
        """Rows of an instruction: those that the lanes hold."""
        lanes = self.layout.layout.bases["lane"]
        return LANES // 2 if lanes[4] == (0, 0) != lanes[5] else LANES

    @property
    def is_repeated(self) -> bool:
        """Whether each 32 lanes hold the same, as factors of blocks."""
        return self.layout.layout.bases["lane"][5:] == ((0, 0), (0, 0))

    @classmethod
    def parse(cls, s: Scanner) -> TmemType:
        s.expect("<")
        shape = s.dimensions()
        element = s.type()
        s.expect(",")
        layout = s.attribute()
        s.expect(">")
        if not isinstance(layout, TensorAttr):
            raise ValueError(f"expected a layout #nv_tileas.tensor<…>, got {layout}")
        return cls(shape, element, layout)

    def text(self) -> str:
        return f"!nv_tileas.tmem<{self.dims_text()}{self.element}, {self.layout}>"


TMEM = of(TmemType, summary="nv_tileas.tmem")


def allocated_columns(types: Sequence[TmemType]) -> int:
    """The columns of one allocation for these buffers: a power of two."""
    needed = max(sum(type.columns for type in types), FEWEST_COLUMNS)
    return 1 << (needed - 1).bit_length()


def _without_gaps(layout: LinearLayout) -> LinearLayout:
    """The layout without the columns that are left free between row parts."""
    columns = [step for step in layout.bases["column"] if step != (0, 0)]
    return LinearLayout({**layout.bases, "column": columns}, layout.outs)


class AllocTmem(Op, name="nv_tileas.alloc_tmem", traits=(MemoryEffects(allocate(Resource.TENSOR)),)):
    """Buffers in tensor memory, next to each other, in one allocation of the CTA; nobody allocates after it. All
    threads of the CTA execute it, and synchronize.  With `pair`, both CTAs of a pair get the same columns."""

    pair = attribute(UNIT_ATTR, "for products of a pair of CTAs", optional=True)
    shares = attribute(
        I64_ARRAY, "for each buffer, the number of an earlier one whose columns it has, or -1", optional=True
    )
    buffers = variadic_result(TMEM)
    assembly = "(`pair` $pair^)? (`shares` `=` $shares^)? attr-dict `:` type($buffers)"

    @property
    def places(self) -> list[int]:
        """The first column of each buffer in the allocation."""
        found: list[int] = []
        free = 0
        for number, buffer in enumerate(self.results):
            type, other = buffer.type, self.shared_with(number)
            assert isinstance(type, TmemType)
            found.append(free if other is None else found[other])
            free += type.columns if other is None else 0
        return found

    @property
    def columns(self) -> int:
        """The columns of the allocation."""
        own = [buffer.type for number, buffer in enumerate(self.results) if self.shared_with(number) is None]
        return allocated_columns([type for type in own if isinstance(type, TmemType)])

    def shared_with(self, number: int) -> int | None:
        """The buffer whose columns another one has; None if it has its own."""
        other = -1 if self.shares is None else self.shares.values[number]
        return None if other < 0 else other

    def verify_op(self) -> None:
        if not self.results:
            raise self.error("allocates nothing; expected one buffer at least")
        if self.shares is None:
            return
        if len(self.shares.values) != len(self.results):
            raise self.error(
                f"has {len(self.shares.values)} numbers of shared buffers for {len(self.results)} buffers"
            )
        for number, other in enumerate(self.shares.values):
            if not -1 <= other < number or (other >= 0 and self.shared_with(other) is not None):
                raise self.error(
                    f"lets buffer {number} share the columns of buffer {other}; expected an earlier one that has its "
                    "own"
                )
            one, of = self.results[number].type, self.results[other].type
            if (
                other >= 0
                and isinstance(one, TmemType)
                and isinstance(of, TmemType)
                and one.columns > of.columns
            ):
                raise self.error(
                    f"lets {one.columns} columns of buffer {number} share the {of.columns} of buffer {other}"
                )


class DeallocTmem(Op, name="nv_tileas.dealloc_tmem", traits=(MemoryEffects(free("buffers")),)):
    """Frees the buffers of an alloc_tmem.  All threads of the CTA execute it, and synchronize first."""

    buffers = variadic_operand(TMEM)
    assembly = "$buffers attr-dict `:` type($buffers)"

    @property
    def pair(self) -> bool:
        """Whether both CTAs of a pair free them."""
        return self.allocation.pair is not None

    @property
    def allocation(self) -> AllocTmem:
        """What allocated them."""
        made = self.operands[0].defining_op
        assert isinstance(made, AllocTmem)
        return made

    def verify_op(self) -> None:
        made = self.operands[0].defining_op if self.operands else None
        if not isinstance(made, AllocTmem) or list(made.results) != list(self.operands):
            raise self.error("frees other buffers than those of one nv_tileas.alloc_tmem, in its order")


class Umma(
    Op,
    name="nv_tileas.async.umma",
    traits=(
        MemoryEffects(
            read("a", by=Completion.TCGEN05),
            read("b", by=Completion.TCGEN05),
            read("scales", Resource.TENSOR, by=Completion.TCGEN05),
            write("d", Resource.TENSOR, by=Completion.TCGEN05),
        ),
    ),
):
    """Starts d = a · b by tcgen05.mma, or d = a · b + d where `accumulate` holds; a and b are in shared memory, in one
    of the hardware's swizzles, or a in tensor memory, and d is the iterator's stage of a buffer in tensor memory.  One
    thread starts it; it runs after the products that the thread has started before.

    Factors of 4 bits are bytes (i8) of two elements along K, the first in the low bits, as the atom says.

    With `pair`, it is the product of two CTAs, which have the same places: each has the rows of a and d that are its
    own, and half of the columns of b, the leader the first one."""

    a = operand(SMEM | TMEM)
    b = operand(SMEM)
    d = operand(TMEM)
    iter = operand(STAGE)
    accumulate = operand(exactly(I1))
    scales = variadic_operand(TMEM, "none, or factors of blocks of a (MxS) and of b (SxN) along K")
    atom = attribute(of_class(MmaAtom))
    negate_a = attribute(UNIT_ATTR, "the instruction inverts the sign of a", optional=True)
    negate_b = attribute(UNIT_ATTR, "the instruction inverts the sign of b", optional=True)
    pair = attribute(UNIT_ATTR, "a product of a pair of CTAs, of which each has half of b", optional=True)
    row = attribute(I64_ATTR, "the first of the rows of one instruction; all of them without", optional=True)
    assembly = (
        "$a `,` $b `,` $d `,` custom<Place>($iter) `accumulate` $accumulate (`scales` $scales^)? (`pair` $pair^)? "
        "(`row` $row^)? attr-dict `:` "
        "type($a) `,` type($b) `,` type($d) (`scales` type($scales)^)?"
    )

    @property
    def packed(self) -> int:
        """Elements of a factor in a byte: two of 4 bits."""
        return max(1, 8 // bit_width(self.atom.a))

    @property
    def terms(self) -> int:
        """The extent along K."""
        return self.b.type.tile[0] * self.packed

    @property
    def block(self) -> int:
        """Elements of a block along K that have a factor together."""
        return self.terms // self.scales[0].type.tile[1]

    def verify_op(self) -> None:
        check_emitter(self, self.atom.row.emitters, self.atom)
        if any(type.stages != 1 for type in (self.a.type, self.b.type)):
            raise self.error("requires factors of one stage; select one with nv_tileas.view")
        a, b, d = self.a.type.tile, self.b.type.tile, self.d.type.tile
        ctas = 1 if self.pair is None else 2
        if len(a) != 2 or len(b) != 2 or d != (a[0], b[1] * ctas) or a[1] != b[0]:
            whose = " of a pair" if self.pair is not None else ""
            raise self.error(f"multiplies {list(a)} by {list(b)}{whose} into {list(d)}")
        named = (self.atom.a, self.atom.b, self.atom.accumulator)
        types = [v.type.element for v in (self.a, self.b, self.d)]
        held = [I8 if bit_width(type) < 8 else signless(type) for type in named]
        if any(t is not n for t, n in zip(types, held, strict=True)):
            raise self.error(f"multiplies {types[0]} by {types[1]} into {types[2]} with {self.atom}")
        if (self.negate_a or self.negate_b) and isinstance(self.atom.a, IntegerType):
            raise self.error(
                f"inverts the sign of {types[0]}; tcgen05.mma does that for floating-point types"
            )
        m, n, k = self.atom.mnk
        if d[0] % m or d[1] % n or self.terms % k:
            raise self.error(
                f"multiplies tiles of {d[0]}x{d[1]}x{self.terms} with {m}x{n}x{k}: expected whole instructions"
            )
        if self.row is not None and (self.pair is not None or not _is_instruction(self.row, d[0], m)):
            raise self.error(
                f"has rows from {self.row.value} on of {d[0]}; expected a multiple of {m}, and no pair"
            )
        if self.pair is not None and (m != LANES or d[1] != n or n % _STEP_OF_PAIR):
            raise self.error(
                f"multiplies in a pair into {d[0]}x{d[1]} with {self.atom}; expected instructions of {LANES} rows of "
                f"each CTA and of all columns, a multiple of {_STEP_OF_PAIR}"
            )
        if self.d.type.layout.layout != accumulator(d, m):
            raise self.error(f"leaves its sums in {self.d.type}, which is not where {UMMA} of {m} rows does")
        in_tensor = self.a.type
        if isinstance(in_tensor, TmemType) and _without_gaps(in_tensor.layout.layout) != operand_layout(
            a, m, in_tensor.element
        ):
            raise self.error(
                f"reads its left operand from {in_tensor}, which is not where {UMMA} of {m} rows does"
            )
        if self.scales:
            self._verify_scales(d)
        elif self.packed > 1:
            raise self.error(
                f"has no factors of blocks, with which alone tcgen05.mma multiplies {self.atom.a}"
            )

    def _verify_scales(self, d: tuple[int, ...]) -> None:
        m, n, _ = self.atom.mnk
        bits = bit_width(self.atom.a)
        if len(self.scales) != 2 or m != LANES or bits not in BLOCKS:
            raise self.error(
                f"has {len(self.scales)} factors of blocks with {self.atom}; expected two, elements of 8 or 4 bits, "
                f"and {LANES} rows"
            )
        types = [value.type.element for value in self.scales]
        if (
            self.block not in BLOCKS[bits]
            or types[0] is not types[1]
            or types[0] not in BLOCKS[bits][self.block]
        ):
            known = "; ".join(
                f"{' or '.join(map(str, held))} for {size}" for size, held in BLOCKS[bits].items()
            )
            raise self.error(
                f"has factors of {types[0]} and {types[1]} for blocks of {self.block} with {self.atom}; tcgen05.mma "
                f"has {known}"
            )
        blocks = self.terms // self.block
        shapes = (d[0], blocks), (blocks, d[1])
        for axis, (value, shape, width) in enumerate(zip(self.scales, shapes, (m, n), strict=True)):
            type = value.type
            wanted = TmemType((1, *shape), type.element, scales_layout(shape, axis, width))
            if type is not wanted:
                raise self.error(f"has factors in {type}; expected {wanted}")

    def effects(self) -> MemoryEffects | None:
        """The left operand may be in tensor memory, too."""
        if not isinstance(self.a.type, TmemType):
            return super().effects()
        return MemoryEffects(
            read("a", Resource.TENSOR, by=Completion.TCGEN05),
            read("b", by=Completion.TCGEN05),
            read("scales", Resource.TENSOR, by=Completion.TCGEN05),
            write("d", Resource.TENSOR, by=Completion.TCGEN05),
        )


class TmemCopy(
    Op,
    name="nv_tileas.async.tmem_copy",
    traits=(
        MemoryEffects(
            read("source", by=Completion.TCGEN05), write("target", Resource.TENSOR, by=Completion.TCGEN05)
        ),
    ),
):
    """Starts a copy of factors of blocks to the iterator's stage of a buffer in tensor memory by tcgen05.cp, and gives
    that stage.  In shared memory, they are in atoms of 128 rows of four blocks.  One thread starts it, and the products
    that it starts behind read what it copies; those that have read what it replaces must be complete.

    With `pair`, both CTAs of a pair copy their own."""

    source = operand(SMEM)
    target = operand(TMEM)
    iter = operand(STAGE)
    pair = attribute(UNIT_ATTR, "for products of a pair of CTAs", optional=True)
    res = result(TMEM)
    assembly = (
        "$source `,` $target `,` custom<Place>($iter) (`pair` $pair^)? attr-dict `:` type($source) `,` type($target) "
        "`->` type($res)"
    )

    @property
    def axis(self) -> int:
        """The axis of the rows of A, or of the columns of B."""
        return 0 if self.target.type.layout.layout.bases["lane"][0] == (1, 0) else 1

    def verify_op(self) -> None:
        old, new = self.source.type, self.target.type
        if (
            old.stages != 1
            or (old.tile, old.element) != (new.tile, new.element)
            or bit_width(new.element) != 8
        ):
            raise self.error(f"copies {old} to {new}; expected one stage of the same factors of 8 bits")
        if not new.is_repeated or not has_atoms(new.tile, self.axis):
            raise self.error(
                f"copies to {new}; expected factors that each {WARP_LANES} lanes hold, in atoms of {ATOM[0]} rows of "
                f"{ATOM[1]} blocks"
            )
        if self.res.type is not TmemType((1, *new.tile), new.element, new.layout):
            raise self.error(f"gives {self.res.type}; expected one stage of {new}")


class TmemLoad(Op, name="nv_tileas.tmem_load", traits=(MemoryEffects(read("source", Resource.TENSOR)),)):
    """The iterator's stage of a buffer in tensor memory, or the columns of it from one on, in registers: each warp of a
    warpgroup loads 32 lanes."""

    source = operand(TMEM)
    iter = operand(STAGE)
    row = attribute(I64_ATTR, "the first of the rows of one instruction; all of them without", optional=True)
    column = attribute(
        I64_ATTR, "the first of the columns of the tile; the result is all of it without", optional=True
    )
    res = result(ANY_RANKED_TENSOR)
    assembly = (
        "$source `,` custom<Place>($iter) (`row` $row^)? (`column` $column^)? attr-dict `:` type($source) `->` "
        "type($res)"
    )

    def verify_op(self) -> None:
        old, new = self.source.type, self.res.type
        if not _is_part(new, old, self.row, self.column):
            raise self.error(f"loads {new} from one stage of {old}")
        if old.layout.parts > 1:
            raise self.error(f"loads {old}, whose elements share columns; only products read it")


class TmemStore(Op, name="nv_tileas.tmem_store", traits=(MemoryEffects(write("buffer", Resource.TENSOR)),)):
    """Stores a tile to a buffer of one stage in tensor memory, or to the columns of it from one on: each warp of a
    warpgroup stores 32 lanes."""

    value = operand(ANY_RANKED_TENSOR)
    buffer = operand(TMEM)
    row = attribute(I64_ATTR, "the first of the rows of one instruction; all of them without", optional=True)
    column = attribute(
        I64_ATTR, "the first of the columns of the tile; the value is all of it without", optional=True
    )
    assembly = (
        "$value `,` $buffer (`row` $row^)? (`column` $column^)? attr-dict `:` type($value) `,` type($buffer)"
    )

    def verify_op(self) -> None:
        old, new = self.value.type, self.buffer.type
        if new.stages != 1 or not _is_part(old, new, self.row, self.column):
            raise self.error(f"stores {old} to {new}; expected one stage of it")
        bits = bit_width(new.element)
        if bits * new.layout.parts != 32 or (new.rows != LANES and new.layout.parts > 2):
            raise self.error(
                f"stores {old} to {new}; expected {32 // bits} elements in a column, and {LANES} rows for more than two"
            )


class AnyInWarp(Op, name="nv_tileas.any_in_warp", traits=(PURE,)):
    """Whether a row has true elements among those that this warp accesses in a buffer in tensor memory: one answer for
    each warp.  A branch on it may have what a warp executes for itself, such as those accesses."""

    source = operand(ANY_RANKED_TENSOR)
    buffer = operand(TMEM)
    res = result(exactly(I1))
    assembly = "$source `,` $buffer attr-dict `:` type($source) `,` type($buffer)"

    def verify_op(self) -> None:
        source, buffer = self.source.type, self.buffer.type
        if (
            source.element is not I1
            or buffer.rows != LANES
            or source.shape not in ((buffer.tile[0], 1), (LANES, 1))
        ):
            raise self.error(
                f"looks for true elements of {source} in the rows of {buffer}; expected a column of i1, and "
                f"instructions of {LANES} rows"
            )


def _is_part(
    part: RankedTensorType, whole: TmemType, row: IntegerAttr | None, column: IntegerAttr | None
) -> bool:
    """Whether a tile is one stage of a buffer, or the rows of one instruction, or so many columns from one on."""
    rows, columns = whole.tile
    if row is not None:
        if not _is_instruction(row, rows, whole.rows):
            return False
        rows = whole.rows
    if part.element is not whole.element or column is None:
        return part.element is whole.element and part.shape == (rows, columns)
    first = column.value
    if part.rank != 2 or part.shape[0] != rows or whole.layout.parts > 1:
        return False
    return first >= 0 and first % part.shape[1] == 0 and first + part.shape[1] <= columns


def _is_instruction(row: IntegerAttr, rows: int, step: int) -> bool:
    """Whether the rows of an instruction begin at one of so many."""
    return 0 <= row.value < rows and row.value % step == 0


def scales_layout(shape: tuple[int, ...], axis: int, width: int) -> TensorAttr:
    """Where a product reads the factors of blocks, with so many rows or columns an instruction along an axis."""
    return TensorAttr(scale_factors(shape, axis, width))


def operand_layout(shape: tuple[int, ...], rows: int, element: Type, step: int = 0) -> LinearLayout:
    """Where a product of so many rows an instruction reads its left operand, with so many columns from one instruction
    to the next.  Raises LayoutError if it cannot."""
    return layout_of_operand(shape, rows, bit_width(element), step)


def umma_layout(shape: tuple[int, ...], rows: int) -> TensorAttr:
    """Where a product of so many rows an instruction leaves a tile.  Raises Refusal if it has no such instructions."""
    try:
        return TensorAttr(accumulator(shape, rows))
    except ValueError as problem:
        raise Refusal(str(problem)) from None
