"""Tables in bytecode: a count, the start offset of every entry, then the entries; an entry ends where the next starts.

count │ pad │ count × start (u32, or u64 for constants) │ entry, entry, …
"""

from __future__ import annotations

from tessera_tools.bytecode.cursor import Cursor, Writer, malformed
from tessera_tools.bytecode.version import PADDING


class Slices:
    """The entries of a table, as bytes with their position in the file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.starts: list[int] = []
        self.data = b""
        self.base = 0
        """The offset of the entries in the file."""
        self.index = 0
        """The offset of the index of their starts."""
        self.noun = ""

    @classmethod
    def read(cls, c: Cursor, width: int, noun: str) -> Slices:
        """Read a table with starts of `width` bytes from the rest of the cursor's data."""
        self = cls(c.file)
        self.noun = noun
        if not c.remaining:
            return self
        count = c.count(noun, width)
        if not count:
            return self
        c.pad(width)
        self.index = c.offset
        starts = c.take(count * width, f"the index of {count} {noun}")
        self.starts = [int.from_bytes(starts[i : i + width], "little") for i in range(0, len(starts), width)]
        self.base = c.offset
        self.data = c.data[c.pos :]
        return self

    def __len__(self) -> int:
        return len(self.starts)

    def bytes(self, index: int) -> bytes:
        """Entry number `index`. Its bounds are checked here: a file may be large, and few of its entries used."""
        start = self.starts[index]
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.data)
        if not start <= end <= len(self.data):
            width = (self.base - self.index) // len(self.starts)
            raise malformed(
                self.file,
                self.index + index * width,
                f"entry {index} of the {self.noun} ends before it starts or outside the section",
            )
        return self.data[start:end]

    def cursor(self, index: int) -> Cursor:
        """A cursor over entry number `index`."""
        return Cursor(self.bytes(index), self.base + self.starts[index], self.file)


class Strings:
    """The strings of a file, decoded on first use."""

    def __init__(self, slices: Slices) -> None:
        self.slices = slices
        self.found: list[str | None] = [None] * len(slices)

    def get(self, index: int, cursor: Cursor) -> str:
        """String number `index`; `cursor` is the position of the reference, for the error."""
        if index >= len(self.found):
            cursor.fail(f"string {index} is out of range: there are only {len(self.found)}")
        known = self.found[index]
        if known is None:
            try:
                known = self.slices.bytes(index).decode()
            except UnicodeDecodeError as problem:
                where = self.slices.base + self.slices.starts[index] + problem.start
                raise malformed(self.slices.file, where, f"string {index} is not UTF-8") from None
            self.found[index] = known
        return known

    def read(self, cursor: Cursor) -> str:
        """The string whose index is at the cursor."""
        return self.get(cursor.varint(), cursor)


class InternTable:
    """Unique encoded entries, in insertion order."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        """The index of the first entry."""
        self.entries: dict[bytes, int] = {}

    def intern(self, entry: bytes) -> int:
        """The index of an entry, added if it is new."""
        return self.entries.setdefault(entry, len(self.entries) + self.first)

    def write(self, w: Writer, width: int) -> None:
        """Write the table, with starts of `width` bytes."""
        w.varint(len(self.entries))
        w.pad(width, PADDING)
        start = 0
        for entry in self.entries:
            w.data += start.to_bytes(width, "little")
            start += len(entry)
        for entry in self.entries:
            w.data += entry


class StringWriter(InternTable):
    """Strings by index."""

    def index(self, text: str) -> int:
        """The index of a string, added if it is new."""
        return self.intern(text.encode("utf-8", "surrogateescape"))
