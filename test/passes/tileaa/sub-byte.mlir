// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa="gpu-name=sm_90" --split-input-file -o %t
// RUN: filecheck %s --input-file %t

// Half the extent and the place along the packed axis, half the stride along the other.
// CHECK-LABEL: nv_tileaa.func @rows(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32, %[[S:.*]]: i32)
entry @rows(%p: tile<ptr<f4E2M1FN>>, %n: tile<i32>, %s: tile<i32>) {
  %t = make_token : token
  %i, %j, %k = get_tile_block_id : tile<i32>
  // CHECK: %[[EXTENT:.*]] = arith.shrui %[[N]], %{{.*}} : i32
  // CHECK: %[[STRIDE:.*]] = arith.shrui %[[S]], %{{.*}} : i32
  // CHECK: %[[V:.*]] = nv_tileaa.make_memref %[[P]], shape = [64, %[[EXTENT]]], stride = [%[[STRIDE]], 1], space = #nv_tileaa.global : !nv_tileaa.memref<64x?xi8>
  %v = make_tensor_view %p, shape = [64, %n], strides = [%s, 1] : tile<i32> -> tensor_view<64x?xf4E2M1FN, strides=[?,1]>
  %w = make_partition_view %v : partition_view<tile=(8x32), tensor_view<64x?xf4E2M1FN, strides=[?,1]>>
  // CHECK: %[[HALF:.*]] = arith.shrui
  // CHECK: %[[AT:.*]] = nv_tileaa.addptr %[[V]], [%{{.*}}, %[[HALF]]] : !nv_tileaa.memref<64x?xi8>
  // CHECK: %[[B:.*]]:2 = nv_tileaa.tiled_load %[[AT]], {{.*}} -> tensor<8x16xi8>
  // CHECK: %[[L:.*]] = nv_tileaa.reshape %[[B]]#0 : tensor<8x16xi8> -> tensor<128xi8>
  // CHECK: %[[U:.*]] = nv_tileaa.unpack %[[L]] : tensor<128xi8> -> tensor<256xf4E2M1FN>
  // CHECK: nv_tileaa.reshape %[[U]] : tensor<256xf4E2M1FN> -> tensor<8x32xf4E2M1FN>
  %x, %l = load_view_tko weak %w[%i, %j] token = %t : partition_view<tile=(8x32), tensor_view<64x?xf4E2M1FN, strides=[?,1]>>, tile<i32> -> tile<8x32xf4E2M1FN>, token
  // What is stored as it was loaded is stored as the same bytes.
  // CHECK-NOT: nv_tileaa.pack
  // CHECK: nv_tileaa.tiled_store %{{.*}}, %[[B]]#0, {{.*}} : tensor<8x16xi8>
  %m = store_view_tko weak %x, %w[%i, %j] token = %l : tile<8x32xf4E2M1FN>, partition_view<tile=(8x32), tensor_view<64x?xf4E2M1FN, strides=[?,1]>>, tile<i32> -> token
  return
}
