"""The price of split-K: the cycles of a loop whose iterations several CTAs share, and of the exchange of their sums.

    a step         the longest of: products on the tensor cores, shared memory, loads from L2
    a CTA          waves · (first loads + iterations / CTAs · step + sums to and from other CTAs)

The numbers are those of the clock (target/timing.py).  The launch must be known: its tile blocks, and the arguments
from which the number of iterations follows.
"""

from __future__ import annotations

from math import ceil, prod

from tessera_tools.analysis.launches import Launch
from tessera_tools.analysis.storage import element_bytes
from tessera_tools.dialects import nv_tileas, scf
from tessera_tools.passes.tileas.stay_price import MEETING, first_loads
from tessera_tools.records import dataclass
from tessera_tools.target import Target
from tessera_tools.target.timing import timing

_WORTH = 0.9
"""The part of the cycles that a split may take: less is an estimate's error."""
_FULL = 0.9
"""The part of the SMs that clusters of more than two CTAs occupy, which must be in one group of SMs.  On an H100, 30
clusters of 4 CTAs fit 132 SMs (revollllt/flash-vla)."""
_FROM_OTHERS = 32
"""Bytes a cycle that a CTA reads from the shared memory of others."""


@dataclass(frozen=True, slots=True)
class SplitPrice:
    """The CTAs that share the iterations, and why."""

    parts: int
    why: str


def cheapest(loop: scf.For, target: Target, tile_blocks: int, launch: Launch) -> SplitPrice | None:
    """The split that takes the fewest cycles; None if none takes less than one CTA for each tile block, or if the
    target or the number of iterations is unknown."""
    table = timing(target)
    lower, upper, step = (launch.number(value) for value in (loop.lower, loop.upper, loop.step))
    if table is None or lower is None or upper is None or not step or step < 0:
        return None
    iterations = max(0, ceil((upper - lower) / step))
    sms = int(table.value("sms"))
    dots = [op for op in loop.walk() if isinstance(op, nv_tileas.Dot)]
    loads = [op for op in loop.walk() if isinstance(op, nv_tileas.TiledLoad)]
    tensor = sum(op.multiplications * element_bytes(op.a.type.element) / 2 for op in dots) / table.value(
        "tensor_f16"
    )
    moved = sum(_bytes(op.res) for op in loads)
    port = (moved + sum(_read(op) for op in dots)) / table.value("shared_bytes")
    first = first_loads(table)
    sums = sum(_bytes(value) for value in {op.res for op in dots})

    def cycles(parts: int) -> float:
        ctas = tile_blocks * parts
        room = sms if parts <= 2 else int(sms * _FULL)
        from_l2 = min(64.0, table.value("l2_chip_rate") / min(ctas, sms))
        step = max(tensor, port, moved / from_l2)
        exchanged = sums * (parts - 1) / parts
        extra = exchanged * (1 / table.value("shared_bytes") + 1 / _FROM_OTHERS) + MEETING if parts > 1 else 0
        return ceil(ctas / room) * (first + ceil(iterations / parts) * step + extra)

    plain = cycles(1)
    parts = min((2, 4, 8), key=cycles)
    found = cycles(parts)
    if found >= _WORTH * plain:
        return None
    launched = f"in a launch of {tile_blocks} tile blocks and {iterations} iterations"
    why = f"{found:,.0f} cycles, {plain:,.0f} without, {launched}"
    return SplitPrice(parts, why)


def _bytes(value: object) -> int:
    type = value.type  # type: ignore[attr-defined]
    return type.num_elements * element_bytes(type.element)


def _read(op: nv_tileas.Dot) -> int:
    """The bytes that products read from shared memory: A once, B once for each 64 rows."""
    (*batch, m, n), k = op.c.type.shape, op.a.type.shape[-1]
    return prod(batch) * (m * k + ceil(m / 64) * n * k) * element_bytes(op.a.type.element)
