// A true i1 is -1 where it is read as signed.

entry @kernel(%p0: tile<ptr<i1>>, %p1: tile<ptr<i1>>) {
  %zero = constant <i32: 0> : tile<i32>
  %v0 = make_tensor_view %p0, shape = [2, 1], strides = [1, 1] : tensor_view<2x1xi1, strides=[1,1]>
  %q0 = make_partition_view %v0 : partition_view<tile=(2x1), tensor_view<2x1xi1, strides=[1,1]>>
  %x2, %l0 = load_view_tko weak %q0[%zero, %zero] : partition_view<tile=(2x1), tensor_view<2x1xi1, strides=[1,1]>>, tile<i32> -> tile<2x1xi1>, token
  %v1 = make_tensor_view %p1, shape = [2, 1], strides = [1, 1] : tensor_view<2x1xi1, strides=[1,1]>
  %q1 = make_partition_view %v1 : partition_view<tile=(2x1), tensor_view<2x1xi1, strides=[1,1]>>
  %x6 = constant <i1: false> : tile<2x1xi1>
  %x7 = cmpi less_than %x6, %x2, signed : tile<2x1xi1> -> tile<2x1xi1>
  %s1 = store_view_tko weak %x7, %q1[%zero, %zero] : tile<2x1xi1>, partition_view<tile=(2x1), tensor_view<2x1xi1, strides=[1,1]>>, tile<i32> -> token
  return
}
