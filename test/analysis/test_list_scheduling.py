"""Orders of blocks respect the dependences, hide latency, and stay within the registers."""

from __future__ import annotations

import itertools
import random

from programs import fresh_seed

from tessera_tools.analysis.list_scheduling import Graph, Task, Tile, ordered, pressure, timed
from tessera_tools.analysis.modulo_scheduling import Dependence

MANY = 1 << 16


def residual(inside: int) -> Graph:
    """A loop, and a load whose tile is added to its result."""
    tasks = [Task(6000, 6000, inside=inside), Task(16, 2500, {"memory": 1800}), Task(100, 104), Task(16)]
    uses = [Dependence(0, 2, 6000), Dependence(1, 2, 2500), Dependence(2, 3, 104)]
    return Graph(tasks, uses, [Tile(64, 0, frozenset({2})), Tile(64, 1, frozenset({2}))])


def test_a_load_starts_in_front_of_the_loop_that_hides_its_latency() -> None:
    graph = residual(64)
    order = ordered(graph, MANY)
    assert order == [1, 0, 2, 3]
    assert timed(graph, range(4)).length - timed(graph, order).length == 6000 + 2500 - (6000 + 16)


def test_a_load_stays_behind_a_loop_that_leaves_it_no_registers() -> None:
    assert ordered(residual(64), 128) == [1, 0, 2, 3]
    graph = residual(96)
    assert pressure(graph, [0, 1, 2, 3]) == 128
    assert pressure(graph, [1, 0, 2, 3]) == 160
    assert ordered(graph, 159) == [0, 1, 2, 3]
    assert ordered(graph, 160) == [1, 0, 2, 3]


def test_a_load_is_no_earlier_than_its_latency_needs() -> None:
    tasks = [Task(50, 54), Task(50, 54), Task(50, 54), Task(1, 58), Task(10, 14)]
    uses = [*(Dependence(n, n + 1, 54) for n in range(2)), Dependence(2, 4, 54), Dependence(3, 4, 58)]
    assert ordered(Graph(tasks, uses), MANY) == [0, 1, 3, 2, 4]


def test_a_computation_hides_the_latency_of_a_copy_that_takes_no_threads() -> None:
    compute, copy, use = Task(100, 100), Task(0, 100), Task(50, 60)
    graph = Graph([compute, copy, use, compute], [Dependence(1, 2, 100)])
    order = ordered(graph, MANY)
    assert order == [1, 0, 2, 3]
    assert timed(graph, order).length == 250


def test_tasks_with_nothing_to_gain_keep_their_order() -> None:
    graph = Graph([Task(10, 14)] * 5, [])
    assert ordered(graph, MANY) == [0, 1, 2, 3, 4]


def test_bytes_are_moved_one_load_after_the_other() -> None:
    graph = Graph([Task(1, 700, {"memory": 500}), Task(1, 700, {"memory": 500})], [])
    assert timed(graph, [1, 0]).cycles == (500, 0)


def test_an_outer_tile_and_a_later_one_are_live_throughout() -> None:
    tiles = [Tile(8, None, frozenset({1})), Tile(4, 0, frozenset({2}))]
    assert pressure(Graph([Task(1, 1), Task(1, 1)], [], tiles), [0, 1]) == 12


def test_random_orders_respect_their_dependences() -> None:
    seed = fresh_seed("list scheduling")
    rng = random.Random(seed)
    for _ in range(200):
        count = rng.randrange(1, 12)
        tasks = [
            Task(
                rng.choice((0, 1, 20, 300)),
                rng.randrange(400),
                {"memory": rng.randrange(1, 90)} if rng.random() < 0.3 else {},
            )
            for _ in range(count)
        ]
        pairs = [pair for pair in itertools.combinations(range(count), 2) if rng.random() < 0.25]
        uses = [Dependence(first, second, tasks[first].latency) for first, second in pairs]
        tiles = [
            Tile(rng.randrange(1, 64), first, frozenset(second for one, second in pairs if one == first))
            for first in {first for first, _ in pairs}
        ]
        graph = Graph(tasks, uses, tiles)
        order = ordered(graph, rng.choice((0, 64, MANY)))
        assert sorted(order) == list(range(count)), seed
        assert all(order.index(first) < order.index(second) for first, second in pairs), seed
        found = timed(graph, order)
        for one in uses:
            assert found.cycles[one.target] >= found.cycles[one.source] + one.latency, seed
        threads = sorted((found.cycles[n], tasks[n].threads) for n in order if tasks[n].threads)
        assert all(start + length <= then for (start, length), (then, _) in itertools.pairwise(threads)), seed


def test_the_pressure_in_loops_is_that_of_the_tasks_that_compute_inside() -> None:
    """Tiles between other tasks do not count."""
    graph = residual(96)
    assert pressure(graph, [1, 0, 2, 3], inside=True) == 160
    assert pressure(graph, [0, 1, 2, 3], inside=True) == 96
    assert pressure(residual(0), [1, 0, 2, 3], inside=True) == 0
