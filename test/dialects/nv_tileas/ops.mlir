// RUN: tessera-opt --mlir-print-local-scope %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt --mlir-print-local-scope %t | diff %t -
// RUN: tessera-opt --mlir-print-local-scope %s --mlir-print-op-generic | tessera-opt --mlir-print-local-scope | diff %t -

// CHECK: nv_tileas.alloc_tensor : !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = {{.*}}}>>
// CHECK: nv_tileas.async.tiled_copy %v[%zero, %{{.*}}], %smem_a[%{{.*}}] when %{{.*}} {atom = #cute.copy_atom<sm80_cp_async_128_f16>}
// CHECK: nv_tileas.async.commit_group
// CHECK: nv_tileas.async.wait_group 2
// CHECK: nv_tileas.barrier
// CHECK: nv_tileas.load %smem_a[%read_stage] offsets = [0, 0] {atom = #cute.copy_atom<sm75_ldmatrix_x4_f16>}
// CHECK: nv_tileas.dot {{.*}} {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}
// CHECK: nv_tileas.convert_layout
// CHECK: nv_tileas.tiled_store
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
    %smem_a = nv_tileas.alloc_tensor : !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    %smem_b = nv_tileas.alloc_tensor : !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    %1 = arith.cmpi slt, %zero, %n : i32
    %2 = arith.constant 0 : i32
    %3 = arith.muli %zero, %0 overflow<nsw> : i32
    nv_tileas.async.tiled_copy %v[%zero, %3], %smem_a[%2] when %1 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x64xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    nv_tileas.async.tiled_copy %w[%3, %zero], %smem_b[%2] when %1 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x16xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    nv_tileas.async.commit_group
    %4 = arith.addi %zero, %one : i32
    %5 = arith.cmpi slt, %4, %n : i32
    %6 = arith.constant 1 : i32
    %7 = arith.muli %4, %0 overflow<nsw> : i32
    nv_tileas.async.tiled_copy %v[%zero, %7], %smem_a[%6] when %5 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x64xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    nv_tileas.async.tiled_copy %w[%7, %zero], %smem_b[%6] when %5 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x16xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    nv_tileas.async.commit_group
    %8 = arith.addi %4, %one : i32
    %9 = arith.cmpi slt, %8, %n : i32
    %10 = arith.constant 2 : i32
    %11 = arith.muli %8, %0 overflow<nsw> : i32
    nv_tileas.async.tiled_copy %v[%zero, %11], %smem_a[%10] when %9 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x64xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    nv_tileas.async.tiled_copy %w[%11, %zero], %smem_b[%10] when %9 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x16xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
    nv_tileas.async.commit_group
    %12 = arith.addi %8, %one : i32
    %13 = arith.constant 0 : i32
    %14 = arith.constant 3 : i32
    %r:3 = scf.for %i = %zero to %n step %one iter_args(%acc = %none, %read_stage = %13, %write_stage = %14) -> (tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>, i32, i32)  : i32 {
      nv_tileas.async.wait_group 2
      nv_tileas.barrier
      %16 = arith.constant 3 : i32
      %17 = arith.muli %one, %16 : i32
      %18 = arith.addi %i, %17 : i32
      %19 = arith.cmpi slt, %18, %n : i32
      %20 = arith.muli %18, %0 overflow<nsw> : i32
      nv_tileas.async.tiled_copy %v[%zero, %20], %smem_a[%write_stage] when %19 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x64xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
      nv_tileas.async.tiled_copy %w[%20, %zero], %smem_b[%write_stage] when %19 {atom = #cute.copy_atom<sm80_cp_async_128_f16>} : !nv_tileaa.memref<64x16xf16>, !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>>
      nv_tileas.async.commit_group
      %21 = arith.muli %i, %0 overflow<nsw> : i32
      %22 = nv_tileas.load %smem_a[%read_stage] offsets = [0, 0] {atom = #cute.copy_atom<sm75_ldmatrix_x4_f16>} : !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
      %23 = nv_tileas.load %smem_b[%read_stage] offsets = [0, 0] {atom = #cute.copy_atom<sm75_ldmatrix_trans_x4_f16>} : !nv_tileas.smem<4x16x16xf16, #nv_tileas.shared<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]}>> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[1, 0], [8, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], block = []}>>
      %d = nv_tileas.dot %22, %23, %acc {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>, tensor<16x16xf16, #nv_tileas.linear<{register = [[1, 0], [8, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], block = []}>>, tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
      %24 = arith.constant 1 : i32
      %25 = arith.constant 4 : i32
      %26 = arith.constant 0 : i32
      %27 = arith.addi %read_stage, %24 : i32
      %28 = arith.cmpi eq, %27, %25 : i32
      %29 = arith.select %28, %26, %27 : i32
      %30 = arith.addi %write_stage, %24 : i32
      %31 = arith.cmpi eq, %30, %25 : i32
      %32 = arith.select %31, %26, %30 : i32
      scf.yield %d, %29, %32 : tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>, i32, i32
    }
    nv_tileas.async.wait_group 0
    %f = arith.truncf %r#0 : tensor<16x16xf32, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>> to tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>>
    %15 = nv_tileas.convert_layout %f : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>> -> tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>>
    %s = nv_tileas.tiled_store %w[%zero, %zero], %15, %tok {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<16x16xf16, #nv_tileas.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>>, !nv_tileaa.memref<64x16xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
