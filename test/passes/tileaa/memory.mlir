// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_90a -o %t
// RUN: filecheck %s --input-file %t
// RUN: tessera-opt %t -o %t.again
// RUN: diff %t %t.again
// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_80 | filecheck %s --check-prefix=AMPERE

// CHECK: module attributes {nv_tileaa.compute_capability = 90 : i32, nv_tileaa.target_spec = "sm_90a"}
// AMPERE: module attributes {nv_tileaa.compute_capability = 80 : i32, nv_tileaa.target_spec = "sm_80"}

// Assumptions become facts, and facts wide copy atoms.
// CHECK-LABEL: nv_tileaa.func @wide(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[M:.*]]: i32, %[[K:.*]]: i32)
entry @wide(%p: tile<ptr<f16>>, %m: tile<i32>, %k: tile<i32>) {
  // CHECK-NEXT: %[[BASE:.*]] = nv_tileaa.assume %[[P]] {divisor = 16 : i64} : !llvm.ptr<1>
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  // CHECK-NEXT: %[[K8:.*]] = nv_tileaa.assume %[[K]] {divisor = 8 : i64} : i32
  %k8 = assume div_by<8>, %k : tile<i32>
  // CHECK-NEXT: %[[KK:.*]] = nv_tileaa.assume %[[K8]] {lower = 0 : i64, upper = 4096 : i64} : i32
  %kk = assume bounded<0, 4096>, %k8 : tile<i32>
  // CHECK-NEXT: %[[V:.*]] = nv_tileaa.make_memref %[[BASE]], shape = [%[[M]], %[[KK]]], stride = [%[[KK]], 1], space = #nv_tileaa.global : !nv_tileaa.memref<?x?xf16>
  %v = make_tensor_view %base, shape = [%m, %kk], strides = [%kk, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  // CHECK-NEXT: %[[X:.*]] = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  // CHECK-NEXT: %[[Y:.*]] = nv_tileaa.get_program_id {axis = 1 : i32} : i32
  %x, %y, %z = get_tile_block_id : tile<i32>
  // CHECK-NEXT: %[[START:.*]] = nv_tileaa.create_mem_token
  %tok = make_token : token
  %w = make_partition_view %v : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  // CHECK-NEXT: %[[C64:.*]] = arith.constant 64 : i32
  // CHECK-NEXT: %[[I:.*]] = arith.muli %[[X]], %[[C64]] overflow<nuw> : i32
  // CHECK-NEXT: %[[C32:.*]] = arith.constant 32 : i32
  // CHECK-NEXT: %[[J:.*]] = arith.muli %[[Y]], %[[C32]] overflow<nsw> : i32
  // CHECK-NEXT: %[[O:.*]] = nv_tileaa.addptr %[[V]], [%[[I]], %[[J]]] : !nv_tileaa.memref<?x?xf16>
  // CHECK-NEXT: %[[T:.*]], %[[TOK:.*]] = nv_tileaa.tiled_load %[[O]], %[[START]] padding zero {copy_atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileaa.hints = {latency = 4 : i32}} : !nv_tileaa.memref<?x?xf16> -> tensor<64x32xf16>, !nv_tileaa.mem_token
  // AMPERE: nv_tileaa.tiled_load %{{.*}} {copy_atom = #cute.copy_atom<sm80_ldg_128_f16>} :
  %t, %tok1 = load_view_tko weak %w[%x, %y] token = %tok optimization_hints = <sm_90 = {latency = 4}> : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x32xf16>, token
  // CHECK: %[[O2:.*]] = nv_tileaa.addptr %[[V]]
  // CHECK-NEXT: %{{.*}} = nv_tileaa.tiled_store %[[O2]], %[[T]], %[[TOK]] {copy_atom = #cute.copy_atom<sm80_stg_128_f16>} : tensor<64x32xf16>, !nv_tileaa.memref<?x?xf16>, !nv_tileaa.mem_token
  %tok2 = store_view_tko weak %t, %w[%x, %y] token = %tok1 : tile<64x32xf16>, partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
  // CHECK: nv_tileaa.return
  return
}

// Nothing is assumed: one element at a time; the token is the function's first.
// CHECK-LABEL: nv_tileaa.func @narrow(
entry @narrow(%p: tile<ptr<f32>>, %n: tile<i32>) {
  // CHECK-NEXT: %[[START:.*]] = nv_tileaa.create_mem_token
  %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  // CHECK: nv_tileaa.tiled_load %{{.*}}, %[[START]] {copy_atom = #cute.copy_atom<sm80_ldg_32_f32>}
  %t, %tok1 = load_view_tko weak %w[%x] : partition_view<tile=(256), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<256xf32>, token
  %tok2 = make_token : token
  // CHECK: nv_tileaa.join_mem_tokens
  %tok3 = join_tokens %tok1, %tok2 : token
  return
}

// Tile axis 0 runs along tensor axis 1: the memref's axes are the tile's, and its contiguous one comes first.
// CHECK-LABEL: nv_tileaa.func @transposed(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[M:.*]]: i32, %[[K:.*]]: i32)
entry @transposed(%p: tile<ptr<f16>>, %m: tile<i32>, %k: tile<i32>) {
  %base = assume div_by<16>, %p : tile<ptr<f16>>
  // CHECK: %[[KK:.*]] = nv_tileaa.assume %[[K]] {divisor = 4 : i64}
  %kk = assume div_by<4>, %k : tile<i32>
  %v = make_tensor_view %base, shape = [%m, %kk], strides = [%kk, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %w = make_partition_view %v : partition_view<tile=(32x64), tensor_view<?x?xf16, strides=[?,1]>, dim_map=[1, 0]>
  // CHECK: %[[V:.*]] = nv_tileaa.make_memref %{{.*}}, shape = [%[[KK]], %[[M]]], stride = [1, %[[KK]]], space
  %x, %y, %z = get_tile_block_id : tile<i32>
  // CHECK: nv_tileaa.addptr %[[V]]
  // CHECK: copy_atom = #cute.copy_atom<sm80_ldg_64_f16>
  // CHECK-SAME: tensor<32x64xf16>
  %t, %tok1 = load_view_tko weak %w[%x, %y] : partition_view<tile=(32x64), tensor_view<?x?xf16, strides=[?,1]>, dim_map=[1, 0]>, tile<i32> -> tile<32x64xf16>, token
  return
}

// CHECK-LABEL: nv_tileaa.func @shapes(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[M:.*]]: i32, %[[K:.*]]: i32)
entry @shapes(%p: tile<ptr<f16>>, %m: tile<i32>, %k: tile<i32>) {
  // CHECK: %[[KK:.*]] = nv_tileaa.assume %[[K]] {lower = 0 : i64}
  %kk = assume bounded<0, ?>, %k : tile<i32>
  %v = make_tensor_view %p, shape = [%m, %kk, 100], strides = [%kk, 100, 1] : tile<i32> -> tensor_view<?x?x100xf16, strides=[?,100,1]>
  %w = make_partition_view %v : partition_view<tile=(16x32x64), tensor_view<?x?x100xf16, strides=[?,100,1]>>
  // The extent, which is unsigned, may be one to which nothing can be added.
  // CHECK: %[[C16:.*]] = arith.constant 16 : i32
  // CHECK-NEXT: %[[A:.*]] = arith.ceildivui %[[M]], %[[C16]] : i32
  // CHECK-NEXT: %[[C32:.*]] = arith.constant 32 : i32
  // CHECK-NEXT: %[[C31:.*]] = arith.constant 31 : i32
  // CHECK-NEXT: %[[UP:.*]] = arith.addi %[[KK]], %[[C31]] overflow<nuw> : i32
  // CHECK-NEXT: %[[B:.*]] = arith.divui %[[UP]], %[[C32]] : i32
  // CHECK-NEXT: %[[C:.*]] = arith.constant 2 : i32
  %s:3 = get_index_space_shape %w : partition_view<tile=(16x32x64), tensor_view<?x?x100xf16, strides=[?,100,1]>> -> tile<i32>
  // CHECK-NEXT: arith.addi %[[A]], %[[B]]
  %0 = addi %s#0, %s#1 : tile<i32>
  // CHECK-NEXT: arith.addi %{{.*}}, %[[C]]
  %1 = addi %0, %s#2 : tile<i32>
  // CHECK: %[[HUNDRED:.*]] = arith.constant 100 : i32
  // CHECK: arith.addi %[[M]], %[[HUNDRED]]
  %e:3 = get_tensor_shape %v : tensor_view<?x?x100xf16, strides=[?,100,1]> -> tile<i32>
  %2 = addi %e#0, %e#2 : tile<i32>
  // CHECK: nv_tileaa.get_num_programs {axis = 2 : i32}
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %3 = addi %gz, %2 : tile<i32>
  return
}

// Extents and indices of 64 bits, where the extents are known to be small; a view's alignment is its base's.
// CHECK-LABEL: nv_tileaa.func @long(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[N:.*]]: i64, %[[I:.*]]: i64)
entry @long(%p: tile<ptr<f16>>, %n: tile<i64>, %i: tile<i64>) {
  // CHECK: %[[M:.*]] = nv_tileaa.assume %[[N]]
  %m = assume bounded<0, 2147483647>, %n : tile<i64>
  // CHECK: nv_tileaa.make_memref %[[P]], shape = [%[[M]], 64], stride = [64, 1], space = #nv_tileaa.global : (i64) !nv_tileaa.memref<?x64xf16>
  %v = make_tensor_view %p, shape = [%m, 64], strides = [64, 1] : tile<i64> -> tensor_view<?x64xf16, strides=[64,1]>
  // CHECK: %[[BASE:.*]] = nv_tileaa.assume %[[P]] {divisor = 32 : i64} : !llvm.ptr<1>
  // CHECK: %[[V:.*]] = nv_tileaa.make_memref %[[BASE]]
  %a = assume div_by<32>, %v : tensor_view<?x64xf16, strides=[64,1]>
  %w = make_partition_view %a : partition_view<tile=(1x32), tensor_view<?x64xf16, strides=[64,1]>>
  // CHECK: %[[J:.*]] = arith.trunci %[[I]] : i64 to i32
  // CHECK: nv_tileaa.addptr %[[V]], [%[[J]], %{{.*}}]
  // CHECK: copy_atom = #cute.copy_atom<sm80_ldg_128_f16>
  %t, %tok = load_view_tko weak %w[%i, %i] : partition_view<tile=(1x32), tensor_view<?x64xf16, strides=[64,1]>>, tile<i64> -> tile<1x32xf16>, token
  return
}

// Hints for the target, and the default ones; the module's entries move up.
// CHECK-LABEL: nv_tileaa.func @hinted(
// CHECK-SAME: attributes {nv_tileaa.hints = {num_cta_in_cga = 2 : i32, occupancy = 3 : i32}}
// AMPERE-LABEL: nv_tileaa.func @hinted(
// AMPERE-SAME: attributes {nv_tileaa.hints = {num_cta_in_cga = 1 : i32}}
cuda_tile.module @kernels {
  entry @hinted() optimization_hints=<sm_80 = {num_cta_in_cga = 1}, sm_90 = {num_cta_in_cga = 2, occupancy = 3}> {
    return
  }
}
