// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @casts(
// CHECK-SAME: %[[F:.*]]: f32, %[[H:.*]]: f16, %[[I:.*]]: i32, %[[L:.*]]: i64, %[[P:.*]]: !llvm.ptr<1>)
entry @casts(%f: tile<f32>, %h: tile<f16>, %i: tile<i32>, %l: tile<i64>, %p: tile<ptr<f32>>) {
  // CHECK: arith.truncf %[[F]] : f32 to bf16
  %0 = ftof %f : tile<f32> -> tile<bf16>
  // CHECK: arith.extf %[[H]] : f16 to f64
  %1 = ftof %h : tile<f16> -> tile<f64>
  // From one format of 16 bits to the other through f32, which has all numbers of both.
  // CHECK: %[[WIDE:.*]] = arith.extf %[[H]] : f16 to f32
  // CHECK: arith.truncf %[[WIDE]] : f32 to bf16
  %2 = ftof %h : tile<f16> -> tile<bf16>
  // CHECK: arith.sitofp %[[I]] : i32 to f32
  %3 = itof %i signed : tile<i32> -> tile<f32>
  // CHECK: arith.uitofp %[[I]] : i32 to f16
  %4 = itof %i unsigned : tile<i32> -> tile<f16>
  // CHECK: arith.extsi %[[I]] : i32 to i64
  %5 = exti %i signed : tile<i32> -> tile<i64>
  // CHECK: arith.extui %[[I]] : i32 to i64
  %6 = exti %i unsigned : tile<i32> -> tile<i64>
  // CHECK: arith.trunci %[[L]] overflow<nsw> : i64 to i32
  %7 = trunci %l overflow<no_signed_wrap> : tile<i64> -> tile<i32>
  // CHECK: arith.bitcast %[[F]] : f32 to i32
  %8 = bitcast %f : tile<f32> -> tile<i32>
  // CHECK: nv_tileaa.int_to_ptr %[[L]] : i64 to !llvm.ptr<1>
  %9 = int_to_ptr %l : tile<i64> -> tile<ptr<f16>>
  // CHECK: nv_tileaa.ptr_to_int %[[P]] : !llvm.ptr<1> to i64
  %10 = ptr_to_int %p : tile<ptr<f32>> -> tile<i64>
  // CHECK: nv_tileaa.ptr_to_int %[[P]] : !llvm.ptr<1> to i64
  %11 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<i8>>
  %12 = ptr_to_int %11 : tile<ptr<i8>> -> tile<i64>
  return
}

// Floats of 8 bits and fewer saturate; from as wide a format as the result, f32 stands between, which has all numbers of both.
// CHECK-LABEL: nv_tileaa.func @narrow(
// CHECK-SAME: %[[F:.*]]: f32, %[[H:.*]]: f16, %[[I:.*]]: i32)
entry @narrow(%f: tile<f32>, %h: tile<f16>, %i: tile<i32>) {
  // CHECK: %[[E:.*]] = nv_tileaa.truncf_satfinite %[[F]] : f32 to f8E4M3FN
  %0 = ftof %f : tile<f32> -> tile<f8E4M3FN>
  // CHECK: nv_tileaa.truncf_satfinite %[[F]] toward_zero : f32 to f8E5M2
  %1 = ftof %f rounding<zero> : tile<f32> -> tile<f8E5M2>
  // CHECK: %[[S:.*]] = nv_tileaa.truncf_satfinite %[[H]] upward : f16 to f8E8M0FNU
  %2 = ftof %h rounding<positive_inf> : tile<f16> -> tile<f8E8M0FNU>
  // CHECK: nv_tileaa.truncf_satfinite %[[E]] : f8E4M3FN to f8E5M2
  %3 = ftof %0 : tile<f8E4M3FN> -> tile<f8E5M2>
  // CHECK: arith.extf %[[E]] : f8E4M3FN to f16
  %4 = ftof %0 : tile<f8E4M3FN> -> tile<f16>
  // f16 has neither 2^127 nor 2^-127.
  // CHECK: %[[W:.*]] = arith.extf %[[S]] : f8E8M0FNU to f32
  // CHECK: arith.truncf %[[W]] : f32 to f16
  %5 = ftof %2 : tile<f8E8M0FNU> -> tile<f16>
  // CHECK: arith.extf %[[S]] : f8E8M0FNU to bf16
  %6 = ftof %2 : tile<f8E8M0FNU> -> tile<bf16>
  // CHECK: arith.truncf %[[F]] toward_zero : f32 to f16
  %7 = ftof %f rounding<zero> : tile<f32> -> tile<f16>
  // CHECK: arith.truncf %[[F]] : f32 to tf32
  %8 = ftof %f : tile<f32> -> tile<tf32>
  // Beyond the range of f8E4M3FN an integer becomes a NaN.
  // CHECK: arith.sitofp %[[I]] : i32 to f8E4M3FN
  %9 = itof %i signed : tile<i32> -> tile<f8E4M3FN>
  return
}

