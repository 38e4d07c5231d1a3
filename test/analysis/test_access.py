"""How wide an access may be, and what lies inside a view."""

from __future__ import annotations

from typing import Any

import pytest

from tessera_tools.analysis.access import (
    contiguous_axis,
    in_bounds,
    place_of,
    storage_bits,
    vector_elements,
    vector_limits,
)
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import arith, nv_tileaa
from tessera_tools.dialects.llvm.types import PointerType
from tessera_tools.ir.builtin_attributes import DenseArrayAttr, IntegerAttr, i64
from tessera_tools.ir.core import Block, Builder, Value
from tessera_tools.ir.types import DYNAMIC, F16, F32, F64, I1, I32, I64, TF32, FloatType, RankedTensorType


class View:
    """A memref under construction: extents and strides are numbers, or facts of an unknown value."""

    def __init__(self, shape: list[Any], strides: list[Any], element: Any = F16, aligned: int = 16) -> None:
        self.block = Block()
        self.builder = Builder.at_end(self.block)
        base = self.block.add_argument(PointerType(1))
        base = self.builder.insert(nv_tileaa.Assume(base, divisor=i64(aligned))).res
        extents, steps = [self.item(v) for v in shape], [self.item(v) for v in strides]
        self.element = element
        self.op = self.builder.insert(
            nv_tileaa.MakeMemRef(
                base,
                [v for v in extents if isinstance(v, Value)],
                [v for v in steps if isinstance(v, Value)],
                _static(extents),
                _static(steps),
                nv_tileaa.GlobalSpaceAttr(),
                res=nv_tileaa.MemRefType(
                    tuple(DYNAMIC if isinstance(v, Value) else v for v in extents), element
                ),
            )
        )

    def item(self, item: Any) -> Any:
        if isinstance(item, int):
            return item
        value = self.block.add_argument(I32)
        return self.builder.insert(nv_tileaa.Assume(value, **_facts(item))).res

    def const(self, value: int) -> Value:
        return self.builder.insert(arith.Constant(IntegerAttr(value, I32))).result

    def width(self, offsets: list[Any], tile: tuple[int, ...]) -> int:
        places = [self.item(v) if isinstance(v, dict) else v for v in offsets]
        return vector_elements(self.op, places, RankedTensorType(tile, self.element), Facts())


def _static(items: list[Any]) -> DenseArrayAttr:
    return DenseArrayAttr(I64, tuple(nv_tileaa.DYNAMIC_INDEX if isinstance(v, Value) else v for v in items))


def _facts(bounds: dict[str, int]) -> dict[str, Any]:
    return {key: i64(number) for key, number in bounds.items()}


EIGHT: dict[str, int] = {"divisor": 8}
ANY: dict[str, int] = {}


def test_the_contiguous_axis_has_the_constant_stride_one() -> None:
    assert contiguous_axis(View([64, 64], [64, 1]).op) == 1
    assert contiguous_axis(View([64, 64], [1, 64]).op) == 0


def test_a_stride_that_is_only_a_value_makes_no_axis_contiguous() -> None:
    view = View([64, 64], [64, {"lower": 1, "upper": 1}])
    assert contiguous_axis(view.op) is None
    assert view.width([0, 0], (16, 16)) == 1


def test_the_last_of_two_contiguous_axes_is_taken() -> None:
    assert contiguous_axis(View([1, 64], [1, 1]).op) == 1


def test_all_facts_together_allow_sixteen_bytes() -> None:
    assert View([ANY, EIGHT], [EIGHT, 1]).width([ANY, EIGHT], (64, 32)) == 8


@pytest.mark.parametrize(
    ("shape", "strides", "offsets", "aligned", "expected"),
    [
        ([ANY, EIGHT], [EIGHT, 1], [ANY, EIGHT], 8, 4),
        ([ANY, EIGHT], [EIGHT, 1], [ANY, EIGHT], 2, 1),
        ([ANY, {"divisor": 2}], [EIGHT, 1], [ANY, EIGHT], 16, 2),
        ([ANY, EIGHT], [{"divisor": 4}, 1], [ANY, EIGHT], 16, 4),
        ([ANY, EIGHT], [EIGHT, 1], [ANY, {"divisor": 2}], 16, 2),
        ([ANY, EIGHT], [EIGHT, 1], [ANY, ANY], 16, 1),
    ],
    ids=["base", "base of an element", "extent", "stride", "offset", "unknown offset"],
)
def test_the_weakest_fact_decides(
    shape: list[Any], strides: list[Any], offsets: list[Any], aligned: int, expected: int
) -> None:
    assert View(shape, strides, aligned=aligned).width(offsets, (64, 32)) == expected


def test_the_offset_of_another_axis_does_not_matter() -> None:
    assert View([ANY, EIGHT], [EIGHT, 1]).width([{"divisor": 3}, EIGHT], (64, 32)) == 8


def test_an_extent_does_not_matter_where_the_tile_lies_inside() -> None:
    assert View([64, 100], [104, 1]).width([0, 0], (64, 64)) == 8
    assert View([64, 100], [104, 1]).width([0, 64], (64, 64)) == 4


def test_no_vector_is_longer_than_the_tile() -> None:
    assert View([ANY, EIGHT], [EIGHT, 1]).width([ANY, EIGHT], (64, 2)) == 2


