"""Outline, folding, semantic tokens, hints and lenses."""

from __future__ import annotations

from typing import Any

import pytest
from editor.editing import URI, Marked

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.editor.service import Settings
from tessera_tools.editor.stages import show_stage
from tessera_tools.editor.structure import TOKEN_TYPES

TEXT = """\
// RUN: tessera-opt %s \\
// RUN:   --cse
// a comment
#map = affine_map<(d0) -> (d0)>
module @outer {
  func.func @f(%a: i32) -> i32 {
    %b = arith.addi %a, %a : i32
    return %b : i32
  }
  func.func private @g()
}
// -----
cuda_tile.module @m {
  global @data <f32: [1.0, 2.0]> : tile<2xf32>
  entry @k(%n: tile<i32>) {
    %q = assume div_by<16>, %n : tile<i32>
    return
  }
}
"""


def outline(entries: list[Any]) -> list[Any]:
    return [(one["name"], outline(one["children"])) if "children" in one else one["name"] for one in entries]


def test_the_outline_is_nested() -> None:
    found = outline(Marked(TEXT).ask("documentSymbol"))
    assert found == ["#map", ("@outer", ["@f", "@g"]), ("@m", ["@data", "@k"])]


def test_an_entry_of_the_outline_has_its_text() -> None:
    marked = Marked(TEXT)
    module = marked.ask("documentSymbol")[1]
    assert marked.at(module["range"]).startswith("module @outer {")
    assert marked.at(module["range"]).endswith("@g()\n}")
    assert marked.at(module["children"][0]["range"]).endswith("return %b : i32\n  }")


def test_an_if_with_an_else_is_one_operation() -> None:
    marked = Marked(
        "func.func @f(%c: i1) {\n  scf.if %c {\n    func.call @g() : () -> ()\n  } else {\n"
        "    func.call @g() : () -> ()\n  }\n  return\n}\nfunc.func private @g()\n"
    )
    assert outline(marked.ask("documentSymbol")) == ["@f", "@g"]
    assert marked.at(marked.ask("documentSymbol")[0]["range"]).count("}") == 3


def test_folding() -> None:
    found = {(one["startLine"], one["endLine"], one.get("kind")) for one in Marked(TEXT).ask("foldingRange")}
    assert {(0, 2, "comment"), (4, 9, None), (5, 7, None), (12, 17, None), (0, 10, "region")} <= found


def tokens(marked: Marked) -> list[tuple[str, str]]:
    """(text, type) of each semantic token; columns are those of the protocol."""
    data = marked.ask("semanticTokens/full")["data"]
    line = column = 0
    found: list[tuple[str, str]] = []
    for at in range(0, len(data), 5):
        lines, columns, width, kind, _ = data[at : at + 5]
        column = columns if lines else column + columns
        line += lines
        start = {"line": line, "character": column}
        text = marked.at({"start": start, "end": {"line": line, "character": column + width}})
        found.append((text, TOKEN_TYPES[kind]))
    return found


def test_semantic_tokens() -> None:
    found = tokens(Marked(TEXT))
    assert ("func.func", "keyword") in found
    assert ("assume", "keyword") in found
    assert ("%a", "parameter") in found
    assert ("%b", "variable") in found
    assert ("@f", "function") in found
    assert ("#map", "macro") in found
    assert ("// -----", "comment") in found


def test_semantic_tokens_after_characters_of_two_units() -> None:
    marked = Marked(
        'func.func @f() attributes {a = "😀"} {\n  "x.y"() {s = "é😀", t = @f} : () -> ()\n  return\n}\n'
    )
    assert ("@f", "function") in tokens(marked)
    assert ('"é😀"', "string") in tokens(marked)


def hints(marked: Marked) -> list[str]:
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    return [one["label"] for one in marked.ask("inlayHint", range=everywhere)]


def test_hints_have_types_that_the_line_lacks_and_facts() -> None:
    marked = Marked(
        "entry @k(%n: tile<i32>) {\n  %q = assume div_by<16>, %n : tile<i32>\n"
        "  %c = cmpi less_than %q, %n, signed : tile<i32> -> tile<i1>\n  return\n}\n"
    )
    assert hints(marked) == ["multiple of 16"]
    moved = Marked("func.func @f(%a: i32) {\n  %c = arith.cmpi slt, %a, %a : i32\n  return\n}\n")
    assert hints(moved) == [": i1"]


LAYOUT = "#nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>"


def test_hints_have_the_aliases_of_the_file() -> None:
    body = "  %y = arith.negf %x\n    : {type}\n  return\n}}\n"
    head = "func.func @f(%x: {type}) {{\n"
    aliased = "tensor<64xf32, #layout>"
    text = f"#layout = {LAYOUT}\n" + (head + body).format(type=aliased)
    assert hints(Marked(text)) == [f": {aliased}"]
    whole = f"tensor<64xf32, {LAYOUT}>"
    assert hints(Marked((head + body).format(type=whole))) == [f": {whole}"[:61] + "…"]


def test_hints_are_off_where_the_user_wants_none() -> None:
    text = "func.func @f(%a: i32) {\n  %c = arith.cmpi slt, %a, %a : i32\n  return\n}\n"
    assert hints(Marked(text, settings=Settings(type_hints=False))) == []


def test_lenses() -> None:
    found = Marked(TEXT).ask("codeLens")
    assert [(one["range"]["start"]["line"], one["command"]["title"]) for one in found] == [
        (0, "Run this line"),
        (5, "Show the next stage"),
        (5, "Show the PTX"),
        (14, "Show the next stage"),
        (14, "Show the PTX"),
    ]


def test_a_program_with_errors_has_no_stages() -> None:
    marked = Marked("func.func @f() {\n  oops\n}\n")
    assert marked.ask("codeLens") == []
    with pytest.raises(DiagnosticError, match="^error: the program has errors$"):
        show_stage(marked.service.document(URI), 0, "next", "")
