"""The declared alignment of a kernel's tensors."""

from __future__ import annotations

from tessera_tools.ir.builtin_attributes import IntegerAttr
from tessera_tools.ir.core import Operation

ALIGNMENT = "tessera.alignment"
"""Attribute of a function: the alignment, in bytes, of addresses, rows and the last extents of its tensors."""
DEFAULT_ALIGNMENT = 16


def alignment_of(function: Operation) -> int:
    """The alignment of a function's tensors in bytes; raises an error if it is not a power of two."""
    attribute = function.attributes.get(ALIGNMENT)
    if attribute is None:
        return DEFAULT_ALIGNMENT
    if (
        not isinstance(attribute, IntegerAttr)
        or attribute.value < 1
        or attribute.value & (attribute.value - 1)
    ):
        raise function.error(f"has {ALIGNMENT} = {attribute}; expected a power of two")
    return attribute.value
