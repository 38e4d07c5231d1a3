"""Tiles that agents take from around them, on the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest
from programs import fresh_seed, launch

from tessera_tools.diagnostics import DiagnosticError
from tessera_tools.parser import parse_module
from tessera_tools.passes.manager import PassManager
from tessera_tools.passes.pipeline import parse_pipeline

KERNEL = """
!tile = tensor<32x64xf32>
!view = !nv_tileaa.memref<96x64xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @kernel(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %f: f32)
      attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %i = arith.constant 32 : i32
    %j = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [96, 64], stride = [64, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [96, 64], stride = [64, 1], space = #nv_tileaa.global : !view
    %shared, %st = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !tile, !tok
    %own, %mt = nv_tileas.tiled_load %v[%i, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !tile, !tok
    %factor = nv_tileaa.splat %f : f32 -> !tile
    nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
      %a = arith.mulf %shared, %factor : !tile
      %at = nv_tileas.tiled_store %w[%z, %z], %a, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
    }, {
      %b = arith.subf %shared, %factor : !tile
      %bt = nv_tileas.tiled_store %w[%i, %z], %b, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
      %c = arith.addf %own, %shared : !tile
      %ct = nv_tileas.tiled_store %w[%j, %z], %c, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !tile, !view, !tok
    }
    nv_tileaa.return
  }
}
"""


@pytest.mark.parametrize("mode", ["late", "early"])
def test_results(mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    x = rng.standard_normal((96, 64)).astype(np.float32)
    factor = np.float32(rng.standard_normal())
    arrays, result = launch(KERNEL, x, np.zeros_like(x), factor, target="sm_90a", mode=mode)
    assert not result.findings, result.findings.text("kernel")
    first, second = x[:32], x[32:64]
    np.testing.assert_array_equal(arrays[1], np.concatenate([first * factor, first - factor, second + first]))


def test_without_the_pass_the_layouts_do_not_fit() -> None:
    """A tile of eight warps is none of four."""
    module = parse_module(KERNEL, "kernel.mlir")
    with pytest.raises(DiagnosticError, match="warps"):
        PassManager(
            parse_pipeline("builtin.module(tileas-assign-layouts,tileas-remove-layout-conversions)"),
            verify_each=True,
        ).run(module)
