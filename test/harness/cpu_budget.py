"""`--cpu-budget=SECONDS`: as many of the tests as take that long, drawn anew in each run.

A fortieth of the tests takes half of the suite's CPU time. A test that costs no more than its share of the budget
always runs, and one that costs k times the share runs with probability 1/k. The next run draws others, so that no test
is left out for good.

    pytest --cpu-budget=500                # about 500 CPU seconds
    pytest --cpu-budget=500 --draw=4711    # the tests of an earlier run
    pytest --cpu-times=times.jsonl && python test/harness/cpu_budget.py times.jsonl    # measure again
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

COSTS = Path(__file__).resolve().parents[1] / "cpu_times.json"
"""The mean CPU seconds of a case of each test function, by file and name."""
LISTED = 0.05
"""What a function costs, at least, to be listed."""
UNLISTED = 0.005
"""The mean of the others, two thirds of all tests."""
LONG = 3
"""CPU seconds of a test that is worth a place at the beginning of a run."""


@cache
def _costs() -> dict[str, dict[str, float]]:
    return json.loads(COSTS.read_text())


def cost(nodeid: str) -> float:
    """The CPU seconds that a test is expected to take. A new test counts as a cheap one."""
    path, _, name = nodeid.partition("::")
    return _costs().get(path, {}).get(name.partition("[")[0], UNLISTED)


def share(costs: Iterable[float], budget: float) -> float:
    """The seconds s with sum(min(cost, s)) = budget; infinite if all tests fit."""
    ascending = sorted(costs)
    for done, each in enumerate(ascending):
        left = len(ascending) - done
        if each * left > budget:
            return budget / left
        budget -= each
    return math.inf


def is_drawn(nodeid: str, limit: float, seed: int) -> bool:
    """Whether the test is in the draw: the same in each worker."""
    return random.Random(f"{seed} {nodeid}").random() * cost(nodeid) < limit


def seed_of(config: pytest.Config) -> int:
    """The seed of a run: that of `--draw`, of the process that started this worker, or a new one."""
    given = getattr(config, "workerinput", {}).get("draw", config.getoption("draw"))
    return random.randrange(10**6) if given is None else given


def longest_first(items: list[pytest.Item]) -> None:
    """Files with long tests come first, so that no worker is left with one at the end. A file stays whole: its tests
    share fixtures, and a worker that takes over tests takes the last."""
    long = {item.nodeid.partition("::")[0] for item in items if cost(item.nodeid) >= LONG}
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in long)


class CpuBudget:
    """A pytest plugin that deselects what is not drawn, and says how to draw the same again."""

    def __init__(self, budget: float, seed: int) -> None:
        self.budget = budget
        self.seed = seed
        self.counts: tuple[int, int] | None = None
        """How many tests were drawn, and of how many."""

    # The first wrapper is the last to see the tests.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """After the options that select tests: the budget is for what they leave. What has failed runs again."""
        yield
        if config.getoption("lf", False):
            return
        limit = share([cost(item.nodeid) for item in items], self.budget)
        kept = [item for item in items if is_drawn(item.nodeid, limit, self.seed)]
        self.counts = len(kept), len(items)
        kept_set = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept_set])
        items[:] = kept

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        """A worker of xdist draws the same tests."""
        node.workerinput["draw"] = self.seed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker of xdist tells the process that started it."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["drawn"] = self.counts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """What a worker told; none that crashed did."""
        self.counts = getattr(node, "workeroutput", {}).get("drawn", self.counts)

    def pytest_report_header(self) -> str:
        """For a run that does not come to its summary."""
        return f"tests are drawn: --cpu-budget={self.budget:g} --draw={self.seed}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """How many tests were drawn, and the seed."""
        if self.counts is not None:
            drawn, total = self.counts
            terminalreporter.write_line(
                f"{drawn:,} of {total:,} tests drawn; --cpu-budget={self.budget:g} --draw={self.seed} draws them "
                "again, make test-all runs every test"
            )


def mean_times(lines: Iterable[str]) -> dict[str, dict[str, float]]:
    """The listed functions of a file that `--cpu-times` wrote, with the mean seconds of their cases."""
    times: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for nodeid, seconds in map(json.loads, lines):
        path, _, name = nodeid.partition("::")
        times[path][name.partition("[")[0]].append(seconds)
    listed = {
        path: {
            name: float(f"{mean:.2g}")
            for name, cases in sorted(functions.items())
            if (mean := sum(cases) / len(cases)) >= LISTED
        }
        for path, functions in sorted(times.items())
    }
    return {path: functions for path, functions in listed.items() if functions}


if __name__ == "__main__":
    COSTS.write_text(json.dumps(mean_times(Path(sys.argv[1]).read_text().splitlines()), indent=0) + "\n")
