"""Diagnostics: rendering, notes, sinks."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Position,
    Remark,
    Sources,
    closest,
    collect,
    emit,
    error,
    render,
    sink,
)


def sources(text: str) -> Sources:
    made = Sources()
    made.add("a.mlir", text)
    return made


def test_message_line_and_caret() -> None:
    text = render(Diagnostic("error", Position("a.mlir", 2, 5), "bad"), sources("one\ntwo  three\n"))
    assert text == "a.mlir:2:5: error: bad\ntwo  three\n    ^\n"


def test_tabs_before_the_caret_stay_tabs() -> None:
    text = render(Diagnostic("error", Position("a.mlir", 1, 3), "bad"), sources("\t\tx"))
    assert text.splitlines()[2] == "\t\t^"


def test_without_a_place() -> None:
    assert render(Diagnostic("warning", None, "odd")) == "<unknown>:0: warning: odd\n"


def test_a_place_in_an_unknown_file_shows_no_line() -> None:
    assert (
        render(Diagnostic("error", Position("b.mlir", 1, 1), "bad"), sources("x"))
        == "b.mlir:1:1: error: bad\n"
    )


def test_a_line_outside_the_file_shows_no_line() -> None:
    assert render(Diagnostic("error", Position("a.mlir", 3, 1), "bad"), sources("x\ny")).count("\n") == 1


def test_the_position_0_is_the_beginning_of_the_file() -> None:
    text = render(Diagnostic("error", Position("a.mlir", 0, 0), "bad"), sources("x\ny"))
    assert text == "a.mlir:1:1: error: bad\nx\n^\n"


def test_a_long_line_is_cut_around_the_caret() -> None:
    line = "x" * 500 + "HERE" + "y" * 500
    shown, caret = render(Diagnostic("error", Position("a.mlir", 1, 501), "bad"), sources(line)).splitlines()[
        1:
    ]
    assert len(shown) == 160 and shown[caret.index("^") :].startswith("HERE")


def test_carriage_returns_are_not_shown() -> None:
    assert "\r" not in render(Diagnostic("error", Position("a.mlir", 1, 1), "bad"), sources("x\r\n"))


def test_notes_follow_and_default_to_the_same_place() -> None:
    place, other = Position("a.mlir", 1, 1), Position("a.mlir", 2, 1)
    text = render(Diagnostic("error", place, "bad").note("here").note("there", other))
    assert text == "a.mlir:1:1: error: bad\na.mlir:1:1: note: here\na.mlir:2:1: note: there\n"


def test_color_is_off_unless_asked() -> None:
    diagnostic = Diagnostic("error", None, "bad")
    assert "\x1b" not in render(diagnostic)
    assert "\x1b[1;31merror:\x1b[0m bad" in render(diagnostic, color=True)


def test_errors_carry_their_diagnostics() -> None:
    place = Position("a.mlir", 1, 1)
    failure = error(place, "bad", "why")
    assert isinstance(failure, DiagnosticError)
    assert str(failure) == "a.mlir:1:1: error: bad\na.mlir:1:1: note: why"
    (diagnostic,) = failure.diagnostics
    assert diagnostic.severity == "error" and [n.message for n in diagnostic.notes] == ["why"]


def test_the_innermost_sink_receives() -> None:
    with collect() as outer:
        with collect() as inner:
            emit(Diagnostic("warning", None, "one"))
        emit(Diagnostic("warning", None, "two"))
    assert [d.message for d in inner] == ["one"] and [d.message for d in outer] == ["two"]


def test_a_sink_is_removed_when_the_work_fails() -> None:
    seen: list[Diagnostic] = []
    with pytest.raises(ValueError), sink(seen.append):
        raise ValueError
    emit(Diagnostic("warning", None, "lost"))
    assert seen == []


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    sources = Sources()
    sources.add("a\x1b[2Jb", "x\t\x1b[31m\x07 \x9b1m \u202e y")
    text = render(Diagnostic("error", Position("a\x1b[2Jb", 1, 3), "found '\x1b]0;title\x07'"), sources)
    assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}
    where, line, caret = text.splitlines()
    assert where == "a␛[2Jb:1:3: error: found '␛]0;title␇'"
    assert line == "x\t␛[31m␇ �1m � y"
    assert caret == " \t^"


def test_the_nearest_name_is_the_one_that_begins_alike() -> None:
    assert closest("adi", ["andi", "addi", "muli"]) == "addi"
    assert closest("qqq", ["andi", "addi"]) is None


def test_a_remark_prints_as_the_commands_show_it() -> None:
    remark = Remark("remark", Position("k.py", 3, 1), "load by TMA", rule="tma", kind="passed")
    assert str(remark) == "k.py:3:1: remark[passed]: load by TMA [tma]"
