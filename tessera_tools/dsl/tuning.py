"""`Function.tune`: the tile sizes and other constants with which a kernel is fastest, by the simulated GPU's clock.

constants ──product──▶ first: reference │ others, shuffled ──compile, run, agree──▶ microseconds ──▶ the fastest
                                         file ◀──each candidate, found again by its code and arguments──┘
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.api.arrays import describe
from tessera_tools.api.launching import FindingsError
from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.emit.compile_cache import own_identity
from tessera_tools.ir.printing import print_op
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.dsl.function import Function
    from tessera_tools.emit.tunables import Value

__all__ = ["Candidate", "Tuning", "tune"]

GAIN = 0.002
"""The least improvement that counts, as a share of the best time."""


@dataclass(frozen=True)
class Candidate:
    """One combination of constants."""

    constants: dict[str, Any]
    microseconds: float | None
    """The clock's estimate; None if the candidate does not count."""
    why: str = ""
    """Why it does not count."""


@dataclass(frozen=True)
class Tuning:
    """What a search has found."""

    best: Function
    """The kernel with the constants of the fastest candidate."""
    candidates: list[Candidate]
    """In the order in which they were tried."""

    @property
    def constants(self) -> dict[str, Any]:
        """Those of the fastest candidate."""
        return min(self.candidates, key=_cost).constants


def tune(
    function: Function,
    args: Sequence[Any],
    grid: Callable[..., int | Sequence[int]],
    values: Mapping[str, Sequence[Any]],
    *,
    checked: Sequence[Any] | None,
    target: str | None,
    most: int,
    patience: int,
    seed: int,
    tolerance: float,
    file: str | os.PathLike[str] | None = None,
) -> Tuning:
    """As `Function.tune`."""
    empty = [name for name, some in values.items() if not some]
    if not values or empty:
        named = f"'{empty[0]}' has no values" if empty else "no constants are given"
        raise error(None, f"there is nothing to tune: {named}", "expected some values, as in n=(64, 128)")
    points = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    first, others = points[0], points[1:]
    random.Random(seed).shuffle(others)
    search = _Search(function, args, grid, checked, target, tolerance)
    kept = _Kept(search, first, file) if file is not None else None
    try:
        candidates = [search.first(first) if kept is None else kept.first(first)]
        best, idle = _cost(candidates[0]), 0
        for point in others[: most - 1]:
            if idle >= patience:
                break
            idle += 1
            candidates.append(
                search.candidate(first, point) if kept is None else kept.candidate(first, point)
            )
            if _cost(candidates[-1]) < best * (1 - GAIN):
                best, idle = _cost(candidates[-1]), 0
    finally:
        if kept is not None:
            kept.close()
    return Tuning(function.bind(**min(candidates, key=_cost).constants), candidates)


class _Search:
    """Compiles and runs candidates."""

    def __init__(
        self,
        function: Function,
        args: Sequence[Any],
        grid: Callable[..., int | Sequence[int]],
        checked: Sequence[Any] | None,
        target: str | None,
        tolerance: float,
    ) -> None:
        self.function, self.args, self.grid, self.target = function, args, grid, target
        self.checked = args if checked is None else checked
        self.tolerance = tolerance
        self._expected: list[Any] | None = None

    def first(self, point: dict[str, Any]) -> Candidate:
        """The first candidate, whose results are the reference. Raises DiagnosticError, FindingsError."""
        self._reference(point)
        return Candidate(point, self._time(point))

    def candidate(self, first: dict[str, Any], point: dict[str, Any]) -> Candidate:
        """Another candidate. Raises DiagnosticError, FindingsError if the first one cannot run."""
        expected = self._reference(first)
        try:
            cost, found = self._time(point), self._results(point)
        except (DiagnosticError, FindingsError) as failure:
            return _refused(point, failure)
        if not all(_agree(one, other, self.tolerance) for one, other in zip(found, expected, strict=True)):
            return Candidate(point, None, "its results differ from those of the first candidate")
        return Candidate(point, cost)

    def _time(self, point: dict[str, Any]) -> float:
        launch = self.function.bind(**point)[self.grid(*self.args, **point)]
        estimate = launch(*self.args, target=self.target, timing=True).estimate
        assert estimate is not None
        return estimate.seconds * 1e6

    def _results(self, point: dict[str, Any]) -> list[Any]:
        ours = copy.deepcopy(tuple(self.checked))
        self.function.bind(**point)[self.grid(*ours, **point)](*ours, target=self.target)
        return [np.asarray(one) for one in ours if describe(one) is not None]

    def _reference(self, first: dict[str, Any]) -> list[Any]:
        if self._expected is None:
            found = self._results(first)
            before = [np.asarray(one) for one in self.checked if describe(one) is not None]
            if all(np.array_equal(one, other) for one, other in zip(before, found, strict=True)):
                raise error(
                    None, f"'{self.function.function.__name__}' changes no array, so that candidates cannot be "
                    "compared", "check the grid and the arguments",
                )  # fmt: skip
            self._expected = found
        return self._expected


