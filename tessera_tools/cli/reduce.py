"""`tessera-reduce`: the smallest input that still fails.

FILE ──parse──▶ module ──reduce/: delta debugging──▶ candidate ──the test──▶ smaller input, written whole
         └ PTX, and text that does not parse: by lines, statements and words
"""

from __future__ import annotations

import click

from tessera_tools.cli.command_line import (
    SHARED_KINDS,
    SHARED_VALUES,
    CommandLine,
    Number,
    entry_points,
    shared,
)
from tessera_tools.cli.common import with_deep_stack

__all__ = ["FLAGS", "REPEATED", "VALUES", "main", "run"]

FAILURES = {
    "crash": "an internal fault, a signal, or a time limit",
    "error": "the same error message",
    "warning": "the same warning, such as one of ptxas",
    "finding": "the same finding of the simulated GPU",
    "wrong-result": "results that differ from those of --reference",
}
"""What --fails may be → what a candidate must have in common with the input."""

FLAGS = {
    "keep-unverified": "also test modules that the verifier rejects",
    "text": "reduce the input as text, by lines and words, even if it is IR",
}

REPEATED = {
    "test-arg": ("ARG", "an argument of the script of --test, before the name of the file"),
}

VALUES: dict[str, tuple[str, str, str | None]] = {
    **shared(SHARED_VALUES, "o", "color"),
    "fails": ("KIND", f"how COMMAND fails: {', '.join(FAILURES)}; by default, as the input shows", None),
    "max-tests": ("N", "stop after N tests (default: 5000)", None),
    "message": ("REGEX", "with --fails=error or warning: the message that must appear", None),
    "reference": (
        "COMMAND",
        "with --fails=wrong-result: the program that gives the right result; it receives the arguments of tessera-run "
        "(default: tessera-run without agents and tensor maps, for sm_80)",
        None,
    ),
    "test": (
        "SCRIPT",
        "the test: a program that is called with the name of a file, and returns 0 if the file is interesting",
        None,
    ),
    "test-timeout": ("SECONDS", "time limit of one test (default: 60)", None),
    "time-limit": ("SECONDS", "stop after this time (default: 3600)", None),
    "tolerance": ("X", "with --fails=wrong-result: how far floats may be apart, as a share of the greatest magnitude "
                  "in the buffer (default: 0.01)", None),
}  # fmt: skip

KINDS = SHARED_KINDS | {
    "fails": tuple(FAILURES),
    "max-tests": click.IntRange(1, 1_000_000),
    "test-timeout": Number(0, 1e6, min_open=True),
    "time-limit": Number(0, 1e6, min_open=True),
    "tolerance": Number(0, 1e9),
}

EPILOG = """\
\b
COMMAND is the command that fails, without its input; a `%s` in it is replaced by the name of the candidate,
otherwise the name is its last argument.

\b
Examples:
  tessera-reduce kernel.mlir -o small.mlir -- tessera-translate --mlir-to-ptx --gpu-name=sm_90a
  tessera-reduce kernel.mlir -o small.mlir --fails=finding -- tessera-run --arg a=rand:f32:64 --arg b=zeros:f32:64
  tessera-reduce kernel.ptx -o small.ptx --test=./still-fails.sh
"""

COMMAND_LINE = CommandLine(
    "tessera-reduce",
    help="Find the smallest input that still fails. FILE is MLIR text, cuda_tile bytecode, PTX or any other text. "
    "It fails as COMMAND shows, or as the script of --test decides.",
    epilog=EPILOG,
    flags=FLAGS,
    values=VALUES,
    repeated=REPEATED,
    kinds=KINDS,
    rest="-- COMMAND…",
    first=("o", "fails", "test", "message", "reference", "max-tests", "time-limit"),
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    from tessera_tools.cli.reduce_session import Session

    return with_deep_stack(Session(options).run)


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
