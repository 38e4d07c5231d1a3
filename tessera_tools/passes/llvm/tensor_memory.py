"""Tensor memory: its allocation, products by tcgen05.mma, loads of sums to registers.

    alloc_tmem      the first warp: tcgen05.alloc, relinquish_alloc_permit; all: a barrier, and the address
    async.tmem_copy one thread: tcgen05.cp for each atom of factors of blocks
    async.umma      one thread: tcgen05.mma for each step along K, each 128 (or 64) rows, and each 256 columns
    tmem_load       tcgen05.ld for up to 64 registers; tcgen05.wait::ld, which ties the registers
    tmem_store      tcgen05.st of packed registers; tcgen05.wait::st behind the last of several
    s2t_copy        all: a barrier, of the cluster for several CTAs; one thread of some: tcgen05.cp, tcgen05.commit
    dealloc_tmem    all: a barrier; the first warp: tcgen05.dealloc

tcgen05.fence stands where tensor_fences.py says.

An address in tensor memory is a column in the low and a lane in the high half of a word.  PTX ISA, "Tensorcore 5th
Generation Instructions", "Instruction descriptor".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tessera_tools.dialects import llvm, nv_tileas
from tessera_tools.dialects.atoms import MmaAtom
from tessera_tools.dialects.llvm.types import pointer as pointer_in
from tessera_tools.dialects.nv_tileas import TmemType
from tessera_tools.dialects.nvvm.attributes import (
    BlockScaleKindAttr,
    CTAGroupAttr,
    Tcgen05CpMulticastAttr,
    Tcgen05CpShapeAttr,
    Tcgen05CpSrcFormatAttr,
    Tcgen05LdStShapeAttr,
    Tcgen05MMABlockScaleAttr,
    Tcgen05MMAKindAttr,
    Tcgen05WaitAttr,
)
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.effects import is_pure
from tessera_tools.ir.types import (
    BF16,
    F16,
    F32,
    I1,
    I16,
    I32,
    I64,
    TF32,
    IntegerType,
    Type,
    VectorType,
    bit_width,
)
from tessera_tools.layout import LinearLayout
from tessera_tools.layout.shared import ATOMICITY, WIDE_ATOMICITY
from tessera_tools.layout.tensor_memory import ATOM, LANES, WARP_LANES, are_atoms
from tessera_tools.passes.llvm.clusters import cluster_barrier, leads, rank, with_peers
from tessera_tools.passes.llvm.emitter import Emitter, Int
from tessera_tools.passes.llvm.fences import fence, fence_before
from tessera_tools.passes.llvm.instructions import in_any_lane, only_where
from tessera_tools.passes.llvm.lowering import Lowering, emits, lowers
from tessera_tools.passes.llvm.matrix_descriptors import Matrix, place_in, start_of
from tessera_tools.passes.llvm.mbarriers import address_of
from tessera_tools.passes.llvm.releases import has_pipelines_of_cluster
from tessera_tools.passes.llvm.shared_memory import GLOBAL_SMEM
from tessera_tools.passes.llvm.tied import tied
from tessera_tools.passes.llvm.tiles import Buffer, Tile
from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP, Feature, targets_with

TENSOR_SPACE = 6
"""LLVM's address space of tensor memory."""
_VERSION = 1 << 46
"""The constant of descriptors that tcgen05 reads, in bits 46 to 48."""
_ROWS_OF_16_BYTES = 16 >> 4 << 16 | 8 * 16 >> 4 << 32
"""The distances of a descriptor's core matrices, which are 8 rows of 16 bytes each."""
_MOST_LOADED = 64
"""Registers of one tcgen05.ld."""
_MOST_STORED = 16
"""Registers of one tcgen05.st.  They are next to each other, and packed from others that stay: with 64, attention with
128 scores a thread spills."""
_TRANSPOSED = {8: ATOMICITY, 16: ATOMICITY, 32: WIDE_ATOMICITY}
"""Bits of the elements of factors that need not be contiguous along K, and the atomicity of their swizzle if they are
not."""
_CTAS_OF_PAIR = 2
_BLOCKS_OF_COLUMN = 4
"""Factors of blocks in a column of 32 bits."""
_GROUPS = {False: CTAGroupAttr("cta_1"), True: CTAGroupAttr("cta_2")}
"""By whether the instructions are of a pair of CTAs."""


