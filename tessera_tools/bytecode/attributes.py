"""Attributes in bytecode.

An op's attribute of known kind is a value without tag (`value_codec`). Elsewhere (assume predicates, identities of
reductions, hints) attributes are tagged: tag │ value (`read_tagged`, `Encoder.tagged`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera_tools.bytecode.cursor import Cursor, Writer
from tessera_tools.bytecode.elements import raw_elements
from tessera_tools.diagnostics import Refusal
from tessera_tools.dialects.cuda_tile.attributes import (
    BoundedAttr,
    DivByAttr,
    OptimizationHintsAttr,
    SameElementsAttr,
)
from tessera_tools.dialects.cuda_tile.bytecode_numbers import ATTRIBUTE_TAGS as TAGS
from tessera_tools.dialects.cuda_tile.types import TileType
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import (
    FALSE,
    TRUE,
    ArrayAttr,
    DenseElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TypeAttr,
    wrap_int,
)
from tessera_tools.ir.types import I1, FloatType, IntegerType

if TYPE_CHECKING:
    from tessera_tools.bytecode.reader import Tables
    from tessera_tools.bytecode.writer import Encoder

MAX_DEPTH = 64
"""The maximum nesting of arrays and dictionaries."""

HINT_ORDER = ("num_cta_in_cga", "occupancy", "num_worker_warps_per_cta", "allow_tma", "latency")
"""The order of hints, as written by the Python frontend; others follow by name."""


def read_tagged(tables: Tables, c: Cursor, depth: int = 0) -> Attribute:
    """Read an attribute with its tag."""
    at = c.pos
    tag = c.varint()
    if depth > MAX_DEPTH:
        c.fail(f"attributes nest deeper than {MAX_DEPTH} levels", at=at)
    if tag == TAGS["integer"]:
        type = tables.types.read(c)
        if not isinstance(type, IntegerType):
            c.fail(f"expected an integer type, found '{type}'")
        if type is I1:
            return TRUE if c.byte() else FALSE
        value = c.varint()
        if value >> type.width:
            c.fail(f"value {value} does not fit in {type.width} bits")
        return IntegerAttr(wrap_int(value, type), type)
    if tag == TAGS["float"]:
        type = tables.types.read(c)
        if not isinstance(type, FloatType):
            c.fail(f"expected a floating-point type, found '{type}'")
        bits = c.byte() if type.width <= 8 else c.signed()
        if not 0 <= bits < 1 << type.width:
            if type.width == 64 and bits < 0:
                bits += 1 << 64
            else:
                c.fail(f"value {bits} does not fit in {type.width} bits")
        return FloatAttr(bits, type)
    if tag == TAGS["bool"]:
        return TRUE if c.byte() else FALSE
    if tag == TAGS["type"]:
        return TypeAttr(tables.types.read(c))
    if tag == TAGS["string"]:
        return StringAttr(tables.strings.read(c))
    if tag == TAGS["array"]:
        return read_array(tables, c, depth)
    if tag == TAGS["dense_elements"]:
        type = tables.types.read(c)
        if not isinstance(type, TileType):
            c.fail(f"expected a tile type, found '{type}'")
        return tables.constant(c.varint(), type, c)
    if tag == TAGS["div_by"]:
        divisor, flags = c.varint(), c.byte()
        every = c.signed() if flags & 1 else None
        along = c.signed() if flags & 2 else None
        return DivByAttr(divisor, every, along)
    if tag == TAGS["same_elements"]:
        return SameElementsAttr(c.integers(8, "values"))
    if tag == TAGS["dictionary"]:
        return read_dictionary(tables, c, depth)
    if tag == TAGS["optimization_hints"]:
        return read_hints(tables, c)
    if tag == TAGS["bounded"]:
        flags = c.byte()
        lower = c.signed() if flags & 1 else None
        upper = c.signed() if flags & 2 else None
        return BoundedAttr(lower, upper)
    return c.fail(f"unknown attribute tag {tag}", at=at)


def read_array(tables: Tables, c: Cursor, depth: int = 0) -> ArrayAttr:
    """count │ tagged, tagged, …"""
    return ArrayAttr(tuple(read_tagged(tables, c, depth + 1) for _ in range(c.count("attributes"))))


def read_dictionary(tables: Tables, c: Cursor, depth: int = 0) -> DictionaryAttr:
    """count │ key, tagged, …; keys are strings."""
    found: dict[str, Attribute] = {}
    for number in range(c.count("entries", 2)):
        at = c.pos
        key = tables.strings.read(c)
        if not key:
            c.fail(f"invalid empty attribute name for DictionaryAttr element {number}", at=at)
        if key in found:
            c.fail(f"the key '{key}' appears twice in a dictionary", at=at)
        found[key] = read_tagged(tables, c, depth + 1)
    return DictionaryAttr.of(found)


def read_hints(tables: Tables, c: Cursor) -> OptimizationHintsAttr:
    """Hints by architecture, as a dictionary of dictionaries."""
    at = c.pos
    try:
        return OptimizationHintsAttr.of(dict(read_dictionary(tables, c).entries))
    except ValueError as problem:
        c.fail(str(problem), at=at)


def write_tagged(e: Encoder, w: Writer, value: Attribute) -> None:
    """Write an attribute with its tag. Raises ValueError if it has no encoding."""
    if isinstance(value, IntegerAttr):
        if value.type is I1:
            w.byte(TAGS["bool"])
            w.byte(value.value)
            return
        if not isinstance(value.type, IntegerType) or value.type.width > 64:
            raise Refusal(f"attribute '{value}' has no encoding in cuda_tile bytecode")
        w.byte(TAGS["integer"])
        w.varint(e.types.index(value.type))
        w.varint(value.value & ((1 << value.type.width) - 1))
    elif isinstance(value, FloatAttr):
        assert isinstance(value.type, FloatType)
        w.byte(TAGS["float"])
        w.varint(e.types.index(value.type))
        if value.type.width <= 8:
            w.byte(value.bits)
        elif value.type.width <= 64:
            bits = value.bits
            # Zigzag encoding of 64 bits: a set top bit is read as a negative number.
            w.signed(bits - (1 << 64) if bits >> 63 else bits)
        else:
            raise Refusal(f"attribute '{value}' has no encoding in cuda_tile bytecode")
    elif isinstance(value, TypeAttr):
        w.byte(TAGS["type"])
        w.varint(e.types.index(value.value))
    elif isinstance(value, StringAttr):
        w.byte(TAGS["string"])
        w.varint(e.strings.index(value.value))
    elif isinstance(value, ArrayAttr):
        w.byte(TAGS["array"])
        write_array(e, w, value)
    elif isinstance(value, DenseElementsAttr):
        w.byte(TAGS["dense_elements"])
        w.varint(e.types.index(value.type))
        w.varint(constant_index(e, value))
    elif isinstance(value, DivByAttr):
        w.byte(TAGS["div_by"])
        w.varint(value.divisor)
        _write_optional(w, value.every, value.along)
    elif isinstance(value, SameElementsAttr):
        w.byte(TAGS["same_elements"])
        w.integers(value.values, 8)
    elif isinstance(value, DictionaryAttr):
        w.byte(TAGS["dictionary"])
        write_dictionary(e, w, value)
    elif isinstance(value, OptimizationHintsAttr):
        w.byte(TAGS["optimization_hints"])
        write_dictionary(e, w, value.value)
    elif isinstance(value, BoundedAttr):
        w.byte(TAGS["bounded"])
        _write_optional(w, value.lower, value.upper)
    else:
        raise Refusal(f"attribute '{value}' has no encoding in cuda_tile bytecode")


def write_array(e: Encoder, w: Writer, value: ArrayAttr) -> None:
    """count │ tagged, tagged, …"""
    w.varint(len(value))
    for element in value:
        write_tagged(e, w, element)


def write_dictionary(e: Encoder, w: Writer, value: DictionaryAttr) -> None:
    """count │ key, tagged, …"""
    ranks = {key: rank for rank, key in enumerate(HINT_ORDER)}
    w.varint(len(value.entries))
    for key, entry in sorted(value.entries, key=lambda pair: (ranks.get(pair[0], len(ranks)), pair[0])):
        w.varint(e.strings.index(key))
        write_tagged(e, w, entry)


def constant_index(e: Encoder, value: DenseElementsAttr) -> int:
    """The index of the elements in the constant section, added if they are new."""
    raw = raw_elements(value)
    entry = Writer()
    entry.varint(len(raw))
    entry.data += raw
    return e.constants.intern(bytes(entry.data))


def _write_optional(w: Writer, first: int | None, second: int | None) -> None:
    """Write a byte with a bit for each present number, then the signed numbers."""
    w.byte((first is not None) | (second is not None) << 1)
    for number in (first, second):
        if number is not None:
            w.signed(number)
