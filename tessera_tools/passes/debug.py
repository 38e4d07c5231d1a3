"""`--debug-pass`: skip, dump or time any pass.

--debug-pass=cse:off,canonicalize:dump,all:time
             NAME:WORD, …   NAME a pass or `all`; WORD one of off, dump (the IR before and after it), time
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tessera_tools.diagnostics import closest, error
from tessera_tools.passes.table import PASSES
from tessera_tools.records import dataclass

if TYPE_CHECKING:
    from tessera_tools.ir.core import Operation
    from tessera_tools.passes.base import Pass

__all__ = ["WORDS", "DebugPass", "PassTimes", "read_debug_pass"]

WORDS = ("off", "dump", "time")
ALL = "all"


@dataclass(frozen=True)
class DebugPass:
    """The value of the flag: names of passes, by word."""

    off: frozenset[str] = frozenset()
    dump: frozenset[str] = frozenset()
    time: frozenset[str] = frozenset()


def read_debug_pass(text: str | None) -> DebugPass:
    """Parse the flag's value. Raises DiagnosticError, with the valid names, for an unknown pass or word."""
    found: dict[str, set[str]] = {word: set() for word in WORDS}
    for entry in (text or "").split(","):
        if not entry.strip():
            continue
        name, colon, word = entry.strip().partition(":")
        if not colon or word not in WORDS:
            raise error(
                None, f"--debug-pass expects NAME:off, NAME:dump or NAME:time, found '{entry.strip()}'"
            )
        if name != ALL and name not in PASSES:
            close = closest(name, PASSES)
            hint = f"did you mean '{close}'?" if close else "--list-passes lists them"
            raise error(None, f"--debug-pass names the pass '{name}', which does not exist; {hint}")
        found[word] |= set(PASSES) if name == ALL else {name}
    return DebugPass(*(frozenset(found[word]) for word in WORDS))


class PassTimes:
    """Prints the time of each run of the selected passes."""

    def __init__(self, names: frozenset[str], write: Callable[[str], object]) -> None:
        self._names = names
        self._write = write
        self._begin: list[float] = []

    def before(self, pass_: Pass, op: Operation) -> None:
        self._begin.append(time.perf_counter())

    def after(self, pass_: Pass, op: Operation) -> None:
        self._print_time(pass_, "")

    def failed(self, pass_: Pass, op: Operation) -> None:
        self._print_time(pass_, " (failed)")

    def _print_time(self, pass_: Pass, suffix: str) -> None:
        took = time.perf_counter() - self._begin.pop()
        if pass_.name in self._names:
            self._write(f"{1000 * took:10.3f} ms  {pass_.name}{suffix}\n")
