"""Asynchronous copies from global to shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects.tile.base import GLOBAL_BUFFER, SHARED_BUFFER
from tessera_tools.ir.types import DYNAMIC, stored_bits
from tessera_tools.opdef import (
    BOOL_ATTR,
    I64_ARRAY,
    I64_ATTR,
    STRING_ATTR,
    Completion,
    MemoryEffects,
    Op,
    arrive,
    attribute,
    operand,
    read,
    wait,
    write,
)

PRIORITIES = ("low", "normal", "high")


class CopyLike(Op, traits=(MemoryEffects(read("source"), write("dest", by=Completion.GROUP)),)):
    """The base of copies of a matrix. Elements beyond the source become zero."""

    source = operand(GLOBAL_BUFFER)
    dest = operand(SHARED_BUFFER)
    bypass_l1 = attribute(BOOL_ATTR, optional=True)
    double_buffer = attribute(BOOL_ATTR, optional=True)
    stages = attribute(I64_ATTR, optional=True)
    priority = attribute(STRING_ATTR, optional=True)
    assembly = "$source `,` $dest attr-dict `:` type($source) `,` type($dest)"

    def verify_op(self) -> None:
        source, dest = self.source.type, self.dest.type
        if source.element is not dest.element or source.rank != dest.rank:
            raise self.error(f"copies {source} to {dest}: ranks and element types must match")
        for axis, (have, room) in enumerate(zip(source.shape, dest.shape, strict=True)):
            if have != DYNAMIC and have > room:
                raise self.error(f"copies {have} elements along axis {axis} into a destination with {room}")
        if self.priority is not None and self.priority.value not in PRIORITIES:
            words = ", ".join(f'"{word}"' for word in PRIORITIES)
            raise self.error(f'has priority "{self.priority.value}"; expected one of {words}')
        if self.stages is not None and self.stages.value < 1:
            raise self.error(f"has {self.stages.value} stages; expected one or more")


class CpAsync(CopyLike, name="tile.cp_async"):
    """Starts a copy, which is complete when its group has been waited for."""


class CpAsyncCg(CopyLike, name="tile.cp_async_cg"):
    """Like `tile.cp_async`, with cp.async.cg: 16 bytes at a time, bypassing the L1 cache (`cache_level` is "L2")."""

    cache_level = attribute(STRING_ATTR, optional=True)

    def verify_op(self) -> None:
        super().verify_op()
        if self.cache_level is not None and self.cache_level.value != "L2":
            raise self.error(f'has cache_level "{self.cache_level.value}"; cp.async.cg caches in "L2" only')


class TmaLoad(CopyLike, name="tile.tma_load"):
    """Like `tile.cp_async`, with the Tensor Memory Accelerator, in boxes of `tile_size` elements (default: the whole
    tile).

    PTX ISA, "cp.async.bulk.tensor": a box has at most 256 elements along an axis, and rows of a multiple of 16 bytes.
    """

    tile_size = attribute(I64_ARRAY, optional=True)

    def verify_op(self) -> None:
        super().verify_op()
        box, whole = self.box, self.dest.type.shape
        if len(box) != len(whole) or any(n < 1 or extent % n for n, extent in zip(box, whole, strict=True)):
            raise self.error(f"has tile_size {list(box)}, which does not divide {self.dest.type}")
        problem = box_problem(box, stored_bits(self.dest.type.element))
        if problem is not None:
            raise self.error(f"has a box of {list(box)} elements: {problem}")

    @property
    def box(self) -> tuple[int, ...]:
        """The extents of what one instruction copies."""
        return tuple(self.tile_size.values) if self.tile_size is not None else tuple(self.dest.type.shape)


class CpCommitGroup(Op, name="tile.cp_commit_group", traits=(MemoryEffects(arrive(Completion.GROUP)),)):
    """Commits the copies started since the last commit as one group."""

    assembly = "attr-dict"


_MOST_PENDING = (1 << 31) - 1
"""The most groups that an instruction can name."""


class WaitLike(Op, traits=(MemoryEffects(wait(Completion.GROUP)),)):
    """The base of waits: until at most `pending` of this thread's latest groups are incomplete."""

    pending = attribute(I64_ATTR)
    assembly = "$pending attr-dict"

    def effects(self) -> MemoryEffects:
        return MemoryEffects(wait(Completion.GROUP, pending=self.pending.value))

    def verify_op(self) -> None:
        if self.pending.value < 0:
            raise self.error(f"waits for {self.pending.value} groups to be left; expected 0 or more")
        if self.pending.value > _MOST_PENDING:
            raise self.error(
                f"waits for {self.pending.value} groups to be left; expected at most {_MOST_PENDING}"
            )


class CpWaitGroup(WaitLike, name="tile.cp_wait_group"):
    """Waits until at most `pending` of this thread's latest groups are incomplete."""


class WaitGroup(WaitLike, name="tile.wait_group"):
    """Like `tile.cp_wait_group`."""


class AsyncWait(
    Op, name="tile.async_wait", traits=(MemoryEffects(arrive(Completion.GROUP), wait(Completion.GROUP)),)
):
    """Wait for all copies of this thread."""

    assembly = "attr-dict"


MOST_OF_A_BOX = 256
"""Elements of a box along an axis, at most (PTX ISA, "Tensors: bounding box")."""


def box_problem(box: Sequence[int], bits: int) -> str | None:
    """Why the Tensor Memory Accelerator cannot copy a box of elements of `bits` bits; None if it can."""
    if len(box) > 5:
        return "it has at most 5 axes"
    if any(n > MOST_OF_A_BOX for n in box):
        return f"an axis has at most {MOST_OF_A_BOX}"
    if bits not in (8, 16, 32, 64):
        return "its elements must have 8, 16, 32 or 64 bits"
    if box[-1] * bits % 128:
        return "its rows must have a multiple of 16 bytes"
    return None
