// RUN: tessera-opt %s | tessera-opt | filecheck %s

// CHECK-LABEL: func.func @rounding
func.func @rounding(%x: f32, %t: tensor<8xf16>) {
  // CHECK: nv_tileaa.addf %{{.*}}, %{{.*}} flush_to_zero : f32
  %0 = nv_tileaa.addf %x, %x flush_to_zero : f32
  // CHECK: nv_tileaa.subf %{{.*}}, %{{.*}} rounding<zero> : tensor<8xf16>
  %1 = nv_tileaa.subf %t, %t rounding<zero> : tensor<8xf16>
  // CHECK: nv_tileaa.mulf %{{.*}}, %{{.*}} rounding<negative_inf> flush_to_zero : f32
  %2 = nv_tileaa.mulf %x, %x rounding<negative_inf> flush_to_zero : f32
  // CHECK: nv_tileaa.divf %{{.*}}, %{{.*}} rounding<full> : f32
  %3 = nv_tileaa.divf %x, %x rounding<full> : f32
  // CHECK: nv_tileaa.fma %{{.*}}, %{{.*}}, %{{.*}} rounding<positive_inf> : tensor<8xf16>
  %4 = nv_tileaa.fma %t, %t, %t rounding<positive_inf> : tensor<8xf16>
  // CHECK: nv_tileaa.sqrt %{{.*}} rounding<approx> : f32
  %5 = nv_tileaa.sqrt %x rounding<approx> : f32
  // CHECK: nv_tileaa.exp %{{.*}} rounding<approx> : f32
  %6 = nv_tileaa.exp %x rounding<approx> : f32
  // CHECK: nv_tileaa.tanh %{{.*}} rounding<approx> : f32
  %7 = nv_tileaa.tanh %x rounding<approx> : f32
  // CHECK: nv_tileaa.exp2 %{{.*}} flush_to_zero : f32
  %8 = nv_tileaa.exp2 %x flush_to_zero : f32
  // CHECK: nv_tileaa.rsqrt %{{.*}} flush_to_zero : f32
  %9 = nv_tileaa.rsqrt %x flush_to_zero : f32
  // CHECK: nv_tileaa.maxf %{{.*}}, %{{.*}} propagate_nan flush_to_zero : f32
  %10 = nv_tileaa.maxf %x, %x propagate_nan flush_to_zero : f32
  // CHECK: nv_tileaa.minf %{{.*}}, %{{.*}} flush_to_zero : f32
  %11 = nv_tileaa.minf %x, %x flush_to_zero : f32
  return
}
