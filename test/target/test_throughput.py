"""The rates of the compiler's schedules and those of the clock are the same facts."""

from __future__ import annotations

import pytest

from tessera_tools.target import lookup
from tessera_tools.target.throughput import throughput
from tessera_tools.target.timing import Timing, timing

KNOWN = ("sm_80", "sm_90", "sm_100")
"""The targets that the clock knows."""


def clock(name: str) -> Timing:
    table = timing(lookup(name))
    assert table is not None
    return table


@pytest.mark.parametrize(
    ("name", "measured_on"), [("sm_80", "sm_80"), ("sm_90", "sm_100"), ("sm_100", "sm_100")]
)
def test_a_lane_converts_two_numbers(name: str, measured_on: str) -> None:
    rates, table = throughput(lookup(name)), clock(measured_on)
    assert rates.convert == 2 * table.value("convert_rate")
    assert ("convert" in rates.guesses) == table.numbers["convert_rate"].guess


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("unit", ["fma", "integer", "special"])
def test_rates_of_arithmetic_are_those_of_the_clock(name: str, unit: str) -> None:
    assert getattr(throughput(lookup(name)), unit) == clock(name).value(f"{unit}_rate")


def test_a_rate_that_is_not_published_is_a_guess() -> None:
    assert "convert" in throughput(lookup("sm_89")).guesses
    assert "convert" not in throughput(lookup("sm_80")).guesses
