// A loaded tile times itself: one buffer, two ways to read it.

entry @kernel(%p0: tile<ptr<f16>>, %p1: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %v0 = make_tensor_view %p0, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf16, strides=[32,1]>
  %q0 = make_partition_view %v0 : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>
  %x, %t = load_view_tko weak %q0[%zero, %zero] : partition_view<tile=(32x32), tensor_view<32x32xf16, strides=[32,1]>>, tile<i32> -> tile<32x32xf16>, token
  %acc = constant <f32: 0.0> : tile<32x32xf32>
  %y = mmaf %x, %x, %acc : tile<32x32xf16>, tile<32x32xf16>, tile<32x32xf32>
  %v1 = make_tensor_view %p1, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf32, strides=[32,1]>
  %q1 = make_partition_view %v1 : partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>
  %s = store_view_tko weak %y, %q1[%zero, %zero] : tile<32x32xf32>, partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>, tile<i32> -> token
  return
}
