"""What is shown about the word under the pointer."""

from __future__ import annotations

import re

import pytest
from editor.editing import Marked

from tessera_tools.editor.lowered import fact_text
from tessera_tools.editor.service import Settings

KERNEL = """\
entry <1>@k(%p: tile<ptr<f32>>, <2>%n: tile<i32>, %f: tile<f32>) {
  <3>%q = <4>assume div_by<16>, %n : <5>tile<i32>
  %m = addi %q, %q : tile<i32>
  %g = <9>addf %f, %f : tile<f32>
  return
}
"""


@pytest.fixture(scope="module")
def kernel() -> Marked:
    return Marked(KERNEL, settings=Settings(gpu="sm_80"))


def shown(marked: Marked, mark: str) -> str:
    found = marked.ask("hover", mark)
    return found["contents"]["value"] if found is not None else ""


def test_an_operation_has_the_documentation_of_its_declaration(kernel: Marked) -> None:
    text = shown(kernel, "9")
    assert "### `cuda_tile.addf`" in text
    assert "%result = cuda_tile.addf %lhs, %rhs" in text


def test_a_value_has_its_type_and_what_is_known(kernel: Marked) -> None:
    text = shown(kernel, "3")
    assert "%q : !cuda_tile.tile<i32>" in text
    assert "result of `cuda_tile.assume`, 2 uses" in text
    assert "Known: multiple of 16" in text


def test_an_argument(kernel: Marked) -> None:
    assert "argument 1 of `cuda_tile.entry` @k, 1 use" in shown(kernel, "2")


def test_a_symbol_has_the_head_of_its_operation(kernel: Marked) -> None:
    assert "entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %f: tile<f32>)" in shown(kernel, "1")


def test_a_type_has_its_documentation(kernel: Marked) -> None:
    assert "a value of static shape whose elements are numbers" in shown(kernel, "5")


def test_a_tile_has_the_layout_that_the_compiler_chooses() -> None:
    text = (
        "entry @k(%p: tile<ptr<f32>>) {\n"
        "  %q = assume div_by<16>, %p : tile<ptr<f32>>\n"
        "  %t = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>\n"
        "  %v = make_partition_view %t : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>\n"
        "  %i, %j, %k = get_tile_block_id : tile<i32>\n"
        "  <1>%x, %d = load_view_tko weak %v[%i] : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>,"
        " tile<i32> -> tile<64xf32>, token\n"
        "  <2>%y = addf %x, %x : tile<64xf32>\n"
        "  %e = store_view_tko weak %y, %v[%i] : tile<64xf32>, partition_view<tile=(64), "
        "tensor_view<64xf32, strides=[1]>>, tile<i32> -> token\n"
        "  return\n}\n"
    )
    marked = Marked(text, settings=Settings(gpu="sm_80"))
    assert marked.errors() == []
    assert "Layout of `tensor<64xf32>`" in shown(marked, "2")
    assert "T0 r0" in shown(marked, "2")


def test_a_layout_that_the_text_has() -> None:
    lanes = "lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []"
    layout = f"#nv_tileas.linear<{{register = [[0, 1], [8, 0], [0, 8]], {lanes}}}>"
    marked = Marked(f"func.func @f(<1>%x: tensor<16x16xf32, {layout}>) {{\n  return\n}}\n")
    assert "16x16 over 8 registers, 32 lanes" in shown(marked, "1")
    assert re.search(r"7 T28 r0-1 T29 r0-1 T30 r0-1 T31 r0-1", shown(marked, "1"))


ALIASED = """\
<1>#layout = #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], \
warp = [], block = []}>
#number = 3 : i32
func.func @f(<2>%x: tensor<16x16xf32, <3>#layout>) attributes {a = <4>#number} {
  return
}
"""


@pytest.mark.parametrize("mark", ["1", "3"])
def test_an_alias_of_a_layout_has_its_text_and_its_picture(mark: str) -> None:
    text = shown(Marked(ALIASED), mark)
    assert "#layout = #nv_tileas.linear<{register = [[0, 1]" in text
    assert re.search(r"7 T28 r0-1 T29 r0-1 T30 r0-1 T31 r0-1", text)


def test_another_alias_has_its_text_alone() -> None:
    assert shown(Marked(ALIASED), "4") == "```mlir\n#number = 3 : i32\n```"


def test_an_alias_of_a_layout_with_an_error_has_no_picture() -> None:
    marked = Marked("<1>#layout = #nv_tileas.linear<{register = x}>\nfunc.func @f() {\n  return\n}\n")
    assert shown(marked, "1") == "```mlir\n#layout = #nv_tileas.linear<{register = x}>\n```"


def test_a_type_has_the_aliases_of_the_file() -> None:
    text = shown(Marked(ALIASED), "2")
    assert "```mlir\n%x : tensor<16x16xf32, #layout>\n```" in text
    assert "#nv_tileas.linear" not in text


def test_nothing_is_known_in_a_program_with_errors() -> None:
    marked = Marked(
        "entry @k(%n: tile<i32>) {\n  <1>%q = assume div_by<16>, %n : tile<i32>\n  oops\n  return\n}\n"
    )
    assert "%q : !cuda_tile.tile<i32>" in shown(marked, "1")
    assert "Known" not in shown(marked, "1")


def test_an_operation_in_a_statement_with_an_error() -> None:
    assert "### `cuda_tile.addi`" in shown(
        Marked("entry @k(%n: tile<i32>) {\n  %q = <1>addi %n\n  return\n}\n"), "1"
    )


def test_a_pass_in_a_run_line() -> None:
    text = shown(Marked("// RUN: tessera-opt %s --<1>canonicalize | FileCheck %s\n"), "1")
    assert "### `--canonicalize`" in text
    assert "- `top-down`" in text


@pytest.mark.parametrize("text", ["// a <1>comment\n", "func.func @f() {<1>  \n  return\n}\n"])
def test_nothing_is_shown_where_there_is_nothing(text: str) -> None:
    assert Marked(text).ask("hover", "1") is None


def test_facts_in_words() -> None:
    from tessera_tools.analysis.transfer import Fact
    from tessera_tools.ir.core import Block
    from tessera_tools.ir.types import I32

    value = Block().add_argument(I32)
    low, high = -(1 << 31), (1 << 31) - 1
    assert fact_text(Fact(1, low, high), value) == ""
    assert fact_text(Fact(8, 0, 64), value) == "multiple of 8, 0 to 64"
    assert fact_text(Fact(1, 0, high), value) == "at least 0"
    assert fact_text(Fact(1, low, 7), value) == "at most 7"
    assert fact_text(Fact(4, 4, 4), value) == "always 4"
