"""The resource section of a printed module: the blobs of its `dense_resource` attributes, and what other tools left.

attributes and types of all ops ─▶ DenseResourceAttr with data ─▶ {-# dialect_resources: { builtin: { key: "0x…" } } #-}
External of a file that was read ─────────────────────────────▶ {-# external_resources: { tool: { key: true } } #-}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseResourceAttr, attribute_key, quote
from tessera_tools.ir.core import Operation, UnregisteredOp

__all__ = ["BLOB_TEXT", "External", "resource_section"]

BLOB_TEXT = re.compile(r"0x(?:[0-9a-fA-F]{2}){4,}\Z")
"""The text of a blob: the alignment in four bytes, then the data."""

External = dict[str, list[tuple[str, str | bool]]]
"""The external resources of a file: the entries (key, value) of each tool, in order. A blob is its hex text."""


def resource_section(op: Operation, most: int | None = None, external: External | None = None) -> str:
    """The section with the blobs used by the attributes of `op` and its nested ops, and with external resources; empty
    if there are none. Values whose text has more than `most` characters are left out; quotes count, as upstream."""
    blobs = sorted(_blobs(op).items())
    parts = [
        _part(name, groups, most)
        for name, groups in (
            ("dialect_resources", {"builtin": blobs}),
            ("external_resources", external or {}),
        )
    ]
    text = ",\n".join(part for part in parts if part)
    return f"\n{{-#\n{text}\n#-}}\n" if text else ""


def _part(name: str, groups: Mapping[str, Sequence[tuple[str, str | bool]]], most: int | None) -> str:
    """The groups that have an entry to print."""
    texts: list[str] = []
    for group, entries in groups.items():
        values = [(key, str(v).lower() if isinstance(v, bool) else quote(v)) for key, v in entries]
        printed = [f"      {attribute_key(k)}: {v}" for k, v in values if most is None or len(v) <= most]
        if printed:
            texts.append(f"    {attribute_key(group)}: {{\n" + ",\n".join(printed) + "\n    }")
    return f"  {name}: {{\n" + ",\n".join(texts) + "\n  }" if texts else ""


def _blobs(op: Operation) -> dict[str, str]:
    """The blobs that attributes and types use, by key."""
    found: dict[str, str] = {}
    seen: set[Attribute] = set()
    for inner in (op, *op.walk()):
        work = [*inner.attributes.values(), *(r.type for r in inner.results)]
        if isinstance(inner, UnregisteredOp):
            work += inner.properties.values()
        work += [a.type for region in inner.regions for block in region.blocks for a in block.arguments]
        while work:
            item = work.pop()
            if isinstance(item, tuple):
                work += item
            elif isinstance(item, Attribute) and item not in seen:
                seen.add(item)
                if isinstance(item, DenseResourceAttr) and item.data is not None:
                    found[item.key] = item.data
                work += item.parameters()
    return found
