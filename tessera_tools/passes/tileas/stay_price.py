"""The price of CTAs that stay: what a program loses by the way in which a CTA gets its next one.

    never       its first loads       and the meetings of a cluster; other CTAs of a multiprocessor overlap the loads
    static      steps                 with unequal programs, the launch waits for the CTA whose stride meets the longest
    counter     a ticket              and a part of the time in which the counter is set to zero before the launch
    cancel      a ticket              and the answer, which each agent decodes

Only an agent that loads runs ahead to the next program: without one, the first loads of a program overlap nothing in
any case, and CTAs end with their programs.  Where a ticket or the hardware gives programs to the CTA that is done
first, unequal ones balance.  With a static stride, those of a CTA are all at the same few places of a row of the grid
if the stride and the row have common factors.  The launch is not known here.  So the price is a step of the loops that
some programs run more often for each program of the longest CTA, by estimate: it is 1.8 steps for causal attention with
16 blocks of rows and 128 heads on 132 SMs in the order of rows, 4.4 in bands of 8 rows, and one with a window.
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera_tools.analysis.persistent import CANCEL, COUNTER, NEVER, STATIC
from tessera_tools.dialects import nv_tileaa
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tileas.cluster_price import resident, step_cycles
from tessera_tools.passes.tileas.cluster_programs import uneven
from tessera_tools.records import dataclass
from tessera_tools.target import Feature, Target
from tessera_tools.target.timing import Timing, timing

MEETING = 500
"""Cycles of two meetings of the CTAs of a cluster: arrivals at other CTAs, and what waits for the last one."""
_ZEROED = 2000
"""Cycles in which a counter is set to zero before a launch: a guess, about a microsecond."""
_PROGRAMS = 16
"""Programs of a CTA in a large launch, by estimate."""
_DECODED = 8
"""Instructions, one after the other, from the answer to a cancellation to the number of a program."""


@dataclass(frozen=True, slots=True)
class Staying:
    """How a CTA best gets its next program."""

    scheduler: str
    """NEVER: it ends with its program."""
    cycles: Mapping[str, float]
    """What a program loses by each way."""
    ctas: int
    """That a multiprocessor runs at once, by estimate."""
    unequal: Operation | None
    """An op that some programs execute more often than others."""

    @property
    def text(self) -> str:
        """The prices, for remarks."""
        found = ", ".join(
            f"{cycles:,.0f} by {way}" if way != NEVER else f"{cycles:,.0f} if CTAs end with it"
            for way, cycles in self.cycles.items()
        )
        others = f", as {self.ctas} are on a multiprocessor" if self.ctas > 1 else ""
        return f"of each program, so many cycles are lost: {found}{others}"


def choose_staying(function: nv_tileaa.Func, target: Target, step: float | None = None) -> Staying | None:
    """The way in which a program loses the fewest cycles; None if the clock does not know the target, or no agent loads
    for the next program.

    step: the cycles of a step of all loops with products in clusters of tile blocks, if it has these.
    """
    table, ctas = timing(target), resident(function, target)
    if table is None or not ctas:
        return None
    different = uneven(function)
    ticket = table.value("mbarrier_arrive") + table.value("mbarrier_wait") + table.value("shared_latency")
    cycles = {
        NEVER: (first_loads(table) if ctas == 1 else 0.0) + (MEETING if step is not None else 0),
        STATIC: (step if step is not None else step_cycles(function, target)) if different else 0.0,
        COUNTER: ticket + _ZEROED / _PROGRAMS,
    }
    if target.has(Feature.LAUNCH_CONTROL):
        decoded = _DECODED * table.value("arithmetic_latency")
        cycles[CANCEL] = ticket + table.value("fence_latency") + decoded
    return Staying(min(cycles, key=cycles.__getitem__), cycles, ctas, different[0] if different else None)


def first_loads(table: Timing) -> float:
    """Cycles until a CTA has its first tiles: from DRAM, behind the numbers that their addresses depend on."""
    return table.value("dram_latency") + 3 * table.value("l2_latency")
