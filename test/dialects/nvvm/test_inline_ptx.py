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


LOADS = {
    "box[%x, %x]": "2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$2,$3} ], [$4]",
    "box[%x] multicast_mask = %m": (
        "1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1, {$2} ], [$3], $4"
    ),
    "box[%x] l2_cache_hint = %c": (
        "1d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1, {$2} ], [$3], $4"
    ),
    "box[%x, %x, %x] im2col[%m] multicast_mask = %m l2_cache_hint = %c": (
        "3d.shared::cluster.global.mbarrier::complete_tx::bytes.im2col.multicast::cluster.L2::cache_hint "
        "[$0], [$1, {$2,$3,$4} ], [$5],{$6}, $7, $8"
    ),
}


@pytest.mark.parametrize("operands", LOADS)
def test_a_tma_load_under_a_predicate_is_inline_ptx(operands: str) -> None:
    mode = " {mode = #nvvm.tma_load_mode<im2col>}" if "im2col" in operands else ""
    text = f"""llvm.func @f(%d: !llvm.ptr<7>, %t: !llvm.ptr, %b: !llvm.ptr<3>, %x: i32, %m: i16, %c: i64, %p: i1) {{
  nvvm.cp.async.bulk.tensor.shared.cluster.global %d, %t, %b, {operands} predicate = %p{mode} : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}}
"""
    done = translate(["--mlir-to-llvmir", "-"], text.encode())
    assert done.exit_code == 0, done.stderr.decode()
    assert f"cp.async.bulk.tensor.{LOADS[operands]}" in done.stdout.decode()
