"""A GEMM of agents written by hand: right on the simulated GPU, and asynchronous as ptxas sees it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch

sys.path.insert(0, str(Path(__file__).parent))

from kernels import gemm

from oracles import require_tool
from tessera_tools.emit.sass import Nvdisasm

SMALL = {"bm": 128, "bn": 64, "bk": 64, "stages": 2, "groups": 2}


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("ragged", [False, True], ids=["whole", "ragged"])
@pytest.mark.parametrize(
    "shape", [SMALL, {"bm": 64, "bn": 32, "bk": 128, "stages": 3, "groups": 1}], ids=["two", "one"]
)
def test_results(shape: dict[str, int], ragged: bool, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    bm, bn, bk = shape["bm"], shape["bn"], shape["bk"]
    m, n, k = (bm - int(rng.integers(1, 30)), bn + 8, 5 * bk // 2 + 8) if ragged else (2 * bm, 2 * bn, 3 * bk)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    grid = (-(-m // bm), -(-n // bn))
    arrays, _ = launch(
        gemm(**shape), a, b, c, np.int32(m), np.int32(n), np.int32(k), target="sm_90", grid=grid, mode=mode
    )
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(arrays[2] - expected).max() < 1e-3 * np.sqrt(k) * 10


def test_ptxas_serializes_nothing_and_spills_nothing() -> None:
    made = compiled(gemm(), "sm_90")
    result = assembled(made.ptx, "sm_90")
    assert result.report is not None
    used = result.report.functions["gemm"]
    assert (used.spill_stores, used.spill_loads) == (0, 0)
    assert [w for w in result.warnings if "C75" in w] == []


def test_the_main_loop_is_short() -> None:
    """wgmma and TMA where expected: 4 steps along K, 5 boxes."""
    ptx = compiled(gemm(), "sm_90").ptx
    assert ptx.count("wgmma.mma_async.sync.aligned.m64n256k16") == 4
    assert ptx.count("cp.async.bulk.tensor.2d.shared::cta.global") == 5
    assert ptx.count("mma.sync") == 0


@pytest.mark.parametrize(
    "name", ["gemm_f16_128x256x64", "gemm_nt_bias_f16_128x128x64", "attention_causal_bf16_d128"]
)
def test_the_corpus_is_asynchronous_to_ptxas(name: str) -> None:
    """wgmma and TMA are there, and ptxas neither serializes nor ignores anything (C7507, C7510 to C7514)."""
    text = (Path(__file__).parents[1] / "corpus" / f"{name}.mlir").read_text()
    made = compiled(text, "sm_90a")
    assert "wgmma.mma_async" in made.ptx and "cp.async.bulk.tensor" in made.ptx
    # A product is under way while the threads go on.
    assert re.search(r"wgmma\.wait_group\.sync\.aligned\s+1;", made.ptx)
    result = assembled(made.ptx, "sm_90a")
    assert result.report is not None
    used = result.report.functions[name]
    assert (used.spill_stores, used.spill_loads) == (0, 0)
    assert [m.text for m in result.report.messages if "C75" in m.text] == []
    assert [w for w in result.warnings if "C75" in w or "serializ" in w] == []


def loops_of_products(sass: str) -> list[int]:
    """Instructions of each loop that holds an HGMMA and no other such loop."""
    places: dict[str, int] = {}
    instructions: list[str] = []
    for line in sass.split("\n"):
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            places[label[1]] = len(instructions)
        elif found := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?);", line):
            instructions.append(found[1])
    loops = [
        (start, end)
        for end, text in enumerate(instructions)
        if (to := re.search(r"BRA.*`\((\.L_x_\d+)\)", text)) and (start := places.get(to[1], end + 1)) <= end
    ]
    with_products = [
        (start, end) for start, end in loops if any("HGMMA" in text for text in instructions[start:end])
    ]
    return [
        end - start + 1
        for start, end in with_products
        if not any((a, b) != (start, end) and start <= a and b <= end for a, b in with_products)
    ]


def test_the_loop_of_a_large_gemm_takes_few_instructions() -> None:
    """Per warp and step along K of 128x256x64, after ptxas: what tileiras does takes 1,026."""
    text = (Path(__file__).parents[1] / "corpus" / "gemm_f16_128x256x64.mlir").read_text()
    require_tool("nvdisasm")
    cubin = assembled(compiled(text, "sm_90a").ptx, "sm_90a").stages["cubin"]
    assert isinstance(cubin, bytes)
    lengths = loops_of_products(Nvdisasm.find().disassemble(cubin))
    # Longer ones lead back from where a wait is tried again, behind the rest of the code.
    assert min(lengths) <= 60
