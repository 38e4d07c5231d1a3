"""The tcgen05 ops of nvvm against upstream of the same release: text, LLVM IR, and errors; and one kernel that runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed

from oracles import require_tool
from tessera_tools import sim
from tessera_tools.cli.translate import run as run_translate
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

PROGRAM = (Path(__file__).parent / "nvvm" / "inputs" / "tcgen05.mlir").read_text()


def run(tool: str, text: str, *options: str) -> str:
    done = subprocess.run(
        [require_tool(tool), "-", *options],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("generic", [False, True])
def test_upstream_reads_our_text_as_the_same_program(generic: bool) -> None:
    ours = print_op(parse_module(PROGRAM, "tcgen05.mlir"), generic=generic)
    assert run("mlir-opt-22", ours) == run("mlir-opt-22", PROGRAM)


def test_we_read_upstreams_text() -> None:
    for options in ((), ("--mlir-print-op-generic",)):
        text = run("mlir-opt-22", PROGRAM, *options)
        assert run("mlir-opt-22", print_op(parse_module(text, "tcgen05.mlir"))) == run("mlir-opt-22", PROGRAM)


def translated(text: str, stage: str) -> str:
    result = run_translate([stage, "--gpu-name=sm_100a"], text.encode())
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode()


def calls(text: str) -> list[str]:
    """The calls of intrinsics, with one name for all values."""
    found = [line.strip() for line in text.splitlines() if "call" in line and "tcgen05" in line]
    return [re.sub(r"%[\w.]+", "%v", line) for line in found]


def test_the_intrinsics_are_those_of_upstream() -> None:
    ours = translated(PROGRAM, "--mlir-to-llvmir")
    wanted = calls(run("mlir-translate-22", PROGRAM, "--mlir-to-llvmir"))
    assert calls(ours) == wanted
    assert len(wanted) == 38


INVALID = [
    ("nvvm.tcgen05.cp %t, %d {shape = #nvvm.tcgen05_cp_shape<shape_64x128b>}", "requires multicast warpx2"),
    ("nvvm.tcgen05.cp %t, %d {shape = #nvvm.tcgen05_cp_shape<shape_32x128b>}", "requires multicast warpx4"),
    (
        "%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<3xi32>",
        "3 registers",
    ),
    ("%0 = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : i32", "offset"),
    (
        "nvvm.tcgen05.mma %t, %d, %d, %n, %e mask = %w {kind = #nvvm.tcgen05_mma_kind<f16>, "
        "ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<8xi32>)",
        "incompatible with CtaGroupAttr",
    ),
    (
        "nvvm.tcgen05.mma.block_scale %t, %d, %d, %n, %e, %t, %t {kind = #nvvm.block_scale_kind<mxf4nvf4>, "
        "ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)",
        "requires block scale",
    ),
    (
        "nvvm.tcgen05.mma.sp %t, %d, %d, %n, %e, %t {aShift, kind = #nvvm.tcgen05_mma_kind<f16>, "
        "ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)",
        "needs A in tensor memory",
    ),
    (
        "nvvm.tcgen05.mma.sp.block_scale %t, %d, %d, %n, %e, %t, %t, %t {kind = #nvvm.block_scale_kind<mxf4>, "
        "ctaGroup = #nvvm.cta_group<cta_1>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>} "
        ": (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>, !llvm.ptr<6>)",
        "block16",
    ),
]


@pytest.mark.parametrize(("op", "message"), INVALID)
def test_invalid_ops_are_refused_here_and_upstream(op: str, message: str) -> None:
    arguments = "%t: !llvm.ptr<6>, %n: i32, %d: i64, %e: i1, %w: vector<8xi32>"
    text = f"llvm.func @f({arguments}) {{\n  {op}\n  llvm.return\n}}\n"
    with pytest.raises(DiagnosticError, match=message) as caught:
        verify_or_raise(parse_module(text, "f.mlir"))
    assert "f.mlir:2:" in str(caught.value)
    upstream = subprocess.run(
        [require_tool("mlir-opt-22"), "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert upstream.returncode != 0


DESCRIPTOR = """
llvm.func @k(%out: !llvm.ptr<1>, %start: i32, %leading: i32, %stride: i32) attributes {nvvm.kernel} {
  %base = llvm.mlir.constant(5 : i8) : i8
  %mode = llvm.mlir.constant(false) : i1
  %swizzle = llvm.mlir.constant(2 : i8) : i8
  %d = nvvm.tcgen05.mma_smem_desc (%start, %leading, %stride, %base, %mode, %swizzle)
    : (i32, i32, i32, i8, i1, i8) -> i64
  llvm.store %d, %out : i64, !llvm.ptr<1>
  llvm.return
}
"""


def test_a_descriptor_is_packed_from_its_fields() -> None:
    """As PTX defines it: 14 bits of each address and offset, 1 in bits 46 to 48, the base, the mode, the swizzle."""
    ours = print_op(parse_module(DESCRIPTOR, "k.mlir"))
    assert run("mlir-opt-22", ours) == run("mlir-opt-22", DESCRIPTOR)
    module = sim.load(translated(DESCRIPTOR, "--mlir-to-ptx"), file="k.ptx")
    out = module.memory.allocate(np.zeros(1, np.uint64), "out")
    start, leading, stride = (int(n) for n in np.random.default_rng(fresh_seed()).integers(0, 1 << 16, 3))
    module.launch("k", (1,), (1,), [out, start, leading, stride])
    low = 0x3FFF
    fields = (start & low) | (leading & low) << 16 | (stride & low) << 32
    assert int(out.array()[0]) == fields | 1 << 46 | 5 << 49 | 2 << 61


KERNEL = """
llvm.mlir.global internal @place() {addr_space = 3 : i32, alignment = 4 : i64} : i32
llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
  %place = llvm.mlir.addressof @place : !llvm.ptr<3>
  %columns = llvm.mlir.constant(32 : i32) : i32
  nvvm.tcgen05.alloc %place, %columns : !llvm.ptr<3>, i32
  nvvm.tcgen05.relinquish_alloc_permit
  nvvm.barrier0
  %a = llvm.load %place : !llvm.ptr<3> -> i32
  %t = llvm.inttoptr %a : i32 to !llvm.ptr<6>
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %at = llvm.getelementptr %p[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
  %v = llvm.load %at : !llvm.ptr<1> -> vector<4xi32>
  nvvm.tcgen05.st %t, %v {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  nvvm.tcgen05.wait <store>
  %r = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : vector<2xi32>
  nvvm.tcgen05.wait <load>
  llvm.store %r, %at : vector<2xi32>, !llvm.ptr<1>
  nvvm.tcgen05.dealloc %t, %columns : !llvm.ptr<6>, i32
  llvm.return
}
"""


def test_a_kernel_compiles_and_runs() -> None:
    done = translated(KERNEL, "--mlir-to-ptx")
    words = np.arange(128, dtype=np.uint32).reshape(32, 4)
    module = sim.load(done, file="k.ptx")
    held = module.memory.allocate(words, "words")
    result = module.launch("k", (1,), (32,), [held])
    errors = [finding for finding in result.findings if finding.severity == "error"]
    assert not errors, result.findings.text("k.ptx")
    found = held.array()
    for thread in range(32):
        lane, first = thread // 4 + 8 * (thread & 1), thread >> 1 & 1
        assert found[thread, 0] == words[lane, first]
        assert found[thread, 1] == words[lane, first + 2]
