"""Where the threads of a CTA must wait for each other: membar analysis over structured control flow.

    pending:  every access since the last barrier          at a barrier           nothing is pending
              (bytes of shared memory, or global memory)    at an access           a conflict? → a barrier before it
                                                            at a loop              again, with what its end leaves

Two accesses conflict if one of them writes, and they may touch the same place through different threads: of shared
memory, if their byte intervals overlap; of global memory, if tokens order them (`memory_order.py`).  A `cp.async`
writes when its group is waited for; until then only what the pipeline does with its own buffer may follow.

A barrier stands as late as it can, but before every loop that its reasons lie outside of.  In the end no barrier is
left without which there would be no conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tessera_tools.dialects import nv_tileaa, nv_tileas
from tessera_tools.dialects.nv_tileaa import MEM_TOKEN
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.core import Block, Builder, Operation
from tessera_tools.ir.effects import own_effects
from tessera_tools.passes.tileas.memory_order import MemoryOrder, memory_kinds
from tessera_tools.passes.tileas.shared_memory import Allocation


@dataclass(frozen=True, slots=True)
class Access:
    """One access: the op that makes it, whether it writes, its bytes of shared memory from `first` to before `end`
    (both 0: global memory), and whether it is a copy under way."""

    op: Operation
    writes: bool
    first: int = 0
    end: int = 0
    under_way: bool = False
    buffer: Operation | None = None
    """The alloc_tensor that is accessed; None for scratch and global memory."""
    loops: frozenset[Operation] = frozenset()
    """The loops around the op in an earlier iteration of which it was made."""
    by_element: bool = False
    """Whether each thread chooses its own place of global memory, in an order that no token says: only barriers of the
    program do."""
    groups: int = 0
    """Of a copy under way: the groups committed since it began, its own among them; no more than `_MOST_GROUPS`."""

    @property
    def is_global(self) -> bool:
        return self.end == 0

    def landed(self, pending: int) -> Access:
        """The same access behind a wait that leaves the latest `pending` groups."""
        return replace(self, under_way=False, groups=0) if self.groups > pending else self

    def committed(self) -> Access:
        """The same access when one more group has been committed."""
        return replace(self, groups=min(self.groups + 1, _MOST_GROUPS)) if self.under_way else self

    def again(self, loop: Operation) -> Access:
        """The same access as the next iteration of a loop sees it."""
        return replace(self, loops=self.loops | {loop}) if loop.is_ancestor_of(self.op) else self

    def behind(self, loop: Operation) -> Access:
        """The same access as what follows a loop sees it."""
        return replace(self, loops=self.loops - {loop}) if loop in self.loops else self


@dataclass(frozen=True, slots=True)
class Effects:
    """What an op does: accesses, or it is a barrier, or it waits for copies."""

    accesses: tuple[Access, ...] = ()
    own_barrier: bool = False
    """Whether the op has barriers of its own."""
    behind: tuple[Access, ...] = ()
    """With barriers of its own: the accesses that may be behind the last one."""
    is_barrier: bool = False
    commits: bool = False
    """Whether the op commits a group of copies."""
    pending: int | None = None
    """Of a wait: how many groups may be incomplete behind it."""


_MOST_GROUPS = 16
"""More groups than any wait leaves incomplete; what is older is as good as this old."""
Pending = frozenset[Access]
_Pair = tuple[Operation, Operation, frozenset[Operation]]
"""An access, a later one, and the loops in an earlier iteration of which the first was made."""
_NONE: Pending = frozenset()


def insert_barriers(function: Operation, allocation: Allocation) -> tuple[int, int]:
    """Make the barriers of a function those that it needs; how many were (inserted, removed)."""
    analysis = _Analysis(function, allocation)
    inserted = 0

    def insert(place: Operation) -> None:
        nonlocal inserted
        inserted += 1
        barrier = nv_tileas.Barrier(location=place.location)
        Builder.before(place).insert(barrier)
        analysis.add(barrier)

    while not analysis.walk(insert):
        pass
    removed = 0
    for barrier in sorted(analysis.barriers(), key=_depth, reverse=True):
        if analysis.without(barrier):
            barrier.erase()
            removed += 1
    # A barrier that was inserted and then not needed was never there.
    both = min(inserted, removed)
    return inserted - both, removed - both


def _depth(op: Operation) -> int:
    depth = 0
    while op.parent_op is not None:
        op = op.parent_op
        depth += 1
    return depth


class _Conflict(Exception):
    """There is a conflict, and nothing may be inserted."""


class _Restart(Exception):
    """A barrier was inserted before the place that is being walked."""


class _Analysis:
    """Walks of one function; what its ops do is found once."""

    def __init__(self, function: Operation, allocation: Allocation) -> None:
        self.function = function
        self.allocation = allocation
        self.order = MemoryOrder()
        self.effects: dict[Operation, Effects] = {}
        self.around: set[Operation] = set()
        """The ops that have one with effects inside."""
        self.insert: Callable[[Operation], None] | None = None
        self.ignored: Operation | None = None
        self.unordered: set[_Pair] = set()
        """Accesses of global memory that threads may make in any order, as far as the last walk saw."""
        self.breaks: dict[Operation, Pending | None] = {}
        self.continues: dict[Operation, Pending | None] = {}
        for op in function.walk():
            self.add(op)

    def add(self, op: Operation) -> None:
        """Take note of an op."""
        effects = self._effects_of(op)
        leaves = isinstance(op, nv_tileaa.Break | nv_tileaa.Continue | nv_tileaa.Return)
        if effects is not None:
            self.effects[op] = effects
        if effects is None and not leaves:
            return
        parent = op.parent_op
        while parent is not None and parent not in self.around:
            self.around.add(parent)
            parent = parent.parent_op

    def _effects_of(self, op: Operation) -> Effects | None:
        if isinstance(op, nv_tileas.Barrier):
            return Effects(is_barrier=True)
        if isinstance(op, nv_tileas.AsyncWaitGroup):
            return Effects(pending=op.pending.value)
        if isinstance(op, nv_tileas.AsyncCommitGroup):
            return Effects(commits=True)
        accesses: list[Access] = []
        kinds = memory_kinds(op)
        copies = isinstance(op, nv_tileas.AsyncTiledCopy)
        if isinstance(op, nv_tileas.LoadGlobal | nv_tileas.StoreGlobal):
            accesses.append(Access(op, isinstance(op, nv_tileas.StoreGlobal), by_element=True))
        elif copies and not kinds:
            accesses.append(Access(op, False))
        elif kinds:
            # What a copy writes is shared memory.  It has read global memory before the barrier that its readers need,
            # so that no later access has to wait for it.
            accesses.append(Access(op, "write" in kinds and not copies))
        elif isinstance(op, nv_tileaa.HeapFree):
            accesses.append(Access(op, True))
        buffers = {v.defining_op for v in op.operands if isinstance(v.type, nv_tileas.SmemType)}
        effects = own_effects(op)[0]
        for buffer in buffers:
            if buffer not in self.allocation.offsets:
                raise op.error("uses shared memory that no nv_tileas.alloc_tensor gives")
            first, size = self.allocation.offsets[buffer], self.allocation.sizes[buffer]
            if copies or effects is None or "write" in effects:
                accesses.append(Access(op, True, first, first + size, copies, buffer))
            else:
                accesses.append(Access(op, False, first, first + size, buffer=buffer))
        if not isinstance(op, nv_tileas.AllocTensor) and op in self.allocation.offsets:
            first, size = self.allocation.offsets[op], self.allocation.sizes[op]
            store, load = Access(op, True, first, first + size), Access(op, False, first, first + size)
            # What comes out of scratch was got from memory before.
            gives = any(result.type is not MEM_TOKEN for result in op.results)
            behind = () if gives else tuple(accesses)
            return Effects((store, *accesses), own_barrier=True, behind=(*behind, load))
        return Effects(tuple(accesses)) if accesses else None

    def barriers(self) -> list[Operation]:
        """The barriers of the function, in order."""
        return [op for op in self.function.walk() if isinstance(op, nv_tileas.Barrier)]

    def without(self, barrier: Operation) -> bool:
        """Whether there is no conflict without a barrier."""
        before: set[_Pair] = set()
        if any(a.by_element for effects in self.effects.values() for a in effects.accesses):
            self.unordered.clear()
            self.walk(None)
            before |= self.unordered
        self.ignored = barrier
        self.unordered.clear()
        free = self.walk(None) and self.unordered <= before
        self.ignored = None
        return free

    def walk(self, insert: Callable[[Operation], None] | None) -> bool:
        """Walk the function; whether there was no conflict, or all could be ordered by barriers inserted on the way.
        Where nothing may be inserted, it ends at the first conflict; else where it has to begin again."""
        self.insert = insert
        self.breaks.clear()
        self.continues.clear()
        try:
            for region in self.function.regions:
                for block in region.blocks:
                    self.block(block, _NONE)
        except (_Conflict, _Restart):
            return False
        return True

    # -- control flow

    def block(self, block: Block, pending: Pending | None) -> Pending | None:
        """What is pending behind a block; None where its end is never reached."""
        for op in list(block):
            if pending is None:
                return None
            if isinstance(op, nv_tileaa.Return):
                return None
            if isinstance(op, nv_tileaa.Break | nv_tileaa.Continue):
                loop = enclosing_loop(op)
                ends = self.breaks if isinstance(op, nv_tileaa.Break) else self.continues
                ends[loop] = _either(ends.get(loop), pending)
                return None
            if op in self.effects:
                pending = self.step(op, pending)
            if op in self.around:
                pending = (
                    self.loop(op, pending) if getattr(op, "is_loop", False) else self.branch(op, pending)
                )
        return pending

    def branch(self, op: Operation, pending: Pending) -> Pending | None:
        """One of the regions runs; if there is only one, or one is empty, perhaps none."""
        ends = [self.block(region.blocks[0], pending) for region in op.regions if region.blocks]
        after = pending if len(ends) < max(2, len(op.regions)) else None
        for end in ends:
            after = _either(after, end)
        return after

    def loop(self, op: Operation, pending: Pending) -> Pending | None:
        """The regions run one behind the other, again and again; what is pending where they start only grows."""
        head = pending
        while True:
            self.breaks.pop(op, None)
            self.continues.pop(op, None)
            end: Pending | None = head
            left: Pending | None = head
            for region in op.regions:
                end = self.block(region.blocks[0], end)
                left = _either(left, end)
            back = _either(end, self.continues.get(op))
            if back is None:
                break
            back = frozenset(access.again(op) for access in back)
            if back <= head:
                break
            head |= back
        after = self.breaks.get(op) if isinstance(op, nv_tileaa.Loop) else left
        return None if after is None else frozenset(access.behind(op) for access in after)

    # -- accesses

    def step(self, op: Operation, pending: Pending) -> Pending:
        """What is pending behind an op."""
        effects = self.effects[op]
        if effects.is_barrier:
            return pending if op is self.ignored else _after_barrier(pending)
        left = effects.pending
        if left is not None:
            return frozenset(access.landed(left) for access in pending)
        if effects.commits:
            return frozenset(access.committed() for access in pending)
        reasons = [
            earlier for access in effects.accesses for earlier in pending if self.conflict(earlier, access)
        ]
        if reasons:
            if self.insert is None:
                raise _Conflict
            place = _outermost(op, reasons)
            self.insert(place)
            if place is not op:
                raise _Restart
            pending = _after_barrier(pending)
        if not effects.own_barrier:
            return pending | set(effects.accesses)
        return _after_barrier(pending) | set(effects.behind)

    def conflict(self, earlier: Access, later: Access) -> bool:
        """Whether threads that make one access may have to wait for threads that make the other."""
        if earlier.is_global != later.is_global or not (earlier.writes or later.writes):
            return False
        if isinstance(later.op, nv_tileaa.HeapFree):
            # Nobody is still at the memory, whatever tokens say.
            return True
        if earlier.by_element or later.by_element:
            self.unordered.add((earlier.op, later.op, earlier.loops))
            return False
        if earlier.is_global:
            return self.order.concerns_others(earlier.op, later.op, bool(earlier.loops))
        if earlier.end <= later.first or later.end <= earlier.first:
            return False
        if not earlier.under_way:
            return True
        if earlier.buffer is later.buffer and not _has_one_stage(earlier.buffer):
            # The stages of a pipeline: what is read was waited for, what is filled was read before the last barrier.
            return False
        raise later.op.error(
            "uses shared memory that a copy under way may still fill; an nv_tileas.async.wait_group must stand before"
        )


def _has_one_stage(buffer: Operation | None) -> bool:
    return isinstance(buffer, nv_tileas.AllocTensor) and buffer.res.type.stages == 1


def _either(a: Pending | None, b: Pending | None) -> Pending | None:
    """What may be pending where two ways meet."""
    if a is None or b is None:
        return b if a is None else a
    return a | b


def _after_barrier(pending: Pending) -> Pending:
    """Copies that are under way stay so."""
    return frozenset(access for access in pending if access.under_way)


def _outermost(op: Operation, reasons: list[Access]) -> Operation:
    """The outermost loop around an op that no reason lies in; the op itself if there is none."""
    place = op
    around = op.parent_op
    while around is not None and not isinstance(around, nv_tileaa.Func):
        if any(around.is_ancestor_of(access.op) for access in reasons):
            break
        if getattr(around, "is_loop", False):
            place = around
        around = around.parent_op
    return place
