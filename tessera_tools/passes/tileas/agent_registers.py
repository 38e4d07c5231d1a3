"""How agents share the registers of a multiprocessor: those of each thread, by setmaxnreg, and how many CTAs fit.

    consumer warpgroups, registers that the consumer needs ──▶ (registers of a producer's thread, of a consumer's), CTAs

ptxas gives all threads of a kernel equally many registers, as many as one of them needs.  A producer that only starts
copies needs a fifth of that.  If it returns the rest, more CTAs fit: while one waits for its products or for memory,
another one computes.  PTX ISA, "setmaxnreg".
"""

from __future__ import annotations

from tessera_tools.records import dataclass
from tessera_tools.target import WARPS_OF_WARPGROUP, Feature, Target, launched_registers, occupancy

_REGISTERS = {1: (0, 255), 2: (40, 232), 4: (24, 112)}
"""Registers of the threads of the producer and of a consumer by number of consumer warpgroups, which together are no
more than those of the launch (launched_registers); 0 where there are enough for all."""
_THREAD_REGISTERS = {1: (0, 255), 2: (104, 200), 4: (80, 96)}
"""The same, if the threads of the producer bring tiles."""
FEW_SUMS = 64
_FEW_SUMS_REGISTERS = {**_THREAD_REGISTERS, 2: (120, 192)}
"""The same, if a thread of the consumer has at most so many sums of a product."""
_PRODUCER, _LEAST_PRODUCER = 40, 24
"""Registers of the threads of a producer that only starts copies, and if the consumer needs the rest."""
_MOST_CONSUMER = 240
_MOST_CTAS = 4
"""CTAs on a multiprocessor for which registers are divided."""


@dataclass(frozen=True, slots=True)
class ConverterPlan:
    """The agent that computes factors (conversions.py)."""

    warps: int
    words: int
    """Registers of a thread for a part of a tile."""
    registers: tuple[int, int, int]
    """Of the threads of the producer, the consumer and the agent; 0 where there are enough for all."""

    @property
    def has_warpgroup(self) -> bool:
        """Whether it does not share that of the producer."""
        return self.warps == WARPS_OF_WARPGROUP


_OWN_WARPGROUP = {2: ConverterPlan(WARPS_OF_WARPGROUP, 16, (24, 216, 56))}
_SHARED_WARPGROUP = {
    1: ConverterPlan(2, 16, (0, 255, 0)),
    2: ConverterPlan(2, 4, (24, 240, 24)),
    4: ConverterPlan(2, 16, (64, 104, 64)),
}
_MOST_SUMS = 128
"""Sums of all products in a thread of the consumer, beside which an agent that computes factors has a warpgroup."""
MOST_COLUMNS = 128
"""Columns of an instruction where both have one: ptxas compiles for the 128 registers of the launch."""


def converter_plan(groups: int, sums: int) -> ConverterPlan:
    """How an agent computes factors for so many warpgroups, whose threads have so many sums of all products."""
    plans = _OWN_WARPGROUP if sums <= _MOST_SUMS and groups in _OWN_WARPGROUP else _SHARED_WARPGROUP
    return plans[groups]


def registers_of_one(groups: int, by_threads: bool, sums: int) -> tuple[int, int]:
    """Registers of the threads of the producer and of the consumer, for one CTA on a multiprocessor.

    by_threads: the threads of the producer bring tiles.
    sums: registers of a thread of the consumer for the sums of a product.
    """
    if not by_threads:
        return _REGISTERS[groups]
    return (_FEW_SUMS_REGISTERS if sums <= FEW_SUMS else _THREAD_REGISTERS)[groups]


def registers_of_several(
    groups: int, least: int, target: Target, most: int
) -> tuple[int, tuple[int, int] | None]:
    """(CTAs, registers as above) for as many CTAs on a multiprocessor as leave a thread of the consumer `least`
    registers, at most `most`; 1 and None if these are not twice as many as without an exchange.

    `least` is an estimate, and often more than ptxas needs: a small gain would be none.
    """
    if target.has(Feature.SETMAXNREG):
        threads = 32 * WARPS_OF_WARPGROUP * (groups + 1)
        alike = occupancy(target, threads=threads, registers=least).blocks
        for ctas in range(min(most, _MOST_CTAS), max(1, 2 * alike - 1), -1):
            if (registers := exchanged_registers(groups, least, target, ctas)) is not None:
                return ctas, registers
    return 1, None


_BESIDE_SUMS = 24
"""Registers that ptxas needs at an instruction beside those of the sums that it reads or writes. ptxas 13.5 refuses a
tcgen05.ld of 64 registers for fewer than 82."""


def exchanged_registers(
    groups: int, least: int, target: Target, ctas: int, sums: int = 0
) -> tuple[int, int] | None:
    """Registers of the threads of the producer and of the consumer, of which so many CTAs run on a multiprocessor; None
    if the consumer's are fewer than `least`, or if there is no exchange.

    sums: registers of one instruction, which ptxas compiles for the registers of the launch.
    """
    if not target.has(Feature.SETMAXNREG):
        return None
    launched = launched_registers(target, 32 * WARPS_OF_WARPGROUP * (groups + 1), ctas)
    if launched < sums + _BESIDE_SUMS:
        return None
    for producer in (_PRODUCER, _LEAST_PRODUCER):
        consumer = min((launched * (groups + 1) - producer) // groups // 8 * 8, _MOST_CONSUMER)
        if consumer >= least and producer < launched < consumer:
            return producer, consumer
    return None
