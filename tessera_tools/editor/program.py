"""One program of a document: its names, their definitions and uses, and its errors.

Positions are character offsets in the program. Uses are found in the text, so that those in statements with errors are
found, too; definitions come from the parser, and from the text where it could not read them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from tessera_tools.diagnostics import Diagnostic, DiagnosticError, HasStart, InternalFault, Refusal, collect
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.traits import SymbolTable
from tessera_tools.opdef.dialect import upgrade_spelling
from tessera_tools.parser.aliases import Aliases
from tessera_tools.parser.indexing import Definition, Indexed, read_indexed

__all__ = ["Occurrence", "Program"]

TOKEN = re.compile(
    r"(?P<comment>//[^\n]*)"
    r'|(?P<symbol>@(?:[A-Za-z_$.-][\w$.-]*|"(?:[^"\\\n]|\\.)*"))'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<value>%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*))"
    r"|(?P<block>\^[\w$.-]+)"
    r"|(?P<alias>[#!][A-Za-z_$][\w$]*(?![\w$.<]))"
    r"|(?P<dialect>[#!][A-Za-z_$][\w$]*(?:\.[\w$]+)*)"
    r"|(?P<word>[A-Za-z_][\w$.]*)"
    r"|(?P<number>(?<![\w.])-?(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?)(?![\w$]))"
)
"""The tokens of a text by kind. Dimensions as in `4x8xf32` are none."""

NAMES = frozenset({"symbol", "value", "block", "alias"})
"""Kinds of tokens that are names."""

_RESULTS = re.compile(
    r"(?:%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)(?:[ \t]*:[ \t]*[0-9]+)?\s*,\s*)*"
    r"%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)(?:[ \t]*:[ \t]*[0-9]+)?\s*=(?!=)"
)
_VALUE = re.compile(r"%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)")
_ARGUMENT = re.compile(r"(?<=[(,])\s*(%(?:[0-9]+|[A-Za-z_$.-][\w$.-]*))\s*:")
_ALIAS = re.compile(r"^[ \t]*([#!][A-Za-z_$][\w$]*)[ \t]*=(?!=)", re.MULTILINE)


class Occurrence(NamedTuple):
    """A name in the text."""

    start: int
    end: int
    kind: str
    name: str


class Program:
    """A program, read and verified once."""

    def __init__(self, text: str, file: str, start: int, first_line: int, flags: frozenset[str]) -> None:
        self.text = text
        self.file = file
        self.start = start
        """Its offset in the document."""
        self.first_line = first_line
        self.flags = flags
        """Options of `read_indexed`."""

    @cached_property
    def indexed(self) -> Indexed:
        """What the parser found."""
        return read_indexed(self.text, self.file, self.first_line, **dict.fromkeys(self.flags, True))

    # -- operations

    @cached_property
    def _positions(self) -> list[int]:
        return [entry[0] for entry in self.indexed.operations]

    def operation_at(self, offset: int) -> tuple[int, str, Operation | None] | None:
        """The operation whose name is at a position, as (position, full name, the operation)."""
        at = bisect_right(self._positions, offset) - 1
        if at < 0:
            return None
        entry = self.indexed.operations[at]
        written = self.written_name(entry[0])
        return entry if entry[0] <= offset <= entry[0] + len(written) and written else None

    def written_name(self, start: int) -> str:
        """The name of an operation as it is written at a position, with the quotes of the generic form."""
        match = re.compile(r'"[^"\n]*"|[A-Za-z_][\w$.]*').match(self.text, start)
        return match.group() if match else ""

    @cached_property
    def _starts(self) -> dict[Operation, int]:
        return {op: start for start, _, op in self.indexed.operations if op is not None}

    def start_of(self, op: Operation) -> int | None:
        """The position of the name of an operation of the text."""
        return self._starts.get(op)

    def extent_of(self, start: int) -> tuple[int, int]:
        """The text of the operation whose name is at `start`: its line from its results on, and its regions."""
        begin = self.text.rfind("\n", 0, start) + 1
        begin += len(self.text[begin:start]) - len(self.text[begin:start].lstrip())
        braces = self.indexed.braces
        limit = braces.around(start)[1]
        end = start
        while True:
            # A brace before the next operation is one of this operation.
            at = bisect_right(self._positions, end)
            following = min(self._positions[at] if at < len(self._positions) else len(self.text), limit)
            number = bisect_right(braces.opens, end)
            if number == len(braces.opens) or braces.opens[number] >= following:
                break
            end = braces.closes[number]
        line_end = self.text.find("\n", end)
        return begin, len(self.text) if line_end < 0 else line_end

    # -- names

    @cached_property
    def occurrences(self) -> list[Occurrence]:
        """Every name outside of comments and strings, in order."""
        found: list[Occurrence] = []
        for match in TOKEN.finditer(self.text):
            kind = match.lastgroup or ""
            if kind in NAMES:
                found.append(Occurrence(match.start(), match.end(), kind, match.group()))
        return found

    def occurrence_at(self, offset: int) -> Occurrence | None:
        """The name at a position, or the one that ends there."""
        at = bisect_right(self.occurrences, offset, key=lambda one: one.start) - 1
        if at < 0 or self.occurrences[at].end < offset:
            return None
        return self.occurrences[at]

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """The definitions of each name."""
        found: dict[str, list[Definition]] = {}
        for one in self.indexed.definitions:
            found.setdefault(one.name, []).append(one)
        whole = (0, len(self.text))
        for match in _ALIAS.finditer(self.text):
            found.setdefault(match.group(1), []).append(
                Definition("alias", match.group(1), match.start(1), whole)
            )
        if self.indexed.errors:
            for one in self._definitions_in_text():
                others = found.setdefault(one.name, [])
                if all(other.start != one.start for other in others):
                    others.append(one)
        return found

    def _definitions_in_text(self) -> Iterator[Definition]:
        braces = self.indexed.braces
        for match in _RESULTS.finditer(self.text):
            for name in _VALUE.finditer(match.group()):
                start = match.start() + name.start()
                yield Definition("value", name.group(), start, braces.around(start))
        for match in _ARGUMENT.finditer(self.text):
            start = match.start(1)
            yield Definition("argument", match.group(1), start, (start, braces.around(start)[1]))

    def definition_of(self, found: Occurrence) -> Definition | None:
        """The definition of a name: of those visible at its place, the innermost and then the nearest one before it."""
        visible: list[Definition] = []
        for one in self.definitions.get(found.name, ()):
            if one.start == found.start:
                return one
            if one.extent[0] <= found.start <= one.extent[1]:
                visible.append(one)

        def rank(one: Definition) -> tuple[bool, int, int]:
            return not one.values, one.extent[1] - one.extent[0], abs(found.start - one.start)

        return min(visible, key=rank, default=None)

    @cached_property
    def aliases(self) -> dict[str, Attribute | Type]:
        """The attribute or the type that each alias means; without those that have an error."""
        read = Aliases(self.indexed.source, "allow_unregistered" in self.flags)
        found: dict[str, Attribute | Type] = {}
        for name in self.definitions:
            if name in read:
                with suppress(DiagnosticError, Refusal):
                    found[name] = (read.type if name[0] == "!" else read.attribute)(name[1:], 0, 0)
        return found

    @cached_property
    def _aliased(self) -> list[tuple[str, str]]:
        """(text, alias) of the attributes and types of dialects that have one, the longest text first."""
        texts = {str(value): name for name, value in reversed(self.aliases.items())}
        return sorted(
            ((text, name) for text, name in texts.items() if text[0] in "#!" and text.endswith(">")),
            key=lambda one: -len(one[0]),
        )

    def with_aliases(self, shown: Attribute | Type) -> str:
        """The text of an attribute or a type, with the aliases of the program for its parts."""
        text = str(shown)
        for long, name in self._aliased:
            text = text.replace(long, name)
        return text

    def uses_of(self, definition: Definition) -> list[Occurrence]:
        """Every occurrence of the name that means this definition, which is the first of them."""
        return [
            one
            for one in self.occurrences
            if one.name == definition.name and self.definition_of(one) is definition
        ]

    def visible_at(self, offset: int, *kinds: str) -> list[Definition]:
        """The definitions of these kinds that are visible at a position, one for each name, in order."""
        found: dict[str, Definition] = {}
        for several in self.definitions.values():
            for one in several:
                inside = one.extent[0] <= offset <= one.extent[1]
                if one.kind in kinds and inside and (one.kind in ("block", "symbol") or one.start < offset):
                    found[one.name] = one
        return sorted(found.values(), key=lambda one: one.start)

    def value_at(self, found: Occurrence) -> Value | None:
        """The value that a name means, with the number after it (`%r#1`); None if its operation has an error."""
        definition = self.definition_of(found)
        if definition is None or not definition.values:
            return None
        number = re.compile(r"#(\d{1,9})").match(self.text, found.end)
        index = int(number.group(1)) if number else 0
        return definition.values[index] if index < len(definition.values) else None

    # -- errors

    @cached_property
    def module(self) -> Operation | None:
        """The verified program; None if it has errors."""
        return None if any(one.severity == "error" for one in self.diagnostics) else self._module

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """The errors of the parser, then those of the verifier, and warnings."""
        with collect() as found:
            try:
                errors = [*self.indexed.errors, *self._verified()]
            except DiagnosticError as failure:
                errors = [*self.indexed.errors, *failure.diagnostics]
            except Exception as fault:
                errors = [*self.indexed.errors, *InternalFault.of(fault, "while verifying", None).diagnostics]
        return [*errors, *found]

    @cached_property
    def _module(self) -> Operation:
        block = self.indexed.block
        first = block.first_op
        if first is not None and first is block.last_op and first.name == "builtin.module":
            return first
        from tessera_tools.dialects.builtin import Module
        from tessera_tools.ir.core import Region
        from tessera_tools.ir.location import FileLineColLoc

        return Module.create(regions=[Region([block])], location=FileLineColLoc(self.file, 0, 0))

    def _verified(self) -> list[Diagnostic]:
        from tessera_tools.ir.verifier import verify

        if not self.indexed.errors:
            upgrade_spelling(self._module)
            return verify(self._module)
        return [problem for op in self._complete() for problem in verify(op)]

    def _complete(self) -> list[Operation]:
        """The functions without syntax errors; none if an operation that could not be read may be one that they refer
        to."""
        if self.indexed.stopped:
            return []
        places = [one.location.start() for one in self.indexed.errors if one.location is not None]
        wrong = {place[1] for place in places if place is not None}
        complete: list[Operation] = []
        inside: set[int] = set()
        work = list(self.indexed.block.operations)
        while work:
            op = work.pop(0)
            start = self.start_of(op)
            if op.has_trait(SymbolTable):
                work += [
                    inner for region in op.regions for block in region.blocks for inner in block.operations
                ]
            elif start is not None:
                begin, end = map(self.line_of, self.extent_of(start))
                lines = {line for line in wrong if begin <= line <= end}
                inside |= lines
                if not lines:
                    complete.append(op)
        return complete if inside == wrong else []

    def offset_of(self, line: int, column: int) -> int:
        """The offset of a position in the file, both counted from 1, as in locations."""
        starts = self._line_starts
        number = min(max(line - self.first_line, 0), len(starts) - 1)
        end = starts[number + 1] - 1 if number + 1 < len(starts) else len(self.text)
        return min(starts[number] + max(column - 1, 0), end)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def start_by_location(self, location: HasStart | None) -> int | None:
        """The position of the first operation with that location, which the text may give it."""
        for start, _, op in self.indexed.operations:
            if op is not None and op.location is location:
                return start
        return None

    def line_of(self, offset: int) -> int:
        """The line of a position in the file, from 1, as locations count."""
        return self.indexed.source.line_column(offset)[0]
