// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa --split-input-file --verify-diagnostics

// Lines of 15 start within a byte.
entry @lines(%p: tile<ptr<f4E2M1FN>>) {
  %t = make_token : token
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [64, 14], strides = [15, 1] : tensor_view<64x14xf4E2M1FN, strides=[15,1]>
  %w = make_partition_view %v : partition_view<tile=(8x2), tensor_view<64x14xf4E2M1FN, strides=[15,1]>>
  // expected-error @+1 {{sub-byte elements are supported only where they are contiguous along an axis of static stride 1, with an even number in the tile, between tiles, and between lines}}
  %x, %l = load_view_tko weak %w[%i, %i] token = %t : partition_view<tile=(8x2), tensor_view<64x14xf4E2M1FN, strides=[15,1]>>, tile<i32> -> tile<8x2xf4E2M1FN>, token
  return
}

// -----

entry @padding(%p: tile<ptr<f4E2M1FN>>) {
  %t = make_token : token
  %i = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [14], strides = [1] : tensor_view<14xf4E2M1FN, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(8), padding_value = neg_zero, tensor_view<14xf4E2M1FN, strides=[1]>>
  // expected-error @+1 {{no padding with neg_zero for sub-byte elements; only zero is supported}}
  %x, %l = load_view_tko weak %w[%i] token = %t : partition_view<tile=(8), padding_value = neg_zero, tensor_view<14xf4E2M1FN, strides=[1]>>, tile<i32> -> tile<8xf4E2M1FN>, token
  return
}

// -----

// Tiles one element apart start within a byte.
entry @apart(%p: tile<ptr<f4E2M1FN>>, %i: tile<i32>) {
  %t = make_token : token
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf4E2M1FN, strides=[1]>
  %w = make_strided_view %v : strided_view<tile=(8), traversal_strides=[1], tensor_view<64xf4E2M1FN, strides=[1]>>
  // expected-error @+1 {{sub-byte elements are supported only where}}
  %x, %l = load_view_tko weak %w[%i] token = %t : strided_view<tile=(8), traversal_strides=[1], tensor_view<64xf4E2M1FN, strides=[1]>>, tile<i32> -> tile<8xf4E2M1FN>, token
  return
}
