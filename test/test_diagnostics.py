"""Diagnostics: rendering, notes, sinks."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from tessera_tools.diagnostics import (
    Diagnostic,
    DiagnosticError,
    InternalFault,
    Position,
    Remark,
    Sources,
    closest,
    collect,
    emit,
    error,
    plain_errors,
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


def public(failure: Exception) -> None:
    """A function of the interface: what it calls, and what that calls, is not for users."""
    with plain_errors():
        inner(failure)


def inner(failure: Exception) -> None:
    try:
        raise KeyError("a detail")
    except KeyError:
        raise failure  # noqa: B904


def frames(failure: Exception) -> list[str]:
    """The functions of the traceback below this one."""
    with pytest.raises(type(failure)) as found:
        public(failure)
    names = [frame.name for frame in traceback.extract_tb(found.value.__traceback__)]
    return names[names.index("public") :]


def test_the_traceback_of_an_error_ends_at_the_public_function() -> None:
    failure = error(None, "bad")
    assert frames(failure) == ["public"]
    assert "a detail" not in "".join(traceback.format_exception(failure))


def test_the_traceback_of_a_fault_is_whole() -> None:
    assert frames(InternalFault.of(ValueError("odd"), "in a pass", None)) == ["public", "inner"]
    assert frames(ValueError("odd")) == ["public", "inner"]


def test_the_whole_traceback_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_DEBUG", "1")
    assert frames(error(None, "bad")) == ["public", "inner"]


def test_a_traceback_shows_the_line_of_the_source_once(tmp_path: Path) -> None:
    path = tmp_path / "a.mlir"
    path.write_text("one\ntwo three\n")
    failure = error(Position(str(path), 2, 5), "bad")
    with pytest.raises(DiagnosticError) as found, plain_errors():
        public(failure)
    assert "".join(traceback.format_exception_only(found.value)).endswith(
        f"{path}:2:5: error: bad\ntwo three\n    ^\n"
    )


def test_a_source_that_is_not_a_file_has_no_line() -> None:
    failure = error(Position("<text>", 1, 1), "bad")
    frames(failure)
    assert not hasattr(failure, "__notes__")
