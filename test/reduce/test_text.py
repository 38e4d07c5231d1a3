"""Reduction of text and PTX, where a candidate is interesting if it contains certain words."""

from __future__ import annotations

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
