"""`--cpu-times`: a test that computes, itself or in a process, has its seconds."""

from __future__ import annotations

import json

import pytest

TESTS = """
import subprocess
import sys
import time

BUSY = "import time\\nwhile time.process_time() < 0.2: pass"

def test_busy():
    begin = time.process_time()
    while time.process_time() < begin + 0.2:
        pass

def test_busy_child():
    subprocess.run([sys.executable, "-c", BUSY])
"""


def test_each_test_has_its_seconds(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "from pathlib import Path\n"
        "from harness.cpu_times import CpuTimes\n"
        "def pytest_configure(config):\n"
        "    config.pluginmanager.register(CpuTimes(Path('times.jsonl').resolve()))\n"
    )
    pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
    lines = (pytester.path / "times.jsonl").read_text().splitlines()
    found = {name.rpartition("::")[2]: seconds for name, seconds in map(json.loads, lines)}
    assert list(found) == ["test_busy", "test_busy_child"]
    assert found["test_busy"] >= 0.15
    assert found["test_busy_child"] >= 0.15
