// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @batches(%a: tensor<4x16x16xf16>, %b: tensor<2x16x16xf16>, %c: tensor<4x16x16xf32>) {
  // expected-error @below {{expects MxK, KxN and MxN tiles, or batches of them of one size}}
  %0 = nv_tileaa.dot %a, %b, %c : tensor<4x16x16xf16>, tensor<2x16x16xf16>, tensor<4x16x16xf32> -> tensor<4x16x16xf32>
  return
}

// -----

func.func @depths(%a: tensor<16x32xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{expects MxK, KxN and MxN tiles, or batches of them of one size}}
  %0 = nv_tileaa.dot %a, %b, %c : tensor<16x32xf16>, tensor<16x16xf16>, tensor<16x16xf32> -> tensor<16x16xf32>
  return
}

// -----

func.func @ranks(%a: tensor<16xf16>, %c: tensor<16xf32>) {
  // expected-error @below {{expects MxK, KxN and MxN tiles, or batches of them of one size}}
  %0 = nv_tileaa.dot %a, %a, %c : tensor<16xf16>, tensor<16xf16>, tensor<16xf32> -> tensor<16xf32>
  return
}

// -----

func.func @one_scale(%a: tensor<16x64xf8E5M2>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>) {
  // expected-error @below {{expects two tiles of scales, MxS and SxN for S blocks along K, got tensor<16x2xf8E8M0FNU>}}
  %0 = nv_tileaa.dot %a, %b, %c scales %s : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU> -> tensor<16x8xf32>
  return
}

// -----

func.func @scales(%a: tensor<16x64xf8E5M2>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>, %t: tensor<4x8xf8E8M0FNU>) {
  // expected-error @below {{expects two tiles of scales, MxS and SxN for S blocks along K}}
  %0 = nv_tileaa.dot %a, %b, %c scales %s, %t : tensor<16x64xf8E5M2>, tensor<64x8xf8E5M2>, tensor<16x8xf32> scales tensor<16x2xf8E8M0FNU>, tensor<4x8xf8E8M0FNU> -> tensor<16x8xf32>
  return
}
