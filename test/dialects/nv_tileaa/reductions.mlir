// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: func.func @forms
func.func @forms(%x: tensor<8x64xf32>, %i: tensor<8x64xi32>, %v: tensor<64xi1>) {
  // CHECK: %{{.*}} = nv_tileaa.reduce %x axis = 1 identities = [0.000000e+00 : f32] : tensor<8x64xf32> -> tensor<8xf32> {
  // CHECK-NEXT: ^bb0(%e: f32, %a: f32):
  // CHECK-NEXT: %[[S:.*]] = arith.addf %e, %a : f32
  // CHECK-NEXT: nv_tileaa.yield %[[S]] : f32
  %0 = nv_tileaa.reduce %x axis = 1 identities = [0.0 : f32] : tensor<8x64xf32> -> tensor<8xf32> {
  ^bb0(%e: f32, %a: f32):
    %s = arith.addf %e, %a : f32
    nv_tileaa.yield %s : f32
  }
  // CHECK: nv_tileaa.reduce %v axis = 0 identities = [true] : tensor<64xi1> -> i1 {
  %1 = nv_tileaa.reduce %v axis = 0 identities = [true] : tensor<64xi1> -> i1 {
  ^bb0(%e: i1, %a: i1):
    %s = arith.andi %e, %a : i1
    nv_tileaa.yield %s : i1
  }
  // CHECK: %{{.*}}:2 = nv_tileaa.scan %x, %i axis = 0 reverse identities = [0.000000e+00 : f32, 3 : i32] : tensor<8x64xf32>, tensor<8x64xi32> -> tensor<8x64xf32>, tensor<8x64xi32> {
  // CHECK-NEXT: ^bb0(%e: f32, %a: f32, %p: i32, %q: i32):
  // CHECK: nv_tileaa.yield %{{.*}}, %p : f32, i32
  // CHECK-NEXT: } attributes {note}
  %2:2 = nv_tileaa.scan %x, %i axis = 0 reverse identities = [0.0 : f32, 3 : i32] : tensor<8x64xf32>, tensor<8x64xi32> -> tensor<8x64xf32>, tensor<8x64xi32> {
  ^bb0(%e: f32, %a: f32, %p: i32, %q: i32):
    %s = arith.addf %e, %a : f32
    nv_tileaa.yield %s, %p : f32, i32
  } attributes {note}
  // CHECK: nv_tileaa.scan %i axis = 1 identities
  %3 = nv_tileaa.scan %i axis = 1 identities = [0 : i32] : tensor<8x64xi32> -> tensor<8x64xi32> {
  ^bb0(%p: i32, %q: i32):
    nv_tileaa.yield %p : i32
  }
  return
}
