// RUN: tessera-opt %s --split-input-file --verify-diagnostics

cuda_tile.entry @no_counterpart(%n: i32) {
  // expected-error @below {{'arith.ceildivsi' op has no counterpart in cuda_tile; use an op of cuda_tile on tiles}}
  %a = arith.ceildivsi %n, %n : i32
}

// -----

cuda_tile.entry @bad_axis(%n: i32) {
  // expected-error @below {{axis must be 0, 1 or 2, but got: 3}}
  %a = cuda_tile.get_tile_block_id { axis = 3 : i32 } : i32
}

// -----

cuda_tile.entry @tile_of_another_shape(%p: !cuda_tile.ptr<f16>, %n: i32) {
  %v = cuda_tile.tensor_view %p, shape = [%n], stride = [1] : !cuda_tile.tensor_view<64xf16>
  // expected-error @below {{result #0 must be '!cuda_tile.partition_view<32xf16>' by its tile and tensor_view, but got '!cuda_tile.partition_view<64xf16>'}}
  %t = cuda_tile.partition_view %v, tile = [32], dim_map = [0] : !cuda_tile.partition_view<64xf16>
}

// -----

cuda_tile.entry @too_few_extents(%p: !cuda_tile.ptr<f16>, %n: i32) {
  // expected-error @below {{expects 2 extents and strides, as many as '!cuda_tile.tensor_view<64x64xf16>' has dimensions}}
  %v = cuda_tile.tensor_view %p, shape = [%n], stride = [1] : !cuda_tile.tensor_view<64x64xf16>
}

// -----

cuda_tile.entry @a_view_of_another_type(%p: !cuda_tile.ptr<f16>, %n: i32) {
  // expected-error @below {{result #0 must be tensor_view without strides, but got 'tensor<64xf16>'}}
  %v = cuda_tile.tensor_view %p, shape = [%n], stride = [1] : tensor<64xf16>
}

// -----

// expected-error @below {{F4E2M1FN tiles must have an even number of elements}}
cuda_tile.entry @an_argument_without_a_scalar_tile(%a: f4E2M1FN) {
}
