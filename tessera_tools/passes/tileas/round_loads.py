"""tileas-round-loads: TMA rounds factors of f32 to tf32, on the way to shared memory.

    %x = tiled_load %view[%i, %k] : memref<?x?xf32> -> tensor<128x32xf32>
    %y = truncf %x : tensor<128x32xf32> to tensor<128x32xtf32>
      ──▶  %y = tiled_load %view[%i, %k] : memref<?x?xf32> -> tensor<128x32xtf32>

Such a factor is a tile of tf32 as any other, while a kernel's products are chosen.  What no agent brings is loaded as
f32 again (`round_in_registers`): cp.async does not round.
"""

from __future__ import annotations

from typing import ClassVar

from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.dialects.arith.attributes import NEAREST_EVEN, rounding_mode_of
from tessera_tools.ir.core import Builder, Operation, Value
from tessera_tools.ir.types import F32, RankedTensorType, element_type
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tileas.boxes import boxes_of_factor
from tessera_tools.passes.tileas.dot_sources import is_factor
from tessera_tools.passes.tileas.fills import tma_axes
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.planning.kernel import kernels_with
from tessera_tools.target import Feature


class RoundLoads(Pass):
    """Let TMA round factors."""

    name: ClassVar = "tileas-round-loads"
    summary: ClassVar = "let TMA round factors of f32 to tf32"
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "nv_tileas ops without layouts"
    ensures: ClassVar = "loads that TMA can make round the factors of tf32 for which alone they are"
    statistics: ClassVar = {"rounded": "loads that TMA may round to tf32"}

    def run(self, op: Operation, context: PassContext) -> bool:
        count = sum(
            _round(function)
            for function, target in kernels_with(op, Feature.TMA)
            if target.multiplies_asynchronously
        )
        context.count("rounded", count)
        return count > 0


def _round(function: nv_tileaa.Func) -> int:
    """Let loads round; how many do."""
    facts, count = Facts(), 0
    for cast in [op for op in function.walk() if isinstance(op, arith.TruncF)]:
        source, target = element_type(cast.in_.type), element_type(cast.out.type)
        if not nv_tileas.rounds(source, target) or rounding_mode_of(cast) != NEAREST_EVEN:
            continue
        tiles = _moved(cast.in_)
        load = tiles[-1].defining_op if tiles else None
        if not isinstance(load, nv_tileas.TiledLoad) or not all(tile.has_one_use for tile in tiles):
            continue
        if not all(is_factor(use.owner, cast.out) for use in cast.out.uses):
            continue
        try:
            boxes_of_factor(load, load.res.type, tma_axes(load, load.res.type, facts))
        except Missed:
            continue
        for tile in tiles:
            tile.type = RankedTensorType(tile.type.shape, target, tile.type.encoding)
        cast.out.replace_all_uses_with(cast.in_)
        cast.erase()
        count += 1
    return count


def _moved(value: Value) -> list[Value[RankedTensorType]]:
    """A tile, and those that it is made of by ops that only move elements, the last one first."""
    tiles: list[Value[RankedTensorType]] = []
    while isinstance(value.type, RankedTensorType):
        tiles.append(value)  # type: ignore[arg-type]
        op = value.defining_op
        if not isinstance(op, nv_tileaa.Permute | nv_tileaa.Reshape):
            break
        value = op.source
    return tiles


def round_in_registers(function: nv_tileaa.Func) -> bool:
    """Load as f32 what TMA does not bring, and round it in registers; whether there is any."""
    loads = [op for op in function.walk() if isinstance(op, nv_tileas.TiledLoad) and op.rounds]
    for load in loads:
        type = load.res.type
        load.res.type = RankedTensorType(type.shape, F32, type.encoding)
        cast = arith.TruncF(load.res, out=type, location=load.location)
        Builder.after(load).insert(cast)
        load.res.replace_all_uses_with(cast.out, keep=lambda use, cast=cast: use.owner is cast)
    return bool(loads)
