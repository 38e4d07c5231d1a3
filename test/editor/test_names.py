"""Definitions, references and rename of values, symbols, aliases and blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor.editing import Marked

from tessera_tools.editor.document import Document
from tessera_tools.editor.text import Refused

ROOT = Path(__file__).parents[2]

PROGRAM = """\
<1>#map = affine_map<(d0) -> (d0 + 1)>
<2>!pair = vector<2xf32>
func.func private <3>@callee(i32) -> i32
func.func @main(<4>%n: i32, %m: memref<4xf32, <5>#map>, %p: <6>!pair) -> i32 {
  %a, <7>%b = arith.mului_extended %n, %n : i32
  cf.br <8>^done(%b : i32)
<9>^done(%x: i32):
  %r = func.call <0>@callee(%x) : (i32) -> i32
  return %r : i32
}
func.func @other(%n: i32) -> i32 {
  return %n : i32
}
"""


def definition(marked: Marked, mark: str) -> str:
    found = marked.ask("definition", mark)
    return marked.start(found["range"]) if found is not None else "none"


def uses(marked: Marked, mark: str, declared: bool = True) -> list[str]:
    found = marked.ask("references", mark, context={"includeDeclaration": declared})
    return [marked.at(one["range"]) for one in found]


@pytest.mark.parametrize(
    ("use", "expected"), [("5", "1"), ("6", "2"), ("0", "3"), ("8", "9"), ("7", "7"), ("4", "4")]
)
def test_the_definition_of_every_kind_of_name(use: str, expected: str) -> None:
    assert definition(Marked(PROGRAM), use) == expected


def test_references_are_those_of_the_same_function() -> None:
    marked = Marked(PROGRAM)
    assert uses(marked, "4") == ["%n"] * 3
    assert uses(marked, "4", declared=False) == ["%n"] * 2
    assert uses(marked, "3") == ["@callee"] * 2
    assert uses(marked, "9") == ["^done"] * 2


def test_names_that_are_used_again_in_other_regions() -> None:
    text = """\
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for <1>%i = %c0 to %n step %c1 {
    %x = arith.addi <2>%i, %c1 : index
  }
  scf.for <3>%i = %c0 to %n step %c1 {
    %x = arith.addi <4>%i, %c1 : index
  }
  return
}
"""
    marked = Marked(text)
    assert definition(marked, "2") == "1"
    assert definition(marked, "4") == "3"
    assert len(uses(marked, "1")) == 2


def test_a_result_of_several_and_its_number() -> None:
    text = """\
func.func @f(%x: i32) -> (i32, i32) {
  <1>%r:2 = "some.op"(%x) : (i32) -> (i32, i32)
  return <2>%r#0, <3>%r#1 : i32, i32
}
// RUN: --allow-unregistered-dialect
"""
    marked = Marked(text)
    assert definition(marked, "2") == definition(marked, "3") == "1"
    assert uses(marked, "1") == ["%r"] * 3


def test_names_in_comments_and_strings_are_none() -> None:
    marked = Marked('func.func @f(%x: i32) {\n  // <1>%x\n  "a.b"() {s = "<2>%x"} : () -> ()\n  return\n}\n')
    assert definition(marked, "1") == definition(marked, "2") == "none"


def test_programs_between_markers_have_names_of_their_own() -> None:
    marked = Marked(
        "func.func @f(%x: i32) {\n  return\n}\n// -----\nfunc.func <1>@f(%x: i32) {\n  return\n}\n"
    )
    assert uses(marked, "1") == ["@f"]


def test_names_are_found_in_a_function_with_an_error_in_its_head() -> None:
    marked = Marked(
        "func.func @f(<1>%x: ) -> i32 {\n  <2>%y = arith.addi <3>%x, %x : i32\n  return <4>%y : i32\n}\n"
    )
    assert marked.errors()
    assert definition(marked, "3") == "1"
    assert definition(marked, "4") == "2"


def test_rename_changes_every_use() -> None:
    marked = Marked(PROGRAM)
    edits = marked.ask("rename", "4", newName="%length")["changes"]["file:///program.mlir"]
    text = marked.text
    for edit in reversed(edits):
        start, end = (marked.lines.offset(edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    assert "@main(%length: i32" in text
    assert "mului_extended %length, %length" in text
    assert "@other(%n: i32) -> i32 {\n  return %n" in text


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("m", "'%m' is already defined in line 4"),
        ("a b", "'a b' is not a name of a value"),
        ("", "'' is not a name of a value"),
    ],
)
def test_a_rename_that_is_refused(new: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        Marked(PROGRAM).ask("rename", "4", newName=new)


def test_only_names_can_be_renamed() -> None:
    marked = Marked("func.func @f() {\n  <1>return\n}\n")
    assert marked.ask("prepareRename", "1") is None
    with pytest.raises(Refused, match="no name here"):
        marked.ask("rename", "1", newName="x")


FILES = sorted([*ROOT.glob("examples/*.mlir"), *ROOT.glob("test/dialects/*/*ops.mlir")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_value_of_a_real_file_has_a_definition(path: Path) -> None:
    document = Document("file:///real.mlir", path.read_text())
    for program in document.programs:
        if program.indexed.errors:
            continue
        for one in program.occurrences:
            if one.kind in ("value", "block", "alias"):
                assert program.definition_of(one) is not None, one
