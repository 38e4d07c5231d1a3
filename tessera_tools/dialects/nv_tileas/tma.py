"""Boxes of tensors by TMA, products by wgmma: what runs while its threads do something else."""

from __future__ import annotations

from math import prod

from tessera_tools.dialects.atoms import MmaAtom, check_emitter, signless
from tessera_tools.dialects.cute_nvgpu import TmaAtom, TmaLoadAtomAttr, TmaStoreAtomAttr
from tessera_tools.dialects.nv_tileaa import TOKEN, VIEW
from tessera_tools.dialects.nv_tileas.base import SMEM, HasStage, SmemType, rounds
from tessera_tools.dialects.nv_tileas.clusters import peers_of, shared_axis
from tessera_tools.dialects.nv_tileas.pipelines import (
    FULL,
    STAGE,
    CreatePipeline,
    ProducerWrite,
    pipeline_at,
    pipeline_of,
)
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import F32, I32, IntegerType, PlainShapedType, RankedTensorType
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    I32_ATTR,
    I64_ARRAY,
    I64_ATTR,
    IN_ORDER,
    PURE,
    UNIT_ATTR,
    Completion,
    MemoryEffects,
    Op,
    Resource,
    arrive,
    attribute,
    exactly,
    of,
    of_class,
    operand,
    optional_operand,
    optional_result,
    read,
    result,
    same_as,
    variadic_operand,
    wait,
    write,
)

MOST_EXTENT = 256
"""Elements of a box along an axis (CUDA driver API, `cuTensorMapEncodeTiled`)."""


class TmaDescType(PlainShapedType, name="nv_tileas.tma_desc"):
    """`!nv_tileas.tma_desc<128x64xf16>`: a tensor in global memory, copied in boxes of that shape."""

    def verify(self) -> None:
        super().verify()
        if not 1 <= self.rank <= 5 or not self.is_static:
            raise ValueError("a box has 1 to 5 dimensions of static extents")


DESC = of(TmaDescType, summary="nv_tileas.tma_desc")
FACTOR = of(SmemType, RankedTensorType, summary="nv_tileas.smem of one stage, or ranked tensor")


class MakeTiledTmaDesc(Op, name="nv_tileas.make_tiled_tma_desc", traits=(PURE,)):
    """The TMA descriptor of a view, for copies of boxes.  The launcher creates it from the kernel's parameters.

    Through one of tf32 elements, loads from a view of f32 are rounded.
    """

    view = operand(VIEW)
    box = attribute(I64_ARRAY)
    atom = attribute(of_class(TmaAtom))
    res = result(DESC)
    assembly = "$view `,` `box` `=` $box custom<OlderAtom> attr-dict `:` custom<OperandOrResult>($view, $res)"

    def verify_op(self) -> None:
        box, desc = tuple(self.box.values), self.res.type
        element = self.view.type.element
        loads = desc.element is element or (
            isinstance(self.atom, TmaLoadAtomAttr) and rounds(element, desc.element)
        )
        if box != desc.shape or not loads or len(box) != self.view.type.rank:
            raise self.error(f"describes boxes {list(box)} of {self.view.type}, but returns {desc}")
        if any(not 1 <= n <= MOST_EXTENT for n in box):
            raise self.error(
                f"has a box of {list(box)}; TMA copies 1 to {MOST_EXTENT} elements along an axis"
            )
        if self.atom.rank != len(box) or self.atom.element is not desc.element:
            raise self.error(f"has {self.atom}, which does not copy boxes of {desc}")


class _BoxCopy(Op):
    def verify_copy(self, desc: TmaDescType, buffer: SmemType, indices: int) -> None:
        """Raises an error unless the buffer's tile consists of whole boxes."""
        if indices != desc.rank:
            raise self.error(f"expected {desc.rank} indices for {desc}, got {indices}")
        tile = buffer.tile
        if desc.element is not buffer.element or len(tile) != desc.rank:
            raise self.error(f"copies between {desc} and {buffer}: the element types and ranks must match")
        if any(n % m for n, m in zip(tile, desc.shape, strict=True)):
            raise self.error(f"copies boxes {list(desc.shape)} of a tile {list(tile)}; expected whole boxes")


