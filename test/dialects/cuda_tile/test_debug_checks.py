"""Debug information that does not fit the kernels it stands in is refused, with what it should be."""

from __future__ import annotations

import pytest

from tessera_tools.cli.opt import run

SCOPES = """\
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>
#other = #cuda_tile.di_subprogram<file = #file, line = 9, name = "o", linkageName = "o", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 2, column = 3>
#in_sub = #cuda_tile.di_loc<loc("k.py":1:1) in #sub>
#in_block = #cuda_tile.di_loc<loc("k.py":2:3) in #block>
#in_other = #cuda_tile.di_loc<loc("k.py":9:1) in #other>
"""


def kernel(name: str, own: str, inner: str) -> str:
    return f"{SCOPES}cuda_tile.module @m {{ entry @{name}() {{ return loc({inner}) }} loc({own}) }}"


def refusal(text: str) -> str:
    done = run(["-"], stdin=text.encode())
    assert done.exit_code == 1
    return done.stderr.decode()


def test_scopes_of_the_kernel_are_taken_and_printed_through_aliases() -> None:
    done = run(["-", "--mlir-print-debuginfo"], stdin=kernel("k", "#in_sub", "#in_block").encode())
    out = done.stdout.decode()
    assert (
        "#di_lexical_block = #cuda_tile.di_lexical_block<scope = #di_subprogram, file = #di_file, line = 2"
        in out
    )
    again = run(["-", "--mlir-print-debuginfo"], stdin=done.stdout)
    assert again.stdout == done.stdout


def test_a_block_without_a_column_is_in_column_0() -> None:
    text = kernel("k", "#in_sub", "#in_block")
    for column in ("", ", column = 0"):
        done = run(["-", "--mlir-print-debuginfo"], stdin=text.replace(", column = 3", column).encode())
        assert "file = #di_file, line = 2>" in done.stdout.decode()


@pytest.mark.parametrize(
    ("name", "own", "inner", "message"),
    [
        ("x", "#in_sub", "unknown", 'Function name "x" does not match subprogram scope linkage name "k".'),
        (
            "k",
            "#in_block",
            "unknown",
            "Function location must have cuda_tile.di_subprogram debug info scope.",
        ),
        ("k", "callsite(#in_sub at #in_sub)", "unknown", "Function location must not be a CallSiteLoc."),
        (
            "k",
            "unknown",
            "#in_block",
            "Operation has debug info scope, but function debug info scope is undefined.",
        ),
        ("k", "#in_sub", "#in_other", "Operation debug info scope does not match function debug info scope"),
        ("k", "#in_sub", 'fused["a":1:1, #in_other]', "Operation debug info scope does not match function"),
        (
            "k",
            "#in_sub",
            'callsite("a":1:1 at "f"(#in_other))',
            "Operation debug info scope does not match function",
        ),
    ],
)
def test_a_scope_that_does_not_fit_is_refused(name: str, own: str, inner: str, message: str) -> None:
    assert message in refusal(kernel(name, own, inner))


def test_a_global_has_no_scope() -> None:
    text = f"{SCOPES}cuda_tile.module @m {{ global @g <i32: [1]> : tile<1xi32> loc(#in_sub) }}"
    found = refusal(text)
    assert 'invalid operation debug info scope: #cuda_tile.di_loc<loc("k.py":1:1) in ' in found
    assert ". Global variables must not have scope." in found


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("di_compile_unit<>", "expected a parameter name in struct"),
        ("di_compile_unit<line = 3>", "'line' is unknown; expected one of file"),
        ('di_subprogram<line = 1, name = "k">', "struct is missing required parameter: file"),
        ('di_file<"k.py">', "expected 'in'"),
        ("di_subprogram<line = -1>", "'line' must not be negative, got -1"),
        ('di_subprogram<file = "k.py">', "'file' must be a cuda_tile.di_file"),
        ('di_subprogram<name = "k", name = "k">', "'name' is given twice"),
        (
            'di_loc<"k.py" in 1>',
            """expected a position in a file, 'loc("file":line:column)', found '"k.py"'""",
        ),
        (
            'di_loc<loc("k.py":1:1) in "k">',
            """expected a di_subprogram or di_lexical_block as the scope, found '"k"'""",
        ),
    ],
)
def test_a_part_that_lacks_something_or_is_of_another_kind_is_refused(attribute: str, message: str) -> None:
    assert message in refusal(f"#a = #cuda_tile.{attribute}\ncuda_tile.module @m {{ }}")
