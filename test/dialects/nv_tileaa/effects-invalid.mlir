// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @nothing() {
  // expected-error @below {{bytes must be positive, got 0}}
  %p = nv_tileaa.heap_alloc {bytes = 0 : i64, alignment = 16 : i64} : !llvm.ptr<1>
  return
}

// -----

func.func @odd() {
  // expected-error @below {{alignment must be a power of two, got 24}}
  %p = nv_tileaa.heap_alloc {bytes = 8 : i64, alignment = 24 : i64} : !llvm.ptr<1>
  return
}

// -----

func.func @not_from_the_heap(%p: !llvm.ptr<1>) {
  // expected-error @below {{frees a pointer that is not the result of an nv_tileaa.heap_alloc}}
  nv_tileaa.heap_free %p : !llvm.ptr<1>
  return
}

// -----

func.func @too_few(%x: i32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{has 2 conversions in its format, but 1 arguments}}
  %0 = nv_tileaa.print "%d %d", %x token %t : i32 -> !nv_tileaa.mem_token
  return
}

// -----

func.func @star(%x: i32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{'%*d' is not a supported printf conversion}}
  %0 = nv_tileaa.print "%*d", %x token %t : i32 -> !nv_tileaa.mem_token
  return
}

// -----

func.func @narrow(%x: f16, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{prints f16; expected an integer, a pointer, f32 or f64}}
  %0 = nv_tileaa.print "%f", %x token %t : f16 -> !nv_tileaa.mem_token
  return
}

// -----

func.func @number(%x: tensor<8xi32>) {
  // expected-error @below {{must be i1 or tile of i1}}
  nv_tileaa.assert %x, "m" : tensor<8xi32>
  return
}

// -----

func.func @vector(%x: vector<4xi32>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{must be variadic of number or pointer or tile of number or pointer}}
  %0 = nv_tileaa.print "%d", %x token %t : vector<4xi32> -> !nv_tileaa.mem_token
  return
}
