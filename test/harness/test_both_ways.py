"""In-process and in bash, a RUN line gives the same status, the same stdout and the same stderr."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness import BadTestFile, NeedsShell, parse_run_file, run_in_process, run_in_shell, substitute
from oracles import find_tool

TEST_FOLDER = Path(__file__).resolve().parents[1]
SAMPLE = 10
"""How many of the project's own test files are run both ways: bash starts a process a stage."""

FIXED = [
    "cat %s | filecheck %s",
    "cat %s | filecheck %s --check-prefix=OTHER",
    "cat %s | filecheck --check-prefix MISSING %s",
    "filecheck %s < %s",
    "filecheck %s < nowhere",
    "filecheck --input-file %s %s && cat %s",
    "filecheck nowhere < %s",
    "not filecheck --check-prefix=OTHER --input-file %s %s",
    "not filecheck %s --input-file %s",
    "not --crash filecheck %s --input-file %s",
    "cat %s nowhere 2>&1 | sort",
    "cat nowhere 2>&1 > %t || cat %t",
    "cat %s > %t && diff %s %t",
    "grep -c absent %s | cat",
]


def both(command: str, folder: Path) -> None:
    """Run `command` both ways in the same empty folder and compare all that can be observed."""
    seen = []
    for way in (run_in_process, run_in_shell):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        outcome = way(command, folder)
        # A traceback names the frames between, which differ; that one came, and its last line, must agree.
        stderr = outcome.stderr
        if b"Traceback (most recent call last)" in stderr:
            stderr = stderr.rstrip().rsplit(b"\n", 1)[-1]
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".commands" not in path.parts
        }
        seen.append((outcome.status, outcome.stdout, stderr, files))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("line", FIXED)
def test_filecheck_and_redirections(line: str, tmp_path: Path) -> None:
    case = tmp_path / "case.mlir"
    case.write_text("%0 = arith.constant 1 : i32\n// CHECK: arith.constant\n// OTHER: {{^}}absent\n")
    both(substitute(line, case, tmp_path / "run"), tmp_path / "run")


def sample() -> list[tuple[Path, str]]:
    """Evenly spread RUN lines of the project's own test files, those that run in-process here."""
    lines: list[tuple[Path, str]] = []
    for path in sorted(TEST_FOLDER.rglob("*.mlir")):
        try:
            run_file = parse_run_file(path)
        except BadTestFile:
            continue
        text = run_file.runs[0].text
        if "timing" not in text and all(find_tool(name) for name in run_file.requires):
            lines.append((path, text))
    step = max(1, len(lines) // SAMPLE)
    return lines[::step][:SAMPLE]


@pytest.mark.parametrize(("path", "line"), sample(), ids=lambda value: getattr(value, "name", ""))
def test_the_projects_own_lines(path: Path, line: str, tmp_path: Path) -> None:
    command = substitute(line, path, tmp_path / "run")
    try:
        both(command, tmp_path / "run")
    except NeedsShell as reason:
        pytest.skip(f"runs in bash only: {reason}")
