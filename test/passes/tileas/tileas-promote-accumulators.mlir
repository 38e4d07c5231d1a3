// RUN: tessera-opt %s --tileas-promote-accumulators --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf8E4M3FN>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!tile = tensor<64x64xf8E4M3FN>

// The sum of a tile starts from zero, and is added in f32, also behind a product whose sums add up in the tensor cores,
// as the program says.
// CHECK-LABEL: nv_tileaa.func @sums
// CHECK: %[[Z:.*]] = arith.constant dense<0.0{{.*}}> : tensor<64x64xf32>
// CHECK: scf.for %{{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK: %[[F:.*]] = nv_tileas.dot %{{.*}}, %{{.*}}, %[[B]] {{.*}}fast_acc
// CHECK: %[[P:.*]] = nv_tileas.dot %{{.*}}, %{{.*}}, %[[Z]] {{.*}}nv_tileas.promoted
// CHECK: %[[N:.*]] = arith.addf %[[A]], %[[P]]
// CHECK: scf.yield %[[N]], %[[F]]
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @sums(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<1.0> : !acc
    %r:2 = scf.for %k = %z to %n step %o iter_args(%a = %i, %c = %i) -> (!acc, !acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %w, %wt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %u, %ut = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !view -> !tile, !tok
      %yp = nv_tileaa.permute %y [1, 0] : !tile -> !tile
      %up = nv_tileaa.permute %u [1, 0] : !tile -> !tile
      %e = nv_tileas.dot %w, %up, %c {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>, fast_acc} : !tile, !tile, !acc
      // expected-remark @+1 {{sums of 8-bit floats are added in f32, each tile along K}}
      %d = nv_tileas.dot %x, %yp, %a {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>} : !tile, !tile, !acc
      scf.yield %d, %e : !acc, !acc
    }
    nv_tileaa.return
  }
}

// -----

// Two warpgroups hold the sums of a thread once: the products of both loops add a few columns at a time.  A tile of more
// than 256 terms is added in parts.
// CHECK-LABEL: nv_tileaa.func @slices
// CHECK-NOT: arith.addf
// CHECK-COUNT-2: nv_tileas.dot %{{.*}}, %{{.*}}, %{{.*}} {{.*}}nv_tileas.promoted_slices
// CHECK-NOT: arith.addf
!wide = tensor<128x256xf32>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @slices(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf8E4M3FN>
    %i = arith.constant dense<1.0> : !wide
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!wide) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !nv_tileaa.memref<?x?xf8E4M3FN> -> tensor<128x64xf8E4M3FN>, !nv_tileaa.mem_token
      %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !nv_tileaa.memref<?x?xf8E4M3FN> -> tensor<256x64xf8E4M3FN>, !nv_tileaa.mem_token
      %yp = nv_tileaa.permute %y [1, 0] : tensor<256x64xf8E4M3FN> -> tensor<64x256xf8E4M3FN>
      // expected-remark @+1 {{sums of 8-bit floats are added in f32, a few columns of each tile at a time: there are no registers for all sums twice}}
      %d = nv_tileas.dot %x, %yp, %a {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>} : tensor<128x64xf8E4M3FN>, tensor<64x256xf8E4M3FN>, !wide
      scf.yield %d : !wide
    }
    %q = scf.for %k = %z to %n step %o iter_args(%a = %r) -> (!wide) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !nv_tileaa.memref<?x?xf8E4M3FN> -> tensor<128x64xf8E4M3FN>, !nv_tileaa.mem_token
      %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f8E4M3FN>} : !nv_tileaa.memref<?x?xf8E4M3FN> -> tensor<256x64xf8E4M3FN>, !nv_tileaa.mem_token
      %yp = nv_tileaa.permute %y [1, 0] : tensor<256x64xf8E4M3FN> -> tensor<64x256xf8E4M3FN>
      // expected-remark @+1 {{sums of 8-bit floats are added in f32, a few columns of each tile at a time: there are no registers for all sums twice}}
      %d = nv_tileas.dot %x, %yp, %a {atom = #cute_nvgpu.mma_atom<sm89_m16n8k32, f8E4M3FN, f8E4M3FN, f32>} : tensor<128x64xf8E4M3FN>, tensor<64x256xf8E4M3FN>, !wide
      scf.yield %d : !wide
    }
    nv_tileaa.return
  }
}
