"""How many iterations of a loop are one, by the hint and the trip count."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.dialects import scf
from tessera_tools.parser import parse_module
from tessera_tools.planning.unrolling import copies_of


def copies(hint: int | None, upper: str = "%n", type: str = "i32") -> int | None:
    attribute = f" {{tessera.unroll_hint = {hint} : i64}}" if hint is not None else ""
    text = (
        f"nv_tileaa.func @f(%n: {type}) {{\n%zero = arith.constant 0 : {type}\n%one = arith.constant 1 : {type}\n"
        f"%six = arith.constant 6 : {type}\nscf.for %i = %zero to {upper} step %one : {type} {{\n}}{attribute}\n"
        "nv_tileaa.return\n}"
    )
    (loop,) = (op for op in parse_module(text, "k.mlir").walk() if isinstance(op, scf.For))
    return copies_of(loop)


@pytest.mark.parametrize(
    ("hint", "upper", "expected"),
    [
        (None, "%n", None),
        (4, "%n", 4),
        (1, "%n", 1),
        (5, "%six", 5),
        (6, "%six", 6),
        # No more than there are, and one where there is none.
        (7, "%six", 6),
        (2, "%zero", 1),
        (1024, "%n", 1024),
    ],
)
def test_as_many_as_the_hint_says(hint: int | None, upper: str, expected: int | None) -> None:
    assert copies(hint, upper) == expected


def test_the_number_of_copies_is_one_of_the_type_of_the_counter() -> None:
    assert copies(200, type="i8") == 127


@pytest.mark.parametrize(
    ("hint", "problem"),
    [(0, "expected a positive integer"), (1025, "an unroll factor of 1025; expected at most 1024")],
)
def test_invalid_hints(hint: int, problem: str) -> None:
    with pytest.raises(DiagnosticError, match=problem):
        copies(hint)
