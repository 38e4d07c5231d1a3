// As product-of-a-tile-with-itself, with scales.

// grid: 1
entry @kernel(%px23: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %block, %by, %bz = get_tile_block_id : tile<i32>
  %vx23 = make_tensor_view %px23, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xf32, strides=[32,1]>
  %qx23 = make_partition_view %vx23 : partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>
  %x10 = iota : tile<1024xi32>
  %x11 = constant <i32: 3> : tile<1024xi32>
  %x12 = andi %x10, %x11 : tile<1024xi32>
  %x13 = reshape %x12 : tile<1024xi32> -> tile<32x32xi32>
  %x14 = itof %x13 signed : tile<32x32xi32> -> tile<32x32xf8E4M3FN>
  %x15 = iota : tile<1024xi32>
  %x16 = constant <i32: 3> : tile<1024xi32>
  %x17 = andi %x15, %x16 : tile<1024xi32>
  %x18 = reshape %x17 : tile<1024xi32> -> tile<32x32xi32>
  %x19 = itof %x18 signed : tile<32x32xi32> -> tile<32x32xf8E4M3FN>
  %x20 = constant <f32: 3.000000e+00> : tile<32x32xf32>
  %x21 = constant <f8E8M0FNU: 0.5> : tile<32x1xf8E8M0FNU>
  %x22 = constant <f8E8M0FNU: 2.0> : tile<1x32xf8E8M0FNU>
  %x23 = mmaf_scaled %x14, %x19, %x20, %x21, %x22 : tile<32x32xf8E4M3FN>, tile<32x32xf8E4M3FN>, tile<32x32xf32>, tile<32x1xf8E8M0FNU>, tile<1x32xf8E8M0FNU>
  %sx23 = store_view_tko weak %x23, %qx23[%block, %zero] : tile<32x32xf32>, partition_view<tile=(32x32), tensor_view<32x32xf32, strides=[32,1]>>, tile<i32> -> token
  return
}
