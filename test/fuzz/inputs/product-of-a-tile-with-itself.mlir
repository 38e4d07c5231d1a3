// Both operands of a product are one tile, and each needs its own layout.

// grid: 2
entry @kernel(%px50: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %block, %by, %bz = get_tile_block_id : tile<i32>
  %vx50 = make_tensor_view %px50, shape = [32, 16], strides = [16, 1] : tensor_view<32x16xf32, strides=[16,1]>
  %qx50 = make_partition_view %vx50 : partition_view<tile=(16x16), tensor_view<32x16xf32, strides=[16,1]>>
  %x31 = iota : tile<256xi32>
  %x32 = constant <i32: 11> : tile<256xi32>
  %x33 = muli %x31, %x32 : tile<256xi32>
  %x34 = constant <i32: 1> : tile<256xi32>
  %x35 = shri %x33, %x34 signed : tile<256xi32>
  %x36 = constant <i32: 7> : tile<256xi32>
  %x37 = andi %x35, %x36 : tile<256xi32>
  %x38 = reshape %x37 : tile<256xi32> -> tile<16x16xi32>
  %x39 = itof %x38 signed : tile<16x16xi32> -> tile<16x16xf8E4M3FN>
  %x40 = iota : tile<256xi32>
  %x41 = constant <i32: 11> : tile<256xi32>
  %x42 = muli %x40, %x41 : tile<256xi32>
  %x43 = constant <i32: 1> : tile<256xi32>
  %x44 = shri %x42, %x43 signed : tile<256xi32>
  %x45 = constant <i32: 7> : tile<256xi32>
  %x46 = andi %x44, %x45 : tile<256xi32>
  %x47 = reshape %x46 : tile<256xi32> -> tile<16x16xi32>
  %x48 = itof %x47 signed : tile<16x16xi32> -> tile<16x16xf8E4M3FN>
  %x49 = constant <f32: 0.000000e+00> : tile<16x16xf32>
  %x50 = mmaf %x39, %x48, %x49 : tile<16x16xf8E4M3FN>, tile<16x16xf8E4M3FN>, tile<16x16xf32>
  %sx50 = store_view_tko weak %x50, %qx50[%block, %zero] : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<32x16xf32, strides=[16,1]>>, tile<i32> -> token
  return
}
