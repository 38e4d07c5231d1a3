"""`--tile-analyze`: the numbers of the listing, JSON for programs, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tile.kernels import EXAMPLES, example

from oracles import require_tool
from tessera_tools.cli.opt import run
from tessera_tools.emit.driver import Options, compile_module
from tessera_tools.parser import parse_module
from tessera_tools.target import lookup, occupancy

KEYS = {
    "kernel", "target", "threads_per_block", "shared_memory", "registers_per_thread", "tensor_cores", "async_copies",
    "row_reductions", "barriers", "requires_high_precision", "flops_per_byte", "opportunities", "target_features",
    "occupancy", "strategy",
}  # fmt: skip


def analyzed(name: str, tmp_path: Path, **options: str) -> dict[str, Any]:
    """The report of the one kernel of an example."""
    file = tmp_path / "report.json"
    given = " ".join([f"format=json output={file}", *(f"{k}={v}" for k, v in options.items())])
    source = str(EXAMPLES / f"{name}.mlir")
    result = run([source, "--implicit-index-constants", f"--tile-analyze={given}"], b"", None)
    assert result.exit_code == 0, result.stderr.decode()
    (found,) = json.loads(file.read_text())
    return found


@pytest.mark.parametrize("name", ["attention", "gemm_tile", "softmax"])
def test_occupancy_is_that_of_what_ptxas_makes(name: str, tmp_path: Path) -> None:
    ptxas = require_tool("ptxas")
    found = analyzed(name, tmp_path, arch="sm_90")
    module = parse_module(example(name), name, implicit_index_constants=True)
    made = compile_module(module, Options(lookup("sm_90a"), ptxas=ptxas))
    assert made.report is not None and made.manifest is not None
    (used,) = made.report.entries.values()
    (kernel,) = made.manifest.kernels
    registers = found["registers_per_thread"]
    assert (registers["measured"], registers["spilled_bytes"]) == (used.registers, 0)
    expected = occupancy(
        lookup("sm_90a"),
        threads=found["threads_per_block"],
        registers=used.registers,
        shared=kernel.dynamic_shared,
    )
    assert found["occupancy"]["fraction"] == expected.fraction
    # The estimate is what is printed where there is no ptxas.
    assert abs(registers["estimate"] - used.registers) <= 32
    estimated = analyzed(name, tmp_path, arch="sm_90", compile="false")["registers_per_thread"]
    assert estimated["measured"] is estimated["spilled_bytes"] is None
    assert estimated["estimate"] == registers["estimate"]


def test_the_listing(tmp_path: Path) -> None:
    found = analyzed("flash_attention_listing", tmp_path)
    assert found["kernel"] == "flash_attention_tile"
    assert found["target"] == "sm_90a"
    assert found["threads_per_block"] == 256
    assert found["shared_memory"]["bytes"] == 98304
    assert [b["bytes"] for b in found["shared_memory"]["buffers"]] == [32768] * 3
    assert found["tensor_cores"]["used"] and found["async_copies"]["used"]
    assert found["requires_high_precision"]
    assert found["async_copies"]["count"] == 3
    assert found["async_copies"]["bytes"] == 98304
    assert found["opportunities"] == {
        "can_use_tma": True,
        "benefits_from_double_buffering": True,
        "requires_barrier_optimization": True,
    }
    features = found["target_features"]
    assert features["wgmma"] and features["tma"] and features["async_barriers"]
    assert features["max_shared_memory_per_sm"] == 228 * 1024
    assert features["max_registers_per_thread"] == 255
    first, second = found["tensor_cores"]["products"]
    assert first["instruction"] == "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
    assert first["flops"] == second["flops"] == 2 * 128**3
    # 2 of 64 rows, 1 of 128 columns, 8 of 16 along K.
    assert first["instructions"] == 16
    # Two products for what is copied of K and V.
    assert found["flops_per_byte"] == 2 * 2 * 128**3 / 65536
    assert (found["barriers"]["count"], found["barriers"]["needed"]) == (1, 2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", ["flash_attention_listing", "attention", "gemm_tile"])
def test_every_report_has_the_same_shape(name: str, arch: str, tmp_path: Path) -> None:
    found = analyzed(name, tmp_path, arch=arch)
    target = lookup(arch)
    assert set(found) == KEYS
    assert found["target"] == target.cpu
    assert set(found["strategy"]) == {"memory", "compute", "synchronization", "registers"}
    for choices in found["strategy"].values():
        assert choices
        assert all(set(c) == {"what", "why"} and c["what"] and c["why"] for c in choices)
    registers = found["registers_per_thread"]
    assert registers["fragments"] < registers["estimate"] <= registers["limit"] <= 255
    assert set(found["occupancy"]) == {"blocks", "warps", "fraction", "limited_by"}
    assert found["occupancy"]["warps"] * 32 == found["occupancy"]["blocks"] * found["threads_per_block"]


def test_copies_that_overlap_need_no_second_buffer(tmp_path: Path) -> None:
    found = analyzed("gemm_tile", tmp_path)
    looping = [c for c in found["async_copies"]["copies"] if c["in_loop"]]
    assert len(looping) == 4
    assert all(c["overlaps"] for c in looping)
    assert not found["opportunities"]["benefits_from_double_buffering"]


def test_the_listing_does_not_fit_a_small_gpu(tmp_path: Path) -> None:
    found = analyzed("flash_attention_listing", tmp_path, arch="sm_86")
    assert found["occupancy"]["blocks"] == 1
    assert not found["opportunities"]["benefits_from_double_buffering"]
    assert any(c["what"].startswith("one buffer for %smem_k, %smem_v") for c in found["strategy"]["memory"])


@pytest.mark.parametrize("name", ["attention", "gemm_tile"])
def test_registers_are_about_what_ptxas_takes(name: str, tmp_path: Path) -> None:
    require_tool("ptxas")
    estimate = analyzed(name, tmp_path)["registers_per_thread"]["estimate"]
    module = parse_module(example(name), "kernel.mlir", implicit_index_constants=True)
    report = compile_module(module, Options(lookup("sm_80"))).report
    assert report is not None
    (used,) = report.entries.values()
    assert 0.6 * used.registers <= estimate <= 1.4 * used.registers


@pytest.mark.parametrize(
    "options, message",
    [
        ("arch=sm_12", "unknown GPU 'sm_12'"),
        ("format=xml", "option 'format' expects one of text, json; found 'xml'"),
        ("output=no/such/folder/report.txt", "the report cannot be written to 'no/such/folder/report.txt'"),
    ],
)
def test_what_is_refused(options: str, message: str, tmp_path: Path) -> None:
    source = str(EXAMPLES / "attention.mlir")
    result = run([source, f"--tile-analyze={options}"], b"", str(tmp_path))
    assert result.exit_code == 1
    assert message in result.stderr.decode()
