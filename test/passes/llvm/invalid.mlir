// RUN: tessera-opt %s --verify-each=false --convert-nv-tile-func-to-llvm --convert-tileas-to-llvm --split-input-file --verify-diagnostics

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @returns(%x: i32) -> i32 attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{Kernel functions do not support return with operands}}
    nv_tileaa.return %x : i32
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{region types conversion failed: type !nv_tileaa.mem_token has no counterpart in llvm}}
  nv_tileaa.func @token(%x: !nv_tileaa.mem_token) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{requests an occupancy of 99 CTAs of 1024 threads on a multiprocessor, which sm_80 cannot provide}}
  nv_tileaa.func @crowd() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 32, cluster = [1, 1, 1]>, nv_tileaa.occupancy = 99 : i32} {
    nv_tileaa.return
  }
}

// -----

// expected-error @below {{Failed to get ComputeCapability: the module has no 'nv_tileaa.compute_capability'}}
// expected-note @below {{run --convert-cuda-tile-to-tileaa, or set}}
module {
  nv_tileaa.func @kernel() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @helper() {
    // expected-error @below {{failed to legalize operation: it is not in a kernel}}
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{is a kernel without a block size: expected nvvm.reqntid = array<i32: N>, whole warps}}
  func.func @kernel() attributes {cute.kernel} {
    return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{has unstructured control flow; convert-tileas-to-llvm supports only structured control flow}}
  func.func @kernel() attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
    cf.br ^next
  ^next:
    return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @unknown(%x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: convert-tileas-to-llvm has no lowering for it}}
    %0 = gpu.subgroup_id : index
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @no_layout(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    // expected-error @below {{failed to legalize operation: tensor<32xf32> has no layout; run --tileas-assign-layouts first}}
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @too_wide(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    // expected-error @below {{moves 4 elements per access with its atom #cute.copy_atom<sm80_ldg_128_f32>, but each thread holds 1 contiguous elements}}
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_128_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @padded_integers(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xi32>
    // expected-error @below {{cannot pad 'i32' elements with nan}}
    %x, %l = nv_tileas.tiled_load %v[%i], %t padding nan {atom = #cute.copy_atom<sm80_ldg_32_i32>} : !nv_tileaa.memref<64xi32> -> tensor<32xi32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @tf32(%y: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %x = arith.truncf %y : f32 to tf32
    // expected-error @below {{computes with tf32, which is not supported; f16, bf16, f32 and f64 are}}
    %0 = arith.addf %x, %x : tf32
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{region types conversion failed: type tf32 cannot be returned}}
  nv_tileaa.func @result(%x: tf32) -> tf32 {
    nv_tileaa.return %x : tf32
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @directed(%x: f64) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{has no lowering from f64 to f32 with rounding mode to_nearest_away}}
    %0 = arith.truncf %x to_nearest_away : f64 to f32
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @unplaced() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{has no place in shared memory; run --tileas-insert-barriers first}}
    %0 = nv_tileas.alloc_tensor : !nv_tileas.smem<4x128x128xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @beyond() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{has 65536 bytes at nv_tileas.offset = 131072, but sm_80 has 166912 bytes of shared memory per CTA}}
    %0 = nv_tileas.alloc_tensor {nv_tileas.offset = 131072 : i64} : !nv_tileas.smem<1x128x128xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // expected-error @below {{region types conversion failed: type tensor<32xf32> has no counterpart in llvm}}
  func.func @tile(%x: tensor<32xf32>) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
    func.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @held(%p: !llvm.ptr<1>) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %b = nv_tileaa.splat %p : !llvm.ptr<1> -> tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    %i = nv_tileaa.iota : tensor<128xi32, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    %q = nv_tileaa.offset %b, %i, f32 : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>, tensor<128xi32, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    // expected-error @below {{moves 4 elements per access with its atom #cute.copy_atom<sm80_ldg_128_f32>, but each thread holds 2 contiguous elements; choose a narrower atom}}
    %v, %l = nv_tileaa.load %q, %t {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f32>} : tensor<128x!llvm.ptr<1>, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>> -> tensor<128xf32, #nv_tileas.linear<{register = [[1], [64]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  func.func @lost(%x: i32) -> i32 attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
    // expected-error @below {{Kernel functions do not support return with operands}}
    return %x : i32
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  func.func @lost_early(%x: i32, %c: i1) attributes {cute.kernel, nvvm.reqntid = array<i32: 32>} {
    nv_tileaa.if %c {
      // expected-error @below {{Kernel functions do not support return with operands}}
      nv_tileaa.return %x : i32
    }
    return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @conditional(%go: i1) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: it is a loop with a condition; use nv_tileaa.loop, and leave it by nv_tileaa.break}}
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      scf.yield
    }
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  // expected-error @below {{has clusters of several programs; run --tileas-dynamic-persistent and --tileas-resolve-program-ids first}}
  nv_tileaa.func @programs() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [2, 1, 1]>, nv_tileas.cluster_programs = array<i64: 2, 1, 1>} {
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @numbered(%n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: it is the place of a program with a number; run --tileas-resolve-program-ids first}}
    %0 = nv_tileaa.get_program_id of %n {axis = 0 : i32} : i32
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @wide_extent(%p: !llvm.ptr<1>, %n: i128) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: an extent or stride of type i128; at most 64 bits are supported}}
    %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : (i128) !nv_tileaa.memref<?xf32>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 100 : i32, nv_tileaa.target_spec = "sm_100a"} {
  nv_tileaa.func @power(%x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: has no lowering to f8E8M0FNU with rounding mode to_nearest_away; toward_zero and upward have}}
    %0 = arith.truncf %x to_nearest_away : f32 to f8E8M0FNU
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @upward(%x: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    // expected-error @below {{failed to legalize operation: has no lowering to tf32 with rounding mode upward; to_nearest_even, to_nearest_away and toward_zero have}}
    %0 = arith.truncf %x upward : f32 to tf32
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @sliced() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %x = arith.constant dense<0.0> : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    // expected-error @below {{needs elements that other threads hold}}
    %y = nv_tileas.slice %x offsets = [32] : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [0]], warp = [], block = []}>>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @kept() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %z = arith.constant 0 : i32
    %b = nv_tileas.alloc_tensor {nv_tileas.offset = 0 : i64} : !nv_tileas.smem<1x64xf32, #nv_tileas.shared<{offset = [[1], [2], [4], [8], [16], [32]]}>>
    %x = arith.constant dense<0.0> : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    // expected-error @below {{failed to legalize operation: tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> shares a buffer with tensor<64xf32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>, which is distributed differently over threads}}
    nv_tileas.spill %x, %b[%z] : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileas.smem<1x64xf32, #nv_tileas.shared<{offset = [[1], [2], [4], [8], [16], [32]]}>>
    %y = nv_tileas.reload %b[%z] : !nv_tileas.smem<1x64xf32, #nv_tileas.shared<{offset = [[1], [2], [4], [8], [16], [32]]}>> -> tensor<64xf32, #nv_tileas.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []}>>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"} {
  nv_tileaa.func @parts() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [4, 1, 1]>} {
    %x = arith.constant dense<0.0> : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = [[0], [0]]}>>
    // expected-error @below {{has 2 parts; the cluster has 4 CTAs}}
    %y = nv_tileas.cluster_reduce_scatter %x {nv_tileas.offset = 0 : i64} : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = [[0], [0]]}>> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = [[0], [0]]}>>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @scaled(%f: f8E8M0FNU) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %a = arith.constant dense<0.0> : tensor<1x32xf32, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>
    %b = arith.constant dense<0.0> : tensor<32x1xf32, #nv_tileas.linear<{register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>
    %c = arith.constant dense<0.0> : tensor<1x1xf32, #nv_tileas.linear<{register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>
    %s = nv_tileaa.splat %f : f8E8M0FNU -> tensor<1x1xf8E8M0FNU, #nv_tileas.linear<{register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>
    // expected-error @below {{has scales, which fma does not support; use an atom of the tensor cores}}
    %d = nv_tileas.dot %a, %b, %c scales %s, %s {atom = #cute_nvgpu.mma_atom<fma, f32, f32, f32>} : tensor<1x32xf32, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>, tensor<32x1xf32, #nv_tileas.linear<{register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>, tensor<1x1xf32, #nv_tileas.linear<{register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>> scales tensor<1x1xf8E8M0FNU, #nv_tileas.linear<{register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>, tensor<1x1xf8E8M0FNU, #nv_tileas.linear<{register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []}>>
    nv_tileaa.return
  }
}

