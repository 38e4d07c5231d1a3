"""Placement of barriers between the threads of a CTA: membar analysis over structured control flow.

    pending:  every access since the last barrier          at a barrier           nothing is pending
                                                            at an access           a conflict? → a barrier before it
                                                            at a loop              repeat with the accesses pending at
                                                            its end

A subclass of `Hazards` for each level of IR defines the accesses of an op, and which accesses conflict
(`passes/tileas/barriers.py`, `passes/tile/hazards.py`).  The write of an asynchronous copy is complete after a wait
for its group, counted as for `cp.async` (PTX ISA, "cp.async.wait_group").

Barriers are placed as late as possible, but before every loop that contains none of the earlier accesses.  Redundant
barriers are then removed.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from tessera_tools.analysis.concurrency import Phases, unit_of, units_of
from tessera_tools.dialects import nv_tileaa
from tessera_tools.dialects.nv_tileaa.control import enclosing_loop
from tessera_tools.ir.core import Block, Builder, Operation
from tessera_tools.ir.effects import NO_EFFECT, Completion, Effect, Kind, MemoryEffects, Reach, Resource
from tessera_tools.ir.interfaces import LoopLike
from tessera_tools.ir.traits import OneRegionRuns, RegionsRunTogether
from tessera_tools.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Access:
    """One access: its op, its kind, and its bytes of shared memory from `first` to before `end`
    (both 0: global memory)."""

    op: Operation
    kind: Kind
    first: int = 0
    end: int = 0
    completion: Completion = Completion.AT_ONCE
    """For an asynchronous copy: its completion.  For an arrival by groups: it happens when the copies are complete."""
    reach: Reach = Reach.TOGETHER
    buffer: Any = None
    """The accessed object, as defined by the level of IR; None for scratch and global memory of nv_tileas."""
    barrier: Any = None
    """The phase of an arrival or wait, or at which a copy completes: (object, index)."""
    loops: frozenset[Operation] = frozenset()
    """The loops in an earlier iteration of which the access happened."""
    groups: int = 0
    """For an asynchronous copy: the groups committed since it began, including its own; at most `MOST_GROUPS`."""

    @classmethod
    def of(
        cls, op: Operation, effect: Effect, first: int, end: int, buffer: Any, barrier: Any = None
    ) -> Access:
        """The access of an effect of an op."""
        phase = (barrier if effect.through is not None else buffer, effect.phase)
        return cls(op, effect.kind, first, end, effect.completion, effect.reach, buffer, phase)

    @property
    def writes(self) -> bool:
        return self.kind is not Kind.READ

    @property
    def in_flight(self) -> bool:
        return self.kind in (Kind.READ, Kind.WRITE) and self.completion is not Completion.AT_ONCE

    @property
    def is_global(self) -> bool:
        return self.end == 0

    @property
    def by_element(self) -> bool:
        """True if each thread chooses its own address in global memory without tokens: only barriers of the
        program order such accesses."""
        return self.is_global and self.reach is Reach.BY_THREAD

    def completed(self) -> Access:
        """The same access after its completion."""
        return replace(self, completion=Completion.AT_ONCE, groups=0)

    def committed(self) -> Access:
        """The same access after one more group was committed."""
        return replace(self, groups=min(self.groups + 1, MOST_GROUPS))

    def again(self, loop: Operation) -> Access:
        """The same access, seen from the next iteration of a loop."""
        return replace(self, loops=self.loops | {loop}) if loop.is_ancestor_of(self.op) else self

    def after_loop(self, loop: Operation) -> Access:
        """The same access, seen from after a loop."""
        return replace(self, loops=self.loops - {loop}) if loop in self.loops else self


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of an op on the pending accesses: it accesses, synchronizes, commits or waits."""

    accesses: tuple[Access, ...] = ()
    own_barrier: bool = False
    """The lowering of the op has barriers of its own."""
    after_barriers: tuple[Access, ...] = ()
    """If it has barriers of its own: the accesses that may happen after the last one."""
    effects: MemoryEffects = NO_EFFECT
    """The declared effects."""

    @property
    def is_barrier(self) -> bool:
        """Returns true if the op is a barrier of all threads, which arrives and waits."""
        return self.effects.kinds >= _BARRIER and all(
            effect.resource is Resource.BARRIER and effect.on is None for effect in self.effects.own
        )

    @property
    def commits(self) -> list[Completion]:
        """Returns the kinds of completion of the groups that the op commits."""
        return commits(self.effects)

    @property
    def waits(self) -> dict[Completion, int]:
        """The number of groups that may be incomplete after the op (after the group that it commits, if any)."""
        return waits(self.effects)


