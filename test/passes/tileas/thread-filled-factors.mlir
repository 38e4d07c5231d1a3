// RUN: tessera-opt %s --tileas-materialize-tensor-memory --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %s --tileas-schedule --split-input-file | filecheck %s --check-prefix=SCHEDULE

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// TMA brings the left factor, and four warps the right one, of which nothing is known: each warp that has stored arrives
// behind a fence. A thread of the producer has room for 168 registers, as all others.
// SCHEDULE-LABEL: nv_tileaa.func @stored
// SCHEDULE: nv_tileas.tiled_load {{.*}}nv_tileas.agent = "producer"
// SCHEDULE: nv_tileas.tiled_load {{.*}}nv_tileas.agent = "producer"
// SCHEDULE: nv_tileas.dot {{.*}}nv_tileas.agent = "multiplier"
// CHECK-LABEL: nv_tileaa.func @stored
// CHECK: create_pipeline stages = 4, producers = 5, consumers = 1
// CHECK: agent_switch num_warps = [4, 1, 4] warp_id = [0, 4, 5] {
// CHECK: scf.for
// CHECK: nv_tileas.tiled_load {{.*}} -> tensor<64x64xf16>
// CHECK: producer_write
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: nv_tileas.store
// CHECK: nv_tileas.fence_proxy
// CHECK: producer_commit
// CHECK: }, {
// CHECK: consumer_wait
// CHECK-NOT: nv_tileas.fence_proxy
// CHECK: nv_tileas.async.umma
// CHECK: }, {
// CHECK-NOT: nv_tileas.tiled_load
// CHECK: nv_tileaa.return
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @stored(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      // expected-remark @below {{the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads from a base that is not known to be a multiple of 16 bytes: add an assume}}
      %y, %yt = nv_tileas.tiled_load %u[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
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

// By cp.async, each thread arrives. The warp that multiplies executes the fence, behind its wait.
// CHECK-LABEL: nv_tileaa.func @copied
// CHECK: create_pipeline stages = 4, producers = 129, consumers = 1
// CHECK: agent_switch num_warps = [4, 1, 4] warp_id = [0, 4, 5] {
// CHECK: producer_write
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: nv_tileas.async.tiled_copy
// CHECK-NOT: nv_tileas.fence_proxy
// CHECK: producer_commit
// CHECK: }, {
// CHECK: consumer_wait
// CHECK: nv_tileas.fence_proxy
// CHECK: nv_tileas.async.umma
// CHECK: consumer_release
// CHECK: }, {
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @copied(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %e = nv_tileaa.assume %s {divisor = 2 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %b, shape = [%e, %e], stride = [%e, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      // expected-remark @below {{the producer's threads bring the tile by cp.async, not TMA: nv_tileas.tiled_load reads a view whose stride of dimension 0 is not known to be a multiple of 16 bytes: add an assume}}
      %y, %yt = nv_tileas.tiled_load %u[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f16>} : !view -> tensor<64x64xf16>, !tok
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
!acc = tensor<128x128xf32>

// Two warpgroups of consumers: the agents share the registers of the launch.
// CHECK-LABEL: nv_tileaa.func @wide
// CHECK: agent_switch num_warps = [4, 1, 8] warp_id = [0, 4, 5] registers = [112, 32, 184] {
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @wide(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %u[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x128xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x128xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x128xf32>

// Four warpgroups of consumers, for which the program asks, leave no registers.
// CHECK-LABEL: nv_tileaa.func @wider
// CHECK-NOT: agent_switch
// CHECK: nv_tileas.dot
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @wider(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 16>, nv_tileaa.hints = {num_worker_warps_per_cta = 16 : i64}} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<128x64xf16>, !tok
      // expected-remark @below {{tcgen05.mma is not used: nv_tileas.tiled_load makes a tile that TMA does not bring, because it reads from a base that is not known to be a multiple of 16 bytes; beside 4 warpgroups of consumers, the threads of a producer have no registers for it: add an assume}}
      %y, %yt = nv_tileas.tiled_load %u[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x128xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x128xf16>, !acc
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

// In no loop, threads would bring nothing ahead of the product.
// CHECK-LABEL: nv_tileaa.func @alone
// CHECK-NOT: agent_switch
// CHECK: nv_tileas.dot
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @alone(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %u = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    // expected-remark @below {{tcgen05.mma is not used: nv_tileas.tiled_load makes a tile that TMA does not bring, because it reads from a base that is not known to be a multiple of 16 bytes; without TMA and a loop, nothing comes ahead of its use: add an assume}}
    %x, %xt = nv_tileas.tiled_load %u[%z, %n], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x64xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %u[%n, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
    %d = nv_tileas.dot %x, %y, %i {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
    %w = nv_tileas.tiled_store %c[%z, %z], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<128x64xf32>

// The threads of each CTA bring the left factor, and the CTAs multiply alone. They still copy the right factor together:
// a stage is empty when the products of both CTAs are complete.
// CHECK-LABEL: nv_tileaa.func @apart
// CHECK: create_pipeline stages = 4, producers = 5, consumers = 2, peers = [1]
// CHECK-NOT: pair
// CHECK: nv_tileas.async.tiled_tma_load {{.*}} multicast = 1
module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @apart(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %p, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %u[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<128x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileas.shared_by = 1 : i64} : !view -> tensor<64x64xf16>, !tok
      // expected-remark @below {{each CTA multiplies alone: nv_tileas.dot has a factor that the threads of the producer bring, each CTA for itself}}
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>, nv_tileas.in_step = 1 : i64} : tensor<128x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
