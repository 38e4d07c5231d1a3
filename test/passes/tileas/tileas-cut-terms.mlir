// RUN: tessera-opt %s --tileas-cut-products --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

// Two stages of 64x512 and 512x128 are 384 KB. The sums of a tile are needed whole, so that the kernel cannot be cut;
// the product adds 128 terms at a time. What was loaded once is loaded for each product.
// CHECK-LABEL: nv_tileaa.func @terms
// CHECK-NOT: tensor<64x512xbf16>
// CHECK: scf.for
// CHECK: %[[S:.*]] = scf.for %[[P:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<64x128xf32>)
// CHECK: %[[EACH:.*]] = arith.constant 128 : i32
// CHECK: %[[AT:.*]] = arith.muli %[[P]], %[[EACH]] : i32
// CHECK: %[[K:.*]] = arith.addi %{{.*}}, %[[AT]] : i32
// CHECK: %[[A:.*]], %{{.*}} = nv_tileas.tiled_load %{{.*}}[%{{.*}}, %[[K]]], %{{.*}} -> tensor<64x128xbf16>
// CHECK: %[[B:.*]], %{{.*}} = nv_tileas.tiled_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} -> tensor<1x128x128xbf16>
// CHECK: %[[R:.*]] = nv_tileaa.reshape %[[B]] : tensor<1x128x128xbf16> -> tensor<128x128xbf16>
// CHECK: %[[T:.*]] = nv_tileaa.permute %[[R]] [1, 0] : tensor<128x128xbf16> -> tensor<128x128xbf16>
// CHECK: %[[D:.*]] = nv_tileas.dot %[[A]], %[[T]], %[[ACC]]
// CHECK: scf.yield %[[D]]
// CHECK: nv_tileaa.reduce %[[S]]
!view = !nv_tileaa.memref<?x?xbf16>
!deep = !nv_tileaa.memref<?x?x?xbf16>
!out = !nv_tileaa.memref<?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @terms(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 128 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %p, shape = [%m, %m, %m], stride = [%s, %s, 1], space = #nv_tileaa.global : !deep
    %w = nv_tileaa.make_memref %q, shape = [%m], stride = [1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<64x128xf32>
    %l = arith.constant dense<0.0> : tensor<64xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_bf16>} : !view -> tensor<64x512xbf16>, !tok
    %r = scf.for %k = %z to %n step %o iter_args(%a = %l) -> (tensor<64xf32>) : i32 {
      %y, %yt = nv_tileas.tiled_load %u[%z, %k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_bf16>} : !deep -> tensor<1x128x512xbf16>, !tok
      %y2 = nv_tileaa.reshape %y : tensor<1x128x512xbf16> -> tensor<128x512xbf16>
      %y3 = nv_tileaa.permute %y2 [1, 0] : tensor<128x512xbf16> -> tensor<512x128xbf16>
      // expected-remark @below {{adds 128 terms at a time: an SM has no room for two stages of 64x128x512}}
      %d = nv_tileas.dot %x, %y3, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, bf16, bf16, f32>} : tensor<64x512xbf16>, tensor<512x128xbf16>, tensor<64x128xf32>
      %e = nv_tileaa.reduce %d axis = 1 identities = [0.0 : f32] : tensor<64x128xf32> -> tensor<64xf32> {
      ^bb0(%f: f32, %g: f32):
        %h = arith.addf %f, %g : f32
        nv_tileaa.yield %h : f32
      }
      %b = arith.addf %a, %e : tensor<64xf32>
      scf.yield %b : tensor<64xf32>
    }
    %c = nv_tileas.tiled_store %w[%z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<64xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// A computed factor has no parts to load.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @computed(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<64x128xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<64x128xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x1024xf16>, !tok
      %x2 = math.exp2 %x : tensor<64x1024xf16>
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<1024x128xf16>, !tok
      // expected-remark @below {{64x128 sums are not computed in parts, as an SM needs: nv_tileas.dot has no room for 64x64 sums either, and it adds all terms at once: nv_tileas.dot has a factor that no load brings: use smaller tiles}}
      %d = nv_tileas.dot %x2, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x1024xf16>, tensor<1024x128xf16>, tensor<64x128xf32>
      scf.yield %d : tensor<64x128xf32>
    }
    %e = nv_tileas.tiled_store %w[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<64x128xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// What is stored into the same tensor must come after the load, which would come later.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @ordered(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<64x128xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x1024xf16>, !tok
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<64x128xf32>) : i32 {
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<1024x128xf16>, !tok
      // expected-remark-re @below {{and it adds all terms at once: nv_tileas.tiled_load at {{.*}} is ordered by its token before other accesses: use smaller tiles}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x1024xf16>, tensor<1024x128xf16>, tensor<64x128xf32>
      scf.yield %d : tensor<64x128xf32>
    }
    %e = nv_tileas.tiled_store %w[%z, %z], %r, %xt {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<64x128xf32>, !out, !tok
    nv_tileaa.return
  }
}

// -----

// All registers of an SM would be the sums, whatever the number of terms.
!view = !nv_tileaa.memref<?x?xf16>
!out = !nv_tileaa.memref<?xf32>
!tok = !nv_tileaa.mem_token
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @sums(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %v = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %q, shape = [%m], stride = [1], space = #nv_tileaa.global : !out
    %i = arith.constant dense<0.0> : tensor<256x512xf32>
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<256x128xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x512xf16>, !tok
    // expected-remark-re @below {{256x512 sums are not computed in parts, as an SM needs: {{.*}}, and it adds all terms at once: nv_tileas.dot has no room for fewer terms either: use smaller tiles}}
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<256x128xf16>, tensor<128x512xf16>, tensor<256x512xf32>
    %e = nv_tileaa.reduce %d axis = 1 identities = [0.0 : f32] : tensor<256x512xf32> -> tensor<256xf32> {
    ^bb0(%f: f32, %g: f32):
      %h = arith.addf %f, %g : f32
      nv_tileaa.yield %h : f32
    }
    %c = nv_tileas.tiled_store %w[%z], %e, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<256xf32>, !out, !tok
    nv_tileaa.return
  }
}
