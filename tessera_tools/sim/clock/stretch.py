"""The time of a launch whose loops have laps that were skipped (sim/clock/steady.py).

traces ──replay──▶ Timeline
traces less one window of a loop ──replay──▶ Timeline      the difference is what a window takes in the steady state
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from tessera_tools.sim.clock.cuts import Cut, shortened, weights
from tessera_tools.sim.clock.record import Trace
from tessera_tools.sim.clock.timeline import Timeline, WarpTime

__all__ = ["executed", "missing_operations", "steps_of", "stretched"]


def stretched(traces: Sequence[Trace], run: Callable[[Sequence[Trace]], Timeline]) -> Timeline:
    """The timeline of the whole launch, by `run` for traces; its slices are those of what was simulated."""
    cuts: defaultdict[int, list[Cut]] = defaultdict(list)
    for trace in traces:
        for cut in trace.cuts:
            cuts[cut.number].append(cut)
    found = run(traces)
    loops: defaultdict[frozenset[int], list[int]] = defaultdict(list)
    for number, those in sorted(cuts.items()):
        loops[frozenset(cut.kind for cut in those)].append(number)
    whole = found
    for numbers in loops.values():
        times = 0
        for number in numbers:
            # A window of an outer loop stands for its inner loops, and for what they lack.
            times += cuts[number][0].times * _within(traces, number)
        part = run(shortened(traces, dict.fromkeys(numbers)))
        whole = _more(whole, found, part, times / len(numbers))
    return whole


def _within(traces: Sequence[Trace], number: int) -> int:
    """How often a cut happens, by the cuts of outer loops around it."""
    times = 1
    for trace in traces:
        cut = next((cut for cut in trace.cuts if cut.number == number), None)
        if cut is None:
            continue
        here = 1
        for outer in trace.cuts:
            if outer.number > number and outer.at - outer.steps < cut.at <= outer.at:
                here *= 1 + outer.times
        times = max(times, here)
    return times


def _more(whole: Timeline, found: Timeline, part: Timeline, times: float) -> Timeline:
    """`whole`, longer by `times` the difference of two timelines."""

    def longer(name: str) -> float:
        return getattr(whole, name) + times * max(0.0, getattr(found, name) - getattr(part, name))

    made = Timeline(
        resident=whole.resident, sms=whole.sms, waves=whole.waves, slices=whole.slices, cut=whole.cut,
        stages=whole.stages, stage_bytes=whole.stage_bytes, simulated=whole.simulated,
    )  # fmt: skip
    made.cycles, made.l2_bytes, made.dram_bytes = longer("cycles"), longer("l2_bytes"), longer("dram_bytes")
    for unit, cycles in whole.busy.items():
        made.busy[unit] = cycles + times * max(0.0, found.busy[unit] - part.busy[unit])
    two = [{(warp.cta, warp.warp): warp for warp in one.warps} for one in (found, part)]
    for warp in whole.warps:
        one, other = (known[warp.cta, warp.warp] for known in two)
        more = WarpTime(
            warp.cta, warp.warp, warp.role, warp.begin + times * max(0.0, one.begin - other.begin)
        )
        more.end = warp.end + times * max(0.0, one.end - other.end)
        more.issued = warp.issued + times * max(0.0, one.issued - other.issued)
        for what, cycles in warp.stalls.items():
            more.stalls[what] = cycles + times * max(0.0, one.stalls[what] - other.stalls[what])
        made.warps.append(more)
    return made


def missing_operations(traces: Sequence[Trace], operations: Mapping[int, tuple[str, int]]) -> Counter[str]:
    """Floating-point operations of the laps that were skipped, by unit."""
    found: Counter[str] = Counter()
    for trace in traces:
        if trace.cuts:
            for step, times in zip(trace.steps, weights(trace).tolist(), strict=True):
                if times > 1 and step.pc in operations:
                    unit, amount = operations[step.pc]
                    found[unit] += amount * (int(times) - 1)
    return found


def steps_of(traces: Sequence[Trace]) -> tuple[int, int]:
    """The steps that were simulated, and those of the whole launch of these warps."""
    return sum(len(trace.steps) for trace in traces), int(sum(weights(trace).sum() for trace in traces))


def executed(trace: Trace, instructions: Collection[int]) -> int:
    """How often a warp executes some instructions in the whole launch."""
    return sum(
        int(times)
        for step, times in zip(trace.steps, weights(trace).tolist(), strict=True)
        if step.pc in instructions
    )
