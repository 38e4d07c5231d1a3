// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

!smem = !nv_tileas.smem<2x64x64xf16>
!stage = !nv_tileas.smem<1x64x64xf16>
!desc = !nv_tileas.tma_desc<64x64xf16>
!view = !nv_tileaa.memref<?x?xf16>
!iter = !nv_tileas.pipeline_iter<i32>
!tile = tensor<64x64xf32>

// CHECK-LABEL: func.func @pipeline
func.func @pipeline(%v: !view, %x: i32, %c: !tile) {
  // CHECK: %[[D:.*]] = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} : !nv_tileaa.memref<?x?xf16> -> !nv_tileas.tma_desc<64x64xf16>
  %d = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmaload<load_2d_f16, swizzle_128B>} : !view -> !desc
  %s = nv_tileas.make_tiled_tma_desc %v, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmastore<store_2d_f16, swizzle_128B>} : !view -> !desc
  %b = nv_tileas.alloc_tensor : !smem
  // CHECK: %[[P:.*]] = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  %p = nv_tileas.async.pipeline.create_pipeline stages = 2, producers = 1, consumers = 4 : !nv_tileas.pipeline_token
  // CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] registers = [40, 232] {
  nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 4] registers = [40, 232] {
    // CHECK: %[[I:.*]] = nv_tileas.async.pipeline.create_iterator %[[P]] : !nv_tileas.pipeline_iter<i32>
    %i = nv_tileas.async.pipeline.create_iterator %p : !iter
    // CHECK: nv_tileas.async.pipeline.produce_one %[[P]], %[[I]] {
    nv_tileas.async.pipeline.produce_one %p, %i {
      // CHECK: %[[A:.*]] = nv_tileas.async.pipeline.producer_acquire %[[P]], %[[I]] : !nv_tileas.producer_token
      %a = nv_tileas.async.pipeline.producer_acquire %p, %i : !nv_tileas.producer_token
      // CHECK: %[[W:.*]] = nv_tileas.async.pipeline.producer_write %[[A]], %[[I]] {
      %w = nv_tileas.async.pipeline.producer_write %a, %i {
        // CHECK: nv_tileas.async.tiled_tma_load %[[D]][%x, %x], %{{.*}}, %[[I]] : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16>
        nv_tileas.async.tiled_tma_load %d[%x, %x], %b, %i : !desc, !smem
        nv_tileas.async.pipeline.yield
      }
      // CHECK: nv_tileas.async.pipeline.producer_commit %[[W]]
      nv_tileas.async.pipeline.producer_commit %w
      nv_tileas.async.pipeline.yield
    }
    // CHECK: nv_tileas.async.pipeline.inc_iter %[[I]] : !nv_tileas.pipeline_iter<i32>
    %n = nv_tileas.async.pipeline.inc_iter %i : !iter
    nv_tileas.async.pipeline.yield
  }, {
    %i = nv_tileas.async.pipeline.create_iterator %p : !iter
    // CHECK: nv_tileas.async.pipeline.consume_one %[[P]], %{{.*}} consumer_idx = 0 -> tensor<64x64xf32> {
    %r = nv_tileas.async.pipeline.consume_one %p, %i consumer_idx = 0 -> !tile {
      // CHECK: nv_tileas.async.pipeline.consumer_wait %[[P]], %{{.*}}, 0 : !nv_tileas.consumer_token
      %w = nv_tileas.async.pipeline.consumer_wait %p, %i, 0 : !nv_tileas.consumer_token
      // CHECK: nv_tileas.async.pipeline.consumer_read %{{.*}}, %{{.*}} -> tensor<64x64xf32> {
      %t, %u = nv_tileas.async.pipeline.consumer_read %w, %i -> !tile {
        // CHECK: nv_tileas.view %{{.*}}, %{{.*}} : !nv_tileas.smem<2x64x64xf16> -> !nv_tileas.smem<1x64x64xf16>
        %e = nv_tileas.view %b, %i : !smem -> !stage
        // CHECK: nv_tileas.async.dot %{{.*}}, %{{.*}}, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1>}
        %o = nv_tileas.async.dot %e, %e, %c {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, warps = array<i64: 4, 1>} : !stage, !stage, !tile
        // CHECK: nv_tileas.async.dot_wait %{{.*}}, 0 : tensor<64x64xf32>
        %q = nv_tileas.async.dot_wait %o, 0 : !tile
        nv_tileas.async.pipeline.yield %q : !tile
      }
      // CHECK: nv_tileas.async.pipeline.consumer_release
      nv_tileas.async.pipeline.consumer_release %t
      nv_tileas.async.pipeline.yield %u : !tile
    }
    // CHECK: nv_tileas.fence_proxy
    nv_tileas.fence_proxy
    // CHECK: nv_tileas.async.tiled_tma_store
    nv_tileas.async.tiled_tma_store %s[%x, %x], %b[%x] : !desc, !smem
    // CHECK: nv_tileas.async.store_wait 0 read
    nv_tileas.async.store_wait 0 read
    %first = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    // CHECK: %{{.*}} = nv_tileas.async.tiled_tma_store %{{.*}}[%x, %x], %{{.*}}[%x] after %{{.*}} : !nv_tileas.tma_desc<64x64xf16>, !nv_tileas.smem<2x64x64xf16> -> !nv_tileaa.mem_token
    %stored = nv_tileas.async.tiled_tma_store %s[%x, %x], %b[%x] after %first : !desc, !smem -> !nv_tileaa.mem_token
    // CHECK: nv_tileas.async.store_wait 0
    nv_tileas.async.store_wait 0
    nv_tileas.async.pipeline.yield
  }
  return
}
