"""Command lines as LLVM's `cl` library reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera_tools.cli.tileiras.arguments import Option, Syntax

SYNTAX = Syntax(
    "program",
    "an example",
    (
        Option("fast", "Go fast"),
        Option("version", "Show the version", ends=True, bare=True),
        Option("output-file", "What to write", "file", aliases=("o",)),
        Option("level", "How much", "N", aliases=("O",), prefix=True, integer=True),
        Option("preview", "More", "feature[,feature...]", features=("one", "two")),
        Option("color", "Which", "value", {"red": "like roses", "blue": "like the sea"}),
    ),
)


@pytest.mark.parametrize(
    ("line", "values", "path"),
    [
        ("in", {}, "in"),
        ("--fast in", {"fast": ["1"]}, "in"),
        ("-fast in", {"fast": ["1"]}, "in"),
        ("--fast=false in", {"fast": [""]}, "in"),
        ("-o out in", {"output-file": ["out"]}, "in"),
        ("-o=out in", {"output-file": ["out"]}, "in"),
        ("in --output-file out", {"output-file": ["out"]}, "in"),
        ("-O3", {"level": ["3"]}, None),
        ("--O3", {"level": ["3"]}, None),
        ("--level 3", {"level": ["3"]}, None),
        ("--level=-1", {"level": ["-1"]}, None),
        ("--level=0x10", {"level": ["16"]}, None),
        ("--level=010", {"level": ["8"]}, None),
        ("--level=0b11", {"level": ["3"]}, None),
        ("--preview=one,two", {"preview": ["one,two"]}, None),
        ("--color=red --color=blue", {"color": ["red", "blue"]}, None),
        ("-- --fast", {}, "--fast"),
        ("-", {}, "-"),
    ],
)
def test_options_take_one_or_two_hyphens_and_their_values_in_two_ways(
    line: str, values: dict[str, list[str]], path: str | None
) -> None:
    parsed = SYNTAX.parse(line.split())
    assert (parsed.values, parsed.path, parsed.mistakes) == (values, path, [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--fst=1",
            "Unknown command line argument '--fst=1'.  Try: 'program --help'\nDid you mean '--fast=1'?",
        ),
        (
            "---fast",
            "Unknown command line argument '---fast'.  Try: 'program --help'\nDid you mean '--fast'?",
        ),
        ("--zzzz", "Unknown command line argument '--zzzz'.  Try: 'program --help'"),
        ("--fast=3", "for the --fast option: '3' is invalid value for boolean argument! Try 0 or 1"),
        ("--output-file", "for the --output-file option: requires a value!"),
        ("-o", "for the -o option: requires a value!"),
        ("-O 3", "for the -O option: requires a value!"),
        ("-Ox", "for the --level option: 'x' value invalid for integer argument!"),
        ("-O=2", "for the --level option: '=2' value invalid for integer argument!"),
        ("--level=08", "for the --level option: '08' value invalid for integer argument!"),
        ("--version=1", "for the --version option: does not allow a value! '1' specified."),
        (
            "--preview=one,three",
            "for the --preview option: unknown preview feature 'three'; supported features: one, two",
        ),
        ("--level=9999999999", "for the --level option: '9999999999' value invalid for integer argument!"),
        ("--color=green", "for the --color option: Cannot find option named 'green'!"),
    ],
)
def test_a_wrong_command_line_is_refused(line: str, message: str) -> None:
    assert SYNTAX.parse(line.split()).mistakes == message.splitlines()


def test_there_is_at_most_one_input() -> None:
    assert SYNTAX.parse(["a", "b"]).mistakes == [
        "Too many positional arguments specified!\n"
        "Can specify at most 1 positional arguments: See: program --help"
    ]


def test_every_mistake_is_told() -> None:
    mistakes = SYNTAX.parse(["--zzzz", "--color=green", "a", "b"]).mistakes
    assert [mistake.split()[0] for mistake in mistakes] == ["Unknown", "for", "Too"]


def test_nothing_is_read_after_an_option_that_ends_the_command_line() -> None:
    parsed = SYNTAX.parse(["--zzzz", "--version", "--color=green", "a", "b"])
    assert parsed.asked == "version"
    assert len(parsed.mistakes) == 1


def test_a_response_file_stands_for_its_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").write_text("--fast\n")
    (tmp_path / "outer").write_text("-o 'a file' @inner\n")
    parsed = SYNTAX.parse(["@outer", "@missing"])
    assert (parsed.values, parsed.path) == ({"output-file": ["a file"], "fast": ["1"]}, "@missing")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@loop", "is too long, or names itself"),
        ("'open", "cannot be read"),
        ("x " * (1 << 20), "is too long"),
    ],
)
def test_a_bad_response_file_is_refused(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").write_text(content)
    (mistake,) = SYNTAX.parse(["@loop"]).mistakes
    assert mistake.startswith("the response file 'loop' ")
    assert message in mistake


def test_the_help_lists_every_option_with_its_values() -> None:
    text = SYNTAX.help()
    assert "  --fast                           - Go fast\n" in text
    assert "  --output-file, -o=<file>         - What to write\n" in text
    assert "    =blue                          -   like the sea\n" in text
    assert max(map(len, text.splitlines())) <= 110
