// RUN: tessera-opt %s --tileas-remove-layout-conversions | filecheck %s
// RUN: tessera-opt %s --tileas-remove-layout-conversions --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATS
// STATS: (S) 5 removed

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

  // A conversion stays whose result another op than a store uses, or several ops use.
  // CHECK-LABEL: nv_tileaa.func @kept
  // CHECK: %[[X:.*]], %{{.*}} = nv_tileas.tiled_load
  // CHECK: %[[Y:.*]] = nv_tileas.convert_layout %[[X]]
  // CHECK: %{{.*}} = arith.negf %[[Y]]
  // CHECK: %[[Z:.*]] = nv_tileas.convert_layout %[[X]]
  // CHECK: nv_tileas.tiled_store {{.*}}, %[[Z]],
  // CHECK: nv_tileas.tiled_store {{.*}}, %[[Z]],
  // CHECK: nv_tileaa.return
  nv_tileaa.func @kept(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.mem_token
    %y = nv_tileas.convert_layout %x : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>
    %d = arith.negf %y : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>
    %r = nv_tileas.tiled_store %v[%i], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    %z = nv_tileas.convert_layout %x : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %v[%i], %z, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    %u = nv_tileas.tiled_store %v[%i], %z, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[2], [1], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }

  // So does one without which a store would access parts of sectors: adjacent lanes have elements 16 apart.
  // CHECK-LABEL: nv_tileaa.func @scattered
  // CHECK: %[[X:.*]], %{{.*}} = nv_tileas.tiled_load
  // CHECK: %[[Y:.*]] = nv_tileas.convert_layout %[[X]]
  // CHECK: nv_tileas.tiled_store {{.*}}, %[[Y]],
  // CHECK: nv_tileaa.return
  nv_tileaa.func @scattered(%p: !llvm.ptr<1>, %i: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %v = nv_tileaa.make_memref %p, shape = [64], stride = [1], space = #nv_tileaa.global : !nv_tileaa.memref<64xf32>
    %x, %l = nv_tileas.tiled_load %v[%i], %t {atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<64xf32> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[16], [8], [4], [2], [1]], warp = [], block = []}>>, !nv_tileaa.mem_token
    %d = arith.negf %x : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[16], [8], [4], [2], [1]], warp = [], block = []}>>
    %r = nv_tileas.tiled_store %v[%i], %d, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[16], [8], [4], [2], [1]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    %y = nv_tileas.convert_layout %x : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[16], [8], [4], [2], [1]], warp = [], block = []}>> -> tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %v[%i], %y, %t {atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<32xf32, #nv_tileas.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []}>>, !nv_tileaa.memref<64xf32>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
