"""The columns of tensor memory: how many stages of sums there are, and which factors are there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as product_of
from typing import TYPE_CHECKING

from tessera_tools.dialects import nv_tileas
from tessera_tools.dialects.nv_tileas import TmemType, allocated_columns, scales_layout
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout.tensor_memory import LANES
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.products import AsyncProduct, loops_around
from tessera_tools.planning.shared_memory import pipeline_room
from tessera_tools.target import Target

if TYPE_CHECKING:
    from tessera_tools.passes.tileas.umma_products import Accumulation

SCALES = 3
"""The first operand of a product that is factors of blocks."""
MOST_COLUMNS = 256
"""Columns of one instruction."""
_DEPTHS = (4, 3, 2)
"""Stages of factors of blocks that TMA brings."""
_HANDED_DEPTH = 2
"""Stages of factors of blocks that the consumer brings for each iteration of a loop."""
_RESERVED = ((2, True), (2, False), (1, True), (1, False))
"""(stages of sums in loops, whether factors are in tensor memory), the best first."""


def scales_type(dot: nv_tileas.Dot, position: int, stages: int) -> TmemType:
    """The buffer in tensor memory for the factors of blocks."""
    type = dot.operand(position).type_as(RankedTensorType)
    axis = position - SCALES
    width = min(MOST_COLUMNS, type.shape[1]) if axis else LANES
    return TmemType((stages, *type.shape), type.element, scales_layout(type.shape, axis, width))


def reserve(accumulations: list[Accumulation], target: Target) -> int:
    """Give accumulations in loops a second stage, and factors that may be there a stage in tensor memory, if there are
    columns for it, and shared memory for the others.  Sums that are taken an iteration later are taken before the next
    ones begin: one stage is enough.  Factors of blocks have a stage for each in shared memory.  Returns the most stages
    of what TMA brings.  Raises Missed if there are not enough columns of tensor memory."""
    products = [product for one in accumulations for product in one.products]
    factors = [f for product in products for f in product.handed.values() if f.may_be_in_tensor]
    copied = [f for product in products for f in product.handed.values() if f.is_copied_on]
    brought = [(product.dot, position) for product in products for position in product.scales]
    for factor in copied:
        if factor.before is factor.load and loops_around(factor.load):
            factor.stages = _HANDED_DEPTH

    def columns(stages: int, in_tensor: bool, depth: int) -> int:
        """The columns of such a choice, which then holds."""
        for factor in factors:
            factor.in_tensor = in_tensor or factor.is_scales or factor.shares is not None
        for one in accumulations:
            once = one.used_first is not None or one.correction is not None
            shared = any(factor.shares is one for factor in factors)
            one.stages = stages if loops_around(one.end) and not (once or shared) else 1
        found = sum(one.type.columns for one in accumulations)
        found += sum(
            factor.tensor_type.columns for factor in factors if factor.in_tensor and factor.shares is None
        )
        found += sum(factor.tensor_type.columns for factor in copied)
        return found + sum(scales_type(dot, position, depth).columns for dot, position in brought)

    fitting: list[tuple[int, bool, int]] = []
    for (stages, in_tensor), depth in product_of(_RESERVED, _DEPTHS if brought else _DEPTHS[:1]):
        if columns(stages, in_tensor, depth) <= target.tmem_columns:
            if fits_once(products, target):
                return depth
            fitting.append((stages, in_tensor, depth))
    if fitting:
        columns(*fitting[0])
        return fitting[0][-1]
    needed = allocated_columns([one.type for one in accumulations])
    raise Missed(
        accumulations[0].first,
        f"has sums that take {needed} columns of tensor memory with those of the kernel's other products; "
        f"{target.name} has {target.tmem_columns}",
        "use smaller tiles",
    )


def fits_once(products: Sequence[AsyncProduct], target: Target) -> bool:
    """Whether one stage of all tiles fits in shared memory."""
    loads = {load.load: load.bytes for product in products for load in (*product.loads, *product.read)}
    staged = sum(product.staged_bytes for product in products)
    return sum(loads.values()) + staged <= pipeline_room(target, at_most=True)
