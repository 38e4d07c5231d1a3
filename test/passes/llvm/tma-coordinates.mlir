// RUN: tessera-translate --mlir-to-llvmir --gpu-name=sm_90a %s -o %t.ll
// RUN: filecheck %s --input-file=%t.ll

// Indices are unsigned, and coordinates of TMA are signed. A negative index is behind the tensor, not before it.

// The hardware reads 2^31 and more as negative coordinates, from where a box may reach into the tensor.
// CHECK-LABEL: define {{.*}}@any_index(
// CHECK: %[[I:[0-9]+]] = call i32 @llvm.umin.i32(i32 %{{[^,]+}}, i32 2147483647)
// CHECK: cp.async.bulk.tensor.g2s.cta.tile.2d({{.*}}, i32 0, i32 %[[I]],
entry @any_index(%a: tile<ptr<f16>>, %d: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
  %a16 = assume div_by<16>, %a : tile<ptr<f16>>
  %m = assume bounded<0, ?>, %n : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %a16, shape = [%m, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf16, strides=[64, 1]>
  %p = make_strided_view %v : strided_view<tile=(64x64), traversal_strides=[1,64], padding_value = zero, tensor_view<?x64xf16, strides=[64, 1]>>
  %w = make_tensor_view %d, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64, 1]>
  %q = make_partition_view %w : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64, 1]>>
  %c = constant <f32: 0.0> : tile<64x64xf32>
  %s = for %k in (%zero to %m, step %one) : tile<i32> iter_values(%r = %c) -> (tile<64x64xf32>) {
    %x, %t = load_view_tko weak %p[%i, %zero] : strided_view<tile=(64x64), traversal_strides=[1,64], padding_value = zero, tensor_view<?x64xf16, strides=[64, 1]>>, tile<i32> -> tile<64x64xf16>, token
    %y = mmaf %x, %x, %r : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %y : tile<64x64xf32>
  }
  %u = store_view_tko weak %s, %q[%zero, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64, 1]>>, tile<i32> -> token
  return
}

// Facts exclude a negative index: the numbers of tile blocks, and what an assumption bounds.
// CHECK-LABEL: define {{.*}}@no_negative_index(
// CHECK-NOT: call i32 @llvm.umin
// CHECK: cp.async.bulk.tensor.g2s.cta.tile.3d({{.*}}, i32 0, i32 %3, i32 %{{[0-9]+}},
// CHECK-NOT: call i32 @llvm.umin
// CHECK: declare
entry @no_negative_index(%a: tile<ptr<f16>>, %d: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {
  %a16 = assume div_by<16>, %a : tile<ptr<f16>>
  %m = assume bounded<0, ?>, %n : tile<i32>
  %j = assume bounded<0, ?>, %i : tile<i32>
  %b, %b1, %b2 = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %v = make_tensor_view %a16, shape = [%m, %m, 64], strides = [4096, 64, 1] : tile<i32> -> tensor_view<?x?x64xf16, strides=[4096, 64, 1]>
  %p = make_strided_view %v : strided_view<tile=(1x64x64), traversal_strides=[1,1,64], padding_value = zero, tensor_view<?x?x64xf16, strides=[4096, 64, 1]>>
  %w = make_tensor_view %d, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64, 1]>
  %q = make_partition_view %w : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64, 1]>>
  %c = constant <f32: 0.0> : tile<64x64xf32>
  %s = for %k in (%zero to %m, step %one) : tile<i32> iter_values(%r = %c) -> (tile<64x64xf32>) {
    %l, %t = load_view_tko weak %p[%b, %j, %zero] : strided_view<tile=(1x64x64), traversal_strides=[1,1,64], padding_value = zero, tensor_view<?x?x64xf16, strides=[4096, 64, 1]>>, tile<i32> -> tile<1x64x64xf16>, token
    %x = reshape %l : tile<1x64x64xf16> -> tile<64x64xf16>
    %y = mmaf %x, %x, %r : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    continue %y : tile<64x64xf32>
  }
  %u = store_view_tko weak %s, %q[%zero, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64, 1]>>, tile<i32> -> token
  return
}
