// RUN: tessera-opt %s --convert-tileaa-to-tileas | filecheck %s
// RUN: tessera-opt %s --convert-tileaa-to-tileas="num-warps=8" | filecheck %s --check-prefix=WARPS

// Accesses take their offsets, the dot its instruction, the kernel its warps.
// WARPS: num_warps = 8
// CHECK-LABEL: nv_tileaa.func @k(
// CHECK-SAME: num_warps = 2, cluster = [1, 1, 1]
// CHECK: arith.constant dense<0.000000e+00> : tensor<16x16xf32>
// CHECK: %[[K:.*]] = arith.muli
// CHECK-NEXT: nv_tileas.tiled_load %v[%zero, %[[K]]], %tok {atom = #cute.copy_atom<sm80_ldg_128_f16>}
// CHECK-NEXT: nv_tileas.tiled_load %w[%[[K]], %zero], %tok
// CHECK-NEXT: nv_tileas.dot {{.*}} {atom = #cute_nvgpu.mma_atom<sm80_m16n8k16, f16, f16, f32>}
// CHECK: nv_tileas.tiled_store %w[%zero, %zero]
// CHECK-NOT: nv_tileaa.addptr
module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"} {
  nv_tileaa.func @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %n: i32) {
    %0 = arith.constant 16 : i32
    %none = nv_tileaa.constant_tensor dense<0.000000e+00> : tensor<16x16xf32>
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %tok = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
    %ap = nv_tileaa.assume %a {divisor = 16 : i64} : !llvm.ptr<1>
    %bp = nv_tileaa.assume %b {divisor = 16 : i64} : !llvm.ptr<1>
    %v = nv_tileaa.make_memref %ap, shape = [64, 64], stride = [64, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x64xf16>
    %w = nv_tileaa.make_memref %bp, shape = [64, 16], stride = [16, 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x16xf16>
    %r = scf.for %i = %zero to %n step %one iter_args(%acc = %none) -> (tensor<16x16xf32>)  : i32 {
      %2 = arith.muli %i, %0 overflow<nsw> : i32
      %3 = nv_tileaa.addptr %v, [%zero, %2] : !nv_tileaa.memref<64x64xf16>
      %x, %l = nv_tileaa.tiled_load %3, %tok {copy_atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x64xf16> -> tensor<16x16xf16>, !nv_tileaa.mem_token
      %4 = nv_tileaa.addptr %w, [%2, %zero] : !nv_tileaa.memref<64x16xf16>
      %y, %m = nv_tileaa.tiled_load %4, %tok {copy_atom = #cute.copy_atom<sm80_ldg_128_f16>} : !nv_tileaa.memref<64x16xf16> -> tensor<16x16xf16>, !nv_tileaa.mem_token
      %d = nv_tileaa.dot %x, %y, %acc : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32> -> tensor<16x16xf32>
      scf.yield %d : tensor<16x16xf32>
    }
    %f = arith.truncf %r : tensor<16x16xf32> to tensor<16x16xf16>
    %1 = nv_tileaa.addptr %w, [%zero, %zero] : !nv_tileaa.memref<64x16xf16>
    %s = nv_tileaa.tiled_store %1, %f, %tok {copy_atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<16x16xf16>, !nv_tileaa.memref<64x16xf16>, !nv_tileaa.mem_token
    nv_tileaa.return
  }
}
