"""`Function.tune`: the constants with which a kernel is fastest, and the candidates that do not count."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.test_cuda import install

import tessera_tools as tt
from tessera_tools.api.compiling import Kernel
from tessera_tools.dsl import arange, constexpr, f32, kernel, load, program_id, ptr, store
from tessera_tools.dsl.tuning import Candidate, Tuning


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


@kernel
def wrong_unless_zero(x: ptr[f32], n: constexpr, k: constexpr):
    place = x + program_id(0) * n + arange(n)
    store(place, load(place) * (k + 2))


def blocks(x: Any, n: int, k: int = 0) -> int:
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


def test_the_search_stops_after_programs_without_an_improvement(numbers: np.ndarray[Any, Any]) -> None:
    found = wrong_unless_zero.tune((numbers,), blocks, n=256, k=range(20), patience=1, target="sm_80")
    assert len(found.candidates) == 1 + 8  # a batch
    assert {one.why for one in found.candidates[1:]} == {
        "its results differ from those of the first candidate"
    }


def test_a_grid_that_does_not_take_the_constants_is_refused(numbers: np.ndarray[Any, Any]) -> None:
    with pytest.raises(
        tt.DiagnosticError,
        match="the grid is no function of .*: .* unexpected keyword .*'n'",
    ):
        double.tune((numbers,), lambda x: 4, n=(32, 64), target="sm_80")


def test_a_kernel_that_changes_nothing_cannot_be_tuned(numbers: np.ndarray[Any, Any]) -> None:
    with pytest.raises(
        tt.DiagnosticError, match="'idle' changes no array, so that candidates cannot be compared"
    ):
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


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"num_warps": (2, 3)}, "num_warps is 3; expected one of 0, 1, 2, 4"),
        ({"agents": "many"}, "agents is 'many'; expected one of auto, none, producer"),
        ({"search": "num_warp"}, "(?s)unknown option 'num_warp'.*did you mean 'num_warps'"),
        (
            {"search": ["num_warps", "speed"]},
            "search names the unknown option 'speed'; expected all, or some of",
        ),
        ({"parallel": 0}, "parallel is 0; expected a number from 1"),
        ({"measure": "guess"}, "measure is 'guess'; expected clock or gpu"),
    ],
)
def test_options_that_there_are_not_are_refused(
    values: dict[str, Any], text: str, numbers: np.ndarray[Any, Any]
) -> None:
    with pytest.raises(tt.DiagnosticError, match=text):
        double.tune((numbers,), blocks, n=64, **values)


def test_options_of_the_compiler_are_searched_with_the_constants(numbers: np.ndarray[Any, Any]) -> None:
    found = double.tune((numbers,), blocks, n=(64, 256), num_warps=(1, 2), target="sm_80")
    times = {(one.constants["n"], one.options["num_warps"]): one.microseconds for one in found.candidates}
    assert next(iter(times)) == (64, 1) and set(times) == {(64, 1), (64, 2), (256, 1), (256, 2)}
    warps = found.options["num_warps"]
    assert times[found.constants["n"], warps] == found.fastest.microseconds
    own = numbers.copy()
    found.best[blocks(own, found.constants["n"])](own, target="sm_80")
    assert (own == 2 * numbers).all()
    assert found.best.compiled((own,), target="sm_80").manifest.kernels[0].block == (32 * warps, 1, 1)
    assert tt.compile(found.best, "sm_80").manifest.kernels[0].block == (32 * warps, 1, 1)


def test_all_values_of_an_option_are_searched_by_its_name(numbers: np.ndarray[Any, Any]) -> None:
    found = double.tune((numbers,), blocks, n=256, search="num_warps", target="sm_80", most=20)
    assert found.candidates[0].options == {}
    assert {one.options.get("num_warps", 0) for one in found.candidates} == {0, 1, 2, 4, 8, 16, 32}


def test_what_the_compiler_refuses_does_not_count(numbers: np.ndarray[Any, Any]) -> None:
    found = double.tune((numbers,), blocks, n=256, agents=("auto", "none", "correction"), target="sm_80")
    whys = {one.options.get("agents", "auto"): one.why for one in found.candidates}
    assert whys == {
        "auto": "",
        "none": "",
        "correction": "error: agents=correction cannot be followed: sm_80 has none such; expected none",
    }


def test_the_result_does_not_depend_on_the_processes(numbers: np.ndarray[Any, Any]) -> None:
    one, three = (
        double.tune((numbers,), blocks, n=(64, 128, 256, 512), target="sm_80", parallel=many)
        for many in (1, 3)
    )
    assert one.candidates == three.candidates


def test_each_new_candidate_is_told(numbers: np.ndarray[Any, Any]) -> None:
    told: list[Candidate] = []
    found = double.tune((numbers,), blocks, n=(64, 33, 128), target="sm_80", progress=told.append)
    assert sorted(one.constants["n"] for one in told) == [33, 128]
    assert all(one in found.candidates for one in told)


def test_a_candidate_has_a_time_limit(numbers: np.ndarray[Any, Any]) -> None:
    found = double.tune((numbers,), blocks, n=(64, 128), target="sm_80", time_limit=0.001)
    assert found.candidates[1].why == "it took more than 0.001 seconds"
    assert found.constants == {"n": 64}


def test_a_gpu_measures_the_median_of_launches(
    numbers: np.ndarray[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = install(monkeypatch)
    # The driver that the simulated GPU plays takes PTX.
    monkeypatch.setattr(Kernel, "cubin", property(lambda kernel: kernel.ptx.encode() + b"\0"))
    found = double.tune((numbers,), blocks, n=(64, 128), target="sm_100", measure="gpu")
    assert [one.microseconds for one in found.candidates] == [1500.0, 1500.0]
    # Each is launched once to compare its results, and then 23 times.
    assert driver.calls.count("cuLaunchKernel") == 2 * 24
    assert (numbers == np.arange(1, 1025)).all()


def test_a_search_measures_nothing_that_its_file_has(
    numbers: np.ndarray[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tuned.sqlite"
    tune = partial(wrong_unless_small.tune, (numbers,), blocks, target="sm_80", file=file)
    first = tune(n=(64, 33, 128))
    monkeypatch.setattr("tessera_tools.dsl.tuning._Task.time", never)
    assert tune(n=(64, 33, 128)).candidates == first.candidates
    assert tune(n=(64, 33, 128)).constants == {"n": 64}


def test_other_arguments_are_measured_again(
    numbers: np.ndarray[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tuned.sqlite"
    double.tune((numbers,), blocks, n=(64,), target="sm_80", file=file)
    monkeypatch.setattr("tessera_tools.dsl.tuning._Task.time", never)
    for changed in ({"args": (numbers + 1,)}, {"target": "sm_90a"}, {"tolerance": 0.5}):
        given: dict[str, Any] = {"args": (numbers,), "target": "sm_80", **changed}
        with pytest.raises(AssertionError, match="measured"):
            double.tune(given.pop("args"), blocks, n=(64,), file=file, **given)


def test_an_interrupted_search_keeps_what_it_has_measured(
    numbers: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    def interrupt(_: Candidate) -> None:
        raise KeyboardInterrupt

    again: list[Candidate] = []
    tune = partial(
        double.tune,
        (numbers,),
        blocks,
        n=(64, 128, 256),
        target="sm_80",
        file=tmp_path / "t.sqlite",
        parallel=1,
    )
    with pytest.raises(KeyboardInterrupt):
        tune(progress=interrupt)
    found = tune(progress=again.append)
    assert len(again) == 1 and len(found.candidates) == 3


def test_other_options_are_measured_again(numbers: np.ndarray[Any, Any], tmp_path: Path) -> None:
    told: list[Candidate] = []
    tune = partial(
        double.tune,
        (numbers,),
        blocks,
        n=(64, 128),
        target="sm_80",
        file=tmp_path / "t",
        progress=told.append,
    )
    two: dict[str, Any] = {"num_warps": (2, 4)}
    steps: list[tuple[dict[str, Any], int]] = [({}, 1), ({}, 0), ({"num_warps": 2}, 1), (two, 2), (two, 0)]
    for options, new in steps:
        told.clear()
        tune(**options)
        assert len(told) == new, options


def test_options_that_the_kernel_has_count(numbers: np.ndarray[Any, Any], tmp_path: Path) -> None:
    """They are those of another program for the file, and a search over the option replaces them."""
    told: list[Candidate] = []
    given: dict[str, Any] = {"target": "sm_80", "file": tmp_path / "t", "progress": told.append}
    double.tune((numbers,), blocks, n=(64, 128), **given)
    wide = double.with_options(num_warps=8)
    found = wide.tune((numbers,), blocks, n=(64, 128), **given)
    assert len(told) == 2 and found.options == found.best.options == {"num_warps": 8}
    chosen = wide.tune((numbers,), blocks, n=64, num_warps=(0, 4), **given)
    assert [one.options for one in chosen.candidates] == [{}, {"num_warps": 4}]


@pytest.mark.parametrize(
    ("given", "same"), [({}, "wide"), ({"num_warps": 0}, "double"), ({"num_warps": 2}, "two")]
)
def test_an_option_that_is_given_replaces_that_of_the_kernel(given: dict[str, Any], same: str) -> None:
    """Also by the default: the compiler's own choice."""
    kernels = {
        "double": double, "wide": double.with_options(num_warps=8), "two": double.with_options(num_warps=2),
    }  # fmt: skip
    found = tt.compile(kernels["wide"].bind(n=256), "sm_80", **given).ptx
    assert {name: found == tt.compile(one.bind(n=256), "sm_80").ptx for name, one in kernels.items()} == {
        name: name == same for name in kernels
    }


