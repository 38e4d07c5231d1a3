"""Plans of reductions and scans, and the shared memory for their round trips."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tessera_tools.analysis.storage import element_bytes
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.nv_tileas import layout_of
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import RankedTensorType
from tessera_tools.layout import LayoutError, LinearLayout, SharedRoundTrip, shared_round_trip
from tessera_tools.layout.reduction import Exchange, Reduction, Scan, plan_reduction, plan_scan

ALIGNMENT = 16
"""Alignment in bytes of each round trip's part of the scratch: the widest access."""


def reduction_plan(op: nv_tileaa.Reduce) -> Reduction:
    """Returns the plan of a reduction.  Raises DiagnosticError if a reduction cannot have these layouts."""
    source = _one_layout(op, op.sources)
    tiles = [result for result in op.results if isinstance(result.type, RankedTensorType)]
    try:
        return plan_reduction(source, op.axis.value, _one_layout(op, tiles) if tiles else None)
    except LayoutError as problem:
        raise op.error(f"has incompatible layouts: {problem}") from None


def scan_plan(op: nv_tileaa.Scan) -> Scan:
    """Returns the plan of a scan.  Raises DiagnosticError if a scan cannot have these layouts."""
    layout = _one_layout(op, [*op.sources, *op.results])
    try:
        return plan_scan(layout, op.axis.value)
    except LayoutError as problem:
        raise op.error(f"has an unsupported layout: {problem}") from None


def _one_layout(op: Operation, values: Sequence[Value]) -> LinearLayout:
    try:
        first, *others = [layout_of(value.type) for value in values]
    except Refusal as problem:
        raise op.error(f"needs layouts: {problem}") from None
    if any(other != first for other in others):
        raise op.error(f"has tiles in several layouts, such as {others[-1]} and {first}; expected one")
    return first


def exchanges(op: nv_tileaa.Reduce | nv_tileaa.Scan) -> list[Exchange]:
    """Returns the exchanges between warps of a reduction or scan, in order."""
    if isinstance(op, nv_tileaa.Reduce):
        plan = reduction_plan(op)
        return [exchange for exchange in (plan.gather, plan.spread) if exchange is not None]
    return [run.gather for run in scan_plan(op).runs if run.gather is not None]


def round_trips(op: nv_tileaa.Reduce | nv_tileaa.Scan, exchange: Exchange) -> list[SharedRoundTrip]:
    """Returns the round trip of each operand's values through shared memory."""
    types = [source.type for source in op.sources]
    return [_round_trip(exchange.before, exchange.after, 8 * element_bytes(type.element)) for type in types]


_round_trip = lru_cache(maxsize=256)(shared_round_trip)


def part_bytes(trip: SharedRoundTrip) -> int:
    """Returns the bytes of one round trip's part of the scratch, padded so that the next part is aligned."""
    return -(-trip.scratch_bytes // ALIGNMENT) * ALIGNMENT


def scratch_bytes(op: nv_tileaa.Reduce | nv_tileaa.Scan) -> int:
    """Returns the bytes of shared memory that a reduction or scan needs.  Round trips do not share bytes."""
    return sum(part_bytes(trip) for exchange in exchanges(op) for trip in round_trips(op, exchange))
