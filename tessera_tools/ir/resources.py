"""The resource section of a printed module: the blobs of its `dense_resource` attributes.

attributes and types of all ops ─▶ DenseResourceAttr with data ─▶ {-# dialect_resources: { builtin: { key: "0x…" } } #-}
"""

from __future__ import annotations

from tessera_tools.ir.attributes import Attribute
from tessera_tools.ir.builtin_attributes import DenseResourceAttr, attribute_key, quote
from tessera_tools.ir.core import Operation, UnregisteredOp

__all__ = ["resource_section"]


def elided(data: str, most: int | None) -> bool:
    """Whether a blob is too long to be printed; its quotes count, as upstream."""
    return most is not None and len(data) + 2 > most


def resource_section(op: Operation, most: int | None = None) -> str:
    """The section with the blobs used by the attributes of `op` and its nested ops; empty if there are none. Blobs
    whose text has more than `most` characters are left out."""
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
                if (
                    isinstance(item, DenseResourceAttr)
                    and item.data is not None
                    and not elided(item.data, most)
                ):
                    found[item.key] = item.data
                work += item.parameters()
    if not found:
        return ""
    entries = ",\n".join(f"      {attribute_key(k)}: {quote(v)}" for k, v in sorted(found.items()))
    return f"\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{entries}\n    }}\n  }}\n#-}}\n"
