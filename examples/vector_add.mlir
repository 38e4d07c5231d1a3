// c = a + b over f32 vectors, 1024 elements per tile block.
//
//   tessera-translate --mlir-to-ptx --gpu-name=sm_90 examples/vector_add.mlir
//
// Each array is a pointer, its length and its stride (here always 1, so the argument is not used): the calling
// convention of cuTile Python.  Launch ceil(n / 1024) tile blocks.
entry @vector_add(%a: tile<ptr<f32>>, %a_len: tile<i32>, %a_stride: tile<i32>,
                  %b: tile<ptr<f32>>, %b_len: tile<i32>, %b_stride: tile<i32>,
                  %c: tile<ptr<f32>>, %c_len: tile<i32>, %c_stride: tile<i32>) {
  // What the caller promises: addresses are multiples of 16 bytes, lengths of 8 elements and not negative.  This is
  // what lets every thread move 16 bytes at once.
  %a_ptr = assume div_by<16>, %a : tile<ptr<f32>>
  %b_ptr = assume div_by<16>, %b : tile<ptr<f32>>
  %c_ptr = assume div_by<16>, %c : tile<ptr<f32>>
  %a_pos = assume bounded<0, ?>, %a_len : tile<i32>
  %b_pos = assume bounded<0, ?>, %b_len : tile<i32>
  %c_pos = assume bounded<0, ?>, %c_len : tile<i32>
  %a_n = assume div_by<8>, %a_pos : tile<i32>
  %b_n = assume div_by<8>, %b_pos : tile<i32>
  %c_n = assume div_by<8>, %c_pos : tile<i32>

  // Tensors in global memory, each cut into tiles of 1024 elements; the last tile may stick out.
  %a_tensor = make_tensor_view %a_ptr, shape = [%a_n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %b_tensor = make_tensor_view %b_ptr, shape = [%b_n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %c_tensor = make_tensor_view %c_ptr, shape = [%c_n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %a_tiles = make_partition_view %a_tensor : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %b_tiles = make_partition_view %b_tensor : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>
  %c_tiles = make_partition_view %c_tensor : partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>

  // Tile i of the operands, added, to tile i of the result.  Tokens order memory operations; these need no order among
  // themselves, so all wait for the same first token.
  %start = make_token : token
  %i, %i_y, %i_z = get_tile_block_id : tile<i32>
  %x, %x_done = load_view_tko weak %a_tiles[%i] token = %start : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
  %y, %y_done = load_view_tko weak %b_tiles[%i] token = %start : partition_view<tile=(1024), padding_value = zero, tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<1024xf32>, token
  %sum = addf %x, %y : tile<1024xf32>
  %stored = store_view_tko weak %sum, %c_tiles[%i] token = %start : tile<1024xf32>, partition_view<tile=(1024), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}
