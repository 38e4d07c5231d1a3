"""The kernels of the slice against other people's tools: upstream MLIR, LLVM, ptxas, and the disassembler's view."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest
from run_cache import once_in_a_run

from oracles import require_tool
from tessera_tools.emit.driver import Compiled, Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup

ROOT = Path(__file__).parents[2]
KERNELS = {
    "vector_add_f32": "test/corpus/vector_add_f32.mlir",
    "gemm_f16_64x64x32": "test/corpus/gemm_f16_64x64x32.mlir",
    "gemm_f16_128x256x64": "test/corpus/gemm_f16_128x256x64.mlir",
    "gemm_nt_bias_f16_128x128x64": "test/corpus/gemm_nt_bias_f16_128x128x64.mlir",
    "stage1": "examples/gemm_stage1.mlir",
}
TARGETS = ("sm_80", "sm_90a", "sm_120a")
GEMMS = tuple(name for name in KERNELS if name != "vector_add_f32")
ALIGNED = tuple(name for name in GEMMS if name != "stage1")
"""The kernels that promise alignment."""


@once_in_a_run
def compiled(name: str, target: str) -> Compiled:
    """A kernel's SASS, and the stages that are IR."""
    ptxas = require_tool("ptxas")
    require_tool("nvdisasm")
    path = KERNELS[name]
    module = parse_module((ROOT / path).read_text(), path)
    return compile_module(module, Options(lookup(target), until="sass", ptxas=ptxas, keep_stages=True))


@functools.cache
def sass(name: str, target: str) -> str:
    """The instructions of a kernel."""
    return compiled(name, target).text("sass")


def _has_agents(name: str, target: str) -> bool:
    """True if a kernel is made of TMA and wgmma."""
    return target == "sm_90a" and name in ALIGNED


def _has_wgmma(name: str, target: str) -> bool:
    """True if a kernel is made of wgmma; the threads of a producer load what TMA cannot."""
    return target == "sm_90a" and name in GEMMS


@functools.cache
def translated(name: str) -> str:
    """The llvm stage as upstream turns it into LLVM IR; some nvvm ops become inline assembly first."""
    text = compiled(name, "sm_90a").text("llvm")
    for tool, option in (
        ("mlir-opt-22", "--convert-nvvm-to-llvm"),
        ("mlir-translate-22", "--mlir-to-llvmir"),
    ):
        command = [require_tool(tool), option]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        text = done.stdout
    return text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_upstream_accepts_the_llvm_stage(name: str, target: str) -> None:
    tool = require_tool("mlir-opt-22")
    text = compiled(name, target).text("llvm")
    done = subprocess.run([tool], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.parametrize("name", KERNELS)
def test_upstream_translates_the_llvm_stage(name: str) -> None:
    assert f"define ptx_kernel void @{'gemm' if name == 'stage1' else name}(" in translated(name)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_ptxas_has_nothing_to_say_and_spills_nothing(name: str, target: str) -> None:
    made = compiled(name, target)
    assert made.warnings == []
    assert made.report is not None
    for kernel, resources in made.report.entries.items():
        print(f"{kernel} {target}: {resources.registers} registers")
        assert (resources.spill_stores, resources.spill_loads) == (0, 0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", GEMMS)
def test_products_use_tensor_cores(name: str, target: str) -> None:
    instruction = r"\bHGMMA\.64x\d+x16\.F32" if _has_wgmma(name, target) else r"\bHMMA\.16816\.F32"
    assert re.search(instruction, sass(name, target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ALIGNED)
def test_operands_are_copied_asynchronously_16_bytes_at_a_time(name: str, target: str) -> None:
    copies = re.findall(r"\bLDGSTS\S*", sass(name, target))
    if _has_agents(name, target):
        assert re.search(r"\bUTMALDG\.2D", sass(name, target))
        assert not copies
    else:
        assert copies
        assert all("128" in copy for copy in copies)


@pytest.mark.parametrize(("name", "target"), [(n, t) for n in GEMMS for t in TARGETS if not _has_wgmma(n, t)])
def test_fragments_are_read_as_matrices(name: str, target: str) -> None:
    assert re.search(r"\bLDSM\.16\.M88\.4", sass(name, target)) or re.search(
        r"\bLDSM\S*\.4\b", sass(name, target)
    )


@pytest.mark.parametrize("target", TARGETS)
def test_aligned_vectors_move_16_bytes_at_a_time(target: str) -> None:
    accesses = re.findall(r"\b(?:LDG|STG)\.\S*", sass("vector_add_f32", target))
    assert len(accesses) == 6
    assert all(".128" in access for access in accesses)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["gemm_f16_64x64x32", "gemm_f16_128x256x64"])
def test_results_in_f16_are_stored_16_bytes_at_a_time(name: str, target: str) -> None:
    stores = re.findall(r"\bSTG\.\S*", sass(name, target))
    if _has_agents(name, target):
        # By TMA, out of shared memory, where stmatrix puts them.
        assert not stores
        assert re.search(r"\bUTMASTG\b", sass(name, target)) and re.search(r"\bSTSM\b", sass(name, target))
    else:
        assert stores
        assert all(".128" in store for store in stores)
