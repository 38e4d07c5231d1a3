"""LLVM IR to PTX and MIR for a target, and on to a cubin with the real ptxas."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from emit.kernels import VECTOR_ADD, gemm

from oracles import require_tool
from tessera_tools.emit.errors import ToolError
from tessera_tools.emit.llvm import MOST_LOOPS, choose_ptx_version, compile_ir, emit_mir, most_loops, ptx_text
from tessera_tools.emit.ptxas import Ptxas
from tessera_tools.emit.sass import Nvdisasm, opcodes
from tessera_tools.emit.worker import LlvmInfo, Worker
from tessera_tools.target import lookup, targets

CPUS = tuple(target.cpu for target in targets() if target.stand_in is None)
LLVM = LlvmInfo((22, 1, 0), CPUS, (70, 80, 83, 88, 90), 0.0)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker.start() as started:
        yield started


@pytest.mark.parametrize(
    ("gpu", "ptxas_max", "chosen"),
    [
        ("sm_80", None, 90),
        ("sm_80", 95, 90),
        ("sm_80", 84, 83),
        ("sm_90", 80, 80),
        ("sm_110", 90, 90),
        ("sm_107", 95, 94),
    ],
)
def test_the_newest_common_ptx_version_is_chosen(gpu: str, ptxas_max: int | None, chosen: int):
    assert choose_ptx_version(LLVM, lookup(gpu), ptxas_max) == chosen


def test_a_ptxas_too_old_for_the_target_is_refused():
    with pytest.raises(
        ToolError, match=r"this ptxas supports at most PTX 8\.7; 'sm_103' needs PTX 8\.8"
    ) as caught:
        choose_ptx_version(LLVM, lookup("sm_103"), 87)
    assert caught.value.hint == "pip install --upgrade nvidia-cuda-nvcc"


def test_a_ptxas_too_old_for_a_target_that_llvm_does_not_know_is_refused():
    with pytest.raises(ToolError, match=r"this ptxas supports at most PTX 9\.0; 'sm_107' needs PTX 9\.4"):
        choose_ptx_version(LLVM, lookup("sm_107"), 90)


def test_an_llvm_that_knows_the_target_needs_no_stand_in():
    newer = LlvmInfo((24, 1, 0), (*CPUS, "sm_107a"), (90, 94, 95), 0.0)
    assert choose_ptx_version(newer, lookup("sm_107"), None) == 95


def test_the_ptx_of_a_stand_in_names_the_target_and_is_otherwise_the_same(worker: Worker):
    rubin, older = (
        compile_ir(worker, gemm(2, 4, 2, copies=2), lookup(gpu), ptx_version=version).texts["ptx"]
        for gpu, version in (("sm_107", 94), ("sm_103", 90))
    )
    assert ".version 9.4\n.target sm_107a\n" in rubin
    assert rubin.replace(".version 9.4\n.target sm_107a", ".version 9.0\n.target sm_103a") == older


def test_the_machine_ir_of_a_stand_in_is_emitted():
    reply = emit_mir(VECTOR_ADD, lookup("sm_107"), ptx_version=94)
    assert "name:            vector_add" in reply.texts["mir"]


def test_an_llvm_too_old_for_the_target_is_refused():
    old = LlvmInfo((19, 1, 0), LLVM.cpus, (70, 80, 85), 0.0)
    with pytest.raises(ToolError, match=r"this LLVM emits at most PTX 8\.5; 'sm_100' needs 8\.6"):
        choose_ptx_version(old, lookup("sm_100"), 90)


def test_an_llvm_without_the_target_is_refused():
    with pytest.raises(ToolError, match=r"LLVM 18\.1\.0 does not know the GPU 'sm_100a'"):
        choose_ptx_version(LlvmInfo((18, 1, 0), ("sm_80",), (70,), 0.0), lookup("sm_100"))


def test_this_llvm_knows_every_target_and_a_ptx_version_for_it(worker: Worker):
    for target in targets():
        assert choose_ptx_version(worker.info(), target) >= target.min_ptx


def test_a_pipeline_must_be_one_of_ours(worker: Worker):
    with pytest.raises(ValueError, match="there is no LLVM pipeline named 'x'"):
        compile_ir(worker, VECTOR_ADD, lookup("sm_80"), ptx_version=90, pipeline="x")


@pytest.mark.parametrize("gpu", [target.name for target in targets()])
@pytest.mark.parametrize("kernel", ["vector_add", "gemm"])
def test_a_kernel_compiles_through_to_sass(worker: Worker, gpu: str, kernel: str):
    ptxas, nvdisasm = Ptxas(require_tool("ptxas")), Nvdisasm(require_tool("nvdisasm"))
    target = lookup(gpu)
    ir = VECTOR_ADD if kernel == "vector_add" else gemm(2, 4, 2, copies=2)
    version = choose_ptx_version(worker.info(), target, ptxas.max_ptx)
    ptx = compile_ir(worker, ir, target, ptx_version=version).texts["ptx"]
    assert f".version {ptx_text(version)}\n.target {target.cpu}\n" in ptx
    assembled = ptxas.assemble(ptx, arch=target.ptx_target)
    assert assembled.warnings == []
    used = assembled.report.entries[kernel]
    assert used.registers > 0
    assert not used.spills
    counts = opcodes(nvdisasm.disassemble(assembled.cubin))
    if kernel == "gemm":
        assert counts["HMMA"] == 16
        assert counts["LDGSTS"] >= 2
        assert counts["LDSM"] == 8
    else:
        assert (counts["LDG"], counts["STG"]) == (2, 1)


@pytest.mark.parametrize("pipeline", ["tile", "llvm"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_every_level_and_pipeline_makes_ptx_that_ptxas_takes(worker: Worker, pipeline: str, level: int):
    ptxas = Ptxas(require_tool("ptxas"))
    reply = compile_ir(
        worker, gemm(1, 2, 1, copies=1), lookup("sm_80"), ptx_version=80, level=level, pipeline=pipeline
    )
    assert ptxas.assemble(reply.texts["ptx"], arch="sm_80", level=level).report.entries["gemm"]


def test_mir_is_llvms_own():
    mir = emit_mir(VECTOR_ADD, lookup("sm_90"), ptx_version=90).texts["mir"]
    assert mir.startswith("--- |\n  ; ModuleID")
    assert "\nname:            vector_add\n" in mir
    assert ":b32 = INT_PTX_SREG_TID_x\n" in mir
    assert mir.endswith("Return\n...\n")


@pytest.mark.parametrize("stop_after", ["finalize-isel", "register-coalescer"])
def test_mir_is_what_llc_prints_for_the_same_ir(worker: Worker, tmp_path: Path, stop_after: str):
    llc = require_tool("llc-22")
    target = lookup("sm_90")
    optimized = compile_ir(worker, gemm(2, 4, 2), target, ptx_version=90, want=("llvm",)).texts["llvm"]
    (tmp_path / "k.ll").write_text(optimized)
    options = [f"-mcpu={target.cpu}", "-mattr=+ptx90", "-O3", f"-stop-after={stop_after}"]
    theirs = subprocess.run(
        [llc, *options, str(tmp_path / "k.ll"), "-o", "-"],
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    ).stdout
    ours = emit_mir(gemm(2, 4, 2), target, ptx_version=90, stop_after=stop_after).texts["mir"]
    # Before the machine functions stands the LLVM IR, in which llc adds the processor to the attributes.
    assert ours[ours.index("\n---\n") :] == theirs[theirs.index("\n---\n") :]


def test_mir_of_every_function_is_there_and_nothing_of_the_helper():
    two = VECTOR_ADD + "define ptx_kernel void @second() {\n  ret void\n}\n"
    mir = emit_mir(two, lookup("sm_80"), ptx_version=80).texts["mir"]
    assert [line.split()[1] for line in mir.splitlines() if line.startswith("name:")] == [
        "vector_add",
        "second",
    ]
    assert "tessera_held" not in mir


@pytest.mark.parametrize("stop_after", ["nvptx-isel", "machine-sink", "register-coalescer", "prologepilog"])
def test_mir_stops_after_the_pass_asked_for(stop_after: str):
    mir = emit_mir(VECTOR_ADD, lookup("sm_80"), ptx_version=80, stop_after=stop_after).texts["mir"]
    in_ssa = "isSSA:           true" in mir
    assert in_ssa == (stop_after in ("nvptx-isel", "machine-sink"))


def test_mir_of_a_large_kernel_comes_whole():
    mir = emit_mir(gemm(), lookup("sm_80"), ptx_version=80).texts["mir"]
    # LLVM 22 has no names for the 128 mma.sync and 32 ldmatrix: TableGen numbers them.
    assert mir.count("= anonymous_") == 128 + 32


def test_an_unknown_pass_is_refused():
    with pytest.raises(ToolError, match="LLVM's code generator has no pass 'nope'") as caught:
        emit_mir(VECTOR_ADD, lookup("sm_80"), ptx_version=80, stop_after="nope")
    assert caught.value.hint == "use a name that llc -stop-after= accepts, such as 'finalize-isel'"


def test_broken_ir_is_refused_for_mir_as_for_ptx():
    with pytest.raises(ToolError) as caught:
        emit_mir("define void @k() {\n  ret i32\n}", lookup("sm_80"), ptx_version=80)
    assert caught.value.line == 3


def test_locations_reach_the_ptx_without_turning_optimization_off(worker: Worker):
    ptx = compile_ir(worker, gemm(1, 2, 1, copies=1, locations=True), lookup("sm_90"), ptx_version=90).texts[
        "ptx"
    ]
    # `.target sm_90a, debug` would make ptxas compile as for -G.
    assert ".target sm_90a\n" in ptx
    assert '.file\t1 "/src/gemm.mlir"' in ptx
    assert ".loc\t1 1" in ptx


def loops_in_a_row(count: int) -> str:
    """LLVM IR of a kernel with so many loops, one after the other."""
    blocks = ["entry:\n  br label %head0"]
    for i in range(count):
        before = f"exit{i - 1}" if i else "entry"
        blocks.append(
            f"head{i}:\n  %i{i} = phi i32 [ 0, %{before} ], [ %next{i}, %body{i} ]\n"
            f"  %more{i} = icmp slt i32 %i{i}, %n\n  br i1 %more{i}, label %body{i}, label %exit{i}"
        )
        blocks.append(
            f"body{i}:\n  store volatile i32 %i{i}, ptr addrspace(1) %p\n  %next{i} = add i32 %i{i}, 1\n"
            f"  br label %head{i}"
        )
        blocks.append(f"exit{i}:\n  br label %" + (f"head{i + 1}" if i + 1 < count else "end"))
    text = "\n".join(blocks)
    return f"define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{\n{text}\nend:\n  ret void\n}}\n"


@pytest.mark.parametrize(("count", "warned"), [(50, False), (MOST_LOOPS + 1, True)])
def test_many_loops_in_a_row_are_compiled_without_optimization(worker: Worker, count: int, warned: bool):
    ir = loops_in_a_row(count)
    reply = compile_ir(worker, ir, lookup("sm_80"), ptx_version=80)
    assert (f"a function has {count} loops" in " ".join(reply.warnings)) is warned
    assert reply.texts["ptx"].count("st.volatile.global") == count


def test_loops_beside_wgmma_are_optimized_and_the_error_of_the_time_limit_tells_them():
    """Without optimization, its registers would be copied while it writes them."""
    ir = "; wgmma.mma_async\n" + loops_in_a_row(800)
    with Worker.start(time_limit=2.0) as worker, pytest.raises(ToolError) as caught:
        compile_ir(worker, ir, lookup("sm_90a"), ptx_version=80)
    assert "grows with the cube of the 800 loops of a function" in caught.value.message
    assert caught.value.hint == "use fewer loops beside wgmma and tcgen05; --llvm-timeout sets the limit"


def test_loops_are_counted_by_function():
    ir = loops_in_a_row(150)
    assert most_loops(ir + ir.replace("@k(", "@l(")) == 150
    assert most_loops(loops_in_a_row(3)) == 0  # too few branches to look
