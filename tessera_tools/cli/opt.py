"""`tessera-opt`: parse, verify, transform and print IR.

input ─split─▶ chunk ─parse─▶ module ─verify─▶ pass manager ─▶ print ─▶ output
                                   └ errors: file:line:col, source line, caret; exit status 1
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from tessera_tools.cli.common import (
    Result,
    as_process,
    in_process,
    normalize,
    with_deep_stack,
)
from tessera_tools.passes.table import PASSES

__all__ = ["main", "run"]

SPLIT_MARKER = "// -----"

FLAGS = {
    "Werr-hints": "with -Wunsupported-hints, treat these warnings as errors",
    "Wunsupported-hints": "warn about cuda_tile optimization hints that are not supported",
    "allow-unregistered-dialect": "allow operations of dialects that are not registered",
    "dump-pass-pipeline": "print the pass pipeline to stderr before running it",
    "implicit-index-constants": "read an undefined %cN as the index constant N",
    "list-passes": "list all passes with their options and exit",
    "mlir-disable-threading": "accepted for compatibility; passes always run sequentially",
    "mlir-pass-statistics": "print the statistics of each pass",
    "mlir-print-debuginfo": "print locations",
    "mlir-print-ir-after-all": "print the IR after each pass",
    "mlir-print-ir-after-change": "print the IR after a pass only if it changed",
    "mlir-print-ir-after-failure": "print the IR after a pass only if the pass failed",
    "mlir-print-ir-before-all": "print the IR before each pass",
    "mlir-print-ir-module-scope": "print the whole module, not only the operation that the pass ran on",
    "mlir-print-local-scope": "print without aliases",
    "mlir-print-op-generic": "print the generic form",
    "mlir-timing": "print the execution time of each part",
    "no-implicit-module": "use the file's only operation as the top level instead of adding a module",
    "run-reproducer": "run the pipeline stored in the input reproducer",
    "show-dialects": "list the registered dialects and exit",
}
"""Options that are true or false; true without a value."""

VALUES: dict[str, tuple[str, str, str | None]] = {
    # name: (metavar, help, default value if given without one, or None if required)
    "o": ("FILE", "output file; '-' (default) is stdout", None),
    "color": ("WHEN", "when to color diagnostics: auto (on a terminal), always, never", "always"),
    "crash-reproducer": ("FILE", "if a pass fails, write its input and the pipeline to FILE", None),
    "debug-pass": ("NAME:WORD", "skip a pass (off), print the IR around it (dump) or time it (time); comma-separated, NAME may be all", None),  # noqa: E501
    "mlir-pass-statistics-display": ("HOW", "pipeline or list", None),
    "mlir-print-ir-after": ("PASSES", "print the IR after these passes (comma-separated)", None),
    "mlir-print-ir-before": ("PASSES", "print the IR before these passes (comma-separated)", None),
    "mlir-print-ir-tree-dir": ("DIR", "print the IR to a tree of files in DIR", None),
    "mlir-timing-display": ("HOW", "tree or list", None),
    "pass-pipeline": ("TEXT", "the pass pipeline to run, e.g. 'builtin.module(func.func(canonicalize,cse))'", None),
    "remarks": ("FORMAT[:FILE]", "print remarks as text, json or yaml to FILE (default: stderr)", None),
    "split-input-file": ("MARKER", f"process chunks between lines '{SPLIT_MARKER}' (MARKER) separately", SPLIT_MARKER),
    "verify-diagnostics": ("WHICH", "check diagnostics against expected-… comments: all or only-expected", "all"),
    "verify-each": ("BOOL", "verify the IR after each pass (default: true)", "true"),
}  # fmt: skip

ALIASES = {"mlir-pass-pipeline-crash-reproducer": "crash-reproducer"}
"""MLIR's names of options that have a shorter name here."""

CHOICES = {
    "color": ("auto", "always", "never"),
    "mlir-pass-statistics-display": ("pipeline", "list"),
    "mlir-timing-display": ("tree", "list"),
    "verify-diagnostics": ("all", "only-expected"),
}

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


def _command() -> click.Command:
    params: list[click.Parameter] = [
        click.Argument(["input"], required=False, default="-", metavar="[FILE]"),
        click.Option(["--run-pass"], multiple=True, hidden=True),
        click.Option(["--version"], is_flag=True, expose_value=False, help="Show the version and exit."),
    ]
    for name, text in FLAGS.items():
        params.append(click.Option([f"--{name}"], type=click.BOOL, default=False, help=text, metavar=""))
    for name, (value, text, alone) in VALUES.items():
        # An optional value must follow a `=`.
        metavar = value if alone is None else f"[={value}]"
        kind = click.Choice(CHOICES[name]) if name in CHOICES else None
        flag = f"-{name}" if len(name) == 1 else f"--{name}"
        decls = [flag, "output"] if name == "o" else [flag]
        params.append(click.Option(decls, type=kind, metavar=metavar, help=text))
    return _Command(
        "tessera-opt",
        params=params,
        help="Parse, verify, transform and print MLIR. "
        "Reads MLIR text from FILE, or from stdin if FILE is '-' or not given.",
        epilog=EPILOG,
        add_help_option=True,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )


def execute(argv: list[str]) -> int:
    """Run the command; returns the exit status. See `run`."""
    begin = time.perf_counter()
    bare: dict[str, str | None] = dict.fromkeys(FLAGS, "true")
    bare |= {name: value for name, (_, _, value) in VALUES.items()}
    bare |= {"help": "", "h": "", "version": ""}
    for alias, name in ALIASES.items():
        bare[alias] = bare[name]
    arguments = normalize(_without_aliases(argv), bare, PASSES)
    if "--help=" in arguments or "--h=" in arguments:
        arguments = ["--help"]
    if "--version=" in arguments:
        from tessera_tools import __version__

        sys.stdout.write(f"tessera-opt {__version__}\n")
        return 0
    command = _command()
    with command.make_context("tessera-opt", arguments) as context:
        options: dict[str, Any] = context.params
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


def run(argv: Sequence[str], stdin: bytes = b"", cwd: str | None = None) -> Result:
    """Run `tessera-opt` in this process: arguments without the command's name, the bytes of stdin, the folder."""
    return in_process(execute, argv, stdin, cwd)


def main() -> NoReturn:
    """The console script."""
    as_process(execute)


if __name__ == "__main__":
    main()