class TiledTmaLoad(
    _BoxCopy,
    name="nv_tileas.async.tiled_tma_load",
    traits=(
        MemoryEffects(
            read("desc", Resource.GLOBAL),
            write("buffer", by=Completion.MBARRIER, through="iter", phase=FULL),
        ),
    ),
):
    """Starts to copy the boxes of a tile to the iterator's stage of a buffer; what is outside of the tensor arrives as
    zero.  In a producer_write, whose stage is full when all of it is complete.

    With `multicast`, the CTAs whose ranks differ only in these bits get the same tile, and each copies a part of it to
    all of them: those of its boxes that are next to each other along the first axis of more than one element.
    """

    desc = operand(DESC)
    indices = variadic_operand(exactly(I32))
    buffer = operand(SMEM)
    iter = operand(STAGE)
    multicast = attribute(I64_ATTR, "bits of the rank", optional=True)
    assembly = (
        "$desc custom<OlderComma> `[` $indices `]` `,` $buffer `,` custom<Place>($iter) (`multicast` `=` $multicast^)? "
        "attr-dict "
        "custom<CopyTypes>($desc, $buffer)"
    )

    def verify_op(self) -> None:
        self.verify_copy(self.desc.type, self.buffer.type, len(self.indices))
        if not isinstance(self.parent_op, ProducerWrite):
            raise self.error(
                "is not in an nv_tileas.async.pipeline.producer_write, which signals its completion"
            )
        if self.iter is not self.parent_op.iter:
            raise self.error("fills another stage than the producer_write around it")
        pipeline = pipeline_at(self)
        if pipeline is not None and pipeline.stages.value != self.buffer.type.stages:
            raise self.error(
                f"has a buffer of {self.buffer.type.stages} stages, but its pipeline has {pipeline.stages.value}"
            )
        if self.multicast is not None:
            self._verify_multicast(pipeline)
        made = self.desc.defining_op
        if isinstance(made, MakeTiledTmaDesc) and not isinstance(made.atom, TmaLoadAtomAttr):
            raise self.error(f"loads through a descriptor created for {made.atom}")

    def _verify_multicast(self, pipeline: CreatePipeline | None) -> None:
        assert self.multicast is not None
        bits = self.multicast.value
        if not 1 <= bits <= 15:
            raise self.error(f"has multicast = {bits}; expected bits of a rank, 1 to 15")
        count = 1 << bits.bit_count()
        axis = shared_axis(self.buffer.type.tile)
        boxes = self.buffer.type.tile[axis] // self.desc.type.shape[axis]
        if boxes % count:
            raise self.error(
                f"has {boxes} boxes along axis {axis}, which {count} CTAs cannot share; use boxes of fewer rows"
            )
        if pipeline is not None and pipeline.pair is not None and bits & 1:
            raise self.error(
                f"has multicast = {bits}, but its pipeline is that of a pair, whose CTAs differ in bit 0; expected "
                "bits of other pairs"
            )
        peers = peers_of([bits])
        known = () if pipeline is None or pipeline.peers is None else pipeline.peers.values
        if pipeline is not None and not set(peers) <= set(known):
            raise self.error(
                f"fills the stages of peers {list(peers)}, but its pipeline has peers {list(known)}: nobody would wait "
                "until they are empty"
            )


