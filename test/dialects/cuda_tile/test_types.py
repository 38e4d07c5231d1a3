"""Types and attributes of cuda_tile: text, interning, limits."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile import (
    BoundedAttr,
    DivByAttr,
    PaddingValueAttr,
    PartitionViewType,
    PointerType,
    SameElementsAttr,
    TensorViewType,
    TileType,
    scalar,
)
from tessera_tools.ir.types import DYNAMIC, F16, F32, I32
from tessera_tools.parser import parse_attribute, parse_type

VIEW = TensorViewType((DYNAMIC, 64), F16, (DYNAMIC, 1))

TYPES = {
    "tile<4x8xf32>": TileType((4, 8), F32),
    "tile<ptr<f32>>": scalar(PointerType(F32)),
    "ptr<i32>": PointerType(I32),
    "tensor_view<?x64xf16, strides=[?,1]>": VIEW,
    "tensor_view<f16>": TensorViewType((), F16, ()),
    "partition_view<tile=(8x4), tensor_view<?x64xf16, strides=[?,1]>>": PartitionViewType((8, 4), VIEW),
    "partition_view<tile=(8x4), padding_value = nan, tensor_view<?x64xf16, strides=[?,1]>, dim_map=[1, 0]>": (
        PartitionViewType((8, 4), VIEW, (1, 0), PaddingValueAttr("nan"))
    ),
    "token": parse_type("!cuda_tile.token"),
}


@pytest.mark.parametrize("text", TYPES)
def test_the_full_text_is_the_short_one_with_a_prefix(text: str) -> None:
    assert TYPES[text].short_text() == text
    assert str(TYPES[text]) == f"!cuda_tile.{text}"


@pytest.mark.parametrize("text", TYPES)
def test_what_is_printed_reads_back_as_the_same_object(text: str) -> None:
    assert parse_type(f"!cuda_tile.{text}") is TYPES[text]


def test_an_identity_dim_map_is_none() -> None:
    text = "!cuda_tile.partition_view<tile=(8x4), tensor_view<?x64xf16, strides=[?,1]>, dim_map=[0, 1]>"
    assert parse_type(text) is PartitionViewType((8, 4), VIEW)


def test_a_partition_view_knows_its_tiles() -> None:
    view = PartitionViewType((8, 4), VIEW, (1, 0))
    assert view.tile_type is TileType((8, 4), F16)
    assert view.index_rank == 2
    assert view.dimensions == (1, 0)


def test_a_tile_may_have_exactly_the_most_elements() -> None:
    assert TileType((4096, 4096), F32).num_elements == 1 << 24


def test_a_tile_with_more_elements_is_refused() -> None:
    with pytest.raises(ValueError, match="exceed the maximum of 16777216 elements"):
        TileType((8192, 4096), F32)


def test_the_older_spelling_of_views_is_told_apart_by_its_missing_strides() -> None:
    assert str(parse_type("!cuda_tile.tensor_view<128x64xf16>")) == "!cuda_tile.tensor_view<128x64xf16>"
    assert str(parse_type("!cuda_tile.partition_view<128x64xf16>")) == "!cuda_tile.partition_view<128x64xf16>"


ATTRIBUTES = {
    "#cuda_tile.div_by<16>": DivByAttr(16),
    "#cuda_tile.div_by<4, every 2 along 0>": DivByAttr(4, 2, 0),
    "#cuda_tile.bounded<0, ?>": BoundedAttr(0, None),
    "#cuda_tile.bounded<?, -1>": BoundedAttr(None, -1),
    "#cuda_tile.same_elements<[2, 4]>": SameElementsAttr((2, 4)),
}


@pytest.mark.parametrize(
    "text", [*ATTRIBUTES, "#cuda_tile.rounding<zero>", "#cuda_tile.padding_value<neg_inf>"]
)
def test_attributes_read_back_as_they_are_printed(text: str) -> None:
    attribute = parse_attribute(text)
    assert str(attribute) == text
    assert text not in ATTRIBUTES or attribute is ATTRIBUTES[text]


def test_hints_of_an_architecture_come_before_the_default_ones() -> None:
    hints = parse_attribute(
        "#cuda_tile.optimization_hints<default = {latency = 2, occupancy = 1}, sm_90 = {latency = 5}>"
    )
    assert str(hints.hint("sm_90", "latency")) == "5 : i32"
    assert str(hints.hint("sm_90", "occupancy")) == "1 : i32"
    assert str(hints.hint("sm_80", "latency")) == "2 : i32"
    assert hints.hint("sm_80", "allow_tma") is None


def test_hints_that_are_no_dictionary_are_refused() -> None:
    with pytest.raises(
        DiagnosticError, match="expected dictionary attribute for optimization_hints entry `sm_90`"
    ):
        parse_attribute("#cuda_tile.optimization_hints<sm_90 = 2>")
