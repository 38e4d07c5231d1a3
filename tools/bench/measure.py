"""Common parts of the benchmarks: alternating timed processes, their peak memory, and the final table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300
_WIDTH = 200
"""Columns of a table that is not printed on a terminal: what is cut off is lost."""


@dataclass(frozen=True)
class Sample:
    """One run of a process: wall time in seconds, peak resident memory in MiB, and its stderr."""

    seconds: float
    peak_mib: float
    stderr: str


def tessera(name: str) -> list[str]:
    """The command line of `tessera-opt` or `tessera-translate`, as installed with this Python."""
    installed = Path(sys.executable).parent / name
    if installed.exists():
        return [str(installed)]
    module = name.removeprefix("tessera-")
    return [sys.executable, "-c", f"from tessera_tools.cli.{module} import main; main()"]


def find(option: str | None, name: str) -> str | None:
    """A peer's program: the option's path, else PATH; None when there is none."""
    return option or shutil.which(name)


def sample(command: Sequence[str]) -> Sample:
    """Run `command` once. Raises SystemExit with its words when it fails."""
    # Compilations are measured, not the compile cache.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TESSERA_CACHE_LIMIT": "0"}
    # An installed package has its modules compiled; without this the time is that of compiling 300 of them.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as words:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=words, env=environment
        )
        # wait4 returns this child's own peak; RUSAGE_CHILDREN would return the largest of all so far.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(0)
        text = words.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}\n{text}")
    return Sample(seconds, usage.ru_maxrss / 1024, text)


def best(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, Sample]:
    """The fastest of `runs` samples of each command, taken in turn, so that all see the same machine.

    One run before them warms the caches and is not counted.
    """
    for command in commands.values():
        sample(command)
    taken: dict[str, list[Sample]] = {name: [] for name in commands}
    for number in range(runs):
        for name, command in commands.items():
            if sys.stderr.isatty():
                print(f"\r{name}: run {number + 1} of {runs}\033[K", end="", file=sys.stderr, flush=True)
            taken[name].append(sample(command))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return {name: min(samples, key=lambda one: one.seconds) for name, samples in taken.items()}


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, numbers to the right."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        grid.add_column(column, justify="right" if number else "left")
    for row in rows:
        grid.add_row(*row)
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(grid)
