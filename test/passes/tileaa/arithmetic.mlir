// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// Tiles of rank 0 are scalars, the others tensors.
// CHECK-LABEL: nv_tileaa.func @floats(
// CHECK-SAME: %{{.*}}: f32, %{{.*}}: f32)
entry @floats(%s: tile<f32>, %t: tile<f32>) {
  // CHECK: %[[A:.*]] = nv_tileaa.constant_tensor dense<1.000000e+00> : tensor<8x4xf32>
  %a = constant <f32: 1.0> : tile<8x4xf32>
  // CHECK: %[[B:.*]] = nv_tileaa.constant_tensor dense<[1, 2]> : tensor<2xi32>
  %b = constant <i32: [1, 2]> : tile<2xi32>
  // CHECK: arith.constant 2.500000e+00 : f32
  %c = constant <f32: 2.5> : tile<f32>
  // CHECK: arith.addf %[[A]], %[[A]] : tensor<8x4xf32>
  %0 = addf %a, %a : tile<8x4xf32>
  // CHECK: arith.subf %{{.*}}, %{{.*}} : f32
  %1 = subf %s, %t : tile<f32>
  // CHECK: arith.mulf
  %2 = mulf %a, %a : tile<8x4xf32>
  // CHECK: arith.divf %[[A]], %[[A]] : tensor<8x4xf32>
  %3 = divf %a, %a : tile<8x4xf32>
  // CHECK: nv_tileaa.divf %[[A]], %[[A]] rounding<approx> : tensor<8x4xf32>
  %4 = divf %a, %a rounding<approx> : tile<8x4xf32>
  // CHECK: nv_tileaa.divf %[[A]], %[[A]] rounding<full> : tensor<8x4xf32>
  %5 = divf %a, %a rounding<full> : tile<8x4xf32>
  // CHECK: arith.remf
  %6 = remf %a, %a : tile<8x4xf32>
  // CHECK: arith.negf
  %7 = negf %a : tile<8x4xf32>
  // A NaN loses, unless it is to spread.
  // CHECK: arith.maxnumf
  %8 = maxf %a, %a : tile<8x4xf32>
  // CHECK: arith.maximumf
  %9 = maxf %a, %a propagate_nan : tile<8x4xf32>
  // CHECK: arith.minnumf
  %10 = minf %a, %a : tile<8x4xf32>
  // CHECK: arith.minimumf
  %11 = minf %a, %a propagate_nan : tile<8x4xf32>
  // CHECK: return
  return
}

// CHECK-LABEL: nv_tileaa.func @comparisons(
// CHECK-SAME: %[[F:.*]]: f32, %[[I:.*]]: i32)
entry @comparisons(%f: tile<f32>, %i: tile<i32>) {
  // CHECK: arith.cmpf oeq, %[[F]], %[[F]] : f32
  %0 = cmpf equal ordered %f, %f : tile<f32> -> tile<i1>
  // CHECK: arith.cmpf une
  %1 = cmpf not_equal unordered %f, %f : tile<f32> -> tile<i1>
  // CHECK: arith.cmpf one
  %2 = cmpf not_equal ordered %f, %f : tile<f32> -> tile<i1>
  // CHECK: arith.cmpf ult
  %3 = cmpf less_than unordered %f, %f : tile<f32> -> tile<i1>
  // CHECK: arith.cmpf oge
  %4 = cmpf greater_than_or_equal ordered %f, %f : tile<f32> -> tile<i1>
  // CHECK: arith.cmpi eq, %[[I]], %[[I]] : i32
  %5 = cmpi equal %i, %i, unsigned : tile<i32> -> tile<i1>
  // CHECK: arith.cmpi slt
  %6 = cmpi less_than %i, %i, signed : tile<i32> -> tile<i1>
  // CHECK: arith.cmpi ule
  %7 = cmpi less_than_or_equal %i, %i, unsigned : tile<i32> -> tile<i1>
  // CHECK: arith.cmpi ugt
  %8 = cmpi greater_than %i, %i, unsigned : tile<i32> -> tile<i1>
  // CHECK: arith.select %{{.*}}, %[[I]], %[[I]] : i32
  %9 = select %8, %i, %i : tile<i1>, tile<i32>
  return
}

