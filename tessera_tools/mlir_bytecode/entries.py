"""The attributes and types of a file, each read when it is first used, and what it refers to before it.

    offsets: attributes │ types │ groups (dialect, count, entry (size, encoded or text) …)     entries: bytes, in order

Entries that refer to each other are read with an explicit stack. How deep they nest and how long they are when written
out are limited as in text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.attributes import Attribute, Type
from tessera_tools.mlir_bytecode import builtin, llvm
from tessera_tools.mlir_bytecode.container import Container
from tessera_tools.mlir_bytecode.cursor import Cursor
from tessera_tools.mlir_bytecode.forms import AttributeT, EntryReader, Forms
from tessera_tools.mlir_bytecode.resources import Resources
from tessera_tools.parser import parse_attribute, parse_type
from tessera_tools.parser.aliases import MAX_TEXT
from tessera_tools.parser.lexical import MAX_NESTING
from tessera_tools.records import dataclass

FORMS: Mapping[tuple[str, bool], Forms] = {
    ("builtin", False): builtin.ATTRIBUTES,
    ("builtin", True): builtin.TYPES,
    ("llvm", False): llvm.ATTRIBUTES,
}
"""The encodings of a dialect's attributes (False) and types (True); other dialects use text."""

OWN_PRODUCER = "tessera-tools "
"""How the producer of files begins whose `distinct` attributes have one number in all texts."""

_DISTINCT = re.compile(r'"(?:[^"\\]|\\.)*"|distinct\[([0-9]+)\]', re.DOTALL)


@dataclass(slots=True)
class _Entry:
    """One attribute or type."""

    dialect: str
    encoded: bool
    start: int
    size: int
    value: Attribute | None = None
    depth: int = 0
    length: int = 0
    """The length of the text of the value, about."""


