"""The order in which `tessera-tune` tries configurations.

{} ──▶ one tunable at a time ──▶ the neighbors of the best ──▶ … ──▶ random ones ──▶ stop

A search asks for batches and is told the cost of each configuration. What it asks next depends only on the seed and the
costs, not on the number of processes, so that a search can be repeated and resumed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping, Sequence

from tessera_tools.emit.tunables import Config, Tunable, Value

__all__ = ["GAIN", "Search", "space"]

BATCH = 8
"""Candidates that are compiled together, with any number of processes."""
GAIN = 0.002
"""The least improvement that counts, as a share of the best time."""

Point = tuple[Value | None, ...]
"""The value of each tunable, None for the compiler's choice."""


def space(tunables: Sequence[Tunable]) -> list[Point]:
    """Every allowed combination, the untuned one first."""
    names = [one.name for one in tunables]
    found: list[Point] = []
    for point in itertools.product(*((None, *one.values) for one in tunables)):
        given = {name for name, value in zip(names, point, strict=True) if value}
        if not any(one.name in given and given.intersection(one.excludes) for one in tunables):
            found.append(point)
    return found


class Search:
    """One search. `most` is the limit of configurations, `patience` how many in a row may bring nothing."""

    def __init__(self, tunables: Sequence[Tunable], seed: int, most: int, patience: int) -> None:
        self.tunables = tuple(tunables)
        self.most = most
        self.patience = patience
        self.random = random.Random(seed)
        self.left = space(tunables)
        """Configurations that were not asked for, in the order of the space."""
        self.total = min(most, len(self.left))
        self.asked = 0
        self.idle = 0
        """Configurations since the last improvement."""
        self.best: Point | None = None
        self.cost = float("inf")
        self._queue: list[Point] = []
        """What comes next, before random configurations."""

    def ask(self) -> list[dict[str, Value]]:
        """The next batch; empty at the end. The first is the untuned configuration alone."""
        room = min(BATCH, self.most - self.asked)
        if not self.asked:
            batch = self.left[:1]
            self._queue = self._shuffled(p for p in self.left if sum(map(bool, p)) == 1)
        elif room <= 0 or not self.left or self.idle >= self.patience:
            return []
        else:
            waiting = set(self.left)
            self._queue = [point for point in self._queue if point in waiting]
            batch, self._queue = self._queue[:room], self._queue[room:]
            batch += self.random.sample(
                rest := [p for p in self.left if p not in set(batch)], min(room - len(batch), len(rest))
            )
        taken = set(batch)
        self.left = [point for point in self.left if point not in taken]
        self.asked += len(batch)
        return [self._config(point) for point in batch]

    def tell(self, costs: Sequence[tuple[Config, float | None]]) -> None:
        """The costs of the batch: None for a configuration that does not count."""
        gained = False
        for config, cost in costs:
            point = tuple(config.get(one.name) for one in self.tunables)
            if cost is not None and cost < self.cost * (1 - GAIN):
                self.best, self.cost, gained = point, cost, True
        if not gained:
            self.idle += len(costs)
            return
        self.idle = 0
        assert self.best is not None
        if any(self.best):
            best = self.best
            near = [p for p in self.left if sum(a != b for a, b in zip(p, best, strict=True)) == 1]
            # A neighbor may already wait.
            self._queue = list(dict.fromkeys(self._shuffled(near) + self._queue))

    def _shuffled(self, points: Iterable[Point]) -> list[Point]:
        found = list(points)
        self.random.shuffle(found)
        return found

    def _config(self, point: Point) -> dict[str, Value]:
        values: Mapping[str, Value] = {
            one.name: value for one, value in zip(self.tunables, point, strict=True) if value
        }
        return dict(values)
