// RUN: tessera-opt --mlir-print-local-scope %s --implicit-index-constants -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt --mlir-print-local-scope %t | diff %t -

// Stage 3 as the walk-through of the stages prints it, with what it leaves undefined: the aliases, the arguments, and the
// values up to %zero.

// CHECK-LABEL: nv_tileaa.func @gemm
// CHECK-SAME: num_warps = 4
// CHECK: %[[DA:.*]] = nv_tileas.make_tiled_tma_desc %a_ref, box = [128, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<128x64xf16>
// CHECK: %[[SA:.*]] = nv_tileas.alloc_tensor {stages = 3 : i32} : !nv_tileas.smem<3x128x64xf16, #nv_tileas.shared<
// CHECK: %[[PIPE:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 3, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
// CHECK: scf.for {{.*}} iter_args(%acc = %zero, %iter = %iter0) -> (tensor<128x128xf32>, !nv_tileas.pipeline_iter<i32>)  : i32
// CHECK: nv_tileas.async.tiled_tma_load %[[DA]][%bm, %k], %[[SA]], %iter : !nv_tileas.tma_desc<128x64xf16>, !nv_tileas.smem<3x128x64xf16,
// CHECK: nv_tileas.async.pipeline.consume_one %[[PIPE]], %iter consumer_idx = 0 -> tensor<128x128xf32> {
// CHECK: nv_tileas.async.pipeline.consumer_read %ctok, %iter -> tensor<128x128xf32> {
// CHECK: %[[A:.*]] = nv_tileas.view %[[SA]], %iter : !nv_tileas.smem<3x128x64xf16, {{.*}} -> !nv_tileas.smem<1x128x64xf16,
// B is N×K: a view of K×N.
// CHECK: %[[B:.*]] = nv_tileas.view {{.*}} -> !nv_tileas.smem<1x64x128xf16,
// CHECK: %[[D:.*]] = nv_tileas.async.dot %[[A]], %[[B]], %acc {atom = #cute.mma_atom<sm90_wgmma_m64n128k16_f32_f16_f16>, warps = array<i64: 4, 1>}
// CHECK: nv_tileas.async.dot_wait %[[D]], 0
// CHECK: %[[T:.*]] = nv_tileaa.create_mem_token
// CHECK: nv_tileas.tiled_load %c_ref[%bm, %bn], %[[T]] {atom = #cute.copy_atom<sm90_ldg_128_f32>}
// The tile is stored through a buffer, in boxes as wide as the swizzle.
// CHECK: %[[DD:.*]] = nv_tileas.make_tiled_tma_desc %d_ref, box = [128, 32]
// CHECK: %[[SD:.*]] = nv_tileas.alloc_tensor : !nv_tileas.smem<1x128x128xf32,
// CHECK: nv_tileas.store %d_tile, %[[SD]]
// CHECK: nv_tileas.fence_proxy
// CHECK: nv_tileas.async.tiled_tma_store %[[DD]][%bm, %bn], %[[SD]]
// CHECK: nv_tileas.async.store_wait 0
// CHECK: nv_tileaa.return

