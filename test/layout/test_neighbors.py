"""Tiles of rank 1 in parts: the laws of cutting and joining."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera_tools.layout import LayoutError, LinearLayout, coarsened, holds_whole, refined

SIZES = st.sampled_from([1, 2, 4, 8])


@st.composite
def lines(draw: st.DrawFn) -> LinearLayout:
    """Layouts of 32 elements by up to 3 bits of registers, lanes and warps, repeats included."""
    basis = st.integers(0, 31).map(lambda x: (x,))
    names = ("register", "lane", "warp")
    return LinearLayout({name: draw(st.lists(basis, max_size=3)) for name in names}, [("dim0", 32)])


def place(layout: LinearLayout, **inputs: int) -> int:
    return layout.apply(inputs)["dim0"]


@given(lines(), SIZES)
def test_parts_of_what_a_thread_holds(layout: LinearLayout, parts: int) -> None:
    """Register r·parts + i holds part i of what register r held."""
    fine = refined(layout, parts)
    assert dict(fine.outs) == {"dim0": 32 * parts}
    for inputs in layout.inputs():
        for i in range(parts):
            moved = {**inputs, "register": inputs["register"] * parts + i}
            assert place(fine, **moved) == place(layout, **inputs) * parts + i


@given(lines(), SIZES)
def test_what_a_part_belongs_to(layout: LinearLayout, parts: int) -> None:
    """Every place is divided."""
    coarse = coarsened(layout, parts)
    for inputs in layout.inputs():
        assert place(coarse, **inputs) == place(layout, **inputs) // parts


@given(lines(), SIZES)
def test_cut_and_joined(layout: LinearLayout, parts: int) -> None:
    """The parts of an element belong to it, and their thread holds all of them."""
    fine = refined(layout, parts)
    assert holds_whole(fine, parts)
    again = coarsened(fine, parts)
    for inputs in layout.inputs():
        moved = {**inputs, "register": inputs["register"] * parts}
        assert place(again, **moved) == place(layout, **inputs)


def test_parts_in_other_lanes() -> None:
    """A lane for each part holds none of them whole."""
    layout = LinearLayout({"register": [(2,)], "lane": [(1,)]}, [("dim0", 4)])
    assert holds_whole(layout, 1)
    assert not holds_whole(layout, 2)


def test_fewer_elements_than_parts() -> None:
    layout = LinearLayout({"register": [(1,)]}, [("dim0", 2)])
    with pytest.raises(LayoutError, match="2 elements are not a multiple of 4"):
        coarsened(layout, 4)
