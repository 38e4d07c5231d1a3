"""Factors of tcgen05.mma that the threads of the producer bring: tiles that TMA does not copy.

    load %pointers, … ─▶ … ─▶ dot                    through registers
    tiled_load of a slice, or by odd strides ─▶ dot  by cp.async, or through registers

The threads are a warpgroup of their own, because a warp that multiplies has other registers.  What they write is
visible to the async proxy, through which tcgen05.mma reads: of a tile that they store, by their fence before they
arrive; of one that cp.async copies, by the fence of the warp that multiplies, behind its wait, because the thread that
has started a copy cannot fence it while it is in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tileas.fills import (
    LOADS,
    BoxLoad,
    Filler,
    ThreadFill,
    computed_fill,
    loaded_fill,
    ops_before,
    trace_load,
)
from tessera_tools.passes.tileas.memory_order import MemoryOrder
from tessera_tools.passes.tileas.missed import Missed
from tessera_tools.passes.tileas.packed_factors import is_packed
from tessera_tools.passes.tileas.products import AsyncProduct, check_addresses, is_by_threads, without_sign
from tessera_tools.target import WARPS_OF_WARPGROUP

REGISTERS = {1: (0, 168), 2: (112, 184)}
"""Registers of the threads of a producer that brings tiles, and of a consumer, by number of consumer warpgroups; 0
where all have those of the launch.  Four warpgroups would leave none."""
MORE_REGISTERS = (208, 240)
"""The same beside one warpgroup, where the consumer carries sums through a loop, or a thread that loads holds many
words.  No second CTA fits on a multiprocessor then."""
_MANY_WORDS = 64
MULTIPLIER_REGISTERS = 32
"""Those of the threads that multiply, which have the rest of the launch."""
_MOST_ADDRESSES = {1: 48, 2: 32}
"""Addresses for which a thread has registers."""


def thread_fill(
    dot: nv_tileas.Dot,
    position: int,
    refusal: Missed,
    why: Missed,
    order: MemoryOrder,
    transposed: Sequence[int],
) -> ThreadFill:
    """A factor that the threads of the producer bring, because TMA does not, for the reason of `refusal`.

    Raises `why`, the reason why the consumer does not compute it, if the threads do not bring it either.
    """
    if is_packed(dot):
        raise why
    traced = trace_load(dot, position)
    if traced is not None:
        return loaded_fill(dot, position, *traced, refusal, order, transposed)
    value, signs = without_sign(dot.operand(position))
    fill = computed_fill(dot, position, value, signs, why, order)
    if fill is None:
        raise why
    return fill


def loads_of_fill(load: Filler, dot: nv_tileas.Dot) -> list[Operation]:
    """The loads of global memory that bring a factor."""
    if isinstance(load, BoxLoad) or isinstance(load.load, LOADS):
        return [load.load]
    return [op for op in ops_before(load.value, dot) or () if isinstance(op, LOADS)]


def registers(products: Iterable[AsyncProduct], groups: int, carries: bool) -> tuple[int, int]:
    """Registers of the threads of the producer and of a consumer.

    carries: whether the consumer carries sums through a loop.
    """
    fills = [load for product in products for load in product.loads if isinstance(load, ThreadFill)]
    words = sum(load.bytes // 4 for load in fills if not load.is_copied and not load.slices)
    more = carries or words > _MANY_WORDS * 32 * WARPS_OF_WARPGROUP
    return MORE_REGISTERS if groups == 1 and more else REGISTERS[groups]


def check_threads(products: Iterable[AsyncProduct], groups: int) -> None:
    """Raises Missed if the threads that bring factors beside so many warpgroups of consumers lack registers."""
    loads = [load for product in products for load in product.loads]
    first = next((load for load in loads if is_by_threads(load)), None)
    if first is None:
        return
    if groups not in REGISTERS:
        raise first.missed(
            f"beside {groups} warpgroups of consumers, the threads of a producer have no registers for it"
        )
    check_addresses(loads, groups == 1, _MOST_ADDRESSES[groups])