@dataclass(frozen=True, slots=True)
class _TensorBuffer:
    """Stages in tensor memory: the address of the allocation, and the first column in it."""

    address: Value
    column: int
    type: TmemType


@lowers("nv_tileas.alloc_tmem")
def alloc_tmem(low: Lowering, op: nv_tileas.AllocTmem) -> None:
    """The address passes through shared memory."""
    e = low.e
    if not low.target.has(Feature.TCGEN05):
        having = ", ".join(target.name for target in targets_with(Feature.TCGEN05))
        raise op.error(
            f"needs tensor memory, which {low.target.name} does not have; expected one of {having}"
        )
    columns = op.columns
    if columns > low.target.tmem_columns:
        raise op.error(
            f"allocates {columns} columns of tensor memory, but {low.target.name} has {low.target.tmem_columns}"
        )
    place = e.gep(e.address_of(GLOBAL_SMEM), low.allocation.offsets[op])
    group = _GROUPS[op.pair is not None]
    with only_where(e, e.icmp("eq", e.uniform_warp, 0)):
        e.nvvm("tcgen05.alloc", [place, e.constant(columns)], group=group)
        e.nvvm("tcgen05.relinquish_alloc_permit", group=group)
    e.barrier()
    address = e.emit(llvm.Load(place, res=I32)).results[0]
    for result, column in zip(op.results, op.places, strict=True):
        assert isinstance(result.type, TmemType)
        low.define(result, _TensorBuffer(address, column, result.type))


@lowers("nv_tileas.dealloc_tmem")
def dealloc_tmem(low: Lowering, op: nv_tileas.DeallocTmem) -> None:
    """Each thread has waited for its loads.  The threads of a cluster may have met behind their agents already."""
    e = low.e
    buffers = [_buffer(low, value) for value in op.operands]
    columns = op.allocation.columns
    before = op.prev_op
    if not (isinstance(before, nv_tileas.AgentSwitch) and has_pipelines_of_cluster(before)):
        e.barrier()
    with only_where(e, e.icmp("eq", e.uniform_warp, 0)):
        e.nvvm(
            "tcgen05.dealloc",
            [_pointer(e, buffers[0].address), e.constant(columns)],
            group=_GROUPS[op.pair],
        )


def _buffer(low: Lowering, value: Value) -> _TensorBuffer:
    found = low.values[value]
    assert isinstance(found, _TensorBuffer)
    return found


def commit_products(
    low: Lowering, barrier: Value, peers: Sequence[int] = (), *, in_pair: bool = False
) -> None:
    """An arrival at an mbarrier when the products are complete that this warp's thread has started; in a pair, at that
    of both CTAs; and at those of the CTAs, or pairs, whose ranks differ by `peers` (xor)."""
    e = low.e
    several = [with_peers(low, peers, 1 + in_pair)] if in_pair or peers else []
    with only_where(e, e.is_elected):
        e.nvvm("tcgen05.commit", [barrier, *several], group=_GROUPS[in_pair])


def _stage(low: Lowering, value: Value, iter: Value) -> tuple[_TensorBuffer, Int]:
    """A buffer, and the address of the stage of an iterator."""
    e, buffer = low.e, _buffer(low, value)
    address: Int = e.add(buffer.address, buffer.column)
    if buffer.type.stages > 1:
        address = e.add(address, e.mul(low.scalar(iter), buffer.type.stage_columns))
    return buffer, address


