"""The resources of a file: the blobs of `dense_resource` attributes, and what other tools left.

offsets: groups of other tools (name, entries) │ groups of dialects (dialect, entries) …
entry: key │ size │ kind u8                  blob: alignment │ size │ padding │ bytes     bool: u8     text: string
"""

from __future__ import annotations

from collections.abc import Iterator

from tessera_tools.ir.resources import External
from tessera_tools.mlir_bytecode.container import Container
from tessera_tools.mlir_bytecode.cursor import Cursor
from tessera_tools.mlir_bytecode.version import BLOB, BOOL, TEXT

_MAX_ALIGNMENT = 1 << 31


class Resources:
    """The resources of a file, in order."""

    def __init__(self, container: Container) -> None:
        self.keys: list[str] = []
        self.blobs: dict[str, str] = {}
        """Hex text by key, as `DenseResourceAttr.data`: the alignment in four bytes, then the data."""
        self.external: External = {}
        sections = container.resources
        if sections is None:
            return
        data, offsets = sections
        for _ in range(offsets.count("groups of external resources")):
            tool = container.string(offsets)
            for key, value in self._group(container, data, offsets):
                assert value is not None
                self.external.setdefault(tool, []).append((key, value))
        while offsets.remaining:
            at = offsets.pos
            dialect = container.dialects[offsets.index(len(container.dialects), "dialect")]
            if dialect != "builtin":
                offsets.fail(
                    f"unexpected resources for dialect '{dialect}'; only 'builtin' has resources", at=at
                )
            for key, value in self._group(container, data, offsets, only_blobs=True):
                self.keys.append(key)
                if isinstance(value, str):
                    self.blobs[key] = value

    def _group(
        self, container: Container, data: Cursor, offsets: Cursor, *, only_blobs: bool = False
    ) -> Iterator[tuple[str, str | bool | None]]:
        """The entries of a group: keys and values. Blobs may lack their data."""
        for _ in range(offsets.count("resources", 3)):
            key = container.string(offsets)
            size = offsets.varint()
            at = offsets.pos
            kind = offsets.byte()
            if kind > TEXT:
                offsets.fail(f"unknown kind of resource: {kind}; expected 0 to {TEXT}", at=at)
            base = data.offset
            entry = data.inside(data.take(size, f"resource '{key}'"), base)
            if only_blobs and kind != BLOB and size:
                entry.fail(f"resource '{key}' is not a blob")
            if not size and only_blobs:
                yield key, None
                continue
            if kind == BLOB:
                value: str | bool = self._blob(entry, key)
            elif kind == BOOL:
                value = bool(entry.byte())
            else:
                value = container.string(entry)
            if entry.remaining:
                entry.fail(f"{entry.remaining} unexpected bytes after resource '{key}'")
            yield key, value

    @staticmethod
    def _blob(entry: Cursor, key: str) -> str:
        at = entry.pos
        alignment = entry.varint()
        if alignment > _MAX_ALIGNMENT or alignment & (alignment - 1):
            entry.fail(f"the alignment of resource '{key}', {alignment}, is not a power of two", at=at)
        length = entry.varint()
        if alignment:
            entry.pad(alignment)
        blob = entry.take(length, f"resource '{key}'")
        return f"0x{alignment.to_bytes(4, 'little').hex().upper()}{blob.hex().upper()}"

    def get(self, c: Cursor) -> tuple[str, str | None]:
        """The key and the blob of the resource whose number is at the cursor."""
        key = self.keys[c.index(len(self.keys), "resource")]
        return key, self.blobs.get(key)
