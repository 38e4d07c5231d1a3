"""The order of a search: what is tried, how often, and when it ends."""

from __future__ import annotations

from typing import Any

import pytest
from programs import fresh_seed

from tessera_tools.emit.tunables import TUNABLES, Config, Tunable, config_text
from tessera_tools.emit.tuned import Trial
from tessera_tools.tuning.search import LISTED, Search, space

FEW = [
    one for one in TUNABLES if one.name in ("num_warps", "num_consumer_warpgroups", "ping_pong", "num_stages")
]
"""Tunables of which all combinations are listed; all tunables have too many."""


def given(config: Config, cost: float | None, digest: str = "") -> Trial:
    return Trial(dict(config), "failed" if cost is None else "measured", cost, digest or config_text(config))


def play(seed: int, cost: Any, dimensions: Any = FEW, **limits: int) -> tuple[list[Config], Config]:
    """The order of a search with a given cost of each configuration, and the best."""
    search = Search(dimensions, seed, limits.get("most", 10_000), limits.get("patience", 10_000))
    order: list[Config] = []
    while batch := search.ask():
        order += batch
        search.tell([given(config, cost(config)) for config in batch])
    assert search.best is not None
    return order, search.config(search.best)


def test_a_search_without_limits_tries_every_configuration_once() -> None:
    order, best = play(fresh_seed(), lambda config: 10.0 - config.get("num_stages", 0))
    texts = list(map(config_text, order))
    assert len(texts) == len(set(texts)) == len(space(FEW))
    assert texts[0] == "the compiler's choices"
    assert best == {"num_stages": 8}


def test_excluded_options_do_not_come_together() -> None:
    order, _ = play(0, lambda config: 1.0)
    assert not [one for one in order if "num_warps" in one and "num_consumer_warpgroups" in one]
    assert [one for one in order if one.get("ping_pong") == "always" and "num_consumer_warpgroups" in one]


@pytest.mark.parametrize("dimensions", [FEW, TUNABLES], ids=["listed", "drawn"])
def test_the_order_depends_on_the_seed_alone(dimensions: Any) -> None:
    seed = fresh_seed()
    first, second, other = (
        play(one, lambda config: 1.0, dimensions, most=200)[0] for one in (seed, seed, seed + 1)
    )
    assert first == second != other


def test_more_combinations_than_are_listed_are_drawn_without_repetition() -> None:
    search = Search(TUNABLES, 0, 1, 1)
    assert search.listed is None and len(TUNABLES) > 9
    order, _ = play(fresh_seed(), lambda config: 1.0, TUNABLES, most=500)
    texts = list(map(config_text, order))
    assert len(texts) == len(set(texts)) == 500
    assert not [one for one in order if "split_k" in one and "cluster" in one]


def test_a_search_ends_when_hardly_any_configuration_is_left() -> None:
    """Of the combinations of many dimensions, all but those with one choice exclude each other."""
    names = [f"x{number}" for number in range(15)]
    dimensions = [
        Tunable(name, (1,), "", excludes=tuple(other for other in names if other != name)) for name in names
    ]
    assert 2 ** len(names) > LISTED
    assert len(play(0, lambda config: 1.0, dimensions)[0]) == 1 + len(names)


@pytest.mark.parametrize("one", TUNABLES, ids=lambda one: one.name)
def test_every_tunable_is_tried_alone_and_can_be_the_best(one: Tunable) -> None:
    wanted = one.values[-1]
    order, best = play(
        fresh_seed(), lambda config: 1.0 if config.get(one.name) == wanted else 2.0, TUNABLES, most=100
    )
    assert best[one.name] == wanted
    assert {one.name: wanted} in order


def test_a_search_stops_when_nothing_improves() -> None:
    order, _ = play(0, lambda config: 1.0, patience=8)
    assert len(order) == 1 + 8


def test_a_search_stops_at_its_limit() -> None:
    order, _ = play(0, lambda config: 1.0 / (1 + len(config)), most=11)
    assert len(order) == 11


def test_what_does_not_count_is_never_the_best() -> None:
    _, best = play(0, lambda config: None if config else 1.0)
    assert best == {}


@pytest.mark.parametrize("outcome", ["refused", "same code"])
def test_configurations_without_a_program_of_their_own_do_not_end_a_search(outcome: str) -> None:
    """Patience is for programs: options that change nothing, or that the compiler refuses, do not use it up."""
    search = Search(FEW, 0, 40, 8)
    order: list[Config] = []
    while batch := search.ask():
        order += batch
        refused = outcome == "refused"
        search.tell(
            [
                Trial(dict(one), "refused") if refused and one else given(one, 1.0, "the only code")
                for one in batch
            ]
        )
    assert len(order) == 40 and search.idle <= 1
