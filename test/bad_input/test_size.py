"""Large and deep input: done, or refused in order; never a crash of the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusal import refuse_text, run


def test_an_empty_file_is_an_empty_module(tmp_path: Path) -> None:
    (tmp_path / "empty.mlir").write_bytes(b"")
    result = run("tessera-opt", "empty.mlir", cwd=tmp_path)
    assert result.exit_code == 0
    assert result.stdout.split() == [b"module", b"{", b"}"]


def test_100000_ops_in_one_block(tmp_path: Path) -> None:
    lines = ["func.func @f(%v0: i32) -> i32 {"]
    lines += [f"  %v{i} = arith.addi %v{i - 1}, %v0 : i32" for i in range(1, 100_001)]
    lines += ["  func.return %v100000 : i32", "}", ""]
    (tmp_path / "long.mlir").write_text("\n".join(lines))
    result = run("tessera-opt", "long.mlir", cwd=tmp_path)
    assert result.exit_code == 0, result.stderr[:2000]
    assert result.stdout.count(b"arith.addi") == 100_000


def test_5000_nested_regions(tmp_path: Path) -> None:
    text = '"test.op"() ({\n' * 5000 + "}) : () -> ()\n" * 5000
    (tmp_path / "deep.mlir").write_text(text)
    result = run("tessera-opt", "--allow-unregistered-dialect", "deep.mlir", cwd=tmp_path)
    assert result.exit_code == 0 or b"deep.mlir:" in result.stderr


def test_5000_nested_regions_of_a_known_op(tmp_path: Path) -> None:
    text = "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * 5000 + "}\n" * 5000 + "func.return\n}\n"
    (tmp_path / "deep.mlir").write_text(text)
    result = run("tessera-opt", "deep.mlir", "--canonicalize", "--cse", cwd=tmp_path)
    assert result.exit_code == 0 or b"deep.mlir:" in result.stderr


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a = ", "}"), ("tuple<", ">")])
def test_a_deeply_nested_attribute_or_type(opening: str, closing: str, tmp_path: Path) -> None:
    inner = "i32" if opening == "tuple<" else "1"
    text = f"module attributes {{x = {opening * 20_000}{inner}{closing * 20_000}}} {{}}\n"
    (tmp_path / "deep.mlir").write_text(text)
    result = run("tessera-opt", "deep.mlir", cwd=tmp_path)
    assert result.exit_code == 0 or b"deep.mlir:1:" in result.stderr


def test_nesting_that_never_closes(tmp_path: Path) -> None:
    refuse_text("module attributes {x = " + "[" * 50_000, "bad.mlir:1:", tmp_path)


def test_a_10_megabyte_string_attribute(tmp_path: Path) -> None:
    (tmp_path / "wide.mlir").write_text(f'module attributes {{test.x = "{"a" * 10_000_000}"}} {{}}\n')
    result = run("tessera-opt", "wide.mlir", cwd=tmp_path)
    assert result.exit_code == 0, result.stderr[:2000]
    assert len(result.stdout) > 10_000_000


def test_a_10_megabyte_dense_hex_attribute(tmp_path: Path) -> None:
    count = 1_250_000
    text = f'module attributes {{test.x = dense<"0x{"3F" * (4 * count)}"> : tensor<{count}xf32>}} {{}}\n'
    (tmp_path / "wide.mlir").write_text(text)
    assert run("tessera-opt", "wide.mlir", cwd=tmp_path).exit_code == 0


def test_a_long_error_line_is_shortened(tmp_path: Path) -> None:
    (tmp_path / "wide.mlir").write_text(f'module attributes {{test.x = "{"a" * 1_000_000}", y = }} {{}}\n')
    result = run("tessera-opt", "wide.mlir", cwd=tmp_path)
    assert result.exit_code == 1
    assert len(result.stderr) < 5000


def test_a_chain_of_10000_blocks(tmp_path: Path) -> None:
    chain = "".join(f"  cf.br ^bb{i}\n^bb{i}:\n" for i in range(1, 10_001))
    (tmp_path / "chain.mlir").write_text(f"func.func @f() {{\n{chain}  func.return\n}}\n")
    result = run("tessera-opt", "--canonicalize", "chain.mlir", cwd=tmp_path)
    assert result.exit_code == 0, result.stderr[:2000]
    assert b"cf.br" not in result.stdout
