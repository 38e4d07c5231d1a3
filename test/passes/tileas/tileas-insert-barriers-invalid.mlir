// RUN: tessera-opt %s --tileas-insert-barriers --split-input-file --verify-diagnostics

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{needs 262144 bytes of shared memory, but sm_80 has 166912 per CTA: 262144 bytes for 4 stages of tile 128x128xf32; use smaller tiles}}
  nv_tileaa.func @large() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %0 = nv_tileas.alloc_tensor : !nv_tileas.smem<4x128x128xf32>
    nv_tileaa.return
  }
}

// -----

// A barrier is not enough: the copy of another thread, and of this one, may come after it.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @under_way(%p: !llvm.ptr<1>, %x: tensor<1024xf32, #nv_tileas.linear<{register = [[32], [64], [128], [256], [512]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %v = nv_tileaa.make_memref %p, shape = [1024], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<1024xf32>
    %a = nv_tileas.alloc_tensor : !nv_tileas.smem<1x1024xf32>
    nv_tileas.async.tiled_copy %v[%zero], %a[%zero] {atom = #cute.copy_atom<sm80_cp_async_32_f32>} : !nv_tileaa.memref<1024xf32>, !nv_tileas.smem<1x1024xf32>
    nv_tileas.async.commit_group
    // expected-error @below {{uses shared memory that a pending copy may still write; insert an nv_tileas.async.wait_group before it}}
    nv_tileas.store %x, %a[%zero] {atom = #cute.copy_atom<sm80_sts_32_f32>} : tensor<1024xf32, #nv_tileas.linear<{register = [[32], [64], [128], [256], [512]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileas.smem<1x1024xf32>
    nv_tileaa.return
  }
}
