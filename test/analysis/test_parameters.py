"""What a launcher can compute from a kernel's parameters."""

from __future__ import annotations

import pytest

from tessera_tools.analysis.parameters import Expression, expression_of
from tessera_tools.parser import parse_module


def found(ops: str) -> Expression | None:
    """The expression of %x."""
    module = parse_module(
        "nv_tileaa.func @k(%n: i32, %m: i32) {\n%one = arith.constant 1 : i32\n%six = arith.constant 6 : i32\n"
        f"{ops}\nnv_tileaa.return\n}}",
        "k.mlir",
    )
    (value,) = (r for op in module.walk() for r in op.results if r.name_hint == "x")
    return expression_of(value)


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ("%x = arith.constant 5 : i32", Expression(None, 0, 5)),
        ("%x = arith.muli %m, %six overflow<nuw> : i32", Expression(1, 6, 0)),
        ("%x = arith.addi %n, %six overflow<nsw> : i32", Expression(0, 1, 6)),
        ("%x = nv_tileaa.assume %m {divisor = 8 : i64} : i32", Expression(1, 1, 0)),
        (
            "%s = arith.addi %m, %six overflow<nsw> : i32\n%x = arith.muli %s, %six overflow<nsw> : i32",
            Expression(1, 6, 36),
        ),
        ("%x = arith.shrui %n, %one : i32", Expression(0, 1, 0, 2)),
        ("%x = arith.shrui %six, %one : i32", Expression(None, 0, 3)),
        (
            "%h = arith.shrui %n, %one : i32\n%x = arith.addi %h, %six overflow<nuw> : i32",
            Expression(0, 1, 12, 2),
        ),
    ],
)
def test_an_expression_of_a_parameter(ops: str, expected: Expression) -> None:
    assert found(ops) == expected


@pytest.mark.parametrize(
    "ops",
    [
        "%x = arith.muli %n, %m overflow<nuw> : i32",
        "%x = arith.muli %n, %six : i32",
        "%x = arith.shrui %n, %m : i32",
        "%y = nv_tileaa.get_program_id {axis = 0 : i32} : i32\n%x = arith.shrui %y, %one : i32",
        "%y = nv_tileaa.get_program_id {axis = 0 : i32} : i32\n%x = arith.shrui %n, %y : i32",
        # No number of bits, and a number that is read as unsigned.
        "%y = arith.constant -1 : i32\n%x = arith.shrui %n, %y : i32",
        "%y = arith.constant 32 : i32\n%x = arith.shrui %n, %y : i32",
        "%y = arith.constant -2 : i32\n%x = arith.shrui %y, %one : i32",
        "%x = nv_tileaa.get_program_id {axis = 0 : i32} : i32",
        "%y = nv_tileaa.get_program_id {axis = 0 : i32} : i32\n%x = arith.muli %y, %six overflow<nuw> : i32",
        "%y = nv_tileaa.get_program_id {axis = 0 : i32} : i32\n%x = arith.addi %six, %y overflow<nuw> : i32",
        # A quotient was rounded before.
        "%h = arith.shrui %n, %one : i32\n%x = arith.muli %h, %six overflow<nuw> : i32",
    ],
)
def test_what_is_none(ops: str) -> None:
    assert found(ops) is None
