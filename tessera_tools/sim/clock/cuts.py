"""Places in traces at which laps of loops are missing (sim/clock/steady.py), and traces that lack further ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tessera_tools.sim.arrays import Array

if TYPE_CHECKING:
    from tessera_tools.sim.clock.record import Phase, Step, Trace

__all__ = [
    "Cut",
    "Place",
    "first_of",
    "next_number",
    "phases_of",
    "same_phases",
    "shortened",
    "turned_phases",
    "weights",
]

Place = tuple[str, int, int]
"""A barrier: kind, CTA, and number or shared byte."""


@dataclass(slots=True)
class Cut:
    """A place in a trace at which laps are missing. The `steps` before it are a window that stands for them."""

    number: int
    """Among those of its cluster."""
    at: int
    """The number of steps of the trace before it."""
    steps: int
    laps: int
    """Of the window."""
    times: int
    """How often the window is missing."""
    phases: dict[Place, int]
    """Phases of each barrier in the window."""
    first: dict[Place, int]
    """The first of them."""
    kind: int
    """Stands for the instructions of the window: windows of one kind take as long as each other."""
    lap: int = 0
    """Laps of the loop before it."""
    turns: bool = False
    """The windows that are missing use other barriers, or other parities, than those before."""


def weights(trace: Trace) -> Array:
    """How often each step of a trace happens, with those that are missing."""
    found = np.ones(len(trace.steps))
    for cut in trace.cuts:
        found[cut.at - cut.steps : cut.at] *= 1 + cut.times
    return found


# -- phases


def phases_of(step: Step) -> tuple[Phase, ...]:
    return step.arrives if step.waits is None else (*step.arrives, step.waits)


def first_of(steps: Iterable[Step]) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for step in steps:
        for phase in phases_of(step):
            found[phase[:3]] = min(phase[3], found.get(phase[:3], phase[3]))
    return found


def next_number(own: Sequence[Cut], agreed: Sequence[Cut], turns: bool) -> int:
    """The number of a warp's next cut behind its `own`.  One of tiles is the next of tiles that its cluster has
    agreed on: a warp may have no other loops within its tiles."""
    number = own[-1].number + 1 if own else 0
    while turns and number < len(agreed) and not agreed[number].turns:
        number += 1
    return number


def same_phases(before: Sequence[Step], after: Sequence[Step]) -> dict[Place, int] | None:
    """How many phases of each barrier a window has; None if two windows differ in more than phases."""
    if len(before) != len(after):
        return None
    found: dict[Place, int] = {}
    for one, other in zip(before, after, strict=True):
        if (one.pc, one.count, one.bytes) != (other.pc, other.count, other.bytes):
            return None
        ones, others = phases_of(one), phases_of(other)
        if len(ones) != len(others):
            return None
        for phase, later in zip(ones, others, strict=True):
            change = later[3] - phase[3]
            if phase[:3] != later[:3] or found.setdefault(phase[:3], change) != change:
                return None
    return found


def turned_phases(before: Sequence[Step], after: Sequence[Step]) -> dict[Place, int] | None:
    """How many phases of each barrier the second of two windows has, which may use other barriers than the first one;
    None if the windows differ in more than that, or if they do not have the phases of a barrier one after the other."""
    if len(before) != len(after):
        return None
    for one, other in zip(before, after, strict=True):
        if (one.pc, one.count, one.bytes) != (other.pc, other.count, other.bytes):
            return None
        if [phase[0] for phase in phases_of(one)] != [phase[0] for phase in phases_of(other)]:
            return None
    found: dict[Place, int] = {}
    for signals in (True, False):
        early, late = _touched(before, signals), _touched(after, signals)
        for place, numbers in late.items():
            earlier = early.get(place, set())
            every = earlier | numbers
            if (earlier and max(earlier) >= min(numbers)) or max(every) - min(every) + 1 != len(every):
                return None
            if found.setdefault(place, len(numbers)) != len(numbers):
                return None
    return found


def _touched(steps: Iterable[Step], signals: bool) -> dict[Place, set[int]]:
    """The phases of each barrier that steps signal, or wait for."""
    found: dict[Place, set[int]] = {}
    for step in steps:
        for phase in step.arrives if signals else (step.waits,):
            if phase is not None:
                found.setdefault(phase[:3], set()).add(phase[3])
    return found


def shortened(traces: Sequence[Trace], chosen: Mapping[int, object]) -> list[Trace]:
    """The traces without one window of each cut with a number among `chosen`."""
    return [_shortened(trace, chosen) for trace in traces]


def _shortened(trace: Trace, chosen: Mapping[int, object]) -> Trace:
    from tessera_tools.sim.clock.record import Trace

    found = Trace(trace.cta, trace.cluster, trace.warp)
    less: defaultdict[Place, int] = defaultdict(int)
    at = 0
    for cut in trace.cuts:
        if cut.number in chosen:
            found.steps += _renumbered(trace.steps[at : cut.at - cut.steps], less)
            at = cut.at
            for place, count in cut.phases.items():
                less[place] += count
    found.steps += _renumbered(trace.steps[at:], less)
    return found


def _renumbered(steps: list[Step], less: Mapping[Place, int]) -> list[Step]:
    if not less:
        return steps
    found: list[Step] = []
    for step in steps:
        if step.arrives or step.waits is not None:
            step = step.like()
            step.arrives = tuple((*phase[:3], phase[3] - less.get(phase[:3], 0)) for phase in step.arrives)
            if (wait := step.waits) is not None and wait[3] >= 0:
                step.waits = (*wait[:3], wait[3] - less.get(wait[:3], 0))
        found.append(step)
    return found
