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
    "mlir-print-ir-after-all": "print the IR after each pass",
    "mlir-print-ir-before-all": "print the IR before each pass",
    "mlir-timing": "print the execution time of each part",
}
"""Flags of several commands."""

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
    "debug-pass": (
        "NAME:WORD",
        "skip a pass (off), print the IR around it (dump) or time it (time); comma-separated, NAME may be all",
        None,
    ),
    "mlir-timing-display": ("HOW", "tree or list", None),
    "verify-each": ("BOOL", "verify the IR after each pass (default: true)", "true"),
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
    "mlir-timing-display": ("tree", "list"),
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
    width: int = 110
    """Columns of the help."""
    command: type[click.Command] = click.Command

    def read(self, argv: Sequence[str]) -> dict[str, Any] | None:
        """The value of each option by its name with `_` for `-`; None after `--version`, which is answered."""
        bare: dict[str, str | None] = dict.fromkeys(self.flags, "true") | dict.fromkeys(self.repeated)
        bare |= {name: value for name, (_, _, value) in self.values.items()}
        bare |= {"help": "", "h": "", "version": ""}
        arguments = normalize(argv, bare, self.passes)
        if "--version=" in arguments:
            from tessera_tools import __version__

            sys.stdout.write(f"{self.name} {__version__}\n")
            return None
        if any(help in arguments for help in ("--help=", "--h=", "-h")):
            arguments = ["--help"]
        with self._command().make_context(self.name, arguments) as context:
            return context.params

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
