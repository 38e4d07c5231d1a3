"""The meaning of comparisons: of integers on all numbers of four bits, of floats with NaN on each side."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable

import pytest

from tessera_tools.dialects.arith.numbers import compare_floats, compare_integers

RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
PREDICATES = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{sign + name: relation for name, relation in RELATIONS.items() for sign in "su"},
}


@pytest.mark.parametrize("predicate", PREDICATES)
def test_integers_compare_as_their_predicate_says(predicate: str) -> None:
    for a in range(16):
        for b in range(16):
            x, y = (n - 16 if predicate[0] == "s" and n > 7 else n for n in (a, b))
            assert compare_integers(predicate, a, b, 4) == PREDICATES[predicate](x, y), (a, b)
    big = int("1" * 30)
    assert compare_integers("ne", big, int("1" * 30), 128) is False


@pytest.mark.parametrize("name", ["eq", "ne", *RELATIONS])
def test_floats_compare_as_ordered_or_unordered(name: str) -> None:
    for a, b in itertools.product([math.nan, -math.inf, -1.0, -0.0, 0.0, 2.5], repeat=2):
        unordered = math.isnan(a) or math.isnan(b)
        holds = not unordered and PREDICATES[name if name in PREDICATES else f"s{name}"](a, b)
        assert compare_floats(f"o{name}", a, b) == holds, (a, b)
        assert compare_floats(f"u{name}", a, b) == (unordered or holds), (a, b)
        assert compare_floats("uno", a, b) == unordered
        assert compare_floats("ord", a, b) == (not unordered)
