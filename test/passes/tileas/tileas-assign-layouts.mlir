// RUN: tessera-opt --mlir-print-local-scope %s --tileas-assign-layouts | filecheck %s

// The dot decides the accumulator's class, which the loop and the rounding share; its operands are converted.
// Loads and the store keep lines together.
// CHECK: %none = arith.constant dense<0.000000e+00> : tensor<16x16xf32, [[C:#nv_tileas[^>]*>]]>
// CHECK: scf.for {{.*}} -> (tensor<16x16xf32, [[C]]>)
// CHECK: nv_tileas.tiled_load %v{{.*}} -> tensor<16x16xf16, [[LINE:#nv_tileas[^>]*>]]>, !nv_tileaa.mem_token
// CHECK: %[[A:.*]] = nv_tileas.convert_layout %x : tensor<16x16xf16, [[LINE]]> ->
// CHECK: %[[B:.*]] = nv_tileas.convert_layout %y : tensor<16x16xf16, [[LINE]]> ->
// CHECK: nv_tileas.dot %[[A]], %[[B]], %acc {{.*}}, tensor<16x16xf32, [[C]]>
// CHECK: arith.truncf %r : tensor<16x16xf32, [[C]]> to tensor<16x16xf16, [[C]]>
// CHECK: nv_tileas.convert_layout %f : tensor<16x16xf16, [[C]]> -> tensor<16x16xf16, [[LINE]]>
// CHECK: nv_tileas.tiled_store
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %n: i32) attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 1, cluster = [1, 1, 1]>} {
    %0 = arith.constant 16 : i32
    %none = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %ap = nv_tileaa.assume %a {divisor = 16 : i64} : !llvm.ptr<1>
    %bp = nv_tileaa.assume %b {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %ap, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf16>
    %w = nv_tileaa.make_memref %bp, shape = [64, 16], stride = [16, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x16xf16>
    %r = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<16x16xf32>)  : i32 {
      %1 = arith.muli %i, %0 overflow<nsw> : i32
      %x, %l = nv_tileas.tiled_load %v[%zero, %1], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<16x16xf16>, !nv_tileaa.mem_token
      %y, %m = nv_tileas.tiled_load %w[%1, %zero], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x16xf16> -> tensor<16x16xf16>, !nv_tileaa.mem_token
      %d = nv_tileas.dot %x, %y, %acc {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
      scf.yield %d : tensor<16x16xf32>
    }
    %f = arith.truncf %r : tensor<16x16xf32> to tensor<16x16xf16>
    %s = nv_tileas.tiled_store %w[%zero, %zero], %f, %tok {atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<16x16xf16>, !nv_tileaa.memref<64x16xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
