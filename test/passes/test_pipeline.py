"""The text of pipelines: both ways, with positions in errors."""

from __future__ import annotations

import pytest

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.passes.base import OptionError
from tessera_tools.passes.pipeline import Pipeline, make_pass, parse_options, parse_pass, parse_pipeline


@pytest.mark.parametrize(
    "text",
    [
        "builtin.module()",
        "builtin.module(cse)",
        "builtin.module(func.func(cse,dce),symbol-dce)",
        "builtin.module(func.func(cse),any(cse),cse)",
        "builtin.module(builtin.module(func.func(cse)))",
        "any(cse)",
    ],
)
def test_what_is_parsed_is_printed(text: str) -> None:
    assert parse_pipeline(text).text() == text


def test_space_is_free() -> None:
    assert (
        parse_pipeline(" builtin.module ( func.func( cse , dce ) )\n").text()
        == "builtin.module(func.func(cse,dce))"
    )


def test_options_print_with_their_defaults() -> None:
    pipeline = parse_pipeline("builtin.module(canonicalize{top-down=false max-iterations=3})")
    text = (
        "builtin.module(canonicalize{max-iterations=3 max-num-rewrites=-1 region-simplify=normal "
        "test-convergence=false top-down=false})"
    )
    assert pipeline.text() == text
    assert parse_pipeline(text).text() == text


def test_a_pipeline_in_an_option_survives_the_round_trip() -> None:
    inline = parse_pass("inline{default-pipeline={canonicalize{top-down=false},cse}}")
    assert inline.default_pipeline == "canonicalize{top-down=false},cse"
    assert parse_pass(inline.text()) == inline


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "begin with the op"),
        ("cse", 1, "begin with the op"),
        ("builtin.module(", 16, "expected the name of a pass"),
        ("builtin.module(cse", 15, "unmatched '('"),
        ("builtin.module(cse))", 20, "unmatched ')'"),
        ("builtin.module(cse) x", 21, "nothing after"),
        ("builtin.module(cse,)", 20, "expected the name of a pass or of an op, found ')'"),
        ("builtin.module(csee)", 16, "'csee' is not a registered pass"),
        ("builtin.module(cse{x=1})", 16, "takes no options"),
        ("builtin.module(cse{x=1)", 19, "unmatched '{'"),
        ("builtin.module(canonicalize{top-donw=1})", 16, "did you mean 'top-down'"),
        ("builtin.module(canonicalize{max-iterations=x})", 16, "expects an integer, found 'x'"),
        ("builtin.module(canonicalize{region-simplify=x})", 16, "one of disabled, normal, aggressive"),
    ],
)
def test_errors_have_their_column(text: str, column: int, says: str) -> None:
    with pytest.raises(DiagnosticError) as failure:
        parse_pipeline(text)
    diagnostic = failure.value.diagnostics[0]
    assert says in diagnostic.message
    assert diagnostic.location is not None
    assert diagnostic.location.start() == ("<pass-pipeline>", 1, column)


def test_an_unknown_pass_gets_a_suggestion() -> None:
    with pytest.raises(DiagnosticError) as failure:
        parse_pipeline("builtin.module(canonicalise)")
    assert failure.value.diagnostics[0].notes[0].message == "did you mean 'canonicalize'?"


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="nested more than"):
        parse_pipeline("a(" * 5000)


def test_options_in_every_spelling() -> None:
    assert parse_options(" a=1  b={x {y}} c=\"z 'w'\" d e=[1, 2]") == {
        "a": "1", "b": "x {y}", "c": "z 'w'", "d": "", "e": "[1, 2]",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["=1", "a=1 a=2", "a={1", 'a="x'])
def test_broken_options_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_options(text)


def test_passes_on_the_command_line_share_a_nested_pipeline() -> None:
    class OnFunctions(type(parse_pass("cse"))):
        name = "on-functions"
        anchor = "func.func"

    pipeline = Pipeline("builtin.module")
    cse = make_pass("cse", {})
    assert cse is not None
    for pass_ in (OnFunctions(), OnFunctions(), cse, OnFunctions()):
        pipeline.add(pass_)
    assert pipeline.text() == (
        "builtin.module(func.func(on-functions,on-functions),cse,func.func(on-functions))"
    )


def test_the_dump_shows_one_pass_a_line() -> None:
    assert parse_pipeline("builtin.module(func.func(cse),dce)").pretty() == (
        "builtin.module(\n  func.func(\n    cse\n  ),\n  dce\n)"
    )
