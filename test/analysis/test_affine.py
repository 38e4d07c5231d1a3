"""Affine functions of a loop's counter."""

from __future__ import annotations

from collections import Counter

import pytest

from tessera_tools.analysis.affine import AffineValues
from tessera_tools.analysis.facts import Facts
from tessera_tools.dialects import scf
from tessera_tools.ir.core import Value
from tessera_tools.parser import parse_module

LOOP = """nv_tileaa.func @f(%n: i32, %m: i32) {{
  %c0 = arith.constant 0 : i32  %c3 = arith.constant 3 : i32  %c5 = arith.constant 5 : i32
  scf.for %i = %c0 to %n step %c3 : i32 {{
{body}
  }}
  nv_tileaa.return
}}"""


def last(body: str) -> tuple[AffineValues, Value]:
    """The last value of a loop's body."""
    module = parse_module(LOOP.format(body=body))
    (loop,) = (op for op in module.walk() if isinstance(op, scf.For))
    *_, made = (op for op in loop.body.entry if op.results)
    return AffineValues(loop, Facts()), made.results[0]


@pytest.mark.parametrize(
    ("body", "coefficient", "constant"),
    [
        ("%a = arith.addi %i, %i : i32", 2, 0),
        ("%a = arith.muli %i, %c3 : i32 %b = arith.addi %a, %i : i32", 4, 0),
        ("%a = arith.muli %c5, %i : i32 %b = arith.subi %a, %i : i32", 4, 0),
        ("%a = arith.subi %i, %i : i32", 0, 0),
        ("%a = arith.addi %i, %c3 : i32 %b = arith.addi %a, %c5 : i32", 1, 8),
        ("%a = arith.subi %c5, %i : i32 %b = arith.muli %a, %c3 : i32", -3, 15),
    ],
)
def test_sums_and_products_with_constants_are_affine(body: str, coefficient: int, constant: int) -> None:
    values, value = last(body)
    found = values.affine_of(value)
    assert found is not None
    assert (found.coefficient, found.constant, found.terms) == (coefficient, constant, Counter())


def test_values_from_outside_are_terms() -> None:
    values, value = last(
        "%a = arith.addi %i, %n : i32 %b = arith.addi %a, %n : i32 %c = arith.subi %b, %m : i32"
    )
    found = values.affine_of(value)
    assert found is not None and found.coefficient == 1
    assert sorted(found.terms.values()) == [-1, 2]


@pytest.mark.parametrize(
    "body",
    [
        "%a = arith.muli %i, %i : i32",
        "%a = arith.muli %i, %n : i32",
        "%a = arith.divui %i, %c3 : i32",
        "%a = arith.addi %i, %n : i32 %b = arith.muli %a, %a : i32",
    ],
)
def test_other_values_are_not(body: str) -> None:
    values, value = last(body)
    assert values.affine_of(value) is None


def test_a_counter_that_moves_too_far_is_not() -> None:
    body = "%k = arith.constant {} : i32 %a = arith.muli %i, %k : i32"
    for factor, known in ((1 << 20, True), ((1 << 20) + 1, False)):
        values, value = last(body.format(factor))
        assert (values.affine_of(value) is not None) is known
