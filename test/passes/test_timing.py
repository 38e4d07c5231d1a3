"""Reports of times, by a clock that the test moves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tessera_tools.passes import timing
from tessera_tools.passes.timing import Timing, rule


class Clock:
    """Stands at `now` until it is moved."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    return clock


@pytest.fixture
def run(clock: Clock) -> Timing:
    """A run of ten seconds: 1 of the parser, 5.5 of a pipeline with two runs of `cse`, 3.5 of something else."""
    run = Timing()
    with run.scope("Parser"):
        clock.now += 1
    with run.scope("pipeline"):
        for key, name, seconds in (
            (1, "cse", 2.0),
            (None, "dce", 0.25),
            (2, "cse", 3.0),
            (None, "dce", 0.25),
        ):
            with run.scope(name, key):
                clock.now += seconds
    clock.now = 10.0
    return run


def lines(report: str) -> list[str]:
    assert report.endswith("\n\n")
    head, _, rest = report.partition("----Wall Time----  ----Name----\n")
    assert head == rule("Execution time report") + "  Total Execution Time: 10.0000 seconds\n\n  "
    return rest.removesuffix("\n\n").split("\n")


def test_a_title_is_between_two_lines() -> None:
    first, title, last = rule("Title").splitlines()
    assert first == last == "===" + 73 * "-" + "==="
    assert title == 33 * " " + "... Title ..."


def test_scopes_with_one_key_are_a_line_in_their_scope(run: Timing) -> None:
    assert lines(run.report()) == [
        "    1.0000 ( 10.0%)  Parser",
        "    5.5000 ( 55.0%)  pipeline",
        "    2.0000 ( 20.0%)    cse",
        "    0.5000 (  5.0%)    dce",
        "    3.0000 ( 30.0%)    cse",
        "    3.5000 ( 35.0%)  Rest",
        "   10.0000 (100.0%)  Total",
    ]


def test_a_list_has_a_line_for_each_name_the_longest_first(run: Timing) -> None:
    assert lines(run.report("list")) == [
        "   10.0000 (100.0%)  root",
        "    5.5000 ( 55.0%)  pipeline",
        "    5.0000 ( 50.0%)  cse",
        "    1.0000 ( 10.0%)  Parser",
        "    0.5000 (  5.0%)  dce",
        "    3.5000 ( 35.0%)  Rest",
        "   10.0000 (100.0%)  Total",
    ]


def record(name: str, seconds: float, *passes: Any) -> dict[str, Any]:
    return {"wall": {"duration": seconds, "percentage": 10 * seconds}, "name": name, "passes": [*passes, {}]}


def flat(name: str, seconds: float) -> dict[str, Any]:
    return {key: value for key, value in record(name, seconds).items() if key != "passes"}


def test_json_has_what_is_inside(run: Timing) -> None:
    inside = record("cse", 2.0), record("dce", 0.5), record("cse", 3.0)
    assert json.loads(run.report(as_json=True)) == [
        record("Parser", 1.0), record("pipeline", 5.5, *inside), flat("Rest", 3.5), flat("Total", 10.0),
    ]  # fmt: skip


def test_json_of_a_list(run: Timing) -> None:
    names = {"root": 10.0, "pipeline": 5.5, "cse": 5.0, "Parser": 1.0, "dce": 0.5, "Rest": 3.5, "Total": 10.0}
    assert json.loads(run.report("list", as_json=True)) == [flat(*one) for one in names.items()]


def test_parts_are_the_outermost_scopes(run: Timing) -> None:
    assert run.parts() == {"Parser": 1.0, "pipeline": 5.5, "Total": 10.0}


def test_the_start_of_the_process_counts(clock: Clock) -> None:
    clock.now = 7.0
    run = Timing()
    run.started(2.0, begin=6.5)
    clock.now = 8.0
    run.add("Output", 0.25)
    run.add("Output", 0.5)
    assert run.parts() == {"Start": 2.5, "Output": 0.75, "Total": 3.5}


def test_a_scope_that_an_error_leaves_is_counted(clock: Clock) -> None:
    run = Timing()
    with pytest.raises(KeyError), run.scope("Parser"):
        clock.now = 2.0
        raise KeyError
    with run.scope("Output"):
        clock.now = 3.0
    assert run.parts() == {"Parser": 2.0, "Output": 1.0, "Total": 3.0}


@pytest.mark.parametrize("as_json", [False, True])
def test_no_time_has_no_shares_and_no_rest_is_negative(clock: Clock, as_json: bool) -> None:
    run = Timing()
    run.add("Parser", 1.0)
    report = run.report(as_json=as_json)
    if as_json:
        assert [one["wall"] for one in json.loads(report)] == [
            {"duration": seconds, "percentage": 0.0} for seconds in (1.0, 0.0, 0.0)
        ]
    else:
        assert (
            "    1.0000 (  0.0%)  Parser\n    0.0000 (  0.0%)  Rest\n    0.0000 (  0.0%)  Total\n" in report
        )
