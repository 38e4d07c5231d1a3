"""`tessera-lsp`: serves an editor with the Language Server Protocol, on stdin and stdout."""

from __future__ import annotations

from importlib.util import find_spec

from tessera_tools.cli.command_line import CommandLine, Number, entry_points
from tessera_tools.diagnostics import error

__all__ = ["main", "run"]

VALUES: dict[str, tuple[str, str, str | None]] = {
    "memory-limit": (
        "MIB",
        "memory of the process that reads programs, in MiB; 0 is no limit (default: 8192)",
        None,
    ),
    "time-limit": ("SECONDS", "time for one analysis and for one question (default: 10)", None),
}

KINDS = {
    "memory-limit": Number(0, 1 << 30),
    "time-limit": Number(0.1, 3600),
}

EPILOG = """\
\b
An editor starts the command. docs/editors.md has the settings for VS Code, Neovim and Emacs.

\b
Settings (initializationOptions, or workspace/didChangeConfiguration under "tessera"):
  gpu               the GPU of layouts and later stages (default: sm_90a)
  inlayHints.types  show the types of values, where the line does not have them (default: true)
  inlayHints.facts  show divisors and bounds of integers (default: true)
  python.execute    execute Python files, to compile their kernels (default: false)
"""

COMMAND_LINE = CommandLine(
    "tessera-lsp",
    help="Serve an editor: errors while you type, hover, completion, navigation, rename and stages of MLIR files. "
    "It speaks the Language Server Protocol on stdin and stdout.",
    epilog=EPILOG,
    flags={"stdio": "accepted for clients that pass it; the protocol always uses stdin and stdout"},
    values=VALUES,
    kinds=KINDS,
    takes_input=False,
)


def execute(argv: list[str]) -> int:
    """Run the command line `argv`; returns the exit status."""
    options = COMMAND_LINE.read(argv)
    if options is None:
        return 0
    if find_spec("pygls") is None:
        raise error(
            None, "tessera-lsp needs the package pygls", "install it with: pip install 'tessera-tools[lsp]'"
        )
    from tessera_tools.cli.lsp_server import Limits, serve

    seconds, memory = options["time_limit"], options["memory_limit"]
    serve(Limits(10.0 if seconds is None else seconds, 8192 if memory is None else int(memory)))
    return 0


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
