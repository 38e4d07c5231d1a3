"""tile-barrier-optimization: makes the barriers and waits of `tile` kernels complete and minimal.

    store_shared %v, %s[%i]; load_shared %s[%j]     ──▶  a tile.barrier between
    cp_wait_group 0; …; mma %s, %t                  ──▶  …; cp_wait_group n; barrier; mma %s, %t
    barrier; barrier                                ──▶  barrier

Three placements are tried, and the first of minimal cost is used: all barriers and waits placed as late as possible,
but before every loop that contains none of the earlier accesses; the same, with waits moved before barriers that are
needed anyway; and the program's own, with missing ones added and redundant ones removed.  A barrier in a loop costs
as much as a hundred outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import ClassVar

from tessera_tools.dialects import func, tile
from tessera_tools.dialects.tile.asynchronous import WaitLike
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import Builder, Operation
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.printing import print_op
from tessera_tools.passes.base import Pass, PassContext
from tessera_tools.passes.tile.convert_tile_to_tileas import is_kernel
from tessera_tools.passes.tile.hazards import TileHazards

_LOOP_WEIGHT = 100


class BarrierOptimization(Pass):
    """Insert missing barriers and waits, and remove redundant ones."""

    name: ClassVar = "tile-barrier-optimization"
    summary: ClassVar = (
        "remove redundant barriers, insert missing ones, and move waits for copies to their uses"
    )
    anchor: ClassVar = "builtin.module"
    requires: ClassVar = "kernels of the tile dialect with loops and branches of scf"
    ensures: ClassVar = (
        "conflicting accesses of shared memory by different threads are separated by a barrier, after waits "
        "for copies; no barrier or wait is redundant"
    )
    statistics: ClassVar[Mapping[str, str]] = {
        "barriers": "barriers in kernels",
        "barriers-before": "barriers in the input",
        "waits": "waits for copies in kernels",
        "waits-before": "waits in the input",
    }

    def run(self, op: Operation, context: PassContext) -> bool:
        changed = False
        for function in list(op.regions[0].entry):
            if isinstance(function, func.Func) and function.regions[0].blocks and is_kernel(function):
                changed |= self.run_on_kernel(function, context)
        return changed

    def run_on_kernel(self, function: Operation, context: PassContext) -> bool:
        """Choose the best placement for one kernel; returns true if the kernel changed."""
        best = needed(function)
        for name, kinds in (("barriers", tile.Barrier), ("waits", WaitLike | tile.AsyncWait)):
            context.count(name, _count(best, kinds))
            context.count(f"{name}-before", _count(function, kinds))
        if print_op(best) == print_op(function):
            return False
        assert function.parent is not None
        function.parent.insert_before(function, best)
        function.erase()
        return True


def needed(function: Operation) -> Operation:
    """A copy of a kernel with the necessary barriers and waits.  Raises errors for ops that the analysis does not
    support."""
    _check(function)
    kept = _kept(function)
    for early in (False, True):
        found = _rebuilt(function, early)
        if _cost(found) <= _cost(kept):
            return found
    return kept


def _check(function: Operation) -> None:
    """Raises errors for unsupported programs: unstructured control flow, barriers that not all threads reach."""
    hazards = TileHazards(function)
    for op in (function, *function.walk()):
        if any(len(region.blocks) > 1 for region in op.regions):
            raise op.error("has unstructured control flow; only scf loops and branches are supported")
        step = hazards.effects.get(op)
        if step is None or not (hazards.synchronizes(op) or any(a.in_flight for a in step.accesses)):
            continue
        around = op.parent_op
        while around is not None and around is not function:
            if hazards.differs(around):
                raise op.error("is under a thread-dependent condition; all threads must reach it")
            around = around.parent_op


def _plain_waits(function: Operation) -> None:
    """Replace every wait by a tile.cp_wait_group, and separate the commit of tile.async_wait."""
    for op in list(function.walk()):
        if isinstance(op, tile.AsyncWait):
            before = Builder.before(op)
            before.insert(tile.CpCommitGroup(location=op.location))
            before.insert(tile.CpWaitGroup(i64(0), location=op.location))
            op.erase()
        elif isinstance(op, tile.WaitGroup):
            Builder.before(op).insert(tile.CpWaitGroup(op.pending, location=op.location))
            op.erase()


def _kept(function: Operation) -> Operation:
    """A copy with the program's barriers and waits, with missing ones added and redundant ones removed."""
    copy = function.clone()
    _plain_waits(copy)
    hazards = TileHazards(copy)
    hazards.free = hazards.survey()
    hazards.before_barriers = True
    _finish(hazards)
    return copy


def _rebuilt(function: Operation, early: bool) -> Operation:
    """A copy with new barriers and waits; `early`: waits before barriers that are needed anyway."""
    copy = function.clone()
    _plain_waits(copy)
    hazards = TileHazards(copy)
    hazards.free = hazards.survey()
    hazards.before_barriers = early
    commits = -1
    # A newly inserted commit changes the count of groups: start again.
    while commits != hazards.commits:
        commits = hazards.commits
        for op in list(copy.walk()):
            if isinstance(op, tile.Barrier | WaitLike):
                hazards.remove(op)
        _finish(hazards)
    return copy


def _finish(hazards: TileHazards) -> None:
    hazards.complete()
    hazards.reduce()
    hazards.reduce_waits()


def _cost(function: Operation) -> int:
    """The number of barriers, weighted by frequency."""
    total = 0
    for op in function.walk():
        if isinstance(op, tile.Barrier):
            weight, around = 1, op.parent_op
            while around is not None and around is not function:
                weight *= _LOOP_WEIGHT if isinstance(around, LoopLike) else 1
                around = around.parent_op
            total += weight
    return total


def _count(function: Operation, kinds: type[Operation] | UnionType) -> int:
    return sum(isinstance(op, kinds) for op in function.walk())
