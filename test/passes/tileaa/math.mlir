// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @math(
// CHECK-SAME: %[[F:.*]]: f32, %[[I:.*]]: i32)
entry @math(%f: tile<f32>, %i: tile<i32>) {
  // CHECK: math.fma %[[F]], %[[F]], %[[F]] : f32
  %0 = fma %f, %f, %f : tile<f32>
  // CHECK: math.exp %[[F]] : f32
  %1 = exp %f : tile<f32>
  // CHECK: nv_tileaa.exp %[[F]] rounding<approx> : f32
  %2 = exp %f rounding<approx> : tile<f32>
  // CHECK: math.exp2
  %3 = exp2 %f : tile<f32>
  // CHECK: math.log
  %4 = log %f : tile<f32>
  // CHECK: math.log2
  %5 = log2 %f : tile<f32>
  // CHECK: math.sqrt %[[F]] : f32
  %6 = sqrt %f : tile<f32>
  // CHECK: math.rsqrt
  %7 = rsqrt %f : tile<f32>
  // CHECK: math.sin
  %8 = sin %f : tile<f32>
  // CHECK: math.cos
  %9 = cos %f : tile<f32>
  // CHECK: math.tan
  %10 = tan %f : tile<f32>
  // CHECK: math.sinh
  %11 = sinh %f : tile<f32>
  // CHECK: math.cosh
  %12 = cosh %f : tile<f32>
  // CHECK: math.tanh
  %13 = tanh %f : tile<f32>
  // CHECK: math.powf
  %14 = pow %f, %f : tile<f32>
  // CHECK: math.atan2
  %15 = atan2 %f, %f : tile<f32>
  // CHECK: math.ceil
  %16 = ceil %f : tile<f32>
  // CHECK: math.floor
  %17 = floor %f : tile<f32>
  // CHECK: math.absf
  %18 = absf %f : tile<f32>
  // CHECK: math.absi %[[I]] : i32
  %19 = absi %i : tile<i32>
  // CHECK: math.fpowi %[[F]], %[[I]] : f32, i32
  %20 = fpowi %f, %i : tile<f32>, tile<i32>
  return
}
