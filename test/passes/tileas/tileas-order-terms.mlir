// RUN: tessera-opt %s --tileas-order-terms --split-input-file -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf8E4M3FN>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!tile = tensor<64x64xf8E4M3FN>

// A thread has sums 2i, 2i + 1, 8 + 2i and 9 + 2i of each 16, which become terms 4i to 4i + 3, of both factors.
// CHECK-LABEL: nv_tileaa.func @chained
// CHECK: %[[P:.*]] = nv_tileaa.truncf_satfinite
// CHECK: %[[A:.*]] = nv_tileaa.reshape %[[P]] : tensor<64x64xf8E4M3FN> -> tensor<64x4x2x4x2xf8E4M3FN>
// CHECK: %[[B:.*]] = nv_tileaa.permute %[[A]] [0, 1, 3, 2, 4] : {{.*}} -> tensor<64x4x4x2x2xf8E4M3FN>
// CHECK: %[[LEFT:.*]] = nv_tileaa.reshape %[[B]] : {{.*}} -> tensor<64x64xf8E4M3FN>
// CHECK: nv_tileaa.reshape %{{.*}} : tensor<64x64xf8E4M3FN> -> tensor<4x2x4x2x64xf8E4M3FN>
// CHECK: nv_tileaa.permute %{{.*}} [0, 2, 1, 3, 4]
// CHECK: %[[RIGHT:.*]] = nv_tileaa.reshape
// CHECK: nv_tileas.dot %[[LEFT]], %[[RIGHT]],
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @chained(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %w, %wt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %yp = nv_tileaa.permute %y [1, 0] : !tile -> !tile
      %d = nv_tileas.dot %x, %yp, %i {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>} : !tile, !tile, !acc
      %q = nv_tileaa.truncf_satfinite %d : !acc to !tile
      %e = nv_tileas.dot %q, %w, %a {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>, fast_acc} : !tile, !tile, !acc
      scf.yield %e : !acc
    }
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!tile = tensor<64x64xf16>

// Threads have the terms of 16 bits that the instruction reads.
// CHECK-LABEL: nv_tileaa.func @halves
// CHECK-NOT: nv_tileaa.reshape
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @halves(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !tile, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !tile, !tok
      %w, %wt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !tile, !tok
      %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
      %q = arith.truncf %d : !acc to !tile
      %e = nv_tileas.dot %q, %w, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
      scf.yield %e : !acc
    }
    nv_tileaa.return
  }
}