def test_ray_finds_what_processes_find(
    numbers: np.ndarray[Any, Any], found: Tuning, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="the extra [ray]")
    root = Path(tt.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'test'}")
    again = double.tune((numbers,), blocks, n=(32, 33, 256), target="sm_80", ray="local", parallel=2)
    assert again.candidates == found.candidates
    assert again.constants == found.constants
    assert not ray.is_initialized()


def test_ray_needs_a_kernel_that_its_workers_find(numbers: np.ndarray[Any, Any]) -> None:
    @kernel
    def inner(x: ptr[f32], n: constexpr):
        place = x + program_id(0) * n + arange(n)
        store(place, load(place) * 2)

    with pytest.raises(tt.DiagnosticError, match="workers of Ray cannot find the kernel 'inner'"):
        inner.tune((numbers,), blocks, n=(32, 64), target="sm_80", ray="local")


def test_a_file_of_another_kind_is_refused(numbers: np.ndarray[Any, Any], tmp_path: Path) -> None:
    file = tmp_path / "tuned.sqlite"
    file.write_text("no database")
    with pytest.raises(tt.DiagnosticError, match="is not a file of tuning results"):
        double.tune((numbers,), blocks, n=(64,), target="sm_80", file=file)


def never(*_: Any) -> float:
    raise AssertionError("measured")
