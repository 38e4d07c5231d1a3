// RUN: tessera-opt %s --tileas-materialize-schedule --optimize-execution-unit-mapping -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!bytes = !nv_tileaa.memref<?x?xi8>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
!tile = tensor<64x64xf16>

// An agent in the warpgroup of the producer reads what TMA brings, converts it, and stores it to a stage that the
// consumer waits for as for any other: here in two parts.
// CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [1, 2, 4] warp_id = [0, 2, 4]
// CHECK: scf.for
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: scf.for
// CHECK: nv_tileas.async.pipeline.consumer_wait
// CHECK: producer_acquire
// CHECK: %[[FIRST:.*]] = nv_tileas.load {{.*}} -> tensor<64x32xi8>
// CHECK-NEXT: %[[HALF:.*]] = arith.sitofp %[[FIRST]]
// CHECK: nv_tileas.store %[[HALF]]
// CHECK: nv_tileas.fence_proxy
// CHECK: producer_commit
// CHECK: consumer_release
// CHECK: scf.for
// CHECK-NOT: arith.sitofp
// CHECK: nv_tileas.async.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @converted(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %c = nv_tileaa.assume %q {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %c, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !bytes
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !tile, !tok
      %y, %yt = nv_tileas.tiled_load %w[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_i8>} : !bytes -> tensor<64x64xi8>, !tok
      %h = arith.sitofp %y : tensor<64x64xi8> to !tile
      %d = nv_tileas.dot %x, %h, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
      scf.yield %d : !acc
    }
    nv_tileaa.return
  }

  // The parts of a constant whose elements differ are in no attribute: the consumer computes the factor.
  // CHECK-LABEL: nv_tileaa.func @masked(
  // CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [1, 4]
  // CHECK: arith.xori
  // CHECK: nv_tileas.async.dot
  nv_tileaa.func @masked(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 16 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %c = nv_tileaa.assume %q {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %c, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !bytes
    %i = arith.constant dense<0.0> : tensor<64x16xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<64x16xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x16xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %w[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_i8>} : !bytes -> tensor<16x16xi8>, !tok
      %mask = arith.constant dense<"0x01020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102010201020102"> : tensor<16x16xi8>
      %e = arith.xori %y, %mask : tensor<16x16xi8>
      %h = arith.sitofp %e : tensor<16x16xi8> to tensor<16x16xf16>
      %d = nv_tileas.dot %x, %h, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x16xf16>, tensor<16x16xf16>, tensor<64x16xf32>
      scf.yield %d : tensor<64x16xf32>
    }
    nv_tileaa.return
  }

  // Only the consumer knows the end of the loop, and sends it to the producer, whose threads convert then.
  // CHECK-LABEL: nv_tileaa.func @bound(
  // CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [4, 4]
  // CHECK: arith.sitofp
  // CHECK: nv_tileas.async.dot
  nv_tileaa.func @bound(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %c = nv_tileaa.assume %q {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %c, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !bytes
    %n, %u = nv_tileaa.atomic_rmw add relaxed gpu %p, %o, %t : !llvm.ptr<1>, i32, !tok
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> !tile, !tok
      %y, %yt = nv_tileas.tiled_load %w[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_i8>} : !bytes -> tensor<64x64xi8>, !tok
      %h = arith.sitofp %y : tensor<64x64xi8> to !tile
      %d = nv_tileas.dot %x, %h, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : !tile, !tile, !acc
      scf.yield %d : !acc
    }
    nv_tileaa.return
  }

  // Beside two warpgroups of the consumer, the agent has one, and loads a part while it computes the one before.
  // CHECK-LABEL: nv_tileaa.func @ahead(
  // CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [1, 4, 8]
  // CHECK: %[[FIRST:.*]] = nv_tileas.load {{.*}} -> tensor<64x64xi8>
  // CHECK-NEXT: nv_tileas.load {{.*}} -> tensor<64x64xi8>
  // CHECK-NEXT: arith.sitofp %[[FIRST]]
  // CHECK: nv_tileas.async.dot
  nv_tileaa.func @ahead(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %c = nv_tileaa.assume %q {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 16 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %w = nv_tileaa.make_memref %c, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !bytes
    %i = arith.constant dense<0.0> : tensor<128x128xf32>
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (tensor<128x128xf32>) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %w[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_i8>} : !bytes -> tensor<64x128xi8>, !tok
      %h = arith.sitofp %y : tensor<64x128xi8> to tensor<64x128xf16>
      %d = nv_tileas.dot %x, %h, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    nv_tileaa.return
  }
}
