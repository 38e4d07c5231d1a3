// What is assumed of tiles of numbers and of addresses is kept until the layouts are chosen.
entry @kernel(%p0: tile<ptr<i32>>, %p1: tile<ptr<i32>>) {
  %startToken = make_token : token
  %zeroIndex = constant <i32: 0> : tile<i32>
  %v0 = make_tensor_view %p0, shape = [256], strides = [1] : tensor_view<256xi32, strides=[1]>
  %q0 = make_partition_view %v0 : partition_view<tile=(256), tensor_view<256xi32, strides=[1]>>
  %v1 = make_tensor_view %p1, shape = [256], strides = [1] : tensor_view<256xi32, strides=[1]>
  %q1 = make_partition_view %v1 : partition_view<tile=(256), tensor_view<256xi32, strides=[1]>>
  %one = reshape %p0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %all = broadcast %one : tile<1xptr<i32>> -> tile<256xptr<i32>>
  %i = iota : tile<256xi32>
  %three = constant <i32: 3> : tile<256xi32>
  %four = constant <i32: 4> : tile<256xi32>
  %group = divi %i, %four signed rounding<zero> : tile<256xi32>
  %same = assume same_elements<[4]>, %group : tile<256xi32>
  %first = muli %same, %four : tile<256xi32>
  %known = assume div_by<4>, %first : tile<256xi32>
  %bounded = assume bounded<0, 255>, %known : tile<256xi32>
  %within = andi %i, %three : tile<256xi32>
  %at = addi %bounded, %within : tile<256xi32>
  %rows = assume div_by<4, every 4 along 0>, %at : tile<256xi32>
  %where = offset %all, %rows : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>
  %aligned = assume div_by<4>, %where : tile<256xptr<i32>>
  %x, %t = load_ptr_tko weak %aligned token=%startToken : tile<256xptr<i32>> -> tile<256xi32>, token
  %s = store_view_tko weak %x, %q1[%zeroIndex] token = %t : tile<256xi32>, partition_view<tile=(256), tensor_view<256xi32, strides=[1]>>, tile<i32> -> token
  return
}
