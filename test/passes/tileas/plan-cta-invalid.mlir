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
