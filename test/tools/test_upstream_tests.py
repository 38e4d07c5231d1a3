"""`tools/upstream_tests.py`: how files are cut, and what a unit comes to."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from oracles import require_tool

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

tool = importlib.import_module("upstream_tests")

FILE = """\
// RUN: mlir-opt %s -split-input-file -canonicalize | FileCheck %s

#map = affine_map<(d0) -> (d0 + 1)>
// CHECK-LABEL: @first
// CHECK-NEXT: return %arg0
func.func @first(%a: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %0 = arith.addi %a, %c0 : i32
  return %0 : i32
}

// CHECK-LABEL: @second
func.func private @second(memref<4xi32, #map>)

// -----

// expected-error @below {{expected}}
func.func @broken() { %0 = arith.addi %a, %a : i32 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tests with one file, and the judge there."""
    require_tool("mlir-opt-22")
    (tmp_path / "IR").mkdir()
    (tmp_path / "IR" / "a.mlir").write_text(FILE)
    return tmp_path


def test_a_chunk_is_cut_into_its_top_level_ops_with_the_aliases() -> None:
    pieces = list(tool.top_level_pieces(FILE.split("// -----", maxsplit=1)[0]))
    assert [line for line, _ in pieces] == [1, 12]
    assert all("#map = affine_map" in text for _, text in pieces)
    assert "@second" not in pieces[0][1]
    assert pieces[1][1].split("\n")[12].startswith("func.func private @second")


def test_run_lines_with_passes_of_ours_are_taken() -> None:
    assert tool.passes_of("mlir-opt %s -canonicalize='top-down=0' | FileCheck %s") == (
        ("--canonicalize=top-down=0",),
        ("CHECK",),
    )
    assert tool.passes_of("mlir-opt %s -slice-analysis-test | FileCheck %s") is None
    assert tool.passes_of("mlir-opt %s -cse | mlir-opt | FileCheck %s") is None


def test_the_judge_and_our_reading_are_compared(folder: Path) -> None:
    units = list(tool.units_of(folder, folder / "IR" / "a.mlir"))
    outcomes = [tool.run_unit(unit).outcome for unit in units]
    assert outcomes == [tool.SAME, tool.SAME, tool.INVALID_REFUSED]


def test_what_is_claimed_and_refused_is_told_from_what_is_not_declared() -> None:
    require_tool("mlir-opt-22")
    unknown = tool.Unit(
        "x", 1, "func.func @f(%a: index) -> index {\n  %0 = index.add %a, %a\n  return %0 : index\n}\n"
    )
    finding = tool.run_unit(unknown)
    assert (finding.outcome, finding.names) == (tool.REFUSED, ("index.add",))
    accepted = tool.Unit("x", 1, "func.func @f() { return }\n#nobody = 1\n#nobody = 2\n")
    assert tool.run_unit(accepted).outcome == tool.INVALID_REFUSED


def test_an_invalid_unit_is_claimed_if_the_line_of_its_error_names_nothing_unknown() -> None:
    require_tool("mlir-opt-22")
    text = '"test.op"() : () -> ()\nfunc.func private @f() attributes {rocdl.kernel}\n'
    unit = tool.Unit("x", 1, text)
    assert tool.is_claimed(unit, "<stdin>:3:1: error: expected something")
    assert not tool.is_claimed(unit, "<stdin>:2:1: error: 'rocdl.kernel' attribute attached to unexpected op")
    assert not tool.is_claimed(unit, "<stdin>:1:1: error: 'test.op' op is not so")
    assert tool.is_claimed(
        tool.Unit("x", 1, "arith.addi %a"), "<stdin>:1:1: error: 'arith.addi' op is not so"
    )


def test_an_exception_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    require_tool("mlir-opt-22")
    unit = tool.Unit("IR/a.mlir", 1, '"a.b"() <{}> : () -> ()\n', ("--allow-unregistered-dialect",))
    assert tool.run_unit(unit).outcome == tool.DIFFERS
    monkeypatch.setattr(tool, "EXPLAINED", (("IR/a.mlir", "<{}>", "the reason"),))
    finding = tool.run_unit(unit)
    assert finding.outcome == tool.KNOWN
    assert finding.reason.endswith("the reason")


def test_a_section_of_resources_stays_with_its_chunk(folder: Path) -> None:
    file = folder / "IR" / "b.mlir"
    file.write_text("func.func private @f()\nfunc.func private @g()\n\n{-#\n  dialect_resources: {}\n#-}\n")
    (unit,) = tool.units_of(folder, file)
    assert "@g" in unit.text


def test_checks_of_a_function_pass_or_fail(folder: Path) -> None:
    units = list(tool.checked_units_of(folder, folder / "IR" / "a.mlir"))
    assert [tool.run_checked_unit(unit).outcome for unit in units] == [tool.PASSED, tool.PASSED]
    wrong = tool.Unit("x", 1, units[0].text.replace("return %arg0", "arith.muli"), (), units[0].run)
    assert tool.run_checked_unit(wrong).outcome == tool.FAILED


def test_the_table_counts_and_the_status_tells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main([str(folder)]) == 0
    printed = capsys.readouterr().out
    assert tool.SAME in printed
    assert "total" in printed
