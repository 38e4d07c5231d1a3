"""What the clock reports in words and characters."""

from __future__ import annotations

import re

import pytest
from runtime.test_timing import estimate, products

from tessera_tools.runtime.timing import Estimate
from tessera_tools.runtime.timing_report import roof_chart, roofline, summary


@pytest.fixture(scope="module")
def product() -> Estimate:
    """Of a warp that multiplies again and again."""
    return estimate(products("f16", 16, 4) * 64, target="sm_90a")


def test_the_roof_rises_with_the_bandwidth_and_ends_at_the_rate_of_the_units(product: Estimate) -> None:
    _, *lines, axis = roof_chart(product)
    rows = [line.partition("│")[2].replace("●", " ").rstrip() for line in lines]
    assert axis.endswith("operations a byte")
    assert "─" in rows[0] and not any("─" in row for row in rows[1:])
    # Each row continues the slope to the left of the one above it.
    slopes = [[column for column, mark in enumerate(row) if mark == "╱"] for row in rows]
    reached = [column for slope in reversed(slopes) for column in slope]
    assert reached == sorted(reached)
    assert max(reached) < rows[0].index("─")


def test_the_roof_reaches_eight_times_as_far_as_its_ridge_and_the_kernel(product: Estimate) -> None:
    under = roofline(product)
    assert under is not None
    ends = sorted((under.intensity, under.compute / under.memory))
    axis = roof_chart(product)[-1].partition("└")[2].split()
    assert axis[:2] == [f"{ends[0] / 8:.3g}", f"{ends[1] * 8:.3g}"]


def test_instructions_that_were_all_executed_are_not_counted(product: Estimate) -> None:
    assert product.executed == product.instructions
    assert not any("instructions were executed" in line for line in summary(product))


def test_the_summary_has_the_rates_and_their_part_of_the_peaks(product: Estimate) -> None:
    (line,) = (line for line in summary(product) if "TFLOP/s" in line and "GB/s of DRAM" in line)
    found = re.search(
        r"([\d.]+) TFLOP/s \((\d+)% of the f16 tensor peak\), ([\d,]+) GB/s of DRAM \((\d+)%\)", line
    )
    assert found is not None
    under = roofline(product)
    assert under is not None
    rate, part, gbs, part_of_dram = (float(text.replace(",", "")) for text in found.groups())
    assert rate == pytest.approx(under.reached / 1e12, abs=0.06)
    assert part == pytest.approx(100 * under.reached / under.compute, abs=0.6)
    assert part_of_dram == pytest.approx(100 * gbs * 1e9 / under.memory, abs=1)
