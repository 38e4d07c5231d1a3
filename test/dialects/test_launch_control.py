"""The ops of nvvm for cluster launch control against upstream of the same release; and one kernel that runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from oracles import require_tool
from tessera_tools import sim
from tessera_tools.cli.translate import run as run_translate
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify_or_raise
from tessera_tools.parser import parse_module

PROGRAM = (Path(__file__).parent / "nvvm" / "inputs" / "launch_control.mlir").read_text()


def run(tool: str, text: str, *options: str) -> str:
    done = subprocess.run(
        [require_tool(tool), "-", *options],
        input=text, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def translated(text: str, stage: str) -> str:
    result = run_translate([stage, "--gpu-name=sm_100a"], text.encode())
    assert result.exit_code == 0, result.stderr.decode()
    return result.stdout.decode()


@pytest.mark.parametrize("generic", [False, True])
def test_upstream_reads_our_text_as_the_same_program(generic: bool) -> None:
    ours = print_op(parse_module(PROGRAM, "cancel.mlir"), generic=generic)
    assert run("mlir-opt-22", ours) == run("mlir-opt-22", PROGRAM)


@pytest.mark.parametrize("options", [(), ("--mlir-print-op-generic",)])
def test_we_read_upstreams_text(options: tuple[str, ...]) -> None:
    text = run("mlir-opt-22", PROGRAM, *options)
    assert run("mlir-opt-22", print_op(parse_module(text, "cancel.mlir"))) == run("mlir-opt-22", PROGRAM)


def test_the_intrinsics_are_those_of_upstream() -> None:
    def called(text: str) -> list[str]:
        return re.findall(r"call (?:void|i1|i32) @(llvm\.nvvm\.clusterlaunchcontrol[\w.]+)\(", text)

    wanted = called(run("mlir-translate-22", PROGRAM, "--mlir-to-llvmir"))
    assert called(translated(PROGRAM, "--mlir-to-llvmir")) == wanted
    assert len(wanted) == 6


@pytest.mark.parametrize(("query", "type"), [("is_canceled", "i32"), ("get_first_cta_id_y", "i1")])
def test_a_query_has_the_type_of_its_answer(query: str, type: str) -> None:
    op = f"%q = nvvm.clusterlaunchcontrol.query.cancel query = {query}, %r : {type}"
    text = f"llvm.func @f(%r: i128) {{\n  {op}\n  llvm.return\n}}\n"
    with pytest.raises(DiagnosticError, match=f"f.mlir:2:.*{query} query type returns an i"):
        verify_or_raise(parse_module(text, "f.mlir"))
    done = subprocess.run(
        [require_tool("mlir-opt-22"), "-"],
        input=text, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "query type" in done.stderr


KERNEL = """
llvm.mlir.global internal @answer() {addr_space = 3 : i32, alignment = 16 : i64} : i128
llvm.mlir.global internal @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : i64
llvm.func @k(%out: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 1, 1, 1>} {
  %answer = llvm.mlir.addressof @answer : !llvm.ptr<3>
  %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
  %one = llvm.mlir.constant(1 : i32) : i32
  %bytes = llvm.mlir.constant(16 : i32) : i32
  %phase = llvm.mlir.constant(0 : i32) : i32
  %ticks = llvm.mlir.constant(1000000 : i32) : i32
  nvvm.mbarrier.init %barrier, %one : !llvm.ptr<3>, i32
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
  nvvm.clusterlaunchcontrol.try.cancel %answer, %barrier
  nvvm.mbarrier.try_wait.parity %barrier, %phase, %ticks : !llvm.ptr<3>, i32, i32
  %r = llvm.load %answer : !llvm.ptr<3> -> i128
  %c = nvvm.clusterlaunchcontrol.query.cancel query = is_canceled, %r : i1
  %x = nvvm.clusterlaunchcontrol.query.cancel query = get_first_cta_id_x, %r : i32
  %none = llvm.mlir.constant(-1 : i32) : i32
  %found = llvm.select %c, %x, %none : i1, i32
  %me = nvvm.read.ptx.sreg.ctaid.x : i32
  %at = llvm.getelementptr %out[%me] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %found, %at : i32, !llvm.ptr<1>
  llvm.return
}
"""


def test_a_cta_takes_the_place_of_one_that_has_not_begun() -> None:
    """Each CTA runs itself, or another one has taken its place; none takes a place twice."""
    module = sim.load(translated(KERNEL, "--mlir-to-ptx"), file="k.ptx")
    out = module.memory.allocate(np.full(8, -2, np.int32), "out")
    result = module.launch("k", (8,), (1,), [out])
    assert not result.findings, result.findings.text("k.ptx")
    found = out.array()
    taken = found[found >= 0]
    assert len(taken) and len(set(taken)) == len(taken)
    assert sorted(taken) == list(np.flatnonzero(found == -2))
