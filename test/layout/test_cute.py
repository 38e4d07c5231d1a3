"""CuTe notation and swizzles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera_tools.layout import CuteLayout, LayoutError, LinearLayout, Swizzle

LAYOUTS = ["8:1", "(8,4):(4,1)", "((2,4),8):((1,16),2)", "(8,(2,4)):(1,(32,8))", "(3,5):(7,1)", "(4,8):(0,1)"]


@pytest.mark.parametrize("text", LAYOUTS)
def test_notation_round_trips(text: str) -> None:
    assert str(CuteLayout.parse(text)) == text


def test_spaces_are_read() -> None:
    assert CuteLayout.parse(" ( 8 , 4 ) : ( 4 , 1 ) ") == CuteLayout((8, 4), (4, 1))


def test_size() -> None:
    assert CuteLayout.parse("(8,(2,4)):(1,(32,8))").size == 64


def test_a_coordinate_may_be_nested_or_linear() -> None:
    layout = CuteLayout.parse("(8,(2,4)):(1,(32,8))")
    assert layout.apply((3, (1, 2))) == 3 + 32 + 16
    assert layout.apply((3, 5)) == layout.apply((3, (1, 2)))
    assert layout.apply(3 + 8 * 5) == layout.apply((3, (1, 2)))


@pytest.mark.parametrize("text", LAYOUTS)
def test_coalesce_keeps_the_function(text: str) -> None:
    layout = CuteLayout.parse(text)
    short = layout.coalesce()
    assert [short.apply(i) for i in range(layout.size)] == [layout.apply(i) for i in range(layout.size)]


def test_coalesce_merges_contiguous_modes() -> None:
    assert str(CuteLayout.parse("((2,4),(1,8)):((1,2),(5,8))").coalesce()) == "64:1"
    assert str(CuteLayout.parse("(1,1):(3,7)").coalesce()) == "1:0"


@pytest.mark.parametrize("text", [text for text in LAYOUTS if text != "(3,5):(7,1)"])
def test_linear_layout_is_the_same_function(text: str) -> None:
    layout = CuteLayout.parse(text)
    linear = layout.as_linear()
    assert [linear.apply(offset=i)["index"] for i in range(layout.size)] == [
        layout.apply(i) for i in range(layout.size)
    ]


@pytest.mark.parametrize("text", ["8:1", "(8,4):(4,1)", "(2,4,2):(16,1,8)"])
def test_back_from_linear(text: str) -> None:
    layout = CuteLayout.parse(text)
    back = CuteLayout.from_linear(layout.as_linear())
    assert back == layout.coalesce()


def test_a_linear_index_can_be_split_into_coordinates() -> None:
    linear = CuteLayout.parse("(4,2):(1,4)").as_linear("lane", {"dim1": 4, "dim0": 2})
    assert linear.apply(lane=5) == {"dim1": 1, "dim0": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [("(3,4):(1,4)", "mode 3:1 of .* not a power of two"), ("(4,4):(1,2)", "overlaps an earlier one")],
)
def test_what_is_not_linear_is_refused(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        CuteLayout.parse(text).as_linear()


def test_a_swizzle_has_no_strides() -> None:
    with pytest.raises(LayoutError, match="the layout is swizzled"):
        CuteLayout.from_linear(Swizzle(1, 0, 1).as_layout(3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(8,4):(4)", "differ in nesting"),
        ("(8,4)", "column 6: found 'the end', expected ':'"),
        ("(8,4:1", r"column 5: found ':', expected ',' or '\)'"),
        ("8:1)", r"column 4: found '\)' after the layout"),
        ("8:x", "column 3: found 'x'"),
        (":1", "column 1: found ':', expected a number"),
        ("0:1", "has a size below 1"),
    ],
)
def test_notation_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        CuteLayout.parse(text)


def test_coordinates_of_the_wrong_rank_are_refused() -> None:
    with pytest.raises(LayoutError, match="the ranks differ"):
        CuteLayout.parse("(8,4):(4,1)").apply((1, 2, 3))
    with pytest.raises(LayoutError, match="expected an integer"):
        CuteLayout.parse("8:1").apply((1, 2))


@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2), st.integers(0, 4095))
def test_a_swizzle_is_an_involution(bits: int, base: int, more: int, index: int) -> None:
    swizzle = Swizzle(bits, base, bits + more)
    assert swizzle.apply(swizzle.apply(index)) == index


@given(st.integers(0, 1023))
def test_a_swizzle_is_linear(index: int) -> None:
    swizzle = Swizzle(3, 4, 3)
    assert swizzle.as_layout(10).apply(offset=index)["offset"] == swizzle.apply(index)


def test_a_byte_swizzle_on_elements() -> None:
    assert Swizzle(3, 4, 3).in_elements(16) == Swizzle(3, 3, 3)
    assert Swizzle(3, 4, 3).in_elements(4) == Swizzle(3, 5, 3)
    with pytest.raises(LayoutError, match="splits elements of 64 bits"):
        Swizzle(2, 2, 3).in_elements(64)


def test_swizzle_notation() -> None:
    assert Swizzle.parse("Swizzle<3, 4, 3>") == Swizzle.parse(str(Swizzle(3, 4, 3)))
    with pytest.raises(LayoutError, match="expected a swizzle such as"):
        Swizzle.parse("Sw<3,4>")
    with pytest.raises(LayoutError, match="S ≥ B"):
        Swizzle(3, 4, 2)


def test_a_scalar_layout_is_the_empty_one() -> None:
    assert CuteLayout.from_linear(LinearLayout.identity_1d(1, "offset", "x")) == CuteLayout(1, 0)
