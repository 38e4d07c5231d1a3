// RUN: tessera-opt %s --tileas-materialize-schedule --tileas-materialize-tensor-memory --split-input-file | filecheck %s

// An agent executes a branch that only computes numbers from numbers, as it stands.

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// CHECK-LABEL: nv_tileaa.func @searched_90
// CHECK: agent_switch
// CHECK: %[[G:.*]] = scf.for
// CHECK: nv_tileas.tiled_load
// CHECK: %[[IF:.*]] = scf.if
// CHECK-NEXT: %[[A:.*]] = arith.addi
// CHECK-NEXT: scf.yield %[[A]]
// CHECK: scf.yield %[[IF]]
// CHECK: tiled_tma_load {{.*}}[%[[G]],
// CHECK-NOT: channel
// CHECK: nv_tileaa.return
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @searched_90(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %e = nv_tileaa.make_memref %q, shape = [%m], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xi32>
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %g = scf.for %j = %z to %m step %o iter_args(%h = %z) -> (i32) : i32 {
      %f, %ft = nv_tileas.tiled_load %e[%j], %t {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !nv_tileaa.memref<?xi32> -> tensor<1xi32>, !tok
      %u = nv_tileaa.unsplat %f : tensor<1xi32> -> i32
      %x = arith.cmpi slt, %h, %u : i32
      %y = scf.if %x -> (i32) {
        %a = arith.addi %j, %o : i32
        scf.yield %a : i32
      } else {
        scf.yield %h : i32
      }
      scf.yield %y : i32
    }
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%g, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// CHECK-LABEL: nv_tileaa.func @searched_100
// CHECK: agent_switch
// CHECK: %[[G:.*]] = scf.for
// CHECK: nv_tileas.tiled_load
// CHECK: %[[IF:.*]] = scf.if
// CHECK-NEXT: %[[A:.*]] = arith.addi
// CHECK-NEXT: scf.yield %[[A]]
// CHECK: scf.yield %[[IF]]
// CHECK: tiled_tma_load {{.*}}[%[[G]],
// CHECK-NOT: channel
// CHECK: nv_tileaa.return
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @searched_100(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %e = nv_tileaa.make_memref %q, shape = [%m], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xi32>
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %g = scf.for %j = %z to %m step %o iter_args(%h = %z) -> (i32) : i32 {
      %f, %ft = nv_tileas.tiled_load %e[%j], %t {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !nv_tileaa.memref<?xi32> -> tensor<1xi32>, !tok
      %u = nv_tileaa.unsplat %f : tensor<1xi32> -> i32
      %x = arith.cmpi slt, %h, %u : i32
      %y = scf.if %x -> (i32) {
        %a = arith.addi %j, %o : i32
        scf.yield %a : i32
      } else {
        scf.yield %h : i32
      }
      scf.yield %y : i32
    }
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%g, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// One with an effect the consumer executes, and sends the number.
// CHECK-LABEL: nv_tileaa.func @counted
// CHECK: agent_switch
// CHECK: %[[G:.*]] = scf.for
// CHECK: %[[N:.*]] = nv_tileas.async.pipeline.receive channel = 0
// CHECK: scf.yield %[[N]]
// CHECK: tiled_tma_load {{.*}}[%[[G]],
// CHECK: %[[IF:.*]] = scf.if
// CHECK: nv_tileaa.atomic_rmw
// CHECK: nv_tileas.async.pipeline.send %[[IF]], channel = 0
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @counted(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %e = nv_tileaa.make_memref %q, shape = [%m], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xi32>
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %g = scf.for %j = %z to %m step %o iter_args(%h = %z) -> (i32) : i32 {
      %f, %ft = nv_tileas.tiled_load %e[%j], %t {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !nv_tileaa.memref<?xi32> -> tensor<1xi32>, !tok
      %u = nv_tileaa.unsplat %f : tensor<1xi32> -> i32
      %x = arith.cmpi slt, %h, %u : i32
      %y = scf.if %x -> (i32) {
        %a, %at = nv_tileaa.atomic_rmw add relaxed gpu %q, %o, %t : !llvm.ptr<1>, i32, !tok
        scf.yield %a : i32
      } else {
        scf.yield %h : i32
      }
      scf.yield %y : i32
    }
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%g, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
