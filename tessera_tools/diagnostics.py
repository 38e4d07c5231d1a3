"""Diagnostics: messages with locations, and how they are printed.

    Diagnostic(severity, location, message, notes)  ──emit()──▶  the current sink  ──render()──▶  text

A location is anything with a `start()` that yields a `(file, line, column)` triple (lines and columns
count from 1) or None.  Fatal errors are raised as `DiagnosticError`; the main
function catches it, prints it, and exits with status 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol

from tessera_tools.records import dataclass, field


class HasStart(Protocol):
    """An object with a position in a source file."""

    def start(self) -> tuple[str, int, int] | None:
        """The first `(file, line, column)` of this location, or None if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Position:
    """A plain source position; line and column count from 1."""

    file: str
    line: int
    column: int

    def start(self) -> tuple[str, int, int]:
        return (self.file, self.line, self.column)


@dataclass(slots=True)
class Diagnostic:
    """One message at one location, with its notes.

    `severity` is "error", "warning", "remark" or "note".
    """

    severity: str
    location: HasStart | None
    message: str
    notes: list[Diagnostic] = field(default_factory=list["Diagnostic"])

    def __str__(self) -> str:
        return render(self).rstrip("\n")

    def note(self, message: str, location: HasStart | None = None) -> Diagnostic:
        """Attach a note (by default at the location of the diagnostic) and return self."""
        self.notes.append(Diagnostic("note", location if location is not None else self.location, message))
        return self


@dataclass(slots=True)
class Remark(Diagnostic):
    """A remark with attributes for filtering.

    source: the pass or tool that emits it; rule: the decision; category: the topic; function: the
    kernel.
    kind: "passed" (done), "missed" (not done, and why), "failed" (tried or asked for, and not possible) or "analysis"
    (a fact), as in MLIR.
    """

    source: str = ""
    rule: str = ""
    category: str = ""
    function: str = ""
    kind: str = "analysis"
    on_request: bool = False
    """Made only if somebody asks for the reasons of the compiler's decisions."""


class DiagnosticError(Exception):
    """An exception with diagnostics; at least one is an error."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(diagnostics[0].message if diagnostics else "failed")
        self.diagnostics = list(diagnostics)

    def __str__(self) -> str:
        """Every diagnostic with its position and notes, as the commands print it without the source line."""
        return "".join(map(render, self.diagnostics)).replace("<unknown>:0: ", "").rstrip("\n")


class InternalFault(DiagnosticError):
    """A bug in the compiler, not an error in the input."""

    @classmethod
    def of(cls, fault: BaseException, doing: str, location: HasStart | None) -> InternalFault:
        """The one-line error for an unexpected exception; `doing` names the pass or step, and the op."""
        what = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
        return cls(Diagnostic("error", location, f"internal fault {doing}: {' '.join(what.split())[:300]}"))


class plain_errors:
    """Ends the traceback of a `DiagnosticError` at the function that has this `with` block.

    For the functions that users call: a traceback then has their code, and the message with the line of the source. An
    `InternalFault` keeps its traceback; TESSERA_DEBUG=1 in the environment keeps all of them.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, frames: TracebackType | None
    ) -> None:
        if not isinstance(failure, DiagnosticError) or isinstance(failure, InternalFault) or frames is None:
            return
        if os.environ.get("TESSERA_DEBUG") == "1":
            return
        # Python adds the frames of the callers to this one while the error goes up.
        frames.tb_next = None
        failure.__cause__ = None  # as `raise … from None`
        place = failure.diagnostics[0].location if failure.diagnostics else None
        start = place.start() if place is not None else None
        # An outer block may have added the line already.
        if start is not None and not hasattr(failure, "__notes__"):
            import linecache  # only needed for an error

            line = linecache.getline(start[0], start[1])
            if line.strip():
                failure.add_note(_excerpt(line.rstrip("\n"), max(start[2], 1)).rstrip("\n"))


class Refusal(ValueError):
    """The input is not supported, with the reason; a caller that knows the op converts it to an error.

    Other exceptions, including `ValueError`, are internal faults.
    """


def error(location: HasStart | None, message: str, *notes: str) -> DiagnosticError:
    """A `DiagnosticError` with one error; `raise error(op.location, "…")`."""
    diagnostic = Diagnostic("error", location, message)
    for text in notes:
        diagnostic.note(text)
    return DiagnosticError(diagnostic)


_shows_operations = False


