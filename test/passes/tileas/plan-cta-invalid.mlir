// RUN: tessera-opt %s --plan-cta --split-input-file --verify-diagnostics

// What the author asks for is an error where it cannot be.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{is compiled for sm_80, which has no clusters: the kernel cannot have a cluster of 2 CTAs}}
  nv_tileaa.func @old() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 2, 1>} {
    nv_tileaa.return
  }
}

// -----

// A seed has the layout of the CTAs.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @no_blocks(%x: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %a = nv_tileaa.splat %x : i32 -> tensor<64x64xi32>
    // expected-error @below {{has no CTA layout for a cluster of 2 CTAs}}
    %b = nv_tileas.convert_layout %a {plancta.direction = "backward"} : tensor<64x64xi32> -> tensor<64x64xi32>
    nv_tileaa.return
  }
}

// -----

// Seeds that ask for other parts of the same tile.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @two_seeds(%x: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>} {
    %a = nv_tileaa.splat %x : i32 -> tensor<64x64xi32>
    %b = nv_tileas.convert_layout %a {plancta.direction = "backward"} : tensor<64x64xi32> -> tensor<64x64xi32, #nv_tileas.linear<{register = [[4, 0], [8, 0], [16, 0], [0, 32]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[1, 0], [2, 0]], block = [[32, 0]]}>>
    // expected-error @below {{needs another part of tensor<64x64xi32> than the CTA has, which would be in another CTA: the kernel cannot have a cluster of 2 CTAs}}
    %c = nv_tileas.convert_layout %a {plancta.direction = "backward"} : tensor<64x64xi32> -> tensor<64x64xi32, #nv_tileas.linear<{register = [[4, 0], [8, 0], [16, 0], [32, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[1, 0], [2, 0]], block = [[0, 32]]}>>
    nv_tileaa.return
  }
}

// -----

// A cluster that the GPU does not have.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // expected-error @below {{has a cluster of 16 CTAs; expected a power of two up to 8: the kernel cannot have a cluster of 16 CTAs}}
  nv_tileaa.func @three() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [16, 1, 1]>, nv_tileas.cluster_parts = array<i64: 16, 1>} {
    nv_tileaa.return
  }
}

// -----

// Nothing to share.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // expected-error @below {{has no tile in memory, and nothing for several CTAs to do: the kernel cannot have a cluster of 2 CTAs}}
  nv_tileaa.func @nothing() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 2, 1>} {
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
// A part of a constant would depend on the CTA.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @differ(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 2, 1>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [%n, %n], stride = [%n, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<2x2xf32>, !nv_tileaa.mem_token
    // expected-error @below {{has different elements; a CTA of a cluster would need its own part of them: the kernel cannot have a cluster of 2 CTAs}}
    %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %y = arith.addf %x, %c : tensor<2x2xf32>
    %s = nv_tileas.tiled_store %v[%z, %z], %y, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<2x2xf32>, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
// Columns are not neighbors in a row.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @lines(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 1, 2>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [%n, %n], stride = [%n, 1], space = #nv_tileaa.global : !view
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !view -> tensor<32x32xf32>, !nv_tileaa.mem_token
    // expected-error @below {{takes tensor<1024xf32> apart in a way that no CTA of a cluster has a whole part of it: the kernel cannot have a cluster of 2 CTAs}}
    %y = nv_tileaa.reshape %x : tensor<32x32xf32> -> tensor<1024xf32>
    %w = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf32>
    %s = nv_tileas.tiled_store %w[%z], %y, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<1024xf32>, !nv_tileaa.memref<?xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
// An access of a thread is longer than a row of a part.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @rows(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 1, 2>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %b = nv_tileaa.assume %p {divisor = 16 : i64} : !llvm.ptr<1>
    %l = nv_tileaa.assume %n {divisor = 4 : i64} : i32
    %v = nv_tileaa.make_memref %b, shape = [%l, %l], stride = [%l, 1], space = #nv_tileaa.global : !view
    // expected-error @below {{would move rows of 64 bits in a CTA; its accesses have 128: the kernel cannot have a cluster of 2 CTAs}}
    %x, %xt = nv_tileas.tiled_load %v[%z, %z], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !view -> tensor<32x4xf32>, !nv_tileaa.mem_token
    %s = nv_tileas.tiled_store %v[%z, %z], %x, %t {atom = #cute.copy_atom<sm80_stg_128_f32>} : tensor<32x4xf32>, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

// A CTA would have every second row.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @no_boxes(%x: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 2, 1>} {
    %a = nv_tileaa.splat %x : i32 -> tensor<64x64xi32>
    // expected-error @below {{would have parts of tensor<64x64xi32> that are no boxes: the kernel cannot have a cluster of 2 CTAs}}
    %b = nv_tileas.convert_layout %a {plancta.direction = "backward"} : tensor<64x64xi32> -> tensor<64x64xi32, #nv_tileas.linear<{register = [[4, 0], [8, 0], [16, 0], [0, 32]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[2, 0], [32, 0]], block = [[1, 0]]}>>
    nv_tileaa.return
  }
}

// -----

!view = !nv_tileaa.memref<?x?xf32>
// No part of a slice follows from a part of its tile.
module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @made(%p: !llvm.ptr<1>, %n: i32, %x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 4, cluster = [2, 1, 1]>, nv_tileas.cluster_parts = array<i64: 2, 1>} {
    %z = arith.constant 0 : i32
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [%n, %n], stride = [%n, 1], space = #nv_tileaa.global : !view
    %whole = nv_tileaa.splat %x : f32 -> tensor<64x64xf32>
    // expected-error @below {{makes tiles of which a CTA of a cluster cannot make a part: the kernel cannot have a cluster of 2 CTAs}}
    %y = nv_tileas.slice %whole offsets = [0, 32] : tensor<64x64xf32> -> tensor<32x32xf32>
    %s = nv_tileas.tiled_store %v[%z, %z], %y, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32x32xf32>, !view, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
