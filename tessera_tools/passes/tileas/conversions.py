"""Factors that an agent of its own computes from tiles that TMA brings: which ones, and from which part of the tiles.

    tiled_load ─▶ [reshape, permute, elementwise ops] ─▶ dot     by TMA to a stage, and from there to one of the product

wgmma reads B from shared memory, and 8-bit factors along K only.  The consumer could write a factor that is converted,
or lies along its other axis.  Its products would then wait for that in each iteration, and all of its warpgroups would
meet.  The agent runs ahead of them, as the producer does.  Its threads compute a factor part by part, along rows or
columns of the product: a part of a factor is computed from the same part of the tiles.
"""

from __future__ import annotations

from math import prod

from tessera_tools.analysis.axis import is_elementwise
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.arith.constants import splat_of
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.passes.tileas.fills import (
    BoxLoad,
    ThreadFill,
    loads_of,
    ops_before,
    read_load,
    staged_layout,
)
from tessera_tools.passes.tileas.memory_order import MemoryOrder
from tessera_tools.planning.transposition import same_axis
from tessera_tools.records import dataclass, field


@dataclass(eq=False)
class ConvertedFill(ThreadFill):
    """A factor that the agent computes."""

    reads: list[BoxLoad] = field(default_factory=list[BoxLoad])
    """The tiles that TMA brings for it."""
    cut: dict[Value, int] = field(default_factory=dict[Value, int])
    """For each tile from which a part is computed, the axis along which it has parts."""

    def count(self, warps: int, words: int) -> int:
        """The parts: as many as a thread of so many warps needs to have so many registers for one."""
        sizes = [value.type_as(RankedTensorType) for value in self.cut]
        most = max(prod(t.shape) * element_bytes(t.element) for t in sizes) // (4 * 32 * warps)
        least = min(t.shape[self.cut[value]] for value, t in zip(self.cut, sizes, strict=True))
        return max(1, min(most // words, least // 8))


def converted_fill(
    dot: nv_tileas.Dot,
    position: int,
    value: Value,
    signs: list[Operation],
    facts: Facts,
    order: MemoryOrder,
) -> ConvertedFill | None:
    """A factor before some inversions of its sign, as the agent computes it; None if it cannot.  Raises Missed if
    wgmma could not read it, or TMA not bring a tile."""
    found = loads_of(dot, position)
    loads = [load for load in found if isinstance(load, nv_tileas.TiledLoad)]
    root = value.defining_op
    between = [value, *(op.results[0] for op in signs)]
    if not loads or len(loads) < len(found) or root is None or not all(v.has_one_use for v in between):
        return None
    ops = ops_before(value, dot)
    cut = _parts(value, position, ops, dot) if ops is not None else None
    if ops is None or cut is None:
        return None
    memory, swizzle = staged_layout(dot, position)
    reads = [read_load(dot, load, facts, order) for load in loads]
    return ConvertedFill(root, memory, swizzle, signs, False, None, ops, reads=reads, cut=cut)


def _parts(value: Value, position: int, ops: list[Operation], dot: nv_tileas.Dot) -> dict[Value, int] | None:
    """The axis of each tile that follows from the rows or columns of the product; None if a part of the factor is not
    computed from the same part of each tile."""
    found = {value: position}
    for op in reversed(ops):
        axis = found.get(op.results[0])
        if axis is None or (len(op.results) > 1 and not isinstance(op, nv_tileas.TiledLoad)):
            return None
        if isinstance(op, nv_tileas.TiledLoad):
            continue
        if isinstance(op, nv_tileaa.Permute):
            axis = op.permutation.values[axis]
        elif isinstance(op, nv_tileaa.Reshape):
            axis = same_axis(op.res.type.shape, op.source.type.shape, axis)
        elif not is_elementwise(op) or constant_value(op.results[0]) is not None:
            # A constant that is not a splat has all elements in its attribute.
            return None
        for operand in op.operands:
            if (
                not isinstance(operand.type, RankedTensorType)
                or splat_of(constant_value(operand)) is not None
            ):
                continue
            made = operand.defining_op
            if axis is None or made is None or made.parent is not dot.parent or not operand.has_one_use:
                return None
            found[operand] = axis
    return found