def commits(effects: MemoryEffects) -> list[Completion]:
    """Returns the kinds of completion of the groups that an op commits."""
    return [
        e.completion for e in effects.own if e.kind is Kind.ARRIVE and e.completion in GROUPS and e.on is None
    ]


def waits(effects: MemoryEffects) -> dict[Completion, int]:
    """The number of groups of each kind that may be incomplete after an op."""
    return {e.completion: e.pending for e in effects.own if e.kind is Kind.WAIT and e.completion in GROUPS}


GROUPS = (Completion.GROUP, Completion.BOXES, Completion.BULK, Completion.BULK_READ, Completion.WGMMA)
"""Completions for which a wait counts groups."""
_BARRIER = frozenset((Kind.ARRIVE, Kind.WAIT))
MOST_GROUPS = 16
"""More groups than any wait leaves incomplete; greater ages are equivalent to this one."""
Pending = frozenset[Access]
Pair = tuple[Operation, Operation, frozenset[Operation]]
"""An access, a later one, and the loops in an earlier iteration of which the first one happened."""
_NONE: Pending = frozenset()


class Conflict(Exception):
    """There is a conflict, and no barrier may be inserted: an op, and what threads may still do before it."""

    def __init__(self, op: Operation, earlier: Operation) -> None:
        super().__init__(op, earlier)
        self.op, self.earlier = op, earlier


class Restart(Exception):
    """A barrier was inserted before the current position of the walk."""


