"""IR in, MLIR bytecode out.

module ──Numbering──▶ numbers ──▶ dialects │ offsets │ attributes and types │ IR │ resources │ strings │ properties
"""

from __future__ import annotations

from tessera_tools.diagnostics import Refusal
from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.core import Block, Operation, Region
from tessera_tools.ir.location import UNKNOWN
from tessera_tools.ir.resources import BLOB_TEXT, External
from tessera_tools.mlir_bytecode.cursor import Writer
from tessera_tools.mlir_bytecode.entries import OWN_PRODUCER
from tessera_tools.mlir_bytecode.forms import EntryWriter
from tessera_tools.mlir_bytecode.numbering import Numbering, form_of, is_upstream
from tessera_tools.mlir_bytecode.properties import write_properties
from tessera_tools.mlir_bytecode.use_lists import operation_numbers, orders_of, write_orders
from tessera_tools.mlir_bytecode.version import (
    ATTR_TYPE,
    ATTR_TYPE_OFFSET,
    BLOB,
    BOOL,
    DIALECT,
    DIALECT_VERSIONS,
    ELIDED_LOCATIONS,
    HAS_ATTRIBUTES,
    HAS_OPERANDS,
    HAS_PROPERTIES,
    HAS_REGIONS,
    HAS_RESULTS,
    HAS_SUCCESSORS,
    HAS_USE_LISTS,
    IR,
    LAZY_REGIONS,
    MAGIC,
    NATIVE_PROPERTIES,
    PROPERTIES,
    RESOURCE,
    RESOURCE_OFFSET,
    STRING,
    TEXT,
    USE_LIST_ORDERS,
)


