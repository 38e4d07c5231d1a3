"""Copies of tiles from shared to tensor memory by tcgen05.cp, by one CTA, a pair, or two pairs of a cluster.

    async.s2t_copy %tile, %target, %mbarrier[%stage] {atom = #cute_nvgpu.s2t_copy<shape_128x256b, ctas = 2>}

The instruction has cta_group::1 and ::2 only (PTX ISA, "tcgen05.cp").  Two CTAs copy by one instruction, each its own
tile to its own tensor memory.  Four CTAs are two pairs.
"""

from __future__ import annotations

from tessera_tools.dialects.cute_nvgpu import S2tCopyAttr
from tessera_tools.dialects.nv_tileas.base import SMEM, HasStage
from tessera_tools.dialects.nv_tileas.tensor_memory import TMEM, operand_layout
from tessera_tools.ir.effects import Resource
from tessera_tools.ir.types import I32, I64, bit_width
from tessera_tools.layout.tensor_memory import LANES, accumulator
from tessera_tools.opdef import (
    Completion,
    MemoryEffects,
    Op,
    attribute,
    exactly,
    of_class,
    operand,
    read,
    write,
)


class S2tCopy(
    HasStage,
    Op,
    name="nv_tileas.async.s2t_copy",
    traits=(
        MemoryEffects(
            read("source", by=Completion.MBARRIER, through="mbarrier"),
            write("target", Resource.TENSOR, by=Completion.MBARRIER, through="mbarrier"),
        ),
    ),
):
    """Starts to copy a tile from shared to the 128 lanes of tensor memory.  Of 128 rows, row r is copied to lane r; of
    64, to lanes r and r + 64 (warpx2_02_13), or to lanes r % 32 + 64 * (r / 32) and 32 more (warpx2_01_23); of 32, to
    lanes r, r + 32, r + 64 and r + 96; of 4, to lane 32 * r, and the other lanes stay as they are.  With a format, the
    16 elements that each 16 bytes of the source hold become the 16 bytes in their place.  The threads of all CTAs that
    copy together meet first.  One thread of a CTA, of a pair, or of each of two pairs starts the copies; the mbarrier
    of each CTA gets one arrival when its tile is complete."""

    source = operand(SMEM)
    target = operand(TMEM)
    mbarrier = operand(SMEM)
    stage = operand(exactly(I32))
    atom = attribute(of_class(S2tCopyAttr))
    assembly = (
        "$source `,` $target `,` $mbarrier `[` $stage `]` attr-dict `:` type($source) `,` type($target) `,` "
        "type($mbarrier)"
    )

    def verify_op(self) -> None:
        old, new, mbarrier = self.source.type, self.target.type, self.mbarrier.type
        if mbarrier.element is not I64 or mbarrier.tile != (1,):
            raise self.error(
                f"has an operand of type {mbarrier}; an mbarrier is !nv_tileas.smem<stages x 1 x i64>"
            )
        rows = self.atom.rows
        if (
            old.stages != 1
            or new.stages != 1
            or old.element is not new.element
            or len(old.tile) != len(new.tile)
        ):
            raise self.error(f"copies {old} to {new}; expected one stage of the same tile")
        if old.tile != (rows, *new.tile[1:]) or len(new.tile) != 2 or new.tile[0] != LANES:
            raise self.error(
                f"copies {old} to {new} by {self.atom}; expected {rows} rows, {LANES} lanes, and the same columns"
            )
        bits = bit_width(new.element) * new.tile[1]
        if bits % self.atom.bits:
            raise self.error(
                f"copies {bits} bits of a row by {self.atom}; expected a multiple of {self.atom.bits}"
            )
        if new.layout.layout not in (
            operand_layout(new.tile, LANES, new.element),
            accumulator(new.tile, LANES),
        ):
            raise self.error(f"copies to {new}; expected row r in lane r, in columns one behind the other")
