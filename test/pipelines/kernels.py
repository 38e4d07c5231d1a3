# ruff: noqa: E501
"""Kernels of nv_tileas written by hand: agents, pipelines, TMA and wgmma, for tests that compile and run them."""

from __future__ import annotations

from tessera_tools.dialects.nv_tileas import SharedAttr
from tessera_tools.layout.shared import swizzled

HEADER = 'module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {'


def shared(
    shape: tuple[int, ...], bits: int, order: tuple[int, ...] | None = None, swizzle: int = 128
) -> str:
    """The layout of a buffer, as text."""
    return str(SharedAttr(swizzled(shape, bits, order, swizzle)))


def gemm(
    bm: int = 128, bn: int = 256, bk: int = 64, stages: int = 3, groups: int = 2, release: str = "inside"
) -> str:
    """C = A · B in f16 with f32 sums, as a producer and a consumer."""
    width = min(bn, 64)
    a_layout, b_layout = shared((bm, bk), 16), shared((bk, bn), 16, None, 2 * width)
    n = min(bn, 256)
    warps = 4 * groups
    atom = f"#cute.mma_atom<sm90_wgmma_m64n{n}k16_f32_f16_f16>"
    load_a = "#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>"
    load_b = f"#cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_{2 * width}B>"
    pipe = "nv_tileas.async.pipeline"
    iter, c_type = "!nv_tileas.pipeline_iter<i32>", f"tensor<{bm}x{bn}xf32>"
    return f"""{HEADER}
  nv_tileaa.func @gemm(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %M: i32, %N: i32, %K: i32)
      attributes {{nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = {4 + warps}>}} {{
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %a = nv_tileaa.make_memref %A, shape = [%M, %K], stride = [%K, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf16>
    %b = nv_tileaa.make_memref %B, shape = [%K, %N], stride = [%N, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf16>
    %c = nv_tileaa.make_memref %C, shape = [%M, %N], stride = [%N, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %desc_a = nv_tileas.make_tiled_tma_desc %a, box = [{bm}, 64] {{atom = {load_a}}} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<{bm}x64xf16>
    %desc_b = nv_tileas.make_tiled_tma_desc %b, box = [{bk}, {width}] {{atom = {load_b}}} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<{bk}x{width}xf16>
    %smem_a = nv_tileas.alloc_tensor {{nv_tileas.alignment = 1024 : i64}} : !nv_tileas.smem<{stages}x{bm}x{bk}xf16, {a_layout}>
    %smem_b = nv_tileas.alloc_tensor {{nv_tileas.alignment = 1024 : i64}} : !nv_tileas.smem<{stages}x{bk}x{bn}xf16, {b_layout}>
    %pipe = {pipe}.create_pipeline stages = {stages}, producers = 1, consumers = {warps} : !nv_tileas.pipeline_token
    %x = nv_tileaa.get_program_id {{axis = 0 : i32}} : i32
    %y = nv_tileaa.get_program_id {{axis = 1 : i32}} : i32
    %bm = arith.constant {bm} : i32
    %bn = arith.constant {bn} : i32
    %bk = arith.constant {bk} : i32
    %zero = arith.constant 0 : i32
    %row = arith.muli %x, %bm : i32
    %column = arith.muli %y, %bn : i32
    {pipe}.agent_switch num_warps = [1, {warps}] warp_id = [0, 4] registers = [40, 232] {{
      %iter0 = {pipe}.create_iterator %pipe : {iter}
      %end = scf.for %k = %zero to %K step %bk iter_args(%iter = %iter0) -> ({iter}) : i32 {{
        {pipe}.produce_one %pipe, %iter {{
          %p = {pipe}.producer_acquire %pipe, %iter : !nv_tileas.producer_token
          %w = {pipe}.producer_write %p, %iter {{
            nv_tileas.async.tiled_tma_load %desc_a[%row, %k], %smem_a, %iter : !nv_tileas.tma_desc<{bm}x64xf16>, !nv_tileas.smem<{stages}x{bm}x{bk}xf16, {a_layout}>
            nv_tileas.async.tiled_tma_load %desc_b[%k, %column], %smem_b, %iter : !nv_tileas.tma_desc<{bk}x{width}xf16>, !nv_tileas.smem<{stages}x{bk}x{bn}xf16, {b_layout}>
            {pipe}.yield
          }}
          {pipe}.producer_commit %w
          {pipe}.yield
        }}
        %next = {pipe}.inc_iter %iter : {iter}
        scf.yield %next : {iter}
      }}
      {pipe}.yield
    }}, {{
      %iter0 = {pipe}.create_iterator %pipe : {iter}
      %acc0 = arith.constant dense<0.0> : {c_type}
      %acc, %end = scf.for %k = %zero to %K step %bk iter_args(%sum = %acc0, %iter = %iter0) -> ({c_type}, {iter}) : i32 {{
        %new = {pipe}.consume_one %pipe, %iter consumer_idx = 0 -> {c_type} {{
          %w = {pipe}.consumer_wait %pipe, %iter, 0 : !nv_tileas.consumer_token
          %r, %made = {pipe}.consumer_read %w, %iter -> {c_type} {{
            %a_stage = nv_tileas.view %smem_a, %iter : !nv_tileas.smem<{stages}x{bm}x{bk}xf16, {a_layout}> -> !nv_tileas.smem<1x{bm}x{bk}xf16, {a_layout}>
            %b_stage = nv_tileas.view %smem_b, %iter : !nv_tileas.smem<{stages}x{bk}x{bn}xf16, {b_layout}> -> !nv_tileas.smem<1x{bk}x{bn}xf16, {b_layout}>
            %under_way = nv_tileas.async.dot %a_stage, %b_stage, %sum {{atom = {atom}, warps = array<i64: {warps}, 1>}} : !nv_tileas.smem<1x{bm}x{bk}xf16, {a_layout}>, !nv_tileas.smem<1x{bk}x{bn}xf16, {b_layout}>, {c_type}
            %done = nv_tileas.async.dot_wait %under_way, 0 : {c_type}
            {pipe}.yield %done : {c_type}
          }}
          {pipe}.consumer_release %r
          {pipe}.yield %made : {c_type}
        }}
        %next = {pipe}.inc_iter %iter : {iter}
        scf.yield %new, %next : {c_type}, {iter}
      }}
      %s = nv_tileas.tiled_store %c[%row, %column], %acc, %t {{atom = #cute.copy_atom<sm80_stg_64_f32>}} : {c_type}, !nv_tileaa.memref<?x?xf32>, !nv_tileaa.mem_token
      {pipe}.yield
    }}
    nv_tileaa.return
  }}
}}
"""
