"""Makes pytest collect `.mlir` and `.test` files: one test a file, named by its path."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from run_cache import make_folder, remove_folder

import harness.one_thread  # noqa: F401
from harness.cpu_budget import CpuBudget, longest_first, seed_of
from harness.cpu_times import CpuTimes
from harness.huge_pages import use_huge_pages
from harness.pytest_plugin import RunFileCollector
from oracles import HINTS, find_tool, require_tool
from tessera_tools.cache import cache_folder
from tessera_tools.emit.worker import preload
from tessera_tools.ir import greedy
from tessera_tools.opdef.dialect import _loaded
from tessera_tools.opdef.registry import DIALECT_MODULES
from tessera_tools.passes.table import PASSES

pytest_plugins = ["pytester"]

# No deadline: how long an example takes says more of the machine than of the code.
hypothesis.settings.register_profile("tessera", deadline=None, print_blob=True)
hypothesis.settings.load_profile("tessera")

ROOT = Path(__file__).resolve().parents[1]

INPUT_FOLDERS = {"inputs", "Inputs"}
"""Folders whose files other tests read: not tests of their own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--run-lines=shell` runs every RUN line in bash, to see whether a failure is the harness's own; `--cpu-times`
    tells what a test costs, and `--cpu-budget` runs a part of the tests that costs so much."""
    parser.addoption("--run-lines", choices=("auto", "shell"), default="auto", help="how RUN lines are run")
    parser.addoption("--cpu-times", type=Path, metavar="FILE", help="write each test's CPU seconds to FILE")
    parser.addoption("--cpu-budget", type=float, metavar="SECONDS", help="draw tests that cost about SECONDS")
    parser.addoption(
        "--draw", type=int, metavar="SEED", help="draw the tests of an earlier run (default: others)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of results that the workers of this run share."""
    # A test looks at a compilation, not at what an earlier one left; the cache's own tests turn it on.
    os.environ["TESSERA_CACHE_LIMIT"] = "0"
    # Commands that tests start in other folders run this tree, too, and not one that PYTHONPATH of the caller names.
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if inherited[:1] != [str(ROOT)]:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *inherited])
    greedy.CHECKS_CLAIMS = True
    # As in the commands (cli/common.py): IR, tests and parse tables stay, and are not looked through again and again.
    gc.set_threshold(1_000_000, 50, 1000)
    if (times := config.getoption("cpu_times")) is not None:
        config.pluginmanager.register(CpuTimes(times.resolve()))
    if (budget := config.getoption("cpu_budget")) is not None:
        config.pluginmanager.register(CpuBudget(budget, seed_of(config)))
    elif config.getoption("draw") is not None:
        raise pytest.UsageError("--draw repeats the draw of a --cpu-budget; give that, too")
    if (folder := make_folder()) is not None:
        config.add_cleanup(lambda: remove_folder(folder))
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
            # Nothing is written beside the sources, but hundreds of processes need not compile them hundreds of times,
            # nor does each run need to rewrite the tests' assertions.
            prefix = os.path.join(cache_folder() or folder, "test-bytecode")
            os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = prefix
            sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with long tests come first."""
    longest_first(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take what is there now, thousands of tests and modules, out of every later search for garbage, and make forks
    cheap. LLVM's workers are forks too, as on the resident server: to start a program takes three times as long."""
    if not session.config.option.collectonly:
        preload()
    gc.collect()
    gc.freeze()
    use_huge_pages()


def pytest_report_header() -> str:
    """Which oracles this machine has."""
    return "oracles: " + ", ".join(f"{name}{'' if find_tool(name) else ' (missing)'}" for name in HINTS)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a test file, unless it is another test's input."""
    if file_path.suffix not in (".mlir", ".test") or INPUT_FOLDERS & set(file_path.parts):
        return None
    return RunFileCollector.from_parent(parent, path=file_path)


@pytest.fixture
def forget_plugins() -> Iterator[None]:
    """A plugin that the test loads is not left for other tests."""
    tables = (PASSES, DIALECT_MODULES, _loaded)
    earlier, path = [dict(table) for table in tables], list(sys.path)
    yield
    for table, before in zip(tables, earlier, strict=True):
        table.clear()
        table.update(before)  # type: ignore[arg-type]
    sys.path[:] = path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright import sync_api

    program = require_tool("chromium")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
