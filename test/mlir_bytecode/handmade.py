"""Files made by hand, byte by byte, with what no writer writes.

file(entries=[attribute("builtin", 7)], ops=[op(0, …)])     strings are added as they are used
"""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.mlir_bytecode.cursor import Writer

STRING, DIALECT, ATTR_TYPE, ATTR_TYPE_OFFSET, IR, RESOURCE, RESOURCE_OFFSET, VERSIONS, PROPERTIES = range(9)

ATTRIBUTES, RESULTS, OPERANDS, SUCCESSORS, REGIONS, USE_LISTS, HAS_PROPERTIES = (1 << bit for bit in range(7))

UNKNOWN = bytes([15 << 1 | 1])
"""The entry of `loc(unknown)`."""
I32 = bytes([0 << 1 | 1]) + bytes.fromhex("0202")
"""The entry of `i32`: code 0, width and signedness in two bytes."""


def varint(*values: int) -> bytes:
    """Integers as the format writes them."""
    w = Writer()
    for value in values:
        w.varint(value)
    return bytes(w.data)


def section(number: int, payload: bytes) -> bytes:
    return bytes([number]) + varint(len(payload)) + payload


def strings(*texts: bytes) -> bytes:
    sizes = [len(text) + 1 for text in texts]
    return varint(len(texts), *reversed(sizes)) + b"".join(text + b"\0" for text in texts)


def dialects(names: int, *ops: bytes, version: int = 6) -> bytes:
    """`names` dialects without versions, whose names are the first strings; then the groups of op names."""
    first = [2 * n if version >= 1 else n for n in range(names)]
    return varint(names, *first) + (varint(len(ops)) if version >= 4 else b"") + b"".join(ops)


def offsets(attributes: Sequence[tuple[int, bool, bytes]], types: Sequence[tuple[int, bool, bytes]]) -> bytes:
    """Each entry in a group of its own: (dialect, whether it is encoded, bytes)."""
    out = varint(len(attributes), len(types))
    for dialect, encoded, data in (*attributes, *types):
        out += varint(dialect, 1, len(data) << 1 | encoded)
    return out


def file(
    *,
    attributes: Sequence[tuple[int, bool, bytes]] = ((0, True, UNKNOWN),),
    types: Sequence[tuple[int, bool, bytes]] = (),
    ops: bytes = b"",
    count: int = 1,
    texts: Sequence[bytes] = (b"builtin", b"module", b"t", b"op"),
    names: int = 1,
    op_names: Sequence[bytes] = (varint(0, 1, 1 << 1 | 1),),
    properties: bytes = varint(0),
    version: int = 6,
    more: bytes = b"",
    producer: bytes = b"MLIR22.by hand",
) -> bytes:
    """A whole file. By default, attribute 0 is `loc(unknown)`, and op name 0 is the registered `builtin.module`."""
    out = b"ML\xefR" + varint(version) + producer + b"\0"
    out += section(DIALECT, dialects(names, *op_names, version=version))
    out += section(ATTR_TYPE_OFFSET, offsets(attributes, types))
    out += section(ATTR_TYPE, b"".join(data for _, _, data in (*attributes, *types)))
    out += section(IR, varint(count << 1) + ops)
    out += section(STRING, strings(*texts))
    if version >= 5:
        out += section(PROPERTIES, properties)
    return out + more


def module(*blocks: bytes, values: int = 0, properties: int = 0) -> bytes:
    """A `builtin.module` in the isolated form, with its properties, and the blocks of its region."""
    region = varint(len(blocks), values) + b"".join(blocks) if blocks else varint(0)
    mask = REGIONS | HAS_PROPERTIES
    return varint(0) + bytes([mask]) + varint(0, properties, 1 << 1 | 1) + section(IR, region)


NO_NAMES = varint(1, 2) + b"\1\1"
"""Properties of a `builtin.module` without name and visibility."""
