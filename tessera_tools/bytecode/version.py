"""The container: magic number, versions, sections, and the common parts of the format.

    7F "TileIR" 00 │ major u8 │ minor u8 │ tag u16 │ section … │ 00
    section: id u8 (high bit: aligned) │ length │ [alignment, padding CB …] │ payload

Integers are varints (LEB128, 7 bits per byte, least significant first), or little-endian if a width is given.
Source: the bytecode reader and writer of NVIDIA/cuda-tile.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAGIC = b"\x7fTileIR\x00"
PADDING = 0xCB

END, STRING, FUNCTION, DEBUG, CONSTANT, TYPE, GLOBAL, PRODUCER = range(8)
SECTION_NAMES = ("end", "string", "function", "debug", "constant", "type", "global", "producer")
ALIGNMENT = {STRING: 4, TYPE: 4, CONSTANT: 8, DEBUG: 8, FUNCTION: 8}
"""Sections that must be aligned, in bytes."""

PRIVATE, KERNEL, HAS_HINTS = 1, 2, 4
"""Flags of a function; from 13.5 on, hints are always present."""


class Version(NamedTuple):
    """A version of the format, such as 13.1."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse "13.1". Raises ValueError, with a message for the user, for an unsupported version."""
        found = re.fullmatch(r"(\d+)\.(\d+)(?:\.0)?", text)
        version = cls(int(found[1]), int(found[2])) if found else None
        if version is None or version not in VERSIONS:
            raise ValueError(
                f"unsupported bytecode version '{text}'; expected one of {', '.join(map(str, VERSIONS))}"
            )
        return version


VERSIONS = tuple(Version(13, minor) for minor in range(1, 6))
DEFAULT_VERSION = VERSIONS[0]
"""The version that most tools support."""


def is_bytecode(data: bytes | bytearray | memoryview) -> bool:
    """True if the data begins with the magic number of cuda_tile bytecode."""
    return bytes(data[: len(MAGIC)]) == MAGIC