def show_operations(wanted: bool) -> None:
    """Whether errors at an operation have a note with its generic form (`--mlir-print-op-on-diagnostic`)."""
    global _shows_operations
    _shows_operations = wanted


def shows_operations() -> bool:
    """What `show_operations` set."""
    return _shows_operations


Sink = Callable[[Diagnostic], None]
_sinks: list[Sink] = []


def emit(diagnostic: Diagnostic) -> Diagnostic:
    """Pass a diagnostic (usually a warning or a remark) to the innermost sink; without one it is dropped."""
    if _sinks:
        _sinks[-1](diagnostic)
    return diagnostic


@contextmanager
def sink(handler: Sink) -> Iterator[None]:
    """Pass emitted diagnostics to `handler` inside the `with` block."""
    _sinks.append(handler)
    try:
        yield
    finally:
        _sinks.pop()


@contextmanager
def collect() -> Iterator[list[Diagnostic]]:
    """Collect the diagnostics that are emitted inside the `with` block."""
    gathered: list[Diagnostic] = []
    with sink(gathered.append):
        yield gathered


@contextmanager
def record() -> Iterator[list[Diagnostic]]:
    """As `collect`, but the diagnostics are also passed to the outer sink."""
    outer = _sinks[-1] if _sinks else None
    gathered: list[Diagnostic] = []

    def both(diagnostic: Diagnostic) -> None:
        gathered.append(diagnostic)
        if outer is not None:
            outer(diagnostic)

    with sink(both):
        yield gathered


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The entry of `known` closest to `word`, or None; among equals, the one with the longest common prefix.

    `cutoff` is the minimum difflib ratio.
    """
    import difflib  # only needed for an error

    def likeness(name: str) -> tuple[float, int]:
        prefix = next((n for n, (a, b) in enumerate(zip(word, name, strict=False)) if a != b), len(word))
        return difflib.SequenceMatcher(None, name, word).ratio(), prefix

    return max(difflib.get_close_matches(word, list(known), n=5, cutoff=cutoff), key=likeness, default=None)


class Sources:
    """The texts of the files of diagnostics, to show the line under the message."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, name: str, text: str) -> None:
        self._lines[name] = text.split("\n")

    def line(self, name: str, number: int) -> str | None:
        lines = self._lines.get(name)
        if lines is None or not 1 <= number <= len(lines):
            return None
        return lines[number - 1]


_STYLES = {"error": "1;31", "warning": "1;35", "remark": "1;34", "note": "1;36"}
_WIDEST = 160


_HIDDEN = (
    {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
    | {0x7F: 0x2421}
    | dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
)
"""Control characters, and those that change the direction of text → a visible replacement."""


def visible(text: str) -> str:
    """The text with each control character replaced by a visible one."""
    return text.translate(_HIDDEN)


def render(diagnostic: Diagnostic, sources: Sources | None = None, *, color: bool = False) -> str:
    """`file:line:col: error: message`, the source line and a caret, then the notes; ends with a newline."""
    place = diagnostic.location.start() if diagnostic.location is not None else None
    if place is not None:
        # The position of an implicit module is 0:0.
        place = (place[0], max(place[1], 1), max(place[2], 1))
    where = f"{visible(place[0].replace(chr(10), ' '))}:{place[1]}:{place[2]}: " if place else "<unknown>:0: "
    severity = diagnostic.severity + ":"
    if isinstance(diagnostic, Remark) and diagnostic.kind != "analysis":
        severity = f"{diagnostic.severity}[{diagnostic.kind}]:"
    if color:
        severity = f"\x1b[{_STYLES[diagnostic.severity]}m{severity}\x1b[0m"
    rule = ""
    if isinstance(diagnostic, Remark):
        rule = f" [{diagnostic.rule}]" if diagnostic.rule else ""
    text = f"{where}{severity} {visible(diagnostic.message)}{rule}\n"
    if place and sources is not None:
        line = sources.line(place[0], place[1])
        if line is not None:
            text += _excerpt(line, place[2])
    return text + "".join(render(note, sources, color=color) for note in diagnostic.notes)


def _excerpt(line: str, column: int) -> str:
    """The source line and a caret below the column; a very long line is cut around the caret."""
    line = line.rstrip("\r")
    offset = max(0, column - 1 - _WIDEST // 2) if len(line) > _WIDEST else 0
    shown = line[offset : offset + _WIDEST]
    pad = "".join("\t" if char == "\t" else " " for char in shown[: column - 1 - offset])
    return f"{visible(shown)}\n{pad}^\n"
