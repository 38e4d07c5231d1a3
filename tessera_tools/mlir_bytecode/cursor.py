"""Reading and writing MLIR's integers: the number of trailing zeros of the first byte is the number of further bytes.

xxxxxxx1   xxxxxx10 …   …   10000000 + 7 bytes   00000000 + 8 bytes        least significant byte first
"""

from __future__ import annotations

from tessera_tools.bytecode import cursor as base


class Cursor(base.Cursor):
    """A reading position, as `bytecode.cursor.Cursor`, for integers with a prefix."""

    __slots__ = ()

    def varint(self) -> int:
        """An unsigned integer of up to 64 bits."""
        data, pos = self.data, self.pos
        if pos >= len(data):
            self.fail("unexpected end of data; expected an integer")
        first = data[pos]
        if first & 1:
            self.pos = pos + 1
            return first >> 1
        size = (first & -first).bit_length() if first else 9
        if pos + size > len(data):
            self.fail(f"an integer takes {size} bytes, but only {self.remaining} remain")
        self.pos = pos + size
        if not first:
            return int.from_bytes(data[pos + 1 : pos + 9], "little")
        return int.from_bytes(data[pos : pos + size], "little") >> size

    def flagged(self) -> tuple[int, bool]:
        """An unsigned integer, and the flag in its lowest bit."""
        value = self.varint()
        return value >> 1, bool(value & 1)

    def text(self, noun: str) -> bytes:
        """The bytes before the next zero byte, which is skipped."""
        end = self.data.find(b"\0", self.pos)
        if end < 0:
            self.fail(f"{noun} has no terminating zero byte")
        found = self.data[self.pos : end]
        self.pos = end + 1
        return found

    def pad(self, alignment: int) -> None:
        """Skip to the next multiple of `alignment`, counted from the start of the file."""
        self.pos += -self.offset % alignment
        if self.pos > len(self.data):
            self.pos = len(self.data)
            self.fail("unexpected end of data in padding")

    def index(self, size: int, noun: str) -> int:
        """An index below `size`, the number of entries of a table."""
        at = self.pos
        value = self.varint()
        if value >= size:
            self.fail(f"invalid {noun} index: {value}; there are only {size}", at=at)
        return value

    def inside(self, data: bytes, at: int) -> Cursor:
        """A cursor over `data`, which begins at byte `at` of the file."""
        return Cursor(data, at, self.file)


class Writer(base.Writer):
    """Bytes being written."""

    __slots__ = ("alignment",)

    def __init__(self) -> None:
        super().__init__()
        self.alignment = 1
        """What the start of the data must be aligned to."""

    def varint(self, value: int) -> None:
        """An unsigned integer of up to 64 bits."""
        size = max(1, -(-value.bit_length() // 7))
        if size > 8:
            self.data.append(0)
            self.data += value.to_bytes(8, "little")
        else:
            self.data += (((value << 1) | 1) << (size - 1)).to_bytes(size, "little")

    def flagged(self, value: int, flag: bool) -> None:
        """An unsigned integer with a flag in its lowest bit."""
        self.varint(value << 1 | flag)

    def pad(self, alignment: int, filler: int = 0xCB) -> None:
        """Fill up to a multiple of `alignment`, to which the start of the data will be aligned."""
        super().pad(alignment, filler)
        self.alignment = max(self.alignment, alignment)

    def section(self, number: int, payload: Writer) -> None:
        """A section of the file or of the current payload."""
        at = len(self.data)
        self.byte(number)
        self.varint(len(payload.data))
        if payload.alignment > 1:
            # The size of the padding depends on where the payload would begin.
            if len(self.data) % payload.alignment:
                self.data[at] |= 0x80
                self.varint(payload.alignment)
                self.pad(payload.alignment)
            self.alignment = max(self.alignment, payload.alignment)
        self.data += payload.data
