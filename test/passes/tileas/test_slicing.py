"""Sliced loops compute the same, on the simulated GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import compiled, fresh_seed, launch

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline

GEMM = (Path(__file__).parents[2] / "corpus" / "gemm_f16_64x64x32.mlir").read_text()


def sliced(text: str, target: str, count: int) -> str:
    """The kernel after tileas-slicing, as text."""
    module = parse_module(text, "kernel.mlir")
    steps = (
        "canonicalize",
        "cse",
        f"convert-cuda-tile-to-tileaa{{gpu-name={target}}}",
        "canonicalize",
        "cse",
        "convert-tileaa-to-tileas",
        f"tileas-slicing{{slice-count={count}}}",
        "canonicalize",
    )
    PassManager(parse_pipeline(f"builtin.module({','.join(steps)})")).run(module)
    return print_op(module)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_results(target: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    count = int(rng.integers(2, 4))
    m, n, k = 64, 64, 32 * int(rng.integers(1, 8))
    text = sliced(GEMM, target, count)
    assert text.count("nv_tileas.dot") == count + 1
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)

    def arguments(x: np.ndarray) -> list[object]:
        return [x, *(np.int32(v) for v in (*x.shape, x.shape[1], 1))]

    arrays, result = launch(text, *arguments(a), *arguments(b), *arguments(c), target=target, mode="late")
    assert not result.findings, result.findings.text("gemm")
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(arrays[2] - expected).max() < 1e-2 * np.sqrt(k)


def test_slices_are_products_of_one_iteration() -> None:
    before, after = (compiled(text, "sm_90a").ptx for text in (GEMM, sliced(GEMM, "sm_90a", 2)))
    assert after.count("wgmma.mma_async") > before.count("wgmma.mma_async")