class Encoder:
    """One file being written."""

    def __init__(self, root: Operation, version: int, *, elide_resources: bool, external: External) -> None:
        self.root = root
        self.version = version
        self.elide_resources = elide_resources
        self.external = {} if elide_resources else external
        self.numbering = Numbering(root, version)
        self.strings: dict[str, int] = {}
        self.properties: dict[bytes, int] = {}
        self.order = operation_numbers(root) if version >= USE_LIST_ORDERS else {}
        self.blocks: dict[Block, int] = {}

    def file(self) -> bytes:
        """The whole file."""
        from tessera_tools import __version__

        out = Writer()
        out.data += MAGIC
        out.varint(self.version)
        out.data += f"{OWN_PRODUCER}{__version__}\0".encode()
        out.section(DIALECT, self._dialects())
        entries, offsets = self._entries()
        out.section(ATTR_TYPE_OFFSET, offsets)
        out.section(ATTR_TYPE, entries)
        ir = Writer()
        ir.flagged(1, False)
        self._operation(ir, self.root)
        out.section(IR, ir)
        data, offsets = self._resources()
        out.section(RESOURCE_OFFSET, offsets)
        out.section(RESOURCE, data)
        out.section(STRING, self._strings())
        if self.version >= NATIVE_PROPERTIES:
            out.section(PROPERTIES, self._properties())
        return bytes(out.data)

    def _string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def _entry_writer(self) -> EntryWriter:
        return EntryWriter(self.numbering.of, self._string, self.numbering.resources.__getitem__)

    # -- sections

    def _strings(self) -> Writer:
        w = Writer()
        encoded = [text.encode("utf-8", "surrogateescape") + b"\0" for text in self.strings]
        w.varint(len(encoded))
        for text in reversed(encoded):
            w.varint(len(text))
        w.data += b"".join(encoded)
        return w

    def _dialects(self) -> Writer:
        w = Writer()
        dialects = self.numbering.dialects
        w.varint(len(dialects))
        for name in dialects:
            if self.version < DIALECT_VERSIONS:
                w.varint(self._string(name))
            else:
                w.flagged(self._string(name), False)
        table = self.numbering.op_names
        if self.version >= ELIDED_LOCATIONS:
            w.varint(len(table.order))
        for number, group in table.groups():
            w.varint(number)
            w.varint(len(group))
            for name, registered in group:
                word = self._string(name.partition(".")[2])
                if self.version < NATIVE_PROPERTIES:
                    w.varint(word)
                else:
                    w.flagged(word, registered)
        return w

    def _entries(self) -> tuple[Writer, Writer]:
        entries, offsets = Writer(), Writer()
        tables = (self.numbering.attributes, self.numbering.types)
        for table in tables:
            offsets.varint(len(table.order))
        for table in tables:
            for number, group in table.groups():
                offsets.varint(number)
                offsets.varint(len(group))
                for value in group:
                    start = len(entries.data)
                    encoded = self._entry(entries, value)
                    offsets.flagged(len(entries.data) - start, encoded)
        return entries, offsets

    def _entry(self, w: Writer, value: Attribute) -> bool:
        """One attribute or type; True if it is encoded, False if it is text."""
        form = form_of(value)
        if form is None:
            w.data += str(value).encode("utf-8", "surrogateescape") + b"\0"
            return False
        e = self._entry_writer()
        form.write(e, value)
        w.data += e.w.data
        return True

    def _resources(self) -> tuple[Writer, Writer]:
        data, offsets = Writer(), Writer()
        offsets.varint(len(self.external))
        for tool, entries in self.external.items():
            offsets.varint(self._string(tool))
            offsets.varint(len(entries))
            for key, value in entries:
                start = len(data.data)
                kind = self._value(data, key, value)
                offsets.varint(self._string(key))
                offsets.varint(len(data.data) - start)
                offsets.byte(kind)
        resources = list(self.numbering.resources)
        if resources:
            offsets.varint(self.numbering.dialects["builtin"])
            offsets.varint(len(resources))
        for resource in resources:
            start = len(data.data)
            if resource.data is not None and not self.elide_resources:
                _blob(data, resource.key, resource.data)
            offsets.varint(self._string(resource.key))
            offsets.varint(len(data.data) - start)
            offsets.byte(BLOB)
        return data, offsets

    def _value(self, w: Writer, key: str, value: str | bool) -> int:
        """The value of an external resource; returns its kind."""
        if isinstance(value, bool):
            w.byte(value)
            return BOOL
        if BLOB_TEXT.match(value):
            _blob(w, key, value)
            return BLOB
        w.varint(self._string(value))
        return TEXT

    def _properties(self) -> Writer:
        w = Writer()
        w.varint(len(self.properties))
        for entry in self.properties:
            w.varint(len(entry))
            w.data += entry
        return w

    # -- ops

    def _operation(self, w: Writer, op: Operation) -> None:
        """An op and its regions. The parsers' limit on nesting bounds the recursion."""
        numbering = self.numbering
        w.varint(numbering.op_names.number[op.name, is_upstream(op)])
        mask_at = len(w.data)
        w.byte(0)
        mask = 0
        w.varint(numbering.of(op.location))
        written = numbering.written[op]
        if written.attributes is not None:
            mask |= HAS_ATTRIBUTES
            w.varint(numbering.of(written.attributes))
        if written.properties is not None or written.native is not None:
            mask |= HAS_PROPERTIES
            e = self._entry_writer()
            if written.properties is not None:
                e.reference(written.properties)
            else:
                write_properties(e, written.native or [])
            w.varint(self.properties.setdefault(bytes(e.w.data), len(self.properties)))
        if op.results:
            mask |= HAS_RESULTS
            w.varint(len(op.results))
            for result in op.results:
                w.varint(numbering.of(result.type))
        if op.op_operands:
            mask |= HAS_OPERANDS
            w.varint(len(op.op_operands))
            for use in op.op_operands:
                w.varint(numbering.values[use.value])
        if op.successors:
            mask |= HAS_SUCCESSORS
            w.varint(len(op.successors))
            for block in op.successors:
                w.varint(self.blocks[block])
        if self.version >= USE_LIST_ORDERS:
            orders = orders_of(op.results, self.order)
            if orders:
                mask |= HAS_USE_LISTS
                write_orders(w, orders, len(op.results))
        if op.regions:
            mask |= HAS_REGIONS
            isolated = op in numbering.isolated
            w.flagged(len(op.regions), isolated)
            section = Writer() if isolated and self.version >= LAZY_REGIONS else w
            for region in op.regions:
                self._region(section, region)
            if section is not w:
                w.section(IR, section)
        w.data[mask_at] = mask

    def _region(self, w: Writer, region: Region) -> None:
        w.varint(len(region.blocks))
        if not region.blocks:
            return
        w.varint(self.numbering.value_counts[region])
        for number, block in enumerate(region.blocks):
            self.blocks[block] = number
        for block in region.blocks:
            self._block(w, block)

    def _block(self, w: Writer, block: Block) -> None:
        numbering = self.numbering
        w.flagged(len(block), bool(block.arguments))
        if block.arguments:
            w.varint(len(block.arguments))
            for argument in block.arguments:
                number, known = numbering.of(argument.type), argument.location is not UNKNOWN
                if self.version >= ELIDED_LOCATIONS:
                    w.flagged(number, known)
                else:
                    w.varint(number)
                if known or self.version < ELIDED_LOCATIONS:
                    w.varint(numbering.of(argument.location))
            if self.version >= USE_LIST_ORDERS:
                orders = orders_of(block.arguments, self.order)
                w.byte(bool(orders))
                if orders:
                    write_orders(w, orders, len(block.arguments))
        for op in block:
            self._operation(w, op)


def _blob(w: Writer, key: str, text: str) -> None:
    """The alignment, the size and the bytes of a resource."""
    data = bytes.fromhex(text.removeprefix("0x"))
    alignment = int.from_bytes(data[:4], "little")
    if alignment & (alignment - 1):
        raise Refusal(f"the alignment of resource '{key}', {alignment}, is not a power of two")
    w.varint(alignment)
    w.varint(len(data) - 4)
    if alignment > 1:
        w.pad(alignment)
    w.data += data[4:]


def write(
    root: Operation, version: int, *, elide_resources: bool = False, external: External | None = None
) -> bytes:
    """See `tessera_tools.mlir_bytecode.write_mlir_bytecode`."""
    try:
        return Encoder(root, version, elide_resources=elide_resources, external=external or {}).file()
    except Refusal as problem:
        raise root.error(f"cannot be written: {problem}") from None
