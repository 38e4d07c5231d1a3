// RUN: tessera-opt %s --split-input-file --verify-diagnostics

func.func @weak(%p: !llvm.ptr<1>, %x: i32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{has the ordering 'weak'; expected relaxed, acquire, release or acq_rel}}
  %r, %u = nv_tileaa.atomic_rmw add weak gpu %p, %x, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
  return
}

// -----

func.func @shapes(%p: tensor<4x!llvm.ptr<1>>, %x: tensor<8xi32>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{expects operands of one shape, got tensor<4x!llvm.ptr<1>> and tensor<8xi32>}}
  %r, %u = nv_tileaa.atomic_rmw add relaxed gpu %p, %x, %t : tensor<4x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  return
}

// -----

func.func @integers(%p: !llvm.ptr<1>, %x: f32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{applies 'max' to elements of type f32; expected i32 or i64}}
  %r, %u = nv_tileaa.atomic_rmw max relaxed gpu %p, %x, %t : !llvm.ptr<1>, f32, !nv_tileaa.mem_token
  return
}

// -----

func.func @floats(%p: !llvm.ptr<1>, %x: i32, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{adds elements of type i32; expected f16, bf16, f32 or f64}}
  %r, %u = nv_tileaa.atomic_rmw addf relaxed gpu %p, %x, %t : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
  return
}

// -----

func.func @narrow(%p: !llvm.ptr<1>, %x: f16, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{has elements of type f16; expected 32 or 64 bits}}
  %r, %u = nv_tileaa.atomic_cas relaxed gpu %p, %x, %x, %t : !llvm.ptr<1>, f16, !nv_tileaa.mem_token
  return
}

// -----

func.func @pointers(%p: !llvm.ptr<1>, %x: !llvm.ptr<1>, %t: !nv_tileaa.mem_token) {
  // expected-error @below {{must be number or tile of number}}
  %r, %u = nv_tileaa.atomic_rmw xchg relaxed gpu %p, %x, %t : !llvm.ptr<1>, !llvm.ptr<1>, !nv_tileaa.mem_token
  return
}
