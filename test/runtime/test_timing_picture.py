"""The timeline of the clock as a picture: where its work and the numbers of its axes are."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from runtime.test_timing import estimate, products

from tessera_tools.runtime.timing import Estimate
from tessera_tools.runtime.timing_picture import _decades, timeline_svg


@pytest.fixture(scope="module")
def product() -> Estimate:
    """Of a warp that multiplies again and again."""
    return estimate(products("f16", 16, 4) * 64, target="sm_90a")


def test_the_picture_has_the_work_where_its_cycles_are(product: Estimate) -> None:
    svg = ElementTree.fromstring(timeline_svg(product))
    ticks = [float(line.attrib["x1"]) for line in svg.iter("{http://www.w3.org/2000/svg}line")][:11]
    slices = [rect for rect in svg.iter("{http://www.w3.org/2000/svg}rect") if len(rect)]
    edges = [float(one.attrib["x"]) for one in slices]
    edges += [float(one.attrib["x"]) + float(one.attrib["width"]) for one in slices]
    wide = ticks[-1] - ticks[0]
    assert 0 < ticks[0] < ticks[-1] < float(svg.attrib["width"])
    # The picture begins and ends with work; a mark of a barrier is a little wider than its cycles.
    assert min(edges) == pytest.approx(ticks[0], abs=0.05 * wide) and min(edges) >= ticks[0] - 0.1
    assert max(edges) == pytest.approx(ticks[-1], abs=0.05 * wide) and max(edges) <= ticks[-1] + 1.6
    assert [after - before for before, after in pairwise(ticks)] == pytest.approx([wide / 10] * 10, abs=0.2)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [(0.5, 2000, ["1", "10", "100", "1,000"]), (0.01, 1, ["0.01", "0.1", "1"]), (2, 9, [])],
)
def test_a_logarithmic_axis_has_its_powers_of_ten(low: float, high: float, labels: list[str]) -> None:
    parts = _decades(low, high, lambda value: (value, value, "end"))
    assert [re.sub("<[^>]*>", "", part) for part in parts] == labels
    assert _decades(low, high, lambda value: (value, value, "end"), above=high + 1) == []
