// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @sum(
entry @sum(%factor: tile<f32>) {
  %x = constant <f32: 1.0> : tile<4x64xf32>
  // CHECK: %[[ROWS:.*]] = nv_tileaa.reduce %{{.*}} axis = 1 identities = [0.000000e+00 : f32] : tensor<4x64xf32> -> tensor<4xf32> {
  // CHECK-NEXT: ^bb0(%e: f32, %a: f32):
  // CHECK-NEXT: %[[S:.*]] = math.fma %e, %factor, %a : f32
  // CHECK-NEXT: nv_tileaa.yield %[[S]] : f32
  %rows = reduce %x dim=1 identities=[0.0 : f32] : tile<4x64xf32> -> tile<4xf32>
  (%e: tile<f32>, %a: tile<f32>) {
    %s = fma %e, %factor, %a : tile<f32>
    yield %s : tile<f32>
  }
  // CHECK: nv_tileaa.reduce %[[ROWS]] axis = 0 identities = [0.000000e+00 : f32] : tensor<4xf32> -> f32 {
  %all = reduce %rows dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>
  (%e: tile<f32>, %a: tile<f32>) {
    %s = addf %e, %a : tile<f32>
    yield %s : tile<f32>
  }
  return
}

// CHECK-LABEL: nv_tileaa.func @several(
entry @several() {
  %x = constant <f16: 1.0> : tile<8x2xf16>
  %i = constant <i32: 1> : tile<8x2xi32>
  // An identity of the other format of 16 bits becomes one of the operand's.
  // CHECK: %{{.*}}:2 = nv_tileaa.scan %{{.*}}, %{{.*}} axis = 0 reverse identities = [5.000000e-01 : f16, 7 : i32] : tensor<8x2xf16>, tensor<8x2xi32> -> tensor<8x2xf16>, tensor<8x2xi32> {
  // CHECK-NEXT: ^bb0(%e: f16, %a: f16, %p: i32, %q: i32):
  // CHECK: nv_tileaa.yield %{{.*}}, %p : f16, i32
  %0:2 = scan %x, %i dim=0 reverse=true identities=[0.5 : bf16, 7 : i32] : tile<8x2xf16>, tile<8x2xi32> -> tile<8x2xf16>, tile<8x2xi32>
  (%e: tile<f16>, %a: tile<f16>, %p: tile<i32>, %q: tile<i32>) {
    %s = addf %e, %a : tile<f16>
    yield %s, %p : tile<f16>, tile<i32>
  }
  // CHECK: nv_tileaa.scan %{{.*}} axis = 1 identities
  %1 = scan %i dim=1 reverse=false identities=[0 : i32] : tile<8x2xi32> -> tile<8x2xi32>
  (%p: tile<i32>, %q: tile<i32>) {
    yield %p : tile<i32>
  }
  return
}
