// RUN: tessera-opt %s --verify-each=false --tileas-insert-barriers --split-input-file --verify-diagnostics

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @kernel(%v: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i32 -> tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>>
    // expected-error @below {{has incompatible layouts: a reduction along axis 1 of}}
    %0 = nv_tileaa.reduce %x axis = 1 identities = [0 : i32] : tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>> -> tensor<2xi32, #nv_tileas.linear<{register = [], lane = [[1], [0], [0], [0], [0]], warp = [], block = []}>> {
    ^bb0(%e: i32, %a: i32):
      nv_tileaa.yield %e : i32
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @kernel(%v: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i32 -> tensor<2x32xi32>
    // expected-error @below {{needs layouts: }}
    %0 = nv_tileaa.reduce %x axis = 1 identities = [0 : i32] : tensor<2x32xi32> -> tensor<2xi32> {
    ^bb0(%e: i32, %a: i32):
      nv_tileaa.yield %e : i32
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @kernel(%v: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i32 -> tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 1]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>>
    // expected-error @below {{has an unsupported layout: the coordinate of axis 1 is not a selection of bits in}}
    %0 = nv_tileaa.scan %x axis = 1 identities = [0 : i32] : tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 1]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>> -> tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 1]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>> {
    ^bb0(%e: i32, %a: i32):
      nv_tileaa.yield %e : i32
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @kernel(%v: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %x = nv_tileaa.splat %v : i32 -> tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 1]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>>
    // expected-error @below {{has tiles in several layouts, such as}}
    %0 = nv_tileaa.scan %x axis = 1 identities = [0 : i32] : tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 1]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>> -> tensor<2x32xi32, #nv_tileas.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = []}>> {
    ^bb0(%e: i32, %a: i32):
      nv_tileaa.yield %e : i32
    }
    nv_tileaa.return
  }
}
