"""Boxes of tensors by TMA, products by wgmma: what runs while its threads do something else."""

from __future__ import annotations

from math import prod
from typing import Any

from tessera_tools.dialects.atoms import PRODUCT_EMITTERS, MmaAtom, check_emitter, signless
from tessera_tools.dialects.cute_nvgpu import TmaAtom, TmaLoadAtomAttr, TmaStoreAtomAttr
from tessera_tools.dialects.nv_tileaa import VIEW
from tessera_tools.dialects.nv_tileas.base import SMEM, SmemType
from tessera_tools.dialects.nv_tileas.pipelines import ITERATOR, ProducerWrite, pipeline_of
from tessera_tools.ir.types import I32, RankedTensorType, ShapedType
from tessera_tools.opdef import (
    ANY_RANKED_TENSOR,
    I32_ATTR,
    I64_ARRAY,
    PURE,
    READ_WRITE,
    WRITE,
    Op,
    attribute,
    exactly,
    of,
    of_class,
    operand,
    result,
    same_as,
    variadic_operand,
)

MOST_EXTENT = 256
"""Elements of a box along an axis (CUDA driver API, `cuTensorMapEncodeTiled`)."""


class TmaDescType(ShapedType, name="nv_tileas.tma_desc"):
    """`!nv_tileas.tma_desc<128x64xf16>`: a tensor in global memory, of which boxes of that shape are copied."""

    def verify(self) -> None:
        super().verify()
        if not 1 <= self.rank <= 5 or not self.is_static:
            raise ValueError("a box has 1 to 5 dimensions of static extents")

    @classmethod
    def parse(cls, s: Any) -> TmaDescType:
        s.expect("<")
        shape = s.dimensions()
        element = s.type()
        s.expect(">")
        return cls(shape, element)

    def text(self) -> str:
        return f"!nv_tileas.tma_desc<{self.dims_text()}{self.element}>"


DESC = of(TmaDescType, summary="nv_tileas.tma_desc")
FACTOR = of(SmemType, RankedTensorType, summary="nv_tileas.smem of one stage, or ranked tensor")


class MakeTiledTmaDesc(Op, name="nv_tileas.make_tiled_tma_desc", traits=(PURE,)):
    """What TMA must know of a view to copy boxes of it.  Who launches the kernel makes it, from its parameters."""

    view = operand(VIEW)
    box = attribute(I64_ARRAY)
    atom = attribute(of_class(TmaAtom))
    res = result(DESC)
    assembly = "$view `,` `box` `=` $box attr-dict `:` type($view) `->` type($res)"

    def verify_op(self) -> None:
        box, desc = tuple(self.box.values), self.res.type
        if box != desc.shape or desc.element is not self.view.type.element or len(box) != self.view.type.rank:
            raise self.error(f"describes boxes {list(box)} of {self.view.type}, but gives {desc}")
        if any(not 1 <= n <= MOST_EXTENT for n in box):
            raise self.error(
                f"has a box of {list(box)}; TMA copies 1 to {MOST_EXTENT} elements along an axis"
            )
        if self.atom.rank != len(box) or self.atom.element is not desc.element:
            raise self.error(f"has {self.atom}, which does not copy boxes of {desc}")


class _BoxCopy(Op):
    def verify_copy(self, desc: TmaDescType, buffer: SmemType, indices: int) -> None:
        """An error unless whole boxes make the buffer's tile."""
        if indices != desc.rank:
            raise self.error(f"expected {desc.rank} indices for {desc}, got {indices}")
        tile = buffer.tile
        if desc.element is not buffer.element or len(tile) != desc.rank:
            raise self.error(f"copies between {desc} and {buffer}: the element types and ranks must match")
        if any(n % m for n, m in zip(tile, desc.shape, strict=True)):
            raise self.error(f"copies boxes {list(desc.shape)} of a tile {list(tile)}; expected whole boxes")


class TiledTmaLoad(_BoxCopy, name="nv_tileas.async.tiled_tma_load", traits=(WRITE,)):
    """Starts to copy the boxes of a tile to the iterator's stage of a buffer; what is outside of the tensor arrives as
    zero.  In a producer_write, whose stage is full when all of it has landed."""

    desc = operand(DESC)
    indices = variadic_operand(exactly(I32))
    buffer = operand(SMEM)
    iter = operand(ITERATOR)
    assembly = "$desc `[` $indices `]` `,` $buffer `,` $iter attr-dict `:` type($desc) `,` type($buffer)"

    def verify_op(self) -> None:
        self.verify_copy(self.desc.type, self.buffer.type, len(self.indices))
        if not isinstance(self.parent_op, ProducerWrite):
            raise self.error(
                "is not in an nv_tileas.async.pipeline.producer_write, which signals its completion"
            )
        pipeline = pipeline_of(self.iter)
        if pipeline is not None and pipeline.stages.value != self.buffer.type.stages:
            raise self.error(
                f"fills {self.buffer.type.stages} stages by a pipeline of {pipeline.stages.value}"
            )
        made = self.desc.defining_op
        if isinstance(made, MakeTiledTmaDesc) and not isinstance(made.atom, TmaLoadAtomAttr):
            raise self.error(f"loads by a descriptor made for {made.atom}")


