// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa=gpu-name=sm_80 | filecheck %s

// Known divisors of address, start and bound: 16 bytes at a time under one mask.
// CHECK-LABEL: nv_tileaa.func @wide(
entry @wide(%p: tile<ptr<f16>>, %n: tile<i32>) {
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %m = assume div_by<8>, %n : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %size = constant <i32: 256> : tile<i32>
  %start = muli %x, %size : tile<i32>
  %s1 = reshape %start : tile<i32> -> tile<1xi32>
  %s = broadcast %s1 : tile<1xi32> -> tile<256xi32>
  %l = iota : tile<256xi32>
  %j = addi %s, %l : tile<256xi32>
  %n1 = reshape %m : tile<i32> -> tile<1xi32>
  %nb = broadcast %n1 : tile<1xi32> -> tile<256xi32>
  %mask = cmpi less_than %j, %nb, signed : tile<256xi32> -> tile<256xi1>
  %a1 = reshape %a : tile<ptr<f16>> -> tile<1xptr<f16>>
  // CHECK: %[[P:.*]] = nv_tileaa.splat %{{.*}} : !llvm.ptr<1> -> tensor<256x!llvm.ptr<1>>
  %ab = broadcast %a1 : tile<1xptr<f16>> -> tile<256xptr<f16>>
  // CHECK: %[[Q:.*]] = nv_tileaa.offset %[[P]], %{{.*}}, f16 : tensor<256x!llvm.ptr<1>>, tensor<256xi32>
  %q = offset %ab, %j : tile<256xptr<f16>>, tile<256xi32> -> tile<256xptr<f16>>
  // CHECK: %[[V:.*]], %[[T:.*]] = nv_tileaa.load %[[Q]] mask %{{.*}}, %{{.*}} {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_f16>, nv_tileaa.hints = {latency = 2 : i32}}
  %v, %t = load_ptr_tko weak %q, %mask optimization_hints = <sm_80 = {latency = 2}> : tile<256xptr<f16>>, tile<256xi1> -> tile<256xf16>, token
  // CHECK: nv_tileaa.store %[[Q]], %[[V]] mask %{{.*}}, %[[T]] {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_stg_128_f16>}
  %u = store_ptr_tko weak %q, %v, %mask token=%t : tile<256xptr<f16>>, tile<256xf16>, tile<256xi1> -> token
  return
}

// A mask that is always true goes; one element at a time, but neighbors by neighboring threads.
// CHECK-LABEL: nv_tileaa.func @certain(
entry @certain(%p: tile<ptr<f16>>) {
  %l = iota : tile<256xi32>
  %n = constant <i32: 256> : tile<256xi32>
  %mask = cmpi less_than %l, %n, signed : tile<256xi32> -> tile<256xi1>
  %a1 = reshape %p : tile<ptr<f16>> -> tile<1xptr<f16>>
  %ab = broadcast %a1 : tile<1xptr<f16>> -> tile<256xptr<f16>>
  %q = offset %ab, %l : tile<256xptr<f16>>, tile<256xi32> -> tile<256xptr<f16>>
  // CHECK: nv_tileaa.load %{{[^ ]*}}, %{{.*}} {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_16_f16>}
  %v, %t = load_ptr_tko weak %q, %mask : tile<256xptr<f16>>, tile<256xi1> -> tile<256xf16>, token
  return
}

// What is assumed of a tile makes it wide.
// CHECK-LABEL: nv_tileaa.func @assumed(
entry @assumed(%p: tile<ptr<i32>>, %x: tile<ptr<i32>>) {
  %l = iota : tile<64xi32>
  %x1 = reshape %x : tile<ptr<i32>> -> tile<1xptr<i32>>
  %xb = broadcast %x1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %xs = offset %xb, %l : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %i, %t = load_ptr_tko weak %xs : tile<64xptr<i32>> -> tile<64xi32>, token
  // CHECK: nv_tileaa.assume %{{.*}} {along = 0 : i64, divisor = 4 : i64, every = 4 : i64} : tensor<64xi32>
  %j = assume div_by<4, every 4 along 0>, %i : tile<64xi32>
  %a = assume div_by<16>, %p : tile<ptr<i32>>
  %a1 = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
  %ab = broadcast %a1 : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %q = offset %ab, %j : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  // CHECK: nv_tileaa.load %{{.*}} {axis = 0 : i64, copy_atom = #cute.copy_atom<sm80_ldg_128_i32>}
  %v, %u = load_ptr_tko weak %q : tile<64xptr<i32>> -> tile<64xi32>, token
  // CHECK: nv_tileaa.assume %{{.*}} {same = array<i64: 8>} : tensor<64xi32>
  %s = assume same_elements<[8]>, %v : tile<64xi32>
  return
}

// CHECK-LABEL: nv_tileaa.func @scalars(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr<1>, %[[I:.*]]: i8)
entry @scalars(%p: tile<ptr<i64>>, %i: tile<i8>) {
  // CHECK: %[[Q:.*]] = nv_tileaa.offset %[[P]], %[[I]], i64 : !llvm.ptr<1>, i8
  %q = offset %p, %i : tile<ptr<i64>>, tile<i8> -> tile<ptr<i64>>
  // CHECK: %[[V:.*]], %[[T:.*]] = nv_tileaa.load %[[Q]], %{{.*}} {copy_atom = #cute.copy_atom<sm80_ldg_64_i64>} : !llvm.ptr<1> -> i64
  %v, %t = load_ptr_tko weak %q : tile<ptr<i64>> -> tile<i64>, token
  // CHECK: nv_tileaa.atomic_store relaxed cta %[[P]], %[[V]], %[[T]] :
  %u = store_ptr_tko relaxed tl_blk %p, %v token=%t : tile<ptr<i64>>, tile<i64> -> token
  return
}
