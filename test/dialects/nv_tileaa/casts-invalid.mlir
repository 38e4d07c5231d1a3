// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8xf16>) {
  // expected-error @below {{operand type 'tensor<8xf16>' and result type 'tensor<8xf16>' are cast incompatible}}
  %0 = nv_tileaa.truncf_satfinite %x : tensor<8xf16> to tensor<8xf16>
  return
}

// -----

func.func @f(%x: tensor<8xi32>) {
  // expected-error @below {{operand type 'tensor<8xi32>' and result type 'tensor<8x!llvm.ptr<1>>' are cast incompatible}}
  %0 = nv_tileaa.int_to_ptr %x : tensor<8xi32> to tensor<8x!llvm.ptr<1>>
  return
}

// -----

func.func @f(%x: tensor<8x!llvm.ptr<1>>) {
  // expected-error @below {{requires the same shape for all operands and results}}
  %0 = nv_tileaa.ptr_to_int %x : tensor<8x!llvm.ptr<1>> to tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<8xf16>) {
  // expected-error @below {{expects as many bytes as tensor<8xf16> has, got tensor<8xi8>}}
  %0 = nv_tileaa.pack %x : tensor<8xf16> -> tensor<8xi8>
  return
}

// -----

func.func @f(%x: tensor<2x8xi8>) {
  // expected-error @below {{expects tiles of rank 1, and i8 as the bytes; got tensor<4xi32> and tensor<2x8xi8>}}
  %0 = nv_tileaa.unpack %x : tensor<2x8xi8> -> tensor<4xi32>
  return
}
