"""How long a launch on the simulated GPU would take on a real one: its trace, replayed by the clock (sim/clock).

launch ──Recorder──▶ traces ┐
PTX ──ptxas, nvdisasm──▶ SASS of each line ──▶ costs ┴──replay──▶ Estimate(cycles, stalls, busy units, bytes)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tessera_tools.diagnostics import error
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.sass_lines import sass_by_line
from tessera_tools.runtime.workers import PartialLaunch
from tessera_tools.sim.clock.cost import Cost, costs, product_rate, registers
from tessera_tools.sim.clock.order import Work, corners, span
from tessera_tools.sim.clock.record import Recorder, Trace, may_poll, may_write
from tessera_tools.sim.clock.replay import replay
from tessera_tools.sim.clock.sample import alike, in_proportion, representatives, residents, shape, spaced
from tessera_tools.sim.clock.slices import guard_of, is_ticket
from tessera_tools.sim.clock.steady import Skips, Steady
from tessera_tools.sim.clock.stretch import executed, missing_operations, steps_of, stretched
from tessera_tools.sim.clock.survey import MOST_SURVEYED, Load, Surveyor, fresh, plan, reached, reads_shared
from tessera_tools.sim.clock.tickets import Tickets
from tessera_tools.sim.clock.timeline import Timeline
from tessera_tools.sim.instructions.launch_control import response
from tessera_tools.sim.launch import Result
from tessera_tools.sim.machine import Cluster
from tessera_tools.sim.program import Instruction
from tessera_tools.target import Target, occupancy, targets
from tessera_tools.target.timing import Timing, timing

__all__ = ["MOST_STEPS", "Estimate", "TimedLaunch", "check_timed", "estimate"]

MOST_STEPS = 4_000_000
"""Warp instructions that are recorded, a quarter of a kilobyte each."""
_MOST_SURVEY_STEPS = 1_200_000
_MOST_WHOLE_STEPS = 400_000
"""The same where all warps run."""
_MOST_WAITING = 264
"""CTAs of which all warps run until their first loads."""
_MOST_WINDOW = 256
"""Laps of a window that all windows are multiples of."""
_MOST_TOGETHER = 8
"""SMs, or clusters, of a large grid that are replayed together."""
_STEPS_TOGETHER = 60_000
"""Warp instructions that these execute, at most, in one wave."""
_MOST_CLUSTERS = 16
"""Clusters of a grid that is simulated whole."""
_L1_SHARED = {"sm_80": 192 << 10, "sm_90": 256 << 10, "sm_100": 256 << 10}
"""Bytes of an SM that L1 and shared memory divide (CUDA C++ Programming Guide, "Compute Capability 8.0", "9.0",
"10.0")."""


_PRODUCTS = {"mma", "wgmma", "tcgen05"}


@dataclass(slots=True, repr=False)
class Estimate:
    """What the clock says of one launch."""

    target: Target
    table: Timing
    timeline: Timeline
    """Of what was replayed: the launch, or one SM of it."""
    source: str
    """Where the instruction counts come from: `SASS` or `PTX`."""
    why_not_sass: str
    flops: Counter[str]
    """Of the whole launch, by unit."""
    registers: int
    product_rate: float = 1.0
    """Of the fastest products that it executes: how often that of 16-bit ones."""
    shared: int = 0
    """Bytes of shared memory of a CTA."""
    ctas: int = 0
    simulated: int = 0
    """CTAs that were simulated; the others are extrapolated."""
    executed: int = 0
    """Warp instructions that these have executed."""
    instructions: int = 0
    """Warp instructions that these would execute in the whole launch: the others are laps of steady loops."""
    surveyed: int = 0
    """CTAs that ran until their first loads, which tell what CTAs share."""
    cycles: float = 0.0
    waves: float = 0.0
    scale: float = 1.0
    """How often what was replayed happens in the launch."""

    def __str__(self) -> str:
        from tessera_tools.runtime.timing_report import summary

        return "\n".join(summary(self))

    __repr__ = __str__

    @property
    def seconds(self) -> float:
        """Of the kernel, at the table's clock; without the launch."""
        return self.cycles / self.table.value("clock_mhz") / 1e6


