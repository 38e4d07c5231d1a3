// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t | diff %t -
// RUN: tessera-opt %s --mlir-print-op-generic | tessera-opt | diff %t -

// CHECK-LABEL: nv_tileaa.func @products
nv_tileaa.func @products(%a: tensor<4x16x64xi8>, %b: tensor<4x64x8xi8>, %c: tensor<4x16x8xi32>, %p: tensor<16x64xf8E5M2>, %q: tensor<64x8xf8E5M2>, %r: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>, %t: tensor<2x8xf8E8M0FNU>) {
  // CHECK: nv_tileaa.dot %a, %b, %c {unsigned_b} : tensor<4x16x64xi8>, tensor<4x64x8xi8>, tensor<4x16x8xi32> -> tensor<4x16x8xi32>
  %0 = nv_tileaa.dot %a, %b, %c {unsigned_b} : tensor<4x16x64xi8>, tensor<4x64x8xi8>, tensor<4x16x8xi32> -> tensor<4x16x8xi32>
  // CHECK: nv_tileaa.dot %p, %q, %r scales %s, %t : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU> -> tensor<16x8xf32>
  %1 = nv_tileaa.dot %p, %q, %r scales %s, %t : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU> -> tensor<16x8xf32>
  nv_tileaa.return
}
