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

// -----

// Two loads of one array of bytes have one view of its numbers, and each its place in it.
// CHECK-LABEL: nv_tileaa.func @halves(
// CHECK: %[[V:.*]] = nv_tileaa.make_memref {{.*}} : !nv_tileaa.memref<128xf8E4M3FN>
// CHECK-NOT: nv_tileaa.make_memref
// CHECK: %[[X:.*]] = nv_tileaa.addptr %[[V]]
// CHECK: nv_tileaa.tiled_load %[[X]], {{.*}} -> tensor<64xf8E4M3FN>
// CHECK: %[[Y:.*]] = nv_tileaa.addptr %[[V]]
// CHECK: nv_tileaa.tiled_load %[[Y]], {{.*}} -> tensor<64xf8E4M3FN>
// CHECK-NOT: arith.bitcast
// CHECK: nv_tileaa.return
entry @halves(%a: tile<ptr<i8>>, %i: tile<i32>, %j: tile<i32>) {
  %va = make_tensor_view %a, shape = [128], strides = [1] : tensor_view<128xi8, strides=[1]>
  %pa = make_partition_view %va : partition_view<tile=(64), tensor_view<128xi8, strides=[1]>>
  %x, %l = load_view_tko weak %pa[%i] : partition_view<tile=(64), tensor_view<128xi8, strides=[1]>>, tile<i32> -> tile<64xi8>, token
  %xf = bitcast %x : tile<64xi8> -> tile<64xf8E4M3FN>
  %y, %m = load_view_tko weak %pa[%j] : partition_view<tile=(64), tensor_view<128xi8, strides=[1]>>, tile<i32> -> tile<64xi8>, token
  %yf = bitcast %y : tile<64xi8> -> tile<64xf8E4M3FN>
  %xw = ftof %xf : tile<64xf8E4M3FN> -> tile<64xf16>
  %yw = ftof %yf : tile<64xf8E4M3FN> -> tile<64xf16>
  %z = addf %xw, %yw rounding<nearest_even> : tile<64xf16>
  print_tko "%f", %z : tile<64xf16> -> token
  return
}

// -----

// Bits that are read as two types are no numbers of either.
// CHECK-LABEL: nv_tileaa.func @two_types(
// CHECK: nv_tileaa.tiled_load {{.*}} -> tensor<64xi16>
// CHECK: arith.bitcast {{.*}} to tensor<64xbf16>
// CHECK: arith.bitcast {{.*}} to tensor<64xf16>
entry @two_types(%a: tile<ptr<i16>>) {
  %zero = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [64], strides = [1] : tensor_view<64xi16, strides=[1]>
  %pa = make_partition_view %va : partition_view<tile=(64), tensor_view<64xi16, strides=[1]>>
  %x, %l = load_view_tko weak %pa[%zero] : partition_view<tile=(64), tensor_view<64xi16, strides=[1]>>, tile<i32> -> tile<64xi16>, token
  %y = bitcast %x : tile<64xi16> -> tile<64xbf16>
  %z = bitcast %x : tile<64xi16> -> tile<64xf16>
  print_tko "%f %f", %y, %z : tile<64xbf16>, tile<64xf16> -> token
  return
}

// -----

// -0 has other bits as a number of another type.
// CHECK-LABEL: nv_tileaa.func @padded(
// CHECK: nv_tileaa.tiled_load {{.*}} padding neg_zero {{.*}} -> tensor<64xbf16>
// CHECK: arith.bitcast {{.*}} to tensor<64xi16>
entry @padded(%a: tile<ptr<bf16>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %va = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xbf16, strides=[1]>
  %pa = make_partition_view %va : partition_view<tile=(64), padding_value = neg_zero, tensor_view<?xbf16, strides=[1]>>
  %x, %l = load_view_tko weak %pa[%zero] : partition_view<tile=(64), padding_value = neg_zero, tensor_view<?xbf16, strides=[1]>>, tile<i32> -> tile<64xbf16>, token
  %y = bitcast %x : tile<64xbf16> -> tile<64xi16>
  print_tko "%d", %y : tile<64xi16> -> token
  return
}

// -----

// Padding that is computed would have to be converted; a load without padding has none.
// CHECK-LABEL: nv_tileaa.func @computed_padding(
// CHECK: %[[X:.*]], %{{.*}} = nv_tileaa.load {{.*}} padding {{.*}} -> tensor<64xi32>
// CHECK: arith.bitcast %[[X]] : tensor<64xi32> to tensor<64xf32>
// CHECK: nv_tileaa.load {{.*}} -> tensor<64xf32>
// CHECK-NOT: arith.bitcast
// CHECK: nv_tileaa.return
entry @computed_padding(%a: tile<ptr<i32>>, %inside: tile<i1>, %n: tile<i32>) {
  %p = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
  %ps = broadcast %p : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %i = iota : tile<64xi32>
  %at = offset %ps, %i : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
  %c = reshape %inside : tile<i1> -> tile<1xi1>
  %mask = broadcast %c : tile<1xi1> -> tile<64xi1>
  %m = reshape %n : tile<i32> -> tile<1xi32>
  %pad = broadcast %m : tile<1xi32> -> tile<64xi32>
  %x, %l = load_ptr_tko weak %at, %mask, %pad : tile<64xptr<i32>>, tile<64xi1>, tile<64xi32> -> tile<64xi32>, token
  %xf = bitcast %x : tile<64xi32> -> tile<64xf32>
  %y, %k = load_ptr_tko weak %at : tile<64xptr<i32>> -> tile<64xi32>, token
  %yf = bitcast %y : tile<64xi32> -> tile<64xf32>
  %z = addf %xf, %yf rounding<nearest_even> : tile<64xf32>
  print_tko "%f", %z : tile<64xf32> -> token
  return
}
