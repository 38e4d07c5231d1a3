// RUN: tessera-opt %s --tileas-cut-products --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// All registers of an SM would be the sums: a loop computes half of the columns at a time, with the bias and the store.
// CHECK-LABEL: nv_tileaa.func @columns
// CHECK: scf.for %[[P:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i32 {
// CHECK: scf.for {{.*}} -> (tensor<128x256xf32>)
// CHECK: nv_tileas.tiled_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} -> tensor<128x32xf16>
// CHECK: %[[EXTENT:.*]] = arith.constant 256 : i32
// CHECK: %[[OFFSET:.*]] = arith.muli %[[P]], %[[EXTENT]] : i32
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[OFFSET]] : i32
// CHECK: nv_tileas.tiled_load %{{.*}}[%{{.*}}, %[[COLUMN]]], %{{.*}} -> tensor<32x256xf16>
// CHECK: nv_tileas.dot {{.*}} : tensor<128x32xf16>, tensor<32x256xf16>, tensor<128x256xf32>
// CHECK: nv_tileaa.broadcast %{{.*}} : tensor<1x256xf32> -> tensor<128x256xf32>
// CHECK: nv_tileas.tiled_store %{{.*}} : tensor<128x256xf32>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @columns(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<128x512xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
      // expected-remark @below {{computed in parts of 128x256, one after the other: an SM has no room for 128x512}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
      scf.yield %d : tensor<128x512xf32>
    }
    %b, %bt = nv_tileas.tiled_load %w[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<1x512xf32>, !tok
    %c = nv_tileaa.broadcast %b : tensor<1x512xf32> -> tensor<128x512xf32>
    %e = arith.addf %r, %c : tensor<128x512xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// An index that may be negative is an unsigned number: with the offset of a part it must not wrap into the tensor.
// CHECK-LABEL: nv_tileaa.func @anywhere
// CHECK-SAME: %[[J:[a-z0-9]+]]: i32, %[[H:[a-z0-9]+]]: i32)
// CHECK: %[[KNOWN:.*]] = nv_tileaa.assume %[[H]]
// CHECK: %[[OFFSET:.*]] = arith.muli
// CHECK: %[[LAST:.*]] = arith.constant -512 : i32
// CHECK: %[[BEFORE:.*]] = arith.minui %[[J]], %[[LAST]] : i32
// CHECK: %[[COLUMN:.*]] = arith.addi %[[BEFORE]], %[[OFFSET]] : i32
// CHECK: nv_tileas.tiled_load %{{.*}}[%{{.*}}, %[[COLUMN]]], %{{.*}} -> tensor<32x256xf16>
// CHECK-NOT: arith.minui
// CHECK: arith.addi %[[KNOWN]], %{{.*}} : i32
// CHECK: nv_tileas.tiled_store
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @anywhere(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %j: i32, %h: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<128x512xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %j], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
      // expected-remark @below {{computed in parts of 128x256, one after the other: an SM has no room for 128x512}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
      scf.yield %d : tensor<128x512xf32>
    }
    %g = nv_tileaa.assume %h {lower = 0 : i64} : i32
    %f = nv_tileas.tiled_store %w[%z, %g], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// The sum of a row needs all of its columns.
// CHECK-LABEL: nv_tileaa.func @rows
// CHECK: tensor<128x512xf32>
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @rows(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<128x512xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
      // expected-remark @below {{128x512 sums are not computed in parts, as an SM needs: nv_tileas.dot makes sums of which whole rows or columns are needed}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
      scf.yield %d : tensor<128x512xf32>
    }
    %h = nv_tileaa.reduce %r axis = 1 identities = [0.0 : f32] : tensor<128x512xf32> -> tensor<128xf32> {
    ^bb0(%l: f32, %g: f32):
      %u = arith.addf %l, %g : f32
      nv_tileaa.yield %u : f32
    }
    %j = nv_tileaa.reshape %h : tensor<128xf32> -> tensor<128x1xf32>
    %c = nv_tileaa.broadcast %j : tensor<128x1xf32> -> tensor<128x512xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %c, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// What is stored may be what the next part loads.
