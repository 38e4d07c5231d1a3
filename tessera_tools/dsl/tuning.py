"""`Function.tune`: the tile sizes and other constants with which a kernel is fastest, by the simulated GPU's clock.

constants ──product──▶ first: reference │ others, shuffled ──compile, run, agree──▶ microseconds ──▶ the fastest
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera_tools.api.arrays import describe
from tessera_tools.api.launching import FindingsError
from tessera_tools.diagnostics import DiagnosticError, error
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.dsl.function import Function

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
) -> Tuning:
    """As `Function.tune`."""
    empty = [name for name, some in values.items() if not some]
    if not values or empty:
        named = f"'{empty[0]}' has no values" if empty else "no constants are given"
        raise error(None, f"there is nothing to tune: {named}", "expected some values, as in n=(64, 128)")
    points = [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]
    first, others = points[0], points[1:]
    random.Random(seed).shuffle(others)
    sample = args if checked is None else checked

    def run(point: dict[str, Any]) -> tuple[float, list[Any]]:
        bound = function.bind(**point)
        estimate = bound[grid(*args, **point)](*args, target=target, timing=True).estimate
        assert estimate is not None
        ours = copy.deepcopy(tuple(sample))
        bound[grid(*ours, **point)](*ours, target=target)
        return estimate.seconds * 1e6, [np.asarray(one) for one in ours if describe(one) is not None]

    cost, expected = run(first)
    before = [np.asarray(one) for one in sample if describe(one) is not None]
    if all(np.array_equal(one, other) for one, other in zip(before, expected, strict=True)):
        raise error(
            None, f"'{function.function.__name__}' changes no array, so that candidates cannot be compared",
            "check the grid and the arguments",
        )  # fmt: skip
    candidates = [Candidate(first, cost)]
    best, idle = cost, 0
    for point in others[: most - 1]:
        if idle >= patience:
            break
        idle += 1
        try:
            cost, found = run(point)
        except (DiagnosticError, FindingsError) as failure:
            candidates.append(Candidate(point, None, str(failure).splitlines()[0]))
            continue
        if not all(_agree(one, other, tolerance) for one, other in zip(found, expected, strict=True)):
            candidates.append(Candidate(point, None, "its results differ from those of the first candidate"))
            continue
        candidates.append(Candidate(point, cost))
        if cost < best * (1 - GAIN):
            best, idle = cost, 0
    return Tuning(function.bind(**min(candidates, key=_cost).constants), candidates)


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
