// RUN: tessera-opt %s | mlir-opt-22 | filecheck %s
// REQUIRES: mlir-opt-22

// CHECK-LABEL: func.func @scalable
func.func @scalable(%v: vector<4x[8]xf32>, %m: memref<?x?xf32>, %i: index, %p: f32, %k: vector<4x[8]xi1>) {
  // CHECK: vector.extract %{{.*}}[1] : vector<[8]xf32> from vector<4x[8]xf32>
  %0 = vector.extract %v[1] : vector<[8]xf32> from vector<4x[8]xf32>
  // CHECK: vector.extract_strided_slice {{.*}} to vector<2x[8]xf32>
  %1 = vector.extract_strided_slice %v {offsets = [1], sizes = [2], strides = [1]} : vector<4x[8]xf32> to vector<2x[8]xf32>
  // CHECK: vector.transfer_read %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : memref<?x?xf32>, vector<4x[8]xf32>
  %2 = vector.transfer_read %m[%i, %i], %p, %k : memref<?x?xf32>, vector<4x[8]xf32>
  // CHECK: vector.constant_mask [2, 8] : vector<4x[8]xi1>
  %3 = vector.constant_mask [2, 8] : vector<4x[8]xi1>
  // CHECK: vector.deinterleave %{{.*}} : vector<4x[8]xf32> -> vector<4x[4]xf32>
  %4, %5 = vector.deinterleave %v : vector<4x[8]xf32> -> vector<4x[4]xf32>
  return
}

// Attributes in full, predicates in quotes, spaces in types: what upstream reads too.
// CHECK-LABEL: func.func @spellings
// CHECK-SAME: vector<4x[4]xi32>
func.func @spellings(%v: vector<4 x [4] x i32>, %m: memref<2 x i32>, %a: i32, %w: vector<4x8xf32>, %c: vector<4xf32>) {
  // CHECK: arith.cmpi slt
  %0 = arith.cmpi "slt", %a, %a : i32
  // CHECK: vector.multi_reduction <add>
  %1 = vector.multi_reduction #vector.kind<add>, %w, %c [1] : vector<4x8xf32> to vector<4xf32>
  return
}

// CHECK-LABEL: func.func @labeled
func.func @labeled(i32) -> i32 {
^bb0(%a: i32):
  // CHECK: return %arg0
  return %a : i32
}
