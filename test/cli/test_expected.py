"""The comments of `--verify-diagnostics`."""

from __future__ import annotations

import pytest

from tessera_tools.cli.expected import check
from tessera_tools.diagnostics import Diagnostic, Position


def at(line: int, message: str = "it is wrong", severity: str = "error") -> Diagnostic:
    return Diagnostic(severity, Position("f", line, 3), message)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x // expected-error {{is wrong}}", 1),
        ("// expected-error@+1 {{is wrong}}\nx", 2),
        ("// expected-error @+1 {{is wrong}}\nx", 2),
        ("x\n// expected-error@-1 {{is wrong}}", 1),
        ("x\n// expected-error@above {{is wrong}}", 1),
        ("// expected-error@below {{is wrong}}\nx", 2),
        ("// expected-error-re {{it {{(is|was)}} wrong}}", 1),
        ("// expected-error {{}}", 1),
    ],
)
def test_a_comment_matches_its_line(text: str, line: int) -> None:
    assert not check([at(line)], "f", text)
    assert check([at(line + 1)], "f", text)


def test_above_and_below_skip_other_comments() -> None:
    above = "x\n// expected-error@above {{a}}\n// expected-error@above {{b}}\n"
    text = above + "// expected-note@below {{c}}\n// expected-note@below {{d}}\ny"
    found = [at(1, "a"), at(1, "b"), at(6, "c", "note"), at(6, "d", "note")]
    assert not check(found, "f", text)


def test_plain_text_is_no_regular_expression() -> None:
    assert check([at(1, "ab")], "f", "// expected-error {{a.}}")


def test_the_severity_counts() -> None:
    assert check([at(1, severity="warning")], "f", "// expected-error {{wrong}}")


def test_a_comment_is_used_up_by_one_diagnostic() -> None:
    wrong = check([at(1), at(1)], "f", "// expected-error {{wrong}}")
    assert [d.message for d in wrong] == ["unexpected error: it is wrong"]


def test_unknown_stands_for_no_position() -> None:
    assert not check([Diagnostic("error", None, "lost")], "f", "// expected-error@unknown {{lost}}")


def test_notes_have_comments_of_their_own() -> None:
    diagnostic = at(1).note("because", Position("f", 2, 1))
    assert check([diagnostic], "f", "// expected-error {{wrong}}\nx")
    assert not check([diagnostic], "f", "// expected-error {{wrong}}\nx // expected-note {{because}}")
