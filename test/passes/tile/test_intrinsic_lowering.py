"""The unit test of the passes' description, and kernels that compute the same before and after."""

from __future__ import annotations

import numpy as np
import pytest
from programs import empty, fresh_seed, random
from tile.kernels import example, launch, strided

from tessera_tools.dialects import tile
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import Pipeline, parse_pass

MMA_TEST = """
func @mma_test(%A: memref<16x16xbf16, 3>, %B: memref<16x16xbf16, 3>) -> memref<16x16xf32, 5> {
  %C = tile.alloc_register : memref<16x16xf32, 5>
  %result = tile.mma %A, %B, %C : memref<16x16xbf16, 3>, memref<16x16xbf16, 3>, memref<16x16xf32, 5>
    -> memref<16x16xf32, 5>
  return %result : memref<16x16xf32, 5>
}
"""


class TestTileIRPasses:
    """TEST(TileIRPasses, …) of the description."""

    def test_intrinsic_lowering(self) -> None:
        """IntrinsicLowering.  A tile of 16x16 is no shape of wgmma; m64n16k16 covers it, 48 of its rows are hidden."""
        module = parse_module(MMA_TEST)
        PassManager(Pipeline("builtin.module", [parse_pass("tile-intrinsic-lowering{arch=sm_90}")])).run(
            module
        )
        (found,) = [op for op in module.walk() if isinstance(op, tile.Wgmma)]
        assert found.intrinsic.value == "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16"
        assert len(found.operands) == 3
        assert not any(isinstance(op, tile.Mma) for op in module.walk())


SMALL = """
func.func @small(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %D: memref<?x?xf32>) attributes {tessera.kernel} {
  %zero = arith.constant 0.0 : f32
  %a = tile.alloc_shared : memref<16x16xf16, 3>
  %b = tile.alloc_shared : memref<16x16xf16, 3>
  tile.cp_async %A, %a {bypass_l1 = true} : memref<?x?xf16>, memref<16x16xf16, 3>
  tile.cp_async %B, %b {bypass_l1 = true} : memref<?x?xf16>, memref<16x16xf16, 3>
  tile.cp_commit_group
  tile.cp_wait_group 0
  tile.barrier
  %C = tile.alloc_register : memref<16x16xf32, 5>
  tile.fill %C, %zero : memref<16x16xf32, 5>
  %r = tile.mma %a, %b, %C : memref<16x16xf16, 3>, memref<16x16xf16, 3>, memref<16x16xf32, 5> -> memref<16x16xf32, 5>
  tile.store_global %r, %D : memref<16x16xf32, 5>, memref<?x?xf32>
  return
}
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_small_tile(target: str) -> None:
    """A tile as a whole, of which no fragment says how many threads hold it, is multiplied by all of them."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (16, 16), rng), random("f16", (16, 16), rng)
    args = [x for array in (a, b, empty("f32", (16, 16))) for x in strided(array)]
    arrays, result = launch(
        SMALL, *args, target=target, passes=(f"tile-intrinsic-lowering{{arch={target}}}",)
    )
    assert not result.findings, result.findings.text("small")
    np.testing.assert_allclose(arrays[2], a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_gemm(target: str) -> None:
    """The same numbers, to the bit."""
    rng = np.random.default_rng(fresh_seed())
    a, b = random("f16", (128, 72), rng), random("f16", (72, 128), rng)
    args = [x for array in (a, b, empty("f32", (128, 128))) for x in strided(array)]
    before, _ = launch(example("gemm_tile"), *args, target=target)
    passes = (f"tile-intrinsic-lowering{{arch={target}}}",)
    after, result = launch(example("gemm_tile"), *args, target=target, passes=passes)
    assert not result.findings, result.findings.text("gemm")
    np.testing.assert_array_equal(before[2], after[2])


ALL = (
    "tile-memory-management",
    "tile-register-coalescing",
    "tile-barrier-optimization",
    "tile-performance-annotation",
)


@pytest.mark.parametrize("passes", [(), ALL], ids=["alone", "with all passes"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_attention(target: str, passes: tuple[str, ...]) -> None:
    """The same numbers, to the bit, by copies, products and reductions of the target; after the other passes, too."""
    rng = np.random.default_rng(fresh_seed())
    shape = (1, 1, 100, 64)
    arrays = [random("bf16", shape, rng) for _ in range(3)] + [empty("bf16", shape)]
    args = [x for array in arrays for x in strided(array)]
    text = example("attention_causal")
    before, _ = launch(text, *args, target=target, grid=(2,))
    lowered = (*passes, f"tile-intrinsic-lowering{{arch={target}}}")
    after, result = launch(text, *args, target=target, grid=(2,), passes=lowered)
    assert not result.findings, result.findings.text("attention")
    np.testing.assert_array_equal(before[3], after[3])
