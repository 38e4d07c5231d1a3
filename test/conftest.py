"""Makes pytest collect `.mlir` and `.test` files: one test a file, named by its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.pytest_plugin import RunFileCollector

pytest_plugins = ["pytester"]

INPUT_FOLDERS = {"inputs", "Inputs"}
"""Folders whose files other tests read: not tests of their own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--run-lines=shell` runs every RUN line in bash, to see whether a failure is the harness's own."""
    parser.addoption("--run-lines", choices=("auto", "shell"), default="auto", help="how RUN lines are run")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a test file, unless it is another test's input."""
    if file_path.suffix not in (".mlir", ".test") or INPUT_FOLDERS & set(file_path.parts):
        return None
    return RunFileCollector.from_parent(parent, path=file_path)
