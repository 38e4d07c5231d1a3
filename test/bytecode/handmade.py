"""Bytecode made by hand, section by section, for tests of what the reader says of broken files."""

from __future__ import annotations

from tessera_tools.bytecode.cursor import Writer
from tessera_tools.bytecode.version import MAGIC

STRING, FUNCTION, DEBUG, CONSTANT, TYPE, GLOBAL, PRODUCER = range(1, 8)
ALIGNED = {STRING: 4, TYPE: 4, CONSTANT: 8, DEBUG: 8, FUNCTION: 8}


def varint(*numbers: int) -> bytes:
    """Numbers one after another."""
    w = Writer()
    for number in numbers:
        w.varint(number)
    return bytes(w.data)


def table(entries: list[bytes], width: int) -> bytes:
    """A table of entries."""
    w = Writer()
    w.varint(len(entries))
    w.pad(width, 0xCB)
    start = 0
    for entry in entries:
        w.data += start.to_bytes(width, "little")
        start += len(entry)
    return bytes(w.data) + b"".join(entries)


def file(sections: dict[int, bytes], minor: int = 1, major: int = 13, tag: int = 0) -> bytes:
    """A file with these sections, in order."""
    w = Writer()
    w.data += MAGIC + bytes([major, minor]) + tag.to_bytes(2, "little")
    for number, payload in sections.items():
        alignment = ALIGNED.get(number, 1)
        w.byte(number | (0x80 if alignment > 1 else 0))
        w.varint(len(payload))
        if alignment > 1:
            w.varint(alignment)
            w.pad(alignment, 0xCB)
        w.data += payload
    w.byte(0)
    return bytes(w.data)


I1, I32, F32 = b"\x00", b"\x03", b"\x07"
TILE_I32 = b"\x0d" + varint(1, 0)
"""tile<i32>, where type 1 is i32."""
NO_ARGUMENTS = b"\x10" + varint(0, 0)
"""() -> (), the signature of a kernel without arguments."""


def kernel(
    body: bytes, types: list[bytes] | None = None, strings: list[bytes] | None = None, minor: int = 1,
    constants: list[bytes] | None = None,
) -> bytes:  # fmt: skip
    """A kernel `k` without arguments; types 0 to 3 are i1, i32, tile<i32> and the signature, then those given."""
    head = varint(0, 3, 2, 0) + (b"\x0b\x00\x06\x00" if minor >= 5 else b"")
    sections = {
        FUNCTION: varint(1) + head + varint(len(body)) + body,
        CONSTANT: table(constants or [], 8),
        TYPE: table([I1, I32, TILE_I32, NO_ARGUMENTS, *(types or [])], 4),
        STRING: table([b"k", *(strings or [])], 4),
    }
    return file(sections, minor)


RETURN = varint(92, 0, 0)
