"""Locations that also know the byte at which an operation stands; for the errors of the verifier."""

from __future__ import annotations

from tessera_tools.bytecode.cursor import place
from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.ir.location import UNKNOWN, Location


class Located(Location, name="builtin.located"):
    """`original`, of an operation that was read from byte `offset` of `file`."""

    original: Location
    file: str
    offset: int

    def start(self) -> tuple[str, int, int]:
        return self.original.start() or place(self.file, self.offset).start()

    def body(self) -> str:
        return self.original.body()


def told(failure: DiagnosticError) -> DiagnosticError:
    """The errors with plain locations, and a note for each that says at which byte the operation stands."""
    return DiagnosticError(*(_plain(diagnostic) for diagnostic in failure.diagnostics))


def _plain(diagnostic: Diagnostic) -> Diagnostic:
    location = diagnostic.location
    notes = [_plain(note) for note in diagnostic.notes]
    if not isinstance(location, Located):
        return Diagnostic(diagnostic.severity, location, diagnostic.message, notes)
    here = place(location.file, location.offset)
    known = location.original if location.original is not UNKNOWN else here
    if diagnostic.severity == "error":
        notes.append(Diagnostic("note", here, f"the operation stands at byte {location.offset}"))
    return Diagnostic(diagnostic.severity, known, diagnostic.message, notes)