class TiledTmaStore(_BoxCopy, name="nv_tileas.async.tiled_tma_store", traits=(READ_WRITE,)):
    """Starts to copy the boxes of a stage of a buffer to global memory, by one thread of the unit; what is outside of
    the tensor is left out."""

    desc = operand(DESC)
    indices = variadic_operand(exactly(I32))
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    assembly = "$desc `[` $indices `]` `,` $buffer `[` $stage `]` attr-dict `:` type($desc) `,` type($buffer)"

    def verify_op(self) -> None:
        self.verify_copy(self.desc.type, self.buffer.type, len(self.indices))
        made = self.desc.defining_op
        if isinstance(made, MakeTiledTmaDesc) and not isinstance(made.atom, TmaStoreAtomAttr):
            raise self.error(f"stores by a descriptor made for {made.atom}")


class AsyncStoreWait(Op, name="nv_tileas.async.store_wait", traits=(READ_WRITE,)):
    """Waits until at most `pending` of the latest box stores have still to read shared memory."""

    pending = attribute(I32_ATTR)
    assembly = "$pending attr-dict"


class FenceProxy(Op, name="nv_tileas.fence_proxy", traits=(READ_WRITE,)):
    """What a thread has written to shared memory is seen by TMA and wgmma behind it (PTX ISA, "fence.proxy")."""

    assembly = "attr-dict"


class View(Op, name="nv_tileas.view", traits=(PURE,)):
    """The iterator's stage of a buffer, as a buffer of one stage.  Its tile may have other axes, in another order: the
    layout says where in memory each element is."""

    buffer = operand(SMEM)
    iter = operand(ITERATOR)
    res = result(SMEM)
    assembly = "$buffer `,` $iter attr-dict `:` type($buffer) `->` type($res)"

    def verify_op(self) -> None:
        old, new = self.buffer.type, self.res.type
        if (new.stages, prod(new.tile), new.element) != (1, prod(old.tile), old.element):
            raise self.error(f"gives {new} for one stage of {old}")


class AsyncDot(Op, name="nv_tileas.async.dot", traits=(READ_WRITE,)):
    """a · b + c by wgmma, under way until an async.dot_wait gives the sum; b, and a unless it is a tensor, lie in
    shared memory, in one of the hardware's swizzles."""

    a = operand(FACTOR)
    b = operand(SMEM)
    c = operand(ANY_RANKED_TENSOR)
    atom = attribute(of_class(MmaAtom))
    warps = attribute(I64_ARRAY, "the grid of warps over c, in multiples of 4 along its rows")
    res = result(same_as("c"))
    assembly = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)"

    def verify_op(self) -> None:
        check_emitter(self, PRODUCT_EMITTERS[self.atom.primitive], self.atom)
        c = self.c.type
        a, b = (t.tile if isinstance(t, SmemType) else t.shape for t in (self.a.type, self.b.type))
        if any(isinstance(t, SmemType) and t.stages != 1 for t in (self.a.type, self.b.type)):
            raise self.error("takes buffers of one stage; nv_tileas.view gives one")
        if len(a) != 2 or len(b) != 2 or c.shape != (a[0], b[1]) or a[1] != b[0]:
            raise self.error(f"multiplies {list(a)} by {list(b)} into {list(c.shape)}")
        named = (self.atom.a, self.atom.b, self.atom.accumulator)
        types = [v.type.element for v in (self.a, self.b, self.c)]
        if any(t is not signless(n) for t, n in zip(types, named, strict=True)):
            raise self.error(f"multiplies {types[0]} by {types[1]} into {types[2]} with {self.atom}")
        m, n, k = self.atom.mnk
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


class AsyncDotWait(Op, name="nv_tileas.async.dot_wait", traits=(READ_WRITE,)):
    """The sums of a product, when at most `pending` later products are still under way."""

    source = operand(ANY_RANKED_TENSOR)
    pending = attribute(I32_ATTR)
    res = result(same_as("source"))
    assembly = "$source `,` $pending attr-dict `:` type($res)"