class TiledTmaStore(
    HasStage,
    _BoxCopy,
    name="nv_tileas.async.tiled_tma_store",
    traits=(
        MemoryEffects(
            read("buffer", by=Completion.BULK_READ),
            write("desc", Resource.GLOBAL, by=Completion.BULK),
            arrive(Completion.BULK_READ),
            arrive(Completion.BULK),
        ),
    ),
):
    """Starts to copy the boxes of a stage of a buffer to global memory, by one thread of the unit, and commits them as
    one group; elements outside the tensor are skipped.  It is ordered after the accesses of `token`, and
    `out_token` includes it."""

    desc = operand(DESC)
    indices = variadic_operand(exactly(I32))
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    token = optional_operand(TOKEN)
    out_token = optional_result(TOKEN)
    assembly = (
        "$desc custom<OlderComma> `[` $indices `]` `,` $buffer custom<OlderStage>($stage) (`after` $token^)? attr-dict "
        "custom<CopyTypes>($desc, $buffer) (`->` type($out_token)^)?"
    )

    def verify_op(self) -> None:
        self.verify_copy(self.desc.type, self.buffer.type, len(self.indices))
        made = self.desc.defining_op
        if isinstance(made, MakeTiledTmaDesc) and not isinstance(made.atom, TmaStoreAtomAttr):
            raise self.error(f"stores through a descriptor created for {made.atom}")


class AsyncStoreWait(
    Op,
    name="nv_tileas.async.store_wait",
    traits=(MemoryEffects(wait(Completion.BULK_READ), wait(Completion.BULK)),),
):
    """Waits until at most `pending` of the latest box stores are incomplete; with `read`, until at most that many have
    still to read shared memory."""

    pending = attribute(I32_ATTR)
    read = attribute(UNIT_ATTR, optional=True)
    assembly = "$pending (`read` $read^)? attr-dict"

    def effects(self) -> MemoryEffects:
        pending = self.pending.value
        done = () if self.read is not None else (wait(Completion.BULK, pending=pending),)
        return MemoryEffects(wait(Completion.BULK_READ, pending=pending), *done)


class FenceProxy(Op, name="nv_tileas.fence_proxy", traits=(IN_ORDER,)):
    """Makes a thread's earlier writes to shared memory visible to TMA and wgmma (PTX ISA, "fence.proxy")."""

    assembly = "attr-dict"


class View(Op, name="nv_tileas.view", traits=(PURE,)):
    """The iterator's stage of a buffer, as a buffer of one stage.  Its tile may have other axes, in another order: the
    layout says where in memory each element is."""

    buffer = operand(SMEM)
    iter = operand(STAGE)
    res = result(SMEM)
    assembly = "$buffer `,` custom<Place>($iter) attr-dict `:` custom<OperandOrResult>($buffer, $res)"

    def verify_op(self) -> None:
        old, new = self.buffer.type, self.res.type
        if (new.stages, prod(new.tile), new.element) != (1, prod(old.tile), old.element):
            raise self.error(f"returns {new} for one stage of {old}")


