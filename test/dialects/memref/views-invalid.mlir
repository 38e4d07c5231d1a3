// RUN: tessera-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{initial value expected to be of type 'tensor<2xf32>', but was of type 'tensor<3xf32>'}}
memref.global "private" @initial : memref<2xf32> = dense<1.0> : tensor<3xf32>

// -----

func.func @view_sizes(%m: memref<64xi8>, %i: index) {
  // expected-error @below {{incorrect number of size operands for type memref<16xf32>}}
  %0 = "memref.view"(%m, %i, %i) : (memref<64xi8>, index, index) -> memref<16xf32>
  return
}
