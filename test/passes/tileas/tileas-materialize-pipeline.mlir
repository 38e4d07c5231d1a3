// RUN: tessera-opt %s --tileas-materialize-pipeline="num-stages=3" | filecheck %s
// RUN: tessera-opt %s --tileas-materialize-pipeline="num-stages=1" | filecheck %s --check-prefix=SINGLE
// RUN: tessera-opt %s --tileas-materialize-pipeline="num-stages=3" --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=STATS

// STATS: 2 pipelined
// STATS-NEXT: 0 staged

// Two stages are filled before the loop; the loop waits for one group, and fills the stage that it read last.
// CHECK: %smem_a = nv_tileas.alloc_tensor : !nv_tileas.smem<3x16x16xf16,
// CHECK: %smem_b = nv_tileas.alloc_tensor : !nv_tileas.smem<3x16x16xf16,
// CHECK-COUNT-2: nv_tileas.async.commit_group
// CHECK: scf.for {{.*}} iter_args(%acc = %none, %read_stage = %{{.*}}, %write_stage = %{{.*}})
// CHECK: nv_tileas.async.wait_group 1
// CHECK-NEXT: nv_tileas.barrier
// CHECK: nv_tileas.async.tiled_copy %v{{.*}}, %smem_a[%write_stage] when
// CHECK: nv_tileas.async.tiled_copy %w{{.*}}, %smem_b[%write_stage] when
// CHECK-NEXT: nv_tileas.async.commit_group
// CHECK: nv_tileas.load %smem_a[%read_stage] offsets = [0, 0] {atom = #cute.copy_atom<sm75_ldmatrix_x4_f16>}
// CHECK: nv_tileas.load %smem_b[%read_stage] offsets = [0, 0] {atom = #cute.copy_atom<sm75_ldmatrix_trans_x4_f16>}
// CHECK-NEXT: nv_tileas.dot
// CHECK: nv_tileas.async.wait_group 0
// CHECK-NOT: tiled_load

// One stage: nothing runs ahead, and a barrier stands before the copy too.
// SINGLE-NOT: commit_group
// SINGLE: scf.for
// SINGLE-NEXT: nv_tileas.barrier
// SINGLE: nv_tileas.async.commit_group
// SINGLE-NEXT: nv_tileas.async.wait_group 0
// SINGLE-NEXT: nv_tileas.barrier
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %0 = arith.constant 16 : i32
    %none = arith.constant dense<0.000000e+00> : tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %ap = nv_tileaa.assume %a {divisor = 16 : i64} : !llvm.ptr<1>
    %bp = nv_tileaa.assume %b {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %ap, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf16>
    %w = nv_tileaa.make_memref %bp, shape = [64, 16], stride = [16, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x16xf16>
    %r = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>)  : i32 {
      %2 = arith.muli %i, %0 overflow<nsw> : i32
      %x, %l = nv_tileas.tiled_load %v[%zero, %2], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>>, !nv_tileaa.mem_token
      %y, %m = nv_tileas.tiled_load %w[%2, %zero], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x16xf16> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>>, !nv_tileaa.mem_token
      %3 = nv_tileas.convert_layout %x : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
      %4 = nv_tileas.convert_layout %y : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[1, 0], [8, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], block = []}>>
      %d = nv_tileas.dot %3, %4, %acc {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>, tensor<16x16xf16, #nv_tileas.linear<{register = [[1, 0], [8, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], block = []}>>, tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
      scf.yield %d : tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
    }
    %f = arith.truncf %r : tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>> to tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
    %1 = nv_tileas.convert_layout %f : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %w[%zero, %zero], %1, %tok {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>>, !nv_tileaa.memref<64x16xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