#ks = #nv_tileaa.kernel_spec<num_warps = 4>
#ag_p = #nv_tileas.agent<1>
#ag_c = #nv_tileas.agent<4>
nv_tileas.func @gemm(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %D: !llvm.ptr<1>, %M: i32, %N: i32, %K: i32) attributes { nv_tileaa.kernel_spec = #ks } {
  %bm = nv_tileaa.get_program_id { axis = 0 : i32 } : i32
  %bn = nv_tileaa.get_program_id { axis = 1 : i32 } : i32
  %a_ref = nv_tileaa.make_memref %A, shape = [%M, %K], stride = [%K, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf16>
  %b_ref = nv_tileaa.make_memref %B, shape = [%N, %K], stride = [%K, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf16>
  %c_ref = nv_tileaa.make_memref %C, shape = [%M, %N], stride = [%N, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
  %d_ref = nv_tileaa.make_memref %D, shape = [%M, %N], stride = [%N, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
  %zero = nv_tileaa.constant_tensor dense<0.0> : tensor<128x128xf32>
  %desc_a = nv_tileas.make_tiled_tma_desc %a_ref, box = [128, 64],
            atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>
          : !nv_tileas.tma_desc<128x64xf16>
  %desc_b = nv_tileas.make_tiled_tma_desc %b_ref, box = [128, 64],
            atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>
          : !nv_tileas.tma_desc<128x64xf16>

  %smem_a = nv_tileas.alloc_tensor { stages = 3 : i32 }
          : !nv_tileas.smem<3x128x64xf16>
  %smem_b = nv_tileas.alloc_tensor { stages = 3 : i32 }
          : !nv_tileas.smem<3x128x64xf16>

  %pipe = nv_tileas.async.pipeline.create_pipeline
            stages = 3, producer = #ag_p, consumer = #ag_c
          : !nv_tileas.pipeline_token
  %iter0 = nv_tileas.async.pipeline.create_iterator %pipe
         : !nv_tileas.pipeline_iter<i32>

  %acc_out, %iter_end = scf.for %k = %c0 to %K step %c64
      iter_args(%acc = %zero, %iter = %iter0)
      -> (tensor<128x128xf32>, !nv_tileas.pipeline_iter<i32>) {

    // ---- producer agent: TMA bulk loads into stage-local SMEM
    nv_tileas.async.pipeline.produce_one %pipe, %iter {
      %ptok = nv_tileas.async.pipeline.producer_acquire %pipe, %iter
            : !nv_tileas.producer_token
      %ptok2 = nv_tileas.async.pipeline.producer_write %ptok, %iter {
        nv_tileas.async.tiled_tma_load %desc_a, [%bm, %k], %smem_a, %iter
        nv_tileas.async.tiled_tma_load %desc_b, [%bn, %k], %smem_b, %iter
        nv_tileas.async.pipeline.yield
      }
      nv_tileas.async.pipeline.producer_commit %ptok2
      nv_tileas.async.pipeline.yield
    }

    // ---- consumer agent: WGMMA reads the same stage
    %acc_n = nv_tileas.async.pipeline.consume_one %pipe, %iter
             consumer_idx = 0 : i32 {
      %ctok = nv_tileas.async.pipeline.consumer_wait %pipe, %iter, 0
            : !nv_tileas.consumer_token
      %ctok2, %acc_loop = nv_tileas.async.pipeline.consumer_read %ctok, %iter {
        %a_stage = nv_tileas.view %smem_a, %iter
                 : !nv_tileas.smem<128x64xf16>
        %b_stage = nv_tileas.view %smem_b, %iter
                 : !nv_tileas.smem<128x64xf16>
        %acc_w = nv_tileas.dot %a_stage, %b_stage, %acc
               { atom = #cute.mma_atom<sm90_wgmma_m64n128k16_f32_f16_f16> }
               : !nv_tileas.smem<128x64xf16>, !nv_tileas.smem<128x64xf16>,
                 tensor<128x128xf32> -> tensor<128x128xf32>
        nv_tileas.async.pipeline.yield %acc_w : tensor<128x128xf32>
      }
      nv_tileas.async.pipeline.consumer_release %ctok2
      nv_tileas.async.pipeline.yield %acc_loop : tensor<128x128xf32>
    }

    %iter_n = nv_tileas.async.pipeline.inc_iter %iter
            : !nv_tileas.pipeline_iter<i32>
    scf.yield %acc_n, %iter_n
        : tensor<128x128xf32>, !nv_tileas.pipeline_iter<i32>
  }

  // epilogue: load C, add, store D (TMA store)
  %c_tile = nv_tileas.tiled_load %c_ref, [%bm, %bn]
          { atom = #cute.copy_atom<sm90_ldg_128_f32> }
          : tensor<128x128xf32>
  %d_tile = arith.addf %acc_out, %c_tile : tensor<128x128xf32>
  %desc_d = nv_tileas.make_tiled_tma_desc %d_ref, box = [128, 128],
            atom = #cute_nvgpu.atom_copy_field_tmastore<store_2d_f32, swizzle_128B>
          : !nv_tileas.tma_desc<128x128xf32>
  nv_tileas.async.tiled_tma_store %desc_d, [%bm, %bn], %d_tile
  nv_tileas.return
}
