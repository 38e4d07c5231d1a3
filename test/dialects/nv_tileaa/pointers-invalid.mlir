// RUN: tessera-opt %s --split-input-file --verify-diagnostics

nv_tileaa.func @shapes(%p: tensor<8x!llvm.ptr<1>>, %o: tensor<4xi32>) {
  // expected-error @+1 {{'nv_tileaa.offset' op requires the same shape for all operands and results}}
  %a = nv_tileaa.offset %p, %o, f32 : tensor<8x!llvm.ptr<1>>, tensor<4xi32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @no_pointers(%p: tensor<8xi64>, %o: tensor<8xi32>) {
  // expected-error @+1 {{operand #0 must be pointer or tile of pointers, but got 'tensor<8xi64>'}}
  %a = nv_tileaa.offset %p, %o, f32 : tensor<8xi64>, tensor<8xi32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @loaded(%p: tensor<8x!llvm.ptr<1>>) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // expected-error @+1 {{'nv_tileaa.load' op expects operands of one shape, got tensor<8x!llvm.ptr<1>> and tensor<4xf32>}}
  %v, %t1 = nv_tileaa.load %p, %t {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : tensor<8x!llvm.ptr<1>> -> tensor<4xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// -----

nv_tileaa.func @stored(%p: !llvm.ptr<1>, %x: tensor<4xf32>) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // expected-error @+1 {{'nv_tileaa.store' op expects operands of one shape, got !llvm.ptr<1> and tensor<4xf32>}}
  %t1 = nv_tileaa.store %p, %x, %t {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : !llvm.ptr<1>, tensor<4xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// -----

nv_tileaa.func @axis(%p: tensor<8x!llvm.ptr<1>>) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // expected-error @+1 {{'nv_tileaa.load' op has no axis 1 in tensor<8x!llvm.ptr<1>>}}
  %v, %t1 = nv_tileaa.load %p, %t {axis = 1 : i64, copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : tensor<8x!llvm.ptr<1>> -> tensor<8xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// -----

nv_tileaa.func @released(%p: !llvm.ptr<1>) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // expected-error @+1 {{'nv_tileaa.atomic_load' op has the ordering 'release'; an atomic load is relaxed or acquire}}
  %v, %t1 = nv_tileaa.atomic_load release gpu %p, %t : !llvm.ptr<1> -> f32, !nv_tileaa.mem_token
  nv_tileaa.return
}

// -----

nv_tileaa.func @acquired(%p: !llvm.ptr<1>, %x: f32) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // expected-error @+1 {{'nv_tileaa.atomic_store' op has the ordering 'acquire'; an atomic store is relaxed or release}}
  %t1 = nv_tileaa.atomic_store acquire gpu %p, %x, %t : !llvm.ptr<1>, f32, !nv_tileaa.mem_token
  nv_tileaa.return
}

// -----

nv_tileaa.func @half_an_assumption(%x: tensor<8xi32>) {
  // expected-error @+1 {{'nv_tileaa.assume' op requires 'every' and 'along' together}}
  %a = nv_tileaa.assume %x {divisor = 16 : i64, every = 4 : i64} : tensor<8xi32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @no_such_axis(%x: tensor<8xi32>) {
  // expected-error @+1 {{'nv_tileaa.assume' op has no axis 1 along which every 4 count up}}
  %a = nv_tileaa.assume %x {divisor = 16 : i64, every = 4 : i64, along = 1 : i64} : tensor<8xi32>
  nv_tileaa.return
}

// -----

nv_tileaa.func @groups(%x: tensor<8xi32>) {
  // expected-error @+1 {{'nv_tileaa.assume' op expected 1 groups in 'same', got 2}}
  %a = nv_tileaa.assume %x {same = array<i64: 2, 2>} : tensor<8xi32>
  nv_tileaa.return
}
