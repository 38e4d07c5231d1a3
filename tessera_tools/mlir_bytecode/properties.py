"""How upstream encodes the properties of an op: ODS derives it from the op's declaration, and so does this module.

    attributes by name: required ones as numbers, optional ones as numbers with a flag │ segment sizes

From version 6 on, segment sizes are sparse arrays of numbers at the end; in version 5 they are attributes, among the
others by name. Exceptions are listed here. Source: OpDefinitionsGen.cpp of mlir-tblgen 22.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr
from tessera_tools.ir.core import Operation
from tessera_tools.ir.types import I32
from tessera_tools.mlir_bytecode.cursor import Cursor
from tessera_tools.mlir_bytecode.forms import EntryReader, EntryWriter
from tessera_tools.mlir_bytecode.version import NATIVE_PROPERTIES, NATIVE_SEGMENTS
from tessera_tools.opdef import Op

UPSTREAM = frozenset(
    {"arith", "builtin", "cf", "func", "gpu", "irdl", "llvm", "math", "memref", "nvvm", "scf", "ub", "vector"}
)
"""The dialects that upstream registers too. The ops of others are written as unregistered ones."""

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_NO_BUNDLES = DenseArrayAttr(I32, ())


class Part(NamedTuple):
    """One property: its key, how it is encoded, and whether the encoding says if it is there."""

    key: str
    coding: str
    """`attribute`, `optional`, `number` or `segments`."""
    default: Attribute | None = None


_NUMBERS = {
    **dict.fromkeys(("llvm.add", "llvm.mul", "llvm.shl", "llvm.sub", "llvm.trunc"), "overflowFlags"),
    "llvm.getelementptr": "noWrapFlags",
}
"""Properties that are numbers, not attributes; they follow the attributes."""

_REQUIRED = dict.fromkeys(("llvm.call", "llvm.call_intrinsic", "llvm.intr.assume"), "op_bundle_sizes")
"""Properties that are optional here but required upstream, where no bundles are an empty array."""

_FURTHER = {
    "llvm.func": (
        "arm_in_za", "arm_inout_za", "arm_locally_streaming", "arm_new_za", "arm_out_za", "arm_preserves_za",
        "arm_streaming", "arm_streaming_compatible", "instrument_function_entry", "instrument_function_exit",
        "intel_reqd_sub_group_size", "vec_type_hint",
    ),
    "vector.print": ("stringLiteral",),
}  # fmt: skip
"""Optional properties that are not declared here."""


@lru_cache(maxsize=4096)
def _plan(op_class: type[Op], version: int) -> tuple[Part, ...]:
    """The properties of an op of a dialect that upstream has, in the order of their encoding."""
    definition, name = op_class.definition, op_class.name
    number = _NUMBERS.get(name)
    parts = [
        Part(
            field.key,
            "attribute" if field.arity == "single" else "optional",
            field.default,
        )
        for field in definition.attributes
        if field.key in op_class.inherent_attributes and field.key != number
    ]
    if name in _REQUIRED:
        parts = [Part(p.key, "attribute", _NO_BUNDLES) if p.key == _REQUIRED[name] else p for p in parts]
    parts += [Part(key, "optional") for key in _FURTHER.get(name, ())]
    segments = [
        key
        for key, has in zip(_SEGMENTS, (definition.operand_segments, definition.result_segments), strict=True)
        if has
    ]
    if version < NATIVE_SEGMENTS:
        parts += [Part(key, "attribute") for key in segments]
    parts.sort(key=lambda part: part.key)
    if number is not None:
        parts.append(
            Part(number, "number", next(f.default for f in definition.attributes if f.key == number))
        )
    if version >= NATIVE_SEGMENTS:
        parts += [Part(key, "segments") for key in segments]
    return tuple(parts)


def has_properties(op_class: type[Op], version: int) -> bool:
    """True if ops of the class have an entry in the section of properties."""
    return bool(_plan(op_class, version))


def read_properties(e: EntryReader, op_class: type[Op], version: int) -> dict[str, Attribute]:
    """The properties of an op of a dialect that upstream has."""
    found: dict[str, Attribute] = {}
    for part in _plan(op_class, version):
        if part.coding == "attribute":
            value = e.attribute(Attribute)
        elif part.coding == "optional":
            value = e.optional_attribute(Attribute)
        elif part.coding == "number":
            value = IntegerAttr(e.c.varint() & 0x7FFFFFFF, I32)
        else:
            fields = op_class.definition.operands if part.key == _SEGMENTS[0] else op_class.definition.results
            value = DenseArrayAttr(I32, _read_sparse(e, len(fields)))
        if value is not None:
            found[part.key] = value
    if e.c.remaining:
        e.c.fail(f"{e.c.remaining} unexpected bytes after the properties of '{op_class.name}'")
    return found


def property_values(op: Operation, version: int) -> list[tuple[Part, Attribute | None]]:
    """The properties of an op of a dialect that upstream has. Raises DiagnosticError if a required one is missing."""
    found: list[tuple[Part, Attribute | None]] = []
    for part in _plan(type(op), version):
        value = op.attributes.get(part.key, part.default)
        if value is None and part.coding != "optional":
            raise op.error(f"cannot be written: requires attribute '{part.key}'")
        found.append((part, value))
    return found


def write_properties(e: EntryWriter, values: list[tuple[Part, Attribute | None]]) -> None:
    """Write the properties of an op."""
    for part, value in values:
        if part.coding == "optional":
            e.optional_reference(value)
        elif part.coding == "attribute":
            assert value is not None
            e.reference(value)
        elif part.coding == "number":
            assert isinstance(value, IntegerAttr)
            e.w.varint(value.value)
        else:
            assert isinstance(value, DenseArrayAttr)
            _write_sparse(e, value.values)


def without_defaults(op_class: type[Op], attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    """Attributes from a file as ops hold them: without those that have their default value."""
    for field in op_class.definition.attributes:
        if field.default is not None and attributes.get(field.key) is field.default:
            del attributes[field.key]
    return attributes


def merged(op: Operation, version: int) -> dict[str, Attribute]:
    """All attributes of an op for a version without properties, with the defaults, as upstream holds them.

    Raises DiagnosticError for a property that is a number: those versions have only attributes.
    """
    attributes = dict(op.attributes)
    for part in _plan(type(op), version):
        if part.coding == "number" and part.key in attributes:
            raise op.error(
                f"cannot be written: version {version} of bytecode has no '{part.key}'; use version "
                f"{NATIVE_PROPERTIES} or newer"
            )
        if part.coding != "number" and part.default is not None:
            attributes.setdefault(part.key, part.default)
    return attributes


# -- sparse arrays: a count and a flag, then the numbers; or the bits of an index, then numbers with their indices


def _read_sparse(e: EntryReader, size: int) -> tuple[int, ...]:
    c = e.c
    found = [0] * size
    at = c.pos
    count, sparse = c.flagged()
    if not sparse:
        if count > size:
            c.fail(f"an array of {count} numbers has only {size} places", at=at)
        for number in range(count):
            found[number] = _small(c, c.pos, c.varint())
        return tuple(found)
    if count > c.remaining:
        c.fail(f"{count} numbers cannot fit in the {c.remaining} remaining bytes", at=at)
    bits = 0
    if count:
        at = c.pos
        bits = c.varint()
        if bits > 8:
            c.fail(f"the indices of a sparse array have {bits} bits; at most 8 are allowed", at=at)
    for _ in range(count):
        at = c.pos
        pair = c.varint()
        index = pair & (1 << bits) - 1
        if index >= size:
            c.fail(f"index {index} of a sparse array of {size} numbers", at=at)
        found[index] = _small(c, at, pair >> bits)
    return tuple(found)


def _small(c: Cursor, at: int, value: int) -> int:
    if value >= 1 << 31:
        c.fail(f"a segment size of {value}", at=at)
    return value


def _write_sparse(e: EntryWriter, values: tuple[int, ...]) -> None:
    places = [index for index, value in enumerate(values) if value]
    if len(places) > len(values) // 2 or (places and places[-1] > 255):
        e.w.flagged(len(values), False)
        for value in values:
            e.w.varint(value)
        return
    e.w.flagged(len(places), True)
    if places:
        bits = places[-1].bit_length()
        e.w.varint(bits)
        for index in places:
            e.w.varint(values[index] << bits | index)
