"""What may be typed at a position."""

from __future__ import annotations

from typing import Any

import pytest
from editor.editing import Marked

from tessera_tools.cli.lsp_worker import command_options
from tessera_tools.editor.completion import resolved

COMMANDS = command_options()


def items(text: str) -> dict[str, Any]:
    marked = Marked(text, commands=COMMANDS)
    return {item["label"]: item for item in marked.ask("completion", "1")["items"]}


def body(statement: str) -> dict[str, Any]:
    return items(
        f"entry @k(%a: tile<i32>, %b: tile<f32>) {{\n  %c = addi %a, %a : tile<i32>\n  {statement}\n"
        "  %later = addi %a, %a : tile<i32>\n  return\n}\n"
    )


def test_operations_without_the_default_prefix() -> None:
    found = body("<1>")
    assert {"addi", "mmaf", "scf.for", "nv_tileas.load"} <= found.keys()
    assert "cuda_tile.addi" not in found
    assert found["addi"]["detail"].startswith("%result = cuda_tile.addi %lhs, %rhs")


def test_operations_of_a_dialect_after_its_prefix() -> None:
    found = body("%x = arith.<1>")
    assert "arith.addi" in found
    assert {name.partition(".")[0] for name in found} == {"arith"}


def test_an_item_replaces_the_word() -> None:
    marked = Marked("func.func @f() {\n  arith.ad<1>\n  return\n}\n")
    (item,) = [one for one in marked.ask("completion", "1")["items"] if one["label"] == "arith.addi"]
    assert marked.at(item["textEdit"]["range"]) == "arith.ad"


def test_values_that_are_visible() -> None:
    found = body("%x = addi %<1>")
    assert found.keys() == {"%a", "%b", "%c"}
    assert found["%b"]["detail"] == "!cuda_tile.tile<f32>"


def test_values_where_the_grammar_wants_one() -> None:
    assert {"%a", "%b", "%c"} <= body("%x = addi <1>").keys()


def test_keywords_that_the_format_allows() -> None:
    assert "overflow" in body("%x = addi %a, %a <1>")
    assert {"div_by", "bounded", "same_elements"} <= body("%x = assume <1>").keys()


def test_types() -> None:
    found = body("%x = addi %a, %a : <1>")
    assert {"tile", "ptr", "i32", "tensor"} <= found.keys()
    assert "addi" not in found


def test_types_and_attributes_of_dialects() -> None:
    assert "!cuda_tile.tile" in items("func.func @f(%a: !cuda<1>) {\n  return\n}\n")
    assert "#cuda_tile.rounding" in items("func.func @f() attributes {a = #<1>} {\n  return\n}\n")


def test_symbols_blocks_and_aliases() -> None:
    text = (
        "#map = affine_map<(d0) -> (d0)>\nfunc.func private @callee()\n"
        "func.func @f() {\n  cf.br ^here\n^here:\n  {0}\n  return\n}\n"
    )
    assert items(text.replace("{0}", "func.call @<1>")).keys() == {"@callee", "@f"}
    assert items(text.replace("{0}", "cf.br ^<1>")).keys() == {"^here"}
    assert "#map" in items(text.replace("{0}", "func.call @callee() {a = #<1>"))


def test_nothing_in_a_comment() -> None:
    assert body("// <1>") == {}


RUN = "func.func @f() {\n  return\n}\n"


def test_options_and_passes_in_a_run_line() -> None:
    found = items(f"// RUN: tessera-opt %s --<1>\n{RUN}")
    assert {"--canonicalize", "--split-input-file", "-o"} <= found.keys()
    assert "--mlir-to-ptx" not in found
    assert "--mlir-to-ptx" in items(f"// RUN: tessera-opt %s | tessera-translate --<1>\n{RUN}")


def test_programs_in_a_run_line() -> None:
    assert {"tessera-opt", "FileCheck"} <= items(f"// RUN: <1>\n{RUN}").keys()


def test_options_of_a_pass_and_their_values() -> None:
    assert "top-down=" in items(f"// RUN: tessera-opt %s --canonicalize='<1>\n{RUN}")
    assert items(f"// RUN: tessera-opt %s --canonicalize='top-down=<1>\n{RUN}").keys() == {"true", "false"}


def test_values_of_an_option() -> None:
    assert items(f"// RUN: tessera-opt %s --color=<1>\n{RUN}").keys() == {"auto", "always", "never"}


@pytest.mark.parametrize(
    ("label", "kind", "text"),
    [("addi", 3, "### `cuda_tile.addi`"), ("--cse", 10, "### `--cse`"), ("%a", 6, None), ("@f", 3, None)],
)
def test_the_documentation_of_an_item(label: str, kind: int, text: str | None) -> None:
    found = resolved({"label": label, "kind": kind})
    assert (text is None) == ("documentation" not in found)
    assert text is None or text in found["documentation"]["value"]
