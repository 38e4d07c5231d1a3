"""What runs at the same time in one CTA, and what orders it: pipelines, as edges of release and acquire.

    producer                    consumer
    wait   %empty               wait   %full          acquires what the producer released
    write  %buffer    ──────▶   read   %buffer
    arrive %full                arrive %empty         releases the buffer to the producer's next iteration
             ▲──────────────────────┘

The regions of an op with the trait `RegionsRunTogether` run at the same time, each by threads of its own: a *unit*.  A
barrier in a unit orders the accesses of its threads alone.  Two accesses of different units are ordered if an arrival
follows one of them and a wait for the same phase precedes the other, each as often; where both are repeated, one such
edge must lead back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera_tools.ir.core import Operation, Region
from tessera_tools.ir.effects import Completion, Kind
from tessera_tools.ir.traits import RegionsRunTogether

if TYPE_CHECKING:
    from tessera_tools.analysis.hazards import Access, Step


def unit_of(op: Operation) -> Region | None:
    """The innermost of regions that run together which an op stands in; None outside of all."""
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
    """Whether two ops stand in different regions that run at the same time."""
    units = set(units_of(a))
    found = units_of(b)
    return any(other not in units and any(u.parent is other.parent for u in units) for other in found)


def units_of(op: Operation) -> list[Region]:
    """The units around an op, from the inside."""
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
        for step in steps.values():
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
        """(phase that is waited for, phase that the same threads then arrive at)."""

    def is_over(self, access: Access, wait: Access) -> bool:
        """Whether all threads that wait for a phase know that an access before is over: the phase is complete after
        the access, or those arrive at it who waited for such a phase."""
        if access.completion is Completion.MBARRIER and access.in_flight:
            found = {access.barrier}
        else:
            # Only threads of the unit itself arrive for it.
            found = {
                arrival.barrier
                for arrival in self.arrivals
                if _arrives_for(arrival, access)
                and unit_of(access.op) is unit_of(wait.op) is unit_of(arrival.op)
                and follows(access.op, arrival.op)
                and (
                    _precedes(arrival.op, wait.op)
                    or any(loop.is_ancestor_of(arrival.op) for loop in access.loops)
                )
            }
        return any(phase == wait.barrier or (phase, wait.barrier) in self.passed_on for phase in found)

    def ordered(self, a: Access, b: Access) -> bool:
        """Whether two accesses of different units never happen at the same time."""
        there, back = self._released(a) & self._acquired(b), self._released(b) & self._acquired(a)
        if _repeated(a.op) and _repeated(b.op):
            return bool(there and back)
        return bool(there or back)

    def _released(self, access: Access) -> set[Any]:
        """The phases that complete after an access."""
        if access.completion is Completion.MBARRIER and access.in_flight:
            return {access.barrier}
        return {
            arrival.barrier
            for arrival in self.arrivals
            if _arrives_for(arrival, access) and follows(access.op, arrival.op)
        }

    def _acquired(self, access: Access) -> set[Any]:
        """The phases that have been waited for before an access."""
        return {wait.barrier for wait in self.waits if _precedes(wait.op, access.op)}


def _arrives_for(arrival: Access, access: Access) -> bool:
    """Whether an arrival comes when an access before it is over: with the copies of its kind, if it is one."""
    by = Completion.MBARRIER if not access.in_flight else access.completion
    return arrival.completion is by


def follows(first: Operation, then: Operation) -> bool:
    """Whether an op runs each time after another one has run: it stands behind it, in its block or in one around."""
    outer: Operation | None = first
    while outer is not None and outer.parent is not then.parent:
        outer = outer.parent_op
    return outer is not None and outer is not then and outer.is_before_in_block(then)


def _precedes(first: Operation, then: Operation) -> bool:
    """Whether an op has run each time that another one runs: it stands before it, in its block or in one around."""
    outer: Operation | None = then
    while outer is not None and outer.parent is not first.parent:
        outer = outer.parent_op
    return outer is not None and outer is not first and first.is_before_in_block(outer)


def _repeated(op: Operation) -> bool:
    """Whether an op may run several times in its unit."""
    unit = unit_of(op)
    around = op.parent_op
    while around is not None and unit is not None and around is not unit.parent:
        if getattr(around, "is_loop", False):
            return True
        around = around.parent_op
    return False
