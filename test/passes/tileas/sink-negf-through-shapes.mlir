// RUN: tessera-opt %s --split-input-file --sink-negf-through-shapes | filecheck %s
// RUN: tessera-opt %s --split-input-file --tileas-materialize-schedule | filecheck %s --check-prefix=AGENTS

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // A row is negated before it is repeated.
  // CHECK-LABEL: nv_tileaa.func @broadcast
  // CHECK: %[[N:.*]] = arith.negf %x : tensor<64xf32>
  // CHECK: %[[R:.*]] = nv_tileaa.reshape %[[N]] : tensor<64xf32> -> tensor<1x64xf32>
  // CHECK: %[[B:.*]] = nv_tileaa.broadcast %[[R]] : tensor<1x64xf32> -> tensor<64x64xf32>
  // CHECK: nv_tileaa.return %[[B]]
  nv_tileaa.func @broadcast(%x: tensor<64xf32>) -> tensor<64x64xf32> {
    %r = nv_tileaa.reshape %x : tensor<64xf32> -> tensor<1x64xf32>
    %b = nv_tileaa.broadcast %r : tensor<1x64xf32> -> tensor<64x64xf32>
    %n = arith.negf %b : tensor<64x64xf32>
    nv_tileaa.return %n : tensor<64x64xf32>
  }

  // A number is negated once.
  // CHECK-LABEL: nv_tileaa.func @splat
  // CHECK: %[[N:.*]] = arith.negf %x fastmath<nnan> : f32
  // CHECK: nv_tileaa.splat %[[N]]
  nv_tileaa.func @splat(%x: f32) -> tensor<64x64xf32> {
    %b = nv_tileaa.splat %x : f32 -> tensor<64x64xf32>
    %n = arith.negf %b fastmath<nnan> : tensor<64x64xf32>
    nv_tileaa.return %n : tensor<64x64xf32>
  }

  // Another user of the broadcast keeps it.
  // CHECK-LABEL: nv_tileaa.func @shared
  // CHECK-DAG: nv_tileaa.broadcast %x
  // CHECK-DAG: %[[N:.*]] = arith.negf %x : tensor<1x64xf32>
  // CHECK: nv_tileaa.broadcast %[[N]]
  nv_tileaa.func @shared(%x: tensor<1x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %b = nv_tileaa.broadcast %x : tensor<1x64xf32> -> tensor<64x64xf32>
    %n = arith.negf %b : tensor<64x64xf32>
    nv_tileaa.return %b, %n : tensor<64x64xf32>, tensor<64x64xf32>
  }

  // Neither a permutation nor a reshape to other extents leaves fewer elements to negate.
  // CHECK-LABEL: nv_tileaa.func @stays
  // CHECK: nv_tileaa.permute
  // CHECK-NEXT: arith.negf
  // CHECK: nv_tileaa.reshape
  // CHECK-NEXT: arith.negf
  nv_tileaa.func @stays(%x: tensor<32x64xf32>) -> (tensor<64x32xf32>, tensor<2048xf32>) {
    %p = nv_tileaa.permute %x [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
    %n = arith.negf %p : tensor<64x32xf32>
    %r = nv_tileaa.reshape %x : tensor<32x64xf32> -> tensor<2048xf32>
    %m = arith.negf %r : tensor<2048xf32>
    nv_tileaa.return %n, %m : tensor<64x32xf32>, tensor<2048xf32>
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf16>
!tok = !nv_tileaa.mem_token
!acc = tensor<64x64xf32>

// wgmma inverts the signs of its factors: of A before or behind a permutation, of B twice, which is not at all.
// AGENTS-LABEL: nv_tileaa.func @product
// AGENTS-NOT: arith.negf
// AGENTS: nv_tileas.async.dot %{{.*}}, %{{.*}}, %{{.*}} {atom = #cute.mma_atom<sm90_wgmma_m64n64k16_f32_f16_f16>, negate_a, warps
// AGENTS-NOT: arith.negf
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @product(%p: !llvm.ptr<1>, %m: i32, %s: i32, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4>} {
    %z = arith.constant 0 : i32
    %o = arith.constant 64 : i32
    %t = nv_tileaa.create_mem_token : !tok
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %s {divisor = 8 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !view
    %c = nv_tileaa.make_memref %b, shape = [%m, %m], stride = [%l, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf32>
    %i = arith.constant dense<0.0> : !acc
    %r = scf.for %k = %z to %n step %o iter_args(%a = %i) -> (!acc) : i32 {
      %x, %xt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %y, %yt = nv_tileas.tiled_load %v[%k, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !view -> tensor<64x64xf16>, !tok
      %nx = arith.negf %x : tensor<64x64xf16>
      %px = nv_tileaa.permute %nx [1, 0] : tensor<64x64xf16> -> tensor<64x64xf16>
      %ny = arith.negf %y : tensor<64x64xf16>
      %my = arith.negf %ny : tensor<64x64xf16>
      %d = nv_tileas.dot %px, %my, %a {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<64x64xf16>, tensor<64x64xf16>, !acc
      scf.yield %d : !acc
    }
    %w = nv_tileas.tiled_store %c[%z, %z], %r, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : !acc, !nv_tileaa.memref<?x?xf32>, !tok
    nv_tileaa.return
  }
}
