"""The sections of a file, its strings, dialects and op names."""

from __future__ import annotations

from typing import NamedTuple

from tessera_tools.mlir_bytecode.cursor import Cursor
from tessera_tools.mlir_bytecode.version import (
    ATTR_TYPE,
    ATTR_TYPE_OFFSET,
    DIALECT,
    DIALECT_VERSION,
    DIALECT_VERSIONS,
    ELIDED_LOCATIONS,
    IR,
    MAGIC,
    NATIVE_PROPERTIES,
    PROPERTIES,
    RESOURCE,
    RESOURCE_OFFSET,
    SECTION_NAMES,
    STRING,
    VERSION,
)

_MAX_ALIGNMENT = 1 << 32


def read_section(c: Cursor) -> tuple[int, Cursor]:
    """The number and the payload of the section here."""
    at = c.pos
    head = c.byte()
    number, aligned = head & 0x7F, head >> 7
    if number >= len(SECTION_NAMES):
        c.fail(f"unknown section ID: {number}; expected 0 to {len(SECTION_NAMES) - 1}", at=at)
    name = SECTION_NAMES[number]
    length = c.varint()
    if aligned:
        alignment = c.varint()
        if alignment == 0 or alignment & (alignment - 1) or alignment > _MAX_ALIGNMENT:
            c.fail(f"the alignment of the {name} section, {alignment}, is not a power of two", at=at)
        c.pad(alignment)
    base = c.offset
    return number, c.inside(c.take(length, f"the {name} section"), base)


class Container:
    """The parts of a file that come before its entries and ops."""

    def __init__(self, data: bytes, file: str) -> None:
        self.cursor = c = Cursor(data, 0, file)
        magic = c.take(min(len(MAGIC), c.remaining), "the magic number")
        if magic != MAGIC:
            c.fail("invalid magic number; expected 'ML' EF 'R'", at=0)
        at = c.pos
        self.version = c.varint()
        if self.version > VERSION:
            c.fail(
                f"bytecode version {self.version} is not supported; this reader supports versions 0 to {VERSION}",
                at=at,
            )
        self.producer = c.text("the producer").decode("utf-8", "replace")
        self.sections: dict[int, Cursor] = {}
        while c.remaining:
            at = c.pos
            number, payload = read_section(c)
            if number in self.sections:
                c.fail(f"duplicate top-level section: {SECTION_NAMES[number]}", at=at)
            self.sections[number] = payload
        self.strings = self._read_strings(self.section(STRING))
        self.dialects: list[str] = []
        self.op_names = self._read_dialects(self.section(DIALECT))
        self.properties = self._read_properties(self.sections.get(PROPERTIES))

    def section(self, number: int) -> Cursor:
        """The payload of a section that every file has."""
        found = self.sections.get(number)
        if found is None:
            self.cursor.fail(f"missing data for top-level section: {SECTION_NAMES[number]}")
        return found

    @property
    def entries(self) -> tuple[Cursor, Cursor]:
        """The payloads of the sections of attributes and types, and of their offsets."""
        return self.section(ATTR_TYPE), self.section(ATTR_TYPE_OFFSET)

    @property
    def ir(self) -> Cursor:
        return self.section(IR)

    @property
    def resources(self) -> tuple[Cursor, Cursor] | None:
        """The payloads of the sections of resources and of their offsets."""
        data, offsets = self.sections.get(RESOURCE), self.sections.get(RESOURCE_OFFSET)
        if data is None and offsets is None:
            return None
        return self.section(RESOURCE), self.section(RESOURCE_OFFSET)

    def string(self, c: Cursor, index: int | None = None, at: int | None = None) -> str:
        """The string whose number is at the cursor."""
        here = c.pos if at is None else at
        number = c.varint() if index is None else index
        if number >= len(self.strings):
            c.fail(f"invalid string index: {number}; there are only {len(self.strings)}", at=here)
        return self.strings[number]

    # -- strings: their number, the sizes of the last to the first, and the bytes, each string with a zero byte

    def _read_strings(self, c: Cursor) -> list[str]:
        count = c.count("strings", 2)
        sizes: list[int] = []
        end = len(c.data)
        for _ in range(count):
            at = c.pos
            size = c.varint()
            if size > end:
                c.fail(f"a string of {size} bytes exceeds the {end} bytes of strings", at=at)
            if size == 0:
                c.fail("a string has no room for its terminating zero byte", at=at)
            sizes.append(size)
            end -= size
        if end != c.pos:
            c.fail(
                f"unexpected data between the sizes of strings and their bytes, which begin at byte {c.base + end}"
            )
        found: list[str] = []
        for size in reversed(sizes):
            at = c.pos
            data = c.take(size, "a string")
            if data[-1]:
                c.fail("a string has no terminating zero byte", at=at)
            found.append(data[:-1].decode("utf-8", "surrogateescape"))
        return found

    # -- dialects and op names

    def _read_dialects(self, c: Cursor) -> list[OpName]:
        for _ in range(c.count("dialects")):
            at = c.pos
            if self.version < DIALECT_VERSIONS:
                self.dialects.append(self.string(c))
                continue
            index, has_version = c.flagged()
            name = self.string(c, index, at)
            if has_version:
                at = c.pos
                number, _ = read_section(c)
                if number != DIALECT_VERSION:
                    c.fail(
                        f"expected the version of dialect '{name}', found section {SECTION_NAMES[number]}",
                        at=at,
                    )
                c.fail(f"dialect '{name}' has a version; none of the dialects here has versions", at=at)
            self.dialects.append(name)
        if self.version >= ELIDED_LOCATIONS:
            c.varint()
        found: list[OpName] = []
        while c.remaining:
            dialect, count = self.group(c)
            for _ in range(count):
                at = c.pos
                registered = False
                if self.version < NATIVE_PROPERTIES:
                    word = self.string(c)
                else:
                    index, registered = c.flagged()
                    word = self.string(c, index, at)
                name = self.dialects[dialect]
                found.append(OpName(f"{name}.{word}" if word else name, registered))
        return found

    def group(self, c: Cursor) -> tuple[int, int]:
        """The dialect of a group of entries, and the number of entries."""
        dialect = c.index(len(self.dialects), "dialect")
        return dialect, c.count("entries of a dialect")

    # -- properties: their number, then the size and the bytes of each

    def _read_properties(self, c: Cursor | None) -> list[Cursor]:
        if c is None or not c.remaining:
            return []
        found: list[Cursor] = []
        for _ in range(c.count("properties")):
            size = c.varint()
            base = c.offset
            found.append(c.inside(c.take(size, "properties"), base))
        if c.remaining:
            c.fail(f"{c.remaining} bytes follow the properties")
        return found


class OpName(NamedTuple):
    """The name of an op, and whether the producer knew it."""

    name: str
    registered: bool
