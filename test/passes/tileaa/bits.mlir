// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa="gpu-name=sm_90" --split-input-file -o %t
// RUN: filecheck %s --input-file %t

// Both tiles are read as bf16, one of them after a permute; the result is stored as it was computed.
// CHECK-LABEL: nv_tileaa.func @product(
// CHECK-NOT: arith.bitcast
entry @product(%a: tile<ptr<i16>>, %b: tile<ptr<i16>>, %c: tile<ptr<i16>>, %n: tile<i32>) {
  %t = make_token : token
  %i, %j, %k = get_tile_block_id : tile<i32>
  %va = make_tensor_view %a, shape = [64, %n], strides = [64, 1] : tile<i32> -> tensor_view<64x?xi16, strides=[64,1]>
  %vb = make_tensor_view %b, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xi16, strides=[64,1]>
  %vc = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xi16, strides=[64,1]>
  %pa = make_partition_view %va : partition_view<tile=(32x32), padding_value = zero, tensor_view<64x?xi16, strides=[64,1]>>
  %pb = make_partition_view %vb : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x64xi16, strides=[64,1]>>
  %pc = make_partition_view %vc : partition_view<tile=(32x32), tensor_view<64x64xi16, strides=[64,1]>>
  // CHECK: nv_tileaa.tiled_load %{{.*}}, %{{.*}} padding zero {copy_atom = #cute.copy_atom<{{.*}}bf16>} : !nv_tileaa.memref<64x?xbf16> -> tensor<32x32xbf16>
  %x, %l = load_view_tko weak %pa[%i, %j] token = %t : partition_view<tile=(32x32), padding_value = zero, tensor_view<64x?xi16, strides=[64,1]>>, tile<i32> -> tile<32x32xi16>, token
  %xf = bitcast %x : tile<32x32xi16> -> tile<32x32xbf16>
  // CHECK: %[[Y:.*]], %{{.*}} = nv_tileaa.tiled_load {{.*}} : !nv_tileaa.memref<?x64xbf16> -> tensor<32x32xbf16>
  %y, %m = load_view_tko weak %pb[%j, %i] token = %t : partition_view<tile=(32x32), padding_value = zero, tensor_view<?x64xi16, strides=[64,1]>>, tile<i32> -> tile<32x32xi16>, token
  // CHECK: nv_tileaa.permute %[[Y]] [1, 0] : tensor<32x32xbf16> -> tensor<32x32xbf16>
  %yt = permute %y [1, 0] : tile<32x32xi16> -> tile<32x32xi16>
  %yf = bitcast %yt : tile<32x32xi16> -> tile<32x32xbf16>
  %zero = constant <f32: 0.0> : tile<32x32xf32>
  %d = mmaf %xf, %yf, %zero : tile<32x32xbf16>, tile<32x32xbf16>, tile<32x32xf32>
  // CHECK: %[[D:.*]] = arith.truncf
  %e = ftof %d : tile<32x32xf32> -> tile<32x32xbf16>
  %f = bitcast %e : tile<32x32xbf16> -> tile<32x32xi16>
  // CHECK: nv_tileaa.tiled_store %{{.*}}, %[[D]], {{.*}} : tensor<32x32xbf16>, !nv_tileaa.memref<64x64xbf16>
  %o = store_view_tko weak %f, %pc[%i, %j] token = %t : tile<32x32xi16>, partition_view<tile=(32x32), tensor_view<64x64xi16, strides=[64,1]>>, tile<i32> -> token
  return
}

// -----

// A tile that is also read as integers stays one of integers.
// CHECK-LABEL: nv_tileaa.func @both(
entry @both(%a: tile<ptr<i16>>, %c: tile<ptr<bf16>>, %d: tile<ptr<i16>>) {
  %t = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [64], strides = [1] : tensor_view<64xi16, strides=[1]>
  %vc = make_tensor_view %c, shape = [64], strides = [1] : tensor_view<64xbf16, strides=[1]>
  %vd = make_tensor_view %d, shape = [64], strides = [1] : tensor_view<64xi16, strides=[1]>
  %pa = make_partition_view %va : partition_view<tile=(64), tensor_view<64xi16, strides=[1]>>
  %pc = make_partition_view %vc : partition_view<tile=(64), tensor_view<64xbf16, strides=[1]>>
  %pd = make_partition_view %vd : partition_view<tile=(64), tensor_view<64xi16, strides=[1]>>
  // CHECK: %[[X:.*]], %{{.*}} = nv_tileaa.tiled_load {{.*}} -> tensor<64xi16>
  // CHECK: arith.bitcast %[[X]] : tensor<64xi16> to tensor<64xbf16>
  %x, %l = load_view_tko weak %pa[%zero] token = %t : partition_view<tile=(64), tensor_view<64xi16, strides=[1]>>, tile<i32> -> tile<64xi16>, token
  %y = bitcast %x : tile<64xi16> -> tile<64xbf16>
  %z = exp %y : tile<64xbf16>
  %w = addi %x, %x : tile<64xi16>
  %m = store_view_tko weak %z, %pc[%zero] token = %t : tile<64xbf16>, partition_view<tile=(64), tensor_view<64xbf16, strides=[1]>>, tile<i32> -> token
  %n = store_view_tko weak %w, %pd[%zero] token = %m : tile<64xi16>, partition_view<tile=(64), tensor_view<64xi16, strides=[1]>>, tile<i32> -> token
  return
}

// -----

// Pointers have no element type; constant padding keeps its bits.
// CHECK-LABEL: nv_tileaa.func @gathered(
// CHECK-NOT: arith.bitcast
entry @gathered(%a: tile<ptr<i32>>, %c: tile<ptr<i32>>, %n: tile<i32>) {
  %t = make_token : token
  %i = iota : tile<64xi32>
  %r = reshape %n : tile<i32> -> tile<1xi32>
  %b = broadcast %r : tile<1xi32> -> tile<64xi32>
  %inside = cmpi less_than %i, %b, signed : tile<64xi32> -> tile<64xi1>
  %p = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
  %ps = broadcast %p : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %at = offset %ps, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  // CHECK: %[[ONE:.*]] = nv_tileaa.constant_tensor dense<1.000000e+00> : tensor<64xf32>
  // CHECK: nv_tileaa.load %{{.*}} mask %{{.*}} padding %[[ONE]], {{.*}} -> tensor<64xf32>
  %one = constant <i32: 0x3F800000> : tile<64xi32>
  %x, %l = load_ptr_tko weak %at, %inside, %one token = %t : tile<64xptr<i32>>, tile<64xi1>, tile<64xi32> -> tile<64xi32>, token
  %y = bitcast %x : tile<64xi32> -> tile<64xf32>
  %z = mulf %y, %y rounding<nearest_even> : tile<64xf32>
  %w = bitcast %z : tile<64xf32> -> tile<64xi32>
  %q = reshape %c : tile<ptr<i32>> -> tile<1xptr<i32>>
  %qs = broadcast %q : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %to = offset %qs, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  // CHECK: nv_tileaa.store %{{.*}} mask {{.*}} tensor<64xf32>
  %m = store_ptr_tko weak %to, %w, %inside token = %t : tile<64xptr<i32>>, tile<64xi32>, tile<64xi1> -> token
  return
}
