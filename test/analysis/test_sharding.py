"""Exchanges between shardings, against tensors that are really cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from programs import fresh_seed

from tessera_tools.analysis.sharding import Sharding, Step, bytes_received, cost, local_shape, steps
from tessera_tools.emit.plan import Plan, Tensor

MESH = {"x": 2, "y": 2}
PLAN = Plan("plan", tuple(MESH.items()), (), (), (), ())
AXES = [
    axes
    for axes in itertools.product((None, "x", "y"), repeat=2)
    if axes in ((None, None),) or axes[0] != axes[1]
]
SOURCES = [
    Sharding(axes, frozenset(partial))
    for axes in AXES
    for count in range(3)
    for partial in itertools.combinations([a for a in MESH if a not in axes], count)
]


def _spelled(state: Sharding) -> str:
    """A test's name that does not depend on the order of a set, so that parallel workers agree on it."""
    return "-".join(
        [*(axis or "whole" for axis in state.axes), *(f"partial_{a}" for a in sorted(state.partial))]
    )


def _parts(whole: np.ndarray, state: Sharding, rng: np.random.Generator) -> list[np.ndarray]:
    """What each rank has of a tensor; of summands, random ones of this sum."""
    tensor = Tensor("t", "i64", local_shape(whole.shape, state, MESH), state.axes)
    summands: dict[tuple[int, ...], np.ndarray] = {}
    axes = sorted(state.partial)
    places = list(itertools.product(*(range(MESH[axis]) for axis in axes)))
    for place in places:
        summands[place] = rng.integers(-100, 100, whole.shape)
    summands[places[-1]] = whole - sum(summands[place] for place in places[:-1])
    found = []
    for rank in range(PLAN.ranks):
        here = PLAN.coordinates(rank)
        found.append(summands[tuple(here[axis] for axis in axes)][PLAN.place(tensor, rank)])
    return found


def _apply(parts: list[np.ndarray], step: Step) -> list[np.ndarray]:
    """One exchange by all ranks."""
    found = []
    for rank in range(PLAN.ranks):
        group = PLAN.group(rank, step.axis)
        place, given = group.index(rank), [parts[other] for other in group]
        if step.kind in ("all_reduce", "reduce_scatter"):
            given = [sum(given)]  # type: ignore[list-item]
        if step.kind == "all_slice":
            given = [parts[rank]]
        if step.split is not None:
            given = [np.split(one, len(group), step.split)[place] for one in given]
        found.append(np.concatenate(given, step.gather) if step.gather is not None else given[0])
    return found


@pytest.mark.parametrize("source", SOURCES, ids=_spelled)
def test_every_sharding_is_reached_from_every_other(source: Sharding) -> None:
    rng = np.random.default_rng(fresh_seed())
    whole = rng.integers(-100, 100, (8, 4))
    for axes in AXES:
        target = Sharding(axes)
        parts = _parts(whole, source, rng)
        for step in steps(source, target):
            parts = _apply(parts, step)
            assert parts[0].shape == local_shape(whole.shape, step.after, MESH)
        for found, expected in zip(parts, _parts(whole, target, rng), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_what_is_as_wanted_costs_nothing() -> None:
    assert steps(Sharding(("x", None)), Sharding(("x", None))) == []
    assert cost(Sharding(("x", None)), Sharding(("x", None)), 1024, MESH) == 0


def test_a_cut_of_what_is_whole_costs_nothing() -> None:
    assert [s.kind for s in steps(Sharding((None, None)), Sharding((None, "x")))] == ["all_slice"]
    assert cost(Sharding((None, None)), Sharding((None, "x")), 1024, MESH) == 0


def test_costs_are_those_of_rings() -> None:
    mesh = {"x": 4}
    whole, cut, summands = Sharding((None,)), Sharding(("x",)), Sharding((None,), frozenset("x"))
    assert cost(cut, whole, 1024, mesh) == 3 * 256
    assert cost(summands, cut, 1024, mesh) == 3 * 256
    assert cost(summands, whole, 1024, mesh) == 6 * 256
    assert bytes_received(steps(Sharding(("x", None)), Sharding((None, "x")))[0], 256, 4) == 3 * 64


def test_extents_that_do_not_divide_are_refused() -> None:
    with pytest.raises(
        ValueError, match="dimension 0 has 6 elements, which is not divisible by the 4 ranks of 'x'"
    ):
        local_shape((6,), Sharding(("x",)), {"x": 4})
