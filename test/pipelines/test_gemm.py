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
from main_loops import main_loops

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


def test_flushed_exponentials_spill_nothing() -> None:
    """Attention as people write it: `exp2` with flush_to_zero leaves ptxas more freedom, which once cost registers."""
    path = Path(__file__).parents[1] / "corpus" / "attention_causal_bf16_d128.mlir"
    text = re.sub(r"= exp2 (%\S+)", r"= exp2 \1 flush_to_zero", path.read_text())
    result = assembled(compiled(text, "sm_90a").ptx, "sm_90a")
    assert result.report is not None
    used = result.report.functions["attention_causal_bf16_d128"]
    assert (used.spill_stores, used.spill_loads) == (0, 0)


@pytest.mark.parametrize(
    ("name", "most"),
    [
        # What tileiras does takes 1,026 and 2,043.
        ("gemm_f16_128x256x64", 36),
        ("gemm_nt_bias_f16_128x128x64", 36),
        # Four of them are the barriers of turns.
        ("attention_causal_bf16_d128", 496),
        ("attention_causal_f16_d64", 285),
    ],
)
def test_a_warp_executes_few_instructions_in_the_main_loop(name: str, most: int) -> None:
    """Per iteration, after ptxas, on the way past masks that hold, exponentials that need no scaling, factors of 1."""
    text = (Path(__file__).parents[1] / "corpus" / f"{name}.mlir").read_text()
    require_tool("nvdisasm")
    cubin = assembled(compiled(text, "sm_90a").ptx, "sm_90a").stages["cubin"]
    assert isinstance(cubin, bytes)
    ways = [loop.shortest for loop in main_loops(Nvdisasm.find().disassemble(cubin)) if loop.shortest]
    assert ways and min(ways) <= most


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_registers_in_flight_are_not_copied_without_optimization(target: str) -> None:
    """Those of wgmma until its wait, and those of tcgen05.ld: a launch reports uses of them."""
    text = (Path(__file__).parents[2] / "examples" / "gemm.mlir").read_text()
    rng = np.random.default_rng(fresh_seed())
    a, b, d = (rng.standard_normal(s).astype(np.float16) for s in ((64, 64), (64, 64), (64, 64)))
    args = [x for array in (a, b, d) for x in (array, *map(np.int32, (64, 64, 64, 1)))]
    arrays, _ = launch(text, *args, target=target, level=0)
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b, rtol=1e-2, atol=1e-2)
