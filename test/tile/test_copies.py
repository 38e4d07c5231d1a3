"""Asynchronous copies: what they bring stays where it is until they have been waited for."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, fresh_seed
from tile.kernels import launch, strided

TWO = """
func.func @kernel(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %D: memref<64x64xf32>) attributes {{tessera.kernel}} {{
  %a = tile.alloc_shared {{swizzle = "xor"}} : memref<64x64xf16, 3>
  %b = tile.alloc_shared {{swizzle = "xor"}} : memref<64x64xf16, 3>
  tile.cp_async %A, %a : memref<64x64xf16>, memref<64x64xf16, 3>
  {first}
  tile.cp_async %B, %b : memref<64x64xf16>, memref<64x64xf16, 3>
  {second}
  %p = tile.mma %a, %a : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  {third}
  %q = tile.mma %b, %b : memref<64x64xf16, 3>, memref<64x64xf16, 3> -> memref<4x8xf32, 5>
  tile.copy %q, %p : memref<4x8xf32, 5>
  tile.store_global %p, %D : memref<4x8xf32, 5>, memref<64x64xf32>
  return
}}
"""
COMMIT, WAIT_1, WAIT_0, BARRIER = (
    "tile.cp_commit_group", "tile.cp_wait_group 1", "tile.cp_wait_group 0", "tile.barrier",
)  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [
        ([COMMIT], [COMMIT, WAIT_1, BARRIER], [WAIT_0, BARRIER]),
        ([COMMIT], [COMMIT, WAIT_0, BARRIER], []),
        ([], [COMMIT, WAIT_0, BARRIER], []),
        ([COMMIT, WAIT_0, BARRIER], [COMMIT, WAIT_0, BARRIER], []),
    ],
)
@pytest.mark.parametrize("mode", ["late", "early"])
def test_a_product_that_is_overwritten_leaves_its_buffer_alone_until_the_copy_has_landed(
    parts: tuple[list[str], ...], mode: str
) -> None:
    """Nobody reads %a in the end, but its copy still fills it while that of %b begins."""
    rng = np.random.default_rng(fresh_seed())
    a, b = (rng.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    out = np.zeros((64, 64), np.float32)
    first, second, third = ("\n  ".join(ops) for ops in parts)
    text = TWO.format(first=first, second=second, third=third)
    target = str(rng.choice(TARGETS))
    arrays, result = launch(text, *(x for m in (a, b, out) for x in strided(m)), target=target, mode=mode)
    assert not result.findings, result.findings.text("kernel")
    np.testing.assert_array_equal(arrays[2], b.astype(np.float32) @ b.astype(np.float32))
