"""Groups of boxes that TMA copies, for programs that commit copies in groups and wait for groups.

    %pipe = create_pipeline stages = 2, …         an mbarrier for each group in flight
    box_copy %desc[%i, %j], %buffer[%s] in %pipe, %fill        one thread announces bytes and starts the copies
    box_commit %pipe, %fill                       that thread arrives: the group is complete when its bytes are there
    box_wait %pipe, %drain pending = 0            every thread waits for the oldest group

The iterators are those of pipelines: one for the group that is committed next, and one for the group that is waited for
next.  Nobody releases a stage; the barriers of the program say when a buffer may be filled again.
"""

from __future__ import annotations

from tessera_tools.dialects.cute_nvgpu import TmaLoadAtomAttr
from tessera_tools.dialects.nv_tileas.base import SMEM, HasStage
from tessera_tools.dialects.nv_tileas.pipelines import Place, StageOfPipeline
from tessera_tools.dialects.nv_tileas.tma import DESC, MakeTiledTmaDesc
from tessera_tools.ir.types import I32
from tessera_tools.opdef import (
    I32_ATTR,
    Completion,
    MemoryEffects,
    Resource,
    arrive,
    attribute,
    exactly,
    operand,
    optional_operand,
    read,
    variadic_operand,
    wait,
    write,
)

__all__ = ["BoxCommit", "BoxCopy", "BoxWait", "Place"]

_PREPARED = read("pipeline", Resource.BARRIER)
"""The mbarriers have been initialized."""


class BoxCopy(
    HasStage,
    StageOfPipeline,
    name="nv_tileas.async.box_copy",
    traits=(MemoryEffects(read("desc", Resource.GLOBAL), write("buffer", by=Completion.BOXES), _PREPARED),),
):
    """Starts to copy the boxes of a tile to a stage of a buffer; what is outside of the tensor arrives as zero.

    The tile has the last axes of the tensor; a box has one element along the others.  Complete after the group that it
    is committed to has been waited for.
    """

    desc = operand(DESC)
    indices = variadic_operand(exactly(I32))
    buffer = operand(SMEM)
    stage = operand(exactly(I32))
    assembly = (
        "$desc `[` $indices `]` `,` $buffer `[` $stage `]` `in` $pipeline `,` custom<Place>($iter) attr-dict `:` "
        "type($desc) `,` type($buffer)"
    )

    def verify_op(self) -> None:
        desc, buffer = self.desc.type, self.buffer.type
        if len(self.indices) != desc.rank:
            raise self.error(f"expected {desc.rank} indices for {desc}, got {len(self.indices)}")
        tile = buffer.tile
        outer = desc.rank - len(tile)
        if desc.element is not buffer.element or outer < 0 or any(n != 1 for n in desc.shape[:outer]):
            raise self.error(
                f"copies {desc} to {buffer}: the element types must match, and the last axes of the boxes be "
                "those of the tile"
            )
        box = desc.shape[outer:]
        if any(n % m for n, m in zip(tile, box, strict=True)):
            raise self.error(f"copies boxes {list(box)} of a tile {list(tile)}; expected whole boxes")
        made = self.desc.defining_op
        if isinstance(made, MakeTiledTmaDesc) and not isinstance(made.atom, TmaLoadAtomAttr):
            raise self.error(f"loads through a descriptor created for {made.atom}")


class BoxCommit(
    StageOfPipeline,
    name="nv_tileas.async.box_commit",
    traits=(MemoryEffects(arrive(Completion.BOXES), _PREPARED),),
):
    """Commits the boxes that were started since the last commit as one group."""

    assembly = "$pipeline `,` custom<Place>($iter) attr-dict"


class BoxWait(
    StageOfPipeline,
    name="nv_tileas.async.box_wait",
    traits=(MemoryEffects(wait(Completion.BOXES), _PREPARED),),
):
    """Waits for the oldest group, after which `pending` groups may be in flight."""

    pending = attribute(I32_ATTR)
    phase = optional_operand(exactly(I32))
    assembly = "$pipeline `,` custom<Place>($iter, $phase) `pending` `=` $pending attr-dict"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.BOXES, pending=self.pending.value), _PREPARED)
