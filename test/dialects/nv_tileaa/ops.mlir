// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK: nv_tileaa.compute_capability = 80 : i32
// CHECK: nv_tileaa.func @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %n: i32)
// CHECK: nv_tileaa.tiled_load %3, %tok {copy_atom = #cute.copy_atom<sm80_ldg_128_f16>}
// CHECK: nv_tileaa.dot %x, %y, %acc : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32> -> tensor<16x16xf32>
// CHECK: nv_tileaa.func @others
// CHECK: stride = [%s, 1]
// CHECK: padding neg_zero
// CHECK: nv_tileaa.return %{{.*}} : tensor<4x8xf32>
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
nv_tileaa.func @others(%p: !llvm.ptr<1>, %n: i32, %s: i32, %f: f32) -> tensor<4x8xf32> attributes {nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<num_warps = 8, cluster = [2, 1, 1]>} {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %j = nv_tileaa.join_mem_tokens %t, %t : !nv_tileaa.mem_token
  %i = nv_tileaa.get_program_id {axis = 2 : i32} : i32
  %m = nv_tileaa.get_num_programs {axis = 0 : i32} : i32
  %b = nv_tileaa.assume %n {divisor = 8 : i64, lower = 0 : i64, upper = 64 : i64} : i32
  %v = nv_tileaa.make_memref %p, shape = [%b, 8], stride = [%s, 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x8xf32>
  %x, %l = nv_tileaa.tiled_load %v, %j padding neg_zero {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : !nv_tileaa.memref<?x8xf32> -> tensor<8x4xf32>, !nv_tileaa.mem_token
  %y = nv_tileaa.splat %f : f32 -> tensor<8x4xf32>
  %c = nv_tileaa.constant_tensor dense<2.0> : tensor<8x4xf32>
  %z = nv_tileaa.permute %x [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  nv_tileaa.return %z : tensor<4x8xf32>
}
