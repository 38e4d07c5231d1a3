// RUN: tessera-opt %s -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @tiles(
// CHECK-SAME: %[[P:.*]]: tensor<8x!llvm.ptr<1>>, %[[O:.*]]: tensor<8xi32>, %[[M:.*]]: tensor<8xi1>, %[[X:.*]]: tensor<8xf32>)
nv_tileaa.func @tiles(%p: tensor<8x!llvm.ptr<1>>, %o: tensor<8xi32>, %m: tensor<8xi1>, %x: tensor<8xf32>) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // CHECK: %[[A:.*]] = nv_tileaa.offset %[[P]], %[[O]], f32 : tensor<8x!llvm.ptr<1>>, tensor<8xi32>
  %a = nv_tileaa.offset %p, %o, f32 : tensor<8x!llvm.ptr<1>>, tensor<8xi32>
  // CHECK: %[[V:.*]], %[[T1:.*]] = nv_tileaa.load %[[A]] mask %[[M]] padding %[[X]], %{{.*}} {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f32>} : tensor<8x!llvm.ptr<1>> -> tensor<8xf32>, !nv_tileaa.mem_token
  %v, %t1 = nv_tileaa.load %a mask %m padding %x, %t {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f32>} : tensor<8x!llvm.ptr<1>> -> tensor<8xf32>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.load %[[A]], %[[T1]] {copy_atom
  %w, %t2 = nv_tileaa.load %a, %t1 {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>} : tensor<8x!llvm.ptr<1>> -> tensor<8xf32>, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.store %[[A]], %[[V]] mask %[[M]], %{{.*}} {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<8x!llvm.ptr<1>>, tensor<8xf32>, !nv_tileaa.mem_token
  %t3 = nv_tileaa.store %a, %v mask %m, %t2 {copy_atom = #cute.copy_atom<sm80_stg_32_f32>} : tensor<8x!llvm.ptr<1>>, tensor<8xf32>, !nv_tileaa.mem_token
  nv_tileaa.return
}

// CHECK-LABEL: nv_tileaa.func @scalars(
nv_tileaa.func @scalars(%p: !llvm.ptr<1>, %i: i64, %c: i1) {
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  // CHECK: nv_tileaa.offset %{{.*}}, %{{.*}}, i16 : !llvm.ptr<1>, i64
  %a = nv_tileaa.offset %p, %i, i16 : !llvm.ptr<1>, i64
  // CHECK: nv_tileaa.atomic_load acquire gpu %{{.*}} mask %{{.*}}, %{{.*}} : !llvm.ptr<1> -> i16, !nv_tileaa.mem_token
  %v, %t1 = nv_tileaa.atomic_load acquire gpu %a mask %c, %t : !llvm.ptr<1> -> i16, !nv_tileaa.mem_token
  // CHECK: nv_tileaa.atomic_store release sys %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<1>, i16, !nv_tileaa.mem_token
  %t2 = nv_tileaa.atomic_store release sys %a, %v, %t1 : !llvm.ptr<1>, i16, !nv_tileaa.mem_token
  nv_tileaa.return
}

// CHECK-LABEL: nv_tileaa.func @assumed(
nv_tileaa.func @assumed(%x: tensor<4x8xi32>) {
  // CHECK: nv_tileaa.assume %{{.*}} {along = 1 : i64, divisor = 16 : i64, every = 4 : i64} : tensor<4x8xi32>
  %a = nv_tileaa.assume %x {divisor = 16 : i64, every = 4 : i64, along = 1 : i64} : tensor<4x8xi32>
  // CHECK: nv_tileaa.assume %{{.*}} {same = array<i64: 2, 1>} : tensor<4x8xi32>
  %b = nv_tileaa.assume %a {same = array<i64: 2, 1>} : tensor<4x8xi32>
  nv_tileaa.return
}
