// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again

// CHECK-LABEL: nv_tileaa.func @elements(
entry @elements(%p: tile<ptr<i32>>, %x: tile<i32>) {
  %i = iota : tile<8xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p2 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %ps = offset %p2, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
  %m = cmpi equal %i, %i, signed : tile<8xi32> -> tile<8xi1>
  // Without a token, an op waits for nothing.
  // CHECK: %[[START:.+]] = nv_tileaa.create_mem_token
  // CHECK: %[[R:.+]], %[[T:.+]] = nv_tileaa.atomic_rmw umax acquire gpu %{{.*}}, %{{.*}} mask %{{.*}}, %[[START]] : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  %r, %t = atomic_rmw_tko acquire device %ps, umax, %i, %m : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> tile<8xi32>, token
  // CHECK: nv_tileaa.atomic_cas acq_rel sys %{{.*}}, %{{.*}}, %[[R]], %[[T]] : tensor<8x!llvm.ptr<1>>, tensor<8xi32>, !nv_tileaa.mem_token
  %c, %u = atomic_cas_tko acq_rel sys %ps, %i, %r token=%t : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token
  // CHECK: nv_tileaa.atomic_rmw xchg release cta %p, %x, %{{.*}} : !llvm.ptr<1>, i32, !nv_tileaa.mem_token
  %s, %v = atomic_rmw_tko release tl_blk %p, xchg, %x token=%u : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}

// A view becomes pointers, and a mask where elements may lie outside.
// CHECK-LABEL: nv_tileaa.func @view(
entry @view(%p: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
  %x = constant <f32: 1.0> : tile<16xf32>
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>
  // CHECK: nv_tileaa.atomic_rmw addf relaxed gpu %{{.*}}, %{{.*}} mask %{{.*}}, %{{.*}} : tensor<16x!llvm.ptr<1>>, tensor<16xf32>, !nv_tileaa.mem_token
  %t = atomic_red_view_tko relaxed device %w[%i], addf, %x : tile<16xf32>, partition_view<tile=(16), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
