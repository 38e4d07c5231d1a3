"""Overflow of loop counters, at the exact bounds of their type."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.counting import may_pass, may_wrap
from tessera_tools.analysis.facts import Facts
from tessera_tools.ir.core import Value
from tessera_tools.parser import parse_module


def bounded(bound: tuple[int, int], step: tuple[int, int]) -> tuple[Value, Value]:
    """A bound, or a start, and a step with these limits, as i8."""
    module = parse_module(
        "nv_tileaa.func @f(%n: i8, %s: i8) {\n"
        f"%bound = nv_tileaa.assume %n {{lower = {bound[0]} : i64, upper = {bound[1]} : i64}} : i8\n"
        f"%step = nv_tileaa.assume %s {{lower = {step[0]} : i64, upper = {step[1]} : i64}} : i8\n"
        "nv_tileaa.return\n}",
        "k.mlir",
    )
    first, second = (op.results[0] for op in module.walk() if op.name == "nv_tileaa.assume")
    return first, second


@pytest.mark.parametrize(
    ("upper", "step", "ahead", "signed", "unsigned"),
    [
        ((0, 120), (1, 8), 1, False, False),
        ((0, 121), (1, 8), 1, True, False),
        ((0, 120), (1, 4), 2, False, False),
        ((0, 121), (1, 4), 2, True, False),
        ((-128, 120), (1, 8), 1, False, True),
        ((0, 127), (1, 127), 1, True, False),
        ((0, 127), (1, 127), 2, True, True),
        # The last counter is less than the bound, so that a step of 1 reaches no more than it.
        ((-128, 127), (1, 1), 1, False, False),
        ((-128, 127), (1, 1), 2, True, True),
        ((0, 10), (0, 1), 1, True, True),
    ],
)
def test_a_counter_below_a_bound(
    upper: tuple[int, int], step: tuple[int, int], ahead: int, signed: bool, unsigned: bool
) -> None:
    values = bounded(upper, step)
    assert may_wrap(*values, False, Facts(), ahead) is signed
    assert may_wrap(*values, True, Facts(), ahead) is unsigned


@pytest.mark.parametrize(
    ("start", "step", "ahead", "signed", "unsigned"),
    [
        ((0, 119), (1, 8), 1, False, False),
        ((0, 120), (1, 8), 1, True, False),
        ((0, 119), (1, 4), 2, False, False),
        ((0, 120), (1, 4), 2, True, False),
        ((-128, -8), (1, 8), 1, False, True),
        ((0, 1), (1, 127), 2, True, False),
        ((0, 2), (1, 127), 2, True, True),
        ((0, 10), (0, 1), 1, True, True),
    ],
)
def test_a_start_that_may_be_beyond_the_bound(
    start: tuple[int, int], step: tuple[int, int], ahead: int, signed: bool, unsigned: bool
) -> None:
    values = bounded(start, step)
    assert may_pass(*values, False, Facts(), ahead) is signed
    assert may_pass(*values, True, Facts(), ahead) is unsigned
