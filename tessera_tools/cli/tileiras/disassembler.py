"""The command `tileirdisasm` of the drop-in folder: bytecode to text, with the command line of NVIDIA's tool."""

from __future__ import annotations

import sys

from tessera_tools.cli.command_line import entry_points
from tessera_tools.cli.common import with_deep_stack, write_stderr
from tessera_tools.cli.tileiras.arguments import Option, Syntax
from tessera_tools.cli.tileiras.command import (
    BAD_COMMAND,
    NOT_BYTECODE,
    Failure,
    located,
    read_bytes,
    show_mistakes,
    version_text,
)
from tessera_tools.diagnostics import DiagnosticError

__all__ = ["SYNTAX", "main", "run"]

SYNTAX = Syntax(
    "tileirdisasm",
    "tileirdisasm: Tessera tools, with the command line of NVIDIA's tileirdisasm",
    (
        Option(
            "help",
            "Show the options",
            aliases=("h", "help-hidden"),
            group="Generic Options",
            ends=True,
            bare=True,
        ),
        Option(
            "help-list",
            "Show the options",
            aliases=("help-list-hidden",),
            group="Generic Options",
            ends=True,
            bare=True,
        ),
        Option("print-options", "No effect", aliases=("print-all-options",), group="Generic Options"),
        Option("version", "Show the version", group="Generic Options", ends=True, bare=True),
        Option("preview", "Not supported", "feature[,feature...]", features=("simt",), repeated=True),
        Option("print-debug-info", "Print locations", aliases=("g",)),
    ),
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    parsed = SYNTAX.parse(argv)
    show_mistakes("tileirdisasm", parsed)
    if parsed.asked:
        sys.stdout.write(version_text() if parsed.asked == "version" else SYNTAX.help())
        return 0
    if parsed.mistakes:
        return BAD_COMMAND
    given, path = parsed.values, parsed.path
    try:
        if path is None:
            raise Failure(BAD_COMMAND, "no input file provided")
        if "preview" in given:
            raise Failure(BAD_COMMAND, "--preview is not supported: the preview feature 'simt' is missing")
        source = path
        return with_deep_stack(lambda: _print(source, "print-debug-info" in given))
    except Failure as failure:
        write_stderr(failure.text())
        return failure.status


def _print(path: str, debuginfo: bool) -> int:
    from tessera_tools.bytecode import read_bytecode
    from tessera_tools.emit.files import write_output
    from tessera_tools.ir.printing import print_op

    data = read_bytes(path)
    try:
        module = read_bytecode(data, path)
    except DiagnosticError as failure:
        write_stderr("".join(map(located, failure.diagnostics)))
        raise Failure(NOT_BYTECODE, "input does not correspond to Tile IR bytecode") from None
    write_output("-", print_op(module, debuginfo=debuginfo))
    return 0


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
