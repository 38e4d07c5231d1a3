"""The command line of a command: its options, how they are read, and the help.

argv ──normalize──▶ --NAME=VALUE … ──click──▶ {"gpu_name": "sm_90", …}
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import click

from tessera_tools.cli.common import Command, Result, as_process, in_process, normalize
from tessera_tools.emit.tunables import TUNABLES

SHARED_FLAGS = {
    "allow-unregistered-dialect": "allow operations of dialects that are not registered",
    "implicit-index-constants": "read an undefined %cN as the index constant N",
}
"""Flags of several commands."""

INSPECTION_FLAGS = {
    "dump-pass-pipeline": "print the pass pipeline to stderr before running it",
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
}
"""Flags of the commands that run passes, to see them run (`inspection.py`)."""

INSPECTION_VALUES: dict[str, tuple[str, str, str | None]] = {
    "crash-reproducer": ("FILE", "if a pass fails, write its input and the pipeline to FILE", None),
    "debug-pass": (
        "NAME:WORD",
        "skip a pass (off), print the IR around it (dump) or time it (time); comma-separated, NAME may be all",
        None,
    ),
    "mlir-pass-statistics-display": ("HOW", "pipeline or list", None),
    "mlir-print-ir-after": ("PASSES", "print the IR after these passes (comma-separated)", None),
    "mlir-print-ir-before": ("PASSES", "print the IR before these passes (comma-separated)", None),
    "mlir-print-ir-tree-dir": (
        "DIR",
        "print the IR to a tree of files in DIR; after each pass, if no other option selects passes",
        None,
    ),
    "mlir-timing-display": ("HOW", "tree or list", None),
    "verify-each": ("BOOL", "verify the IR after each pass (default: true)", "true"),
}
"""The same, with a value."""

INSPECTION_KINDS = {
    "mlir-pass-statistics-display": ("pipeline", "list"),
    "mlir-timing-display": ("tree", "list"),
}
"""What their values may be."""

ALIASES = {
    "mlir-pass-pipeline-crash-reproducer": "crash-reproducer",
    "remarks-filter-analyse": "remarks-filter-analysis",
}
"""MLIR's names of options that have a shorter name here."""

SHARED_VALUES: dict[str, tuple[str, str, str | None]] = {
    "o": ("FILE", "output file; '-' (default) is stdout", None),
    "abi": (
        "KIND",
        "tensormap (kernels may take tensor maps after their declared parameters, described by the manifest) or "
        "plain (only the declared parameters; no TMA)",
        None,
    ),
    "cache": ("WHEN", "compile cache: on (default) or off; tessera-cache shows and clears it", None),
    "color": ("WHEN", "when to color diagnostics: auto (on a terminal), always, never", "always"),
}
"""Options with a value of several commands."""

TUNING: dict[str, tuple[str, str, str | None]] = {
    **{one.option: (one.metavar, one.help, None) for one in TUNABLES},
    "tuned": (
        "FILE",
        "compile as tessera-tune found fastest, which FILE records for this kernel and GPU; a warning if it does not",
        None,
    ),
}
"""The options that tessera-tune chooses, and the one that uses its results."""

REMARK_OPTIONS: dict[str, tuple[str, str, str | None]] = {
    "remarks": (
        "FORMAT[:FILE]",
        "print why the compiler decides as it does, as text, json or yaml to FILE (default: stderr)",
        None,
    ),
    "remarks-filter": ("REGEX", "print only remarks whose category, rule or pass matches", None),
    "remarks-filter-passed": ("REGEX", "print remarks of what was done, if they match", None),
    "remarks-filter-missed": ("REGEX", "print remarks of what was not done, if they match", None),
    "remarks-filter-analysis": ("REGEX", "print remarks of facts, if they match", None),
}
"""The options of the compiler for remarks."""

SHARED_KINDS = {
    "abi": ("tensormap", "plain"),
    "cache": ("on", "off"),
    "color": ("auto", "always", "never"),
    **{one.option: one.words for one in TUNABLES},
}
"""What their values may be."""

