// RUN: tessera-opt %s --tileas-schedule=only-agents --tileas-materialize-schedule | filecheck %s
// RUN: tessera-opt %s --tileas-schedule=num-stages=2 --tileas-materialize-schedule | filecheck %s --check-prefix=TWO
// RUN: tessera-opt %s --tileas-materialize-schedule | filecheck %s --check-prefix=NONE

// With a schedule, a product whose sums only the next one adds to ends behind the start of the next one: the loop waits
// for all but one, and releases the stage of the iteration before.  Without, each product is waited for.

// The schedule needs 4 stages; 5 leave room for two CTAs of a multiprocessor, as 4 do.
// CHECK: create_pipeline stages = 5
// CHECK: }, {
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %z, %n : i32
// CHECK: scf.if %[[RUNS]]
// CHECK: %[[FIRST:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: %[[DOT:.*]] = nv_tileas.async.dot %{{.*}}, %{{.*}}, %i
// CHECK: %[[NEXT:.*]] = arith.addi %z, %o : i32
// CHECK: %[[LEFT:.*]]:3 = scf.for %{{.*}} = %[[NEXT]] to %n step %o iter_args(%{{.*}} = %{{.*}}, %[[SUM:.*]] = %[[DOT]], %[[BEFORE:.*]] = %[[FIRST]])
// CHECK: %[[STAGE:.*]] = nv_tileas.async.pipeline.consumer_wait
// CHECK: nv_tileas.async.dot %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK-NEXT: nv_tileas.async.dot_wait 1
// CHECK-NEXT: nv_tileas.async.pipeline.consumer_release %[[BEFORE]]
// CHECK-NEXT: scf.yield %{{.*}}, %{{.*}}, %[[STAGE]]
// CHECK: nv_tileas.async.dot_wait 0
// CHECK-NEXT: nv_tileas.async.pipeline.consumer_release %[[LEFT]]#2
// CHECK: } else {
// CHECK-NEXT: scf.yield %i
// CHECK: nv_tileas.async.dot_result

// TWO: create_pipeline stages = 2

// NONE: }, {
// NONE-NOT: scf.if
// NONE: nv_tileas.async.dot_wait %{{.*}}, 0

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @gemm(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
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
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

