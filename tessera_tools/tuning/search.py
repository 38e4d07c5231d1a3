"""The order in which a search tries configurations.

{} ──▶ one tunable at a time ──▶ the neighbors of the best ──▶ … ──▶ random ones ──▶ stop

A search asks for batches and is told what each configuration gave. What it asks next depends only on the seed and on
that, not on the number of processes, so that a search can be repeated and resumed.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Protocol

from tessera_tools.emit.tuned import Trial

__all__ = ["GAIN", "Dimension", "Search", "space"]

BATCH = 8
"""Candidates that are compiled together, with any number of processes."""
GAIN = 0.002
"""The least improvement that counts, as a share of the best time."""
LISTED = 20_000
"""Combinations that are listed; of more, random ones are drawn."""
_DRAWS = 1000
"""Configurations in a row that may have been drawn before, until no more are drawn."""

Point = tuple[int, ...]
"""The number of the value of each dimension, from 1; 0 leaves it out."""


class Dimension(Protocol):
    """What a search chooses: a tunable of the compiler, or a constant of a kernel."""

    @property
    def name(self) -> str: ...

    @property
    def values(self) -> Sequence[object]:
        """What it may be, besides its default."""
        ...

    @property
    def excludes(self) -> Sequence[str]:
        """The names of dimensions that cannot be chosen together with it."""
        ...


def _allowed(dimensions: Sequence[Dimension], point: Point) -> bool:
    given = {one.name for one, number in zip(dimensions, point, strict=True) if number}
    return not any(one.name in given and given.intersection(one.excludes) for one in dimensions)


def space(dimensions: Sequence[Dimension]) -> list[Point]:
    """Every allowed combination, the one without choices first."""
    points = itertools.product(*(range(len(one.values) + 1) for one in dimensions))
    return [point for point in points if _allowed(dimensions, point)]


class Search:
    """One search. `most` is the limit of configurations, `patience` how many different programs in a row may bring
    nothing: a configuration that the compiler refuses, or that gives the code of an earlier one, is none."""

    def __init__(self, dimensions: Sequence[Dimension], seed: int, most: int, patience: int) -> None:
        self.dimensions = tuple(dimensions)
        self.most = most
        self.patience = patience
        self.random = random.Random(seed)
        self.sizes = [len(one.values) + 1 for one in self.dimensions]
        self.listed = space(self.dimensions) if prod(self.sizes) <= LISTED else None
        """All configurations, unless there are too many."""
        self.total = most if self.listed is None else min(most, len(self.listed))
        self.idle = 0
        """Programs since the last improvement."""
        self.best: Point | None = None
        self.cost = float("inf")
        self._taken: set[Point] = set()
        self._programs: set[str] = set()
        """Digests of code."""
        self._queue: list[Point] = []
        """What comes next, before random configurations."""

    def ask(self) -> list[dict[str, Any]]:
        """The next batch; empty at the end. The first is the configuration without choices, alone."""
        room = min(BATCH, self.most - len(self._taken))
        if not self._taken:
            start = (0,) * len(self.sizes)
            batch = [start]
            self._queue = self._shuffled(self._near(start))
        elif room <= 0 or self.idle >= self.patience:
            return []
        else:
            self._queue = [point for point in self._queue if point not in self._taken]
            batch, self._queue = self._queue[:room], self._queue[room:]
            batch += self._drawn(room - len(batch), {*self._taken, *batch})
        self._taken.update(batch)
        return [self.config(point) for point in batch]

    def tell(self, trials: Sequence[Trial]) -> None:
        """What the configurations of the batch gave, in its order."""
        gained, new = False, 0
        for trial in trials:
            if trial.cost is not None and trial.cost < self.cost * (1 - GAIN):
                self.best, self.cost, gained = self._point(trial), trial.cost, True
            new += trial.outcome != "refused" and trial.digest not in self._programs
            if trial.digest:
                self._programs.add(trial.digest)
        if not gained:
            self.idle += new
            return
        self.idle = 0
        assert self.best is not None
        if any(self.best):
            near = [point for point in self._near(self.best) if point not in self._taken]
            # A neighbor may already wait.
            self._queue = list(dict.fromkeys(self._shuffled(near) + self._queue))

    def config(self, point: Point) -> dict[str, Any]:
        """The values of a point, by name."""
        chosen = zip(self.dimensions, point, strict=True)
        return {one.name: one.values[number - 1] for one, number in chosen if number}

    def _point(self, trial: Trial) -> Point:
        found: list[int] = []
        for one in self.dimensions:
            # 1, 1.0 and True are three values.
            same = (
                number
                for number, value in enumerate(one.values, 1)
                if one.name in trial.config and repr(value) == repr(trial.config[one.name])
            )
            found.append(next(same, 0))
        return tuple(found)

    def _near(self, point: Point) -> list[Point]:
        """The allowed configurations that differ in one choice."""
        found = (
            (*point[:place], number, *point[place + 1 :])
            for place, size in enumerate(self.sizes)
            for number in range(size)
            if number != point[place]
        )
        return [one for one in found if _allowed(self.dimensions, one)]

    def _drawn(self, count: int, taken: set[Point]) -> list[Point]:
        """So many random configurations that were not taken, or as many as there are."""
        if self.listed is not None:
            rest = [point for point in self.listed if point not in taken]
            return self.random.sample(rest, min(count, len(rest)))
        found: list[Point] = []
        draws = 0
        while len(found) < count and draws < _DRAWS:
            draws += 1
            point = tuple(self.random.randrange(size) for size in self.sizes)
            if point not in taken and _allowed(self.dimensions, point):
                found.append(point)
                taken.add(point)
                draws = 0
        return found

    def _shuffled(self, points: Iterable[Point]) -> list[Point]:
        found = list(points)
        self.random.shuffle(found)
        return found
