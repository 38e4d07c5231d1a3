"""Asynchronous operations: in flight from their issue to the wait that requires them.

    instruction ──Engine.issue(Operation)──▶ destination poisoned, sources guarded ──▶ land(): the bytes arrive

In the mode `late` an operation lands only when somebody's wait requires it: `Engine.complete` (cp.async.wait_group,
bulk wait_group: the waiting thread lands its own), or, for operations that signal an mbarrier, when every warp of
the cluster stands still. In the mode `early` it lands when it is issued. Both must give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tessera_tools.sim.memory import LANDING, POISON, READING, UNFENCED, UNINITIALIZED

__all__ = ["Engine", "Operation"]

Array = np.ndarray[Any, Any]


@dataclass(eq=False, slots=True)
class Operation:
    """One copy in flight.

    `land()` moves the bytes and signals whatever is to be signaled; it runs once. `writes` and `reads` are
    (memory with a `state`, byte offsets as an index array or slice): the bytes that nobody else may touch.
    `what` names the operation in reports (`cp.async at line 12`). `on_demand` is False for operations that only
    `Engine.complete` may land. `wanted()` is True while somebody waits for just this operation: of those that may
    land by themselves, these go first, so that one nobody waits for stays in flight. With `poison` off, the
    destination keeps its content until then (a reduction). `report(kind, message)` reports at the instruction
    that issued it.
    """

    what: str
    land: Callable[[], None]
    writes: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])
    reads: list[tuple[Any, Any]] = field(default_factory=list[tuple[Any, Any]])
    on_demand: bool = True
    landed: bool = False
    wanted: Callable[[], bool] | None = None
    poison: bool = True
    report: Callable[[str, str], None] | None = None


class Engine:
    """The operations in flight of one cluster."""

    def __init__(self, mode: str, random: np.random.Generator) -> None:
        self.early = mode == "early"
        self.random = random
        self.pending: list[Operation] = []

    def issue(self, operation: Operation) -> Operation:
        """Start an operation; in the mode `early` it lands at once."""
        if self.early:
            operation.landed = True
            for memory, where in operation.writes:
                memory.state[where] &= ~np.uint8(UNINITIALIZED | UNFENCED)
            operation.land()
            return operation
        for memory, where in operation.writes:
            if operation.poison:
                memory.data[where] = POISON
            memory.state[where] = (memory.state[where] & ~np.uint8(UNINITIALIZED | UNFENCED)) | np.uint8(
                LANDING
            )
        for memory, where in operation.reads:
            memory.state[where] |= np.uint8(READING)
        self.pending.append(operation)
        return operation

    def complete(self, operations: Iterable[Operation]) -> None:
        """Land these now, in the order given; those that have landed already are left alone."""
        for operation in list(operations):
            if not operation.landed:
                self._land(operation)

    def land_one(self) -> bool:
        """Land one operation that may land by itself, chosen at random; False if there is none."""
        if self.land_wanted():
            return True
        able = [operation for operation in self.pending if operation.on_demand]
        if not able:
            return False
        self._land(able[int(self.random.integers(len(able)))])
        return True

    def land_wanted(self) -> bool:
        """Land one operation that somebody waits for, chosen at random; False if there is none."""
        able = [
            operation for operation in self.pending if operation.wanted is not None and operation.wanted()
        ]
        if not able:
            return False
        self._land(able[int(self.random.integers(len(able)))])
        return True

    def _land(self, operation: Operation) -> None:
        operation.landed = True
        self.pending.remove(operation)
        for ranges, flag in ((operation.writes, LANDING), (operation.reads, READING)):
            for memory, where in ranges:
                memory.state[where] &= ~np.uint8(flag)
        # Another operation may still hold some of the same bytes.
        for other in self.pending:
            for memory, where in other.writes:
                memory.state[where] |= np.uint8(LANDING)
            for memory, where in other.reads:
                memory.state[where] |= np.uint8(READING)
        operation.land()
