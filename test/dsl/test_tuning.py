"""`Function.tune`: the constants with which a kernel is fastest, and the candidates that do not count."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera_tools as tt
from tessera_tools.dsl import arange, constexpr, f32, kernel, load, program_id, ptr, store, tuning
from tessera_tools.dsl.tuning import Tuning


@kernel
def double(x: ptr[f32], n: constexpr):
    place = x + program_id(0) * n + arange(n)
    store(place, load(place) * 2)


@kernel
def wrong_unless_small(x: ptr[f32], n: constexpr):
    place = x + program_id(0) * n + arange(n)
    store(place, load(place) * (2 if n <= 64 else 3))


@kernel
def idle(x: ptr[f32], n: constexpr):
    load(x + program_id(0) * n + arange(n))


def blocks(x: Any, n: int) -> int:
    return len(x) // n


@pytest.fixture(scope="module")
def numbers() -> np.ndarray[Any, Any]:
    return np.arange(1, 1025, dtype=np.float32)


@pytest.fixture(scope="module")
def found(numbers: np.ndarray[Any, Any]) -> Tuning:
    # A tile of 33 elements is refused.
    return double.tune((numbers,), blocks, n=(32, 33, 256), target="sm_80")


def test_the_fastest_constants_are_those_of_the_best_kernel(found: Tuning) -> None:
    times = {one.constants["n"]: one.microseconds for one in found.candidates}
    assert times[32] is not None and times[256] is not None
    assert found.constants == {"n": 32 if times[32] <= times[256] else 256}


def test_the_best_kernel_can_be_launched(found: Tuning, numbers: np.ndarray[Any, Any]) -> None:
    own = numbers.copy()
    found.best[blocks(own, found.constants["n"])](own)
    assert (own == 2 * numbers).all()


def test_the_arguments_stay_as_they_are(found: Tuning, numbers: np.ndarray[Any, Any]) -> None:
    assert found and (numbers == np.arange(1, 1025)).all()


def test_a_candidate_that_the_compiler_refuses_says_why(found: Tuning) -> None:
    refused = next(one for one in found.candidates if one.constants["n"] == 33)
    assert refused.microseconds is None
    assert "power" in refused.why


def test_a_candidate_with_other_results_does_not_count(numbers: np.ndarray[Any, Any]) -> None:
    found = wrong_unless_small.tune((numbers,), blocks, n=(64, 128), target="sm_80")
    assert found.constants == {"n": 64}
    assert found.candidates[1].why == "its results differ from those of the first candidate"


def test_the_search_stops_after_candidates_without_an_improvement(numbers: np.ndarray[Any, Any]) -> None:
    found = double.tune((numbers,), blocks, n=(64, 33, 35, 37), patience=1, target="sm_80")
    assert len(found.candidates) == 2


def test_a_kernel_that_changes_nothing_cannot_be_tuned(numbers: np.ndarray[Any, Any]) -> None:
    with pytest.raises(tt.DiagnosticError, match="'idle' changes no array"):
        idle.tune((numbers,), blocks, n=(64,), target="sm_80")


@pytest.mark.parametrize(
    ("values", "text"),
    [({}, "no constants are given"), ({"n": ()}, "'n' has no values"), ({"m": (1,)}, "'m' is no constexpr")],
)
def test_what_cannot_be_tuned_is_refused(
    values: dict[str, Any], text: str, numbers: np.ndarray[Any, Any]
) -> None:
    with pytest.raises(tt.DiagnosticError, match=text):
        double.tune((numbers,), lambda x, **_: 1, **values)


def test_a_search_measures_nothing_that_its_file_has(
    numbers: np.ndarray[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tuned.sqlite"
    tune = partial(wrong_unless_small.tune, (numbers,), blocks, target="sm_80", file=file)
    first = tune(n=(64, 33, 128))
    monkeypatch.setattr("tessera_tools.dsl.tuning._Search._time", never)
    assert tune(n=(64, 33, 128)).candidates == first.candidates
    assert tune(n=(64, 33, 128)).constants == {"n": 64}


def test_other_arguments_are_measured_again(
    numbers: np.ndarray[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tuned.sqlite"
    double.tune((numbers,), blocks, n=(64,), target="sm_80", file=file)
    monkeypatch.setattr("tessera_tools.dsl.tuning._Search._time", never)
    for changed in ({"args": (numbers + 1,)}, {"target": "sm_90a"}, {"tolerance": 0.5}):
        given: dict[str, Any] = {"args": (numbers,), "target": "sm_80", **changed}
        with pytest.raises(AssertionError, match="measured"):
            double.tune(given.pop("args"), blocks, n=(64,), file=file, **given)


def test_an_interrupted_search_keeps_what_it_has_measured(
    numbers: np.ndarray[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, measured = tmp_path / "tuned.sqlite", []
    time = tuning._Search._time

    def interrupted(search: Any, point: dict[str, Any]) -> float:
        measured.append(point)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return time(search, point)

    monkeypatch.setattr("tessera_tools.dsl.tuning._Search._time", interrupted)
    with pytest.raises(KeyboardInterrupt):
        double.tune((numbers,), blocks, n=(64, 128), target="sm_80", file=file)
    double.tune((numbers,), blocks, n=(64, 128), target="sm_80", file=file)
    assert measured == [{"n": 64}, {"n": 128}, {"n": 128}]


def test_a_file_of_another_kind_is_refused(numbers: np.ndarray[Any, Any], tmp_path: Path) -> None:
    file = tmp_path / "tuned.sqlite"
    file.write_text("no database")
    with pytest.raises(tt.DiagnosticError, match="is not a file of tuning results"):
        double.tune((numbers,), blocks, n=(64,), target="sm_80", file=file)


def never(*_: Any) -> float:
    raise AssertionError("measured")