_LETTERS = {"o": "output", "O": "level"}
"""The names of options of one letter."""


def shared(table: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The entries of one of the tables above."""
    return {name: table[name] for name in names}


@dataclass(frozen=True)
class CommandLine:
    """The options of a command, which takes one input."""

    name: str
    help: str
    epilog: str
    flags: Mapping[str, str]
    """Options that are true or false, with their help; bare they are true."""
    values: Mapping[str, tuple[str, str, str | None]]
    """(metavar, help, default value if given without one, or None if required)."""
    repeated: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """(metavar, help) of options that may be given several times."""
    kinds: Mapping[str, Any] = field(default_factory=dict)
    """What a value may be: words, or a click type."""
    passes: Mapping[str, Any] = field(default_factory=dict)
    """Passes, each an option with their options as its value."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of options, which the help does not show."""
    width: int = 110
    """Columns of the help."""
    command: type[click.Command] = click.Command

    def read(self, argv: Sequence[str]) -> dict[str, Any] | None:
        """The value of each option by its name with `_` for `-`; None after `--version`, which is answered."""
        bare: dict[str, str | None] = dict.fromkeys(self.flags, "true") | dict.fromkeys(self.repeated)
        bare |= {name: value for name, (_, _, value) in self.values.items()}
        bare |= {"help": "", "h": "", "version": ""}
        arguments = normalize(self._without_aliases(argv), bare, self.passes)
        if "--version=" in arguments:
            from tessera_tools import __version__

            sys.stdout.write(f"{self.name} {__version__}\n")
            return None
        if any(help in arguments for help in ("--help=", "--h=", "-h")):
            arguments = ["--help"]
        with self._command().make_context(self.name, arguments) as context:
            return context.params

    def _without_aliases(self, argv: Sequence[str]) -> list[str]:
        out: list[str] = []
        for argument in argv:
            name, equals, value = argument.lstrip("-").partition("=")
            known = self.aliases.get(name) if argument.startswith("-") else None
            out.append(argument if known is None else f"--{known}{equals}{value}")
        return out

    def _command(self) -> click.Command:
        params: list[click.Parameter] = [
            click.Argument(["input"], required=False, default="-", metavar="[FILE]"),
            click.Option(["--run-pass"], multiple=True, hidden=True),
            click.Option(["--version"], is_flag=True, expose_value=False, help="Show the version and exit."),
        ]
        for name, (metavar, text) in self.repeated.items():
            params.append(click.Option([f"--{name}"], multiple=True, metavar=metavar, help=text))
        for name, text in self.flags.items():
            params.append(click.Option([f"--{name}"], type=click.BOOL, default=False, help=text, metavar=""))
        for name, (metavar, text, alone) in self.values.items():
            # An optional value must follow a `=`.
            shown = metavar if alone is None else f"[={metavar}]"
            kind = self.kinds.get(name)
            spelled = [f"-{name}", _LETTERS[name]] if name in _LETTERS else [f"--{name}"]
            params.append(
                click.Option(
                    spelled,
                    type=click.Choice(kind) if isinstance(kind, tuple) else kind,
                    metavar=shown,
                    help=text,
                )
            )
        return self.command(
            self.name,
            params=params,
            help=self.help,
            epilog=self.epilog,
            context_settings={"help_option_names": ["--help", "-h"], "max_content_width": self.width},
        )


def entry_points(execute: Command) -> tuple[Callable[..., Result], Callable[[], NoReturn]]:
    """(`run`, which runs a command in this process: arguments without its name, the bytes of stdin, the folder; `main`,
    the console script)."""

    def run(argv: Sequence[str], stdin: bytes = b"", cwd: str | None = None) -> Result:
        return in_process(execute, argv, stdin, cwd)

    def main() -> NoReturn:
        as_process(execute)

    return run, main
