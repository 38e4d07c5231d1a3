// RUN: tessera-opt %s --irdl-file=%S/cmath.irdl.mlir | FileCheck %s
// RUN: not tessera-opt %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: dialect 'cmath' is not registered

// CHECK: "cmath.norm"(%c) {scale = #cmath.scale<2 : i8>} : (!cmath.complex<f32>) -> f32
func.func @f(%c: !cmath.complex<f32>, %s: i16, %i: i32) {
  %0 = "cmath.norm"(%c) {scale = #cmath.scale<2 : i8>} : (!cmath.complex<f32>) -> f32
  "cmath.concat"(%s, %s, %i) {operandSegmentSizes = array<i32: 2, 1>} : (i16, i16, i32) -> ()
  %1 = "cmath.concat"(%i) {operandSegmentSizes = array<i32: 0, 1>} : (i32) -> i32
  "cmath.loop"(%i) ({
  ^bb0(%a: i32):
    llvm.unreachable
  }) : (i32) -> ()
  return
}
