// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t

// CHECK: llvm.mlir.global external @numbers(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf16>) {addr_space = 1 : i32, alignment = 64 : i64} : !llvm.array<2 x f16>
// CHECK: llvm.mlir.global internal constant @table(dense<[7, 8]> : tensor<2xi32>) {addr_space = 1 : i32, alignment = 4 : i64} : !llvm.array<2 x i32>
// An i1 takes a byte; of formats that LLVM lacks there are the bits.
// CHECK: llvm.mlir.global external @flags(dense<[1, 0, 1, 1]> : tensor<4xi8>) {addr_space = 1 : i32, alignment = 1 : i64} : !llvm.array<4 x i8>
// CHECK: llvm.mlir.global external @eighths(dense<56> : tensor<4xi8>) {{.*}} : !llvm.array<4 x i8>
// Two in a byte, the first in the low bits.
// CHECK: llvm.mlir.global external @nibbles(dense<[66, 36]> : tensor<2xi8>) {{.*}} : !llvm.array<2 x i8>
// CHECK-LABEL: nv_tileaa.func @k(
// CHECK: llvm.mlir.addressof @table : !llvm.ptr<1>
cuda_tile.module @m {
  global @numbers alignment = 64 <f16: [1.0, 2.0]> : tile<2xf16>
  global private constant @table <i32: [7, 8]> : tile<2xi32>
  global @flags <i1: [true, false, true, true]> : tile<4xi1>
  global @eighths <f8E4M3FN: 1.0> : tile<4xf8E4M3FN>
  global @nibbles <f4E2M1FN: [1.0, 2.0, 2.0, 1.0]> : tile<4xf4E2M1FN>
  entry @k(%out: tile<ptr<i64>>) {
    %p = get_global @table : tile<ptr<i32>>
    %i = ptr_to_int %p : tile<ptr<i32>> -> tile<i64>
    %t = store_ptr_tko weak %out, %i : tile<ptr<i64>>, tile<i64> -> token
    return
  }
}
