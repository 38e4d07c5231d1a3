"""The text of layouts: round trips and errors with columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from layout.strategies import layouts

from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    from_text,
    mma_m16n8_accumulator,
    row_major,
    to_text,
)


@given(layouts())
def test_text_round_trips(layout: LinearLayout) -> None:
    assert from_text(to_text(layout)) == layout


def test_a_tile_layout_needs_no_output_sizes() -> None:
    text = to_text(mma_m16n8_accumulator((16, 8), (1, 1)))
    assert text == (
        "register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []"
    )


def test_reading_does_not_mind_spaces() -> None:
    assert from_text(" register=[[0,1] ,[1 ,0]] ") == LinearLayout(
        {"register": [(0, 1), (1, 0)]}, {"dim0": 2, "dim1": 2}
    )


def test_other_outputs_are_spelled() -> None:
    layout = row_major((2, 2)).invert()
    assert to_text(layout) == "dim0 = [[2]], dim1 = [[1]], outs = {offset = 4}"
    assert from_text(to_text(layout)) == layout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lane = [[0, 1]", "column 15: found the end, expected ','"),
        ("lane [[0]]", r"column 6: found '\[', expected '='"),
        ("lane = [[x]]", "column 10: found 'x', expected a number"),
        ("lane = [[0]]; warp = []", "column 13: found ';'"),
        ("lane = [[1]], lane = [[2]]", "'lane' is given twice"),
        ("lane = [[1]], warp = [[0, 2]]", "bases of 1 and 2 components"),
        ("lane = [[3]], outs = {dim0 = 3}", "size 3, expected a power of two"),
        ("lane = [[0]],   ; warp = []", "column 17: found ';'"),
        ("= [[3]]", "column 1: found '=', expected a name"),
        ("lane = [[1]] warp = []", "column 14: found 'warp', expected ','"),
    ],
)
def test_text_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        from_text(text)
