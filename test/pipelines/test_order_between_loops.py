"""The order of the ops between loops: where a load comes in front of the loop that hides its latency, and results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from programs import assembled, compiled, empty, fresh_seed, launch, random

CORPUS = Path(__file__).parents[1] / "corpus"
STEPS = 48
RESIDUAL = (CORPUS / "gemm_nt_bias_f16_128x128x64.mlir").read_text()
KNOWN = RESIDUAL.replace("to %1#1,", "to %steps,").replace(
    "  %for = for", f"  %steps = constant <i32: {STEPS}> : tile<i32>\n  %for = for"
)
"""The program with a known number of steps."""


def before_the_products(text: str) -> bool:
    """Whether the residual, the only tile of f32 that is loaded, is loaded before the first product."""
    ptx = compiled(text, "sm_90a").ptx
    load, product = re.search(r"ld\.global\S*\.b32", ptx), re.search(r"wgmma\.mma_async", ptx)
    assert load is not None
    assert product is not None
    return load.start() < product.start()


def test_a_residual_is_loaded_before_a_long_loop() -> None:
    assert before_the_products(KNOWN)


def test_a_residual_is_loaded_behind_a_loop_of_unknown_length() -> None:
    assert not before_the_products(RESIDUAL)


def test_the_tile_stays_in_registers() -> None:
    result = assembled(compiled(KNOWN, "sm_90a").ptx, "sm_90a")
    assert result.report is not None
    assert {used.spill_stores for used in result.report.entries.values()} == {0}
    assert not result.warnings


@pytest.mark.parametrize("ragged", [False, True], ids=["aligned", "ragged"])
@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(mode: str, ragged: bool) -> None:
    rng = np.random.default_rng(fresh_seed())
    m, n, k = 128, 128, 64 * STEPS
    if ragged:
        m, n, k = int(rng.integers(1, 128)), 8 * int(rng.integers(1, 16)), 8 * int(rng.integers(1, 8 * STEPS))
    a, b, c = random("f16", (m, k), rng), random("f16", (n, k), rng), random("f32", (m, n), rng)
    args = [
        x
        for array in (a, b, c, empty("f32", (m, n)))
        for x in (array, *map(np.int32, array.shape), *(np.int32(s // array.itemsize) for s in array.strides))
    ]
    arrays, _ = launch(KNOWN, *args, target="sm_90a", grid=(1, 1), mode=mode)
    np.testing.assert_allclose(
        arrays[3], a.astype(np.float64) @ b.astype(np.float64).T + c, rtol=1e-3, atol=2e-3
    )
