"""`tessera-play`: serves a page on this machine, to write a program and see what the compiler makes of it."""

from __future__ import annotations

from importlib.util import find_spec

import click

from tessera_tools.cli.command_line import CommandLine, Number, entry_points
from tessera_tools.diagnostics import error

__all__ = ["main", "run"]

VALUES: dict[str, tuple[str, str, str | None]] = {
    "host": (
        "ADDRESS",
        "the address to listen on (default: 127.0.0.1, which only this machine reaches); others can then compile here",
        None,
    ),
    "memory-limit": (
        "MIB",
        "address space of each process of a request, in MiB; libraries take over 1024 (default: 4096)",
        None,
    ),
    "parallel": ("N", "requests that are answered at the same time; others wait (default: 2)", None),
    "port": ("N", "the port to listen on; 0 is any free one (default: 8421)", None),
    "time-limit": ("SECONDS", "time for one request: a compilation and a run (default: 60)", None),
}

KINDS = {
    "memory-limit": click.IntRange(2048, 1 << 30),
    "parallel": click.IntRange(1, 64),
    "port": click.IntRange(0, 65535),
    "time-limit": Number(0.1, 3600),
}

EPILOG = """\
\b
Examples:
  tessera-play --open
  tessera-play examples/gemm.mlir --port=0

\b
docs/play.md explains the page and its limits.
"""

COMMAND_LINE = CommandLine(
    "tessera-play",
    help="Serve a page on this machine: a program on the left; its stages, passes, layouts, resources and a run on the "
    "simulated GPU on the right. FILE is the program that the page begins with. Ctrl-C ends the server.",
    epilog=EPILOG,
    flags={"open": "open the page in the browser"},
    values=VALUES,
    kinds=KINDS,
    first=("open", "port", "host"),
)

_LARGEST = 1 << 20
"""Bytes of a program."""


def execute(argv: list[str]) -> int:
    """Run the command line `argv`; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise error(
                None,
                f"tessera-play needs the package {package}",
                "install it with: pip install 'tessera-tools[play]'",
            )
    from tessera_tools.cli.play_server import Limits, serve

    path = None if options["input"] == "-" else options["input"]
    limits = Limits(
        seconds=60.0 if options["time_limit"] is None else options["time_limit"],
        memory=options["memory_limit"] or 4096,
        parallel=options["parallel"] or 2,
        program=_LARGEST,
    )
    port = 8421 if options["port"] is None else options["port"]
    return serve(options["host"] or "127.0.0.1", port, limits, path, opens=options["open"])


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
