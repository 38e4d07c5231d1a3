// A true i1 is -1 as signed, also as bf16 at -O3.

// grid: 2
entry @kernel(%px2: tile<ptr<i1>>, %px7: tile<ptr<bf16>>) {
  %zero = constant <i32: 0> : tile<i32>
  %block, %by, %bz = get_tile_block_id : tile<i32>
  %vx2 = make_tensor_view %px2, shape = [8], strides = [1] : tensor_view<8xi1, strides=[1]>
  %qx2 = make_partition_view %vx2 : partition_view<tile=(8), tensor_view<8xi1, strides=[1]>>
  %vx7 = make_tensor_view %px7, shape = [32], strides = [1] : tensor_view<32xbf16, strides=[1]>
  %qx7 = make_partition_view %vx7 : partition_view<tile=(16), tensor_view<32xbf16, strides=[1]>>
  %x2, %lx2 = load_view_tko weak %qx2[%zero] : partition_view<tile=(8), tensor_view<8xi1, strides=[1]>>, tile<i32> -> tile<8xi1>, token
  %x5 = constant <i1: true> : tile<8xi1>
  %x6 = cat %x2, %x5 dim = 0 : tile<8xi1>, tile<8xi1> -> tile<16xi1>
  %x7 = itof %x6 signed : tile<16xi1> -> tile<16xbf16>
  %sx7 = store_view_tko weak %x7, %qx7[%block] : tile<16xbf16>, partition_view<tile=(16), tensor_view<32xbf16, strides=[1]>>, tile<i32> -> token
  return
}