class Hazards:
    """Walks one function.  The steps of its ops are cached; the subclass defines them."""

    def __init__(self, function: Operation) -> None:
        self.function = function
        self.effects: dict[Operation, Step] = {}
        self.around: set[Operation] = set()
        """The ops with a nested op that has effects."""
        self.inserting = False
        self.inserted = 0
        self.ignored: Operation | None = None
        self.found: Conflict | None = None
        """The conflict at which the last walk of the function ended."""
        self.unordered: set[Pair] = set()
        """Accesses of global memory, found by the last walk, that threads may execute in any order."""
        self.before: dict[Operation, Pending] = {}
        """The accesses that were pending before an op in the last walk."""
        self.by_element = False
        """There are accesses for which each thread chooses its own address in global memory."""
        self.breaks: dict[Operation, Pending | None] = {}
        self.continues: dict[Operation, Pending | None] = {}
        for op in function.walk():
            self.add(op)
        self.phases = Phases(self.effects)

    # -- defined by the level of IR

    def accesses_of(self, op: Operation) -> list[Access]:
        """Returns the accesses of an op to memory that threads share, from the effects that it declares."""
        raise AssertionError(f"{type(self).__name__} does not implement accesses_of")

    def step_of(self, op: Operation) -> Step | None:
        """Returns the effect of an op on the pending accesses; None if it has none."""
        accesses = tuple(self.accesses_of(op))
        effects = op.effects() or NO_EFFECT
        synchronizes = any(effect.kind in _BARRIER for effect in effects.own)
        return Step(accesses, effects=effects) if accesses or synchronizes else None

    def conflict(self, earlier: Access, later: Access) -> bool:
        """Returns true if the two accesses may conflict, so that a barrier may be needed between them."""
        raise AssertionError(f"{type(self).__name__} does not implement conflict")

    def new_barrier(self, place: Operation) -> Operation:
        """A new barrier for insertion before `place`."""
        raise AssertionError(f"{type(self).__name__} does not implement new_barrier")

    def place(self, op: Operation, reasons: list[Access]) -> Operation:
        """The op before which a barrier orders an access after earlier ones: the outermost enclosing loop that contains
        none of them, nor a wait for one; the op itself if there is no such loop."""
        completed = {(access.op, access.buffer) for access in reasons if not access.in_flight}
        place = op
        around = op.parent_op
        while around is not None and around is not self.function:
            before = self.before.get(around, _NONE)
            if any(around.is_ancestor_of(access.op) for access in reasons) or any(
                access.in_flight and (access.op, access.buffer) in completed for access in before
            ):
                break
            if isinstance(around, LoopLike) or around.has_trait(RegionsRunTogether):
                place = around
            around = around.parent_op
        return place

    # -- barriers

    def complete(self) -> None:
        """Inserts the missing barriers."""
        while not self.walk(inserting=True):
            pass

    def reduce(self) -> int:
        """Erases redundant barriers, innermost first. Returns the number of erased barriers."""
        removed = 0
        self.walk()
        for barrier in sorted(self.barriers(), key=depth, reverse=True):
            if self.without(barrier):
                self.remove(barrier)
                removed += 1
        return removed

    def barriers(self) -> list[Operation]:
        """The barrier ops of the function, in order."""
        return [
            op
            for op in self.function.walk()
            if op in self.effects and self.effects[op].is_barrier and not op.regions
        ]

    def add(self, op: Operation) -> None:
        """Register an op."""
        effects = self.step_of(op)
        leaves = isinstance(op, nv_tileaa.Break | nv_tileaa.Continue | nv_tileaa.Return)
        if effects is not None:
            self.effects[op] = effects
            self.by_element |= any(access.by_element for access in effects.accesses)
        if effects is None and not leaves:
            return
        parent = op.parent_op
        while parent is not None and parent not in self.around:
            self.around.add(parent)
            parent = parent.parent_op

    def remove(self, op: Operation) -> None:
        """Erase an op."""
        self.effects.pop(op, None)
        op.erase()

    def insert(self, place: Operation, op: Operation) -> None:
        """Insert an op before another."""
        Builder.before(place).insert(op)
        self.add(op)

    def without(self, barrier: Operation) -> bool:
        """True if there is no conflict without a barrier; `before` is the state of a walk with it, and is updated to
        the walk without it in that case."""
        if self.by_element:
            self.unordered.clear()
            self.walk()
            before = set(self.unordered)
            self.ignored = barrier
            self.unordered.clear()
            free = self.walk() and self.unordered <= before
        else:
            self.ignored = barrier
            free = self.walk_from(barrier)
        self.ignored = None
        return free

    def walk_from(self, op: Operation) -> bool:
        """As `walk`, if only the step of `op` has changed since the last walk: from `op` to the point where the same
        accesses are pending as before.  Starts at the enclosing op if that point is not in the block, or a terminator
        in between leaves a loop."""
        known = self.before
        self.breaks.clear()
        self.continues.clear()
        self.before = {}
        here: Operation | None = op
        pending: Pending | None = known.get(op)
        try:
            while here is not None and pending is not None and (here is op or known.get(here) != pending):
                pending = self.after_op(here, pending)
                here = here.next_op
        except Conflict:
            self.before = known
            return False
        left = any(loop.is_ancestor_of(op) for loop in (*self.breaks, *self.continues))
        around = op.parent_op
        if (left or (here is None and pending is not None)) and around not in (None, self.function):
            assert around is not None
            self.before = known
            return self.walk_from(around)
        known.update(self.before)
        self.before = known
        return True

    def walk(self, inserting: bool = False) -> bool:
        """Walk the function; True if there is no conflict, or if barriers inserted during the walk order all of them.
        If nothing may be inserted, the walk ends at the first conflict; otherwise it ends when it must restart."""
        self.inserting = inserting
        self.found = None
        self.breaks.clear()
        self.continues.clear()
        try:
            for region in self.function.regions:
                for block in region.blocks:
                    self.block(block, _NONE)
        except Conflict as conflict:
            self.found = conflict
            return False
        except Restart:
            return False
        return True

    # -- control flow

    def block(self, block: Block, pending: Pending | None) -> Pending | None:
        """Returns the accesses pending after a block; None if its end is unreachable."""
        for op in list(block):
            if pending is None:
                return None
            pending = self.after_op(op, pending)
        return pending

    def after_op(self, op: Operation, pending: Pending) -> Pending | None:
        """Returns the accesses pending after an op; None if the point after it is unreachable."""
        if isinstance(op, nv_tileaa.Return):
            return None
        if isinstance(op, nv_tileaa.Break | nv_tileaa.Continue):
            loop = enclosing_loop(op)
            ends = self.breaks if isinstance(op, nv_tileaa.Break) else self.continues
            ends[loop] = _either(ends.get(loop), pending)
            return None
        if op in self.effects or op in self.around:
            self.before[op] = pending
        if op in self.effects:
            pending = self.step(op, pending)
        if op not in self.around:
            return pending
        if isinstance(op, LoopLike):
            return self.loop(op, pending)
        if op.has_trait(RegionsRunTogether):
            return self.together(op, pending)
        return self.branch(op, pending) if op.has_trait(OneRegionRuns) else self.unstructured(op, pending)

    def unstructured(self, op: Operation, pending: Pending) -> Pending | None:
        """Handles an op without known control flow: its regions may run in any order, any number of times."""
        while True:
            after = pending
            for region in op.regions:
                for block in region.blocks:
                    after |= self.block(block, pending) or _NONE
            if after <= pending:
                return after
            pending = after

    def together(self, op: Operation, pending: Pending) -> Pending | None:
        """Handles an op whose regions all run at the same time. The op ends when all of them have ended."""
        after = pending
        for region in op.regions:
            if region.blocks:
                after |= self.block(region.blocks[0], pending) or _NONE
        self.check_units(op)
        return after

    def check_units(self, op: Operation) -> None:
        """Report accesses of concurrent regions that no pipeline orders."""
        made = [
            [
                access
                for inner in region.walk()
                if inner in self.effects
                for access in (*self.effects[inner].accesses, *self.effects[inner].after_barriers)
            ]
            for region in op.regions
        ]
        for number, mine in enumerate(made):
            for others in made[number + 1 :]:
                for a, b in product(mine, others):
                    if self.conflict(a.completed(), b.completed()) and not self.phases.ordered(a, b):
                        failure = b.op.error(
                            "accesses memory that a concurrent region also accesses, and no pipeline orders the two "
                            "accesses; expected a pipeline or an mbarrier between them"
                        )
                        failure.diagnostics[0].note("the other access is here", a.op.location)
                        raise failure

    def branch(self, op: Operation, pending: Pending) -> Pending | None:
        """At most one of the regions runs; none may run if there is only one, or if one is empty.

        The region of an op on a pipeline always runs.
        """
        ends = [self.block(region.blocks[0], pending) for region in op.regions if region.blocks]
        always = 1 if op.name.startswith("nv_tileas.") else 2
        after = pending if len(ends) < max(always, len(op.regions)) else None
        for end in ends:
            after = _either(after, end)
        return after

    def loop(self, op: Operation, pending: Pending) -> Pending | None:
        """The regions run in turn, repeatedly; the accesses pending at their start only increase."""
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
        return None if after is None else frozenset(access.after_loop(op) for access in after)

    # -- accesses

    def step(self, op: Operation, pending: Pending) -> Pending:
        """Returns the accesses pending after an op."""
        effects = self.effects[op]
        if effects.is_barrier:
            return pending if op is self.ignored else after_barrier(op, pending)
        pending = self.completed(op, effects, pending)
        reasons = [
            earlier for access in effects.accesses for earlier in pending if self.conflict(earlier, access)
        ]
        if reasons:
            if not self.inserting:
                raise Conflict(op, reasons[0].op)
            pending = self.order_after(op, reasons, pending)
        if not effects.own_barrier:
            # An op that commits a group adds its own copies to it.
            return pending | {
                a.committed() if a.completion in effects.commits else a for a in effects.accesses
            }
        return after_barrier(op, pending) | set(effects.after_barriers)

    def completed(self, op: Operation, step: Step, pending: Pending) -> Pending:
        """Returns the accesses pending after an op has committed groups and waited."""
        for by in step.commits:
            pending = frozenset(a.committed() if a.completion is by else a for a in pending)
        if op is self.ignored:
            return pending
        for by, most in step.waits.items():
            pending = frozenset(
                a.completed() if a.completion is by and a.groups > most else a for a in pending
            )
        for wait in step.accesses:
            if wait.kind is Kind.WAIT:
                pending = frozenset(a for a in pending if not self.phases.is_over(a, wait))
        return pending

    def order_after(self, op: Operation, reasons: list[Access], pending: Pending) -> Pending:
        """Insert a barrier; returns the accesses now pending before the op.  Raises Restart if the barrier is before an
        op that was already walked."""
        place = self.place(op, reasons)
        self.inserted += 1
        self.insert(place, self.new_barrier(place))
        if place is not op:
            raise Restart
        return after_barrier(op, pending)


def depth(op: Operation) -> int:
    """Returns the number of ops that enclose an op."""
    found = 0
    while op.parent_op is not None:
        op = op.parent_op
        found += 1
    return found


def after_barrier(op: Operation, pending: Pending) -> Pending:
    """The accesses pending after a barrier before an op: asynchronous copies remain pending, and so do accesses of
    threads that do not take part in the barrier."""
    unit = unit_of(op)
    return frozenset(a for a in pending if a.in_flight or (unit is not None and unit not in units_of(a.op)))


def _either(a: Pending | None, b: Pending | None) -> Pending | None:
    """Returns the accesses that may be pending where two control-flow paths join."""
    if a is None or b is None:
        return b if a is None else a
    return a | b
