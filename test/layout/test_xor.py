"""Layouts as address arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from layout.strategies import layouts

from tessera_tools.layout import LayoutError, LinearLayout, as_xor_expression


@given(layouts())
def test_the_expression_is_the_layout(layout: LinearLayout) -> None:
    for out in ("dim0", "dim1"):
        expression = as_xor_expression(layout, out=out)
        for inputs in layout.inputs():
            assert expression.evaluate(inputs["register"], lane=inputs["lane"]) == layout.apply(inputs)[out]


@given(layouts())
def test_shifts_are_the_run_time_part(layout: LinearLayout) -> None:
    expression = as_xor_expression(layout, out="dim0")
    for lane in range(layout.in_size("lane")):
        total = 0
        for shift in expression.shifts():
            total ^= shift.evaluate(lane)
        assert total == expression.base(lane=lane)


@given(layouts())
def test_plus_may_replace_xor_where_it_says_so(layout: LinearLayout) -> None:
    expression = as_xor_expression(layout, out="dim1")
    for lane in range(layout.in_size("lane")):
        base = expression.base(lane=lane)
        for index in range(layout.in_size("register")):
            x, a = expression.split(expression.constants[index])
            assert (base ^ x) + a == expression.evaluate(index, lane=lane)
            if expression.may_add:
                assert base + expression.constants[index] == expression.evaluate(index, lane=lane)


@given(layouts())
def test_disjoint_terms_may_be_summed(layout: LinearLayout) -> None:
    expression = as_xor_expression(layout, out="dim0")
    if expression.terms_are_disjoint:
        for lane in range(layout.in_size("lane")):
            assert sum(t.value for t in expression.terms if lane >> t.bit & 1) == expression.base(lane=lane)


def test_neighboring_lane_bits_are_one_shift() -> None:
    layout = LinearLayout({"register": [(1,)], "lane": [(2,), (4,), (8,)]}, {"offset": 16})
    expression = as_xor_expression(layout)
    assert [(s.dim, s.mask, s.shift) for s in expression.shifts()] == [("lane", 7, 1)]
    assert expression.may_add


def test_a_constant_that_meets_the_lanes_may_not_be_added() -> None:
    expression = as_xor_expression(LinearLayout({"register": [(3,)], "lane": [(1,)]}, {"offset": 4}))
    assert not expression.may_add
    assert expression.split(expression.constants[1]) == (1, 2)


def test_several_outputs_need_a_name() -> None:
    layout = LinearLayout({"lane": [(1, 0)]}, {"dim0": 2, "dim1": 2})
    with pytest.raises(LayoutError, match="expected one output dimension"):
        as_xor_expression(layout)
