"""The second and third stage of the walk-through, as it prints them, compute D = A · Bᵀ + C on the simulated GPU."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from programs import assembled, compiled, fresh_seed, launch

from oracles import require_tool
from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.ir.printing import print_op
from tessera_tools.parser import parse_module

DIALECTS = Path(__file__).parents[1] / "dialects"
FIRST_STAGE = (Path(__file__).parents[2] / "examples" / "gemm_stage1.mlir").read_text()
TARGET = 'module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {\n'


def listing(dialect: str, **replaced: str) -> str:
    """A listing in today's spelling, for a target, with lines replaced."""
    text = (DIALECTS / dialect / "older.mlir").read_text()
    for old, new in replaced.items():
        text, count = re.subn(rf"^#{old} = .*$", f"#{old} = {new}", text, flags=re.MULTILINE)
        assert count == 1
    # A listing names no target; a module that names one is in today's spelling.
    today = print_op(parse_module(text, "older.mlir", implicit_index_constants=True))
    assert today.count("module {\n") == 1
    return today.replace("module {\n", TARGET)


TWO_GROUPS = {"ks": "#nv_tileaa.kernel_spec<num_warps = 8>", "ag_c": "#nv_tileas.agent<8>"}
"""Two warpgroups, which share the rows of the product."""


@pytest.mark.parametrize(
    "text",
    [listing("nv_tileaa"), listing("nv_tileas"), listing("nv_tileas", **TWO_GROUPS)],
    ids=["nv_tileaa", "nv_tileas", "two-groups"],
)
@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(text: str, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    # Its indices are elements, not tiles: one tile is what one block computes right. The third stage has three stages
    # of buffers, so that the loop uses them again.
    depth = 64 * int(rng.integers(1, 8))
    m, n = 128 - int(rng.integers(0, 20)), 128
    a, b = (rng.standard_normal((rows, depth)).astype(np.float16) for rows in (m, n))
    c = rng.standard_normal((m, n)).astype(np.float32)
    numbers = (np.int32(v) for v in (m, n, depth))
    arrays = launch(text, a, b, c, np.zeros_like(c), *numbers, target="sm_90a", mode=mode)[0]
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    assert np.abs(arrays[3] - expected).max() < 1e-2


@pytest.mark.parametrize(("warps", "found"), [(4, 8), (8, 4)])
def test_a_pipeline_counts_the_warps_that_release_its_stages(warps: int, found: int) -> None:
    text = listing(
        "nv_tileas", ks=f"#nv_tileaa.kernel_spec<num_warps = {warps}>", ag_c=f"#nv_tileas.agent<{found}>"
    )
    with pytest.raises(DiagnosticError, match=f"has {found} consumers, but {warps} warps release its stages"):
        compiled(text, "sm_90a")


@pytest.mark.parametrize("mode", ["late", "early"])
def test_the_first_stage_multiplies_by_wgmma_tiles_that_threads_bring(mode: str) -> None:
    """It promises no alignment, so that each element is an access of its own, and its extents may be odd."""
    made = compiled(FIRST_STAGE, "sm_90a")
    assert "wgmma.mma_async" in made.ptx and "mma.sync" not in made.ptx and "ld.global.b16" in made.ptx
    rng = np.random.default_rng(fresh_seed())
    m, n, k = (int(rng.integers(1, most)) for most in (200, 128, 500))
    a, b = (rng.standard_normal((rows, k)).astype(np.float16) for rows in (m, n))
    c = rng.standard_normal((m, n)).astype(np.float32)
    numbers = (np.int32(v) for v in (m, n, k))
    arrays = launch(FIRST_STAGE, a, b, c, np.zeros_like(c), *numbers, target="sm_90a", grid=(2,), mode=mode)[
        0
    ]
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    assert np.abs(arrays[3] - expected).max() < 1e-2


def test_the_addresses_of_the_first_stage_are_not_kept_in_registers() -> None:
    """A row's address is the sum of that of the row before and the stride, so that nothing spills."""
    require_tool("ptxas")
    made = assembled(compiled(FIRST_STAGE, "sm_90a").ptx, "sm_90a")
    assert [text for text in made.warnings if "C75" in text or "spill" in text] == []
