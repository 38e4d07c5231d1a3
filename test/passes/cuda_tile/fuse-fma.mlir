// RUN: tessera-opt %s --fuse-fma | filecheck %s

// CHECK-LABEL: @sum
// CHECK-SAME: %[[A:.*]]: tile<f32>, %[[B:.*]]: tile<f32>, %[[C:.*]]: tile<f32>)
cuda_tile.testing$func @sum(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) -> tile<f32> {
  // CHECK-NEXT: %[[R:.*]] = fma %[[A]], %[[B]], %[[C]]
  // CHECK-NEXT: return %[[R]]
  %p = mulf %a, %b : tile<f32>
  %r = addf %p, %c : tile<f32>
  return %r : tile<f32>
}

// A product on the right is brought to the left.
// CHECK-LABEL: @product_on_the_right
cuda_tile.testing$func @product_on_the_right(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) -> tile<f32> {
  // CHECK-NEXT: fma
  // CHECK-NEXT: return
  %p = mulf %a, %b rounding<zero> flush_to_zero : tile<f32>
  %r = addf %c, %p rounding<zero> flush_to_zero : tile<f32>
  return %r : tile<f32>
}

// CHECK-LABEL: @difference
// CHECK-SAME: %[[A:.*]]: tile<f32>, %[[B:.*]]: tile<f32>, %[[C:.*]]: tile<f32>)
cuda_tile.testing$func @difference(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) -> tile<f32> {
  // CHECK-NEXT: %[[N:.*]] = negf %[[C]]
  // CHECK-NEXT: fma %[[A]], %[[B]], %[[N]]
  %p = mulf %a, %b : tile<f32>
  %r = subf %p, %c : tile<f32>
  return %r : tile<f32>
}

// c - a·b is no fma of a and b.
// CHECK-LABEL: @difference_from
cuda_tile.testing$func @difference_from(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) -> tile<f32> {
  // CHECK: mulf
  // CHECK: subf
  %p = mulf %a, %b : tile<f32>
  %r = subf %c, %p : tile<f32>
  return %r : tile<f32>
}

// CHECK-LABEL: @used_twice
cuda_tile.testing$func @used_twice(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) -> (tile<f32>, tile<f32>) {
  // CHECK: mulf
  // CHECK: addf
  %p = mulf %a, %b : tile<f32>
  %r = addf %p, %c : tile<f32>
  return %r, %p : tile<f32>, tile<f32>
}

// CHECK-LABEL: @other_rounding
cuda_tile.testing$func @other_rounding(%a: tile<f32>, %b: tile<f32>, %c: tile<f32>) -> tile<f32> {
  // CHECK: mulf
  // CHECK: addf
  %p = mulf %a, %b rounding<zero> : tile<f32>
  %r = addf %p, %c : tile<f32>
  return %r : tile<f32>
}
