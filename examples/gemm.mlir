// D = A · B, row-major f16 matrices with f32 accumulation, in tiles of 64x64 with steps of 32 along K.
//
//   tessera-translate --mlir-to-cubin --gpu-name=sm_90 examples/gemm.mlir -o gemm.cubin
//
// The program says what one *tile block* does; it knows tiles, no threads.  How a tile is spread over registers and
// lanes, what goes through shared memory and which tensor-core instruction is used are the compiler's choice: run
// `make demo` to see it made, stage by stage.
//
// Each matrix comes as pointer, rows, columns, and the strides of both dimensions in elements (the calling convention
// of cuTile Python; the stride of a row-major matrix's columns is 1, so that argument is not used).
// Launch ceil(M / 64) by ceil(N / 64) tile blocks.
entry @gemm(%A: tile<ptr<f16>>, %A_rows: tile<i32>, %A_cols: tile<i32>, %A_stride: tile<i32>, %A_one: tile<i32>,
            %B: tile<ptr<f16>>, %B_rows: tile<i32>, %B_cols: tile<i32>, %B_stride: tile<i32>, %B_one: tile<i32>,
            %D: tile<ptr<f16>>, %D_rows: tile<i32>, %D_cols: tile<i32>, %D_stride: tile<i32>, %D_one: tile<i32>) {
  // What the caller promises: extents are not negative; addresses are multiples of 16 bytes, columns and row strides of
  // 8 elements.  With f16, 8 elements are 16 bytes: every row starts where a 16-byte copy may.
  %A_ptr = assume div_by<16>, %A : tile<ptr<f16>>
  %B_ptr = assume div_by<16>, %B : tile<ptr<f16>>
  %D_ptr = assume div_by<16>, %D : tile<ptr<f16>>
  %A_m = assume bounded<0, ?>, %A_rows : tile<i32>
  %B_k = assume bounded<0, ?>, %B_rows : tile<i32>
  %D_m = assume bounded<0, ?>, %D_rows : tile<i32>
  %A_cols_pos = assume bounded<0, ?>, %A_cols : tile<i32>
  %B_cols_pos = assume bounded<0, ?>, %B_cols : tile<i32>
  %D_cols_pos = assume bounded<0, ?>, %D_cols : tile<i32>
  %A_k = assume div_by<8>, %A_cols_pos : tile<i32>
  %B_n = assume div_by<8>, %B_cols_pos : tile<i32>
  %D_n = assume div_by<8>, %D_cols_pos : tile<i32>
  %A_stride_pos = assume bounded<0, ?>, %A_stride : tile<i32>
  %B_stride_pos = assume bounded<0, ?>, %B_stride : tile<i32>
  %D_stride_pos = assume bounded<0, ?>, %D_stride : tile<i32>
  %A_step = assume div_by<8>, %A_stride_pos : tile<i32>
  %B_step = assume div_by<8>, %B_stride_pos : tile<i32>
  %D_step = assume div_by<8>, %D_stride_pos : tile<i32>

  // The matrices in global memory …
  %A_view = make_tensor_view %A_ptr, shape = [%A_m, %A_k], strides = [%A_step, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %B_view = make_tensor_view %B_ptr, shape = [%B_k, %B_n], strides = [%B_step, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
  %D_view = make_tensor_view %D_ptr, shape = [%D_m, %D_n], strides = [%D_step, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>

  // … as tiles.  Tiles at the boundary may exceed the matrix: loads are padded with zeros, which do not change a sum
  // of products, and stores skip elements out of bounds.
  %A_tiles = make_partition_view %A_view : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %B_tiles = make_partition_view %B_view : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>
  %D_tiles = make_partition_view %D_view : partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>

  // This tile block computes tile (i, j) of D: the sum over k of A(i, k) · B(k, j).
  %start = make_token : token
  %i, %j, %unused = get_tile_block_id : tile<i32>
  %zero = constant <f32: 0.000000e+00> : tile<64x64xf32>
  %first = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %tiles:2 = get_index_space_shape %A_tiles : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>> -> tile<i32>
  %sum = for %k in (%first to %tiles#1, step %one) : tile<i32> iter_values(%acc = %zero) -> (tile<64x64xf32>) {
    // Both loads wait for `%start` only, so that the next iteration's may begin while this one's product is computed.
    %a, %a_done = load_view_tko weak %A_tiles[%i, %k] token = %start : partition_view<tile=(64x32), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<64x32xf16>, token
    %b, %b_done = load_view_tko weak %B_tiles[%k, %j] token = %start : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<32x64xf16>, token
    %next = mmaf %a, %b, %acc : tile<64x32xf16>, tile<32x64xf16>, tile<64x64xf32>
    continue %next : tile<64x64xf32>
  }

  // Round once, at the end.
  %rounded = ftof %sum : tile<64x64xf32> -> tile<64x64xf16>
  %stored = store_view_tko weak %rounded, %D_tiles[%i, %j] token = %start : tile<64x64xf16>, partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
  return
}
