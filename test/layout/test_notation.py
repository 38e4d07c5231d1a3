"""Layouts in CuTe notation and as attributes, read and written."""

from __future__ import annotations

import pytest

from tessera_tools.layout import (
    LayoutError,
    LinearLayout,
    blocked,
    cute_notation,
    mma_m16n8_accumulator,
    read_layout,
    row_major,
    shape_of,
    swizzled,
    to_text,
    wgmma_accumulator,
)


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (row_major((4, 8)), "(4,8):(8,1)"),
        (row_major((4, 8), (0, 1)), "(4,8):(1,4)"),
        (swizzled((64, 64), 16), "Sw<3,3,3> o (64,64):(64,1)"),
        (swizzled((64, 32), 16, None, 64), "Sw<2,3,3> o (64,32):(32,1)"),
        (swizzled((64, 128), 16), "Sw<3,3,3> o (64,(64,2)):(64,(1,4096))"),
        (swizzled((16, 128), 8), "Sw<3,4,3> o (16,128):(128,1)"),
        (mma_m16n8_accumulator((16, 8), (1, 1)), "((4,8),(2,2)):((32,1),(16,8))"),
    ],
    ids=str,
)
def test_a_layout_with_strides_has_a_text_that_reads_back(layout: LinearLayout, text: str) -> None:
    assert cute_notation(layout) == text
    tile = None if layout.in_dims == ("offset",) else shape_of(layout)
    assert read_layout(text, tile) == layout


@pytest.mark.parametrize(
    "layout",
    [
        blocked((64, 64), (1, 8), (4, 8), (4, 1), (1, 0)),
        wgmma_accumulator((64, 64), (4, 1)),
        mma_m16n8_accumulator((64, 64), (2, 2)),
    ],
    ids=["blocked", "wgmma", "mma"],
)
def test_a_tile_reads_back(layout: LinearLayout) -> None:
    text = cute_notation(layout)
    assert text is not None
    assert read_layout(text, shape_of(layout)) == layout


def test_the_mma_accumulator_is_that_of_cute() -> None:
    # SM80_16x8_Row in cute/atom/mma_traits_sm80.hpp
    assert cute_notation(mma_m16n8_accumulator((16, 8), (1, 1))) == "((4,8),(2,2)):((32,1),(16,8))"


def test_cute_counts_modes_as_its_function_does() -> None:
    layout = read_layout("(4,(2,4)):(2,(1,8))")
    for row in range(4):
        for column in range(8):
            offset = row * 2 + column % 2 + column // 2 * 8
            assert layout.apply(offset=offset) == {"dim0": row, "dim1": column}


@pytest.mark.parametrize("spelled", ["Swizzle<3,3,3> o 0 o (8,64):(64,1)", "Sw<3,3,3> ∘ (8,64):(64,1)"])
def test_other_spellings_of_a_swizzle_are_read(spelled: str) -> None:
    assert read_layout(spelled) == swizzled((8, 64), 16)


def test_attributes_and_their_entries_are_read() -> None:
    layout = mma_m16n8_accumulator((16, 8), (1, 1))
    for text in (
        f"#nv_tileas.linear<{{{to_text(layout)}}}>",
        f"#linear<{{{to_text(layout)}}}>",
        to_text(layout),
    ):
        assert read_layout(text) == layout


def test_a_derived_swizzle_has_no_text() -> None:
    layout = LinearLayout({"offset": [(0, 1), (1, 1), (1, 2), (2, 0)]}, {"dim0": 4, "dim1": 4})
    assert cute_notation(layout) is None


@pytest.mark.parametrize(
    ("text", "tile", "message"),
    [
        ("", None, "expected a layout such as"),
        ("foo", None, "found 'foo', expected a layout such as"),
        (
            "(3,4):(1,3)",
            None,
            "mode 3:1 of .* is not a power of two|size or stride that is not a power of two",
        ),
        ("(4,8):(16,1)", None, "not one to one onto its offsets"),
        ("(4,8):(8,0)", None, "not one to one onto its offsets"),
        ("(4,8):(8", None, "column 9: found 'the end'"),
        ("Sw<3,4,3> o (4,8):(8,1)", None, "moves bits beyond the 32 elements"),
        ("Sw<3,4> o (4,8):(8,1)", None, "expected a swizzle such as"),
        ("(4,8):(8,1)", [4, 4], "reaches outside the tile 4x4"),
        ("(4,8,2):(8,1,32)", [8, 8], "has no two modes"),
        ("#nv_tileas.linear<{register = [[0,1}>", None, "column 36: found '}', expected ','"),
        ("#nv_tileas.linear<warps=[4],register=[[1]]>", None, "column 19: found 'warps', expected '{'"),
        ("  #nv_tileas.linear<{register = x}>", None, r"column 33: found 'x', expected '\['"),
        ("#nv_tileas.linear {}", None, "column 19: found '{', expected '<'"),
        ("#nv_tileas.shared<{offset = [[1]]}> 3", None, "column 37: found '3', expected the end"),
        ("#nv_tileas.linear<{register = [[1]]", None, "column 36: found the end, expected ','"),
        (
            "#nv_tileas.line<{register = [[1]]}>",
            None,
            "column 1: found '#nv_tileas.line', expected #nv_tileas.lin",
        ),
        ("{register = [[1]], ;}", None, "column 20: found ';'"),
        ("{register = [[1]]", None, "column 18: found the end, expected ','"),
    ],
)
def test_what_is_no_layout_is_refused(text: str, tile: list[int] | None, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        read_layout(text, tile)
