"""Copies from global to shared memory that go on while the threads compute."""

from __future__ import annotations

from typing import Any

from tessera_tools.dialects.tile.base import CHANGES, GLOBAL_BUFFER, SHARED_BUFFER
from tessera_tools.ir.types import DYNAMIC
from tessera_tools.opdef import (
    BOOL_ATTR,
    I64_ATTR,
    STRING_ATTR,
    Op,
    attribute,
    operand,
)


class CopyLike(Op):
    """The base of copies of a matrix; what lies beyond the source arrives as zero."""

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
            raise self.error(f"copies {source} to {dest}: ranks and element types must agree")
        for axis, (have, room) in enumerate(zip(source.shape, dest.shape, strict=True)):
            if have != DYNAMIC and have > room:
                raise self.error(f"copies {have} elements along axis {axis} into {room}")
        if self.stages is not None and self.stages.value < 1:
            raise self.error(f"has {self.stages.value} stages; expected one or more")


class CpAsync(CopyLike, name="tile.cp_async", traits=(CHANGES,)):
    """Start a copy; complete after the group that it is committed to has been waited for."""


class CpAsyncCg(CopyLike, name="tile.cp_async_cg", traits=(CHANGES,)):
    """As `tile.cp_async`, by cp.async.cg: 16 bytes at a time, around the L1 cache."""

    cache_level = attribute(STRING_ATTR, optional=True)


class TmaLoad(CopyLike, name="tile.tma_load", traits=(CHANGES,)):
    """As `tile.cp_async`, by the Tensor Memory Accelerator."""

    tile_size = attribute(STRING_ATTR, optional=True)


class CpCommitGroup(Op, name="tile.cp_commit_group", traits=(CHANGES,)):
    """The copies started since the last commit are one group."""

    assembly = "attr-dict"


class WaitLike(Op):
    """The base of waits: until at most `pending` of this thread's latest groups are incomplete."""

    pending = attribute(I64_ATTR)
    assembly = "$pending attr-dict"

    def verify_op(self) -> None:
        if self.pending.value < 0:
            raise self.error(f"waits for {self.pending.value} groups to be left; expected 0 or more")


class CpWaitGroup(WaitLike, name="tile.cp_wait_group", traits=(CHANGES,)):
    """Wait until at most so many of this thread's latest groups are incomplete."""


class WaitGroup(WaitLike, name="tile.wait_group", traits=(CHANGES,)):
    """As `tile.cp_wait_group`."""


class AsyncWait(Op, name="tile.async_wait", traits=(CHANGES,)):
    """Wait for all copies of this thread."""

    assembly = "attr-dict"


def tile_size_of(op: Any) -> tuple[int, ...]:
    """The box of a copy by TMA."""
    return tuple(op.dest.type.shape)
