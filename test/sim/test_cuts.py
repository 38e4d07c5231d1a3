"""Cuts of traces: what two windows of a steady state have in common, and traces that lack one more of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tessera_tools.sim.clock.cuts import (
    Cut,
    first_of,
    next_number,
    same_phases,
    shortened,
    turned_phases,
    weights,
)
from tessera_tools.sim.clock.record import Step, Trace

BARRIER = ("mbarrier", 0, 64)
OTHER = ("mbarrier", 0, 72)
CUT = Cut(number=0, at=8, steps=4, laps=1, times=4, phases={}, first={}, kind=0)


def step(pc: int, *arrives: Any, waits: Any = None) -> Step:
    found = Step(pc)
    found.arrives, found.waits = arrives, waits
    return found


def test_a_cut_of_tiles_is_the_next_cut_of_tiles_of_the_cluster() -> None:
    inner, tiles = (replace(CUT, turns=turns) for turns in (False, True))
    agreed = [inner, tiles, inner, inner, inner, tiles]
    assert next_number([], [], turns=True) == next_number([], [tiles], turns=True) == 0
    assert next_number([], agreed, turns=True) == 1
    assert next_number([replace(tiles, number=1)], agreed, turns=True) == 5
    assert next_number([replace(tiles, number=5)], agreed, turns=True) == 6
    assert next_number([replace(inner, number=2)], agreed, turns=False) == 3
    assert next_number([], [inner], turns=True) == 1


def test_the_window_before_a_cut_happens_as_often_as_it_is_missing_and_once() -> None:
    trace = Trace(cta=0, cluster=0, warp=0, steps=[Step(pc) for pc in range(6)])
    trace.cuts.append(replace(CUT, at=4, steps=3, times=2))
    assert weights(trace).tolist() == [1, 3, 3, 3, 1, 1]


def test_the_first_phases_are_the_least_of_those_that_are_signaled_or_waited_for() -> None:
    steps = [step(0, (*BARRIER, 5)), step(1, waits=(*BARRIER, 4)), step(2, (*OTHER, 7), (*OTHER, 8))]
    assert first_of(steps) == {BARRIER: 4, OTHER: 7}


def test_two_windows_are_the_same_but_for_the_phases_of_their_barriers() -> None:
    before = [step(0, (*BARRIER, 4)), step(1, waits=(*OTHER, 2)), step(2, (*BARRIER, 5))]
    after = [step(0, (*BARRIER, 6)), step(1, waits=(*OTHER, 3)), step(2, (*BARRIER, 7))]
    assert same_phases(before, after) == {BARRIER: 2, OTHER: 1}


def test_tiles_may_use_other_barriers_than_the_tiles_before() -> None:
    before = [step(0, (*BARRIER, 4)), step(1, (*BARRIER, 5))]
    after = [step(0, (*BARRIER, 6)), step(1, (*OTHER, 0))]
    assert same_phases(before, after) is None
    assert turned_phases(before, after) == {BARRIER: 1, OTHER: 1}


def bytes_moved(count: int) -> Step:
    found = Step(0)
    found.bytes = count
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([step(0)], [step(0), step(1)]),
        ([step(0)], [step(1)]),
        ([bytes_moved(16)], [bytes_moved(32)]),
        ([step(0, (*BARRIER, 4))], [step(0)]),
        ([step(0, (*BARRIER, 4))], [step(0, ("barrier", 0, 1, 5))]),
    ],
)
def test_windows_that_do_other_work_have_no_phases_in_common(before: list[Step], after: list[Step]) -> None:
    assert same_phases(before, after) is None
    assert turned_phases(before, after) is None


def test_a_barrier_has_as_many_phases_at_each_step_of_a_window() -> None:
    before = [step(0, (*BARRIER, 4)), step(1, waits=(*BARRIER, 4))]
    after = [step(0, (*BARRIER, 5)), step(1, waits=(*BARRIER, 6))]
    assert same_phases(before, after) is None


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param([4, 5], [5, 6], id="a phase of both"),
        pytest.param([4, 5], [7, 8], id="a phase of none"),
        pytest.param([4, 5], [6, 8], id="a phase that the second one leaves out"),
        pytest.param([6, 7], [4, 5], id="phases of the past"),
    ],
)
def test_tiles_have_the_phases_of_a_barrier_one_after_the_other(earlier: list[int], later: list[int]) -> None:
    before, after = ([step(0, (*BARRIER, phase)) for phase in phases] for phases in (earlier, later))
    assert turned_phases(before, after) is None


def test_tiles_signal_as_many_phases_of_a_barrier_as_they_wait_for() -> None:
    waits = step(1, waits=(*BARRIER, 5))
    assert turned_phases([step(0), waits], [step(0), waits]) is None
    before = [step(0, (*BARRIER, 4)), step(1, (*BARRIER, 5)), step(2, waits=(*BARRIER, 4))]
    after = [step(0, (*BARRIER, 6)), step(1, (*BARRIER, 7)), step(2, waits=(*BARRIER, 5))]
    assert turned_phases(before, after) is None


def test_what_follows_a_missing_window_has_earlier_phases() -> None:
    """A wait for a phase before the first one, which is over, stays."""
    steps = [step(pc, (*BARRIER, pc), waits=(*BARRIER, pc - 4)) for pc in range(6)]
    steps[5].waits = (*OTHER, -1)
    trace = Trace(cta=0, cluster=0, warp=0, steps=steps)
    trace.cuts.append(replace(CUT, number=3, at=4, steps=2, phases={BARRIER: 2, OTHER: 1}))
    (whole,) = shortened([trace], {1: None})
    assert whole.steps == steps
    (less,) = shortened([trace], {3: None})
    assert [one.pc for one in less.steps] == [0, 1, 4, 5]
    assert [one.arrives for one in less.steps] == [((*BARRIER, phase),) for phase in (0, 1, 2, 3)]
    assert [one.waits for one in less.steps] == [(*BARRIER, -4), (*BARRIER, -3), (*BARRIER, -2), (*OTHER, -1)]
