"""The clock's survey: which warps run, until which step, and whether they read shared memory on the way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tessera_tools.sim.clock.record import Step, Trace
from tessera_tools.sim.clock.survey import plan, reached, reads_shared

CODE: Any = [
    SimpleNamespace(opcode="mov", modifiers=("u32",)),
    SimpleNamespace(opcode="ld", modifiers=("shared", "u32")),
    SimpleNamespace(opcode="ld", modifiers=("global", "u32")),
    SimpleNamespace(opcode="st", modifiers=("shared", "u32")),
]
MOVE, READ, LOAD, WRITE = range(4)


def trace(warp: int, *pcs: int, cta: int = 6) -> Trace:
    """A warp's steps; its loads from global memory have sectors."""
    found = Trace(cta=cta, cluster=3, warp=warp)
    for pc in pcs:
        step = Step(pc)
        step.sectors = [0] if pc == LOAD else None
        found.steps.append(step)
    return found


def test_the_plan_has_the_fewest_warps_that_execute_all_loads() -> None:
    traces = [trace(0, MOVE, MOVE), trace(1, MOVE, LOAD, READ), trace(0, LOAD, cta=7)]
    loads = frozenset({LOAD})
    assert plan(traces, loads) == {(0, 1): 2, (1, 0): 1}
    assert reached(traces, loads) == {(0, LOAD), (1, LOAD)}


def test_what_a_warp_reads_behind_its_planned_steps_does_not_count() -> None:
    traces = [trace(0, MOVE, LOAD, READ)]
    assert not reads_shared(traces, {(0, 0): 2}, CODE)
    assert reads_shared(traces, {(0, 0): 3}, CODE)


def test_a_warp_without_a_plan_reads_nothing() -> None:
    assert not reads_shared([trace(0, READ, READ), trace(1, LOAD)], {(0, 1): 1}, CODE)


def test_a_store_to_shared_memory_is_no_read() -> None:
    assert not reads_shared([trace(0, WRITE, LOAD)], {(0, 0): 2}, CODE)
