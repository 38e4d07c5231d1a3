// RUN: tessera-opt %s --tileas-materialize-schedule --tileas-materialize-tensor-memory --split-input-file -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!f = tensor<64x64xf16>

// Two products take the same tile, the second one transposed: through a view whose axes have another order.  It is brought
// once, and the consumer releases its stage behind the second product.
// CHECK-LABEL: nv_tileaa.func @wgmma
// CHECK: nv_tileas.alloc_tensor
// CHECK: nv_tileas.alloc_tensor
// CHECK: nv_tileas.alloc_tensor
// CHECK-NOT: nv_tileas.alloc_tensor
// CHECK: }, {
// CHECK: %[[A:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: %[[BOTH:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: %[[ALONG:.*]] = nv_tileas.view %[[BUFFER:.*]], %[[STAGE:.*]] :
// CHECK: %[[ACROSS:.*]] = nv_tileas.view %[[BUFFER]], %[[STAGE]] :
// CHECK: nv_tileas.async.dot %{{.*}}, %[[ALONG]],
// CHECK: consumer_release %[[A]]
// CHECK: nv_tileas.async.dot %{{.*}}, %[[ACROSS]],
// CHECK: nv_tileas.async.dot_wait
// CHECK: consumer_release %[[BOTH]]
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @wgmma(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [1, %l], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r:2 = scf.for %k = %z to %n step %o iter_args(%a = %i, %g = %i) -> (!acc, !acc) : i32 {
      %q, %qt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %d = nv_tileas.dot %q, %x, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !f, !f, !acc
      %j, %jt = nv_tileas.tiled_load %v[%o, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %y, %yt = nv_tileas.tiled_load %w[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> !f, !tok
      %e = nv_tileas.dot %j, %y, %g {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !f, !f, !acc
      scf.yield %d, %e : !acc, !acc
    }
    %h = arith.addf %r#0, %r#1 : !acc
    %u = nv_tileas.tiled_store %c[%z, %z], %h, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!f = tensor<64x64xf16>

// The same by tcgen05.mma, of one agent.
// CHECK-LABEL: nv_tileaa.func @tcgen05
// CHECK: nv_tileas.alloc_tensor
// CHECK: nv_tileas.alloc_tensor
// CHECK: nv_tileas.alloc_tensor
// CHECK-NOT: nv_tileas.alloc_tensor
// CHECK: }, {
// CHECK: %[[A:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: %[[BOTH:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: %[[ALONG:.*]] = nv_tileas.view %[[BUFFER:.*]], %[[STAGE:.*]] :
// CHECK: %[[ACROSS:.*]] = nv_tileas.view %[[BUFFER]], %[[STAGE]] :
// CHECK: nv_tileas.async.umma %{{.*}}, %[[ALONG]],
// CHECK: consumer_release %[[A]] products
// CHECK: nv_tileas.async.umma %{{.*}}, %[[ACROSS]],
// CHECK: consumer_release %[[BOTH]] products
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @tcgen05(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [1, %l], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r:2 = scf.for %k = %z to %n step %o iter_args(%a = %i, %g = %i) -> (!acc, !acc) : i32 {
      %q, %qt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %d = nv_tileas.dot %q, %x, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !f, !f, !acc
      %j, %jt = nv_tileas.tiled_load %v[%o, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %y, %yt = nv_tileas.tiled_load %w[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> !f, !tok
      %e = nv_tileas.dot %j, %y, %g {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !f, !f, !acc
      scf.yield %d, %e : !acc, !acc
    }
    %h = arith.addf %r#0, %r#1 : !acc
    %u = nv_tileas.tiled_store %c[%z, %z], %h, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!f = tensor<64x64xf16>

// Another tile of the same memory has a stage of its own.
// CHECK-LABEL: nv_tileaa.func @others
// CHECK-COUNT-4: nv_tileas.alloc_tensor
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @others(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [1, %l], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r:2 = scf.for %k = %z to %n step %o iter_args(%a = %i, %g = %i) -> (!acc, !acc) : i32 {
      %q, %qt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %d = nv_tileas.dot %q, %x, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !f, !f, !acc
      %j, %jt = nv_tileas.tiled_load %v[%o, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !f, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %o], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> !f, !tok
      %e = nv_tileas.dot %j, %y, %g {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !f, !f, !acc
      scf.yield %d, %e : !acc, !acc
    }
    %h = arith.addf %r#0, %r#1 : !acc
    %u = nv_tileas.tiled_store %c[%z, %z], %h, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