class EntryTable:
    """The attributes and types of a file."""

    def __init__(self, container: Container, resources: Resources, *, allow_unregistered: bool) -> None:
        self.container = container
        self.resources = resources
        self.allow_unregistered = allow_unregistered
        self.section, offsets = container.entries
        counts = (offsets.count("attributes", 1), offsets.count("types", 1))
        self._most = max(MAX_TEXT, 16 * len(self.section.data))
        self._tables: tuple[list[_Entry], list[_Entry]] = ([], [])
        start = 0
        for table, count in zip(self._tables, counts, strict=True):
            while len(table) < count:
                at = offsets.pos
                dialect, size = container.group(offsets)
                if not size or len(table) + size > count:
                    offsets.fail(f"a group of {size} entries, but {count - len(table)} are left", at=at)
                for _ in range(size):
                    at = offsets.pos
                    length, encoded = offsets.flagged()
                    if length > len(self.section.data) - start:
                        offsets.fail(
                            f"an entry of {length} bytes is past the end of its section, which has "
                            f"{len(self.section.data) - start} left",
                            at=at,
                        )
                    table.append(_Entry(container.dialects[dialect], encoded, start, length))
                    start += length
        if offsets.remaining:
            offsets.fail(f"{offsets.remaining} unexpected bytes after the offsets")
        own = container.producer.startswith(OWN_PRODUCER)
        self._keep_distinct = own
        numbers = re.findall(rb"distinct\[([0-9]{1,9})\]", self.section.data) if own else []
        self._next_distinct = max(map(int, numbers), default=-1) + 1

    # -- what the reader of ops asks

    def attribute(self, c: Cursor, kind: type[AttributeT], noun: str) -> AttributeT:
        """The attribute of a class whose number is at the cursor."""
        at = c.pos
        found = self.at(False, c.varint(), c, at)
        if not isinstance(found, kind):
            c.fail(f"expected {noun}, found '{found}'", at=at)
        return found

    def at(self, is_type: bool, index: int, c: Cursor, at: int) -> Attribute:
        """An attribute or type; `at` is the position of its number."""
        table = self._tables[is_type]
        if index >= len(table):
            noun = "type" if is_type else "attribute"
            c.fail(f"invalid {noun} index: {index}; there are only {len(table)}", at=at)
        found = table[index].value
        return self._resolve(is_type, index) if found is None else found

    def type(self, c: Cursor, index: int, at: int) -> Type:
        """A type by its number, which is at `at`."""
        found = self.at(True, index, c, at)
        assert isinstance(found, Type)
        return found

    def reader(self, c: Cursor) -> EntryReader:
        """A reader of members outside of entries, such as those of properties."""
        return EntryReader(_Resolving(self), c)

    # -- what `EntryReader` asks

    def known(self, is_type: bool, index: int, c: Cursor) -> Attribute | None:
        table = self._tables[is_type]
        if index >= len(table):
            noun = "type" if is_type else "attribute"
            c.fail(f"invalid {noun} index: {index}; there are only {len(table)}")
        return table[index].value

    def measure(self, is_type: bool, index: int) -> tuple[int, int]:
        entry = self._tables[is_type][index]
        return entry.depth, entry.length

    def string(self, c: Cursor) -> str:
        return self.container.string(c)

    def resource(self, c: Cursor) -> tuple[str, str | None]:
        return self.resources.get(c)

    def distinct(self) -> int:
        self._next_distinct += 1
        return self._next_distinct - 1

    # -- reading entries

    def _resolve(self, is_type: bool, index: int) -> Attribute:
        work = [(is_type, index)]
        opened: set[tuple[bool, int]] = set()
        while work:
            place = work[-1]
            entry = self._tables[place[0]][place[1]]
            if entry.value is not None:
                work.pop()
                opened.discard(place)
                continue
            c = self.section.inside(
                self.section.data[entry.start : entry.start + entry.size], self.section.base + entry.start
            )
            missing = self._read(place, entry, c)
            opened.add(place)
            for other in missing:
                if other in opened:
                    noun = "type" if other[0] else "attribute"
                    c.fail(f"{noun} {other[1]} contains itself", at=0)
            work += missing
        found = self._tables[is_type][index].value
        assert found is not None
        return found

    def _read(self, place: tuple[bool, int], entry: _Entry, c: Cursor) -> list[tuple[bool, int]]:
        """Read an entry, or find what must be read first."""
        is_type = place[0]
        noun = "type" if is_type else "attribute"
        if not entry.encoded:
            entry.value = self._from_text(is_type, c, noun)
            entry.depth, entry.length = 1, len(c.data)
            return []
        forms = FORMS.get((entry.dialect, is_type))
        if forms is None:
            c.fail(f"{noun}s of dialect '{entry.dialect}' have no encoding; expected text")
        code = c.varint()
        form = forms.by_code.get(code)
        if form is None:
            c.fail(f"unknown {noun} code {code} of dialect '{entry.dialect}'", at=0)
        e = EntryReader(self, c)
        value = form.read(e)
        if e.missing:
            return e.missing
        if c.remaining:
            c.fail(f"{c.remaining} unexpected bytes after the {noun}")
        if e.depth >= MAX_NESTING:
            c.fail(f"types and attributes nest deeper than {MAX_NESTING} levels", at=0)
        if e.size > self._most:
            c.fail(f"the {noun} has more than {self._most} characters when it is written out", at=0)
        entry.value, entry.depth, entry.length = value, e.depth + 1, e.size
        return []

    def _from_text(self, is_type: bool, c: Cursor, noun: str) -> Attribute:
        text = c.text(f"the text of the {noun}").decode("utf-8", "surrogateescape")
        if c.remaining:
            c.fail(f"{c.remaining} unexpected bytes after the {noun}")
        if "distinct[" in text and not self._keep_distinct:
            text = self._renumbered(text)
        parse = parse_type if is_type else parse_attribute
        try:
            return parse(
                text, c.file, allow_unregistered=self.allow_unregistered, resources=self.resources.blobs
            )
        except DiagnosticError as failure:
            first = failure.diagnostics[0]
            start = first.location.start() if first.location is not None else None
            c.fail(
                first.message,
                f"in the {noun} `{text[:200]}`",
                at=start[2] - 1 if start and start[1] == 1 else 0,
            )

    def _renumbered(self, text: str) -> str:
        """The text of another producer with new numbers of distinct attributes: its numbers hold for one text."""
        numbers: dict[str, int] = {}

        def replace(match: re.Match[str]) -> str:
            if match[1] is None:
                return match[0]
            if match[1] not in numbers:
                numbers[match[1]] = self.distinct()
            return f"distinct[{numbers[match[1]]}]"

        return _DISTINCT.sub(replace, text)


class _Resolving:
    """The table, for members outside of entries: what they refer to is read at once."""

    def __init__(self, table: EntryTable) -> None:
        self.table = table
        self.measure = table.measure
        self.string = table.string
        self.resource = table.resource
        self.distinct = table.distinct

    def known(self, is_type: bool, index: int, c: Cursor) -> Attribute | None:
        return self.table.at(is_type, index, c, c.pos)
