"""Asynchronous operations: in flight from their issue to the wait that requires them.

    instruction ──Engine.issue(Operation)──▶ destination poisoned, sources guarded ──▶ finish(): the bytes are written

In the mode `late` an operation completes only when a wait requires it. `Engine.complete` (cp.async.wait_group,
bulk wait_group) completes the operations of the waiting thread. An operation that signals an mbarrier completes when
no warp of the cluster can run. In the mode `early` an operation completes when it is issued. Both modes must give
the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tessera_tools.sim.arrays import Where
from tessera_tools.sim.memory import POISON, READING, UNFENCED, UNINITIALIZED, WRITING, Region

__all__ = ["Engine", "Operation", "Reporter", "Used"]

Used = tuple[Region, Where]
"""Bytes of a memory that an operation reads or writes."""


class Reporter(Protocol):
    """Reports a finding at the instruction that made it."""

    def __call__(self, kind: str, message: str, *, severity: str = "error") -> None: ...


@dataclass(eq=False, slots=True)
class Operation:
    """One copy in flight.

    `finish()` moves the bytes and signals the completion mechanism; it runs once. `writes` and `reads` are
    (memory with states, byte offsets): the bytes that no other access may touch.
    `what` names the operation in reports (`cp.async at line 12`). `on_demand` is False for operations that only
    `Engine.complete` may complete. `wanted()` is True while a thread waits for this operation: the engine completes
    wanted operations first, so that an operation without a waiter stays in flight. With `poison` off, the destination
    keeps its content until completion (a reduction). `report(kind, message)` reports at the instruction that issued
    the operation.
    """

    what: str
    finish: Callable[[], None]
    writes: list[Used] = field(default_factory=list[Used])
    reads: list[Used] = field(default_factory=list[Used])
    on_demand: bool = True
    completed: bool = False
    wanted: Callable[[], bool] | None = None
    poison: bool = True
    report: Reporter | None = None


class Engine:
    """The operations in flight of one cluster."""

    def __init__(self, mode: str, random: np.random.Generator) -> None:
        self.early = mode == "early"
        self.random = random
        self.pending: list[Operation] = []

    def issue(self, operation: Operation) -> Operation:
        """Start an operation; in the mode `early` it completes immediately."""
        if self.early:
            operation.completed = True
            for memory, where in operation.writes:
                memory.states[1][where] &= ~np.uint8(UNINITIALIZED | UNFENCED)
            operation.finish()
            return operation
        for memory, where in operation.writes:
            if operation.poison:
                memory.data[where] = POISON
            memory.states[1][where] = (
                memory.states[1][where] & ~np.uint8(UNINITIALIZED | UNFENCED)
            ) | np.uint8(WRITING)
        for memory, where in operation.reads:
            memory.states[1][where] |= np.uint8(READING)
        self.pending.append(operation)
        return operation

    def complete(self, operations: Iterable[Operation]) -> None:
        """Complete these operations in the given order; skip those that are already complete."""
        for operation in list(operations):
            if not operation.completed:
                self._complete(operation)

    def complete_one(self) -> bool:
        """Complete one operation that does not require `Engine.complete`, chosen at random; False if there is none."""
        if self.complete_wanted():
            return True
        able = [operation for operation in self.pending if operation.on_demand]
        if not able:
            return False
        self._complete(able[int(self.random.integers(len(able)))])
        return True

    def complete_wanted(self) -> bool:
        """Complete one operation that a thread waits for, chosen at random; False if there is none."""
        able = [
            operation for operation in self.pending if operation.wanted is not None and operation.wanted()
        ]
        if not able:
            return False
        self._complete(able[int(self.random.integers(len(able)))])
        return True

    def _complete(self, operation: Operation) -> None:
        operation.completed = True
        self.pending.remove(operation)
        for ranges, flag in ((operation.writes, WRITING), (operation.reads, READING)):
            for memory, where in ranges:
                memory.states[1][where] &= ~np.uint8(flag)
        # Another operation may still use some of the same bytes.
        for other in self.pending:
            for ranges, flag in ((other.writes, WRITING), (other.reads, READING)):
                for memory, where in ranges:
                    if not _apart(operation, memory, where):
                        memory.states[1][where] |= np.uint8(flag)
        operation.finish()


def _apart(operation: Operation, memory: Region, where: Where) -> bool:
    """True if the operation certainly uses none of the bytes."""
    for other, places in (*operation.writes, *operation.reads):
        if other is memory and not (
            isinstance(where, slice)
            and isinstance(places, slice)
            and (where.stop <= places.start or places.stop <= where.start)
        ):
            return False
    return True
