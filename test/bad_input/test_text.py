"""Broken text: every case is refused at its position, with what was found and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
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


def test_a_nul_byte_separates_words_as_upstream_has_it(tmp_path: Path) -> None:
    refuse_text(b"func.func @f() {\n  ret\x00urn\n}\n", "bad.mlir:2:3", tmp_path)


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


def test_a_long_number_among_dense_elements(tmp_path: Path) -> None:
    text = f"func.func private @f() attributes {{a = array<i64: {'9' * 5000}>}}\n"
    refuse_text(text, "bad.mlir:1:51: error: number is too long", tmp_path)


def test_a_body_behind_arguments_without_names(tmp_path: Path) -> None:
    refuse_text(
        "func.func @f(i32) {\n  func.return\n}\n",
        "bad.mlir:1:1: .*entry block must have 1 arguments to match function signature",
        tmp_path,
    )


@pytest.mark.parametrize(("kind", "pair"), [("!", "tuple<{0}, {0}>"), ("#", "[{0}, {0}]")])
def test_aliases_that_stand_for_gigabytes(kind: str, pair: str, tmp_path: Path) -> None:
    lines = [f"{kind}a{i} = {pair.format(f'{kind}a{i - 1}')}" for i in range(1, 41)]
    text = "\n".join([f"{kind}a0 = {'i32' if kind == '!' else '1 : i32'}", *lines, ""])
    refuse_text(text, "expands to more than", tmp_path)


def test_a_stride_of_zero_in_the_older_spelling(tmp_path: Path) -> None:
    text = """cuda_tile.module @m {
  cuda_tile.entry @f(%p: !cuda_tile.ptr<f32>, %n: i32) {
    %v = cuda_tile.tensor_view %p, shape = [%n], stride = [0] : !cuda_tile.tensor_view<64xf32>
    cuda_tile.return
  }
}
"""
    refuse_text(text, "bad.mlir:3:.*strictly positive constant strides", tmp_path)
