// RUN: tessera-opt %s --tileas-materialize-schedule --split-input-file --verify-diagnostics=only-expected --remarks=text -o %t
// RUN: filecheck %s --input-file %t

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// A loop of loads and a product: the producer has the loop and the loads, the consumer the product and the store.
// CHECK-LABEL: nv_tileaa.func @gemm
// CHECK-SAME: num_warps = 5
// CHECK: nv_tileas.make_tiled_tma_desc %{{.*}}, box = [64, 64]
// CHECK: nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 4
// CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 1] {
// CHECK: scf.for
// CHECK: nv_tileas.async.pipeline.produce_one
// CHECK-COUNT-2: nv_tileas.async.tiled_tma_load
// CHECK: }, {
// CHECK: scf.for
// CHECK-NOT: nv_tileas.tiled_load
// CHECK: nv_tileas.async.pipeline.consume_one
// CHECK: nv_tileas.async.dot
// CHECK: nv_tileas.async.dot_wait
// CHECK: nv_tileas.async.pipeline.consumer_release
// CHECK: nv_tileas.tiled_store
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

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// Nothing is known of the stride, and without a loop nothing comes ahead of its use: the kernel stays as it is.
// CHECK-LABEL: nv_tileaa.func @stride
// CHECK-NOT: agent_switch
// CHECK: nv_tileas.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @stride(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = arith.constant dense<0.0> : !acc
    // expected-remark @below {{nv_tileas.tiled_load makes a tile that TMA does not bring, because it reads a view whose stride of dimension 0 is not known to be a multiple of 16 bytes; without TMA and a loop, nothing comes ahead of its use: add an assume}}
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
    %y, %yt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
    %d = nv_tileas.dot %x, %y, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<32x64xf32>

