"""Stages that several products read: TMA brings a tile once that is a factor of each of them.

    %k = tiled_load %v[%i, %j]; %s = dot %q, (permute %k), …       reads the stage along K
    %w = tiled_load %v[%i, %j]; %o = dot %p, %w, …                 reads the same bytes across

The boxes and the swizzle of a stage follow from the load alone, and the descriptors of wgmma and tcgen05.mma say along
which axis a factor is contiguous.  So equal loads make equal stages, also through views whose axes have another order.
The stage is filled for the first of the products, and empty when the last one has read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tessera_tools.dialects import arith, nv_tileaa, nv_tileas
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.op_keys import op_key
from tessera_tools.passes.tileas.fills import BoxLoad, Filler
from tessera_tools.passes.tileas.missed import place_of
from tessera_tools.passes.tileas.round_loads import round_in_registers

_Number: TypeAlias = int | Value
_Axis: TypeAlias = tuple[int, int, _Number, _Number, _Number]
"""Of a tile along one axis: its extent, that of a box, extent and stride of the view, the index."""


def share_stages(factors: Iterable[tuple[nv_tileas.Dot, Filler]]) -> None:
    """Let factors of products, in the order of the program, be in the stages of an earlier one that is the same
    tile."""
    first: list[tuple[nv_tileas.Dot, BoxLoad]] = []
    for dot, load in factors:
        if not isinstance(load, BoxLoad):
            continue
        for earlier, other in first:
            if _are_waited_for_together((earlier, other), (dot, load)) and _same_tile(other, load):
                load.stage_of = other
                other.also[load] = dot
                break
        else:
            first.append((dot, load))


def _are_waited_for_together(
    first: tuple[nv_tileas.Dot, BoxLoad], second: tuple[nv_tileas.Dot, BoxLoad]
) -> bool:
    """Whether one wait is for both factors: in the block of both products, or in that of the loads, around both."""
    (dot, load), (other_dot, other) = first, second
    inside, other_inside = dot.parent is load.load.parent, other_dot.parent is other.load.parent
    return load.load.parent is other.load.parent and inside is other_inside


def _same_tile(load: BoxLoad, other: BoxLoad) -> bool:
    """Whether two loads bring the same bytes in the same boxes."""
    view, other_view = load.load.view.defining_op, other.load.view.defining_op
    if not isinstance(view, nv_tileaa.MakeMemRef) or not isinstance(other_view, nv_tileaa.MakeMemRef):
        return False
    return (
        view.base is other_view.base
        and load.type.element is other.type.element
        and (load.swizzle, load.boxes.atomicity) == (other.swizzle, other.boxes.atomicity)
        and load.half == other.half is None
        and _axes(load, view) == _axes(other, other_view)
    )


def _axes(load: BoxLoad, view: nv_tileaa.MakeMemRef) -> tuple[list[_Axis], Counter[_Axis]]:
    """The axes of a tile in the order of memory, and those of extent 1, which are in any order."""
    boxes, extents, strides = load.boxes, view.extents(), view.strides()
    found: list[_Axis] = [
        (size, box, _number(extents[axis]), _number(strides[axis]), _number(load.load.indices[axis]))
        for axis, size, box in zip(boxes.order, boxes.tile, boxes.box, strict=True)
    ]
    return [axis for axis in found if axis[0] > 1], Counter(axis for axis in found if axis[0] == 1)


def _number(value: _Number) -> _Number:
    known = None if isinstance(value, int) else constant_integer(value)
    return value if known is None else known


def by_last_reader(dot: Operation, loads: Sequence[Filler]) -> list[list[Filler]]:
    """The loads of a product that fill one stage together: those that the same product is the last one to read."""
    found: dict[Operation, list[Filler]] = {}
    for load in loads:
        readers = load.also.values() if isinstance(load, BoxLoad) else ()
        found.setdefault([dot, *readers][-1], []).append(load)
    return list(found.values())


_LOADS = (nv_tileas.TiledLoad, nv_tileaa.Permute, nv_tileaa.Reshape, arith.NegF, arith.TruncF)


def restore_loads(function: nv_tileaa.Func) -> bool:
    """Let loads be as the program has them where threads load the tile: one for all products, with what is between, and
    rounded in registers.  Whether there were others."""
    found: dict[object, Operation] = {}
    merged = round_in_registers(function)
    for op in list(function.walk()):
        if not isinstance(op, _LOADS):
            continue
        first = found.setdefault((op.parent, op_key(op)), op)
        if first is not op:
            for result, other in zip(op.results, first.results, strict=True):
                result.replace_all_uses_with(other)
            op.erase()
            merged = True
    return merged


def shared_text(dot: Operation, first: Operation) -> str:
    """What a remark on a product says of a factor that is in the stage of the first of the products that read it."""
    if dot is first:
        return "both factors are one tile, which TMA brings once"
    return f"reads the tile in the stage of the product{place_of(first)}: TMA brings it once"
