"""Regular expressions without backtracking: Python's answers, in time that does not explode."""

from __future__ import annotations

import random
import re
import string

import pytest
from programs import fresh_seed

from tessera_tools.cli.matcher import Matcher


def random_expression(rng: random.Random, depth: int = 3) -> str:
    kind = rng.randrange(9 if depth else 4)
    if kind == 0:
        return rng.choice("abc")
    if kind == 1:
        return rng.choice(
            [r"\d", r"\w", r"\s", ".", "[ab]", "[^a]", "[a-c]", r"[\d_]", "^", "$", r"\b", r"\B"]
        )
    if kind in (2, 3):
        return re.escape(rng.choice("a b(1_"))
    inner = [random_expression(rng, depth - 1) for _ in range(rng.randrange(1, 4))]
    if kind in (4, 5):
        return "".join(inner)
    if kind == 6:
        return f"(?:{'|'.join(inner)})"
    return f"(?:{''.join(inner)}){rng.choice(['*', '+', '?', '*?', '{2}', '{1,3}', '{,2}', '{2,}'])}"


def test_it_agrees_with_python() -> None:
    rng = random.Random(fresh_seed())
    for _ in range(3000):
        pattern = random_expression(rng)
        for _ in range(4):
            text = "".join(rng.choice("abc1 _(\n") for _ in range(rng.randrange(8)))
            assert Matcher(pattern).search(text) == bool(re.search(pattern, text)), (pattern, text)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a*)*b", "(a|aa)+b", "(.*a){12}b", "(a?){40}a{40}b"])
def test_what_backtracking_takes_forever_for_ends(pattern: str) -> None:
    assert not Matcher(pattern).search("a" * 2000)
    assert Matcher(pattern).search("a" * 200 + "b")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"(a)\1", "a back reference is not supported"),
        ("(?=a)", "lookahead"),
        ("(?<!a)", "lookbehind"),
        ("(a{1000}){1000}", "^the expression is too large$"),
        ("a{99999999999999999999}", "^the expression is too large$"),
        ("(" * 10_000 + ")" * 10_000, "^the expression is too large$"),
        ("(", "missing"),
    ],
)
def test_what_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(re.error, match=says):
        Matcher(pattern)


def test_every_printable_character_is_itself() -> None:
    for char in string.printable:
        assert Matcher(re.escape(char)).search(f"x{char}y")
        assert not Matcher(re.escape(char)).search("é")
