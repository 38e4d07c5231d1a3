"""`tessera-opt`: parse, verify, transform and print IR.

input ─split─▶ chunk ─parse─▶ module ─verify─▶ pass manager ─▶ print ─▶ output
                                   └ errors: file:line:col, source line, caret; exit status 1
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click

from tessera_tools.cli.command_line import (
    REMARK_OPTIONS,
    SHARED_FLAGS,
    SHARED_KINDS,
    SHARED_VALUES,
    CommandLine,
    entry_points,
    shared,
)
from tessera_tools.cli.common import with_deep_stack
from tessera_tools.passes.table import PASSES

__all__ = ["main", "run"]

SPLIT_MARKER = "// -----"

FLAGS = SHARED_FLAGS | {
    "Werr-hints": "with -Wunsupported-hints, treat these warnings as errors",
    "Wunsupported-hints": "warn about cuda_tile optimization hints that are not supported",
    "dump-pass-pipeline": "print the pass pipeline to stderr before running it",
    "list-passes": "list all passes with their options and exit",
    "mlir-disable-threading": "accepted for compatibility; passes always run sequentially",
    "mlir-pass-statistics": "print the statistics of each pass",
    "mlir-print-debuginfo": "print locations",
    "mlir-print-ir-after-change": "print the IR after a pass only if it changed",
    "mlir-print-ir-after-failure": "print the IR after a pass only if the pass failed",
    "mlir-print-ir-module-scope": "print the whole module, not only the operation that the pass ran on",
    "mlir-print-local-scope": "print without aliases",
    "mlir-print-op-generic": "print the generic form",
    "no-implicit-module": "use the file's only operation as the top level instead of adding a module",
    "run-reproducer": "run the pipeline stored in the input reproducer",
    "show-dialects": "list the registered dialects and exit",
}

VALUES: dict[str, tuple[str, str, str | None]] = {
    **shared(SHARED_VALUES, "o", "color", "debug-pass", "mlir-timing-display", "verify-each"),
    "crash-reproducer": ("FILE", "if a pass fails, write its input and the pipeline to FILE", None),
    "mlir-pass-statistics-display": ("HOW", "pipeline or list", None),
    "mlir-print-ir-after": ("PASSES", "print the IR after these passes (comma-separated)", None),
    "mlir-print-ir-before": ("PASSES", "print the IR before these passes (comma-separated)", None),
    "mlir-print-ir-tree-dir": ("DIR", "print the IR to a tree of files in DIR", None),
    "pass-pipeline": ("TEXT", "the pass pipeline to run, e.g. 'builtin.module(func.func(canonicalize,cse))'", None),
    **REMARK_OPTIONS,
    "split-input-file": ("MARKER", f"process chunks between lines '{SPLIT_MARKER}' (MARKER) separately", SPLIT_MARKER),
    "verify-diagnostics": ("WHICH", "check diagnostics against expected-… comments: all or only-expected", "all"),
}  # fmt: skip

ALIASES = {
    "mlir-pass-pipeline-crash-reproducer": "crash-reproducer",
    "remarks-filter-analyse": "remarks-filter-analysis",
}
"""MLIR's names of options that have a shorter name here."""

EPILOG = """\
\b
Examples:
  tessera-opt kernel.mlir --canonicalize --cse
  tessera-opt kernel.mlir --pass-pipeline='builtin.module(func.func(canonicalize,cse))' -o out.mlir
  tessera-opt kernel.mlir --cse --mlir-print-ir-after-all --mlir-timing
"""


class _Command(click.Command):
    """Adds the passes to the help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        with formatter.section(
            "Passes (run in the order given; pass options as --PASS='name=value name=value')"
        ):
            formatter.write_dl([(f"--{name}", row.summary) for name, row in PASSES.items()])


COMMAND_LINE = CommandLine(
    "tessera-opt",
    help="Parse, verify, transform and print MLIR. "
    "Reads MLIR text from FILE, or from stdin if FILE is '-' or not given.",
    epilog=EPILOG,
    flags=FLAGS,
    values=VALUES,
    kinds=SHARED_KINDS
    | {"mlir-pass-statistics-display": ("pipeline", "list"), "verify-diagnostics": ("all", "only-expected")},
    passes=PASSES,
    command=_Command,
)


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    begin = time.perf_counter()
    options = COMMAND_LINE.read(_without_aliases(argv))
    if options is None:
        return 0
    if options["show_dialects"]:
        from tessera_tools.opdef.documentation import overview
        from tessera_tools.opdef.registry import DIALECT_MODULES

        sys.stdout.write(f"Available Dialects: {','.join(sorted(DIALECT_MODULES))}\n{overview()}")
        return 0
    if options["list_passes"]:
        sys.stdout.write(list_passes())
        return 0
    from tessera_tools.cli.opt_session import Session

    session = Session(options, begin)
    return with_deep_stack(session.run)


def _without_aliases(argv: Sequence[str]) -> list[str]:
    out: list[str] = []
    for argument in argv:
        name, equals, value = argument.lstrip("-").partition("=")
        out.append(
            f"--{ALIASES[name]}{equals}{value}" if argument.startswith("-") and name in ALIASES else argument
        )
    return out


def list_passes() -> str:
    """Every pass with its summary and options, in the layout of `mlir-opt --list-passes`."""
    from tessera_tools.passes.table import find_pass

    lines: list[tuple[str, str]] = []
    for name, row in PASSES.items():
        lines.append((f"  --{name}", f"  {row.summary}"))
        cls = find_pass(name)
        if cls is None:
            continue
        for entry in cls.options():
            shown = entry.write(entry.default)
            choices = f" ({', '.join(entry.choices)})" if entry.choices else ""
            lines.append((f"    --{entry.name}", f"{entry.summary}{choices}; default {shown}"))
    width = max(len(left) for left, _ in lines)
    return "Passes:\n" + "".join(f"{left:<{width}} - {right}\n" for left, right in lines)


run, main = entry_points(execute)


if __name__ == "__main__":
    main()
