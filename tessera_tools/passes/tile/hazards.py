"""The accesses of `tile` ops to memory shared by threads, and the barriers and waits that they require.

    tile.cp_async %g, %s; tile.cp_commit_group      a copy in flight: %s is written after a wait for its group
    tile.mma %s, …                                  reads all of %s, by every thread
    tile.store_shared %v, %s[%tid]                  writes bytes of %s; its own, if the index is the thread's number

    in flight, then used     ──▶  tile.cp_wait_group n before the use, with n groups that were committed later
    complete, then used by other threads, and one of them writes         ──▶  tile.barrier

analysis/hazards.py propagates hazards through loops and branches.  Buffers in shared memory are distinct if different
ops allocate them.  In global memory, collective accesses of the same matrix are ordered.  For other accesses, and those
of single elements, the program's barriers are kept if they order accesses, and none is inserted.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tessera_tools.analysis.divergence import differs, divergent_values
from tessera_tools.analysis.facts import Facts
from tessera_tools.analysis.hazards import (
    Access,
    Conflict,
    Hazards,
    Pair,
    Pending,
    Restart,
    Step,
    depth,
)
from tessera_tools.analysis.storage import storage_bits
from tessera_tools.dialects import arith, tile
from tessera_tools.dialects.memref.buffers import ViewLike
from tessera_tools.dialects.tile.asynchronous import WaitLike
from tessera_tools.ir.builtin_attributes import i64
from tessera_tools.ir.core import BlockArgument, Operation, Value
from tessera_tools.ir.effects import Effect, Kind, Reach, Resource, accesses
from tessera_tools.ir.folding import constant_integer
from tessera_tools.ir.interfaces import LoopLike, MemoryAccess
from tessera_tools.ir.types import IndexType, MemRefType

_VIEWS = (tile.ComputeTensorSlice, ViewLike)


def root_of(buffer: Value) -> Value:
    """The allocation, parameter or other value that is the base of a view."""
    while isinstance(op := buffer.defining_op, _VIEWS):
        buffer = op.operand(0)
    return buffer


class TileHazards(Hazards):
    """The accesses of one kernel."""

    def __init__(self, function: Operation) -> None:
        self.facts = Facts()
        self.divergent = divergent_values(function)
        self.free: set[Pair] | None = None
        """Accesses of global memory that the program does not order."""
        self.surveying = False
        self.commits = 0
        """Inserted commits."""
        self.before_barriers = False
        """A missing wait may be inserted before an existing barrier, if that avoids another barrier."""
        self.ending: dict[Operation, set[Value]] = {}
        """The ops before which copies into a buffer must be complete, because the buffer is no longer used."""
        super().__init__(function)
        self._find_ends()

    # -- accesses

    def new_barrier(self, place: Operation) -> Operation:
        return tile.Barrier(location=place.location)

    def accesses_of(self, op: Operation) -> list[Access]:
        found: dict[Hashable, Access] = {}
        for effect, value in accesses(op):
            if value is None or effect.kind is Kind.ALLOCATE or effect.resource is Resource.REGISTERS:
                continue
            shared = effect.resource is Resource.SHARED
            first, end = self._bytes(op, effect, value) if shared else (0, 0)
            buffer = root_of(value) if shared else value
            if buffer not in found or effect.kind is not Kind.READ:
                found[buffer] = Access.of(op, effect, first, end, buffer)
        return list(found.values())

    def _bytes(self, op: Any, effect: Effect, value: Value) -> tuple[int, int]:
        """The bytes of a buffer that an op may access, from the known bounds of its indices."""
        type = value.type_as(MemRefType)
        bits = (
            64 if isinstance(type.element, IndexType) else storage_bits(type.element)
        )  # index: a host function
        known = type.is_static and type.layout is None
        size = max(1, type.num_elements * bits // 8) if known else 1 << 62
        if effect.reach is not Reach.BY_THREAD or root_of(value) is not value or not known:
            return (0, size) if root_of(value) is value else (0, 1 << 62)
        first = last = 0
        for index, extent in zip(op.indices, type.shape, strict=True):
            low, high = self.facts.lower(index), self.facts.upper(index)
            first = first * extent + (low if low is not None and 0 <= low < extent else 0)
            last = last * extent + (high if high is not None and 0 <= high < extent else extent - 1)
        width = op.width if isinstance(op, MemoryAccess) else 1
        return first * bits // 8, min(size, max(-(-(last + width) * bits // 8), 1))

    def conflict(self, earlier: Access, later: Access) -> bool:
        if earlier.is_global != later.is_global or not (earlier.writes or later.writes):
            return False
        if not earlier.in_flight and (
            self._by_one_thread(earlier, later) or self._in_own_iterations(earlier, later)
        ):
            return False
        if not earlier.is_global:
            if earlier.buffer is not later.buffer and (
                _is_allocated(earlier.buffer) or _is_allocated(later.buffer)
            ):
                return False
            return earlier.end > later.first and later.end > earlier.first
        if not (earlier.by_element or later.by_element) and _same_each_time(
            earlier.buffer, later.buffer, earlier
        ):
            return True
        pair = (earlier.op, later.op, earlier.loops)
        self.unordered.add(pair)
        return self.free is not None and pair not in self.free

    def _by_one_thread(self, earlier: Access, later: Access) -> bool:
        """True if each thread accesses the same addresses in both accesses: single elements (or vectors of
        the same width) with the same thread-dependent part of their indices."""
        if earlier.buffer is not later.buffer or earlier.reach is not later.reach:
            return False
        if earlier.reach is not Reach.BY_THREAD:
            return earlier.reach is Reach.OWN
        a, b = earlier.op, later.op
        if not isinstance(a, MemoryAccess) or not isinstance(b, MemoryAccess):
            return False
        width = a.width
        if width != b.width or len(a.indices) != len(b.indices):
            return False
        last = len(a.indices) - 1
        shared = [
            (x, width if place == last else 1)
            for place, (x, y) in enumerate(zip(a.indices, b.indices, strict=True))
            if _same_each_time(x, y, earlier)
        ]
        return _is_own(shared, self.divergent)

    def _in_own_iterations(self, earlier: Access, later: Access) -> bool:
        """True if single elements are accessed in iterations of a loop with divergent bounds, and not of an enclosing
        loop: barriers are not allowed there, so the program must avoid races."""
        if not isinstance(earlier.op, MemoryAccess) or not isinstance(later.op, MemoryAccess):
            return False
        return any(self.differs(loop) and not _is_around(loop, earlier.loops) for loop in earlier.loops)

    def _find_ends(self) -> None:
        """Find where copies must be complete because their buffer is no longer used, so that its bytes can be reused.

        After a loop, the conversion waits for all copies.
        """
        last: dict[Value, Operation] = {}
        copied: set[Value] = set()
        for op, effects in self.effects.items():
            for access in effects.accesses:
                home = None if access.is_global else access.buffer.defining_op
                if home is None:
                    continue
                outer: Operation | None = op
                while outer is not None and outer.parent is not home.parent:
                    outer = outer.parent_op
                if outer is not None:
                    last[access.buffer] = outer
                    if access.in_flight:
                        copied.add(access.buffer)
        for buffer, op in last.items():
            following = op.next_op
            if buffer not in copied or isinstance(op, LoopLike) or following is None:
                continue
            while following is not None and self.synchronizes(following):
                following = following.next_op
            if following is not None and following.next_op is not None:
                self.ending.setdefault(following, set()).add(buffer)
                self.effects.setdefault(following, Step())

    def synchronizes(self, op: Operation) -> bool:
        """True if an op is a barrier, or commits or waits for copies."""
        return (step := self.step_of(op)) is not None and (
            step.is_barrier or bool(step.commits or step.waits)
        )

    # -- walking

    def survey(self) -> set[Pair]:
        """Collect the accesses of global memory that the input program does not order."""
        self.unordered.clear()
        self.surveying = True
        self.walk(inserting=True)
        self.surveying = False
        return set(self.unordered)

    def step(self, op: Operation, pending: Pending) -> Pending:
        ends = self.ending.get(op)
        late = [a for a in pending if ends and a.in_flight and not a.is_global and a.buffer in ends]
        if late and not self.surveying:
            if not self.inserting:
                raise Conflict(op, late[0].op)
            self._wait(op, late, False)
        return super().step(op, pending)

    def without(self, barrier: Operation) -> bool:
        self.ignored = barrier
        free = self.walk()
        self.ignored = None
        return free

    def place(self, op: Operation, reasons: list[Access]) -> Operation:
        place = super().place(op, reasons)
        around = place.parent_op
        while around is not None and around is not self.function:
            if self.differs(around):
                inside = [access for access in reasons if around.is_ancestor_of(access.op)]
                # Accesses of an earlier iteration of an enclosing loop are also before the branch.
                if not all(_is_around(around, access.loops) for access in inside):
                    raise op.error(
                        "conflicts with an access by other threads under a thread-dependent condition, where a barrier "
                        "is not allowed; move one of them out"
                    )
                place = super().place(around, reasons)
                around = place
            around = around.parent_op
        return place

    def differs(self, op: Operation) -> bool:
        """True if threads diverge at an op."""
        return differs(op, self.divergent)

    # -- waits

    def order_after(self, op: Operation, reasons: list[Access], pending: Pending) -> Pending:
        if self.surveying:
            return pending
        late = [access for access in reasons if access.in_flight]
        if late:
            self._wait(op, late, len(late) < len(reasons))
        super().order_after(op, reasons, pending)
        # The accesses pending before the new barrier are queried later.
        raise Restart

    def _wait(self, op: Operation, late: list[Access], needs_barrier: bool) -> None:
        """Insert a wait for copies in flight before an op, or reduce the number of groups that an existing wait
        leaves."""
        place = self.place(op, late)
        if place is op and self.before_barriers and not needs_barrier:
            place = self._barrier_between(op, late) or op
        groups = self._groups(place, late)
        if groups == 0:
            self.commits += 1
            self.insert(place, tile.CpCommitGroup(location=place.location))
            raise Restart
        before = place.prev_op
        while before is not None and isinstance(before, tile.Barrier):
            before = before.prev_op
        if isinstance(before, tile.CpWaitGroup) and before.pending.value >= groups:
            self._leave(before, groups - 1)
        else:
            self.inserted += 1
            self.insert(place, tile.CpWaitGroup(i64(groups - 1), location=place.location))
        raise Restart

    def _groups(self, place: Operation, late: list[Access]) -> int:
        """The number of groups committed since the latest of `late`, at `place`."""
        wanted = {(access.op, access.buffer) for access in late}
        found = [a.groups for a in self.before[place] if a.in_flight and (a.op, a.buffer) in wanted]
        return min(found, default=0)

    def _barrier_between(self, op: Operation, late: list[Access]) -> Operation | None:
        """The last barrier before an op, in its block, that is after the commits of all copies in `late`."""
        before = op.prev_op
        while before is not None and not isinstance(before, tile.Barrier):
            before = before.prev_op
        if before is None or before not in self.before:
            return None
        here = {(a.op, a.buffer) for a in self.before[before] if a.in_flight and a.groups > 0}
        return before if all((access.op, access.buffer) in here for access in late) else None

    def _leave(self, wait: Any, groups: int) -> None:
        wait.attributes["pending"] = i64(groups)
        self.add(wait)

    def reduce_waits(self) -> None:
        """Erase redundant waits, and let the others leave as many groups as possible."""
        waits = [op for op in self.function.walk() if isinstance(op, WaitLike)]
        for wait in sorted(waits, key=depth, reverse=True):
            if self.without(wait):
                self.remove(wait)
                continue
            allowed = wait.pending.value
            most = max((a.groups for a in self.before.get(wait, frozenset()) if a.in_flight), default=allowed)
            for groups in range(most - 1, allowed, -1):
                self._leave(wait, groups)
                if self.walk():
                    break
                self._leave(wait, allowed)


def _is_around(op: Operation, loops: frozenset[Operation]) -> bool:
    """True if one of the loops encloses an op."""
    return any(loop is not op and loop.is_ancestor_of(op) for loop in loops)


def _is_allocated(buffer: Value) -> bool:
    return isinstance(buffer.defining_op, tile.AllocShared)


def _same_each_time(x: Value, y: Value, earlier: Access) -> bool:
    """True if two values are equal, even if the first is of an earlier iteration."""
    if x is not y:
        return False
    home: Operation | None = x.owner_block.parent_op if isinstance(x, BlockArgument) else x.defining_op
    return home is None or not any(loop is home or loop.is_ancestor_of(home) for loop in earlier.loops)


def _is_own(indices: list[tuple[Value, int]], divergent: set[Value]) -> bool:
    """True if any two threads differ in one of the indices, by at least the distance given with it."""
    digits: set[Hashable] = set()
    for index, width in indices:
        digit, spacing = _digit(index, divergent)
        if digit is not None and spacing >= width:
            digits.add(digit)
    if "thread" in digits or {"warp", "lane"} <= digits:
        return True
    return any(("quotient", d[1]) in digits for d in digits if isinstance(d, tuple) and d[0] == "remainder")


def _digit(index: Value, divergent: set[Value]) -> tuple[Hashable, int]:
    """The bits of the thread id that an index determines, and the minimum distance of the indices of two threads that
    differ in them; None if unknown."""
    op = index.defining_op
    if isinstance(op, tile.ThreadId):
        return "thread", 1
    if isinstance(op, tile.WarpId):
        return "warp", 1
    if isinstance(op, tile.LaneId):
        return "lane", 1
    if isinstance(op, arith.AddI | arith.SubI | arith.MulI):
        for own, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if other in divergent:
                continue
            digit, spacing = _digit(own, divergent)
            factor = constant_integer(other) if isinstance(op, arith.MulI) else 1
            if digit is not None and factor:
                return digit, spacing * abs(factor)
    if isinstance(op, arith.DivUI | arith.RemUI) and isinstance(op.lhs.defining_op, tile.ThreadId):
        by = constant_integer(op.rhs)
        if by:
            return ("quotient" if isinstance(op, arith.DivUI) else "remainder", by), 1
    return None, 0
