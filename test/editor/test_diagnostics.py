"""Errors of a document: those of the parser and the verifier in one pass, with their notes, at the right words."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from editor.editing import URI, Marked

from tessera_tools.editor.document import Document

ROOT = Path(__file__).parents[2]


def test_a_program_without_errors() -> None:
    assert Marked("func.func @f() {\n  return\n}\n").errors() == []


def test_every_independent_error_is_reported() -> None:
    marked = Marked(
        "entry @k(%a: tile<i32>, %b: tile<i32>) {\n"
        "  %x = assume\n"
        "  %y = addi %a %b : tile<i32>\n"
        "  %z = muli %a, %nobody : tile<i32>\n"
        "  return\n"
        "}\n"
    )
    found = marked.errors()
    assert [line for line, _ in found] == [3, 3, 4]
    assert "expected 'bounded', 'div_by', 'same_elements'" in found[0][1]
    assert "custom op 'cuda_tile.addi' expected ','" in found[1][1]
    assert "undeclared SSA value name '%nobody'" in found[2][1]


def test_errors_of_the_verifier_in_other_functions() -> None:
    marked = Marked(
        "func.func @f(%a: i32) {\n  %x = arith.addi %a : i32\n  return\n}\n"
        "func.func @g(%a: i32) -> i32 {\n  return\n}\n"
    )
    lines = [line for line, _ in marked.errors()]
    assert lines == [2, 6]


def test_an_error_about_a_lost_function_is_not_invented() -> None:
    """@f cannot be read, so that nothing is said about a call of it."""
    marked = Marked(
        "func.func @f(%a: ) {\n  return\n}\nfunc.func @g() {\n  func.call @f() : () -> ()\n  return\n}\n"
    )
    assert [line for line, _ in marked.errors()] == [1]


def test_a_note_is_related_information() -> None:
    marked = Marked("func.func @f(%a: i32) {\n  %a = arith.constant 1 : i32\n  return\n}\n")
    (found,) = marked.ask("diagnostics")
    assert marked.at(found["range"]) == "%a"
    (note,) = found["relatedInformation"]
    assert note["message"] == "previously defined here"
    assert note["location"]["uri"] == URI
    assert note["location"]["range"]["start"] == {"line": 0, "character": 13}


def test_lines_after_a_marker_count_from_the_start_of_the_file() -> None:
    marked = Marked("func.func @f() {\n  return\n}\n// -----\nfunc.func @g() -> i32 {\n  return\n}\n")
    assert [line for line, _ in marked.errors()] == [6]


def test_an_error_at_a_location_in_another_file_is_at_the_operation() -> None:
    marked = Marked('func.func @f(%a: i32) -> i64 {\n  return %a : i32 loc("kernel.py":3:5)\n}\n')
    (found,) = marked.ask("diagnostics")
    assert found["range"]["start"]["line"] == 1
    assert "kernel.py:3:5" in found["message"] or marked.at(found["range"]) == "return"


def test_columns_are_utf_16_units() -> None:
    columns = {}
    for encoding in ("utf-8", "utf-16", "utf-32"):
        marked = Marked('func.func @f() attributes {a = "😀é"} <1>, b {\n  return\n}\n', encoding)
        columns[encoding] = marked.ask("diagnostics")[0]["range"]["start"]["character"]
    assert columns["utf-16"] == columns["utf-32"] + 1
    assert columns["utf-8"] == columns["utf-32"] + 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\r\n\r\n",
        "}",
        "{",
        '"',
        "%",
        "// -----",
        "// -----\n// -----",
        "\ud800",
        "\0",
        "#",
        "!",
        "@",
        "^",
        "é" * 10,
    ],
)
def test_texts_of_nearly_nothing(text: str) -> None:
    marked = Marked("")
    marked.service.open(URI, text)
    ask_everything(marked.service, text)


def test_unregistered_operations_are_errors_unless_a_run_line_allows_them() -> None:
    text = 'func.func @f() {\n  "some.op"() : () -> ()\n  return\n}\n'
    assert [line for line, _ in Marked(text).errors()] == [2]
    allowed = "// RUN: tessera-opt %s --allow-unregistered-dialect\n"
    assert Marked(allowed + text).errors() == []


_EXPECTED = re.compile(r"//\s*expected-(error|warning)")
INVALID = sorted(ROOT.glob("test/dialects/*/*invalid.mlir"))


@pytest.mark.parametrize("path", INVALID, ids=lambda path: str(path.relative_to(ROOT / "test/dialects")))
def test_a_file_of_errors_has_them_all(path: Path) -> None:
    """Each chunk of these files has the errors that its comments announce."""
    document = Document("file:///invalid.mlir", path.read_text())
    for program in document.programs:
        if "expected-error" in program.text:
            assert any(one.severity == "error" for one in program.diagnostics), program.text


# -- every prefix


def ask_everything(service: object, text: str) -> None:
    """Every question at the end of a text."""
    assert hasattr(service, "answer")
    position = service.document(URI).text.position(len(text))  # type: ignore[attr-defined]
    about = {"textDocument": {"uri": URI}}
    here = {**about, "position": position}
    everywhere = {"start": {"line": 0, "character": 0}, "end": position}
    for method in ("diagnostics", "documentSymbol", "foldingRange", "semanticTokens/full", "codeLens"):
        service.answer(f"textDocument/{method}", about)  # type: ignore[attr-defined]
    for method in ("hover", "definition", "documentHighlight", "prepareRename", "completion"):
        service.answer(f"textDocument/{method}", here)  # type: ignore[attr-defined]
    service.answer("textDocument/references", {**here, "context": {"includeDeclaration": True}})  # type: ignore[attr-defined]
    service.answer("textDocument/inlayHint", {**about, "range": everywhere})  # type: ignore[attr-defined]


SHORT = """\
// RUN: tessera-opt %s --cse='x=1' | FileCheck %s
#map = affine_map<(d0) -> (d0 * 2)>
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %q = assume div_by<16>, %p : tile<ptr<f32>>
    %one = constant <i32: 1> : tile<i32>
    %s = for %i in (%n to %n, step %one) : tile<i32> iter_values(%acc = %n) -> (tile<i32>) {
      %t = addi %acc, %i overflow<no_signed_wrap> : tile<i32>
      continue %t : tile<i32>
    }
    return
  }
}
// -----
func.func @f(%m: memref<4xf32, #map>, %s: i32) -> i32 {
  cf.br ^b(%s : i32)
^b(%x: i32):
  %r:2 = arith.mului_extended %x, %x {a = "é😀", b = dense<[1, 2]> : tensor<2xi8>} : i32
  return %r#1 : i32
}
"""


def test_every_prefix_of_a_program() -> None:
    marked = Marked("")
    for end in range(len(SHORT) + 1):
        marked.service.open(URI, SHORT[:end])
        ask_everything(marked.service, SHORT[:end])


def test_random_damage(record_property: pytest.RecordProperty) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    record_property("seed", seed)
    rng = random.Random(seed)
    marked = Marked("")
    source = (ROOT / "examples/softmax.mlir").read_text()
    for _ in range(40):
        text = source
        for _ in range(rng.randrange(1, 4)):
            start = rng.randrange(len(text))
            text = (
                text[:start]
                + rng.choice(["", "{", "}", "%", '"', "<", "é😀"])
                + text[start + rng.randrange(9) :]
            )
        marked.service.open(URI, text)
        ask_everything(marked.service, text)
