// RUN: tessera-opt %s --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm | filecheck %s

!lane = tensor<32xtf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>

// A load of tf32 from a view of f32 rounds each element, and clears its 13 low bits; one from a view of tf32 does not.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // CHECK-LABEL: llvm.func @rounded
  // CHECK: %[[MASK:.*]] = llvm.mlir.constant(-8192 : i32) : i32
  // CHECK: %[[BITS:.*]] = llvm.load {{.*}} -> f32
  // CHECK: llvm.and %{{.*}}, %[[MASK]]
  // CHECK: %[[ROUNDED:.*]] = llvm.bitcast %{{.*}} : i32 to f32
  // CHECK: llvm.store %[[ROUNDED]]
  // CHECK-LABEL: llvm.func @exact
  // CHECK: %[[VALUE:.*]] = llvm.load {{.*}} -> f32
  // CHECK: llvm.store %[[VALUE]]
  nv_tileaa.func @rounded(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %i = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [32], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<32xf32>
    %w = nv_tileaa.make_memref %q, shape = [32], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<32xtf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<32xf32> -> !lane, !nv_tileaa.mem_token
    %s = nv_tileas.tiled_store %w[%i], %x, %t {atom = #cute.copy_atom<sm80_stg_32_tf32>} : !lane, !nv_tileaa.memref<32xtf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  nv_tileaa.func @exact(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %i = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [32], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<32xtf32>
    %w = nv_tileaa.make_memref %q, shape = [32], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<32xtf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_tf32>} : !nv_tileaa.memref<32xtf32> -> !lane, !nv_tileaa.mem_token
    %s = nv_tileas.tiled_store %w[%i], %x, %t {atom = #cute.copy_atom<sm80_stg_32_tf32>} : !lane, !nv_tileaa.memref<32xtf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