// CHECK-LABEL: nv_tileaa.func @in_place
// CHECK: tensor<256x256xf32>
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @in_place(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{not computed in parts, as an SM needs: nv_tileas.tiled_load at {{.*}} is ordered by its token before a store, which another part would execute first}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %xt {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// The first store of the second part would overwrite what the second store of the first part has written.
// CHECK-LABEL: nv_tileaa.func @ordered_stores
// CHECK: tensor<256x256xf32>
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @ordered_stores(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark-re @below {{not computed in parts, as an SM needs: nv_tileas.tiled_store at {{.*}} is ordered by its token after a store, perhaps to the same place}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    %g = nv_tileas.tiled_store %w[%z, %m], %d, %f {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// Stores to the same place keep their order in each part.
// CHECK-LABEL: nv_tileaa.func @same_place
// CHECK-COUNT-2: nv_tileas.tiled_store %{{.*}} : tensor<128x256xf32>
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @same_place(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<128x512xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x512xf16>, !tok
    // expected-remark @below {{computed in parts of 128x256}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x32xf16>, tensor<32x512xf16>, tensor<128x512xf32>
    %f = nv_tileas.tiled_store %w[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    %g = nv_tileas.tiled_store %w[%z, %z], %d, %f {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<128x512xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// The loop of a persistent kernel has all parts of a tile before the next tile, whose store comes after those of all
// parts. What all parts need, they do not compute again.
// CHECK-LABEL: nv_tileaa.func @persistent
// CHECK: %{{.*}}:2 = scf.for %[[TILE:[a-z0-9]+]] = {{.*}} iter_args(%[[BEFORE:[a-z0-9]+]] = %{{.*}}, %[[COUNT:[a-z0-9]+]] = %{{.*}}) -> (!nv_tileaa.mem_token, i32)
// CHECK: %[[ROW:.*]] = arith.muli %[[TILE]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[COUNT]]
// CHECK: %[[STORED:.*]] = scf.for %[[P:[a-z0-9]+]] = {{.*}} iter_args(%[[OTHERS:[a-z0-9]+]] = %[[BEFORE]]) -> (!nv_tileaa.mem_token)
// CHECK: scf.for {{.*}} -> (tensor<128x256xf32>)
// CHECK: %[[TOKEN:.*]] = nv_tileas.tiled_store {{.*}}, %[[BEFORE]] {{.*}} : tensor<128x256xf32>
// CHECK: %[[ALL:.*]] = nv_tileaa.join_mem_tokens %[[OTHERS]], %[[TOKEN]]
// CHECK-NEXT: scf.yield %[[ALL]]
// CHECK: scf.yield %[[STORED]], %[[NEXT]] : !nv_tileaa.mem_token, i32
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @persistent(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 32 : i32
    %h = arith.constant 256 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %g:2 = scf.for %b = %z to %n step %o iter_args(%c = %t, %e = %z) -> (!tok, i32) : i32 {
      %l = arith.muli %b, %h : i32
      %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<256x256xf32>) : i32 {
        %x, %xt = nv_tileas.tiled_load %v[%l, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
        %y, %yt = nv_tileas.tiled_load %v[%k, %e], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
        // expected-remark @below {{computed in parts of 128x256, one after the other: an SM has no room for 256x256}}
        %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
        scf.yield %d : tensor<256x256xf32>
      }
      %f = nv_tileas.tiled_store %w[%l, %e], %r, %c {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
      %u = arith.addi %e, %h : i32
      scf.yield %f, %u : !tok, i32
    }
    nv_tileaa.return
  }
}

// -----

// A tile of one matrix of a batch is cut along the axes of the matrix.
// CHECK-LABEL: nv_tileaa.func @batch
// CHECK: nv_tileaa.reshape %{{.*}} : tensor<128x256xf32> -> tensor<1x128x256xf32>
// CHECK: nv_tileas.tiled_store %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], %{{.*}} : tensor<1x128x256xf32>
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @batch(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m, %m], stride = [%s, %s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
    // expected-remark @below {{computed in parts of 128x256}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
    %e = nv_tileaa.reshape %d : tensor<256x256xf32> -> tensor<1x256x256xf32>
    %f = nv_tileas.tiled_store %w[%z, %z, %z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<1x256x256xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// The tiles of several groups: what is loaded and asserted for each group is not done again for each part, also if a store
// comes after it.
// CHECK-LABEL: nv_tileaa.func @groups
// CHECK: scf.for %[[G:[a-z0-9]+]] =
// CHECK: nv_tileas.tiled_load %{{.*}}[%[[G]]]
// CHECK: scf.for %[[TILE:[a-z0-9]+]] =
// CHECK: %[[ROW:.*]] = arith.muli %[[TILE]]
// CHECK: scf.for %[[P:[a-z0-9]+]] =
// CHECK: nv_tileas.tiled_store {{.*}} : tensor<128x256xf32>
// CHECK: nv_tileaa.assert
!view = !nv_tileaa.memref<?x?xf16>
!table = !nv_tileaa.memref<?xi32>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @groups(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %c: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %i = arith.constant dense<0.0> : tensor<256x256xf32>
    %counts = nv_tileaa.make_memref %c, shape = [%n], stride = [1], space = #nv_tileaa.global : !table
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %r:2 = scf.for %g = %z to %n step %one iter_args(%a = %t, %at = %z) -> (!tok, i32) : i32 {
      %row, %rt = nv_tileas.tiled_load %counts[%g], %t {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !table -> tensor<1xi32>, !tok
      %count = nv_tileaa.unsplat %row : tensor<1xi32> -> i32
      %e:2 = scf.for %tile = %at to %count step %one iter_args(%b = %a, %last = %at) -> (!tok, i32) : i32 {
        %k = arith.muli %tile, %m : i32
        %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
        %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
        // expected-remark @below {{computed in parts of 128x256, one after the other: an SM has no room for 256x256}}
        %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
        %after = nv_tileaa.join_mem_tokens %b, %rt : !tok
        %f = nv_tileas.tiled_store %w[%k, %z], %d, %after {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
        %next = arith.addi %tile, %one : i32
        scf.yield %f, %next : !tok, i32
      }
      %done = arith.cmpi sge, %e#1, %count : i32
      nv_tileaa.assert %done, "more tiles" : i1
      scf.yield %e#0, %e#1 : !tok, i32
    }
    nv_tileaa.return
  }
}

// -----

// A bias that is loaded once for all tiles, of which each part needs another part: all tiles are computed for one part,
// and then for the other.
// CHECK-LABEL: nv_tileaa.func @before
// CHECK: scf.for %[[P:[a-z0-9]+]] =
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<128x256xf32>
// CHECK: scf.for %[[TILE:[a-z0-9]+]] =
// CHECK: nv_tileas.tiled_store {{.*}} : tensor<128x256xf32>
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @before(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %u: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %bias = nv_tileaa.make_memref %u, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i, %it = nv_tileas.tiled_load %bias[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !out -> tensor<256x256xf32>, !tok
    scf.for %tile = %z to %n step %one : i32 {
      %k = arith.muli %tile, %m : i32
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x32xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<32x256xf16>, !tok
      // expected-remark @below {{computed in parts of 128x256, one after the other: an SM has no room for 256x256}}
      %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>
      %f = nv_tileas.tiled_store %w[%k, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256x256xf32>, !out, !tok
    }
    nv_tileaa.return
  }
}
