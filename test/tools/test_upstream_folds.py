"""`tools/upstream_folds.py`: when two functions are the same, and what a comparison comes to."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from oracles import require_tool

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

tool = importlib.import_module("upstream_folds")

FUNCTION = """
func.func @f(%a: i32, %m: memref<4xi32>, %i: index) -> i32 {
  %c = arith.constant 3 : i32
  %0 = arith.muli %a, %c : i32
  %1 = memref.load %m[%i] : memref<4xi32>
  %2 = arith.addi %0, %1 : i32
  return %2 : i32
}
"""


def test_names_and_the_places_of_ops_without_effect_make_no_difference() -> None:
    other = """
func.func @f(%x: i32, %y: memref<4xi32>, %z: index) -> i32 {
  %0 = memref.load %y[%z] : memref<4xi32>
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %1 = arith.muli %x, %three : i32
  %2 = arith.addi %1, %0 : i32
  return %2 : i32
}
"""
    assert tool.signature(FUNCTION) == tool.signature(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("constant 3", "constant 5"),
        ("arith.addi %0, %1", "arith.addi %1, %0"),
        ("return %2", "return %0"),
        ("  return", "  memref.store %2, %m[%i] : memref<4xi32>\n  return"),
        ("  return", "  %3 = arith.subi %2, %0 : i32\n  return"),
        ("arith.muli %a, %c : i32", "arith.muli %a, %c overflow<nsw> : i32"),
    ],
)
def test_what_is_computed_makes_a_difference(old: str, new: str) -> None:
    assert old in FUNCTION
    assert tool.signature(FUNCTION) != tool.signature(FUNCTION.replace(old, new))


def test_what_cannot_be_read_has_no_signature() -> None:
    assert tool.signature("func.func @f() { index.add }") is None


def outcome(text: str, **options: str) -> str:
    require_tool("mlir-opt-22")
    unit = tool.upstream.Unit("x.mlir", 1, text, run=(options.get("run", "--canonicalize"),))
    return tool.compare(unit).outcome


def test_functions_that_both_fold_alike_are_the_same() -> None:
    assert outcome(FUNCTION.replace("constant 3", "constant 1")) == "same"


def test_a_fold_that_is_not_made_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool.upstream, "run_ours", lambda text, flags: (0, text, ""))
    assert outcome(FUNCTION.replace("constant 3", "constant 1")) == "missed"


def test_a_result_that_neither_makes_of_the_other_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = FUNCTION.replace("constant 3", "constant 7")
    monkeypatch.setattr(
        tool.upstream, "run_ours", lambda text, flags: (0, wrong if text == FUNCTION else text, "")
    )
    assert outcome(FUNCTION) == "differs"


def test_a_function_with_ops_that_are_not_declared_is_refused() -> None:
    assert (
        outcome("func.func @f(%a: index) -> index { %0 = index.add %a, %a  return %0 : index }") == "refused"
    )


def test_the_table_counts_functions_by_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_tool("mlir-opt-22")
    folder = tmp_path / "Dialect" / "Arith"
    folder.mkdir(parents=True)
    text = f"// RUN: mlir-opt %s -canonicalize | FileCheck %s\n\n// CHECK-LABEL: @f{FUNCTION}"
    (folder / "canonicalize.mlir").write_text(text)
    assert tool.main([str(tmp_path), "--part", "Dialect/Arith"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1] == ["Dialect/Arith", "1", "0", "0", "0", "0", "0"]