class AsyncDot(
    Op,
    name="nv_tileas.async.dot",
    traits=(
        MemoryEffects(
            read("a", by=Completion.WGMMA),
            read("b", by=Completion.WGMMA),
            write("res", Resource.REGISTERS, by=Completion.WGMMA),
            arrive(Completion.WGMMA),
        ),
    ),
):
    """a · b + c by wgmma, in flight until an async.dot_wait returns the sum; b, and a unless it is a tensor, are in
    shared memory, in one of the hardware's swizzles.

    With `promoted`, the tensor cores add only so many terms along K.  Each of these sums starts from zero, and is added
    to c in f32, for the columns of one instruction at a time.  The op then ends with its products: there is no wait.
    """

    a = operand(FACTOR)
    b = operand(SMEM)
    c = operand(ANY_RANKED_TENSOR)
    atom = attribute(of_class(MmaAtom))
    warps = attribute(I64_ARRAY, "the grid of warps over c, in multiples of 4 along its rows")
    negate_a = attribute(UNIT_ATTR, "wgmma inverts the sign of a", optional=True)
    negate_b = attribute(UNIT_ATTR, "wgmma inverts the sign of b", optional=True)
    promoted = attribute(I64_ATTR, "terms along K that the tensor cores add before f32 does", optional=True)
    res = result(same_as("c"))
    assembly = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)"

    def effects(self) -> MemoryEffects | None:
        if self.promoted is None:
            return super().effects()
        return MemoryEffects(read("a"), read("b"), wait(Completion.WGMMA))

    def verify_op(self) -> None:
        check_emitter(self, self.atom.row.emitters, self.atom)
        c = self.c.type
        a, b = (t.tile if isinstance(t, SmemType) else t.shape for t in (self.a.type, self.b.type))
        if any(isinstance(t, SmemType) and t.stages != 1 for t in (self.a.type, self.b.type)):
            raise self.error("requires buffers of one stage; select one with nv_tileas.view")
        if len(a) != 2 or len(b) != 2 or c.shape != (a[0], b[1]) or a[1] != b[0]:
            raise self.error(f"multiplies {list(a)} by {list(b)} into {list(c.shape)}")
        named = (self.atom.a, self.atom.b, self.atom.accumulator)
        types = [v.type.element for v in (self.a, self.b, self.c)]
        if any(t is not signless(n) for t, n in zip(types, named, strict=True)):
            raise self.error(f"multiplies {types[0]} by {types[1]} into {types[2]} with {self.atom}")
        if (self.negate_a or self.negate_b) and isinstance(self.atom.a, IntegerType):
            raise self.error(f"inverts the sign of {types[0]}; wgmma does that for floating-point types only")
        m, n, k = self.atom.mnk
        if self.promoted is not None and (
            types[2] is not F32 or self.promoted.value < 1 or self.promoted.value % k
        ):
            raise self.error(
                f"promotes sums of {self.promoted.value} terms in {types[2]}; expected a multiple of {k} terms, in f32"
            )
        grid = tuple(self.warps.values)
        if len(grid) != 2 or grid[0] % 4 or min(grid) < 1:
            raise self.error(
                f"has a grid of warps {list(grid)}; expected two counts, the first a multiple of 4"
            )
        if c.shape[0] % (16 * grid[0]) or c.shape[1] % (n * grid[1]) or a[1] % k:
            raise self.error(
                f"multiplies tiles of {c.shape[0]}x{c.shape[1]}x{a[1]} by {grid[0] // 4}x{grid[1]} warpgroups with "
                f"{m}x{n}x{k}: expected whole instructions for each"
            )


class AsyncDotWait(Op, name="nv_tileas.async.dot_wait", traits=(MemoryEffects(wait(Completion.WGMMA)),)):
    """The sums of a product, when at most `pending` later products are still in flight.  Without sums it only waits:
    for products whose sums later products take over, and whose factors may be released."""

    source = optional_operand(ANY_RANKED_TENSOR)
    pending = attribute(I32_ATTR)
    res = optional_result(ANY_RANKED_TENSOR)
    assembly = "($source^ `,`)? $pending attr-dict (`:` type($res)^)?"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.WGMMA, pending=self.pending.value))

    def verify_op(self) -> None:
        if [v.type for v in self.operands] != self.result_types:
            given, expected = (", ".join(map(str, t)) for t in (self.result_types, self.operand_types))
            raise self.error(f"returns ({given}) for accumulators of type ({expected})")


class AsyncDotResult(Op, name="nv_tileas.async.dot_result", traits=(MemoryEffects(wait(Completion.WGMMA)),)):
    """Sums that an async.dot_wait without sums has waited for: nothing that reads them moves before this op."""

    source = operand(ANY_RANKED_TENSOR)
    res = result(same_as("source"))
    assembly = "$source attr-dict `:` type($res)"


def storage_of(value: Value) -> Operation | None:
    """The op that allocates what a buffer, a stage of one, or a pipeline's iterator or token is of; None if no op in
    the function does, or several may."""
    while isinstance(made := value.defining_op, View):
        value = made.buffer
    return made if isinstance(value.type, SmemType) else pipeline_of(value)