def check_timed(target: Target | None, clock_mhz: float | None = None) -> tuple[Target, Timing]:
    """The target with its table, at the given clock. Raises DiagnosticError for one that the clock does not know."""
    table = timing(target) if target is not None else None
    if target is None or table is None:
        known = ", ".join(one.name for one in targets() if timing(one) is not None)
        name = target.name if target is not None else "the PTX's target"
        raise error(
            None, f"the clock has no table for {name}; expected one of {known}", "choose with --gpu-name"
        )
    return target, table if clock_mhz is None else table.at(clock_mhz)


class TimedLaunch(PartialLaunch):
    """A launch that is timed: all clusters of a small grid, a sample of a large one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.given = args, options
        self.size = self.cluster[0] * self.cluster[1] * self.cluster[2]
        """CTAs of a cluster."""
        self.running = self.count
        """How many clusters begin: those that run may cancel the others."""
        self.canceled: Counter[int] = Counter()
        """By number of a cluster: how many it has tried to cancel."""
        self.sampled = representatives(self.clusters) if self.count > _MOST_CLUSTERS else None
        """The numbers of the clusters to run; None for all."""
        self.skips = Skips(0)
        """What it may skip."""
        self.counters: dict[int, tuple[int, int]] = {}
        """`Tickets.first`. Launches that run for the same estimate share it, because each of them counts in memory."""

    def begin_with(self, ptx: str, target: Target, table: Timing) -> None:
        """If clusters cancel others, only as many begin as the GPU runs at once."""
        if self.sampled is None or not self._cancels():
            return
        try:
            registers = sass_by_line(ptx, target)[2].functions[self.entry.name].registers
        except ToolError:
            registers = 0
        fits = occupancy(target, threads=self.threads, registers=registers, shared=self.shared_size).blocks
        self.running = min(self.count, max(1, int(table.value("sms")) // self.size * fits))
        if self.running < self.count:
            # The first one cancels the most, the last one the fewest.
            self.sampled = tuple(sorted({0, self.running - 1}))

    def _cancels(self) -> bool:
        """Whether the kernel takes the work of clusters that have not begun."""
        return any(inst.opcode == "clusterlaunchcontrol" for _, inst in self._instructions())

    def _instructions(self) -> list[tuple[int, Instruction]]:
        """The instructions of the kernel and of what it calls, with their places in the program."""
        instructions = self.module.program.instructions
        return [
            (pc, instructions[pc])
            for function in self.functions
            for pc in range(function.start, function.end)
        ]

    def cancel(self, cluster: Cluster) -> tuple[int, int, int] | None:
        """As if all clusters that run at once canceled others in turn: of a sample, each would else cancel those of
        many."""
        x, y, _ = self.clusters
        i, j, k = cluster.index
        first = i + x * (j + y * k)
        self.canceled[first] += 1
        return self._canceled(first, self.canceled[first])

    def _canceled(self, cluster: int, number: int) -> tuple[int, int, int] | None:
        """The cluster that another one cancels for the n-th time."""
        chosen = cluster + number * self.running
        return self.cluster_at(chosen) if chosen < self.count else None

    def _tickets(self) -> Tickets:
        """The tickets of a sample, and the instructions that may load one."""
        instructions = self._instructions()
        found = Tickets(self.count, first=self.counters, canceled=self.canceled)
        cancels = frozenset(pc for pc, inst in instructions if inst.opcode == "clusterlaunchcontrol")
        found.takes = frozenset(
            pc
            for pc, inst in instructions
            if inst.modifiers[:1] == ("try_cancel",) or (inst.opcode == "atom" and is_ticket(inst))
        )
        if cancels:
            found.response = lambda cluster, number: int.from_bytes(
                response(self._canceled(cluster, number), self.cluster).tobytes(), "little"
            )
        if found.takes:
            found.loads = {pc: registers(inst)[1] for pc, inst in instructions if is_ticket(inst)}
            found.guards = {pc: guard for pc, inst in instructions if (guard := guard_of(inst)) is not None}
        return found

    def _numbers(self) -> Iterable[int]:
        return self.sampled if self.sampled is not None else super()._numbers()

    def watch(self, recorder: Recorder, skips: Skips) -> None:
        """Tell the recorder which instructions poll global memory, and which write it; and let it skip laps of
        loops."""
        self.skips = skips
        if self.sampled is not None:
            recorder.tickets = self._tickets()
        instructions = self._instructions()
        recorder.polls = frozenset(pc for pc, inst in instructions if may_poll(inst))
        if recorder.polls:
            recorder.writes = frozenset(pc for pc, inst in instructions if may_write(inst))
        elif skips.least:
            recorder.steady = Steady(
                self.module.program, self.functions, skips, recorder.tickets, 2 * MOST_STEPS
            )

    def too_long(self, recorder: Recorder, again: Skips | None) -> bool:
        """Whether the launch executes more instructions than are recorded: as far as is known before it does."""
        steady = recorder.steady
        if steady is not None and steady.hopeless:
            return True
        everything = again is not None and not again.least
        return everything and steps_of([*recorder.traces.values()])[1] > MOST_STEPS

    def skips_again(self, recorder: Recorder, result: Result) -> Skips | None:
        """None if the launch has run as it should; else what it may skip the next time."""
        steady = recorder.steady
        if steady is None or steady.hopeless:
            return None
        if steady.failed:
            return steady.again if steady.again.least <= _MOST_WINDOW else Skips(0)
        traces = recorder.traces.values()
        if not any(trace.cuts for trace in traces):
            return None
        if result.findings.of("error") and self.executed <= self.max_instructions:
            # Without the laps, the kernel may go another way.
            return Skips(steady.skips.least if steady.turned else 0, turns=False)
        steady.check(traces, alike=self.sampled is None)
        return steady.again if steady.failed else None

    def work(self, traces: Sequence[Trace], low: int, high: int) -> Work | None:
        """The work of all clusters, by two whose traces these are; None if the two have as much."""
        more = corners(self.clusters, low, high)
        every = [*traces, *self._traces(more)] if more else traces
        known = {
            number: steps_of([trace for trace in every if trace.cluster == number])[1]
            for number in (low, high, *more)
        }
        if not all(known.values()) or known[low] == known[high]:
            return None
        return Work.of(self.clusters, low, high, known)

    def spread(self, traces: Sequence[Trace], sampled: Sequence[int]) -> float:
        """When the last one ends of clusters that run at once, whose programs differ in work: as a part of the time of
        the longest of those that are sampled.

        A few more tell how the work is spread.  If clusters take tickets, one that is done takes another program: all
        end after the mean, and the last one at the end of a program that others did not have, half of one on average.
        """
        every = [self._traces([number]) for number in spaced(self.running)]
        known = [[one for one in traces if one.cluster == number] for number in sampled]
        work = [steps_of(those)[1] for those in every]
        most = max(steps_of(those)[1] for those in known)
        longest = max(most, *work)
        takes = self._tickets().takes
        if takes:
            programs = sum(max(executed(one, takes) for one in those) for those in every)
            longest = min(longest, sum(work) / len(work) * (1 + 0.5 * len(every) / max(programs, 1)))
        return longest / most

    def _traces(self, numbers: Sequence[int]) -> list[Trace]:
        """Run the clusters with these numbers."""
        skips: Skips | None = self.skips
        recorder = Recorder()
        while skips is not None:
            recorder = Recorder()
            launch = self._of(numbers, stats=recorder)
            launch.watch(recorder, skips)
            skips = launch.skips_again(recorder, launch.run())
        return list(recorder.traces.values())

    def survey(self, traces: list[Trace], numbers: range) -> Surveyor:
        """Run the clusters with these numbers until their first loads, those of the given cluster's `traces`."""
        loads = self._loads()
        found = Surveyor(plan=plan(traces, loads), loads=loads, expected=reached(traces, loads))
        if not found.plan:
            return found
        self._surveyed(found, numbers)
        if not found.lacks() and not reads_shared(traces, found.plan, self.module.program.instructions):
            return found
        again = Surveyor(plan=found.plan, loads=loads, expected=found.expected, whole=True, ended=found.ended)
        self._surveyed(
            again, range(numbers.start, min(numbers.stop, numbers.start + _MOST_WAITING // self.size))
        )
        return again if not again.lacks() else found

    def _surveyed(self, survey: Surveyor, numbers: range) -> None:
        most = _MOST_WHOLE_STEPS if survey.whole else _MOST_SURVEY_STEPS
        self._of(numbers, max_instructions=most, stats=survey, time_limit=None).run()

    def _of(self, numbers: Iterable[int], **changed: Any) -> TimedLaunch:
        """This launch again, of the clusters with these numbers and with some other options."""
        args, options = self.given
        launch = TimedLaunch(*args, **{**options, **changed})
        launch.sampled, launch.running, launch.counters = tuple(numbers), self.running, self.counters
        return launch

    def _loads(self) -> frozenset[int]:
        """The instructions that read global memory."""
        return frozenset(pc for pc, inst in self._instructions() if _reads_global(inst))


def _reads_global(inst: Instruction) -> bool:
    """Whether an instruction may read global memory; of a copy, its last state space is the source."""
    spaces = [one for one in inst.modifiers if one == "global" or one.startswith("shared")]
    return inst.opcode in ("ld", "ldu") or (inst.opcode == "cp" and spaces[-1:] == ["global"])


def estimate(launch: TimedLaunch, recorder: Recorder, ptx: str, target: Target, table: Timing) -> Estimate:
    """The time of a launch that has run with `recorder`. Raises DiagnosticError if no CTA fits on an SM."""
    why = ""
    try:
        sass, blocks, report = sass_by_line(ptx, target)
        registers = report.functions[launch.entry.name].registers
    except ToolError as failure:
        sass, blocks, registers, why = {}, [], 0, failure.message
    found = costs(launch.module.program, launch.functions, table, sass, blocks)
    fits = occupancy(target, threads=launch.threads, registers=registers, shared=launch.shared_size).blocks
    if not fits:
        raise error(None, f"no CTA of '{launch.entry.name}' fits on an SM of {target.name}")
    l1_bytes = max(_L1_SHARED[target.name] - fits * launch.shared_size, 16 << 10)
    traces = list(recorder.traces.values())
    made = Estimate(target, table, Timeline(), "SASS" if sass else "PTX", why, recorder.flops, registers)
    instructions = launch.module.program.instructions
    made.product_rate = max(
        (
            product_rate(instructions[pc])
            for pc in recorder.operations
            if instructions[pc].opcode in _PRODUCTS
        ),
        default=1.0,
    )
    made.ctas, made.shared = launch.running * launch.size, launch.shared_size
    made.flops.update(missing_operations(traces, recorder.operations))
    made.executed, made.instructions = steps_of(traces)
    if launch.sampled is None:
        made.timeline = stretched(
            traces, lambda some: replay(some, found, table, resident=fits, l1_bytes=l1_bytes)
        )
        made.cycles, made.waves, made.simulated = made.timeline.cycles, made.timeline.waves, made.ctas
        return made
    return _extrapolated(made, launch, launch.sampled, traces, found, fits, l1_bytes)


def _extrapolated(
    made: Estimate,
    launch: TimedLaunch,
    sampled: tuple[int, ...],
    traces: list[Trace],
    found: dict[int, Cost],
    fits: int,
    l1_bytes: int,
) -> Estimate:
    """A few SMs, or those of a few clusters, with as many CTAs as the others; the grid is the mean of a few such."""
    sms = int(made.table.value("sms"))
    groups = max(1, sms // launch.size)
    copies = min(fits, -(-launch.running // groups))
    active = min(groups, launch.running)
    at_once = min(active * copies, launch.running)
    # SMs that share DRAM load while others compute, which an SM with a share of its own cannot.
    steps = sum(len(trace.steps) for trace in traces) // len(sampled) * copies
    together = max(1, min(_MOST_TOGETHER, _STEPS_TOGETHER // max(steps, 1), active))
    longest = max(sampled, key=lambda number: sum(len(one.steps) for one in traces if one.cluster == number))
    of_longest = [trace for trace in traces if trace.cluster == longest]
    parts, count, sampled = _fresh(made, launch, of_longest, at_once, sampled)
    active, at_once = min(active, count), min(at_once, count)

    known: dict[Hashable, Timeline] = {}

    def run(some: Sequence[Trace], number: int, copies: int, active: int) -> Timeline:
        group = min(together, active)
        # The clusters of a persistent kernel often differ only in how many tiles have been skipped.
        key = copies, active, shape(some, number)
        if key not in known:
            held = residents(some, number, copies * group, parts)
            known[key] = replay(
                held, found, made.table, resident=fits, l1_bytes=l1_bytes, share=group / active
            )
        return known[key]

    def wave(number: int, copies: int, active: int) -> Timeline:
        some = [trace for trace in traces if trace.cluster == number]
        return stretched(some, lambda some: run(some, number, copies, active))

    whole = count // (active * copies)
    replayed = sampled[:1] if alike(traces, sampled) else sampled
    timelines = [wave(number, copies, active) for number in replayed]
    mean = sum(one.cycles for one in timelines) / len(timelines)

    def next_wave(number: int, first: Timeline) -> float:
        """What a further wave of these clusters takes: less than the first one, as a CTA starts as soon as another has
        ended."""
        # Its loops skip what those of the first one do. The difference of two replays of two waves would tell this too,
        # but CTAs that drift apart make it uncertain, and it counts as often as laps are missing.
        two = run(traces, number, 2 * copies, active).simulated
        return two - first.simulated + first.cycles - first.simulated

    several = count > active * copies and count == launch.count and len(replayed) == 2
    work = launch.work(traces, replayed[0], replayed[1]) if several else None
    each = [one.cycles for one in timelines]
    if whole > 1 or work is not None:
        each = [next_wave(number, one) for number, one in zip(replayed, timelines, strict=True)]
    further = sum(each) / len(each)
    # The last wave has the GPU for itself.
    left = count % (active * copies)
    last = wave(replayed[-1], -(-left // active), min(active, left)).cycles if left else 0.0
    made.timeline = timelines[len(timelines) // 2]
    if active * copies == count:
        # All run at once, until the last one ends.
        made.timeline = max(timelines, key=lambda one: one.cycles)
        mean = made.timeline.cycles
        if len(replayed) == 2 and not in_proportion(traces, *replayed):
            mean *= launch.spread(traces, replayed)
    made.cycles = mean + further * (whole - 1) + last * further / mean if whole else last
    if work is not None:
        # The order of the grid says what runs last.
        most, number = max((one.cycles, number) for one, number in zip(timelines, replayed, strict=True))
        alone = min(1.0, wave(number, 1, 1).cycles / most)
        made.cycles = mean - further + span(work.times(replayed, each), active * copies, alone)
    made.waves = count / (active * copies)
    made.simulated = len(launch.sampled or sampled) * launch.size
    made.scale = count / (copies * min(together, active))
    blocks = sum(len(range(number, launch.count, launch.running)) for number in sampled)
    share = count * launch.count, launch.running * blocks
    made.flops = Counter({unit: amount * share[0] // share[1] for unit, amount in made.flops.items()})
    return made


def _fresh(
    made: Estimate, launch: TimedLaunch, traces: list[Trace], at_once: int, sampled: tuple[int, ...]
) -> tuple[dict[Load, float], int, tuple[int, ...]]:
    """The part of each load that comes from DRAM, by the order of the clusters, the mean of the waves; and how many
    clusters work, and which of the sampled ones: grids with a swizzle are rounded up, and some clusters end at once."""
    most = max(1, MOST_SURVEYED // launch.size)
    at_once = min(at_once, most)
    surveyed = min(launch.running, most // at_once * at_once)
    survey = launch.survey(traces, range(surveyed))
    waves = [range(begin, min(begin + at_once, surveyed)) for begin in range(0, surveyed, at_once)]
    waves = [wave for wave in waves if not survey.places.keys().isdisjoint(wave)] or waves
    each = fresh(traces, survey.places, waves, made.table.value("l2_bytes"))
    made.surveyed = surveyed * launch.size
    # The waves that are not surveyed are like the last one that is.
    weights = [float(len(wave)) for wave in waves]
    if len(waves) > 1:
        weights[-1] += launch.running - surveyed
    totals: dict[Load, float] = {}
    for weight, parts in zip(weights, each, strict=True):
        for load, part in parts.items():
            totals[load] = totals.get(load, 0.0) + part * weight / sum(weights)
    idle = survey.ended - survey.places.keys()
    reached = len(survey.places) + len(idle)
    working = launch.running * len(survey.places) // reached if reached else launch.running
    left = tuple(number for number in sampled if number not in idle)
    return totals, max(1, working), left or sampled
