"""Common parts of the generated kernels of host functions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tessera_tools.ir.core import Operation, Value
from tessera_tools.ir.types import MemRefType, bit_width
from tessera_tools.records import dataclass

ALIGNMENT = 16
"""The widest access, in bytes."""


@dataclass(frozen=True, slots=True)
class HostKernel:
    """A kernel's name and text in `tile`, its grid, and its arguments."""

    name: str
    text: str
    grid: tuple[int, ...]
    operands: Sequence[Value]


def named(word: str, text: str, grid: tuple[int, ...], operands: Sequence[Value]) -> HostKernel:
    """A kernel whose text has the placeholder NAME.  Its name is the word and a short hash of the text."""
    name = f"tile_{word}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return HostKernel(name, text.replace("NAME", name), grid, operands)


def tensors(op: Operation, values: Sequence[Value]) -> None:
    """Check that all values are contiguous tensors of static extents and whole bytes."""
    for value in values:
        type = value.type
        if not isinstance(type, MemRefType):
            continue
        if not type.is_static or type.layout is not None:
            raise op.error(
                f"has a value of type {type} on the host; expected contiguous tensors of static extents"
            )


def alignment(values: Sequence[Value]) -> int:
    """The largest power of two up to 16 that divides the row size, in bytes, of all tensors."""
    common = ALIGNMENT
    for value in values:
        type = value.type
        assert isinstance(type, MemRefType)
        size = type.shape[-1] * bit_width(type.element) // 8
        while size % common:
            common //= 2
    return common


def dynamic(type: MemRefType) -> str:
    """A tensor's type with dynamic extents, in global memory."""
    return f"memref<{'?x' * type.rank}{type.element}>"


def divided(extent: int, tile: int) -> int:
    """The number of blocks of `tile` elements that cover an extent."""
    return -(-extent // tile)