def _pointer(e: Emitter, address: Int) -> Value:
    value = e.constant(address)
    return e.pure("tensor", (value,), lambda: llvm.IntToPtr(value, res=pointer_in(TENSOR_SPACE)))


def _columns(layout: LinearLayout) -> dict[tuple[int, int], int]:
    """The first column of each tile element of the first lane, by its coordinates."""
    found: dict[tuple[int, int], int] = {}
    for column in range(layout.in_size("column")):
        at = layout.apply({"lane": 0, "column": column})
        found.setdefault((at["dim0"], at["dim1"]), column)
    return found


def _from(
    columns: dict[tuple[int, int], int], row: IntegerAttr | None, first: IntegerAttr | None
) -> dict[tuple[int, int], int]:
    """The columns of the part of a tile that begins at one of its rows or columns."""
    if row is not None:
        columns = {(0, at): column for (up, at), column in columns.items() if up == row.value}
    if first is None:
        return columns
    return {(up, at - first.value): column for (up, at), column in columns.items() if at >= first.value}


# -- products


class _Factor:
    """A factor in shared memory: descriptors of its pieces."""

    def __init__(self, low: Lowering, buffer: Buffer, k_axis: int, transposed: Mapping[int, int]) -> None:
        self.low, self.buffer, self.k_axis = low, buffer, k_axis
        self.matrix = Matrix.of(buffer, k_axis, transposed)
        self.start = start_of(low, buffer, self.matrix.fixed | _VERSION)
        self.k_major = self.matrix.k_major

    def descriptor(self, along: int, k: int) -> Value:
        """The descriptor of the piece at this position."""
        e = self.low.e
        return e.constant(e.add(self.start, place_in(self.buffer, self.k_axis, along, k) >> 4, I64), I64)


class _TensorFactor:
    """A left factor in tensor memory: addresses of its pieces."""

    k_major = True

    def __init__(self, low: Lowering, value: Value) -> None:
        self.low, self.buffer = low, _buffer(low, value)
        self.columns = _columns(self.buffer.type.layout.layout)

    def descriptor(self, along: int, k: int) -> Value:
        """The address of the piece at this position."""
        e = self.low.e
        at = self.buffer.column + self.columns[along, k]
        return _pointer(e, e.add(self.buffer.address, at))


class _Scales:
    """Factors of blocks in tensor memory."""

    def __init__(self, low: Lowering, value: Value, axis: int) -> None:
        self.low, self.buffer, self.axis = low, _buffer(low, value), axis
        self.columns = _columns(self.buffer.type.layout.layout)

    def address(self, along: int, block: int) -> Value:
        """The address of the factors of a block, and of the others in its column."""
        e, first = self.low.e, block - block % _BLOCKS_OF_COLUMN
        at = self.columns[(first, along) if self.axis else (along, first)]
        return _pointer(e, e.add(self.buffer.address, self.buffer.column + at))


@lowers("nv_tileas.async.tmem_copy")
def tmem_copy(low: Lowering, op: nv_tileas.TmemCopy) -> None:
    """Each atom is a matrix of 32 rows of 16 bytes without a swizzle, one behind the other."""
    e, axis = low.e, op.axis
    if low.unit.warps != 1:
        raise op.error(
            f"runs in {low.unit.warps} warps, of which one would start it; expected an agent of one warp"
        )
    source = low.buffer(op.source)
    if not are_atoms(source.layout, axis):
        raise op.error(
            f"copies factors that are not in atoms of {ATOM[0]} rows of {ATOM[1]} blocks in shared memory"
        )
    target, address = _stage(low, op.target, op.iter)
    columns = _columns(target.type.layout.layout)
    start = start_of(low, source, _ROWS_OF_16_BYTES | _VERSION)
    low.define(op.res, _TensorBuffer(e.constant(address), 0, op.res.type))
    fence_before(low, op)
    rows, blocks = op.source.type.tile[axis], op.source.type.tile[1 - axis]
    with only_where(e, e.is_elected):
        for along in range(0, rows, ATOM[0]):
            for block in range(0, blocks, ATOM[1]):
                place = place_in(source, 1 - axis, along, block)
                at = columns[(along, block) if axis == 0 else (block, along)]
                e.nvvm(
                    "tcgen05.cp",
                    [_pointer(e, e.add(address, at)), e.constant(e.add(start, place >> 4, I64), I64)],
                    shape=Tcgen05CpShapeAttr("shape_32x128b"),
                    multicast=Tcgen05CpMulticastAttr("warpx4"),
                    group=_GROUPS[op.pair is not None],
                )


