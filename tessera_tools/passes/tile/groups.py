"""Groups of copies: commits and waits, by cp.async or by the mbarriers of boxes; barriers."""

from __future__ import annotations

from collections.abc import Sequence

from tessera_tools.dialects import nv_tileas, tile
from tessera_tools.ir.builtin_attributes import UNIT, i32
from tessera_tools.ir.core import Operation
from tessera_tools.passes.tile.lowering import Lowering, handles


@handles("tile.cp_commit_group")
def commit(low: Lowering, op: tile.CpCommitGroup) -> None:
    if low.by_threads:
        low.insert(nv_tileas.AsyncCommitGroup())
    commit_boxes(low, op)


@handles("tile.cp_wait_group", "tile.wait_group")
def wait(low: Lowering, op: tile.CpWaitGroup | tile.WaitGroup) -> None:
    if low.by_threads:
        low.insert(nv_tileas.AsyncWaitGroup(i32(op.pending.value)))
    wait_for_boxes(low, low.groups.waits.get(op, ()))


@handles("tile.async_wait")
def wait_all(low: Lowering, op: tile.AsyncWait) -> None:
    """Commit all copies, and wait for them."""
    if low.by_threads:
        low.insert(nv_tileas.AsyncCommitGroup())
        low.insert(nv_tileas.AsyncWaitGroup(i32(0)))
    commit_boxes(low, op)
    wait_for_boxes(low, low.groups.waits.get(op, ()))


def commit_boxes(low: Lowering, op: Operation) -> None:
    """Commit the boxes that were started, if an op commits any."""
    if op in low.groups.commits:
        assert low.pipeline is not None
        if op in low.groups.added:
            low.insert(nv_tileas.Barrier(UNIT))
        low.insert(nv_tileas.BoxCommit(low.pipeline, low.filled))
        low.filled = low.insert(nv_tileas.IncIter(low.filled)).res


def wait_for_boxes(low: Lowering, left: Sequence[int]) -> None:
    """Wait for the oldest groups, one after the other; so many may be in flight behind each."""
    for pending in left:
        assert low.pipeline is not None
        low.insert(nv_tileas.BoxWait(low.pipeline, low.drained, i32(pending)))
        low.drained = low.insert(nv_tileas.IncIter(low.drained)).res


@handles("tile.barrier")
def barrier(low: Lowering, op: tile.Barrier) -> None:
    low.insert(nv_tileas.Barrier(UNIT if op in low.groups.barriers else None))
