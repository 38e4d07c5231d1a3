"""Files that cannot be read or written: refused, and what was there before stays whole."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest
from refusal import refused, run

from harness.execute import shims

GOOD = "func.func @f() {\n  func.return\n}\n"
COMMANDS_ARGV = [("tessera-opt",), ("tessera-translate", "--mlir-to-llvmir")]


@pytest.mark.parametrize("command", COMMANDS_ARGV, ids=lambda command: command[0])
def test_a_missing_input(command: tuple[str, ...], tmp_path: Path) -> None:
    refused(run(*command, "nowhere.mlir", cwd=tmp_path), "nowhere.mlir", positioned=False)


@pytest.mark.parametrize("command", COMMANDS_ARGV, ids=lambda command: command[0])
def test_a_directory_as_input(command: tuple[str, ...], tmp_path: Path) -> None:
    refused(run(*command, str(tmp_path), cwd=tmp_path), "directory", positioned=False)


@pytest.mark.parametrize("target", ["nowhere/out.mlir", "."])
@pytest.mark.parametrize("command", COMMANDS_ARGV, ids=lambda command: command[0])
def test_an_unwritable_output(command: tuple[str, ...], target: str, tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(GOOD)
    result = run(*command, "good.mlir", "-o", target, cwd=tmp_path)
    refused(result, "nowhere|directory", positioned=False)
    assert [path.name for path in tmp_path.iterdir()] == ["good.mlir"]


@pytest.mark.parametrize("command", COMMANDS_ARGV, ids=lambda command: command[0])
def test_a_failed_run_leaves_the_old_output(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("func.func @f() {\n  arith.nothing\n}\n")
    (tmp_path / "out.mlir").write_text("kept")
    refused(run(*command, "bad.mlir", "-o", "out.mlir", cwd=tmp_path), "bad.mlir:2")
    assert (tmp_path / "out.mlir").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.mlir", "out.mlir"]


def _process(argv: list[str], cwd: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = argv if argv[0] == "bash" else [str(shims(cwd) / argv[0]), *argv[1:]]
    root = Path(__file__).resolve().parents[2]
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    # Under a limit of file sizes Python would leave cut .pyc files in the checkout, for every later run to fail on.
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(command, cwd=cwd, env=environment, stderr=subprocess.PIPE, timeout=120, **options)  # type: ignore[call-overload]


def _large(folder: Path) -> None:
    """A file whose output is past any stream buffer."""
    lines = "\n".join(f"func.func private @function_{i}()" for i in range(3000))
    (folder / "large.mlir").write_text(lines + "\n")


def test_a_full_disk_behind_stdout(tmp_path: Path) -> None:
    _large(tmp_path)
    with Path("/dev/full").open("wb") as full:
        done = _process(["tessera-opt", "large.mlir"], tmp_path, stdout=full)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"error: " in done.stderr
    assert b"no space left" in done.stderr


def test_a_disk_that_fills_while_the_output_is_written(tmp_path: Path) -> None:
    _large(tmp_path)
    (tmp_path / "out.mlir").write_text("kept")

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = _process(["tessera-opt", "large.mlir", "-o", "out.mlir"], tmp_path, preexec_fn=small_files)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"error: " in done.stderr
    assert (tmp_path / "out.mlir").read_text() == "kept"
    assert not [
        path
        for path in tmp_path.iterdir()
        if path.name not in (".commands", ".cache", "large.mlir", "out.mlir")
    ]


def test_a_reader_that_leaves_early(tmp_path: Path) -> None:
    _large(tmp_path)
    shims(tmp_path)
    line = "PATH=$PWD/.commands:$PATH; tessera-opt large.mlir | true"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        stderr=subprocess.PIPE,
        timeout=120,
    )
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("argv", [["--no-such-pass"], ["--pass-pipeline=builtin.module("], ["--cse=x=1"]])
def test_a_wrong_option_is_refused_in_one_line(argv: list[str], tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(GOOD)
    result = run("tessera-opt", *argv, "good.mlir", cwd=tmp_path)
    assert result.exit_code == 1
    assert b"rror" in result.stderr


def test_bytecode_that_is_not_bytecode(tmp_path: Path) -> None:
    (tmp_path / "x.tileirbc").write_bytes(b"\x7fTileIR\x00" + bytes(64))
    result = run("tessera-opt", "x.tileirbc", cwd=tmp_path)
    refused(result, "x.tileirbc", positioned=False)


def test_standard_streams_that_the_caller_closed(tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(GOOD)
    for line, status, says in (
        ("good.mlir >&-", 1, b"<stdout>"),
        ("<&-", 1, b"<stdin>"),
        ("good.mlir 2>&-", 0, b""),
        ("good.mlir -o out <&- >&- 2>&-", 0, b""),
    ):
        done = _process(["bash", "-c", f"{shims(tmp_path)}/tessera-opt {line}"], tmp_path)
        assert done.returncode == status, (line, done.stderr)
        assert done.stderr.count(b"\n") == (1 if says else 0), done.stderr
        assert says in done.stderr
    assert (tmp_path / "out").stat().st_size


def test_stdout_by_its_name_is_written_though_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "good.mlir").write_text(GOOD)
    done = _process(["tessera-opt", "good.mlir", "-o", "/dev/stdout"], tmp_path, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert done.stdout
