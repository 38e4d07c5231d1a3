// RUN: tessera-opt --mlir-print-local-scope %s --tileas-prepare-for-scheduling --split-input-file -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt --mlir-print-local-scope %s --tileas-prepare-for-scheduling=steps=refineVecSizeOfAtoms --split-input-file | filecheck %s --check-prefix=WIDTH

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!tile = tensor<64x64xf16>
!acc = tensor<64x64xf32>

// decomposeTiledLoadStoreView: two products take B, each gets a load of its own; A has another user, and stays.
// refineVecSizeOfAtoms: the base and the rows are multiples of 16 bytes.
// CHECK-LABEL: nv_tileaa.func @shared
// CHECK-COUNT-3: nv_tileas.tiled_load %{{.*}} {atom = #cute.copy_atom<sm80_ldg_128_f16>}
// CHECK: %[[B:.*]] = nv_tileaa.permute
// CHECK: %[[D:.*]] = nv_tileas.dot %[[A:.*]], %[[B]],
// CHECK: nv_tileas.dot %[[A]], %[[OTHER:.*]], %[[D]]
// CHECK: nv_tileas.tiled_store {{.*}}sm80_stg_128_f16
// WIDTH-LABEL: nv_tileaa.func @shared
// WIDTH-COUNT-2: nv_tileas.tiled_load {{.*}}sm80_ldg_128_f16
// WIDTH-NOT: nv_tileas.tiled_load
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @shared(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %e = nv_tileaa.assume %m {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%e, %e], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> !tile, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> !tile, !tok
    %r = nv_tileaa.permute %y [1, 0] : !tile -> !tile
    %d = nv_tileas.dot %x, %r, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
    %f = nv_tileas.dot %x, %y, %d {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
    %h = arith.truncf %f : !acc to !tile
    %g = arith.addf %h, %x : !tile
    %w = nv_tileas.tiled_store %v[%z, %z], %g, %t {atom = #cute.copy_atom<sm80_stg_16_f16>} : !tile, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!tile = tensor<64x64xf16>
!acc = tensor<64x64xf32>

// A tile of another shape than the factors: each product gets a load and the reshape behind it, also for tcgen05.mma.
// WIDTH-LABEL: nv_tileaa.func @shared_behind_a_reshape
// CHECK-LABEL: nv_tileaa.func @shared_behind_a_reshape
// CHECK: %[[X:.*]], %{{.*}} = nv_tileas.tiled_load
// CHECK: %[[Y:.*]], %{{.*}} = nv_tileas.tiled_load
// CHECK: %[[B:.*]] = nv_tileaa.reshape %[[Y]]
// CHECK: %[[A:.*]] = nv_tileaa.reshape %[[X]]
// CHECK: %[[T:.*]] = nv_tileaa.permute %[[B]]
// CHECK: nv_tileas.dot %[[A]], %[[T]],
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @shared_behind_a_reshape(%v: !nv_tileaa.memref<?x?x?xf16>) -> !acc attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %i = arith.constant dense<0.0> : !acc
    %x, %xt = nv_tileas.tiled_load %v[%z, %z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !nv_tileaa.memref<?x?x?xf16> -> tensor<1x64x64xf16>, !tok
    %y = nv_tileaa.reshape %x : tensor<1x64x64xf16> -> !tile
    %r = nv_tileaa.permute %y [1, 0] : !tile -> !tile
    %d = nv_tileas.dot %y, %r, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
    nv_tileaa.return %d : !acc
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!tile = tensor<64x64xf16>

// Nothing is known of the stride: the atom stays. A load after the other of the same place stays, too.
// WIDTH-LABEL: nv_tileaa.func @unknown
// WIDTH: nv_tileas.tiled_load {{.*}}sm80_ldg_16_f16
// CHECK-LABEL: nv_tileaa.func @unknown
// CHECK: nv_tileas.tiled_load {{.*}}sm80_ldg_16_f16
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @unknown(%p: !llvm.ptr<1>, %m: i32, %s: i32) -> !tile attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> !tile, !tok
    nv_tileaa.return %x : !tile
  }
}

// -----

// sliceAndFuse: what two slices have in common is computed once. runCanonicalizer: the counters are folded.
// CHECK-LABEL: nv_tileaa.func @slices
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[X:.*]] = %{{.*}})
// CHECK-NEXT: %[[S:.*]] = math.sqrt %f
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[X]], %[[S]]
// CHECK-NEXT: %[[B:.*]] = arith.addf %[[A]], %[[S]]
// CHECK-NEXT: scf.yield %[[B]]
// CHECK-NOT: scf.for
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @slices(%f: f32) -> f32 attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %e = arith.constant 8 : i32
    %o = arith.constant 1 : i32
    %r = scf.for %i = %z to %e step %o iter_args(%x = %f) -> (f32) : i32 {
      %s = math.sqrt %f : f32
      %y = arith.addf %x, %s : f32
      scf.yield %y : f32
    } {sliceCount = 2 : i64}
    nv_tileaa.return %r : f32
  }
}

// -----

!tile = tensor<64x64xf16>

// compactMemLayout: of four stages, two are used; a buffer without an access goes.
// CHECK-LABEL: nv_tileaa.func @stages
// CHECK: nv_tileas.alloc_tensor : !nv_tileas.smem<2x64x64xf16>
// CHECK-NOT: alloc_tensor
// CHECK: nv_tileas.store %x, %{{.*}}[%[[Z:.*]]] {{.*}}smem<2x64x64xf16>
// CHECK: nv_tileas.load %{{.*}}[%[[O:.*]]] {{.*}}smem<2x64x64xf16>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @stages(%x: !tile) -> !tile attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %o = arith.constant 1 : i32
    %h = arith.constant 3 : i32
    %a = nv_tileas.alloc_tensor : !nv_tileas.smem<4x64x64xf16>
    %b = nv_tileas.alloc_tensor : !nv_tileas.smem<4x64x64xf16>
    nv_tileas.store %x, %a[%o] {atom = #cute.copy_atom<sm80_sts_16_f16>} : !tile, !nv_tileas.smem<4x64x64xf16>
    %l = nv_tileas.load %a[%h] offsets = [0, 0] {atom = #cute.copy_atom<sm80_lds_16_f16>} : !nv_tileas.smem<4x64x64xf16> -> !tile
    nv_tileaa.return %l : !tile
  }
}

// -----

// refreshBoxDim: rows of 512 bytes are four boxes of 128, the bytes of the swizzle.
// CHECK-LABEL: nv_tileaa.func @boxes
// CHECK: nv_tileas.make_tiled_tma_desc %v, box = [128, 32] {{.*}} -> !nv_tileas.tma_desc<128x32xf32>
// CHECK: nv_tileas.async.tiled_tma_store {{.*}}: !nv_tileas.tma_desc<128x32xf32>, !nv_tileas.smem<1x128x128xf32, #nv_tileas.shared<
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @boxes(%v: !nv_tileaa.memref<?x?xf32>, %z: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %b = nv_tileas.alloc_tensor : !nv_tileas.smem<1x128x128xf32>
    %d = nv_tileas.make_tiled_tma_desc %v, box = [128, 128] {atom = #cute_nvgpu.atom_copy_field_tmastore<store_2d_f32, swizzle_128B>} : !nv_tileaa.memref<?x?xf32> -> !nv_tileas.tma_desc<128x128xf32>
    nv_tileas.async.tiled_tma_store %d[%z, %z], %b[%z] : !nv_tileas.tma_desc<128x128xf32>, !nv_tileas.smem<1x128x128xf32>
    nv_tileaa.return
  }
}
