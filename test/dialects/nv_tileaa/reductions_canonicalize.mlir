// RUN: tessera-opt %s --canonicalize | filecheck %s

// An axis of one element is dropped.
// CHECK-LABEL: func.func @single
// CHECK-SAME: (%[[X:.*]]: tensor<4x1xf32>, %[[I:.*]]: tensor<4x1xi32>, %[[V:.*]]: tensor<1xi1>)
func.func @single(%x: tensor<4x1xf32>, %i: tensor<4x1xi32>, %v: tensor<1xi1>) -> (tensor<4xf32>, tensor<4xi32>, i1) {
  // CHECK: %[[A:.*]] = nv_tileaa.reshape %[[X]] : tensor<4x1xf32> -> tensor<4xf32>
  // CHECK: %[[B:.*]] = nv_tileaa.reshape %[[I]] : tensor<4x1xi32> -> tensor<4xi32>
  // CHECK: %[[C:.*]] = nv_tileaa.unsplat %[[V]] : tensor<1xi1> -> i1
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %0:2 = nv_tileaa.reduce %x, %i axis = 1 identities = [0.0 : f32, 0 : i32] : tensor<4x1xf32>, tensor<4x1xi32> -> tensor<4xf32>, tensor<4xi32> {
  ^bb0(%e: f32, %a: f32, %p: i32, %q: i32):
    nv_tileaa.yield %e, %p : f32, i32
  }
  %1 = nv_tileaa.reduce %v axis = 0 identities = [true] : tensor<1xi1> -> i1 {
  ^bb0(%e: i1, %a: i1):
    nv_tileaa.yield %e : i1
  }
  return %0#0, %0#1, %1 : tensor<4xf32>, tensor<4xi32>, i1
}

// Others stay, and so do scans, which begin with the identity.
// CHECK-LABEL: func.func @several
func.func @several(%x: tensor<4x1xf32>) -> (tensor<1xf32>, tensor<4x1xf32>) {
  // CHECK: nv_tileaa.reduce
  %0 = nv_tileaa.reduce %x axis = 0 identities = [0.0 : f32] : tensor<4x1xf32> -> tensor<1xf32> {
  ^bb0(%e: f32, %a: f32):
    nv_tileaa.yield %e : f32
  }
  // CHECK: nv_tileaa.scan
  %1 = nv_tileaa.scan %x axis = 1 identities = [0.0 : f32] : tensor<4x1xf32> -> tensor<4x1xf32> {
  ^bb0(%e: f32, %a: f32):
    nv_tileaa.yield %e : f32
  }
  return %0, %1 : tensor<1xf32>, tensor<4x1xf32>
}
