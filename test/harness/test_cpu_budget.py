"""`--cpu-budget`: a draw in which every test has the same share of the time."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from harness import cpu_budget
from harness.cpu_budget import cost, is_drawn, mean_times, share

CONFTEST = """
from harness.cpu_budget import CpuBudget, longest_first, seed_of
def pytest_addoption(parser):
    parser.addoption("--draw", type=int)
def pytest_configure(config):
    config.pluginmanager.register(CpuBudget({budget}, seed_of(config)))
def pytest_collection_modifyitems(items):
    longest_first(items)
"""
COSTS = {"test_long.py": {"test_b": 4.0, "test_d": 100.0}}


@pytest.fixture(autouse=True)
def costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the tests below."""
    monkeypatch.setattr(cpu_budget, "_costs", lambda: COSTS)


def test_a_case_costs_what_its_function_is_listed_with() -> None:
    assert cost("test_long.py::test_d") == cost("test_long.py::test_d[a::b]") == 100


@pytest.mark.parametrize("name", ["test_long.py::test_c", "test_d.py::test_d"])
def test_an_unlisted_test_is_a_cheap_one(name: str) -> None:
    assert cost(name) == cpu_budget.UNLISTED


@pytest.mark.parametrize(
    "budget, expected", [(0, 0), (1.5, 0.5), (3, 1), (5, 2), (7, 3), (13, 9), (14, math.inf)]
)
def test_shares_fill_the_budget(budget: float, expected: float) -> None:
    assert share([10, 1, 3], budget) == expected


def test_the_expected_time_of_a_draw_is_the_budget() -> None:
    costs = [random.uniform(0.01, 20) for _ in range(100)]
    limit = share(costs, 50)
    assert sum(each * min(1, limit / each) for each in costs) == pytest.approx(50)


def test_a_test_that_costs_k_shares_runs_once_in_k_times() -> None:
    drawn = sum(is_drawn("test_long.py::test_b", 1, seed) for seed in range(2000))
    assert 400 < drawn < 600


def test_a_test_within_its_share_always_runs() -> None:
    assert all(is_drawn("test_long.py::test_b", 4, seed) for seed in range(100))


def _run(pytester: pytest.Pytester, budget: float, *options: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST.format(budget=budget))
    pytester.makepyfile(
        test_a="def test_a(): pass\n", test_long="".join(f"def test_{n}(): pass\n" for n in "bcd")
    )
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", *options)


def test_what_is_not_drawn_is_deselected_and_the_draw_can_be_repeated(pytester: pytest.Pytester) -> None:
    result = _run(pytester, 0.03, "--draw=7")
    result.assert_outcomes(passed=2, deselected=2)
    result.stdout.fnmatch_lines(["2 of 4 tests drawn; --cpu-budget=0.03 --draw=7 draws them again*"])


def test_workers_draw_the_same(pytester: pytest.Pytester) -> None:
    """xdist refuses to run what its workers collected differently."""
    pytester.makeconftest(CONFTEST.format(budget=1))
    pytester.makepyfile(
        test_a="import pytest\n@pytest.mark.parametrize('n', range(400))\ndef test_a(n): pass\n"
    )
    result = pytester.runpytest("-n2")
    counts = result.parseoutcomes()
    assert 0 < counts["passed"] < 400
    result.stdout.fnmatch_lines([f"{counts['passed']} of 400 tests drawn*"])


def test_every_test_is_drawn_if_all_fit(pytester: pytest.Pytester) -> None:
    _run(pytester, 105).assert_outcomes(passed=4)


def test_a_file_with_a_long_test_comes_first_and_stays_whole(pytester: pytest.Pytester) -> None:
    lines = [line for line in _run(pytester, 105).outlines if "PASSED" in line]
    assert [line.split()[0].rpartition("_")[2] for line in lines] == ["b", "c", "d", "a"]


def test_functions_are_listed_with_the_mean_of_their_cases() -> None:
    lines = [
        '["t.py::test_a[1]", 0.1]',
        '["t.py::test_a[2]", 0.204]',
        '["t.py::test_b", 0.01]',
        '["u.py::test_c", 0]',
    ]
    assert mean_times(lines) == {"t.py": {"test_a": 0.15}}


def test_the_list_is_of_tests_that_exist() -> None:
    """Most of them: a test is renamed more often than the list is measured again."""
    root = Path(__file__).resolve().parents[2]
    listed = json.loads(cpu_budget.COSTS.read_text())
    there = sum((root / path).is_file() for path in listed)
    assert there >= 0.9 * len(listed)


def test_what_failed_runs_again_whatever_it_costs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_long="def test_d(): assert 0\n")
    pytester.runpytest_inprocess("-q").assert_outcomes(failed=1)
    pytester.makeconftest(CONFTEST.format(budget=0.001))
    pytester.runpytest_inprocess("-q", "--lf").assert_outcomes(failed=1)