// CHECK-LABEL: nv_tileaa.func @integers(
// CHECK-SAME: %[[I:.*]]: i32)
entry @integers(%i: tile<i32>) {
  // CHECK: %[[T:.*]] = nv_tileaa.constant_tensor dense<3> : tensor<4xi32>
  %t = constant <i32: 3> : tile<4xi32>
  // CHECK: arith.addi %[[I]], %[[I]] : i32
  %0 = addi %i, %i : tile<i32>
  // CHECK: arith.subi %[[T]], %[[T]] overflow<nsw> : tensor<4xi32>
  %1 = subi %t, %t overflow<no_signed_wrap> : tile<4xi32>
  // CHECK: arith.muli %{{.*}} overflow<nuw>
  %2 = muli %i, %i overflow<no_unsigned_wrap> : tile<i32>
  // CHECK: arith.shli %{{.*}} overflow<nsw, nuw>
  %3 = shli %i, %i overflow<no_wrap> : tile<i32>
  // CHECK: arith.divsi
  %4 = divi %i, %i signed : tile<i32>
  // CHECK: arith.floordivsi
  %5 = divi %i, %i signed rounding<negative_inf> : tile<i32>
  // CHECK: arith.ceildivsi
  %6 = divi %i, %i signed rounding<positive_inf> : tile<i32>
  // CHECK: arith.divui
  %7 = divi %i, %i unsigned : tile<i32>
  // CHECK: arith.ceildivui
  %8 = divi %i, %i unsigned rounding<positive_inf> : tile<i32>
  // CHECK: arith.remsi
  %9 = remi %i, %i signed : tile<i32>
  // CHECK: arith.remui
  %10 = remi %i, %i unsigned : tile<i32>
  // CHECK: arith.shrsi
  %11 = shri %i, %i signed : tile<i32>
  // CHECK: arith.shrui
  %12 = shri %i, %i unsigned : tile<i32>
  // CHECK: arith.maxsi
  %13 = maxi %i, %i signed : tile<i32>
  // CHECK: arith.minui
  %14 = mini %i, %i unsigned : tile<i32>
  // CHECK: arith.andi
  %15 = andi %i, %i : tile<i32>
  // CHECK: arith.ori
  %16 = ori %i, %i : tile<i32>
  // CHECK: arith.xori
  %17 = xori %i, %i : tile<i32>
  // CHECK: %[[ZERO:.*]] = nv_tileaa.constant_tensor dense<0> : tensor<4xi32>
  // CHECK: arith.subi %[[ZERO]], %[[T]] : tensor<4xi32>
  %18 = negi %t : tile<4xi32>
  // CHECK: %[[BOTH:.*]]:2 = arith.mului_extended %[[I]], %[[I]] : i32
  // CHECK: arith.addi %[[BOTH]]#1, %[[BOTH]]#1
  %19 = mulhii %i, %i : tile<i32>
  %20 = addi %19, %19 : tile<i32>
  return
}

// What arith and math cannot say is said by ops of nv_tileaa.
// CHECK-LABEL: nv_tileaa.func @rounding(
// CHECK-SAME: %[[S:.*]]: f32, %[[H:.*]]: f16)
entry @rounding(%s: tile<f32>, %h: tile<f16>) {
  // CHECK: nv_tileaa.addf %[[S]], %[[S]] rounding<zero> : f32
  %0 = addf %s, %s rounding<zero> : tile<f32>
  // CHECK: nv_tileaa.subf %[[S]], %[[S]] flush_to_zero : f32
  %1 = subf %s, %s flush_to_zero : tile<f32>
  // CHECK: nv_tileaa.mulf %[[H]], %[[H]] rounding<negative_inf> : f16
  %2 = mulf %h, %h rounding<negative_inf> : tile<f16>
  // CHECK: nv_tileaa.divf %[[S]], %[[S]] rounding<positive_inf> flush_to_zero : f32
  %3 = divf %s, %s rounding<positive_inf> flush_to_zero : tile<f32>
  // CHECK: nv_tileaa.fma %[[S]], %[[S]], %[[S]] rounding<zero> : f32
  %4 = fma %s, %s, %s rounding<zero> : tile<f32>
  // CHECK: nv_tileaa.sqrt %[[S]] rounding<approx> : f32
  %5 = sqrt %s rounding<approx> : tile<f32>
  // CHECK: nv_tileaa.exp2 %[[S]] flush_to_zero : f32
  %6 = exp2 %s flush_to_zero : tile<f32>
  // CHECK: nv_tileaa.rsqrt %[[S]] flush_to_zero : f32
  %7 = rsqrt %s flush_to_zero : tile<f32>
  // CHECK: nv_tileaa.tanh %[[S]] rounding<approx> : f32
  %8 = tanh %s rounding<approx> : tile<f32>
  // CHECK: nv_tileaa.maxf %[[S]], %[[S]] flush_to_zero : f32
  %9 = maxf %s, %s flush_to_zero : tile<f32>
  // CHECK: nv_tileaa.minf %[[S]], %[[S]] propagate_nan flush_to_zero : f32
  %10 = minf %s, %s flush_to_zero propagate_nan : tile<f32>
  return
}
