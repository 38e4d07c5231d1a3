"""Reduction of text and PTX, where a candidate is interesting if it contains certain words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tessera_tools.reduce.search import Budget
from tessera_tools.reduce.text import reduce_ptx, reduce_text

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry one(.param .u64 x) {
  .reg .b32 %r<4>;
  mov.u32 %r1, 1; add.u32 %r2, %r1, %r1;
  ret;
}
.visible .entry two(.param .u64 x) {
  .reg .b32 %r<4>;
  mov.u32 %r1, 2; mul.lo.u32 %r2, %r1, %r1;
  ret;
}
"""


def budget(*words: str) -> Budget:
    return Budget(lambda data: all(word in data.decode() for word in words), most=10_000, seconds=60.0)


def test_words_are_left() -> None:
    assert reduce_text("one two three\nfour five six\n", budget("two", "five")).split() == ["two", "five"]


def test_entries_and_statements_go() -> None:
    left = reduce_ptx(PTX, budget(".target", "mul.lo", "}"))
    assert left.split() == [".target", "sm_80", "mul.lo.u32", "%r2,", "%r1,", "%r1;", "}"]


def test_text_of_one_line_is_reduced_by_words() -> None:
    assert reduce_text("((a)(b)(c))", budget("(b)")) == "(b)"


def test_spaces_at_the_end_go() -> None:
    """In time that is linear in their number."""
    assert reduce_text("one" + " " * 100_000, budget("one")) == "one"


@pytest.mark.parametrize("reduce", [reduce_text, reduce_ptx])
def test_what_cannot_become_smaller_is_left(reduce: Callable[[str, Budget], str]) -> None:
    assert reduce("one;\n", budget("one;\n")) == "one;\n"


def test_the_steps_are_repeated_until_none_helps() -> None:
    """The second line can go only after a word of the first line has gone."""

    def interesting(data: bytes) -> bool:
        words = data.split()
        return b"x" in words and (b"needs" not in words or b"y" in words)

    assert reduce_text("needs x\ny\n", Budget(interesting, most=100, seconds=60.0)).split() == ["x"]
    assert reduce_ptx("needs ;x ;\ny ;\n", Budget(interesting, most=100, seconds=60.0)) == "x ;"


def test_a_function_goes_without_the_declarations_before_it() -> None:
    tested: list[str] = []
    text = ".global .b32 g;\n.func f() {\n  { ret; }\n  ret;\n}\n.entry k() {\n  ret;\n}\n"
    reduce_ptx(
        text,
        Budget(lambda data: bool(tested.append(data.decode())), most=100, seconds=60.0),
    )
    assert ".global .b32 g;\n.entry k() {\n  ret;\n}\n" in [
        candidate.replace("\n\n", "\n") for candidate in tested
    ]
