// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @narrow(%p: !llvm.ptr<1>, %x: i8, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{moves elements of type i8; expected i32, i64, f16, bf16, f32 or f64}}
  %u = nv_tileaa.multimem_store weak %p, %x, %t : !llvm.ptr<1>, i8, !nv_tileaa.mem_token
  return
}

// -----

func.func @scope(%p: !llvm.ptr<1>, %x: i32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{must be either weak without a scope, or have another ordering and a scope}}
  %u = nv_tileaa.multimem_store relaxed %p, %x, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
  return
}

// -----

func.func @largest(%p: !llvm.ptr<1>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{applies 'max' to elements of type f32; expected add}}
  %x, %u = nv_tileaa.multimem_load_reduce max weak %p, %t : !llvm.ptr<1> -> f32, !nv_tileaa.mem_token
  return
}

// -----

func.func @half(%p: !llvm.ptr<1>, %x: f16, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{applies 'min' to elements of type f16; expected add}}
  %u = nv_tileaa.multimem_reduce min relaxed scope gpu %p, %x, %t : !llvm.ptr<1>, f16, !nv_tileaa.mem_token
  return
}
