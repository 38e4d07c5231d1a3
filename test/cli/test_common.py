"""What the commands share."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from tessera_tools.cli import common
from tessera_tools.cli.common import in_process, normalize, read_input, use_color, with_deep_stack
from tessera_tools.diagnostics import DiagnosticError

VALUES = {"o": None, "O": None, "flag": "true", "text": None, "marker": "// -----"}


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--flag"], ["--flag=true"]),
        (["-flag"], ["--flag=true"]),
        (["--flag=false"], ["--flag=false"]),
        (["--text", "--cse"], ["--text=--cse"]),
        (["--marker", "file"], ["--marker=// -----", "file"]),
        (["-o", "file"], ["-o", "file"]),
        (["-ofile"], ["-o", "file"]),
        (["-O3"], ["-O", "3"]),
        (["-"], ["-"]),
        (["--cse", "file"], ["--run-pass=cse", "file"]),
        (["--cse=a=1 b=2"], ["--run-pass=cse=a=1 b=2"]),
        (["--", "--cse"], ["--", "--cse"]),
        (["input", "--marker", "text"], ["input", "--marker=text"]),
        (["--marker", "text", "input"], ["--marker=text", "input"]),
        (["input", "--marker=text", "other"], ["input", "--marker=text", "other"]),
        (["input", "--flag", "other"], ["input", "--flag=true", "other"]),
    ],
)
def test_arguments_are_brought_into_clicks_form(argv: list[str], expected: list[str]) -> None:
    assert normalize(argv, VALUES, {"cse": None}) == expected


@pytest.mark.parametrize("argv", [["--txt"], ["-x"], ["---flag"], ["--text"]])
def test_unknown_and_incomplete_options_are_refused(argv: list[str]) -> None:
    with pytest.raises(click.UsageError):
        normalize(argv, VALUES, {})


def test_an_option_of_a_pass_given_as_a_flag_gets_a_hint() -> None:
    with pytest.raises(click.UsageError, match="a pass option: --canonicalize='max-iterations=…'"):
        normalize(["--max-iterations=4"], VALUES, dict.fromkeys(("cse", "canonicalize")))


def test_deep_recursion_gets_a_larger_stack() -> None:
    def down(depth: int) -> int:
        return depth if depth == 0 else down(depth - 1)

    before = sys.getrecursionlimit()
    assert with_deep_stack(lambda: down(20_000)) == 0
    assert sys.getrecursionlimit() == before


def test_endless_recursion_ends_as_an_error() -> None:
    def down() -> int:
        return down()

    with pytest.raises(RecursionError):
        with_deep_stack(down)


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (MemoryError(), "error: out of memory"),
        (RecursionError(), "error: the input is nested too deeply"),
        (FileNotFoundError(2, "No such file", "x"), "error: 'x': no such file"),
        (KeyError("lost"), "error: internal fault while running the command: KeyError: 'lost'"),
    ],
)
def test_no_exception_reaches_the_user(
    failure: Exception, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TESSERA_DEBUG", raising=False)

    def command(argv: list[str]) -> int:
        raise failure

    result = in_process(command, [])
    assert result.exit_code == 1
    assert result.stderr.decode().startswith(says)
    assert result.stderr.count(b"\n") == 1


def test_color_is_for_terminals() -> None:
    assert not use_color("auto")
    assert use_color("always")
    assert not use_color("never")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("none.mlir", "no such file or directory"), (".", "is a directory"), ("a\0b", "embedded null byte")],
)
def test_an_input_that_cannot_be_opened_is_an_error(
    path: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError) as failure:
        read_input(path)
    assert failure.value.diagnostics[0].message == f"cannot open input file '{path}': {reason}"


def test_the_largest_input_is_read_and_a_larger_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "LARGEST_INPUT", 1 << 20)
    file = tmp_path / "large.mlir"
    file.write_bytes(b"x" * (1 << 20))
    assert read_input(str(file)) == (str(file), b"x" * (1 << 20))
    file.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(DiagnosticError, match="is too large; at most 1 MiB are supported"):
        read_input(str(file))
