"""Reading bytes: a position in a part of the file, and errors with the file offset."""

from __future__ import annotations

from typing import NoReturn

from tessera_tools.diagnostics import DiagnosticError, Position, error

MAX_U64 = (1 << 64) - 1


def place(file: str, offset: int) -> Position:
    """The source position of a byte: line 1, and the byte's number from 1 as the column."""
    return Position(file, 1, offset + 1)


def malformed(file: str, offset: int, message: str, *notes: str) -> DiagnosticError:
    """Create an error about the byte at `offset` of the file."""
    return error(place(file, offset), f"malformed bytecode at byte {offset}: {message}", *notes)


class Cursor:
    """A reading position in `data`, which begins at byte `base` of the file named `file`.

    All reading methods raise DiagnosticError, with the file offset, at the end of the data.
    """

    __slots__ = ("base", "data", "file", "pos")

    def __init__(self, data: bytes, base: int, file: str) -> None:
        self.data = data
        self.base = base
        self.file = file
        self.pos = 0

    @property
    def offset(self) -> int:
        """The file offset of the cursor."""
        return self.base + self.pos

    @property
    def remaining(self) -> int:
        return len(self.data) - self.pos

    def fail(self, message: str, *notes: str, at: int | None = None) -> NoReturn:
        """Raise an error here, or at position `at` of the data."""
        raise malformed(self.file, self.base + (self.pos if at is None else at), message, *notes)

    def byte(self) -> int:
        """One byte."""
        try:
            value = self.data[self.pos]
        except IndexError:
            self.fail("unexpected end of data; expected a byte")
        self.pos += 1
        return value

    def varint(self) -> int:
        """An unsigned integer of up to 64 bits."""
        data, pos = self.data, self.pos
        try:
            value = data[pos]
            pos += 1
            if value > 127:
                value &= 127
                shift = 7
                while True:
                    byte = data[pos]
                    pos += 1
                    value |= (byte & 127) << shift
                    if byte < 128:
                        break
                    shift += 7
                    if shift > 63:
                        self.fail("a variable-length integer has more than 64 bits")
        except IndexError:
            self.fail("unexpected end of data in a variable-length integer")
        self.pos = pos
        # The Python frontend writes bit 64 of some doubles; the reference ignores it.
        return value & MAX_U64

    def signed(self) -> int:
        """A signed integer of up to 64 bits, the sign in the lowest bit."""
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def count(self, noun: str, least: int = 1) -> int:
        """A count of entries of at least `least` bytes each; it is an error if the data cannot hold them."""
        at = self.pos
        value = self.varint()
        if value * least > len(self.data) - self.pos:
            self.fail(f"{value} {noun} cannot fit in the {self.remaining} remaining bytes", at=at)
        return value

    def take(self, size: int, noun: str) -> bytes:
        """The next `size` bytes."""
        end = self.pos + size
        if end > len(self.data):
            self.fail(f"{noun} takes {size} bytes, but only {self.remaining} remain")
        found = self.data[self.pos : end]
        self.pos = end
        return found

    def pad(self, alignment: int) -> None:
        """Skip to the next multiple of `alignment`, counted from the start of the data."""
        self.pos += -self.pos % alignment
        if self.pos > len(self.data):
            self.pos = len(self.data)
            self.fail("unexpected end of data in padding")

    def integers(self, width: int, noun: str) -> tuple[int, ...]:
        """A counted array of signed little-endian integers of `width` bytes."""
        size = self.count(noun, width)
        data = self.take(size * width, noun)
        return tuple(
            int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)
        )

    def numbers(self, noun: str) -> tuple[int, ...]:
        """As `integers` of four bytes; rejects the extremes of i32, which mean "no number" elsewhere."""
        at = self.pos
        found = self.integers(4, noun)
        for number in found:
            if number in (-0x80000000, 0x7FFFFFFF):
                self.fail(f"array contains unsupported value {number}", at=at)
        return found


class Writer:
    """Bytes being written."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def byte(self, value: int) -> None:
        self.data.append(value)

    def varint(self, value: int) -> None:
        """An unsigned integer."""
        while value > 127:
            self.data.append(value & 127 | 128)
            value >>= 7
        self.data.append(value)

    def signed(self, value: int) -> None:
        """A signed integer, the sign in the lowest bit."""
        self.varint((value << 1) ^ -(value < 0))

    def integers(self, values: tuple[int, ...], width: int) -> None:
        """A counted array of signed little-endian integers of `width` bytes."""
        self.varint(len(values))
        for value in values:
            self.data += value.to_bytes(width, "little", signed=True)

    def pad(self, alignment: int, filler: int) -> None:
        """Fill up to a multiple of `alignment`."""
        self.data += bytes([filler]) * (-len(self.data) % alignment)
