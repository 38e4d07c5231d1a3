"""A text that an editor shows: its programs, and the answers that concern all of them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from tessera_tools.diagnostics import Diagnostic
from tessera_tools.editor.program import Occurrence, Program
from tessera_tools.editor.text import Json, Refused, Text
from tessera_tools.parser.indexing import Definition
from tessera_tools.parser.source import split_input

__all__ = ["Document", "Place"]

_FLAGS = {
    "allow-unregistered-dialect": "allow_unregistered",
    "implicit-index-constants": "implicit_index_constants",
}
"""Options of commands that the text's RUN lines may have → options of the parser."""

_RUN = re.compile(r"^\s*//\s*RUN:", re.MULTILINE)
_SEVERITY = {"error": 1, "warning": 2, "remark": 3, "note": 3}
_WORD = re.compile(r'[%^@#!]?[\w$.-]+|"[^"\n]*"|\S')


class Place:
    """A position in one of the programs of a document."""

    __slots__ = ("offset", "program")

    def __init__(self, program: Program, offset: int) -> None:
        self.program = program
        self.offset = offset
        """In the program."""


class Document:
    """The text of a file, analyzed on demand. A change makes a new document."""

    def __init__(self, uri: str, text: str, encoding: str = "utf-16") -> None:
        self.uri = uri
        self.text = Text(text, encoding)

    @cached_property
    def programs(self) -> list[Program]:
        """The programs between lines `// -----`."""
        text = self.text.text
        runs = "\n".join(line for line in text.splitlines() if _RUN.match(line) or line.startswith("//"))
        flags = frozenset(flag for option, flag in _FLAGS.items() if f"-{option}" in runs)
        found: list[Program] = []
        start = 0
        for chunk in split_input(text):
            found.append(Program(chunk.text, self.uri, start, chunk.first_line, flags))
            marker_end = text.find("\n", start + len(chunk.text) + 1)
            start = len(text) if marker_end < 0 else marker_end + 1
        return found

    def place(self, position: Json) -> Place:
        """The program at a position of the protocol, and the offset in it."""
        offset = self.text.offset(position)
        program = self.programs[0]
        for one in self.programs:
            if one.start <= offset:
                program = one
        return Place(program, min(offset - program.start, len(program.text)))

    def range(self, program: Program, start: int, end: int) -> Json:
        """A range of the program as one of the document."""
        return self.text.range(program.start + start, program.start + end)

    def location(self, program: Program, start: int, end: int) -> Json:
        """A range of the program, with the document."""
        return {"uri": self.uri, "range": self.range(program, start, end)}

    # -- diagnostics

    def diagnostics(self) -> list[Json]:
        """The errors and warnings of every program."""
        return [self._diagnostic(program, one) for program in self.programs for one in program.diagnostics]

    def _diagnostic(self, program: Program, found: Diagnostic) -> Json:
        related: list[Json] = []
        message = found.message
        for note in found.notes:
            place = self._range_of(program, note)
            if place is None:
                message += f"\n{note.message}"
            else:
                related.append({"location": {"uri": self.uri, "range": place}, "message": note.message})
        place = self._range_of(program, found)
        if place is None:
            start = found.location.start() if found.location is not None else None
            if start is not None and start[0] != self.uri:
                message = f"{start[0]}:{start[1]}:{start[2]}: {message}"
            place = self.range(program, 0, 0)
        entry: dict[str, Any] = {
            "range": place,
            "severity": _SEVERITY[found.severity],
            "source": "tessera",
            "message": message,
        }
        if related:
            entry["relatedInformation"] = related
        return entry

    def _range_of(self, program: Program, found: Diagnostic) -> Json | None:
        """The word at the position of a diagnostic; the operation, if its location is in another file."""
        start = found.location.start() if found.location is not None else None
        if start is None:
            return None
        if start[0] != self.uri or start[1] < program.first_line:
            at = program.start_by_location(found.location)
            if at is None:
                return None
        else:
            at = program.offset_of(start[1], start[2])
        word = _WORD.match(program.text, at)
        return self.range(program, at, word.end() if word is not None else at)

    # -- names

    def definition(self, position: Json) -> Json | None:
        """The definition of the name at a position."""
        name = self._name(position)
        if name is None:
            return None
        program, _, definition = name
        return self.location(program, definition.start, definition.start + len(definition.name))

    def references(self, position: Json, with_definition: bool) -> list[Json]:
        """Every use of the name at a position."""
        name = self._name(position)
        if name is None:
            return []
        program, _, definition = name
        return [
            self.location(program, use.start, use.end)
            for use in program.uses_of(definition)
            if with_definition or use.start != definition.start
        ]

    def highlights(self, position: Json) -> list[Json]:
        """The same, to highlight: definitions are written (3), uses read (2)."""
        name = self._name(position)
        if name is None:
            return []
        program, _, definition = name
        return [
            {
                "range": self.range(program, use.start, use.end),
                "kind": 3 if use.start == definition.start else 2,
            }
            for use in program.uses_of(definition)
        ]

    def _name(self, position: Json) -> tuple[Program, Occurrence, Definition] | None:
        place = self.place(position)
        found = place.program.occurrence_at(place.offset)
        definition = place.program.definition_of(found) if found is not None else None
        if found is None or definition is None:
            return None
        return place.program, found, definition

    def can_rename(self, position: Json) -> Json | None:
        """The range of the name at a position, without its sigil, and the name."""
        name = self._name(position)
        if name is None:
            return None
        program, found, _ = name
        return {"range": self.range(program, found.start + 1, found.end), "placeholder": found.name[1:]}

    def rename(self, position: Json, new: str) -> Json:
        """The edits that rename the name at a position. Raises Refused for a name that is impossible."""
        name = self._name(position)
        if name is None:
            raise Refused("there is no name here that can be changed")
        program, found, definition = name
        sigil = found.name[0]
        new = new.removeprefix(sigil)
        pattern, rule = _NAMES[definition.kind]
        if not pattern.fullmatch(new):
            raise Refused(f"'{new}' is not a name of {rule}")
        for other in program.definitions.get(sigil + new, ()):
            apart = other.extent[1] < definition.extent[0] or definition.extent[1] < other.extent[0]
            if other is not definition and not apart:
                line = self.text.line_of(program.start + other.start) + 1
                raise Refused(f"'{sigil}{new}' is already defined in line {line}")
        edits = [
            {"range": self.range(program, use.start, use.end), "newText": sigil + new}
            for use in program.uses_of(definition)
        ]
        return {"changes": {self.uri: edits}}


_VALUE_NAME = re.compile(r"[0-9]+|[A-Za-z_$.-][\w$.-]*")
_NAMES = {
    "value": (_VALUE_NAME, "a value: letters, digits and '_$.-', or a number"),
    "argument": (_VALUE_NAME, "a value: letters, digits and '_$.-', or a number"),
    "block": (re.compile(r"[\w$.-]+"), "a block: letters, digits and '_$.-'"),
    "symbol": (re.compile(r"[A-Za-z_][\w$.]*"), "a symbol: letters, digits and '_$.', not a digit first"),
    "alias": (re.compile(r"[A-Za-z_$][\w$]*"), "an alias: letters, digits, '_' and '$', not a digit first"),
}
