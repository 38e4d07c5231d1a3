"""The units of an SM in the clock: ports that one request has at a time, and a cache of what was used last."""

from __future__ import annotations

import random

from programs import fresh_seed

from tessera_tools.sim.clock.units import SECTOR, Cache, Port, SharedPort


def test_a_port_serves_requests_one_after_the_other() -> None:
    port = Port(4.0)
    assert port.take(0, 8) == 2
    assert port.take(1, 4) == 3, "it waits for the one before"
    assert port.take(10, 4) == 11
    assert port.busy == 4, "cycles, without those in between"


def test_a_bulk_copy_shares_the_port_with_the_accesses_of_threads() -> None:
    port = SharedPort(128, 1.0)
    assert port.write(0, 1280) == 10, "alone it has all cycles"
    port = SharedPort(128, 1.0)
    assert port.take(0, 1280) == 10
    assert port.write(0, 640) == 10, "half of the cycles while threads have queued"
    port = SharedPort(128, 1.0)
    assert port.take(0, 1280) == 10
    assert port.write(0, 1280) == 15, "and all after that"


def test_a_cache_holds_the_sectors_that_were_used_last() -> None:
    cache = Cache(3 * SECTOR)
    assert cache.misses([1, 2, 3]) == [1, 2, 3]
    assert cache.misses([1]) == []
    assert cache.misses([4]) == [4]
    assert cache.misses([1, 3, 4]) == [], "2 was used least recently"
    assert cache.misses([2]) == [2]


def test_a_cache_is_that_of_a_list_in_the_order_of_use() -> None:
    rng = random.Random(fresh_seed())
    most = rng.randrange(1, 9)
    cache, used = Cache(most * SECTOR), list[int]()
    for _ in range(300):
        asked = [rng.randrange(12) for _ in range(rng.randrange(1, 6))]
        missing: list[int] = []
        for sector in asked:
            if sector in used:
                used.remove(sector)
            else:
                missing.append(sector)
            used.append(sector)
        used = used[-most:]
        assert cache.misses(asked) == missing