// -----

// expected-error @below {{has an unknown target: unknown GPU 'sm_91'}}
module attributes {nv_tileaa.compute_capability = 91 : i32, nv_tileaa.target_spec = "sm_91"} {
  nv_tileaa.func @unknown() attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @load(%i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %b = nv_tileas.alloc_tensor {nv_tileas.offset = 0 : i64} : !nv_tileas.smem<1x64xf32>
    // expected-error @below {{'nv_tileas.load' op reads from a buffer without a layout: !nv_tileas.smem<1x64xf32>}}
    %x = nv_tileas.load %b[%i] offsets = [0] {atom = #cute.copy_atom<sm80_lds_32_f32>} : !nv_tileas.smem<1x64xf32> -> tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    nv_tileaa.return
  }
}

// -----

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @store(%i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %b = nv_tileas.alloc_tensor {nv_tileas.offset = 0 : i64} : !nv_tileas.smem<1x64xf32>
    %x = arith.constant dense<1.0> : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    // expected-error @below {{'nv_tileas.store' op writes to a buffer without a layout: !nv_tileas.smem<1x64xf32>}}
    nv_tileas.store %x, %b[%i] {atom = #cute.copy_atom<sm80_sts_32_f32>} : tensor<64xf32, #nv_tileas.linear<{register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileas.smem<1x64xf32>
    nv_tileaa.return
  }
}

// -----

// The elements are adjacent, but in another order than those of the view.
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @copy(%p: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %v = nv_tileaa.make_memref %p, shape = [%n], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<?xf16>
    %b = nv_tileas.alloc_tensor {nv_tileas.offset = 0 : i64} : !nv_tileas.smem<1x256xf16, #nv_tileas.shared<{offset = [[2], [1], [4], [8], [16], [32], [64], [128]]}>>
    // expected-error @below {{copies 128 bits at a time, but the buffer's layout has 16 contiguous bits, and cp.async moves 32, 64 or 128; choose another atom}}
    nv_tileas.async.tiled_copy %v[%n], %b[%n] {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<?xf16>, !nv_tileas.smem<1x256xf16, #nv_tileas.shared<{offset = [[2], [1], [4], [8], [16], [32], [64], [128]]}>>
    nv_tileaa.return
  }
}
