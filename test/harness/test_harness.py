"""The harness itself: what must fail fails, and says why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import (
    COMMANDS,
    BadTestFile,
    NeedsShell,
    Result,
    RunFailure,
    parse_command_line,
    parse_run_file,
    run_in_process,
    substitute,
)
from harness.commands import run_isolated
from harness.pytest_plugin import run_run_file


def _upper(argv: list[str], stdin: bytes, cwd: str) -> Result:
    return Result(0, stdin.upper())


def _fail(argv: list[str], stdin: bytes, cwd: str) -> Result:
    return Result(int(argv[0]) if argv else 1, b"out\n", b"err\n")


def _crash(argv: list[str], stdin: bytes, cwd: str) -> Result:
    def body() -> int:
        raise KeyError("lost")

    return run_isolated(body, cwd, stdin)


@pytest.fixture(autouse=True)
def fake_commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, command in {"upper": _upper, "fail": _fail, "crash": _crash}.items():
        monkeypatch.setitem(COMMANDS, name, command)
    yield


def write(folder: Path, text: str) -> Path:
    path = folder / "case.mlir"
    path.write_text(text)
    return path


def run_text(folder: Path, text: str) -> None:
    run_run_file(parse_run_file(write(folder, text)), folder)


def test_a_matching_check_passes(tmp_path: Path) -> None:
    run_text(tmp_path, "// RUN: upper < %s | filecheck %s\nhello\n// CHECK: HELLO\n")


def test_a_failing_check_fails_and_shows_line_stage_and_context(tmp_path: Path) -> None:
    with pytest.raises(RunFailure) as failure:
        run_text(tmp_path, "// RUN: upper < %s | FileCheck %s\nhello\n// CHECK: {{^}}GOODBYE\n")
    report = str(failure.value)
    assert "case.mlir:1: RUN line ended with status 1" in report
    assert "stage that failed: FileCheck" in report
    assert "Couldn't match" in report
    assert "| HELLO" in report


def test_a_file_without_run_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadTestFile, match="no RUN line"):
        parse_run_file(write(tmp_path, "module {}\n"))


def test_an_empty_run_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadTestFile, match="case.mlir:2: empty RUN line"):
        parse_run_file(write(tmp_path, "\n// RUN:\n"))


def test_an_unfinished_continuation_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadTestFile, match="continuation"):
        parse_run_file(write(tmp_path, "// RUN: upper \\\n"))


def test_continued_lines_are_one_command(tmp_path: Path) -> None:
    run_file = parse_run_file(write(tmp_path, "// RUN: upper \\\n// RUN:   | fail\n// RUN: upper\n"))
    assert [run.text for run in run_file.runs] == ["upper | fail", "upper"]
    assert [run.line for run in run_file.runs] == [1, 3]


def test_directives_are_read(tmp_path: Path) -> None:
    text = "// RUN: upper\n// REQUIRES: ptxas, mlir-opt-22\n// XFAIL: *\n// UNSUPPORTED: nvdisasm\n"
    run_file = parse_run_file(write(tmp_path, text))
    assert run_file.requires == ("ptxas", "mlir-opt-22")
    assert run_file.xfail == ("*",)
    assert run_file.unsupported == ("nvdisasm",)


def test_substitutions(tmp_path: Path) -> None:
    path = tmp_path / "case.mlir"
    text = substitute("x %s %S %t %T %% %{root}/y %self", path, tmp_path / "tmp")
    root = Path(__file__).resolve().parents[2]
    assert text == (f"x {path} {tmp_path} {tmp_path}/tmp/case.mlir.tmp {tmp_path}/tmp % {root}/y %self")


def test_a_path_with_a_space_stays_one_word(tmp_path: Path) -> None:
    path = tmp_path / "my file.mlir"
    for template in ("cat %s", 'cat "%s"', "cat '%s'"):
        (pipeline,) = parse_command_line(substitute(template, path, tmp_path))
        assert pipeline.stages[0].argv == ["cat", str(path)]


def test_pipefail_takes_the_last_failing_stage(tmp_path: Path) -> None:
    assert run_in_process("fail 3 | upper", tmp_path).status == 3
    assert run_in_process("fail 3 | fail 4 | upper", tmp_path).status == 4


def test_and_stops_and_or_continues_after_a_failure(tmp_path: Path) -> None:
    assert run_in_process("fail 3 && upper", tmp_path).status == 3
    assert run_in_process("fail 3 || upper", tmp_path).status == 0
    assert run_in_process("upper || fail 3", tmp_path).status == 0


def test_not_of_a_success_fails(tmp_path: Path) -> None:
    assert run_in_process("not upper", tmp_path).status == 1


def test_not_of_a_failure_succeeds(tmp_path: Path) -> None:
    assert run_in_process("not fail", tmp_path).status == 0


def test_not_of_a_crash_fails(tmp_path: Path) -> None:
    assert run_in_process("not crash", tmp_path).status == 1
    assert run_in_process("not fail 139", tmp_path).status == 1


def test_not_crash_wants_a_crash(tmp_path: Path) -> None:
    assert run_in_process("not --crash crash", tmp_path).status == 0
    assert run_in_process("not --crash fail", tmp_path).status == 1


def test_a_traceback_fails_the_line_whatever_its_status(tmp_path: Path) -> None:
    with pytest.raises(RunFailure, match="a traceback reached the user"):
        run_text(tmp_path, "// RUN: not --crash crash\n")


def test_redirections_apply_from_left_to_right(tmp_path: Path) -> None:
    both = run_in_process("fail 2>&1 | upper", tmp_path)
    assert both.stdout == b"ERR\nOUT\n"
    apart = run_in_process("fail 2>&1 > log | upper", tmp_path)
    assert apart.stdout == b"ERR\n"
    assert (tmp_path / "log").read_bytes() == b"out\n"


def test_a_missing_input_fails_like_the_shell(tmp_path: Path) -> None:
    outcome = run_in_process("upper < nowhere", tmp_path)
    assert outcome.status == 1
    assert b"nowhere: No such file or directory" in outcome.stderr


@pytest.mark.parametrize(
    "line",
    ["upper $HOME", "upper *.mlir", "A=1 upper", "upper; fail", "(upper)", "upper 3> f", "upper 'x",
     "upper |", "unknown-command", "upper > /dev/stderr", 'upper "`ls`"', "upper {a,b}"],
)  # fmt: skip
def test_what_only_a_shell_can_do_is_left_to_it(line: str, tmp_path: Path) -> None:
    with pytest.raises(NeedsShell):
        run_in_process(line, tmp_path)


def test_a_command_cannot_change_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import sys

    def body() -> int:
        os.chdir("/")
        os.environ["TESSERA_LEAK"] = "1"
        sys.setrecursionlimit(5000)
        print("seen")
        sys.exit("bye")

    before = os.getcwd(), sys.getrecursionlimit(), sys.stdout
    result = run_isolated(body, str(tmp_path), b"")
    assert (os.getcwd(), sys.getrecursionlimit(), sys.stdout) == before
    assert "TESSERA_LEAK" not in os.environ
    assert result == Result(1, b"seen\n", b"bye\n")


# The plugin list may only stand in the topmost conftest, and pytester's folder is one of its own.
CONFTEST = (
    (Path(__file__).resolve().parents[1] / "conftest.py")
    .read_text()
    .replace('pytest_plugins = ["pytester"]', "")
)


@pytest.fixture(autouse=True)
def python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy of conftest.py puts its own folder there, which is no concern of later tests."""
    monkeypatch.setenv("PYTHONPATH", os.environ["PYTHONPATH"])


def test_files_are_collected_and_judged(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    files = {
        "good": "// RUN: cat %s | filecheck %s\n// CHECK: RUN\n",
        "bad": "// RUN: not cat %s\n",
        "expected": "// RUN: not cat %s\n// XFAIL: *\n",
        "skipped": "// RUN: cat %s\n// UNSUPPORTED: cat\n",
        "norun": "module {}\n",
    }
    for name, text in files.items():
        (pytester.path / f"{name}.mlir").write_text(text)
    (pytester.path / "inputs").mkdir()
    (pytester.path / "inputs" / "data.mlir").write_text("module {}\n")
    result = pytester.runpytest("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, failed=1, xfailed=1, skipped=1, errors=1)
    result.stdout.fnmatch_lines(["*bad.mlir:1: RUN line ended with status 1*"])


def test_a_missing_oracle_skips_locally_and_fails_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(CONFTEST)
    (pytester.path / "case.mlir").write_text("// RUN: cat %s\n// REQUIRES: no-such-oracle\n")
    monkeypatch.delenv("CI", raising=False)
    pytester.runpytest().assert_outcomes(skipped=1)
    monkeypatch.setenv("CI", "true")
    pytester.runpytest().assert_outcomes(failed=1)
