"""Modulo schedules are valid, reach their bounds where they can, and say what limits them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest
from programs import fresh_seed

from tessera_tools.analysis.modulo_scheduling import (
    Dependence,
    Reservations,
    Schedule,
    SchedulingError,
    conflicts,
    delayed,
    recurrence_bound,
    schedule,
)


def check(found: Schedule, operations: Sequence[Reservations], dependences: list[Dependence]) -> None:
    """Assert both conditions of the module's docstring, cycle by cycle."""
    for one in dependences:
        start = found.cycles[one.target] + one.distance * found.interval
        assert start >= found.cycles[one.source] + one.latency
    taken: set[tuple[str, int]] = set()
    for number, reservations in enumerate(operations):
        for resource, cycles in reservations.items():
            for cycle in range(cycles):
                place = (resource, (found.cycles[number] + cycle) % found.interval)
                assert place not in taken
                taken.add(place)


def test_the_busiest_resource_sets_the_interval() -> None:
    found = schedule([{"copy": 30}, {"tensor": 100}, {"copy": 30}], [Dependence(0, 1, 800)])
    assert (found.interval, found.bound, found.limited_by) == (100, 100, "tensor")


def test_latency_costs_stages_and_no_time() -> None:
    found = schedule([{"copy": 30}, {"tensor": 100}], [Dependence(0, 1, 800)])
    assert (found.interval, found.stage(0), found.stage(1)) == (100, 0, 8)
    assert found.stages == 9


def test_a_recurrence_sets_the_interval() -> None:
    found = schedule([{"alu": 10}, {"alu": 10}], [Dependence(0, 1, 50), Dependence(1, 0, 60, 1)])
    assert (found.interval, found.recurrence, found.limited_by) == (110, 110, "recurrence")


def test_a_recurrence_over_two_iterations_costs_half() -> None:
    assert recurrence_bound(2, [Dependence(0, 1, 50), Dependence(1, 0, 61, 2)]) == 56


def test_a_circle_within_an_iteration_is_refused() -> None:
    with pytest.raises(SchedulingError, match="form a cycle"):
        schedule([{"alu": 1}] * 2, [Dependence(0, 1, 1), Dependence(1, 0, 1)])


def test_softmax_overlaps_with_the_products_of_its_neighbors() -> None:
    """Attention: Q·Kᵀ, softmax, P·V.  The tensor core works while the ALU computes another iteration's softmax."""
    operations = [{"tensor": 500}, {"alu": 520}, {"tensor": 500}]
    dependences = [
        Dependence(0, 1, 500),
        Dependence(1, 1, 520, 1),
        Dependence(1, 2, 520),
        Dependence(2, 2, 500, 1),
    ]
    found = schedule(operations, dependences)
    check(found, operations, dependences)
    assert found.interval == 1000
    assert found.stages == 2


@pytest.mark.parametrize("agents", [2, 3])
def test_agents_never_use_a_shared_resource_at_once(agents: int) -> None:
    """Each warpgroup's softmax runs under the products of the others: the tensor core is always busy."""
    operations = [{"tensor": 200}, {"alu": 400}, {"tensor": 200}]
    dependences = [
        Dependence(0, 1, 200),
        Dependence(1, 1, 400, 1),
        Dependence(1, 2, 400),
        Dependence(2, 2, 200, 1),
    ]
    found = schedule(operations, dependences, sharers={"tensor": agents})
    check(found, operations, dependences)
    assert (found.interval, found.resources["tensor"]) == (agents * 400, agents * 400)
    phase = found.interval // agents
    taken = {
        (found.cycles[number] + agent * phase + cycle) % found.interval
        for number in (0, 2)
        for agent in range(agents)
        for cycle in range(200)
    }
    assert len(taken) == agents * 400


