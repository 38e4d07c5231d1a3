"""Broken text: every case is refused at its position, with what was found and what to do."""

from __future__ import annotations

from pathlib import Path

from refusal import refuse_text, run

FUNCTION = "func.func @f(%a: i32, %b: i64) {\n  BODY\n  func.return\n}\n"


def body(text: str) -> str:
    return FUNCTION.replace("BODY", text)


def test_unknown_op_with_a_suggestion(tmp_path: Path) -> None:
    refuse_text(
        body("%0 = arith.adddi %a, %a : i32"), "bad.mlir:2:.*arith.adddi[\\s\\S]*arith.addi", tmp_path
    )


def test_unknown_dialect(tmp_path: Path) -> None:
    refuse_text(body("%0 = nowhere.op %a : i32"), "bad.mlir:2:.*nowhere", tmp_path)


def test_unknown_dialect_in_generic_form(tmp_path: Path) -> None:
    refuse_text(body('"nowhere.op"() : () -> ()'), "allow-unregistered-dialect", tmp_path)


def test_type_mismatch(tmp_path: Path) -> None:
    refuse_text(body("%0 = arith.addi %a, %b : i32"), "bad.mlir:2:.*i64", tmp_path)


def test_undefined_value(tmp_path: Path) -> None:
    refuse_text(body("%0 = arith.addi %a, %c : i32"), "bad.mlir:2:.*%c", tmp_path)


def test_redefined_value(tmp_path: Path) -> None:
    refuse_text(body("%a = arith.addi %a, %a : i32"), "bad.mlir:2:.*%a", tmp_path)


def test_use_not_dominated_by_its_definition(tmp_path: Path) -> None:
    text = body("%0 = arith.addi %1, %1 : i32\n  %1 = arith.addi %a, %a : i32")
    refuse_text(text, "bad.mlir:2:.*dominate", tmp_path)


def test_region_never_closed(tmp_path: Path) -> None:
    refuse_text("func.func @f() {\n  func.return\n", "bad.mlir:3:1.*'}'", tmp_path)


def test_region_closed_twice(tmp_path: Path) -> None:
    refuse_text("func.func @f() {\n  func.return\n}\n}\n", "bad.mlir:4:1", tmp_path)


def test_invalid_utf8(tmp_path: Path) -> None:
    refuse_text(b"func.func @f() {\n  \xff\xfe\n}\n", "bad.mlir:2:3.*UTF-8", tmp_path)


def test_nul_byte(tmp_path: Path) -> None:
    refuse_text(b"func.func @f() {\n  \x00\n}\n", "bad.mlir:2:3", tmp_path)


def test_unfinished_string(tmp_path: Path) -> None:
    refuse_text('func.func @f() attributes {a = "open\n} {\n func.return\n}\n', "bad.mlir:1:", tmp_path)


def test_several_errors_are_reported_together(tmp_path: Path) -> None:
    text = body("%0 = arith.addi %c, %a : i32\n  %1 = arith.addi %d, %a : i32")
    refuse_text(text, "bad.mlir:2:[\\s\\S]*bad.mlir:3:", tmp_path)


def test_truncation_at_every_byte(tmp_path: Path) -> None:
    text = body('%0 = "arith.addi"(%a, %a) <{x = dense<[1, 2]> : tensor<2xi32>}> : (i32, i32) -> i32')
    source = tmp_path / "cut.mlir"
    for length in range(len(text)):
        source.write_text(text[:length])
        result = run("tessera-opt", "cut.mlir", cwd=tmp_path)
        assert result.exit_code == 0 or b"cut.mlir:" in result.stderr, text[:length]
