"""Locations with the byte offset of an operation, for errors of the verifier."""

from __future__ import annotations

from tessera_tools.bytecode.cursor import place
from tessera_tools.diagnostics import Diagnostic, DiagnosticError
from tessera_tools.dialects.cuda_tile.debug_info import DILocAttr
from tessera_tools.ir.location import UNKNOWN, CallSiteLoc, Location

FRONTEND = {
    "rounding mode 'negative_inf' is not allowed with 'unsigned' flag": (
        "cuTile Python generates this for `x // y` on unsigned tiles; convert them to a signed type first"
    ),
}
"""Bytecode that the Python frontend can export but no tool accepts: the error, and the construct that causes it."""


class _LocatedOther(Location, name="builtin.located"):
    """A location without debug information."""

    original: Location
    file: str
    offset: int

    def start(self) -> tuple[str, int, int]:
        return self.original.start() or place(self.file, self.offset).start()

    def body(self) -> str:
        return self.original.body()


class _LocatedDILoc(DILocAttr, name="cuda_tile.located_di_loc"):
    """A `di_loc`; a subclass, for the verifier's rules on scopes."""

    original: DILocAttr
    file: str
    offset: int


class _LocatedCallSite(CallSiteLoc, name="builtin.located_call_site"):
    """A call site, likewise."""

    original: CallSiteLoc
    file: str
    offset: int


def located(original: Location, file: str, offset: int) -> Location:
    """`original` with the byte `offset` in `file` of its operation."""
    if isinstance(original, DILocAttr):
        return _LocatedDILoc(original.source, original.scope, original, file, offset)
    if isinstance(original, CallSiteLoc):
        return _LocatedCallSite(original.callee, original.caller, original, file, offset)
    return _LocatedOther(original, file, offset)


def with_positions(failure: DiagnosticError) -> DiagnosticError:
    """The errors with plain locations, each with a note about the byte offset of the operation."""
    return DiagnosticError(*(_plain(diagnostic) for diagnostic in failure.diagnostics))


def _plain(diagnostic: Diagnostic) -> Diagnostic:
    location = diagnostic.location
    notes = [_plain(note) for note in diagnostic.notes]
    if not isinstance(location, _LocatedOther | _LocatedDILoc | _LocatedCallSite):
        return Diagnostic(diagnostic.severity, location, diagnostic.message, notes)
    here = place(location.file, location.offset)
    known = location.original if location.original is not UNKNOWN else here
    if diagnostic.severity == "error":
        for problem, construct in FRONTEND.items():
            if problem in diagnostic.message:
                notes.append(Diagnostic("note", known, construct))
        notes.append(Diagnostic("note", here, f"the operation is at byte {location.offset}"))
    return Diagnostic(diagnostic.severity, known, diagnostic.message, notes)
