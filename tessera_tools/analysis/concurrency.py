"""Concurrency within a CTA: the regions that run at the same time, and the release-acquire edges that order them.

    producer                    consumer
    wait   %empty               wait   %full          acquires what the producer released
    write  %buffer    ──────▶   read   %buffer
    arrive %full                arrive %empty         releases the buffer to the producer's next iteration
             ▲──────────────────────┘

The regions of an op with the trait `RegionsRunTogether` run concurrently, each on its own threads, called a *unit*.  A
barrier in a unit orders only the accesses of its threads.  Two accesses of different units are ordered if an arrival
follows one of them and a wait for the same phase precedes the other, equally often.  If both are repeated, an edge in
the other direction is also required.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from tessera_tools.dialects import nv_tileas
from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.effects import Completion, Kind
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import RegionsRunTogether

if TYPE_CHECKING:
    from tessera_tools.analysis.hazards import Access, Step


def unit_of(op: Operation) -> Region | None:
    """Returns the innermost enclosing region that runs concurrently with others; None if there is none."""
    block = op.parent
    while block is not None and block.parent is not None:
        region = block.parent
        if region.parent is None:
            return None
        if region.parent.has_trait(RegionsRunTogether):
            return region
        block = region.parent.parent
    return None


def run_together(a: Operation, b: Operation) -> bool:
    """True if two ops are in different regions that run concurrently."""
    units = set(units_of(a))
    found = units_of(b)
    return any(other not in units and any(u.parent is other.parent for u in units) for other in found)


def units_of(op: Operation) -> list[Region]:
    """Returns the enclosing units of an op, innermost first."""
    found: list[Region] = []
    unit = unit_of(op)
    while unit is not None and unit.parent is not None:
        found.append(unit)
        unit = unit_of(unit.parent)
    return found


class Phases:
    """The arrivals and waits of a function."""

    def __init__(self, steps: dict[Operation, Step]) -> None:
        self.arrivals: list[Access] = []
        self.waits: list[Access] = []
        self.group_waits: list[tuple[Operation, Completion]] = []
        """Waits for groups of copies or products, by number."""
        for op, step in steps.items():
            self.group_waits += [(op, by) for by in step.waits]
            for access in step.accesses:
                if access.kind is Kind.ARRIVE:
                    self.arrivals.append(access)
                elif access.kind is Kind.WAIT:
                    self.waits.append(access)
        self.passed_on = {
            (wait.barrier, arrival.barrier)
            for wait in self.waits
            for arrival in self.arrivals
            if follows(wait.op, arrival.op)
        }
        """(phase of a wait, phase at which the same threads arrive afterwards)."""
        self._after: dict[tuple[Operation, Completion, bool], list[Access]] = {}
        self._before: dict[Operation, set[Hashable]] = {}

    def is_over(self, access: Access, wait: Access) -> bool:
        """True if a wait for the phase implies that an earlier access is complete: the phase completes after
        the access, or the threads that arrive at it have waited for such a phase."""
        if access.completion is Completion.MBARRIER and access.in_flight:
            found = {access.barrier}
        else:
            # Only threads of this unit arrive at it.
            found = {
                arrival.barrier
                for arrival in self._arrivals_after(access)
                if unit_of(access.op) is unit_of(wait.op) is unit_of(arrival.op)
                and not _has_stages(arrival.barrier[0])
                and (
                    _precedes(arrival.op, wait.op)
                    or any(loop.is_ancestor_of(arrival.op) for loop in access.loops)
                )
            }
        return any(phase == wait.barrier or (phase, wait.barrier) in self.passed_on for phase in found)

    def ordered(self, a: Access, b: Access) -> bool:
        """Returns true if two accesses of different units never happen at the same time."""
        there, back = self._released(a) & self._acquired(b), self._released(b) & self._acquired(a)
        if _repeated(a.op) and _repeated(b.op):
            return bool(there and back)
        return bool(there or back)

    def _released(self, access: Access) -> set[Hashable]:
        """The phases that complete after an access."""
        if access.completion is Completion.MBARRIER and access.in_flight:
            return {access.barrier}
        return {arrival.barrier for arrival in self._arrivals_after(access)}

    def _arrivals_after(self, access: Access) -> list[Access]:
        """The arrivals after the completion of an earlier access: by completion of its copies, or after a wait for
        them."""
        key = (access.op, access.completion, access.in_flight)
        found = self._after.get(key)
        if found is None:
            found = self._after[key] = list(self._find_arrivals_after(access))
        return found

    def _find_arrivals_after(self, access: Access) -> Iterator[Access]:
        done = [access.op]
        if access.in_flight:
            done = [op for op, by in self.group_waits if by is access.completion and follows(access.op, op)]
        for arrival in self.arrivals:
            if arrival.completion is not Completion.MBARRIER:
                over = arrival.completion is access.completion and follows(access.op, arrival.op)
            else:
                over = any(follows(op, arrival.op) for op in done)
            if over:
                yield arrival

    def _acquired(self, access: Access) -> set[Hashable]:
        """The phases with a wait before an access."""
        found = self._before.get(access.op)
        if found is None:
            found = {wait.barrier for wait in self.waits if _precedes(wait.op, access.op)}
            self._before[access.op] = found
        return found


def _has_stages(made: Operation) -> bool:
    """True if a pipeline or a buffer of mbarriers has several stages: a wait for one stage does not follow an arrival
    at another."""
    if isinstance(made, nv_tileas.CreatePipeline):
        return made.stages.value > 1
    return isinstance(made, nv_tileas.AllocTensor) and made.res.type.stages > 1


def follows(first: Operation, then: Operation) -> bool:
    """True if an op always runs after another one: it is after it in the same block or in an enclosing one."""
    outer: Operation | None = first
    while outer is not None and outer.parent is not then.parent:
        outer = outer.parent_op
    return outer is not None and outer is not then and outer.is_before_in_block(then)


def _precedes(first: Operation, then: Operation) -> bool:
    """True if an op always runs before another one: it is before it in the same block or in an enclosing one."""
    outer: Operation | None = then
    while outer is not None and outer.parent is not first.parent:
        outer = outer.parent_op
    return outer is not None and outer is not first and first.is_before_in_block(outer)


def _repeated(op: Operation) -> bool:
    """Returns true if an op may run several times in its unit."""
    unit = unit_of(op)
    around = op.parent_op
    while around is not None and unit is not None and around is not unit.parent:
        if isinstance(around, LoopLike):
            return True
        around = around.parent_op
    return False
