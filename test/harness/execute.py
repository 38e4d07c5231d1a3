"""Runs one command line, in this process where its form allows it, else in bash; reports what failed."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from harness.commands import COMMANDS, PROGRAMS, TRACEBACK, Result, invert
from harness.run_file import ROOT
from harness.shell import NeedsShell, Pipeline, Stage, parse_command_line
from oracles import find_tool

LINE_SECONDS = 120
"""Time limit of one RUN line."""

SHOWN_BYTES = 6000
"""How much of a stage's output a failure report shows."""


class LineTimeout(BaseException):
    """A RUN line ran past its limit. Not an Exception, so that no `except Exception` in a command eats it."""


@dataclass
class Outcome:
    """A finished command line. `failed` is the stage that gave the line its status, as typed."""

    status: int
    stdout: bytes = b""
    stderr: bytes = b""
    failed: str = ""
    in_process: bool = True
    stage_stderr: bytes = field(default=b"", repr=False)
    stage_stdin: bytes = field(default=b"", repr=False)


class RunFailure(Exception):
    """A RUN line that failed; its text is the whole report for the reader."""


def run_line(command: str, cwd: Path, mode: str = "auto") -> Outcome:
    """Run `command` in `cwd`. `mode`: `auto` tries in-process first, `shell` always asks bash."""
    if mode != "shell":
        with contextlib.suppress(NeedsShell):
            return run_in_process(command, cwd)
    return run_in_shell(command, cwd)


def run_in_process(command: str, cwd: Path) -> Outcome:
    """Run `command` without bash. Raises NeedsShell, before anything has run, when it cannot."""
    pipelines = parse_command_line(command)
    runners = [[_runner(stage.argv) for stage in pipeline.stages] for pipeline in pipelines]
    total = Outcome(0)
    try:
        with _time_limit(LINE_SECONDS):
            for pipeline, calls in zip(pipelines, runners, strict=True):
                if pipeline.joined_by == ("&&" if total.status else "||"):
                    continue
                done = _run_pipeline(pipeline, calls, cwd)
                done.stdout, done.stderr = total.stdout + done.stdout, total.stderr + done.stderr
                total = done
    except LineTimeout:
        return Outcome(
            124, total.stdout, total.stderr + f"no end within {LINE_SECONDS} s\n".encode(), command
        )
    return total


def _runner(argv: list[str]) -> Callable[[bytes, str], Result]:
    """The call that runs `argv`. Raises NeedsShell for a command that is neither ours nor a known program."""
    name, rest = argv[0], argv[1:]
    if name == "not":
        crash = rest[:1] == ["--crash"]
        rest = rest[1:] if crash else rest
        if not rest:
            raise NeedsShell("`not` without a command")
        inner = _runner(rest)
        return lambda stdin, cwd: invert(inner(stdin, cwd), crash)
    if name in COMMANDS:
        command = COMMANDS[name]
        return lambda stdin, cwd: command(rest, stdin, cwd)
    if name in PROGRAMS:
        path = find_tool(name)
        if path is None:
            raise NeedsShell(f"'{name}' was not found")
        return lambda stdin, cwd: _program(path, argv, stdin, cwd)
    raise NeedsShell(f"'{name}' does not run in-process")


