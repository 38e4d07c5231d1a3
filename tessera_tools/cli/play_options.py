"""The options of the page of `tessera-play`: those of tessera-translate and tessera-run that name no files.

COMMAND_LINE of both ──described──▶ the page's controls ──request──checked──▶ arguments of a command
"""

from __future__ import annotations

from collections.abc import Mapping

from tessera_tools.cli import run, translate
from tessera_tools.cli.command_line import CommandLine
from tessera_tools.diagnostics import error
from tessera_tools.emit.tunables import TUNABLES
from tessera_tools.records import Json, dataclass

__all__ = ["COMPILING", "RUNNING", "Given", "checked", "described"]

COMPILING = (
    "gpu-name",
    *(one.option for one in TUNABLES),
    "O",
    "abi",
    "llvm-pipeline",
    "allow-unregistered-dialect",
    "implicit-index-constants",
)
"""Options of tessera-translate. An option is not on the page unless it is listed: others read and write files, start
other programs, or lift a limit."""

RUNNING = (
    "grid",
    "entry",
    "seed",
    "schedules",
    "modes",
    "findings",
    "block",
    "shared",
    "resident",
    "stats",
    "timing",
)
"""Options of tessera-run."""

SHARED_BY_RUN = ("gpu-name", "abi", *(one.option for one in TUNABLES))
"""Options of COMPILING that tessera-run has, too."""

_LONGEST = 400
"""Characters of a value."""


@dataclass(frozen=True, slots=True)
class Given:
    """The options of a request, checked: only those of the lists, and texts of one line."""

    compiling: Mapping[str, str]
    running: Mapping[str, str]

    def translate(self) -> list[str]:
        """The arguments of tessera-translate."""
        return [f"--{name}={value}" for name, value in self.compiling.items()]

    def run(self) -> list[str]:
        """The arguments of tessera-run, without those of the kernel."""
        passed = {name: value for name, value in self.compiling.items() if name in SHARED_BY_RUN}
        return [f"--{name}={value}" for name, value in {**passed, **self.running}.items()]


def described() -> list[dict[str, Json]]:
    """The options as the page shows them: name, help, words, and whether they are flags."""
    return [
        *(_described(translate.COMMAND_LINE, name, "compile") for name in COMPILING),
        *(_described(run.COMMAND_LINE, name, "run") for name in RUNNING),
    ]


def _described(line: CommandLine, name: str, group: str) -> dict[str, Json]:
    kind = line.kinds.get(name)
    flag = name in line.flags or (name in line.values and line.values[name][2] == "")
    words = list(kind) if isinstance(kind, tuple) else []
    if name == "gpu-name":
        from tessera_tools.target import targets

        words = [target.name for target in targets()]
    return {
        "name": name,
        "group": group,
        "help": line.usage(name)[1].partition("; with FILE")[0],
        "first": name in line.first,
        "flag": flag,
        "words": words,
        "metavar": "" if flag else line.values[name][0],
    }


def checked(compiling: object, running: object) -> Given:
    """The options of a request. Raises DiagnosticError for another option, or a value that is no text of one line."""
    return Given(
        _checked(translate.COMMAND_LINE, compiling, COMPILING), _checked(run.COMMAND_LINE, running, RUNNING)
    )


def _checked(line: CommandLine, given: object, allowed: tuple[str, ...]) -> dict[str, str]:
    if not isinstance(given, dict):
        raise error(None, "the options are not an object")
    found: dict[str, str] = {}
    for name, value in given.items():
        if name not in allowed:
            raise error(
                None, f"the option '{str(name)[:40]}' is not available here", f"expected {', '.join(allowed)}"
            )
        if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
            raise error(None, f"--{name}: expected a text of one line")
        if not value:
            continue
        if name in line.values and line.values[name][2] == "":
            # Here the value would be a file.
            if value == "true":
                found[name] = ""
            continue
        found[name] = value
    return found
