// RUN: tessera-opt %s --tileas-remove-layout-conversions | filecheck %s

module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  // CHECK-LABEL: nv_tileaa.func @there_and_back
  // CHECK-NOT: convert_layout
  // CHECK: nv_tileaa.return
  nv_tileaa.func @there_and_back(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    %y = nv_tileas.convert_layout %x : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>
    %z = nv_tileas.convert_layout %y : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %v[%i], %z, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // A constant and a splat are made in the layout that is asked for.
  // CHECK-LABEL: nv_tileaa.func @constants
  // CHECK-NOT: convert_layout
  // CHECK: nv_tileaa.return
  nv_tileaa.func @constants(%p: !llvm.ptr<1>, %i: i32, %f: f32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    %c = arith.constant dense<1.0> : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    %d = nv_tileas.convert_layout %c : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [], block = []}>>
    %e = nv_tileaa.splat %f : f32 -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    %g = nv_tileas.convert_layout %e : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [], block = []}>>
    %h = arith.addf %d, %g : tensor<32xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %v[%i], %h, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [[1], [2]], lane = [[4], [8], [16], [0], [0]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
