// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @products()
entry @products() {
  %a = constant <f16: 1.0> : tile<32x16xf16>
  %b = constant <f16: 1.0> : tile<64x16xf16>
  %c = constant <f32: 0.0> : tile<32x64xf32>
  // CHECK: %[[B:.*]] = nv_tileaa.permute %{{.*}} [1, 0] : tensor<64x16xf16> -> tensor<16x64xf16>
  %t = permute %b [1, 0] : tile<64x16xf16> -> tile<16x64xf16>
  // CHECK: nv_tileaa.dot %{{.*}}, %[[B]], %{{.*}} : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32> -> tensor<32x64xf32>
  %0 = mmaf %a, %t, %c : tile<32x16xf16>, tile<16x64xf16>, tile<32x64xf32>
  %d = constant <f32: 1.0> : tile<32x16xf32>
  %e = constant <f32: 1.0> : tile<16x64xf32>
  // CHECK: nv_tileaa.dot {{.*}} {input_precision = "ieee"}
  %1 = mmaf %d, %e, %c : tile<32x16xf32>, tile<16x64xf32>, tile<32x64xf32>
  %f = constant <tf32: 1.0> : tile<32x16xtf32>
  %g = constant <tf32: 1.0> : tile<16x64xtf32>
  // CHECK: nv_tileaa.dot {{.*}} {input_precision = "tf32"}
  %2 = mmaf %f, %g, %c : tile<32x16xtf32>, tile<16x64xtf32>, tile<32x64xf32>
  return
}

// CHECK-LABEL: nv_tileaa.func @one_number(
// CHECK-SAME: %[[X:.*]]: f32)
entry @one_number(%x: tile<f32>) {
  // CHECK: %[[SMALL:.*]] = nv_tileaa.splat %[[X]] : f32 -> tensor<1x1xf32>
  %0 = reshape %x : tile<f32> -> tile<1x1xf32>
  // CHECK: %[[WIDE:.*]] = nv_tileaa.splat %[[X]] : f32 -> tensor<8x4xf32>
  %1 = broadcast %0 : tile<1x1xf32> -> tile<8x4xf32>
  // CHECK: %[[ONE:.*]] = nv_tileaa.constant_tensor dense<1.000000e+00> : tensor<1x4xf32>
  %2 = constant <f32: 1.0> : tile<1x4xf32>
  // CHECK: %[[ONES:.*]] = nv_tileaa.constant_tensor dense<1.000000e+00> : tensor<8x4xf32>
  %3 = broadcast %2 : tile<1x4xf32> -> tile<8x4xf32>
  // CHECK: arith.addf %[[WIDE]], %[[ONES]]
  %4 = addf %1, %3 : tile<8x4xf32>
  return
}
