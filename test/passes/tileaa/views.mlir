// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_90a | filecheck %s

// Rows that an index tile names: one pointer a row, four neighbors of a row at a time, and a mask along each axis.
// CHECK-LABEL: nv_tileaa.func @gathered(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[M:.*]]: i32, %[[J:.*]]: i32)
entry @gathered(%p: tile<ptr<f32>>, %m: tile<i32>, %j: tile<i32>) {
  // CHECK: %[[BASE:.*]] = nv_tileaa.assume %[[P]] {divisor = 16 : i64}
  %base = assume div_by<16>, %p : tile<ptr<f32>>
  %v = make_tensor_view %base, shape = [%m, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(4x16), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
  %rows = constant <i32: [5, 0, 9, 2]> : tile<4xi32>
  // CHECK: %[[JJ:.*]] = nv_tileaa.assume %[[J]] {divisor = 8 : i64}
  %jj = assume div_by<8>, %j : tile<i32>
  // CHECK: %[[J64:.*]] = arith.extui %[[JJ]] : i32 to i64
  // CHECK: %[[AT:.*]] = nv_tileaa.offset %[[BASE]], %[[J64]], f32
  // CHECK: %[[ROWS:.*]] = nv_tileaa.offset %{{.*}}, %{{.*}}, f32 : tensor<4x!llvm.ptr<1>>, tensor<4xi64>
  // CHECK: nv_tileaa.broadcast %{{.*}} : tensor<4x1x!llvm.ptr<1>> -> tensor<4x16x!llvm.ptr<1>>
  // CHECK: %[[ALL:.*]] = nv_tileaa.offset %{{.*}}, %{{.*}}, f32 : tensor<4x16x!llvm.ptr<1>>, tensor<4x16xi32>
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : tensor<4xi32>
  // CHECK: %[[C64:.*]] = arith.constant 64 : i32
  // CHECK: %[[MOST:.*]] = arith.maxui %[[C64]], %[[JJ]] : i32
  // CHECK: %[[LEFT:.*]] = arith.subi %[[MOST]], %[[JJ]] : i32
  // CHECK: nv_tileaa.splat %[[LEFT]]
  // CHECK: %[[MASK:.*]] = arith.andi
  // CHECK: nv_tileaa.load %[[ALL]] mask %[[MASK]] padding %{{.*}}, %{{.*}} {axis = 1 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f32>}
  %t, %k = load_view_tko weak %g[%rows, %jj] : gather_scatter_view<tile=(4x16), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> tile<4x16xf32>, token
  return
}

// Indices that the program promises to be inside need no mask.
// CHECK-LABEL: nv_tileaa.func @scattered(
entry @scattered(%p: tile<ptr<f32>>, %m: tile<i32>, %j: tile<i32>, %x: tile<f32>) {
  %v = make_tensor_view %p, shape = [%m, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(4x16), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>
  %rows = constant <i32: [5, 0, 9, 2]> : tile<4xi32>
  %y = constant <f32: 1.0> : tile<4x16xf32>
  // CHECK-NOT: arith.cmpi
  // CHECK: nv_tileaa.store %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, copy_atom = #cute.copy_atom<sm80_stg_32_f32>}
  %k = store_view_tko weak %y, %g[%rows, %j] inbounds = [true, true] : tile<4x16xf32>, gather_scatter_view<tile=(4x16), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> token
  return
}

// Rows are compared in 64 bits where a tensor has more of them than 32 bits count.
// CHECK-LABEL: nv_tileaa.func @gathered_from_many(
entry @gathered_from_many(%p: tile<ptr<f32>>, %rows: tile<i32>, %j: tile<i32>) {
  %v = make_tensor_view %p, shape = [4294967296, 16], strides = [16, 1] : tensor_view<4294967296x16xf32, strides=[16,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(4x16), tensor_view<4294967296x16xf32, strides=[16,1]>, sparse_dim=0>
  %one = reshape %rows : tile<i32> -> tile<1xi32>
  %all = broadcast %one : tile<1xi32> -> tile<4xi32>
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : tensor<4xi64>
  %t, %k = load_view_tko weak %g[%all, %j] : gather_scatter_view<tile=(4x16), tensor_view<4294967296x16xf32, strides=[16,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> tile<4x16xf32>, token
  return
}

// They are compared in 32 bits where these count all of them.
// CHECK-LABEL: nv_tileaa.func @gathered_from_fewer(
entry @gathered_from_fewer(%p: tile<ptr<f32>>, %rows: tile<i32>, %j: tile<i32>) {
  %v = make_tensor_view %p, shape = [4294967295, 16], strides = [16, 1] : tensor_view<4294967295x16xf32, strides=[16,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(4x16), tensor_view<4294967295x16xf32, strides=[16,1]>, sparse_dim=0>
  %one = reshape %rows : tile<i32> -> tile<1xi32>
  %all = broadcast %one : tile<1xi32> -> tile<4xi32>
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : tensor<4xi32>
  %t, %k = load_view_tko weak %g[%all, %j] : gather_scatter_view<tile=(4x16), tensor_view<4294967295x16xf32, strides=[16,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> tile<4x16xf32>, token
  return
}

// So are those of a small tensor.
// CHECK-LABEL: nv_tileaa.func @gathered_from_few(
entry @gathered_from_few(%p: tile<ptr<f32>>, %rows: tile<i32>, %j: tile<i32>) {
  %v = make_tensor_view %p, shape = [60, 16], strides = [16, 1] : tensor_view<60x16xf32, strides=[16,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(4x16), tensor_view<60x16xf32, strides=[16,1]>, sparse_dim=0>
  %one = reshape %rows : tile<i32> -> tile<1xi32>
  %all = broadcast %one : tile<1xi32> -> tile<4xi32>
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : tensor<4xi32>
  %t, %k = load_view_tko weak %g[%all, %j] : gather_scatter_view<tile=(4x16), tensor_view<60x16xf32, strides=[16,1]>, sparse_dim=0>, tile<4xi32>, tile<i32> -> tile<4x16xf32>, token
  return
}

// Tiles 24 elements apart, all of which are inside.
// CHECK-LABEL: nv_tileaa.func @strided(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32, %[[I:.*]]: i32)
entry @strided(%p: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
  // CHECK: %[[NN:.*]] = nv_tileaa.assume %[[N]]
  %nn = assume bounded<0, ?>, %n : tile<i32>
  // CHECK: nv_tileaa.make_memref %[[P]], shape = [%[[NN]]], stride = [1]
  // CHECK: %[[FREE:.*]] = nv_tileaa.make_memref %[[P]], shape = [%[[NN]]], stride = [1], space = #nv_tileaa.global {inbounds = array<i1: true>}
  %v = make_tensor_view %p, shape = [%nn], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %s = make_strided_view %v : strided_view<tile=(64), traversal_strides=[24], tensor_view<?xf32, strides=[1]>>
  // CHECK: %[[C24:.*]] = arith.constant 24 : i32
  // CHECK: %[[O:.*]] = arith.muli %[[I]], %[[C24]] overflow<nsw> : i32
  // CHECK: nv_tileaa.addptr %[[FREE]], [%[[O]]]
  %t, %k = load_view_tko weak %s[%i] inbounds = [true] : strided_view<tile=(64), traversal_strides=[24], tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  // CHECK: %[[C24B:.*]] = arith.constant 24 : i32
  // CHECK: %[[C23:.*]] = arith.constant 23 : i32
  // CHECK: %[[UP:.*]] = arith.addi %[[NN]], %[[C23]] overflow<nuw>
  // CHECK: %[[COUNT:.*]] = arith.divui %[[UP]], %[[C24B]]
  // CHECK: arith.addi %[[COUNT]], %[[I]]
  %c = get_index_space_shape %s : strided_view<tile=(64), traversal_strides=[24], tensor_view<?xf32, strides=[1]>> -> tile<i32>
  %d = addi %c, %i : tile<i32>
  return
}

// Where places may not fit 32 bits, the address moves, and the extent is what is left of it.
// CHECK-LABEL: nv_tileaa.func @long(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i64, %[[I:.*]]: i32)
entry @long(%p: tile<ptr<f32>>, %n: tile<i64>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i64> -> tensor_view<?xf32, strides=[1]>
  %s = make_partition_view %v : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>
  // CHECK: %[[WIDE:.*]] = arith.extui %[[I]] : i32 to i64
  // CHECK: %[[PLACE:.*]] = arith.muli %[[WIDE]], %{{.*}} overflow<nsw> : i64
  // CHECK: %[[MOST:.*]] = arith.maxui %[[N]], %[[PLACE]] : i64
  // CHECK: %[[LEFT:.*]] = arith.subi %[[MOST]], %[[PLACE]] : i64
  // CHECK: %[[LEAST:.*]] = arith.minui %[[LEFT]], %{{.*}} : i64
  // CHECK: %[[EXTENT:.*]] = arith.trunci %[[LEAST]] : i64 to i32
  // CHECK: %[[BASE:.*]] = nv_tileaa.offset %[[P]], %[[PLACE]], f32 : !llvm.ptr<1>, i64
  // CHECK: %[[MOVED:.*]] = nv_tileaa.make_memref %[[BASE]], shape = [%[[EXTENT]]], stride = [1]
  // CHECK: nv_tileaa.addptr %[[MOVED]]
  %t, %k = load_view_tko weak %s[%i] : partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  return
}

// Elements that others may access meanwhile go one by one.
// CHECK-LABEL: nv_tileaa.func @shared(
entry @shared(%p: tile<ptr<f32>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [60], strides = [1] : tensor_view<60xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), padding_value = nan, tensor_view<60xf32, strides=[1]>>
  // CHECK: %[[T:.*]], %[[K:.*]] = nv_tileaa.atomic_load acquire gpu %{{.*}} mask %{{.*}} padding %{{.*}}, %{{.*}} :
  %t, %k = load_view_tko acquire device %w[%i] : partition_view<tile=(16), padding_value = nan, tensor_view<60xf32, strides=[1]>>, tile<i32> -> tile<16xf32>, token
  // CHECK: nv_tileaa.atomic_store release sys %{{.*}}, %[[T]] mask %{{.*}}, %[[K]] :
  %l = store_view_tko release sys %t, %w[%i] token = %k : tile<16xf32>, partition_view<tile=(16), padding_value = nan, tensor_view<60xf32, strides=[1]>>, tile<i32> -> token
  return
}

// CHECK-LABEL: nv_tileaa.func @no_dimension(
entry @no_dimension(%p: tile<ptr<f32>>) {
  // CHECK: nv_tileaa.make_memref %{{.*}}, shape = [], stride = [], space = #nv_tileaa.global : !nv_tileaa.memref<f32>
  %v = make_tensor_view %p, shape = [], strides = [] : tensor_view<f32>
  return
}
