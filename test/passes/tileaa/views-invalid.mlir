// RUN: tessera-opt %s --convert-cuda-tile-to-tileaa --split-input-file --verify-diagnostics

entry @no_infinity(%p: tile<ptr<f8E4M3FN>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [60], strides = [1] : tensor_view<60xf8E4M3FN, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), padding_value = pos_inf, tensor_view<60xf8E4M3FN, strides=[1]>>
  // expected-error @+1 {{'cuda_tile.load_view_tko' op is not supported by convert-cuda-tile-to-tileaa in this version: cannot pad 'f8E4M3FN' elements with pos_inf}}
  %t, %tok = load_view_tko weak %w[%i] : partition_view<tile=(16), padding_value = pos_inf, tensor_view<60xf8E4M3FN, strides=[1]>>, tile<i32> -> tile<16xf8E4M3FN>, token
  return
}

// -----

entry @gathered_nibbles(%p: tile<ptr<f4E2M1FN>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [60, 32], strides = [32, 1] : tensor_view<60x32xf4E2M1FN, strides=[32,1]>
  %g = make_gather_scatter_view %v : gather_scatter_view<tile=(2x16), tensor_view<60x32xf4E2M1FN, strides=[32,1]>, sparse_dim=0>
  %rows = constant <i32: [5, 0]> : tile<2xi32>
  // expected-error @+1 {{no accesses of single sub-byte elements ('f4E2M1FN'); weak accesses through partition and strided views}}
  %t, %tok = load_view_tko weak %g[%rows, %i] : gather_scatter_view<tile=(2x16), tensor_view<60x32xf4E2M1FN, strides=[32,1]>, sparse_dim=0>, tile<2xi32>, tile<i32> -> tile<2x16xf4E2M1FN>, token
  return
}

// -----

entry @shared_nibbles(%p: tile<ptr<f4E2M1FN>>, %i: tile<i32>) {
  %v = make_tensor_view %p, shape = [60], strides = [1] : tensor_view<60xf4E2M1FN, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(16), tensor_view<60xf4E2M1FN, strides=[1]>>
  // expected-error @+1 {{no accesses of single sub-byte elements ('f4E2M1FN'); weak accesses through partition and strided views}}
  %t, %tok = load_view_tko relaxed device %w[%i] : partition_view<tile=(16), tensor_view<60xf4E2M1FN, strides=[1]>>, tile<i32> -> tile<16xf4E2M1FN>, token
  return
}
