"""Test files as pytest items: `RunFile` → pass, skip, expected failure, or a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.claims import claims_checked
from harness.commands import TRACEBACK
from harness.execute import RunFailure, explain, run_line
from harness.run_file import BadTestFile, RunFile, parse_run_file, substitute
from oracles import find_tool, require_tool


class RunFileCollector(pytest.File):
    """A `.mlir` or `.test` file; a malformed one is a collection error."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield the file's one test."""
        try:
            run_file = parse_run_file(self.path)
        except BadTestFile as fault:
            raise self.CollectError(str(fault)) from None
        item = RunFileItem.from_parent(self, name="RUN", run_file=run_file)
        if _holds(run_file.xfail):
            item.add_marker(pytest.mark.xfail(reason="XFAIL", strict=True))
        yield item


class RunFileItem(pytest.Item):
    """The RUN lines of one file, in order, in a folder of the test's own; the first failure ends it."""

    def __init__(self, *, run_file: RunFile, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_file = run_file

    def runtest(self) -> None:
        """Run the file. Raises RunFailure with the whole report."""
        if _holds(self.run_file.unsupported):
            pytest.skip(f"UNSUPPORTED: {', '.join(self.run_file.unsupported)}")
        for name in self.run_file.requires:
            require_tool(name)
        factory: pytest.TempPathFactory = self.config._tmp_path_factory  # type: ignore[attr-defined]
        folder = factory.mktemp(self.path.stem, numbered=True)
        run_run_file(self.run_file, folder, str(self.config.getoption("run_lines")))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report itself; a traceback through the harness would only hide it."""
        if isinstance(excinfo.value, RunFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands, for pytest's listings."""
        return self.path, self.run_file.runs[0].line - 1, str(self.path.name)


def run_run_file(run_file: RunFile, folder: Path, mode: str = "auto") -> None:
    """Run every line of `run_file` in `folder`. Raises RunFailure at the first that fails."""
    for run in run_file.runs:
        command = substitute(run.text, run_file.path, folder)
        with claims_checked() as false_claims:
            outcome = run_line(command, folder, mode)
        place = f"{run_file.path}:{run.line}"
        if outcome.status or TRACEBACK in outcome.stderr:
            raise RunFailure(explain(command, place, outcome))
        if false_claims:
            raise RunFailure(
                f"{place}: passes changed the IR and said that they did not, or broke it: {false_claims}"
            )


def _holds(names: Iterable[str]) -> bool:
    """True if any of the feature `names` is there; `*` always is."""
    return any(name == "*" or find_tool(name) is not None for name in names)
