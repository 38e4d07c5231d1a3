// An op with two results is made once more in another layout.

// grid: 1
entry @kernel(%px43: tile<ptr<i64>>, %px42: tile<ptr<i8>>) {
  %zero = constant <i32: 0> : tile<i32>
  %block, %by, %bz = get_tile_block_id : tile<i32>
  %vx43 = make_tensor_view %px43, shape = [8], strides = [1] : tensor_view<8xi64, strides=[1]>
  %qx43 = make_partition_view %vx43 : partition_view<tile=(8), tensor_view<8xi64, strides=[1]>>
  %vx42 = make_tensor_view %px42, shape = [64], strides = [1] : tensor_view<64xi8, strides=[1]>
  %qx42 = make_partition_view %vx42 : partition_view<tile=(64), tensor_view<64xi8, strides=[1]>>
  %x30 = iota : tile<16xi32>
  %x35 = constant <i32: 7> : tile<16xi32>
  %x41 = mulhii %x30, %x35 : tile<16xi32>
  %x42 = pack %x41 : tile<16xi32> -> tile<64xi8>
  %x43 = unpack %x42 : tile<64xi8> -> tile<8xi64>
  %sx43 = store_view_tko weak %x43, %qx43[%block] : tile<8xi64>, partition_view<tile=(8), tensor_view<8xi64, strides=[1]>>, tile<i32> -> token
  %sx42 = store_view_tko weak %x42, %qx42[%block] : tile<64xi8>, partition_view<tile=(64), tensor_view<64xi8, strides=[1]>>, tile<i32> -> token
  return
}
