"""Command lines as LLVM's `cl` library reads them."""

from __future__ import annotations

import pytest

from tessera_tools.cli.tileiras.arguments import Option, Syntax, UsageError

SYNTAX = Syntax(
    "program",
    "an example",
    (
        Option("fast", "Go fast"),
        Option("output-file", "What to write", "file", aliases=("o",)),
        Option("level", "How much", "N", aliases=("O",), prefix=True, integer=True),
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
        ("--level 3", {"level": ["3"]}, None),
        ("--color=red --color=blue", {"color": ["red", "blue"]}, None),
        ("-- --fast", {}, "--fast"),
        ("-", {}, "-"),
    ],
)
def test_options_take_one_or_two_hyphens_and_their_values_in_two_ways(
    line: str, values: dict[str, list[str]], path: str | None
) -> None:
    assert SYNTAX.parse(line.split()) == (values, path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--fst", "Unknown command line argument '--fst'.  Try: 'program --help'\nDid you mean '--fast'?"),
        ("--zzzz", "Unknown command line argument '--zzzz'.  Try: 'program --help'"),
        ("--fast=3", "for the --fast option: '3' is invalid value for boolean argument! Try 0 or 1"),
        ("--output-file", "for the --output-file option: requires a value!"),
        ("-o", "for the -o option: requires a value!"),
        ("-O 3", "for the -O option: requires a value!"),
        ("-Ox", "for the -O option: 'x' value invalid for integer argument!"),
        ("--level=9999999999", "for the --level option: '9999999999' value invalid for integer argument!"),
        ("--color=green", "for the --color option: Cannot find option named 'green'!"),
    ],
)
def test_a_wrong_command_line_is_refused(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        SYNTAX.parse(line.split())
    assert str(caught.value) == message


def test_there_is_at_most_one_input() -> None:
    with pytest.raises(UsageError, match=r"Too many positional arguments specified!\nCan specify at most 1"):
        SYNTAX.parse(["a", "b"])


def test_the_help_lists_every_option_with_its_values() -> None:
    text = SYNTAX.help()
    assert "  --fast                           - Go fast\n" in text
    assert "  --output-file, -o=<file>         - What to write\n" in text
    assert "    =blue                          -   like the sea\n" in text
    assert max(map(len, text.splitlines())) <= 110