// A number outside the integer type becomes the nearest that it has, a NaN becomes 0.
// CHECK-LABEL: nv_tileaa.func @saturation(
// CHECK-SAME: %[[F:.*]]: f32, %[[H:.*]]: f16)
entry @saturation(%f: tile<f32>, %h: tile<f16>) {
  // CHECK-NEXT: %[[RAW:.*]] = arith.fptosi %[[F]] : f32 to i32
  // CHECK-NEXT: %[[TOP:.*]] = arith.constant 2.14748365E+9 : f32
  // CHECK-NEXT: %[[OVER:.*]] = arith.cmpf oge, %[[F]], %[[TOP]] : f32
  // CHECK-NEXT: %[[MOST:.*]] = arith.constant 2147483647 : i32
  // CHECK-NEXT: %[[X:.*]] = arith.select %[[OVER]], %[[MOST]], %[[RAW]] : i32
  // CHECK-NEXT: %[[BOTTOM:.*]] = arith.constant -2.14748365E+9 : f32
  // CHECK-NEXT: %[[UNDER:.*]] = arith.cmpf ole, %[[F]], %[[BOTTOM]] : f32
  // CHECK-NEXT: %[[LEAST:.*]] = arith.constant -2147483648 : i32
  // CHECK-NEXT: %[[Y:.*]] = arith.select %[[UNDER]], %[[LEAST]], %[[X]] : i32
  // CHECK-NEXT: %[[NAN:.*]] = arith.cmpf uno, %[[F]], %[[F]] : f32
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: arith.select %[[NAN]], %[[ZERO]], %[[Y]] : i32
  %0 = ftoi %f signed : tile<f32> -> tile<i32>
  // Of f16, only the infinities are beyond an i32.
  // CHECK-NEXT: arith.fptosi %[[H]] : f16 to i32
  // CHECK-NEXT: %[[TOP:.*]] = arith.constant 0x7C00 : f16
  // CHECK-NEXT: arith.cmpf oge, %[[H]], %[[TOP]] : f16
  // CHECK: %[[BOTTOM:.*]] = arith.constant 0xFC00 : f16
  // CHECK-NEXT: arith.cmpf ole, %[[H]], %[[BOTTOM]] : f16
  %1 = ftoi %h signed saturating : tile<f16> -> tile<i32>
  // CHECK: arith.fptoui %[[H]] : f16 to i8
  // CHECK-NEXT: arith.constant 2.560000e+02 : f16
  // CHECK: arith.constant -1.000000e+00 : f16
  // CHECK-NEXT: arith.cmpf ole
  %2 = ftoi %h unsigned : tile<f16> -> tile<i8>
  // The narrow formats through f32.
  // CHECK: %[[T:.*]] = arith.truncf %[[F]] : f32 to tf32
  // CHECK-NEXT: %[[W:.*]] = arith.extf %[[T]] : tf32 to f32
  // CHECK-NEXT: arith.fptosi %[[W]] : f32 to i8
  %3 = ftof %f : tile<f32> -> tile<tf32>
  %4 = ftoi %3 signed : tile<tf32> -> tile<i8>
  return
}

// CHECK-LABEL: nv_tileaa.func @bytes(
entry @bytes() {
  // CHECK: %[[X:.*]] = nv_tileaa.constant_tensor dense<[1, 2, 3, 4]> : tensor<4xi16>
  %0 = constant <i16: [1, 2, 3, 4]> : tile<4xi16>
  // CHECK: %[[B:.*]] = nv_tileaa.pack %[[X]] : tensor<4xi16> -> tensor<8xi8>
  %1 = pack %0 : tile<4xi16> -> tile<8xi8>
  // CHECK: nv_tileaa.unpack %[[B]] : tensor<8xi8> -> tensor<16xi4>
  %2 = unpack %1 : tile<8xi8> -> tile<16xi4>
  return
}