def test_random_loops_of_agents_share_a_resource() -> None:
    rng = random.Random(fresh_seed("loops of agents"))
    for _ in range(100):
        operations, dependences = _random_loop(rng)
        agents = rng.randint(2, 4)
        found = schedule(operations, dependences, sharers={"a": agents})
        check(found, operations, dependences)
        assert found.interval % agents == 0
        slots = [
            (start + cycle) % (found.interval // agents)
            for start, reservations in zip(found.cycles, operations, strict=True)
            for cycle in range(reservations.get("a", 0))
        ]
        assert len(slots) == len(set(slots))


def test_the_depth_of_a_value_covers_its_life() -> None:
    edge = Dependence(0, 1, 800)
    found = schedule([{"copy": 30}, {"tensor": 100}], [edge])
    assert found.depth(edge) == 8
    assert found.depth(edge, held=100) == 9


def test_an_interval_can_be_asked_for() -> None:
    assert schedule([{"alu": 10}], [], least=64).interval == 64


def test_an_empty_loop_has_a_schedule() -> None:
    found = schedule([], [])
    assert (found.interval, found.cycles, found.stages) == (1, (), 1)


def _random_loop(rng: random.Random) -> tuple[Sequence[Reservations], list[Dependence]]:
    count = rng.randint(1, 7)
    operations = [
        {resource: rng.randint(1, 6) for resource in "abc" if rng.random() < 0.5} for _ in range(count)
    ]
    dependences = [
        Dependence(i, j, rng.randint(0, 12), 0 if i < j else rng.randint(1, 3))
        for i, j in itertools.product(range(count), repeat=2)
        if rng.random() < 0.25
    ]
    return operations, dependences


def test_random_loops_have_valid_schedules_not_far_above_the_bound() -> None:
    rng = random.Random(fresh_seed("loops"))
    at_bound = 0
    for _ in range(300):
        operations, dependences = _random_loop(rng)
        found = schedule(operations, dependences)
        check(found, operations, dependences)
        assert found.interval >= found.bound
        at_bound += found.interval == found.bound
    assert at_bound > 150


def test_delayed_operations_leave_a_valid_schedule() -> None:
    """Each goes as late as its users and the resources allow, and one without users stays."""
    rng = random.Random(fresh_seed("delayed"))
    moved = 0
    for _ in range(300):
        operations, dependences = _random_loop(rng)
        found = schedule(operations, dependences)
        movable = [number for number in range(len(operations)) if rng.random() < 0.7]
        later = delayed(found, operations, dependences, movable)
        check(later, operations, dependences)
        assert later.interval == found.interval
        for number, (before, after) in enumerate(zip(found.cycles, later.cycles, strict=True)):
            assert after >= before
            if number not in movable or all(one.source != number for one in dependences):
                assert after == before
            moved += after > before
    assert moved > 50


def test_what_starts_together_is_delayed_together() -> None:
    dependences = [Dependence(0, 1, 0), Dependence(1, 2, 0), Dependence(3, 2, 100)]
    found = schedule([{}] * 4, dependences)
    assert found.cycles == (0, 0, 100, 0)
    assert delayed(found, [{}] * 4, dependences, [0, 1]).cycles == (100, 100, 100, 0)


def test_a_delayed_operation_stands_in_front_of_those_that_have_its_resource() -> None:
    """The user at cycle 40 needs the tile of the copy 10 cycles before, where another copy is."""
    operations: list[Reservations] = [{"copy": 5}, {"copy": 12}, {"alu": 1}]
    found = Schedule(100, (0, 25, 40), {}, 0)
    later = delayed(found, operations, [Dependence(0, 2, 10)], [0])
    assert later.cycles == (20, 25, 40)


def test_operations_that_have_a_resource_at_once_conflict() -> None:
    operations: list[Reservations] = [{"copy": 5}, {"copy": 5}, {"alu": 5}]
    apart, at_once = (Schedule(100, (0, cycle, 0), {}, 0) for cycle in (5, 104))
    assert not conflicts(apart, operations, [0, 1, 2])
    assert conflicts(at_once, operations, [0])
    assert not conflicts(at_once, operations, [2])
