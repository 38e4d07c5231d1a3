"""Ops of cuda_tile made in Python, folded and upgraded."""

from __future__ import annotations

from typing import Any

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects.cuda_tile import (
    DIALECT,
    AddF,
    Assume,
    CmpF,
    ComparisonOrderingAttr,
    ComparisonPredicateAttr,
    Constant,
    DivByAttr,
    RoundingAttr,
    TileType,
    upgrade_legacy,
)
from tessera_tools.ir.builtin_attributes import DenseElementsAttr, FloatAttr
from tessera_tools.ir.core import Block
from tessera_tools.ir.types import F32, I1
from tessera_tools.ir.verifier import verify
from tessera_tools.parser import parse_module

TILE = TileType((4,), F32)


def _constant() -> Constant:
    return Constant(DenseElementsAttr.of(TILE, [0x3F800000]), result=TILE)


def test_result_types_follow_from_the_operands() -> None:
    one = _constant().result
    assert AddF(one, one).result.type is TILE
    ordered, less = ComparisonOrderingAttr("ordered"), ComparisonPredicateAttr("less_than")
    assert CmpF(less, ordered, one, one).result.type is TileType((4,), I1)


def test_the_usual_rounding_is_not_stored() -> None:
    one = _constant().result
    assert AddF(one, one, RoundingAttr("nearest_even")).attributes == {}
    assert AddF(one, one, RoundingAttr("zero")).rounding_mode.value == "zero"


def test_a_constant_folds_to_its_elements() -> None:
    constant = _constant()
    assert constant.fold([]) == [constant.value]


def test_assuming_twice_is_assuming_once() -> None:
    block = Block([TileType((), F32)])
    first = Assume(DivByAttr(16), block.arguments[0])
    again = Assume(DivByAttr(16), first.result)
    other = Assume(DivByAttr(8), first.result)
    assert again.fold([None]) == [first.result]
    assert other.fold([None]) is None


def test_the_constant_of_one_number_is_a_splat() -> None:
    assert DIALECT.make_constant is not None
    op: Any = DIALECT.make_constant(FloatAttr.of(1.0, F32), TILE)
    assert op.value.is_splat and op.result.type is TILE


def test_an_entry_in_present_spelling_is_left_alone() -> None:
    module = parse_module("entry @e(%a: tile<f32>) { %b = addf %a, %a : tile<f32> }")
    assert not upgrade_legacy(module)


def test_blocks_end_where_no_terminator_is_written() -> None:
    module = parse_module(
        "entry @e(%n: tile<i32>, %c: tile<i1>) { for %i in (%n to %n, step %n) : tile<i32> { if %c {} else {} } }"
    )
    assert verify(module) == []
    names = [op.name for op in module.walk()]
    assert names.count("cuda_tile.yield") == 2
    assert names.count("cuda_tile.continue") == 1
    assert names[-1] == "cuda_tile.return"


@pytest.mark.parametrize(
    ("extents", "column"), [("[%n, 4, 8]", 41), ("[%n]", 41), ("[4, %n]", 41), ("[%n, 8]", 45)]
)
def test_extents_that_do_not_fit_the_view_are_refused_at_the_first_of_them(extents: str, column: int) -> None:
    text = f"""entry @e(%p: tile<ptr<f32>>, %n: tile<i32>) {{
  %view = make_tensor_view %p, shape = {extents}, strides = [4, 1] : tile<i32> -> tensor_view<?x4xf32, strides=[4,1]>
}}"""
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "view.mlir")
    place = caught.value.diagnostics[0].location
    assert place is not None
    assert place.start() == ("view.mlir", 2, column)
