"""Execution units: the warps of a CTA that run one program together.

    CTA of 12 warps   ┌ 0 … 3 ┐ ┌ 4 … 7 ┐ ┌ 8 … 11 ┐
    units              producer  consumer   consumer
    barrier            1          2          3           the whole CTA has barrier 0

Thread numbers, layouts, owners and barriers are those of the unit that runs the code.  The whole CTA is the simplest
unit; an agent is one that starts at another warp and waits at a named barrier of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WARPS_OF_WARPGROUP", "ExecutionUnit"]

NAMED_BARRIERS = 16
"""Barriers of a CTA, number 0 included (PTX ISA, "Parallel Synchronization and Communication Instructions: bar")."""
WARPS_OF_WARPGROUP = 4
"""Warps that execute wgmma and setmaxnreg together; the first one's number is a multiple of this."""
MOST_WARPS = 32


@dataclass(frozen=True, slots=True)
class ExecutionUnit:
    """`warps` warps of a CTA from number `first_warp` on.

    ValueError if they are no warps of a CTA, or if `barrier` is no barrier's number.
    """

    warps: int
    first_warp: int = 0
    barrier: int = 0
    """The number of the barrier at which the unit's threads wait for each other; 0 is the CTA's."""
    registers: int | None = None
    """Registers of a thread that the unit asks for (setmaxnreg); None leaves what the launch gave."""

    def __post_init__(self) -> None:
        if self.warps < 1 or self.first_warp < 0 or self.first_warp + self.warps > MOST_WARPS:
            raise ValueError(
                f"has {self.warps} warps from number {self.first_warp} on; a CTA has warps 0 to {MOST_WARPS - 1}"
            )
        if not 0 <= self.barrier < NAMED_BARRIERS:
            raise ValueError(f"has barrier {self.barrier}; a CTA has barriers 0 to {NAMED_BARRIERS - 1}")
        if self.registers is not None and (not 24 <= self.registers <= 256 or self.registers % 8):
            raise ValueError(
                f"asks for {self.registers} registers; setmaxnreg takes multiples of 8 from 24 to 256"
            )

    @property
    def threads(self) -> int:
        return 32 * self.warps

    @property
    def is_whole(self) -> bool:
        """Whether the unit is the whole CTA: its threads wait at the CTA's own barrier."""
        return self.barrier == 0 and self.first_warp == 0

    @property
    def is_warpgroups(self) -> bool:
        """Whether the unit is made of whole warpgroups, as wgmma needs."""
        return self.first_warp % WARPS_OF_WARPGROUP == 0 and self.warps % WARPS_OF_WARPGROUP == 0

    def overlaps(self, other: ExecutionUnit) -> bool:
        """Whether a warp is in both units."""
        return (
            self.first_warp < other.first_warp + other.warps
            and other.first_warp < self.first_warp + self.warps
        )