def _program(path: Path, argv: list[str], stdin: bytes, cwd: str) -> Result:
    try:
        done = subprocess.run(
            argv,  # its name as typed: programs begin their messages with it
            executable=path,
            input=stdin,
            capture_output=True,
            cwd=cwd,
            timeout=LINE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LineTimeout from None
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return Result(status, done.stdout, done.stderr)


class _Sink:
    """Where a stage's stream ends: memory, or a file. Like the shell, opens it before the command runs."""

    def __init__(self, path: Path | None = None, append: bool = False) -> None:
        self.path = path
        self.data = bytearray()
        if path is not None:
            path.open("ab" if append else "wb").close()

    def write(self, data: bytes) -> None:
        if self.path is None:
            self.data += data
        elif data:
            with self.path.open("ab") as file:
                file.write(data)


def _run_pipeline(pipeline: Pipeline, calls: list[Callable[[bytes, str], Result]], cwd: Path) -> Outcome:
    outer_err = _Sink()
    feed = b""
    total = Outcome(0)
    for stage, call in zip(pipeline.stages, calls, strict=True):
        pipe = _Sink()
        before = len(outer_err.data)
        try:
            stdin, out, err = _open_streams(stage, feed, pipe, outer_err, cwd)
        except OSError as fault:
            message = f"bash: line 1: {fault.filename}: {fault.strerror}\n"
            stdin = b""
            result, out, err = Result(1, b"", message.encode()), pipe, outer_err
        else:
            result = call(stdin, str(cwd))
        # A process's stderr is unbuffered and its stdout is written at the end: this order when they meet.
        err.write(result.stderr)
        out.write(result.stdout)
        feed = bytes(pipe.data)
        if result.exit_code:
            # pipefail: the last stage that fails gives the status
            stage_err = result.stderr or bytes(outer_err.data[before:])
            total = Outcome(
                result.exit_code,
                failed=shlex.join(stage.argv),
                stage_stderr=stage_err,
                stage_stdin=stdin,
            )
    total.stdout, total.stderr = feed, bytes(outer_err.data)
    return total


def _open_streams(
    stage: Stage, feed: bytes, pipe: _Sink, outer_err: _Sink, cwd: Path
) -> tuple[bytes, _Sink, _Sink]:
    """Apply the stage's redirections from left to right, as the shell does. Raises OSError."""
    stdin, out, err = feed, pipe, outer_err
    for redirection in stage.redirections:
        try:
            match redirection.operator:
                case "<":
                    stdin = (cwd / redirection.target).read_bytes()
                case ">" | ">>":
                    out = _Sink(cwd / redirection.target, redirection.operator == ">>")
                case "2>" | "2>>":
                    err = _Sink(cwd / redirection.target, redirection.operator == "2>>")
                case "&>":
                    out = err = _Sink(cwd / redirection.target)
                case "2>&1":
                    err = out
                case _:
                    out = err
        except OSError as fault:
            raise OSError(fault.errno, fault.strerror, redirection.target) from None
    return stdin, out, err


@contextlib.contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_signal: int, _frame: FrameType | None) -> None:
        raise LineTimeout

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_in_shell(command: str, cwd: Path) -> Outcome:
    """Run `command` in `bash -o pipefail`, with the project's own commands first on PATH."""
    tools = {str(path.parent) for path in map(find_tool, sorted(PROGRAMS)) if path}
    folders = [str(shims(cwd)), os.environ.get("PATH", os.defpath), *sorted(tools)]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(folders),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "test")]),
    }
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=LINE_SECONDS)
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        stderr += f"no end within {LINE_SECONDS} s\n".encode()
        status = 124
    return Outcome(status, stdout, stderr, command if status else "", in_process=False, stage_stderr=stderr)


def shims(folder: Path) -> Path:
    """A folder of small scripts, one for each command of ours, that run it with this Python; made once."""
    target = folder / ".commands"
    if target.is_dir():
        return target
    target.mkdir()
    scripts = {
        "tessera-layout": "-c 'from tessera_tools.cli.layout import main; main()'",
        "tessera-opt": "-c 'from tessera_tools.cli.opt import main; main()'",
        "tessera-run": "-c 'from tessera_tools.cli.run import main; main()'",
        "tessera-tune": "-c 'from tessera_tools.cli.tune import main; main()'",
        "tessera-translate": "-c 'from tessera_tools.cli.translate import main; main()'",
        "filecheck": "-m filecheck",
        "FileCheck": "-m filecheck",
        "not": "-m harness.not_",
    }
    for name, arguments in scripts.items():
        script = target / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return target


def explain(command: str, where: str, outcome: Outcome) -> str:
    """The report on a RUN line that failed, or that succeeded with a traceback on the way."""
    lines = [f"{where}: RUN line ended with status {outcome.status}", f"  $ {command}"]
    if outcome.failed and outcome.failed != command:
        lines.append(f"stage that failed: {outcome.failed}")
    shown = outcome.stage_stderr or outcome.stderr
    if outcome.stderr and TRACEBACK in outcome.stderr:
        lines.append("a traceback reached the user")
        shown = outcome.stderr
    parts = (
        ("its stderr", shown),
        ("its stdin", outcome.stage_stdin),
        ("stdout of the line", outcome.stdout),
    )
    for title, data in parts:
        if data.strip():
            text = data[:SHOWN_BYTES].decode("utf-8", errors="backslashreplace").rstrip()
            lines += [f"{title}:", *(f"  | {line}" for line in text.splitlines())]
            if len(data) > SHOWN_BYTES:
                lines.append(f"  … {len(data) - SHOWN_BYTES} more bytes")
    return "\n".join(lines)