@lowers("nv_tileas.async.umma")
@emits("umma")
def umma(low: Lowering, op: nv_tileas.Umma) -> None:
    """See the module."""
    e = low.e
    if low.unit.warps != 1:
        raise op.error(
            f"runs in {low.unit.warps} warps, of which one would start it; expected an agent of one warp"
        )
    m, n, k = op.atom.mnk
    packed = op.packed
    transposed = _TRANSPOSED if packed == 1 else {}
    in_tensor = isinstance(op.a.type, TmemType)
    a = _TensorFactor(low, op.a) if in_tensor else _Factor(low, low.buffer(op.a), 1, transposed)
    b = _Factor(low, low.buffer(op.b), 0, transposed)
    buffer, address = _stage(low, op.d, op.iter)
    columns = _columns(buffer.type.layout.layout)
    rows, width = buffer.type.tile
    negated = (op.negate_a is not None, op.negate_b is not None)
    ctas = 1 if op.pair is None else 2
    kind, word = instruction_descriptor((ctas * m, n), op.atom, (a.k_major, b.k_major), negated)
    if op.scales:
        kind = _SCALED_KINDS[kind, op.block]
    group = _GROUPS[op.pair is not None]
    scales = [_Scales(low, value, axis) for axis, value in enumerate(op.scales)]
    first = low.scalar(op.accumulate)
    always = e.constant(1, I1)
    steps = [
        (
            columns[row, column],
            a.descriptor(row, start // packed),
            b.descriptor(column, start // packed),
            (row, column, start),
        )
        for start in range(0, op.terms, k)
        for row in (range(0, rows, m) if op.row is None else [op.row.value])
        for column in range(0, width, n)
    ]  # fmt: skip
    fence_before(low, op)
    with only_where(e, e.is_elected):
        for at, left, right, (row, column, start) in steps:
            d, adds = _pointer(e, e.add(address, at)), always if start else first
            if scales:
                block = start // op.block
                factors = [scales[0].address(row, block), scales[1].address(column, block)]
                part = block % _BLOCKS_OF_COLUMN
                descriptor = e.constant(with_scales(word, part, op.scales[0].type.element))
                e.nvvm(
                    "tcgen05.mma.block_scale",
                    [d, left, right, descriptor, adds, *factors],
                    kind=BlockScaleKindAttr(kind),
                    ctaGroup=group,
                    blockScale=Tcgen05MMABlockScaleAttr(f"block{op.block}"),
                )
                continue
            e.nvvm(
                "tcgen05.mma",
                [d, left, right, e.constant(word), adds],
                kind=Tcgen05MMAKindAttr(kind),
                ctaGroup=group,
                operandSegmentSizes=DenseArrayAttr(I32, (1, 1, 1, 1, 1, 0, 0)),
            )


def instruction_descriptor(
    shape: tuple[int, int], atom: MmaAtom, k_major: tuple[bool, bool], negated: tuple[bool, bool]
) -> tuple[str, int]:
    """(the kind of the product, its instruction descriptor): types, signs and orders of A and B, and the shape, with
    the rows of both CTAs of a pair."""
    m, n = shape
    kind, a = _operand_code(atom.a)
    _, b = _operand_code(atom.b)
    word = _SUMS[atom.accumulator] << 4 | a << 7 | b << 10 | negated[0] << 13 | negated[1] << 14
    word |= (not k_major[0]) << 15 | (not k_major[1]) << 16 | n // 8 << 17 | m // 16 << 24
    return kind, word


def with_scales(word: int, part: int, element: Type) -> int:
    """The instruction descriptor of a product with factors of such a type, which begin in a part of their columns; its
    sums are f32."""
    is_exponent = str(element) == "f8E8M0FNU"
    return word & ~(3 << 4) | part << 4 | is_exponent << 23 | part << 29


_SCALED_KINDS = {("f8f6f4", 32): "mxf8f6f4", ("f4", 32): "mxf4", ("f4", 16): "mxf4nvf4"}
"""The kind of a product with factors of blocks, by its kind without, and the elements of a block."""
_SUMS: dict[Type, int] = {F16: 0, F32: 1, I32: 2}


def _operand_code(element: Type) -> tuple[str, int]:
    """(kind, number of the type in it) of a factor; instructions have no others (dialects/atoms.py)."""
    if isinstance(element, IntegerType):
        return "i8", int(element.signedness != "unsigned")
    codes: dict[Type, tuple[str, int]] = {F16: ("f16", 0), BF16: ("f16", 1), TF32: ("tf32", 2)}
    if element in codes:
        return codes[element]
    return {"f8E4M3FN": ("f8f6f4", 0), "f8E5M2": ("f8f6f4", 1), "f4E2M1FN": ("f4", 1)}[str(element)]


# -- sums


@lowers("nv_tileas.tmem_load")
def tmem_load(low: Lowering, op: nv_tileas.TmemLoad) -> None:
    """See the module."""
    e = low.e
    layout = nv_tileas.layout_of(op.res.type)
    _check_warpgroups(low, op)
    buffer, address = _stage(low, op.source, op.iter)
    columns = _columns(buffer.type.layout.layout)
    base = _of_warp(low, layout, columns, address)
    columns = _from(columns, op.row, op.column)
    fence_before(low, op)
    words: list[Value] = []
    for column, count, shape in _pieces(layout, buffer.type, columns):
        pointer = _pointer(e, e.add(base, column))
        type: Type = VectorType((count,), I32) if count > 1 else I32
        made = e.nvvm("tcgen05.ld", [pointer], [type], shape=Tcgen05LdStShapeAttr(shape)).results[0]
        words += e.elements(made, count, I32) if count > 1 else [made]
    words = tied(e, words, I32, "tcgen05.wait::ld.sync.aligned;")
    element = op.res.type.element
    low.define(op.res, Tile(op.res.type, [_element(e, word, element) for word in words]))


@lowers("nv_tileas.tmem_store")
def tmem_store(low: Lowering, op: nv_tileas.TmemStore) -> None:
    """See the module."""
    e, type = low.e, op.buffer.type
    layout = nv_tileas.layout_of(op.value.type)
    _check_warpgroups(low, op)
    buffer = _buffer(low, op.buffer)
    columns = _columns(type.layout.layout)
    base = _of_warp(low, layout, columns, e.add(buffer.address, buffer.column))
    columns = _from(columns, op.row, op.column)
    words = low.tile(op.value).words(e)
    fence_before(low, op)
    start = 0
    # What all warps hold is stored by one warpgroup.
    several = type.is_repeated and low.unit.warps > WARPS_OF_WARPGROUP
    first_group = e.icmp("ult", e.uniform_warp, WARPS_OF_WARPGROUP) if several else None
    with only_where(e, first_group):
        for column, count, shape in _pieces(layout, type, columns, _MOST_STORED):
            pointer = _pointer(e, e.add(base, column))
            moved = words[start : start + count]
            value = e.vector(moved, I32) if count > 1 else moved[0]
            e.nvvm("tcgen05.st", [pointer, value], shape=Tcgen05LdStShapeAttr(shape))
            start += count
        if not _waits_later(op, _without_wait(op)):
            e.nvvm("tcgen05.wait", kind=Tcgen05WaitAttr("store"))


def _waits_later(op: nv_tileas.TmemStore, waiting: set[tuple[int, int]]) -> bool:
    """Whether the same threads store other columns of the buffer right behind a store: one wait is for both.  Loads
    between them are of other columns, too, than the stores that still have no wait."""
    behind = op.next_op
    while behind is not None and op.column is not None:
        if isinstance(behind, nv_tileas.TmemStore | nv_tileas.TmemLoad):
            if isinstance(behind, nv_tileas.TmemStore):
                other, value = behind.buffer, behind.value
            else:
                other, value = behind.source, behind.res
            if other is not op.buffer or value.type != op.value.type or _place(behind) in waiting:
                return False
            if isinstance(behind, nv_tileas.TmemStore):
                return True
        elif behind.regions or not is_pure(behind):
            return False
        behind = behind.next_op
    return False


def _without_wait(op: nv_tileas.TmemStore) -> set[tuple[int, int]]:
    """The places of a store and of those before it whose wait is not in front of it."""
    before = op.prev_op
    while before is not None and not isinstance(before, nv_tileas.TmemStore):
        before = before.prev_op
    if before is None or not _waits_later(before, earlier := _without_wait(before)):
        return {_place(op)}
    return {_place(op), *earlier}


def _place(op: nv_tileas.TmemStore | nv_tileas.TmemLoad) -> tuple[int, int]:
    """The first row and column of a tile in its buffer."""
    row, column = op.row, op.column
    return (0 if row is None else row.value), (0 if column is None else column.value)


@lowers("nv_tileas.any_in_warp")
def any_in_warp(low: Lowering, op: nv_tileas.AnyInWarp) -> None:
    """A vote of what the lanes hold."""
    e = low.e
    first, *others = low.tile(op.source).elements(e)
    for other in others:
        first = e.emit(llvm.Or(first, other)).results[0]
    low.define(op.res, in_any_lane(e, first))


def _check_warpgroups(low: Lowering, op: Operation) -> None:
    if not low.unit.is_warpgroups:
        raise op.error(
            f"runs in {low.unit.warps} warps from {low.unit.first_warp} on; expected whole warpgroups"
        )


def _of_warp(low: Lowering, layout: LinearLayout, columns: dict[tuple[int, int], int], address: Int) -> Int:
    """The address of the lanes and columns of this warp."""
    e = low.e
    moved: Int = e.shl(e.and_(e.uniform_warp, 3), 16 + WARP_LANES.bit_length() - 1)
    for bit, step in enumerate(layout.bases["warp"][2:]):
        # Other warpgroups have other rows or columns.
        part = e.and_(e.lshr(e.uniform_warp, 2 + bit), 1)
        moved = e.add(moved, e.mul(part, columns[step[0], step[1]]))
    return e.add(address, moved)


def _element(e: Emitter, word: Value, element: Type) -> Value:
    """A sum in a column of 32 bits."""
    if element is F16:
        return e.bitcast(e.resized(word, I16), F16)
    return word if isinstance(element, IntegerType) else e.bitcast(word, element)


def _pieces(
    layout: LinearLayout, type: TmemType, columns: dict[tuple[int, int], int], most: int = _MOST_LOADED
) -> Iterator[tuple[int, int, str]]:
    """(first column, number of registers, shape) of each tcgen05.ld or .st for the registers of a layout, in order;
    elements that share a column share a register."""
    parts = type.layout.parts
    shape = "shape_32x32b" if type.rows == LANES else "shape_16x256b" if parts == 1 else "shape_16x128b"
    registers = layout.in_size("register")
    start = 0
    while start < registers:
        at = layout.apply({"register": start, "lane": 0, "warp": 0})
        first = columns[at["dim0"], at["dim1"]]
        count = min(most * parts, registers - start)
        while count > parts and not _are_next(layout, start, count, type, columns, first):
            count //= 2
        yield first, count // parts, shape
        start += count


def _are_next(
    layout: LinearLayout,
    start: int,
    count: int,
    type: TmemType,
    columns: dict[tuple[int, int], int],
    first: int,
) -> bool:
    """Whether registers are columns next to each other: one each, or four for eight columns of two rows."""
    parts = type.layout.parts
    step, width = (parts, 1) if type.rows == LANES else (4, 8 // parts)
    for number in range(0, count, step):
        at = layout.apply({"register": start + number, "lane": 0, "warp": 0})
        if columns.get((at["dim0"], at["dim1"])) != first + number // step * width:
            return False
    return True


# -- tiles from shared memory


@lowers("nv_tileas.async.s2t_copy")
def s2t_copy(low: Lowering, op: nv_tileas.S2tCopy) -> None:
    """For one CTA, one thread.  For two, one thread of the leader: cta_group::2 copies for both.  For four, one thread
    of each CTA for which (rank % 4) & 1: two pairs.  What one thread starts of a pair is complete in both CTAs, so that
    the commit arrives in both."""
    e, ctas = low.e, op.atom.ctas
    if low.ctas % ctas:
        raise op.error(
            f"Failed to init mbarrier: {ctas} CTAs copy together, but the kernel has clusters of {low.ctas}; expected "
            f"a multiple of {ctas}"
        )
    if e.is_agent:
        raise op.error(
            "is in an agent, but all threads of the CTA meet before the copy; use it outside of agents"
        )
    made = op.target.defining_op
    in_pair = ctas >= _CTAS_OF_PAIR
    if isinstance(made, nv_tileas.AllocTmem) and (made.pair is not None) != in_pair:
        raise op.error(
            f"copies by {ctas} CTA{'s' if in_pair else ''} to a buffer that is {'not ' if in_pair else ''}allocated "
            "for pairs; all tcgen05 instructions of a kernel have one cta_group"
        )
    source, target = _Factor(low, low.buffer(op.source), 1, {}), _buffer(low, op.target)
    # What the threads have written to the source, and the mbarriers, are there before the copy, and their accesses of
    # what it replaces are over.
    is_fenced = op in low.fences.before
    if is_fenced:
        fence(e, "before")
    if in_pair:
        cluster_barrier(low)
    else:
        e.barrier()
    if is_fenced:
        fence(e, "after")
    columns = op.target.type.tile[1]
    bits = bit_width(op.target.type.element)
    step = op.atom.bits // bits
    named = op.atom.source_format
    source_format: dict[str, Attribute] = {"srcFormat": Tcgen05CpSrcFormatAttr(named)} if named else {}
    with only_where(e, _issues(low, ctas)), only_where(e, e.icmp("eq", e.uniform_warp, 0)):
        with only_where(e, e.is_elected):
            for first in range(0, columns, step):
                at = e.add(target.address, target.column + first * bits // 32)
                e.nvvm(
                    "tcgen05.cp",
                    [_pointer(e, at), source.descriptor(0, first)],
                    shape=Tcgen05CpShapeAttr(op.atom.shape),
                    multicast=Tcgen05CpMulticastAttr(op.atom.multicast),
                    group=_GROUPS[in_pair],
                    **source_format,
                )
        commit_products(low, address_of(low, op), in_pair=in_pair)


def _issues(low: Lowering, ctas: int) -> Value | None:
    """Whether this CTA starts the copies, which all of its threads agree on."""
    e = low.e
    if ctas < _CTAS_OF_PAIR:
        return None
    if ctas == _CTAS_OF_PAIR:
        return leads(low)
    return e.icmp("ne", e.and_(e.and_(rank(low), ctas - 1), 1), 0)
