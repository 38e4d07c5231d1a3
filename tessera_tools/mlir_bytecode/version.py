"""The container: magic number, versions, sections, flags.

    "ML" EF "R" │ version │ producer 00 │ section …
    section: id u8 (high bit: aligned) │ length │ [alignment, padding CB …] │ payload

Source: mlir/docs/BytecodeFormat.md and mlir/include/mlir/Bytecode/Encoding.h of LLVM 22.
"""

from __future__ import annotations

MAGIC = b"ML\xefR"
VERSION = 6
"""The newest version, and the default of the writer."""

DIALECT_VERSIONS = 1
"""From this version on, dialects may have versions."""
LAZY_REGIONS = 2
"""Isolated regions are sections."""
USE_LIST_ORDERS = 3
ELIDED_LOCATIONS = 4
"""Unknown locations of block arguments are left out, and op names are counted."""
NATIVE_PROPERTIES = 5
"""Properties are in a section of their own; before, they are attributes."""
NATIVE_SEGMENTS = 6
"""Segment sizes are a sparse array of numbers; before, an attribute."""

STRING, DIALECT, ATTR_TYPE, ATTR_TYPE_OFFSET, IR, RESOURCE, RESOURCE_OFFSET, DIALECT_VERSION, PROPERTIES = (
    range(9)
)
SECTION_NAMES = (
    "String", "Dialect", "AttrType", "AttrTypeOffset", "IR", "Resource", "ResourceOffset", "DialectVersions",
    "Properties",
)  # fmt: skip

HAS_ATTRIBUTES, HAS_RESULTS, HAS_OPERANDS, HAS_SUCCESSORS, HAS_REGIONS, HAS_USE_LISTS, HAS_PROPERTIES = (
    1 << bit for bit in range(7)
)
"""What follows the location of an op."""

BLOB, BOOL, TEXT = range(3)
"""Kinds of resources."""


def is_mlir_bytecode(data: bytes | bytearray | memoryview) -> bool:
    """True if the data begins with the magic number of MLIR bytecode."""
    return bytes(data[: len(MAGIC)]) == MAGIC
