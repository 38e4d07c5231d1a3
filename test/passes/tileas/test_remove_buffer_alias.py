# ruff: noqa: E501
"""Kernels whose buffers change places, on the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest
from programs import TARGETS, fresh_seed, launch

SMEM = "!nv_tileas.smem<1x32x32xf32, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]}>>"
KERNEL = f"""
!smem = {SMEM}
!tile = tensor<32x32xf32>
!view = !nv_tileaa.memref<?x32xf32>
!tok = !nv_tileaa.mem_token
module attributes {{nv_tileaa.compute_capability = COMPUTE : i32, nv_tileaa.target_spec = "TARGET"}} {{
  nv_tileaa.func @delay(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32)
      attributes {{nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>}} {{
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %h = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %rows = arith.muli %n, %h : i32
    %v = nv_tileaa.make_memref %p, shape = [%rows, 32], stride = [32, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%rows, 32], stride = [32, 1], space = #nv_tileaa.global : !view
    %zero = arith.constant dense<0.0> : !tile
    %a = nv_tileas.alloc_tensor : !smem
    %b = nv_tileas.alloc_tensor : !smem
    nv_tileas.store %zero, %a[%z] {{atom = #cute.copy_atom<sm80_sts_32_f32>}} : !tile, !smem
    %r:2 = scf.for %i = %z to %n step %o iter_args(%cur = %a, %next = %b) -> (!smem, !smem) : i32 {{
      %row = arith.muli %i, %h : i32
      %x, %xt = nv_tileas.tiled_load %v[%row, %z], %t {{atom = #cute.copy_atom<sm80_ldg_32_f32>}} : !view -> !tile, !tok
      nv_tileas.store %x, %next[%z] {{atom = #cute.copy_atom<sm80_sts_32_f32>}} : !tile, !smem
      %y = nv_tileas.load %cur[%z] offsets = [0, 0] {{atom = #cute.copy_atom<sm80_lds_32_f32>}} : !smem -> !tile
      %turned = nv_tileaa.permute %y [1, 0] : !tile -> !tile
      %wt = nv_tileas.tiled_store %w[%row, %z], %turned, %t {{atom = #cute.copy_atom<sm80_stg_32_f32>}} : !tile, !view, !tok
      scf.yield %next, %cur : !smem, !smem
    }}
    nv_tileaa.return
  }}
}}
"""


@pytest.mark.parametrize("mode", ["late", "early"])
@pytest.mark.parametrize("target", TARGETS)
def test_each_iteration_reads_what_the_last_one_wrote(target: str, mode: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    tiles = int(rng.integers(1, 6))
    x = rng.standard_normal((tiles, 32, 32)).astype(np.float32)
    number = "".join(c for c in target if c.isdigit())
    text = KERNEL.replace("COMPUTE", number).replace("TARGET", target)
    arrays, result = launch(text, x, np.zeros_like(x), np.int32(tiles), target=target, mode=mode)
    assert not result.findings, result.findings.text("delay")
    delayed = np.concatenate([np.zeros((1, 32, 32), np.float32), x[:-1]])
    np.testing.assert_array_equal(arrays[1], delayed.transpose(0, 2, 1))
