"""Execution units: which warps of a CTA run a program together."""

import pytest

from tessera_tools.target import ExecutionUnit


def test_the_whole_cta_is_the_simplest_unit() -> None:
    unit = ExecutionUnit(4)
    assert (unit.first_warp, unit.barrier, unit.threads, unit.is_whole) == (0, 0, 128, True)


def test_an_agent_starts_at_another_warp() -> None:
    agent = ExecutionUnit(8, first_warp=4, barrier=1, registers=232)
    assert not agent.is_whole and agent.is_warpgroups and agent.threads == 256


@pytest.mark.parametrize(("first", "warps", "whole"), [(0, 4, True), (2, 4, False), (4, 2, False)])
def test_warpgroups_start_at_multiples_of_four(first: int, warps: int, whole: bool) -> None:
    assert ExecutionUnit(warps, first, barrier=1).is_warpgroups is whole


@pytest.mark.parametrize(
    ("first", "meets"), [(2, False), (3, True), (4, True), (7, True), (8, False)], ids=str
)
def test_overlap(first: int, meets: bool) -> None:
    unit, other = ExecutionUnit(4, 4), ExecutionUnit(2, first)
    assert unit.overlaps(other) is meets
    assert other.overlaps(unit) is meets


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"warps": 0}, "a CTA has warps 0 to 31"),
        ({"warps": 4, "first_warp": 29}, "a CTA has warps 0 to 31"),
        ({"warps": 4, "barrier": 16}, "a CTA has barriers 0 to 15"),
        ({"warps": 4, "registers": 20}, "multiples of 8 from 24 to 256"),
        ({"warps": 4, "registers": 100}, "multiples of 8 from 24 to 256"),
    ],
)
def test_what_is_no_unit_is_refused(fields: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ExecutionUnit(**fields)
