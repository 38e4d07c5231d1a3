"""Inline PTX that LLVM IR cannot hold is refused when translated."""

from __future__ import annotations

import pytest

from tessera_tools.cli.translate import run as translate


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ['%0 = nvvm.inline_ptx "add.s32 {$w0}, {$rw0}, 1;" rw(%a : i32) -> i32', "llvm.return %0 : i32"],
            "2:8: error: 'nvvm.inline_ptx' op cannot have both results and operands that are read and written",
        ),
        (
            [
                'nvvm.inline_ptx "add.s32 {$rw0}, {$rw0}, 1;" rw(%a : i32)',
                "llvm.br ^bb1",
                "^bb1:",
                "llvm.return %a : i32",
            ],
            "2:3: error: 'nvvm.inline_ptx' op changes an operand that another block uses; pass the value through a "
            "result",
        ),
    ],
    ids=["results", "another-block"],
)
def test_operands_that_are_read_and_written(lines: list[str], message: str) -> None:
    body = "\n  ".join(lines)
    done = translate(["--mlir-to-llvmir", "-"], f"llvm.func @f(%a: i32) -> i32 {{\n  {body}\n}}\n".encode())
    assert done.exit_code == 1
    assert f"{message}\n" in done.stderr.decode()
