"""What is known about a text for editors, also where it has errors."""

from __future__ import annotations

import pytest

from tessera_tools.parser.indexing import Braces, expected_at_end, read_indexed


def test_definitions_have_their_place_and_kind() -> None:
    text = "func.func @f(%a: i32) {\n  %b, %c = arith.mului_extended %a, %a : i32\n  cf.br ^end\n^end:\n  return\n}\n"
    found = {(one.kind, one.name, one.start) for one in read_indexed(text, "f").definitions}
    assert found == {
        (kind, name, text.index(name))
        for kind, name in [
            ("symbol", "@f"), ("argument", "%a"), ("value", "%b"), ("value", "%c"),
        ]
    } | {("block", "^end", text.rindex("^end"))}  # fmt: skip


def test_a_name_is_visible_in_its_region() -> None:
    text = "func.func @f(%a: i32) {\n  return\n}\nfunc.func @g() {\n  return\n}\n"
    (argument,) = [one for one in read_indexed(text, "f").definitions if one.name == "%a"]
    assert argument.extent == (text.index("{"), text.index("}"))


def test_what_precedes_an_error_at_the_end_is_known() -> None:
    found = read_indexed("func.func @f(%a: i32) {\n  %b = arith.addi %a, %a : i32\n  %c = arith.addi %b", "f")
    assert found.errors
    assert [one.name for one in found.definitions] == ["%a", "%b", "%c", "@f"]
    assert found.stopped


def test_braces_in_strings_and_comments_are_none() -> None:
    braces = Braces('{ "{" // {\n { } }')
    assert braces.opens == [0, 12]
    assert braces.around(13) == (12, 14)
    assert braces.around(5) == (0, 16)
    assert braces.unclosed == 0
    assert Braces("{ {").unclosed == 2


@pytest.mark.parametrize(
    ("text", "terminal", "words"),
    [
        ("", "RESULTS", ()),
        ("func.func @f(%a: ", "TYPE", ()),
        ("func.func @f() {\n  %x = arith.addi ", "VALUE", ()),
        ("func.func @f(%x: i32) {\n  %y = arith.addi %x, %x ", "COLON", ("overflow",)),
        ("func.func @f(%x: i32) {\n  oops\n  %y = arith.addi %x", "COMMA", (",",)),
    ],
)
def test_what_may_follow(text: str, terminal: str, words: tuple[str, ...]) -> None:
    expected = expected_at_end(text, "f")
    assert terminal in expected.terminals
    assert set(words) <= set(expected.words)


def test_the_default_dialect_of_a_region() -> None:
    assert expected_at_end("entry @k() {\n  ", "f").default == "cuda_tile"
    assert expected_at_end("entry @k(%a: tile<i32>) {\n  assume\n  ", "f").default == "cuda_tile"
