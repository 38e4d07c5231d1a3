"""The command line of a command: its options, how they are read, and the help.

argv ──normalize──▶ --NAME=VALUE … ──click──▶ {"gpu_name": "sm_90", …}

click is loaded only for what it has to check or show: its import takes a fifth of a run that the compile cache answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from tessera_tools.cli.common import Command, Result, as_process, in_process, normalize
from tessera_tools.emit.tunables import TUNABLES
from tessera_tools.records import dataclass, field

if TYPE_CHECKING:
    import click


@dataclass(frozen=True)
class Number:
    """The numbers between two bounds."""

    low: float
    high: float | None = None
    min_open: bool = False
    """The lower bound is excluded."""

    def click_type(self) -> click.ParamType:
        """The type for click, which accepts `nan` in every range; this one does not."""
        import click

        class Range(click.FloatRange):
            name = "number"

            def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
                number = super().convert(value, param, ctx)
                if number != number:
                    self.fail(f"{value!r} is not a valid {self.name}", param, ctx)
                return number

        return Range(self.low, self.high, min_open=self.min_open)


@dataclass(frozen=True)
class Integer:
    """The integers from a bound on."""

    low: int

    def click_type(self) -> click.ParamType:
        """The type for click."""
        import click

        return click.IntRange(self.low)


SHARED_FLAGS = {
    "allow-unregistered-dialect": "allow operations of dialects that are not registered",
    "implicit-index-constants": "read an undefined %cN as the index constant N",
}
"""Flags of several commands."""

INSPECTION_FLAGS = {
    "dump-pass-pipeline": "print the pass pipeline to stderr before running it",
    "mlir-disable-threading": "accepted for compatibility; passes always run sequentially",
    "mlir-pass-pipeline-local-reproducer": "reproducers begin before the failing pass, and run only this pass",
    "mlir-pass-statistics": "print the statistics of each pass",
    "mlir-pretty-debuginfo": "print locations as file:line:column (cannot be parsed again)",
    "mlir-print-debug-counter": "print the counters of --mlir-debug-counter at the end",
    "mlir-print-debuginfo": "print locations",
    "mlir-print-ir-after-all": "print the IR after each pass",
    "mlir-print-ir-after-change": "print the IR after a pass only if it changed",
    "mlir-print-ir-after-failure": "print the IR after a pass only if the pass failed",
    "mlir-print-ir-before-all": "print the IR before each pass",
    "mlir-print-ir-diff": "print only the lines that each pass changed, as diff -u does",
    "mlir-print-ir-module-scope": "print the whole module, not only the operation that the pass ran on",
    "mlir-print-local-scope": "print without aliases",
    "mlir-print-op-generic": "print the generic form",
    "mlir-print-op-on-diagnostic": "add the operation, in generic form, to each error at an operation",
    "mlir-print-skip-regions": "print `{...}` in place of regions (cannot be parsed again)",
    "mlir-print-unique-ssa-ids": "number values uniquely in the whole output",
    "mlir-print-value-users": "print the users of each value as a comment",
    "mlir-use-nameloc-as-prefix": "name values by their locations, where these are names",
    "mlir-timing": "print the execution time of each part",
}
"""Flags of the commands that run passes, to see them run (`inspection.py`)."""

INSPECTION_VALUES: dict[str, tuple[str, str, str | None]] = {
    "crash-reproducer": ("FILE", "if a pass fails, write its input and the pipeline to FILE", None),
    "debug-only": (
        "KINDS",
        "log each action of these kinds to stderr (comma-separated): greedy-rewriter, pass-manager, or a pass, for "
        "what is logged while it runs",
        None,
    ),
    "debug-pass": (
        "NAME:WORD",
        "skip a pass (off), print the IR around it (dump) or time it (time); comma-separated, NAME may be all",
        None,
    ),
    "mlir-debug-counter": (
        "TAG-skip=N",
        "execute only some actions: skip N, and execute the next (TAG-count=N); comma-separated. TAG is "
        "pass-execution, apply-pattern or fold",
        None,
    ),
    "mlir-elide-elementsattrs-if-larger": ("N", "print `__elided__` for more than N elements", None),
    "mlir-elide-resource-strings-if-larger": ("N", "leave out resources of more than N characters", None),
    "mlir-generate-reproducer": (
        "FILE",
        "write the input and the pipeline to FILE, before the passes run",
        None,
    ),
    "mlir-output-format": ("HOW", "text or json: the form of the report of --mlir-timing", None),
    "mlir-pass-statistics-display": ("HOW", "pipeline or list", None),
    "mlir-print-ir-after": ("PASSES", "print the IR after these passes (comma-separated)", None),
    "mlir-print-ir-before": ("PASSES", "print the IR before these passes (comma-separated)", None),
    "mlir-print-ir-tree-dir": (
        "DIR",
        "print the IR to a tree of files in DIR; after each pass, if no other option selects passes",
        None,
    ),
    "mlir-timing-display": ("HOW", "tree or list", None),
    "verify-each": (
        "BOOL",
        "verify the IR after each pass (default: true; tessera-translate: where stages end)",
        "true",
    ),
}
"""The same, with a value."""

INSPECTION_KINDS = {
    "mlir-elide-elementsattrs-if-larger": Integer(0),
    "mlir-elide-resource-strings-if-larger": Integer(0),
    "mlir-output-format": ("text", "json"),
    "mlir-pass-statistics-display": ("pipeline", "list"),
    "mlir-timing-display": ("tree", "list"),
}
"""What their values may be."""

INSPECTION_REPEATED = {
    "load-pass-plugin": (
        "NAME",
        "load dialects and passes of another package: an entry point, a file, or MODULE:VARIABLE",
    ),
}
"""The same, given any number of times."""

ALIASES = {
    "load-dialect-plugin": "load-pass-plugin",
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
    "report": (
        "FILE",
        "write a page (HTML) with all stages side by side, the passes, layouts, shared memory, schedule and resources",
        None,
    ),
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
    "remarks-filter-failed": ("REGEX", "print remarks of what was tried in vain, if they match", None),
    "remarks-filter-analysis": ("REGEX", "print remarks of facts, if they match", None),
}
"""The options of the compiler for remarks."""

GROUPS: dict[str, tuple[str, ...]] = {
    "Target and tuning": ("gpu-name", "abi", *(one.option for one in TUNABLES), "tuned", "shapes"),
    "Printing": (
        "mlir-print-op-generic", "mlir-print-debuginfo", "mlir-pretty-debuginfo", "mlir-print-local-scope",
        "mlir-print-value-users", "mlir-print-unique-ssa-ids", "mlir-use-nameloc-as-prefix", "mlir-print-skip-regions",
        "mlir-elide-elementsattrs-if-larger", "mlir-elide-resource-strings-if-larger", "emit-bytecode",
        "emit-bytecode-version", "elide-resource-data-from-bytecode", "f",
    ),
    "Dumps of passes": (
        "dump-pass-pipeline", "mlir-print-ir-before", "mlir-print-ir-after", "mlir-print-ir-before-all",
        "mlir-print-ir-after-all", "mlir-print-ir-after-change", "mlir-print-ir-after-failure",
        "mlir-print-ir-diff", "mlir-print-ir-module-scope", "mlir-print-ir-tree-dir", "debug-pass", "debug-only",
    ),
    "Times and statistics": (
        "mlir-timing", "mlir-timing-display", "mlir-output-format", "mlir-pass-statistics",
        "mlir-pass-statistics-display",
    ),
    "Failures": (
        "verify-each", "crash-reproducer", "mlir-pass-pipeline-local-reproducer", "mlir-generate-reproducer",
        "run-reproducer", "mlir-debug-counter", "mlir-print-debug-counter", "mlir-print-op-on-diagnostic",
        "verify-diagnostics", "verify-roundtrip",
    ),
    "Remarks": tuple(REMARK_OPTIONS),
    "Pictures": ("report", "show-layout", "view-op-graph", "timing-svg", "timing-trace"),
}  # fmt: skip
"""The sections of the help, with their options; a command has some of them."""

SHARED_KINDS = {
    "abi": ("tensormap", "plain"),
    "cache": ("on", "off"),
    "color": ("auto", "always", "never"),
    **{one.option: one.words for one in TUNABLES},
}
"""What their values may be."""

_LETTERS = {"o": "output", "O": "level", "f": "f"}
"""The names of options of one letter."""


T = TypeVar("T")


def shared(table: Mapping[str, T], *names: str) -> dict[str, T]:
    """The entries of one of the tables above."""
    return {name: table[name] for name in names}


OptionValues: TypeAlias = dict[str, Any]
"""The options of a command by name, with `_` for `-`: whether a flag is given; the text of a value, or what its kind
makes of it, or None if it is not given; all texts of an option that may be repeated."""


@dataclass(frozen=True)
class CommandLine:
    """The options of a command, which usually takes one input."""

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
    rest: str = ""
    """How the help shows the arguments after the input, which end the options with `--`; empty if there are none."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of options, which the help does not show."""
    width: int = 110
    """Columns of the help."""
    takes_input: bool = True
    actions: Mapping[str, str] = field(default_factory=dict)
    """Words of which one may be given instead of an input, with their help. The first is the default."""
    first: tuple[str, ...] = ()
    """The most used options, at most ten, which the help shows first."""

    def read(self, argv: Sequence[str]) -> OptionValues | None:
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
        plain = self._read_plain(arguments)
        if plain is not None:
            return plain
        with self._command().make_context(self.name, arguments) as context:
            return context.params

    def _read_plain(self, arguments: Sequence[str]) -> OptionValues | None:
        """What click reads from normalized arguments; None if it must convert a value, or show help or an error."""
        if self.rest or self.actions:
            return None
        found: OptionValues = {"run_pass": (), **{_key(name): () for name in self.repeated}}
        found |= dict.fromkeys(map(_key, self.flags), False) | dict.fromkeys(map(_key, self.values))
        inputs: list[str] = []
        words = iter(arguments)
        for word in words:
            if not word.startswith("-") or word == "-":
                inputs.append(word)
                continue
            if word.startswith("--"):
                name, equals, value = word[2:].partition("=")
                if not equals or name in _LETTERS:
                    return None
            else:
                name, value = word[1:], next(words, None)
                if name not in _LETTERS or value is None:
                    return None
            key, kind = _key(name), self.kinds.get(name)
            if name in self.repeated or name == "run-pass":
                found[key] += (value,)
            elif name in self.flags and value == "true":
                found[key] = True
            elif name in self.values and (kind is None or (isinstance(kind, tuple) and value in kind)):
                found[key] = value
            else:
                return None
        if len(inputs) > self.takes_input or "" in inputs:
            return None
        if self.takes_input:
            found["input"] = inputs[0] if inputs else "-"
        return found

    def sections(self) -> dict[str, list[str]]:
        """The options by section, in the order of the help."""
        names = [*self.repeated, *self.flags, *self.values]
        found = {"Most used options": [name for name in self.first if name in names]} if self.first else {}
        placed = set(self.first)
        for title, group in GROUPS.items():
            inside = [name for name in group if name in names and name not in placed]
            if inside:
                found[title] = inside
                placed.update(inside)
        if set(names) - placed:
            found["Other options" if found else "Options"] = sorted(set(names) - placed)
        return found

    def usage(self, name: str) -> tuple[str, str]:
        """An option as it is written, and its help."""
        if name in self.repeated:
            metavar, text = self.repeated[name]
            return f"--{name} {metavar}", text
        if name in self.flags:
            return f"{'-' if name in _LETTERS else '--'}{name}", self.flags[name]
        metavar, text, alone = self.values[name]
        dashes = "-" if name in _LETTERS else "--"
        return f"{dashes}{name} {metavar}" if alone is None else f"{dashes}{name}[={metavar}]", text

    def _without_aliases(self, argv: Sequence[str]) -> list[str]:
        out: list[str] = []
        for argument in argv:
            name, equals, value = argument.lstrip("-").partition("=")
            known = self.aliases.get(name) if argument.startswith("-") else None
            out.append(argument if known is None else f"--{known}{equals}{value}")
        return out

    def _command(self) -> click.Command:
        import click

        params: list[click.Parameter] = [
            click.Option(["--run-pass"], multiple=True, hidden=True),
            click.Option(["--version"], is_flag=True, expose_value=False, help="Show the version and exit."),
        ]
        if self.takes_input:
            params.insert(0, click.Argument(["input"], required=False, default="-", metavar="[FILE]"))
        if self.actions:
            words = click.Choice(tuple(self.actions))
            params.insert(0, click.Argument(["action"], type=words, default=next(iter(self.actions))))
        if self.rest:
            params.insert(1, click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED, metavar=self.rest))
        for name, (metavar, text) in self.repeated.items():
            params.append(click.Option([f"--{name}"], multiple=True, metavar=metavar, help=text))
        for name, text in self.flags.items():
            spelled = [f"-{name}", _LETTERS[name]] if name in _LETTERS else [f"--{name}"]
            params.append(click.Option(spelled, type=click.BOOL, default=False, help=text, metavar=""))
        for name, (metavar, text, alone) in self.values.items():
            # An optional value must follow a `=`.
            shown = metavar if alone is None else f"[={metavar}]"
            kind = self.kinds.get(name)
            spelled = [f"-{name}", _LETTERS[name]] if name in _LETTERS else [f"--{name}"]
            params.append(
                click.Option(
                    spelled,
                    type=_click_type(kind),
                    metavar=shown,
                    help=text,
                )
            )
        line = self

        class Command(click.Command):
            """Shows the options by section, and the passes."""

            def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
                line.write_help(formatter)

        return Command(
            self.name,
            params=params,
            help=self.help,
            epilog=self.epilog,
            context_settings={"help_option_names": ["--help", "-h"], "max_content_width": self.width},
        )

    def write_help(self, formatter: click.HelpFormatter) -> None:
        """The actions, the options by section, and the passes."""
        if self.actions:
            with formatter.section("Actions"):
                formatter.write_dl(list(self.actions.items()))
        for title, names in self.sections().items():
            with formatter.section(title):
                formatter.write_dl([self.usage(name) for name in names])
        with formatter.section("About"):
            shown = [("--help, -h", "Show this text and exit."), ("--version", "Show the version and exit.")]
            formatter.write_dl(shown)
        if self.passes:
            title = "Passes (run in the order given; pass options as --PASS='name=value name=value')"
            with formatter.section(title):
                formatter.write_dl([(f"--{name}", row.summary) for name, row in self.passes.items()])


def _key(name: str) -> str:
    """The name of an option's value."""
    return _LETTERS.get(name) or name.replace("-", "_").lower()


def _click_type(kind: Any) -> Any:
    import click

    if isinstance(kind, Number | Integer):
        return kind.click_type()
    return click.Choice(kind) if isinstance(kind, tuple) else kind


def load_plugins(argv: Sequence[str]) -> None:
    """Load the plugins that a command line names, before its passes are read. Raises DiagnosticError."""
    words = iter(argv)
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name in ("load-pass-plugin", "load-dialect-plugin"):
            from tessera_tools.passes.plugins import load_plugin

            load_plugin(value if equals else next(words, ""))


def entry_points(execute: Command) -> tuple[Callable[..., Result], Callable[[], NoReturn]]:
    """(`run`, which runs a command in this process: arguments without its name, the bytes of stdin, the folder; `main`,
    the console script)."""

    def run(argv: Sequence[str], stdin: bytes = b"", cwd: str | None = None) -> Result:
        return in_process(execute, argv, stdin, cwd)

    def main() -> NoReturn:
        as_process(execute)

    return run, main
