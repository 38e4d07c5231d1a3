// RUN: tessera-opt --mlir-print-local-scope %s --plan-cta -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!fixed = !nv_tileaa.memref<1024x1024xf16>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // What a CTA stores may overlap what the other one has stored in the iteration before: they meet in between.
  // CHECK-LABEL: @meets
  // CHECK: scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %t)
  // CHECK: %[[ORDER:.*]] = nv_tileas.cluster_order %[[BEFORE]] : !nv_tileaa.mem_token
  // CHECK: nv_tileas.tiled_store {{.*}}, %[[ORDER]] {
  nv_tileaa.func @meets(%p: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<128x64xf16>
    %end = scf.for %i = %zero to %m step %step iter_args(%before = %t) -> (!tok) : i32 {
      %after = nv_tileas.tiled_store %v[%i, %zero], %x, %before {atom = #cute.copy_atom<sm80_stg_32_f16>} : tensor<128x64xf16>, !view, !tok
      scf.yield %after : !tok
    }
    nv_tileaa.return
  }

  // Each element of a view of distinct addresses belongs to one CTA, which keeps the order itself.
  // CHECK-LABEL: @own_elements
  // CHECK-NOT: cluster_order
  // CHECK: nv_tileaa.return
  nv_tileaa.func @own_elements(%p: !llvm.ptr<1>, %m: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [1024, 1024], stride = [1024, 1], space = #nv_tileaa.global : !fixed
    %x = arith.constant dense<1.0> : tensor<128x64xf16>
    %end = scf.for %i = %zero to %m step %step iter_args(%before = %t) -> (!tok) : i32 {
      %after = nv_tileas.tiled_store %v[%i, %zero], %x, %before {atom = #cute.copy_atom<sm80_stg_32_f16>} : tensor<128x64xf16>, !fixed, !tok
      scf.yield %after : !tok
    }
    nv_tileaa.return
  }

  // Tiles at any row: an element may be in the upper half of one, and in the lower half of the next.
  // CHECK-LABEL: @any_row
  // CHECK: nv_tileas.cluster_order
  nv_tileaa.func @any_row(%p: !llvm.ptr<1>, %m: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [1024, 1024], stride = [1024, 1], space = #nv_tileaa.global : !fixed
    %x = arith.constant dense<1.0> : tensor<128x64xf16>
    %end = scf.for %i = %zero to %m step %step iter_args(%before = %t) -> (!tok) : i32 {
      %after = nv_tileas.tiled_store %v[%i, %zero], %x, %before {atom = #cute.copy_atom<sm80_stg_32_f16>} : tensor<128x64xf16>, !fixed, !tok
      scf.yield %after : !tok
    }
    nv_tileaa.return
  }

  // Two stores to perhaps the same place: the CTAs meet before the second.
  // CHECK-LABEL: @two_stores
  // CHECK: %[[FIRST:.*]] = nv_tileas.tiled_store
  // CHECK: %[[ORDER:.*]] = nv_tileas.cluster_order %[[FIRST]]
  // CHECK: nv_tileas.tiled_store {{.*}}, %[[ORDER]] {
  nv_tileaa.func @two_stores(%p: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<128x64xf16>
    %first = nv_tileas.tiled_store %v[%zero, %zero], %x, %t {atom = #cute.copy_atom<sm80_stg_32_f16>} : tensor<128x64xf16>, !view, !tok
    %second = nv_tileas.tiled_store %v[%m, %zero], %x, %first {atom = #cute.copy_atom<sm80_stg_32_f16>} : tensor<128x64xf16>, !view, !tok
    nv_tileaa.return
  }

  // Sums that are loaded, and stored again: the CTAs meet before both.
  // CHECK-LABEL: @sums
  // CHECK: iter_args(%[[BEFORE:.*]] = %t)
  // CHECK: %[[ORDER:.*]] = nv_tileas.cluster_order %[[BEFORE]]
  // CHECK: %{{.*}}, %[[LOADED:.*]] = nv_tileas.tiled_load {{.*}}, %[[ORDER]] {
  // CHECK: %[[AGAIN:.*]] = nv_tileas.cluster_order %[[LOADED]]
  // CHECK: nv_tileas.tiled_store {{.*}}, %[[AGAIN]] {
  nv_tileaa.func @sums(%p: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %zero = arith.constant 0 : i32
    %step = arith.constant 128 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %end = scf.for %i = %zero to %m step %step iter_args(%before = %t) -> (!tok) : i32 {
      %x, %loaded = nv_tileas.tiled_load %v[%i, %zero], %before {atom = #cute.copy_atom<sm80_ldg_32_f16>} : !view -> tensor<128x64xf16>, !tok
      %y = arith.addf %x, %x : tensor<128x64xf16>
      %after = nv_tileas.tiled_store %v[%i, %zero], %y, %loaded {atom = #cute.copy_atom<sm80_stg_32_f16>} : tensor<128x64xf16>, !view, !tok
      scf.yield %after : !tok
    }
    nv_tileaa.return
  }
}
