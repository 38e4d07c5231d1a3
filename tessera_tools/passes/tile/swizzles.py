"""The swizzles of buffers in shared memory."""

from __future__ import annotations

from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import memref, tile
from tessera_tools.ir.core import Value

_UNSWIZZLED, _DEFAULT = 0, 128


def swizzle_bytes(op: tile.AllocShared) -> int:
    """The bytes of a buffer's swizzle, 0 without one."""
    if op.swizzle is None or op.swizzle.value != "xor":
        return _UNSWIZZLED
    if op.swizzle_size is not None:
        return op.swizzle_size.value
    type = op.res.type
    return min(_DEFAULT, type.shape[-1] * storage_bits(type.element) // 8)


def buffer_of(value: Value) -> tile.AllocShared | None:
    """The op that allocates a buffer, or the one that a stage is of; None if it is a parameter."""
    made = value.defining_op
    while isinstance(made, memref.SubView):
        made = made.source.defining_op
    return made if isinstance(made, tile.AllocShared) else None


def swizzle_of(value: Value) -> int | None:
    """The bytes of the swizzle of a buffer in shared memory, or of the one that a stage is of; 0 without one.  None for
    a parameter, of which nothing is known."""
    made = buffer_of(value)
    return swizzle_bytes(made) if made is not None else None
