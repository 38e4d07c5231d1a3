"""The second stage of the walk-through, as it prints it, computes D = A · Bᵀ + C on the simulated GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import fresh_seed, launch

from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module

LISTING = Path(__file__).parents[1] / "dialects" / "nv_tileaa" / "older.mlir"
TARGET = 'module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {\n'


@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    # Its indices are elements, not tiles: one tile is what one block computes right.
    depth = 64 * int(rng.integers(1, 4))
    m, n = 128 - int(rng.integers(0, 20)), 128
    module = parse_module(TARGET + LISTING.read_text() + "}\n", "older.mlir", implicit_index_constants=True)
    a, b = (rng.standard_normal((rows, depth)).astype(np.float16) for rows in (m, n))
    c = rng.standard_normal((m, n)).astype(np.float32)
    arrays, result = launch(
        print_op(module), a, b, c, np.zeros_like(c), *(np.int32(v) for v in (m, n, depth)), target="sm_90a", mode=mode
    )  # fmt: skip
    assert not result.findings, result.findings.text("gemm")
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    assert np.abs(arrays[3] - expected).max() < 1e-2