// CHECK-LABEL: nv_tileaa.func @rows
// CHECK-NOT: agent_switch
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @rows(%x: f16) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %a = nv_tileaa.splat %x : f16 -> tensor<32x64xf16>
    %b = nv_tileaa.splat %x : f16 -> tensor<64x64xf16>
    %c = arith.constant dense<0.0> : !acc
    // expected-remark @below {{multiplies 32x64x64; wgmma has 64 rows, at least 8 columns and 16 terms}}
    %d = nv_tileas.dot %a, %b, %c {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<32x64xf16>, tensor<64x64xf16>, !acc
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// B is a sum of two tiles, of which TMA could not bring all: the producer's threads compute it.
// CHECK-LABEL: nv_tileaa.func @computed
// CHECK: create_pipeline stages = 4, producers = 5, consumers = 4
// CHECK: agent_switch num_warps = [4, 4]
// CHECK: %[[S:.*]] = arith.addf
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: nv_tileas.store %[[S]]
// CHECK-NEXT: nv_tileas.fence_proxy
// CHECK: }, {
// CHECK-NOT: tiled_load
// CHECK: nv_tileas.async.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @computed(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %q: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %u[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %e, %et = nv_tileas.tiled_load %u[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %f = arith.addf %y, %e : tensor<64x64xf16>
      %d = nv_tileas.dot %x, %f, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %wr = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// One product has fewer terms than an instruction of wgmma: it stays as it is in the consumer.
// CHECK-LABEL: nv_tileaa.func @two_kinds
// CHECK: agent_switch
// CHECK-COUNT-2: nv_tileas.async.tiled_tma_load
// CHECK: }, {
// CHECK: nv_tileas.tiled_load
// CHECK: nv_tileas.async.dot
// CHECK: nv_tileas.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @two_kinds(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %q: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r:2 = scf.for %k = %z to %n step %o iter_args(%a = %i, %g = %i) -> (!acc, !acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %e, %et = nv_tileas.tiled_load %u[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x8xf16>, !tok
      %f, %ft = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<8x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      // expected-remark @below {{multiplies 64x64x8; wgmma has 64 rows, at least 8 columns and 16 terms}}
      %h = nv_tileas.dot %e, %f, %g {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x8xf16>, tensor<8x64xf16>, !acc
      scf.yield %d, %h : !acc, !acc
    }
    %w0 = nv_tileas.tiled_store %c[%z, %z], %r#0, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    %w1 = nv_tileas.tiled_store %c[%z, %z], %r#1, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// The sums of one product go on in one that stays: so does it.
// CHECK-LABEL: nv_tileaa.func @one_sum
// CHECK-NOT: agent_switch
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @one_sum(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %q: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %u = nv_tileaa.make_memref %q, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %e, %et = nv_tileas.tiled_load %u[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x8xf16>, !tok
      %f, %ft = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<8x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      // expected-remark @below {{multiplies 64x64x8; wgmma has 64 rows, at least 8 columns and 16 terms}}
      %h = nv_tileas.dot %e, %f, %d {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x8xf16>, tensor<8x64xf16>, !acc
      scf.yield %h : !acc
    }
    %wr = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token
!acc = tensor<32x64xf32>

// Without products: one warp brings the tiles of the loop, the other warps of the kernel read them.
// CHECK-LABEL: nv_tileaa.func @sums
// CHECK-SAME: num_warps = 5
// CHECK: nv_tileas.async.pipeline.create_pipeline stages = 4, producers = 1, consumers = 4
// CHECK: nv_tileas.async.pipeline.agent_switch num_warps = [1, 4] warp_id = [0, 1] {
// CHECK: scf.for
// CHECK: nv_tileas.async.tiled_tma_load
// CHECK: }, {
// CHECK: scf.for
// CHECK: nv_tileas.async.pipeline.consumer_wait
// CHECK: nv_tileas.load
// CHECK: nv_tileas.async.pipeline.consumer_release
// CHECK: arith.addf
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @sums(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> !acc, !tok
      %d = arith.addf %x, %a : !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %v[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !view, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
!tok = !nv_tileaa.mem_token

// Few accesses for each thread: as it is, the load takes fewer instructions.
// CHECK-LABEL: nv_tileaa.func @short
// CHECK-NOT: agent_switch
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @short(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 4 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    scf.for %k = %z to %n step %o : i32 {
      // expected-remark @+1 {{TMA does not load the tile: nv_tileas.tiled_load takes about 8 instructions of a warp as it is, and 24 through shared memory}}
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<4x64xf32>, !tok
      %w = nv_tileas.tiled_store %v[%k, %z], %x, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<4x64xf32>, !view, !tok
    }
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// A product in a branch, with its loads: both agents take the branch, which gives the stage that comes next.
// CHECK-LABEL: nv_tileaa.func @branch
// CHECK: nv_tileas.async.pipeline.agent_switch
// CHECK: scf.for
// CHECK: arith.cmpi
// CHECK: scf.if %{{.*}} -> (!nv_tileas.pipeline_iter<i32>) {
// CHECK: nv_tileas.async.pipeline.produce_one
// CHECK: nv_tileas.async.pipeline.inc_iter
// CHECK: } else {
// CHECK-NEXT: scf.yield
// CHECK: }, {
// CHECK: scf.for
// CHECK: scf.if %{{.*}} -> (tensor<64x64xf32>, !nv_tileas.pipeline_iter<i32>) {
// CHECK: nv_tileas.async.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @branch(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %g = arith.cmpi ne, %k, %o : i32
      %e = scf.if %g -> (!acc) {
        %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
        %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
        %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
        scf.yield %d : !acc
      } else {
        scf.yield %a : !acc
      }
      scf.yield %e : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// TMA brings A.  The threads of the producer bring B, through registers: of its stride nothing is known.  One thread
// arrives for TMA, and one of each of four warps.
// CHECK-LABEL: nv_tileaa.func @mixed
// CHECK: create_pipeline stages = 4, producers = 5, consumers = 4
// CHECK: agent_switch num_warps = [4, 4]
// CHECK: %[[B:.+]], %{{.+}} = nv_tileas.tiled_load %{{.+}} : !nv_tileaa.memref<?x?xf16> -> tensor<64x64xf16>
// CHECK: producer_write
// CHECK: async.tiled_tma_load
// CHECK: nv_tileas.store %[[B]], %{{.+}}[%{{.+}}]
// CHECK-NEXT: nv_tileas.fence_proxy
// CHECK: producer_commit
// CHECK: consume_one
// CHECK-NOT: tiled_load
// CHECK: async.dot
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @mixed(%p: !llvm.ptr<1>, %m: i32, %s: i32, %i: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %one = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %b, shape = [%m, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x64xf16>
    %w = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !view
    %c = arith.constant dense<0.0> : !acc
    %sum = scf.for %k = %z to %m step %one iter_args(%old = %c) -> (!acc) : i32 {
      // expected-remark @below {{load by TMA in boxes of 64x64 elements, swizzled by 128 bytes}}
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<?x64xf16> -> tensor<64x64xf16>, !tok
      // expected-remark @below {{the producer's threads bring the tile through registers, not TMA: nv_tileas.tiled_load reads a view whose stride of dimension 0 is not known}}
      %y, %yt = nv_tileas.tiled_load %w[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_16_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %old {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %n = nv_tileaa.make_memref %i, shape = [%m, %m], stride = [%s, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %u = nv_tileas.tiled_store %n[%z, %z], %sum, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}

// -----

// The sums of two products would change their layout between them; a third product has its own.
!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @chained(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32, %go: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
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
      // expected-remark-re @below {{shares its sums with a product that wgmma does not compute, because nv_tileas.dot at {{.*}} multiplies 64x64x8; wgmma has 64 rows, at least 8 columns and 16 terms}}
      %d0 = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      %f, %ft = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x8xf16>, !tok
      %g, %gt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<8x64xf16>, !tok
      %d = nv_tileas.dot %f, %g, %d0 {atom = #cute_nvgpu.mma_atom<sm80_m16n8k8, f16, f16, f32>} : tensor<64x8xf16>, tensor<8x64xf16>, !acc
      scf.yield %d : !acc
    }
    %r2 = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%z, %k], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %d = nv_tileas.dot %x, %y, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %e = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    %h = nv_tileas.tiled_store %c[%z, %o], %r2, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
