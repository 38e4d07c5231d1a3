"""The map of shared memory: bytes from top to bottom, operations from left to right."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tessera_tools.report.memory import memory_svg
from tessera_tools.report.recording import MemoryUse

SVG = "{http://www.w3.org/2000/svg}"


def use(what: str, offset: int, size: int, first: int, last: int, place: str = "") -> MemoryUse:
    return MemoryUse("k", what, place, offset, size, first, last)


def picture(*used: MemoryUse, positions: int = 10) -> ElementTree.Element:
    return ElementTree.fromstring(memory_svg("k", used, positions))


def rectangles(svg: ElementTree.Element) -> dict[str, tuple[float, float, float, float]]:
    """The left, top, right and bottom of each buffer."""
    found: dict[str, tuple[float, float, float, float]] = {}
    for group in svg.iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and rect is not None
        x, y, wide, high = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        found[str(title.text).partition(":")[0]] = x, y, x + wide, y + high
    return found


def test_a_buffer_lies_where_its_bytes_and_operations_are() -> None:
    svg = picture(use("all", 0, 1000, 0, 9), use("late", 500, 500, 5, 9), use("early", 0, 250, 0, 4))
    found = rectangles(svg)
    left, top, right, bottom = found["all"]
    middle, half = (left + right) / 2, (top + bottom) / 2
    assert found["late"] == pytest.approx((middle, half, right, bottom), abs=0.2)
    assert found["early"] == pytest.approx((left, top, middle, (top + half) / 2), abs=0.2)
    [line, *_, last] = svg.iter(f"{SVG}line")
    assert (float(line.attrib["x1"]), float(line.attrib["x2"])) == pytest.approx((left, right), abs=0.2)
    assert (float(line.attrib["y1"]), float(last.attrib["y1"])) == pytest.approx((top, bottom), abs=0.2)


def test_the_axes_have_bytes_and_operations() -> None:
    texts = [text.text for text in picture(use("a", 96, 4000, 0, 9)).iter(f"{SVG}text")]
    assert texts[0] == "@k: 4,096 bytes"
    assert texts[1:6] == ["0", "1,024", "2,048", "3,072", "4,096"]
    assert texts[-2:] == ["operation 0", "operation 10"]


def test_a_title_says_the_bytes_and_operations_and_a_place_can_be_chosen() -> None:
    svg = picture(use("a<b", 16, 2048, 2, 3, "k.mlir:7"), use("c", 2064, 16, 2, 3))
    one, other = svg.iter(f"{SVG}g")
    assert [title.text for title in svg.iter(f"{SVG}title")] == [
        "a<b: bytes 16 to 2,063, operations 2 to 3",
        "c: bytes 2,064 to 2,079, operations 2 to 3",
    ]
    assert one.attrib.get("data-key") == "k.mlir:7" and "tabindex" in one.attrib
    assert "data-key" not in other.attrib and "tabindex" not in other.attrib
    # Only a buffer with room for it has its name in the picture.
    assert one.find(f"{SVG}text") is not None and other.find(f"{SVG}text") is None
