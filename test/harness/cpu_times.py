"""CPU seconds of each test, its child processes included: they depend little on what else the machine does.

pytest --cpu-times=times.jsonl test/corpus      # a line for each test: ["test/…::test_…", seconds]
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

_TICKS = os.sysconf("SC_CLK_TCK")
_FIRST, _LAST = 11, 15
"""The fields of /proc/PID/stat after the name: user and system time, of the process and of children that ended."""


def seconds_of(pid: int) -> float:
    """CPU seconds of a process and of its children, ended or running. Linux alone tells them; 0 elsewhere."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return 0.0
    children: set[int] = set()
    for task in tasks:
        # A thread may end while its process is looked at.
        with contextlib.suppress(OSError):
            children |= set(map(int, (task / "children").read_text().split()))
    return sum(map(int, fields[_FIRST:_LAST])) / _TICKS + sum(map(seconds_of, children))


class CpuTimes:
    """A pytest plugin that writes each test's CPU seconds to a file; workers of xdist share it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Around setup, test and teardown."""
        before = seconds_of(os.getpid())
        result = yield
        with self.path.open("a") as file:
            file.write(json.dumps([item.nodeid, round(seconds_of(os.getpid()) - before, 2)]) + "\n")
        return result