@pytest.mark.parametrize(("element", "expected"), [(F16, 8), (F32, 4), (F64, 2), (TF32, 4), (I1, 16)])
def test_no_vector_is_wider_than_128_bits(element: Any, expected: int) -> None:
    assert View([64, 64], [64, 1], element).width([0, 0], (64, 64)) == expected


def test_elements_of_less_than_a_byte_move_alone() -> None:
    assert View([64, 64], [64, 1], FloatType("f4E2M1FN")).width([0, 0], (64, 64)) == 1


def test_a_token_has_no_size_in_memory() -> None:
    assert storage_bits(PointerType(1)) == 64
    with pytest.raises(ValueError, match="has no size in memory"):
        storage_bits(nv_tileaa.MEM_TOKEN)


@pytest.mark.parametrize(
    ("view", "offsets", "tile", "reason"),
    [
        (lambda: View([64, 64], [64, 1]), [0, 0], (16, 16), "no access moves more than 128 bits"),
        (lambda: View([64, 64], [64, 1]), [0, 0], (16, 4), "the tile has 4 elements along dimension 1"),
        (lambda: View([64, 64], [64, 1]), [0, 0], (16, 1), "the tile has 1 element along dimension 1"),
        (
            lambda: View([64, 64], [64, 1], aligned=4),
            [0, 0],
            (16, 16),
            "the base is not known to be a multiple of 16 bytes: add an assume",
        ),
        (
            lambda: View([64, 64], [{"divisor": 4}, 1]),
            [0, 0],
            (16, 16),
            "the stride of dimension 0 is not known to be a multiple of 8: add an assume",
        ),
        (
            lambda: View([64, 64], [66, 1]),
            [0, 0],
            (16, 16),
            "the stride of dimension 0 is 66, which is not a multiple of 8",
        ),
        (
            lambda: View([64, 64], [64, 1]),
            [0, {"divisor": 4}],
            (16, 16),
            "the offset along dimension 1 is not known to be a multiple of 8: add an assume",
        ),
        (
            lambda: View([64, {"divisor": 2}], [64, 1]),
            [0, 0],
            (16, 16),
            "the extent of dimension 1 is not known to be a multiple of 8: add an assume",
        ),
        (lambda: View([64, 64], [64, 2]), [0, 0], (16, 16), "no dimension of the view is known to have stride 1"),
    ],
)  # fmt: skip
def test_the_fact_that_limits_an_access_is_named(
    view: Any, offsets: list[Any], tile: Any, reason: str
) -> None:
    made = view()
    places = [made.item(v) if isinstance(v, dict) else v for v in offsets]
    limits = vector_limits(made.op, places, RankedTensorType(tile, made.element), Facts())
    least = min(limit.elements for limit in limits)
    assert next(limit.why for limit in limits if limit.elements == least) == reason
    assert least == made.width(offsets, tile)


def test_bounds_are_proven_for_each_axis() -> None:
    view = View([{"lower": 128}, {"lower": 100}], [EIGHT, 1])
    offsets = [view.item({"lower": 0, "upper": 64}), view.item({"lower": 0, "upper": 64})]
    assert in_bounds(view.op, offsets, (64, 64), Facts()) == (True, False)


@pytest.mark.parametrize("offset", [{"upper": 0}, {"lower": 0}, {"lower": -1, "upper": 0}])
def test_an_offset_that_is_not_bounded_on_both_sides_proves_nothing(offset: dict[str, int]) -> None:
    view = View([64], [1])
    assert in_bounds(view.op, [view.item(offset)], (16,), Facts()) == (False,)


def test_an_extent_of_unknown_size_proves_nothing() -> None:
    view = View([ANY], [1])
    assert in_bounds(view.op, [0], (16,), Facts()) == (False,)


def test_the_place_of_a_moved_view_is_its_memref_and_offsets() -> None:
    view = View([64], [1])
    offset = view.const(16)
    moved = view.builder.insert(nv_tileaa.AddPtr(view.op.res, [offset]))
    assert place_of(moved.res) == (view.op, [offset])


def test_the_place_of_a_memref_is_its_beginning() -> None:
    view = View([64, 64], [64, 1])
    assert place_of(view.op.res) == (view.op, [0, 0])


def test_a_view_that_comes_from_elsewhere_has_no_known_place() -> None:
    value = Block([nv_tileaa.MemRefType((64,), F16)]).arguments[0]
    assert place_of(value) is None
    assert place_of(nv_tileaa.AddPtr(value, [View([1], [1]).const(0)]).res) is None


def test_one_element_of_an_empty_view_lies_outside() -> None:
    assert in_bounds(View([ANY], [1]).op, [0], (1,), Facts()) == (False,)
    assert in_bounds(View([{"lower": 1}], [1]).op, [0], (1,), Facts()) == (True,)


@pytest.mark.parametrize(("extent", "inside"), [(79, False), (80, True)])
def test_a_tile_that_ends_where_the_view_ends_lies_inside(extent: int, inside: bool) -> None:
    view = View([{"lower": extent}], [1])
    offset = view.item({"lower": 0, "upper": 64})
    assert in_bounds(view.op, [offset], (16,), Facts()) == (inside,)
