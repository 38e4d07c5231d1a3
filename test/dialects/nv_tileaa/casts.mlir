// RUN: tessera-opt %s | filecheck %s
// RUN: tessera-opt %s | tessera-opt - | filecheck %s

// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<8xf32>, %i: tensor<8xi64>, %h: tensor<8xf16>, %n: tensor<8xi4>, %s: f64) {
  // CHECK: %{{.*}} = nv_tileaa.truncf_satfinite %{{.*}} : tensor<8xf32> to tensor<8xf8E4M3FN>
  %0 = nv_tileaa.truncf_satfinite %x : tensor<8xf32> to tensor<8xf8E4M3FN>
  // CHECK: %{{.*}} = nv_tileaa.truncf_satfinite %{{.*}} upward : f64 to f8E8M0FNU
  %1 = nv_tileaa.truncf_satfinite %s upward : f64 to f8E8M0FNU
  // CHECK: %{{.*}} = nv_tileaa.int_to_ptr %{{.*}} : tensor<8xi64> to tensor<8x!llvm.ptr<1>>
  %2 = nv_tileaa.int_to_ptr %i : tensor<8xi64> to tensor<8x!llvm.ptr<1>>
  // CHECK: %{{.*}} = nv_tileaa.ptr_to_int %{{.*}} : tensor<8x!llvm.ptr<1>> to tensor<8xi64>
  %3 = nv_tileaa.ptr_to_int %2 : tensor<8x!llvm.ptr<1>> to tensor<8xi64>
  // CHECK: %{{.*}} = nv_tileaa.pack %{{.*}} : tensor<8xf16> -> tensor<16xi8>
  %4 = nv_tileaa.pack %h : tensor<8xf16> -> tensor<16xi8>
  // CHECK: %{{.*}} = nv_tileaa.pack %{{.*}} : tensor<8xi4> -> tensor<4xi8>
  %5 = nv_tileaa.pack %n : tensor<8xi4> -> tensor<4xi8>
  // CHECK: %{{.*}} = nv_tileaa.unpack %{{.*}} : tensor<16xi8> -> tensor<128xi1>
  %6 = nv_tileaa.unpack %4 : tensor<16xi8> -> tensor<128xi1>
  return
}