class _Kept:
    """The candidates of earlier searches, in a file of `tessera-tune`: those that have the same code and arguments."""

    def __init__(self, search: _Search, first: dict[str, Any], file: str | os.PathLike[str]) -> None:
        from tessera_tools.emit.tuned import Database

        self.search = search
        tool = [own_identity(), search.target, search.tolerance]
        self._same = [
            tool,
            self._code(first),
            self._grids(first),
            _digests(search.args),
            _digests(search.checked),
        ]
        self.database = Database(os.fspath(file), create=True)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def first(self, point: dict[str, Any]) -> Candidate:
        """As that of the search, which is asked if the file does not have it."""
        return self._known(point, lambda: self.search.first(point))

    def candidate(self, first: dict[str, Any], point: dict[str, Any]) -> Candidate:
        """As that of the search, which is asked if the file does not have it."""
        try:
            self._code(point)
        except DiagnosticError as failure:  # there is no code to know it by
            return _refused(point, failure)
        return self._known(point, lambda: self.search.candidate(first, point))

    def _known(self, point: dict[str, Any], make: Callable[[], Candidate]) -> Candidate:
        from tessera_tools.emit.tuned import CONSTANT, Trial

        parts = [*self._same, self._code(point), self._grids(point)]
        run = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        for trial in self.database.trials(run):
            return Candidate(point, trial.cost, trial.message)
        made = make()
        config: dict[str, Value] = {f"{CONSTANT}{name}": repr(value)[:200] for name, value in point.items()}
        outcome = "failed" if made.microseconds is None else "measured"
        self.database.add(run, Trial(config, outcome, made.microseconds, message=made.why))
        return made

    def _code(self, point: dict[str, Any]) -> list[str]:
        """The programs of the timed launch and of the one that is compared: arguments may decide them."""
        bound = self.search.function.bind(**point)
        return [
            hashlib.sha256(print_op(bound.__tessera_module__(some)[0]).encode()).hexdigest()
            for some in (self.search.args, self.search.checked)
        ]

    def _grids(self, point: dict[str, Any]) -> list[str]:
        return [repr(self.search.grid(*some, **point)) for some in (self.search.args, self.search.checked)]


def _refused(point: dict[str, Any], failure: Exception) -> Candidate:
    return Candidate(point, None, str(failure).splitlines()[0])


def _digests(arguments: Sequence[Any]) -> list[str]:
    """The contents of arguments: the simulated GPU runs with them."""
    found: list[str] = []
    for one in arguments:
        if describe(one) is None:
            found.append(repr(one))
            continue
        array = np.asarray(one)
        content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        found.append(f"{array.dtype} {array.shape} {array.strides} {content}")
    return found


def _cost(candidate: Candidate) -> float:
    return float("inf") if candidate.microseconds is None else candidate.microseconds


def _agree(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether integers are equal, and floats differ by at most a share of the greatest magnitude."""
    if found.dtype.kind in "iub":
        return bool(np.array_equal(found, expected))
    x, y = found.astype(np.float64), expected.astype(np.float64)
    limit = tolerance * float(np.abs(y).max(initial=0.0, where=np.isfinite(y)))
    with np.errstate(invalid="ignore"):
        return bool(((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= limit)).all())
