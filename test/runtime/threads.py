"""Ranks of a plan as threads of this process, for tests of what plans compute; `test_ranks.py` runs them over MPI.

One thread runs at a time. It hands over where it waits for the parts of other ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera_tools.emit.plan import Plan
from tessera_tools.runtime.ranks_mpi import MpiTransport
from tessera_tools.runtime.ranks_transport import LostRankError
from tessera_tools.runtime.ranks_worker import Outcome, Settings, outcome, run_rank

Array = np.ndarray[Any, Any]
Table = dict[tuple[int, ...], dict[int, tuple[str, list[Array]]]]


class ThreadTransport(MpiTransport):
    """The transport over MPI with the swap of parts through memory."""

    name = "threads"

    def __init__(self, rank: int, turn: threading.Condition, table: Table, ended: set[int]) -> None:
        self.rank, self.turn, self.table, self.ended = rank, turn, table, ended
        self.count = 0

    def close(self) -> None:
        """There is nothing to compare."""

    def _swap(self, kind: str, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        self.count += 1
        there = self.table.setdefault((self.count, *group), {})
        there[self.rank] = kind, [np.array(part) for part in parts]
        self.turn.notify_all()
        self.turn.wait_for(lambda: len(there) == len(group) or self.ended & set(group) - set(there))
        if len(there) < len(group):
            raise LostRankError("another rank has ended")
        assert all(other == kind for other, _ in there.values()), "ranks do not run the same program"
        place = list(group).index(self.rank)
        return [there[rank][1][place].copy() for rank in group]


def run_job(
    plan: Plan, settings: Settings, arguments: Sequence[Array], _time_limit: float
) -> dict[int, Outcome]:
    """As ranks_mpi.run_job."""
    turn, table = threading.Condition(), Table()
    ended: set[int] = set()
    found: dict[int, Outcome] = {}

    def work(rank: int) -> None:
        with turn:
            transport = ThreadTransport(rank, turn, table, ended)
            found[rank] = outcome(
                lambda: run_rank(plan, settings, rank, None, arguments, transport, ordinal=0)
            )
            ended.add(rank)
            turn.notify_all()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(plan.ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
