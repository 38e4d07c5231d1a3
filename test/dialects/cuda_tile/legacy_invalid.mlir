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

cuda_tile.entry @too_few_extents_alone(%p: !cuda_tile.ptr<f16>, %n: i32) {
  // expected-error @below {{expects 2 extents and strides, as many as '!cuda_tile.tensor_view<64x64xf16>' has dimensions}}
  %v = cuda_tile.tensor_view %p, shape = [%n], stride = [64, 1] : !cuda_tile.tensor_view<64x64xf16>
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

// -----

cuda_tile.entry @a_view_without_a_pointer(%n: i32) {
  // expected-error @below {{'cuda_tile.tensor_view' op operand #0 must be a pointer, but got '!cuda_tile.tile<i32>'}}
  %v = cuda_tile.tensor_view %n, shape = [%n], stride = [1] : !cuda_tile.tensor_view<64xf16>
}

// -----

cuda_tile.entry @tiles_of_a_pointer(%p: !cuda_tile.ptr<f16>) {
  // expected-error @below {{'cuda_tile.partition_view' op operand #0 must be a tensor_view, but got '!cuda_tile.tile<ptr<f16>>'}}
  %t = cuda_tile.partition_view %p, tile = [32], dim_map = [0] : !cuda_tile.partition_view<32xf16>
}

// -----

cuda_tile.entry @a_load_from_a_tensor(%p: !cuda_tile.ptr<f16>, %n: i32) {
  %k = cuda_tile.make_token : !cuda_tile.token
  %v = cuda_tile.tensor_view %p, shape = [%n], stride = [1] : !cuda_tile.tensor_view<64xf16>
  // expected-error @below {{'cuda_tile.legacy_load_view_tko' op operand #0 must be a partition_view, but got '!cuda_tile.tensor_view<?xf16, strides=[1]>'}}
  %x, %l = cuda_tile.load_view_tko %v, [%n], %k : !cuda_tile.tile<32xf16>, !cuda_tile.token
}

// -----

cuda_tile.entry @factors_of_a_batch(%n: i32) {
  %a = cuda_tile.constant dense<0.0> : !cuda_tile.tile<2x16x16xf16>
  %c = cuda_tile.constant dense<0.0> : !cuda_tile.tile<2x16x16xf32>
  // expected-error @below {{'cuda_tile.mmaf' op operand #1 must be a 2D tile in the older spelling, but got '!cuda_tile.tile<2x16x16xf16>'}}
  %d = cuda_tile.mmaf %a, %a, %c { fastmath = "contract" } : !cuda_tile.tile<2x16x16xf16>, !cuda_tile.tile<2x16x16xf16>, !cuda_tile.tile<2x16x16xf32>
}

// -----

// Types of the older spelling are for its ops alone.
entry @a_tensor_without_strides(%x: tile<f32>) {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op has the type '!cuda_tile.tensor_view<64xf32>': expected 'strides' after its element type}}
  %v = builtin.unrealized_conversion_cast %x : tile<f32> to !cuda_tile.tensor_view<64xf32>
}

// -----

entry @tiles_without_a_tensor(%x: tile<f32>) {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op has the type '!cuda_tile.partition_view<64xf32>': expected 'tile' and a tensor_view in it}}
  %v = builtin.unrealized_conversion_cast %x : tile<f32> to !cuda_tile.partition_view<64xf32>
}
