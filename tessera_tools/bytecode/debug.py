"""Debug information in bytecode: the debug section, both ways.

    function count │ pad 4 │ function × u32 first │ index count │ pad 8 │ index × u64 │ table of debug attributes

Each function has a run of indices: its own position, then one for each op in the order of the function's body. Index 0
means no position, index n is attribute n-1. An attribute is a tag and numbers, which are indices of strings and other
attributes. Entries are decoded lazily.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from tessera_tools.bytecode.cursor import Cursor, Writer
from tessera_tools.bytecode.tables import InternTable, Slices, Strings, StringWriter
from tessera_tools.bytecode.version import PADDING, Version
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.cuda_tile.bytecode_numbers import DEBUG_TAGS as TAGS
from tessera_tools.dialects.cuda_tile.debug_info import (
    DICompileUnitAttr,
    DIFileAttr,
    DILexicalBlockAttr,
    DILocalScopeAttr,
    DILocAttr,
    DISubprogramAttr,
)
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.location import UNKNOWN, CallSiteLoc, FileLineColLoc, FusedLoc, Location, NameLoc

MAX_DEPTH = 200
"""The maximum nesting of scopes and call sites."""


AttributeT = TypeVar("AttributeT", bound=Attribute)


class DebugTable:
    """The debug section of a file."""

    def __init__(self, c: Cursor | None, strings: Strings, version: Version, file: str) -> None:
        self.strings = strings
        self.version = version
        self.firsts: list[int] = []
        self.indices: tuple[int, ...] = ()
        self.attributes = Slices(file)
        if c is not None and c.remaining:
            self._read_index(c)
        self.found: list[Attribute | None] = [None] * len(self.attributes)
        self._depth = 0

    def _read_index(self, c: Cursor) -> None:
        import struct

        count = c.count("functions", 4)
        c.pad(4)
        self.firsts = list(struct.unpack(f"<{count}I", c.take(4 * count, "the index of functions")))
        count = c.count("debug indices", 8)
        c.pad(8)
        self.indices = struct.unpack(f"<{count}Q", c.take(8 * count, "the debug indices"))
        rest = Cursor(c.data[c.pos :], c.offset, c.file)
        # Padding is relative to the start of the section, not of the table.
        self.attributes = _table_at(rest, c.pos)

    def locations(self, function: int, c: Cursor) -> Iterator[Location]:
        """The positions of a function and of its ops, one after another; `function` counts from 1, 0 is none."""
        if function == 0:
            while True:
                yield UNKNOWN
        if function > len(self.firsts):
            c.fail(
                f"function {function} of the debug section is out of range: there are only {len(self.firsts)}"
            )
        at, indices, found = self.firsts[function - 1], self.indices, self.found
        while True:
            if at >= len(indices):
                c.fail(f"debug index {at} is out of range: there are only {len(indices)}")
            number = indices[at]
            at += 1
            if number == 0:
                yield UNKNOWN
                continue
            known = found[number - 1] if number <= len(found) else None
            if known is None:
                known = self.get(number, c)
            if not isinstance(known, Location):
                c.fail(f"debug attribute {number} is not a position of an operation")
            yield known

    def get(self, number: int, c: Cursor) -> Attribute:
        """Attribute `number` (from 1; 0 is the unknown position); `c` is the position of the reference."""
        if number == 0:
            return UNKNOWN
        if number > len(self.found):
            c.fail(f"debug attribute {number} is out of range: there are only {len(self.found)}")
        known = self.found[number - 1]
        if known is None:
            if self._depth >= MAX_DEPTH:
                c.fail(
                    f"debug information nests deeper than {MAX_DEPTH} levels, or attribute {number} contains itself"
                )
            self._depth += 1
            try:
                known = self.found[number - 1] = self._read(self.attributes.cursor(number - 1))
            finally:
                self._depth -= 1
        return known

    def _part(self, c: Cursor, kind: type[AttributeT], noun: str) -> AttributeT:
        at = c.pos
        found = self.get(c.varint(), c)
        if not isinstance(found, kind):
            c.fail(f"expected {noun}, found '{found.name}'", at=at)
        return found

    def _file(self, c: Cursor) -> DIFileAttr:
        return self._part(c, DIFileAttr, "a file")

    def _scope(self, c: Cursor) -> DILocalScopeAttr:
        return self._part(c, DILocalScopeAttr, "a subprogram or a lexical block")

    def _read(self, c: Cursor) -> Attribute:
        tag, text = c.varint(), self.strings
        if tag == TAGS["compile_unit"]:
            return DICompileUnitAttr(self._file(c))
        if tag == TAGS["file"]:
            return DIFileAttr(text.read(c), text.read(c))
        if tag == TAGS["lexical_block"]:
            return DILexicalBlockAttr(self._scope(c), self._file(c), c.varint(), c.varint())
        if tag == TAGS["location"]:
            scope = self._scope(c)
            return DILocAttr(FileLineColLoc(text.read(c), c.varint(), c.varint()), scope)
        if tag == TAGS["subprogram"]:
            file, line, name, linkage = self._file(c), c.varint(), text.read(c), text.read(c)
            unit = self._part(c, DICompileUnitAttr, "a compile unit")
            scope_line = c.varint()
            if self.version.minor >= 5 and (flags := c.varint()):
                c.fail(f"unknown flags {flags} of a subprogram")
            return DISubprogramAttr(file, line, name, linkage, unit, scope_line)
        if tag == TAGS["call_site"]:
            callee = self._part(c, Location, "a position")
            return CallSiteLoc(callee, self._part(c, Location, "a position"))
        if tag == 0:
            return UNKNOWN
        return c.fail(f"unknown debug tag {tag}", at=0)


def _table_at(c: Cursor, start: int) -> Slices:
    """The table of attributes, at offset `start` in its section."""
    shifted = Cursor(b"\0" * (start % 4) + c.data, c.base - start % 4, c.file)
    shifted.pos = start % 4
    return Slices.read(shifted, 4, "debug attributes")


class DebugWriter(InternTable):
    """Collects positions by index, the range of each function, and the attributes they use."""

    def __init__(self, strings: StringWriter, version: Version) -> None:
        super().__init__(first=1)
        self.strings = strings
        self.version = version
        self.functions: list[list[int]] = []
        self._known: dict[Attribute, int] = {}

    def begin(self, location: Location) -> int:
        """Start a function; returns its number, from 1."""
        self.functions.append([self.index(location)])
        return len(self.functions)

    def add(self, location: Location) -> None:
        """The position of the next op."""
        self.functions[-1].append(self.index(location))

    def index(self, attribute: Attribute) -> int:
        """The index of an attribute, added with all its references; 0 for a position that bytecode cannot represent."""
        known = self._known.get(attribute)
        if known is None:
            entry = self._encode(attribute)
            known = self._known[attribute] = self.intern(entry) if entry else 0
        return known

    def _encode(self, a: Attribute) -> bytes:
        """The encoding of an attribute; empty for a position without debug information."""
        numbers: list[int]
        text = self.strings.index
        if isinstance(a, DIFileAttr):
            numbers = [TAGS["file"], text(a.file_name), text(a.directory)]
        elif isinstance(a, DICompileUnitAttr):
            numbers = [TAGS["compile_unit"], self.index(a.file)]
        elif isinstance(a, DILexicalBlockAttr):
            numbers = [TAGS["lexical_block"], self.index(a.scope), self.index(a.file), a.line, a.column]
        elif isinstance(a, DILocAttr):
            source = a.source
            numbers = [TAGS["location"], self.index(a.scope), text(source.file), source.line, source.column]
        elif isinstance(a, DISubprogramAttr):
            file, name, linkage = self.index(a.file), text(a.label), text(a.linkage_name)
            unit = self.index(a.compile_unit)
            numbers = [TAGS["subprogram"], file, a.line, name, linkage, unit, a.scope_line]
            if self.version.minor >= 5:
                numbers.append(0)
        elif isinstance(a, CallSiteLoc):
            numbers = [TAGS["call_site"], self.index(a.callee), self.index(a.caller)]
            if not numbers[1]:
                return b""
        elif isinstance(a, NameLoc | FusedLoc):
            raise Refusal(f"unsupported location, got {type(a).__name__}, expected DILocAttr or CallSiteLoc")
        else:
            return b""
        w = Writer()
        for number in numbers:
            w.varint(number)
        return bytes(w.data)

    def write_section(self, w: Writer) -> None:
        """The section's payload."""
        w.varint(len(self.functions))
        w.pad(4, PADDING)
        first = 0
        for run in self.functions:
            w.data += first.to_bytes(4, "little")
            first += len(run)
        w.varint(first)
        w.pad(8, PADDING)
        for run in self.functions:
            for number in run:
                w.data += number.to_bytes(8, "little")
        if not self.entries:
            # Readers of the reference expect at least one entry.
            self.intern(b"\0")
        self.write(w, 4)
