"""The author's hints for the target, on kernels and accesses: `nv_tileaa.hints = {latency = 3 : i32}`."""

from __future__ import annotations

from tessera_tools.ir.builtin_attributes import DictionaryAttr, IntegerAttr
from tessera_tools.ir.core import Operation

__all__ = ["HINTS", "hint"]

HINTS = "nv_tileaa.hints"
"""The discardable attribute in which a function or an access keeps the author's hints for the target."""


def hint(op: Operation, name: str) -> int | None:
    """A number that the author hints at, 0 or 1 for a boolean; None if there is none."""
    hints = op.attributes.get(HINTS)
    found = dict(hints.entries).get(name) if isinstance(hints, DictionaryAttr) else None
    return int(found.value) if isinstance(found, IntegerAttr) else None
