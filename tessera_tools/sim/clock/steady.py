"""Long loops: the laps of a steady state are skipped, and counted as often as they are missing.

    lap, lap, lap ──same control flow and barriers?──▶ run only the control of the rest ──▶ skip whole periods

A warp that comes to the head of a loop again begins a lap. What decides its way and its barriers is a slice of the
loop: the predicates of its branches and of its effects, the operands of its barriers, and all that they are computed
from. If no value of the slice comes from memory, the slice alone tells how the warp continues, and how many laps are
like those before. The warp skips a multiple of their period: its registers become those of a later lap. All warps of a
cluster that share barriers skip as many phases of each, so that the rest of the launch is that of a smaller problem.

Few laps of much work, as the tiles of a persistent kernel, often have no period: each begins at another stage of a
ring. Those that are alike but for the barriers that they use are skipped, too, if all warps skip the same laps: from
then on, a warp turns the parity that it waits for wherever it has skipped an odd number of phases.

The number of a tile may come from memory, if it is a ticket (sim/clock/tickets.py).

A loop whose way depends on data is not cut, and neither are kernels that poll global memory.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from tessera_tools.sim.arrays import Array
from tessera_tools.sim.clock.cuts import Cut, first_of, next_number, phases_of, same_phases, turned_phases
from tessera_tools.sim.clock.slices import Slice, merged, named, row_of, slice_of, targets, with_addresses
from tessera_tools.sim.lanes import Mask, mask_of
from tessera_tools.sim.machine import StopLaunch
from tessera_tools.sim.program import Function, Program
from tessera_tools.sim.warp import CHANGED, CONVERGE, Split, Warp

if TYPE_CHECKING:
    from tessera_tools.sim.clock.record import Trace
    from tessera_tools.sim.clock.tickets import Tickets

__all__ = ["Skips", "Steady"]

_SEEN = (3, 12, 48, 192, 768)
"""Arrivals at the head of a loop at which its rest is examined: rare instructions may come later."""
_SEEN_OF_TILES = (2, 3, 4, 6, 12)
"""Of a loop whose laps are tiles."""
_TILE_STEPS = 300
"""Steps that a lap of loops in a loop has at least, so that it is a window of its own."""
_MOST_PERIOD = 64
_WINDOW_STEPS = 1500
"""Steps that a window has at least, unless it has `_WINDOW_LAPS` laps."""
_WINDOW_LAPS = 12
_MOST_AHEAD = 4_000_000
"""Instructions that all examinations of a launch execute; skips do not execute more."""


class Skips(NamedTuple):
    """Which laps a launch may skip."""

    least: int = 1
    """All windows are multiples of this number of laps; 0 if none may be skipped."""
    turns: bool = True
    """Laps that use other barriers than those before may be skipped."""


@dataclass(slots=True)
class _Loop:
    marks: list[int] = field(default_factory=list[int])
    """The length of the trace at each arrival."""
    dead: bool = False
    window: int = 0
    """Laps; 0 if no steady state has been found."""
    left: int = 0
    """Laps of the steady state."""
    turns: bool = False
    begin: int = 0
    """Arrivals before it."""
    cut: Slice | None = None
    held: list[dict[int, Array]] = field(default_factory=list[dict[int, Array]])
    """Registers at the begin of each window."""


class _Way(NamedTuple):
    """Numbers that stand for a lap."""

    same: int
    """For the way of the warp, and its barriers."""
    turned: int
    """For its way."""
    places: int
    """For the addresses in shared memory that it accesses, if no barrier tells them."""


class _Later(NamedTuple):
    """What a warp has after some laps."""

    rows: list[Array]
    """The registers of the slice."""
    waited: dict[int, int]
    """By address of a barrier: the parity that the warp has last waited for."""
    loaded: Counter[int]
    """By instruction: how many tickets it has loaded."""


class _NotSteady(Exception):
    """The slice cannot run any further."""


class _Plan(NamedTuple):
    """What the first warp of a cluster that skips tiles does, and the others do too."""

    depth: int
    """Of the loop in loops."""
    total: int
    """Its laps."""
    begin: int
    """Arrivals before the first window."""
    window: int


@dataclass(slots=True)
class _Ahead:
    period: int
    laps: int
    turns: bool = False
    """The laps are alike but for the barriers that they use."""


class Steady:
    """Finds the steady state of loops while a launch runs, and skips its laps."""

    def __init__(
        self,
        program: Program,
        functions: Sequence[Function],
        skips: Skips,
        tickets: Tickets | None = None,
        most: int = 1 << 62,
    ) -> None:
        self.instructions = program.instructions
        self.skips = skips
        self.tickets = tickets
        self.most = most
        """Steps, more than which no launch is meant to take."""
        self.hopeless = False
        self.again = Skips(0)
        """After a launch that has failed: with which it may succeed."""
        self.failed = False
        self.turned = False
        """Laps that use other barriers than those before have been skipped."""
        self.waited: dict[tuple[int, int, int], int] = {}
        """By CTA, warp and address of a barrier: the parity that the warp has last waited for."""
        self.constant: dict[int, int] = {}
        """By wait: its last address."""
        self.turns: dict[tuple[int, int, int], int] = {}
        """By the same: 1 if the warp has skipped an odd number of phases."""
        self.ends: dict[int, int] = {}
        """By head of a loop: its last branch back."""
        for function in functions:
            for pc in range(function.start, function.end):
                for target in targets(self.instructions[pc]):
                    if target <= pc:
                        self.ends[target] = max(pc, self.ends.get(target, 0))
        self.inner = {
            head: [one for one in self.ends if head < one <= end] for head, end in self.ends.items()
        }
        self.loops: dict[tuple[int, int, int], _Loop] = {}
        self.agreed: defaultdict[int, list[Cut]] = defaultdict(list)
        """By cluster: what its warps skip, in order."""
        self.plans: dict[int, _Plan] = {}
        """By cluster."""
        self.slices: dict[tuple[int, frozenset[int]], Slice | None] = {}
        self.examined: dict[Hashable, tuple[int, list[_Ahead]]] = {}
        self.expected: dict[tuple[int, int, int], int] = {}
        """By CTA, warp and head of a loop without a steady state: the steps that its known laps will take."""
        self.wide: dict[tuple[int, frozenset[int]], Slice] = {}
        self.skipped: dict[Hashable, _Later] = {}
        self.spent = 0

    # -- laps

    def arrive(self, warp: Warp, mask: Mask, head: int, trace: Trace) -> None:
        """A warp comes to the head of a loop; it may continue in a later lap."""
        if mask.bits != warp.live or len(warp.splits) != 1:
            return
        key = trace.cta, trace.warp, head
        for inner in self.inner[head]:
            self.loops.pop((trace.cta, trace.warp, inner), None)
        loop = self.loops.get(key)
        if loop is None:
            loop = self.loops[key] = _Loop()
        if loop.dead:
            return
        marks = loop.marks
        marks.append(len(trace.steps))
        if not loop.window:
            lap = _lap(marks)
            tiles = lap >= (_TILE_STEPS if self.inner[head] else _WINDOW_STEPS)
            plan = self.plans.get(trace.cluster)
            follows = plan is not None and len(marks) == plan.begin
            if follows or len(marks) in (_SEEN_OF_TILES if tiles else _SEEN):
                self._examine(loop, warp, head, trace, lap, tiles=tiles)
        if loop.window and (len(marks) - loop.begin) % loop.window == 0:
            loop.held.append(
                {bits: warp.registers[bits].copy() for bits in (32, 64) if bits in warp.registers}
            )
            if len(loop.held) > 2:
                # What follows may be another steady state.
                self.loops[key] = _Loop(dead=not self._cut(loop, warp, head, trace))

    def parity(self, warp: Warp, pc: int, address: int, wanted: int) -> int:
        """The parity that a warp waits for at a barrier, in place of `wanted`, by the phases that it has skipped."""
        key = warp.cta.number, warp.index, address
        self.constant[pc] = address
        self.waited[key] = wanted
        return wanted ^ self.turns.get(key, 0)

    def _examine(self, loop: _Loop, warp: Warp, head: int, trace: Trace, lap: int, *, tiles: bool) -> None:
        """Find out how many laps are like those before, and how many make a window."""
        steps = trace.steps[loop.marks[0] :]
        body = frozenset(pc for step in steps for pc in range(step.pc, step.pc + step.count))
        key = head, body
        if key not in self.slices:
            self.slices[key] = slice_of(self.instructions, head, body)
        loop.cut = self.slices[key]
        if loop.cut is None:
            loop.dead = True
            return
        tickets = self._tickets(loop.cut, trace)
        if tickets is None:
            return
        modes = (False,)
        if self.skips.turns and (tiles or trace.cluster in self.plans):
            modes = (True, False)
        rows = b"".join(row_of(warp, register).tobytes() for register in loop.cut.registers)
        state = key, modes, rows, warp.live, tickets
        if state not in self.examined:
            self.examined[state] = self._ahead(warp, head, loop.cut, modes, trace)
        laps, found = self.examined[state]
        if len(loop.marks) >= (4 if tiles else 12):
            self.expected[trace.cta, trace.warp, head] = laps * lap
        for ahead in found:
            unit = math.lcm(ahead.period, self.skips.least)
            wanted = min(_WINDOW_LAPS, -(-_WINDOW_STEPS // lap))
            window, begin = unit * -(-wanted // unit), len(loop.marks)
            if ahead.turns:
                plan = self.plans.get(trace.cluster)
                window = unit
                depth = sum(outer < head <= end for outer, end in self.ends.items())
                total = ahead.laps + begin
                if plan is not None and (plan.depth, plan.total) == (depth, total):
                    # Warps with less work in each tile do as the others.
                    window = plan.window
                    if begin != plan.begin or window % unit:
                        continue
                elif not tiles or ahead.laps < 4 * window:
                    continue
                else:
                    self.plans[trace.cluster] = _Plan(depth, total, begin, window)
            elif begin not in _SEEN or ahead.laps < 5 * window:
                continue
            loop.window, loop.left, loop.begin, loop.turns = window, ahead.laps, begin, ahead.turns
            self.expected.pop((trace.cta, trace.warp, head), None)
            return
        if sum(self.expected.values()) > self.most:
            self.hopeless = True
            raise StopLaunch

    def _tickets(self, cut: Slice, trace: Trace) -> tuple[int, ...] | None:
        """Stands for the tickets that the loop will load; None if it may load something else."""
        if not cut.tickets:
            return ()
        loads = [(trace.cta, trace.warp, pc) for pc in sorted(cut.tickets)]
        if self.tickets is None or not all(map(self.tickets.known, loads)):
            return None
        return trace.cta, trace.warp, *map(self.tickets.count, loads)

    def _ahead(
        self, warp: Warp, head: int, cut: Slice, modes: Sequence[bool], trace: Trace
    ) -> tuple[int, list[_Ahead]]:
        """How many laps follow at least; their periods, and how many laps have them, by whether they turn."""
        runner = _Runner(self, warp, head, cut, trace, examines=True)
        found: list[_Way] = []
        try:
            while (lap := runner.lap()) is not None:
                found.append(lap)
        except _NotSteady:
            pass
        finally:
            runner.restore()
        made: list[_Ahead] = []
        for turns in modes:
            best: _Ahead | None = None
            ways: list[object] = [lap.turned if turns else lap.same for lap in found]
            if not turns and len({lap.places for lap in found}) < len(found):
                # The stages of a ring come again.
                ways = [(lap.same, lap.places) for lap in found]
            for period in range(1, min(_MOST_PERIOD, len(ways) // 4) + 1):
                same = period
                while same < len(ways) and ways[same] == ways[same - period]:
                    same += 1
                if same >= (4 if turns else 5) * period and (best is None or same > best.laps):
                    best = _Ahead(period, same, turns)
            if best is not None:
                made.append(best)
        return len(found), made

    def _cut(self, loop: _Loop, warp: Warp, head: int, trace: Trace) -> bool:
        """Skip laps, as many as the other warps of the cluster; False if the trace is not that of a steady state."""
        window, marks = loop.window, loop.marks
        begin, middle, end = marks[-1 - 2 * window], marks[-1 - window], marks[-1]
        compared = turned_phases if loop.turns else same_phases
        phases = compared(trace.steps[begin:middle], trace.steps[middle:end])
        if phases is None:
            return False
        left = loop.left - 2 * window
        times = (left if loop.turns else left - window) // window
        agreed = self.agreed[trace.cluster]
        first = {
            place: phase for place, phase in first_of(trace.steps[middle:end]).items() if place in phases
        }
        kind = hash(tuple(step.pc for step in trace.steps[middle:end]))
        number = next_number(trace.cuts, agreed, loop.turns)
        made = Cut(number, end, end - middle, window, times, phases, first, kind, len(marks) - 1, loop.turns)
        if number < len(agreed):
            other = agreed[number]
            if (made.turns or other.turns) and (made.turns, window, made.lap) != (
                other.turns,
                other.laps,
                other.lap,
            ):
                self._fail(0)
            for place in phases.keys() & other.phases.keys():
                if phases[place] != other.phases[place]:
                    self._fail(math.lcm(window, other.laps))
            made.times = other.times
            if made.times * window > left:
                self._fail(0)
            other.phases.update(phases)
            for place, phase in first.items():
                other.first[place] = min(phase, other.first.get(place, phase))
        else:
            if made.times < 2:
                return False
            agreed.append(replace(made, phases={**phases}, first={**first}))
        assert loop.cut is not None
        self._skip(loop, warp, head, loop.cut, made, trace)
        if self.tickets is not None:
            window = trace.steps[-made.steps :]
            self.tickets.take(
                trace.cluster, made.times * sum(step.pc in self.tickets.takes for step in window)
            )
        trace.cuts.append(made)
        return True

    def _skip(self, loop: _Loop, warp: Warp, head: int, cut: Slice, made: Cut, trace: Trace) -> None:
        """Give a warp the registers of a later lap."""
        # The last of the windows that turn runs with all addresses, which may not grow evenly from tile to tile.
        times = made.times - loop.turns
        rows, waited, loaded = self._later(warp, head, cut, times * loop.window, trace)
        # What grows by the same amount in each window grows on: addresses, mostly.
        for bits, now in warp.registers.items():
            if bits not in (32, 64):
                continue
            old, middle, new = (held[bits] for held in loop.held)
            change = new - middle
            linear = (change == middle - old).all(axis=1) & change.any(axis=1)
            now[linear] += change[linear] * change.dtype.type(times)
        for register, row in zip(cut.registers, rows, strict=True):
            row_of(warp, register)[...] = row
        self._skipped(made, waited, loaded, trace)
        if loop.turns:
            window = trace.steps[-made.steps :]
            body = frozenset(pc for step in window for pc in range(step.pc, step.pc + step.count))
            key = head, body
            if key not in self.wide:
                self.wide[key] = with_addresses(self.instructions, head, body, cut)
            cut = self.wide[key]
            rows, waited, loaded = self._run_ahead(warp, head, cut, loop.window, trace)
            for register, row in zip(cut.registers, rows, strict=True):
                row_of(warp, register)[...] = row
            self._skipped(made, waited, loaded, trace)

    def _skipped(self, made: Cut, waited: Mapping[int, int], loaded: Mapping[int, int], trace: Trace) -> None:
        """Remember the barriers that a warp has waited for, and the tickets that it has loaded, in skipped laps."""
        if made.turns:
            self.turned = True
            for address, parity in waited.items():
                place = trace.cta, trace.warp, address
                if place not in self.waited:
                    self._fail(0)
                # The next phase is the one after that which the warp has last waited for.
                self.turns[place] = self.turns.get(place, 0) ^ self.waited[place] ^ parity
                self.waited[place] = parity
        if self.tickets is not None:
            for pc, count in loaded.items():
                self.tickets.skip((trace.cta, trace.warp, pc), count)

    def _later(self, warp: Warp, head: int, cut: Slice, laps: int, trace: Trace) -> _Later:
        """What a warp has after some laps, which may be known of another warp."""
        tickets = self._tickets(cut, trace)
        if tickets is None:
            self._fail(0)
        rows = b"".join(row_of(warp, register).tobytes() for register in cut.registers)
        key = head, laps, warp.live, rows, tickets
        if key not in self.skipped:
            self.skipped[key] = self._run_ahead(warp, head, cut, laps, trace)
        return self.skipped[key]

    def _run_ahead(self, warp: Warp, head: int, cut: Slice, laps: int, trace: Trace) -> _Later:
        runner = _Runner(self, warp, head, cut, trace, examines=False)
        try:
            for _ in range(laps):
                if runner.lap() is None:
                    self._fail(0)
        except _NotSteady:
            self._fail(0)
        rows = [row_of(warp, register).copy() for register in cut.registers]
        runner.restore()
        return _Later(rows, runner.waited, runner.loaded)

    def _fail(self, again: int) -> None:
        if any(cut.turns for cuts in self.agreed.values() for cut in cuts):
            self.again = Skips(self.skips.least, turns=False)
        else:
            # With the same windows, the launch would fail again.
            self.again = Skips(again if again > self.skips.least else 0, self.skips.turns)
        self.failed = True
        raise StopLaunch

    def check(self, traces: Iterable[Trace], *, alike: bool) -> None:
        """Fail if a warp has not skipped the phases of a barrier that others have; with `alike`, also if the clusters
        have not skipped the same."""
        if alike:
            agreed = {tuple(cut.times for cut in self.agreed[trace.cluster]) for trace in traces}
            self.failed = len(agreed) > 1
        if self.turned:
            self.again = Skips(self.skips.least, turns=False)
        for trace in traces:
            skipped = {cut.number for cut in trace.cuts}
            for cut in self.agreed[trace.cluster]:
                if cut.number in skipped:
                    continue
                for step in trace.steps:
                    for phase in phases_of(step):
                        if phase[3] >= cut.first.get(phase[:3], 1 << 62):
                            self.failed = True
                            return


class _Runner:
    """Runs the slice of a loop for one warp."""

    def __init__(
        self, owner: Steady, warp: Warp, head: int, cut: Slice, trace: Trace, *, examines: bool
    ) -> None:
        self.owner, self.warp, self.head, self.cut, self.examines = owner, warp, head, cut, examines
        self.trace = trace
        self.code = warp.cta.cluster.launch.module.code
        self.split = warp.split
        self.before = self.split.mask, self.split.stack, self.split.laps
        self.saved = {bits: rows.copy() for bits, rows in warp.registers.items()}
        self.waited: dict[int, int] = {}
        """By address of a barrier: the parity that the warp has last waited for."""
        self.loaded: Counter[int] = Counter()
        """By instruction: how many tickets it has loaded."""
        self.state = {**warp.cta.cluster.state}

    def restore(self) -> None:
        """The warp is as it was, at the head of the loop."""
        for bits, rows in self.saved.items():
            self.warp.registers[bits][...] = rows
        # A response to a cancellation may have said that no cluster is left.
        self.warp.cta.cluster.state.clear()
        self.warp.cta.cluster.state.update(self.state)
        self._converged()

    def _converged(self) -> None:
        split = self.warp.split = self.split
        split.pc, split.needed, split.wait = self.head, 0, None
        split.mask, split.stack, split.laps = self.before
        self.warp.splits = [split]

    def lap(self) -> _Way | None:
        """Run one lap; None if it leaves the loop."""
        self._converged()
        warp = self.warp
        way: list[object] = []
        barriers: list[object] = []
        places: list[object] = []
        begun = False
        while True:
            splits = warp.splits = merged(warp.splits)
            # As in Warp.pick: lanes meet again before the next lap of a loop.
            awake = [one for one in splits if not one.needed & warp.live & ~one.mask.bits]
            if not awake:
                raise _NotSteady
            split = warp.split = min(awake, key=lambda one: (one.laps, one.pc))
            split.needed = 0
            if begun and split.pc == self.head:
                if len(splits) > 1:
                    raise _NotSteady
                return _Way(hash((*way, *barriers)), hash(tuple(way)), hash(tuple(places)))
            stop = min((one.pc for one in splits if one.pc > split.pc), default=1 << 60)
            if not self._advance(split, stop, (way, barriers, places), begun):
                return None
            begun = True

    def _advance(self, split: Split, stop: int, found: tuple[list[object], ...], begun: bool) -> bool:
        """Run a split to its next branch, to `stop` or to the head; False if it leaves the loop."""
        way, barriers, places = found
        warp, cut, owner, mask, pc = self.warp, self.cut, self.owner, split.mask, split.pc
        while True:
            at = cut.following.get(pc, -1)
            pc = split.pc = min(at, stop)
            if at < 0 or pc == stop or (pc == self.head and begun):
                return at >= 0
            if pc not in cut.following:
                # An instruction that no lap before has executed.
                return False
            begun = True
            owner.spent += self.examines
            if owner.spent > _MOST_AHEAD:
                raise _NotSteady
            action = cut.actions.get(pc)
            if action in ("run", "branch"):
                result = self.code[pc](warp, mask)
                if action == "branch":
                    way += pc, mask.bits, result if result.__class__ is int else split.mask.bits
                if result.__class__ is int:
                    assert isinstance(result, int)
                    split.laps += result <= pc
                    split.pc = result
                    return True
                if result is CHANGED or result is CONVERGE:
                    return True
                if result is not None:
                    raise _NotSteady
            elif action == "touch":
                places += (row_of(warp, register)[mask.array].tobytes() for register in cut.places[pc])
            elif action == "ticket":
                way += pc, self._ticket(pc, mask)
            elif action == "sync" and pc in cut.aligned and mask.bits != warp.live:
                split.needed = warp.live
                return True
            elif action is not None:
                bits = self._lanes(pc, mask)
                if action == "end" and bits:
                    return False
                way += pc, bits
                barriers += (
                    row_of(warp, register)[mask.array].tobytes() for register in cut.reads.get(pc, ())
                )
                if bits and pc in cut.parities:
                    self._wait(pc, (bits & -bits).bit_length() - 1)
                for register in cut.results.get(pc, ()):
                    row_of(warp, register)[mask_of(bits).array] = True
            pc += 1
            split.pc = pc

    def _wait(self, pc: int, lane: int) -> None:
        wait = self.cut.parities[pc]
        if wait.base is not None:
            address = int(row_of(self.warp, wait.base)[lane]) + wait.offset
        else:
            address = self.owner.constant.get(pc, -1)
        self.waited[address] = (
            wait.value if wait.wanted is None else int(row_of(self.warp, wait.wanted)[lane])
        ) & 1

    def _ticket(self, pc: int, mask: Mask) -> int:
        """Load the next ticket; the lanes that do."""
        tickets, load = self.owner.tickets, (self.trace.cta, self.trace.warp, pc)
        if (bits := self._lanes(pc, mask)) and tickets is not None:
            tickets.give(self.warp, mask_of(bits), load, tickets.count(load) + self.loaded[pc])
            self.loaded[pc] += 1
        return bits

    def _lanes(self, pc: int, mask: Mask) -> int:
        """The lanes that execute an instruction."""
        guard = self.owner.instructions[pc].predicate
        if guard is None:
            return mask.bits
        (register,) = named(self.owner.instructions[pc], (guard,))
        chosen = mask_of(row_of(self.warp, register)).bits
        return mask.bits & (~chosen if guard.negated else chosen)


def _lap(marks: Sequence[int]) -> int:
    """Steps of a lap, by the length of the trace at each."""
    return max(1, (marks[-1] - marks[0]) // max(1, len(marks) - 1))
