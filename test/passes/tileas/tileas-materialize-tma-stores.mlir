// RUN: tessera-opt --mlir-print-local-scope %s --tileas-assign-layouts --tileas-remove-layout-conversions --tileas-materialize-tma-stores --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// The sums go to shared memory as they lie in registers, without a conversion, and on by two boxes of 64 columns.
// CHECK-LABEL: nv_tileaa.func @boxes
// CHECK: %[[B:.*]] = nv_tileas.alloc_tensor {nv_tileas.alignment = 1024 : i64} : !nv_tileas.smem<1x64x128xf16, #nv_tileas.shared<
// CHECK: %[[D:.*]] = nv_tileas.make_tiled_tma_desc %{{.*}}, box = [64, 64] {atom = #cute_nvgpu.atom_copy_field_tmastore<store_2d_f16, swizzle_128B>}
// CHECK-NOT: nv_tileas.convert_layout
// CHECK: nv_tileas.store %{{.*}}, %[[B]][%{{.*}}] {atom = #cute.copy_atom<sm90_stmatrix_x4_f16>}
// CHECK-NEXT: nv_tileas.fence_proxy
// CHECK-NEXT: nv_tileas.async.tiled_tma_store %[[D]][%i, %i], %[[B]][%{{.*}}] after %{{.*}}
// CHECK-NEXT: nv_tileas.async.store_wait 0 read
// CHECK-NEXT: nv_tileaa.return
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @boxes(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// Neighbors lie along the rows: the map has the axes in the other order, and the tile is permuted.
// CHECK-LABEL: nv_tileaa.func @columns
// CHECK: nv_tileaa.make_memref %{{.*}}, shape = [%m, %m], stride = [%{{.*}}, 1]
// CHECK: nv_tileas.make_tiled_tma_desc %{{.*}}, box = [128, 64]
// CHECK: nv_tileaa.permute %{{.*}} [1, 0]
// CHECK-NEXT: arith.constant
// CHECK-NEXT: nv_tileas.store %{{.*}} {atom = #cute.copy_atom<sm90_stmatrix_trans_x4_f16>}
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @columns(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [1, %l], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// In a loop: the boxes have been read before the buffer is filled again.
// CHECK-LABEL: nv_tileaa.func @loop
// CHECK: scf.for
// CHECK: nv_tileas.async.store_wait 0 read
// CHECK: nv_tileas.store
// CHECK: nv_tileas.async.tiled_tma_store
// CHECK: nv_tileas.async.store_wait 0 read
// CHECK-NEXT: nv_tileaa.return
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @loop(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    %o = arith.constant 64 : i32
    scf.for %k = %i to %m step %o : i32 {
      %w = nv_tileas.tiled_store %c[%k, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    }
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// A token carries on to the next iteration: its boxes have been written, too, when the next store begins.
// CHECK-LABEL: nv_tileaa.func @carried
// CHECK: scf.for
// CHECK: nv_tileas.async.store_wait 0{{$}}
// CHECK: nv_tileas.async.tiled_tma_store
// CHECK-NEXT: scf.yield
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @carried(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    %o = arith.constant 64 : i32
    %e = scf.for %k = %i to %m step %o iter_args(%u = %t) -> (!tok) : i32 {
      %w = nv_tileas.tiled_store %c[%k, %i], %h, %u {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
      scf.yield %w : !tok
    }
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// What comes behind by its token waits until the boxes have been written.
// CHECK-LABEL: nv_tileaa.func @followed
// CHECK: nv_tileas.async.tiled_tma_store
// CHECK-NEXT: nv_tileas.async.store_wait 0{{$}}
// CHECK: nv_tileas.tiled_load
// CHECK-NOT: store_wait
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @followed(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    %g, %u = nv_tileas.tiled_load %c[%i, %i], %w {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x128xf16>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// Nothing is known of the base.
// CHECK-LABEL: nv_tileaa.func @base
// CHECK-NOT: tma_store
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @base(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 8 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    // expected-remark @below {{TMA does not store the tile: nv_tileas.tiled_store writes to a base that is not known to be a multiple of 16 bytes: add an assume}}
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// Nothing is known of the stride.
// CHECK-LABEL: nv_tileaa.func @stride
// CHECK-NOT: tma_store
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @stride(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    // expected-remark @below {{TMA does not store the tile: nv_tileas.tiled_store writes a view whose stride of dimension 0 is not known to be a multiple of 16 bytes: add an assume}}
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// The extents follow from no parameter.
// CHECK-LABEL: nv_tileaa.func @extents
// CHECK-NOT: tma_store
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @extents(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %m = arith.muli %n, %n : i32
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    // expected-remark @below {{TMA does not store the tile: nv_tileas.tiled_store writes a view whose extents or strides are not derived from kernel parameters}}
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// A cache operator.
// CHECK-LABEL: nv_tileaa.func @cache
// CHECK-NOT: tma_store
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @cache(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    // expected-remark @below {{TMA does not store the tile: nv_tileas.tiled_store has a cache operator, which TMA does not support}}
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>, cache = "cs"} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token

// An earlier store of the threads, by its token.
// CHECK-LABEL: nv_tileaa.func @after
// CHECK-NOT: tma_store
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @after(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %x = arith.constant dense<1.0> : tensor<64x16xf16>
    %y = arith.constant dense<1.0> : tensor<16x128xf16>
    %z = arith.constant dense<0.0> : tensor<64x128xf32>
    %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
    %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
    %f = arith.constant dense<1.0> : tensor<8x8xf16>
    // expected-remark @below {{TMA does not store the tile: nv_tileas.tiled_store takes about}}
    %e = nv_tileas.tiled_store %c[%i, %i], %f, %t {atom = #cute.copy_atom<sm80_stg_16_f16>} : tensor<8x8xf16>, !view, !tok
    // expected-remark-re @below {{TMA does not store the tile: nv_tileas.tiled_store is ordered by its token after 'nv_tileas.tiled_store' at {{.*}}, whose writes must be visible to TMA}}
    %w = nv_tileas.tiled_store %c[%i, %i], %h, %e {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    nv_tileaa.return
  }
}

// -----

// TMA would store both tiles in any order.
!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @unordered(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %go: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    // expected-remark-re @below {{TMA does not store the tile: nv_tileas.tiled_store writes a tensor that another store at {{.*}} also writes, without a token that orders them}}
    %e = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    // expected-remark-re @below {{TMA does not store the tile: nv_tileas.tiled_store writes a tensor that another store at {{.*}} also writes, without a token that orders them}}
    %h = nv_tileas.tiled_store %c[%z, %o], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!big = !nv_tileas.smem<7x64x128xf16>

// Agents with setmaxnreg use all registers: there is one CTA at a time, whatever memory it takes.
// CHECK-LABEL: nv_tileaa.func @agents
// CHECK: nv_tileas.async.tiled_tma_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @agents(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] registers = [40, 232] {
    }, {
      %u = nv_tileas.alloc_tensor : !big
      %zero = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : tensor<64x16xf16>
      %y = arith.constant dense<1.0> : tensor<16x128xf16>
      %z = arith.constant dense<0.0> : tensor<64x128xf32>
      %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
      %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
      nv_tileas.store %h, %u[%zero] {atom = #cute.copy_atom<sm80_sts_16_f16>} : tensor<64x128xf16>, !big
      // expected-remark @below {{store by TMA in boxes of 64x64 elements}}
      %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    }
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!big = !nv_tileas.smem<7x64x128xf16>

// Without it, two CTAs fit, and with the buffer there would be one.
// CHECK-LABEL: nv_tileaa.func @warps
// CHECK-NOT: tma_store
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @warps(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    nv_tileas.async.pipeline.agent_switch num_warps = [4, 4] warp_id = [0, 4] {
    }, {
      %u = nv_tileas.alloc_tensor : !big
      %zero = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : tensor<64x16xf16>
      %y = arith.constant dense<1.0> : tensor<16x128xf16>
      %z = arith.constant dense<0.0> : tensor<64x128xf32>
      %d = nv_tileas.dot %x, %y, %z {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x128xf16>, tensor<64x128xf32>
      %h = arith.truncf %d : tensor<64x128xf32> to tensor<64x128xf16>
      nv_tileas.store %h, %u[%zero] {atom = #cute.copy_atom<sm80_sts_16_f16>} : tensor<64x128xf16>, !big
      // expected-remark @below {{TMA does not store the tile: nv_tileas.tiled_store would take 16384 bytes of shared memory, with which fewer CTAs would fit on a multiprocessor}}
      %w = nv_tileas.tiled_store %c[%i, %i], %h, %t {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x128xf16>, !view, !tok
    }
    nv_tileaa.return
  }
}
