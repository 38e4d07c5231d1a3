"""The messages of an editor: what pygls reads, checked before, so that no header costs unbounded memory.

    Content-Length: 52\\r\\n
    \\r\\n
    {"jsonrpc": "2.0", …                        one message: headers, an empty line, as many bytes as they say

Between messages without a length nothing tells where the next one begins: the server ends with an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from tessera_tools.diagnostics import DiagnosticError, error

__all__ = ["LARGEST_MESSAGE", "Messages"]

LARGEST_MESSAGE = 64 << 20
"""Bytes of a message; a document is sent as a whole, and is at most as large."""
_LONGEST_LINE = 4096
_MOST_HEADERS = 64
_CHUNK = 1 << 20
_HEADER = re.compile(rb"([A-Za-z][A-Za-z0-9-]*):(.*)")


class Messages:
    """Stands in for stdin: `readline` and `read` give well-formed messages, and then the end.

    failure: the error that ended the messages, or None.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._pieces = self._read()
        self.failure: DiagnosticError | None = None

    def readline(self) -> bytes:
        """The next line of a header; nothing at the end."""
        return next(self._pieces, b"")

    def read(self, size: int) -> bytes:
        """The bytes of the message whose header was read; nothing at the end."""
        return next(self._pieces, b"")

    def _read(self) -> Iterator[bytes]:
        try:
            while (size := self._length()) is not None:
                body = self._body(size)
                yield b"Content-Length: %d\r\n" % size
                yield b"\r\n"
                yield body
        except DiagnosticError as failure:
            self.failure = failure

    def _length(self) -> int | None:
        """Read the headers of a message; None at the end of the stream. Raises DiagnosticError."""
        size: int | None = None
        line = b""
        for number in range(_MOST_HEADERS):
            line = self._stream.readline(_LONGEST_LINE)
            if not line and number == 0:
                return None
            if not line:
                raise error(None, "the input ends in the headers of a message")
            if not line.endswith(b"\n"):
                raise _wrong(line, "the end of the line")
            line = line.rstrip(b"\r\n")
            if not line:
                if size is None:
                    raise _wrong(line, "the header 'Content-Length'")
                return size
            header = _HEADER.fullmatch(line)
            if header is None:
                raise _wrong(line, "a header such as 'Content-Length: 52'")
            if header[1].lower() == b"content-length":
                size = _size(line, header[2].strip())
        raise _wrong(line, f"at most {_MOST_HEADERS} headers")

    def _body(self, size: int) -> bytes:
        """Read a message. Memory is taken as its bytes arrive. Raises DiagnosticError."""
        body = bytearray()
        while len(body) < size:
            piece = self._stream.read(min(size - len(body), _CHUNK))
            if not piece:
                raise error(None, f"the input ends in a message: found {len(body)} bytes, expected {size}")
            body += piece
        return bytes(body)


def _size(line: bytes, digits: bytes) -> int:
    # A number of many digits takes long to read.
    if not digits.isdigit() or not digits.isascii():
        raise _wrong(line, "a number of bytes")
    if len(digits) > 20 or int(digits) > LARGEST_MESSAGE:
        raise _wrong(line, f"at most {LARGEST_MESSAGE} bytes")
    if int(digits) == 0:
        raise _wrong(line, "at least one byte")
    return int(digits)


def _wrong(line: bytes, expected: str) -> DiagnosticError:
    shown = line[:60].decode("ascii", "backslashreplace")
    found = repr(shown + "…" if len(line) > 60 else shown) if line else "the end of the headers"
    return error(None, f"the header of a message: found {found}, expected {expected}")
