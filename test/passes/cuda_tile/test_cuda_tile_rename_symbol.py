"""cuda-tile-rename-symbol: the name, its uses, its linkage name; and what is refused."""

from __future__ import annotations

import pytest

from tessera_tools.cli.opt import run

PROGRAM = """\
#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 2, column = 3>
cuda_tile.module @m {
  global @g <i32: [1]> : tile<1xi32>
  entry @k() {
    %p = get_global @g : tile<ptr<i32>> loc(#cuda_tile.di_loc<loc("k.py":2:3) in #block>)
    return loc(callsite("f.py":1:1 at #cuda_tile.di_loc<loc("k.py":3:3) in #sub>))
  } loc(#cuda_tile.di_loc<loc("k.py":1:1) in #sub>)
  entry @other() {
    return
  }
}
"""


def rename(options: str, status: int = 0) -> str:
    done = run(
        ["-", f"--cuda-tile-rename-symbol={options}", "--mlir-print-debuginfo"], stdin=PROGRAM.encode()
    )
    assert done.exit_code == status, done.stderr.decode()
    return (done.stderr if status else done.stdout).decode()


def test_a_kernels_linkage_name_follows() -> None:
    out = rename("symbol-to-rename=m::k new-name=z")
    assert "entry @z()" in out
    assert 'name = "k", linkageName = "z"' in out
    assert 'linkageName = "k"' not in out


def test_uses_follow_on_request() -> None:
    out = rename("symbol-to-rename=m::g new-name=h update-uses=true")
    assert "global  @h" in out
    assert "get_global @h" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("symbol-to-rename=m::x new-name=y", "could not find symbol op with name 'm::x'"),
        ("symbol-to-rename=m::k new-name=g", "a symbol named 'g' already exists in the same symbol table"),
        (
            "symbol-to-rename=m::k scope=m::other new-name=z",
            "in a scope that did not enclose the symbol itself",
        ),
        ("new-name=z", "expected the options symbol-to-rename and new-name"),
        ("symbol-to-rename=m::g new-name=h", "'g' does not reference a valid global"),
    ],
)
def test_what_cannot_be_renamed_is_refused(options: str, message: str) -> None:
    assert message in rename(options, status=1)
