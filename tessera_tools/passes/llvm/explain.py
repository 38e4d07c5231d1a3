"""Remarks on the layout conversions of a lowered kernel, with their cost.

%1 = nv_tileas.convert_layout %0   remark: layout conversion of 64x64xf32: 32 registers through 16384 bytes of shared …
"""

from __future__ import annotations

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout.conversion import LaneShuffle, RegisterMove
from tessera_tools.layout.parts import PartedRoundTrip
from tessera_tools.passes.base import PassContext
from tessera_tools.planning.shared_memory import conversion_plan
from tessera_tools.target import Target

__all__ = ["conversion_cost", "explain_conversions"]


def explain_conversions(function: Operation, target: Target, context: PassContext) -> None:
    """A remark at each layout conversion that takes instructions, with its cost for a thread and a CTA."""
    for op in function.walk():
        if isinstance(op, nv_tileas.ConvertLayout):
            cost = conversion_cost(op, target)
            if cost:
                type = op.res.type
                text = f"layout conversion of {type.dims_text()}{type.element}: {cost}"
                context.analyzed(op, text, "conversion-cost", "layout")


def conversion_cost(op: nv_tileas.ConvertLayout, target: Target) -> str:
    """The cost of a conversion, as text; "" if it only renames registers."""
    plan = conversion_plan(op, target)
    type = op.res.type
    assert isinstance(type, RankedTensorType)
    count = nv_tileas.layout_of(type).in_size("register")
    words = -(-storage_bits(type.element) // 32)
    if isinstance(plan, RegisterMove):
        # A tree of selects over the registers that the thread's part of the index may choose.
        each = (1 << plan.source.base_bits.bit_count()) - 1
        return "" if plan.is_static else f"{_count(count * each, 'select')} per thread"
    if isinstance(plan, LaneShuffle):
        return f"{_count(plan.rounds * words, 'shuffle')} per thread"
    trip, parts = (plan.trip, len(plan.store_registers)) if isinstance(plan, PartedRoundTrip) else (plan, 1)
    write, read = trip.choice.write, trip.choice.read
    text = (
        f"{_count(write.instructions * parts, 'store')} and {_count(read.instructions * parts, 'load')} per thread "
        f"through {trip.scratch_bytes} bytes of shared memory"
    )
    if parts > 1:
        text += f", in {parts} parts"
    if not trip.choice.is_conflict_free:
        ideal = write.ideal * write.instructions + read.ideal * read.instructions
        text += f", with bank conflicts ({write.total + read.total} wavefronts per warp instead of {ideal})"
    return text


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' if number != 1 else ''}"
