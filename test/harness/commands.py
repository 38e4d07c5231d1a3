"""The commands that run without a process: argv and stdin in, exit status, stdout and stderr out.

`COMMANDS` is a table, so that a test may register a command of its own. Whatever a command does to the
interpreter (streams, folder, environment, recursion limit) is undone when it ends, as a process's end would.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

TRACEBACK = b"Traceback (most recent call last)"
CRASH = 128
"""From this exit status up, a process was ended by a signal."""


@dataclass(frozen=True)
class Result:
    """What can be observed of a finished command."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


Command = Callable[[list[str], bytes, str], Result]
"""A command takes its arguments without its own name, stdin, and the folder it runs in."""


def crashed(result: Result) -> bool:
    """True if the command ended by a signal or by a Python traceback: never an orderly refusal."""
    return result.exit_code >= CRASH or result.exit_code < 0 or TRACEBACK in result.stderr


def invert(result: Result, crash: bool) -> Result:
    """LLVM's `not` (with `crash`, `not --crash`): failure becomes success, a crash only under `--crash`."""
    succeeds = crashed(result) if crash else result.exit_code != 0 and not crashed(result)
    return Result(0 if succeeds else 1, result.stdout, result.stderr)


@contextlib.contextmanager
def isolated(cwd: str, stdin: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Run the body as if it were a process in `cwd`; yields what it writes to stdout and stderr."""
    out, err = io.BytesIO(), io.BytesIO()
    streams = sys.stdin, sys.stdout, sys.stderr
    argv, folder, environment = list(sys.argv), os.getcwd(), dict(os.environ)
    depth, mask = sys.getrecursionlimit(), os.umask(0)
    os.umask(mask)
    os.chdir(cwd)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", write_through=True, errors="backslashreplace")
    ours = sys.stdin, sys.stdout, sys.stderr
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for stream in ours:
            with contextlib.suppress(ValueError):
                stream.detach()  # else the wrapper closes the buffer that is still to be read
        sys.argv[:] = argv
        os.chdir(folder)
        os.umask(mask)
        sys.setrecursionlimit(depth)
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)


def run_isolated(body: Callable[[], int], cwd: str, stdin: bytes) -> Result:
    """Call `body` as a process would run it: SystemExit is its status, any other exception 1."""
    with isolated(cwd, stdin) as (out, err):
        try:
            status = body()
        except SystemExit as exit_:
            status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
            if isinstance(exit_.code, str):
                print(exit_.code, file=sys.stderr)
        except Exception:
            traceback.print_exc()
            status = 1
    return Result(status, out.getvalue(), err.getvalue())


def _tessera(module: str) -> Command:
    def command(argv: list[str], stdin: bytes, cwd: str) -> Result:
        import importlib

        inner: list[Result] = []

        def body() -> int:
            done = importlib.import_module(f"tessera_tools.cli.{module}").run(argv, stdin=stdin, cwd=cwd)
            inner.append(Result(done.exit_code, done.stdout, done.stderr))
            return done.exit_code

        outer = run_isolated(body, cwd, stdin)
        # `run` returns its streams; what a library printed past them shows in the outer ones.
        stdout, stderr = (inner[0].stdout, inner[0].stderr) if inner else (b"", b"")
        return Result(outer.exit_code, stdout + outer.stdout, stderr + outer.stderr)

    return command


def _filecheck(argv: list[str], stdin: bytes, cwd: str) -> Result:
    from filecheck import colors
    from filecheck.main import main

    colors.COLOR_SUPPORT = False  # decided at import from pytest's terminal, wrong for a pipe

    def body() -> int:
        main(["filecheck", *argv])
        return 0

    return run_isolated(body, cwd, stdin)


COMMANDS: dict[str, Command] = {
    "tessera-layout": _tessera("layout"),
    "tessera-opt": _tessera("opt"),
    "tessera-run": _tessera("run"),
    "tessera-tune": _tessera("tune"),
    "tessera-translate": _tessera("translate"),
    "filecheck": _filecheck,
    "FileCheck": _filecheck,
}
"""Commands that run in this process, by name."""

PROGRAMS = frozenset(
    {"mlir-opt-22", "mlir-translate-22", "ptxas", "nvdisasm"}
    | {"cat", "cmp", "diff", "grep", "ls", "mkdir", "rm", "sed", "sort", "test", "wc"}
)
"""Programs that a pipeline may start directly, without bash between: none of them leaves a pipe unread."""
