"""Execution units: the warps of a CTA that execute the same code together.

    CTA of 12 warps   ┌ 0 … 3 ┐ ┌ 4 … 7 ┐ ┌ 8 … 11 ┐
    units              producer  consumer   consumer
    barrier            1          2          3           the whole CTA has barrier 0

Thread numbers, layouts, owners and barriers are relative to the unit that executes the code.  The whole CTA is the
simplest unit. An agent is a unit that starts at another warp and uses its own named barrier.
"""

from __future__ import annotations

from tessera_tools.records import dataclass

__all__ = ["WARPS_OF_WARPGROUP", "ExecutionUnit"]

NAMED_BARRIERS = 16
"""Barriers of a CTA, number 0 included (PTX ISA, "Parallel Synchronization and Communication Instructions: bar")."""
WARPS_OF_WARPGROUP = 4
"""Warps that execute wgmma and setmaxnreg together. The number of the first warp is a multiple of this."""
MOST_WARPS = 32


@dataclass(frozen=True, slots=True)
class ExecutionUnit:
    """`warps` warps of a CTA, starting at `first_warp`.

    Raises ValueError if a CTA does not have these warps, or if `barrier` is not a valid barrier number.
    """

    warps: int
    first_warp: int = 0
    barrier: int = 0
    """The number of the barrier that synchronizes the unit's threads; 0 is the CTA's."""
    registers: int | None = None
    """Registers per thread that the unit requests (setmaxnreg). None keeps the number of the launch."""

    def __post_init__(self) -> None:
        if self.warps < 1 or self.first_warp < 0 or self.first_warp + self.warps > MOST_WARPS:
            raise ValueError(
                f"has {self.warps} warps from number {self.first_warp} on; a CTA has warps 0 to {MOST_WARPS - 1}"
            )
        if not 0 <= self.barrier < NAMED_BARRIERS:
            raise ValueError(f"has barrier {self.barrier}; a CTA has barriers 0 to {NAMED_BARRIERS - 1}")
        if self.registers is not None and (not 24 <= self.registers <= 256 or self.registers % 8):
            raise ValueError(
                f"requests {self.registers} registers; setmaxnreg supports multiples of 8 from 24 to 256"
            )

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def is_whole(self) -> bool:
        """Returns true if the unit is the whole CTA. Its threads then use the CTA's barrier."""
        return self.barrier == 0 and self.first_warp == 0

    @property
    def is_warpgroups(self) -> bool:
        """Returns true if the unit consists of whole warpgroups, as wgmma requires."""
        return self.first_warp % WARPS_OF_WARPGROUP == 0 and self.warps % WARPS_OF_WARPGROUP == 0

    def overlaps(self, other: ExecutionUnit) -> bool:
        """Returns true if a warp is in both units."""
        return (
            self.first_warp < other.first_warp + other.warps
            and other.first_warp < self.first_warp + self.warps
        )
